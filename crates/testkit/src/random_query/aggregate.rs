//! Heads with grouping: keys, set functions over variables and expressions, `HAVING`.

use super::{Clause, Writer};
use oxrdf::Quad;
use std::fmt::Write as _;

/// The parts of a `SELECT` with groups.
pub(super) struct Grouped {
    /// What stands after `SELECT`.
    pub(super) head: String,
    /// What stands after the pattern.
    pub(super) tail: String,
    /// The variables that it gives.
    pub(super) columns: Vec<String>,
}

impl Writer<'_> {
    /// Keys and set functions over the variables of a pattern. `is_open` allows set functions whose
    /// value is a choice.
    pub(super) fn grouped(
        &mut self,
        quads: &[&Quad],
        clause: &Clause,
        depth: usize,
        is_open: bool,
    ) -> Grouped {
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        for _ in 0..*self.random.pick(&[0, 0, 1, 1, 1, 2]) {
            let key = self.variable();
            if columns.contains(&key) {
                continue;
            }
            if self.random.chance(25) {
                let name = self.fresh_name();
                keys.push(format!("({} AS {name})", self.key(&key)));
                columns.push(name);
            } else {
                keys.push(key.clone());
                columns.push(key);
            }
        }
        let mut items = columns.clone();
        for _ in 0..self.random.between(1, 2) {
            let function = self.set_function(is_open);
            let name = self.fresh_name();
            let expression = if self.random.chance(10) {
                format!("{function} + 1")
            } else {
                function
            };
            items.push(format!("({expression} AS {name})"));
            columns.push(name);
        }
        let mut tail = String::new();
        if !keys.is_empty() {
            tail = format!(" GROUP BY {}", keys.join(" "));
        }
        if self.random.chance(20) {
            let having = if self.random.chance(25) && self.budget > 0 {
                let inner = self.inside(quads, clause, depth + 1);
                format!("EXISTS {{ {inner} }}")
            } else {
                let operator = *self.random.pick(&[">", "<", ">=", "="]);
                let compared = if self.random.chance(40) {
                    // One that is computed, or a key.
                    self.random.pick(&columns).clone()
                } else {
                    self.set_function(false)
                };
                format!("{compared} {operator} {}", self.small())
            };
            let _ = write!(tail, " HAVING({having})");
        }
        Grouped {
            head: items.join(" "),
            tail,
            columns,
        }
    }

    fn key(&mut self, variable: &str) -> String {
        match self.random.below(4) {
            0 => format!("isIRI({variable})"),
            1 => format!("DATATYPE({variable})"),
            2 => format!("STRLEN(STR({variable}))"),
            _ => format!("({variable} + 1)"),
        }
    }

    fn set_function(&mut self, is_open: bool) -> String {
        let distinct = if self.random.chance(30) {
            "DISTINCT "
        } else {
            ""
        };
        let argument = match self.random.below(8) {
            0 => self.number(),
            1 => format!("STRLEN(STR({}))", self.variable()),
            2 => format!("COALESCE({}, 0)", self.variable()),
            _ => self.variable(),
        };
        match self.random.below(if is_open { 14 } else { 11 }) {
            0 | 1 => format!("COUNT({distinct}*)"),
            2..5 => format!("COUNT({distinct}{argument})"),
            5 | 6 => format!("SUM({distinct}{argument})"),
            7 => format!("AVG({distinct}{argument})"),
            8 | 9 => format!("MIN({distinct}{argument})"),
            10 => format!("MAX({distinct}{argument})"),
            11 => format!("SAMPLE({distinct}{argument})"),
            12 => format!("GROUP_CONCAT({distinct}{argument})"),
            _ => format!("GROUP_CONCAT({distinct}STR({argument}); SEPARATOR=\"|\")"),
        }
    }

    /// A variable that stands nowhere yet.
    pub(super) fn fresh_name(&mut self) -> String {
        self.fresh += 1;
        format!("?f{}", self.fresh)
    }
}

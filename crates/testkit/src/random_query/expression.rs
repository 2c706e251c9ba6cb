//! Expressions of wide queries: those of plain filters, and patterns, casts, errors caught, and the
//! functions on terms.

use super::{Clause, Writer};
use oxrdf::Quad;

impl Writer<'_> {
    /// An expression that mostly has a truth value, with patterns in it at times.
    pub(super) fn condition(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        let exists = |writer: &mut Self| {
            let word = *writer.random.pick(&["EXISTS", "NOT EXISTS"]);
            let inner = writer.inside(quads, clause, depth + 1);
            format!("{word} {{ {inner} }}")
        };
        match self.random.below(20) {
            0..5 if depth < 3 && self.budget > 0 => exists(self),
            5 if depth < 3 && self.budget > 0 => {
                let left = exists(self);
                let word = *self.random.pick(&["||", "&&"]);
                format!("({left}) {word} ({})", self.constraint(0))
            }
            6 => format!("BOUND({})", self.variable()),
            7 => format!("!BOUND({})", self.variable()),
            8..11 => format!("{} = {}", self.variable(), self.variable()),
            11 => format!("{} != {}", self.variable(), self.term_value()),
            12 => {
                let left = self.term_value();
                format!("{left} = {}", self.variable())
            }
            _ => {
                let deep = self.random.between(0, 1);
                self.constraint(deep)
            }
        }
    }

    /// What is bound to a new variable.
    pub(super) fn computed(&mut self, quads: &[&Quad], clause: &Clause, depth: usize) -> String {
        match self.random.below(12) {
            0 if depth < 3 && self.budget > 0 => {
                let inner = self.inside(quads, clause, depth + 1);
                format!("EXISTS {{ {inner} }}")
            }
            1 if depth < 3 && self.budget > 0 => {
                let inner = self.inside(quads, clause, depth + 1);
                format!(
                    "IF(NOT EXISTS {{ {inner} }}, {}, {})",
                    self.variable(),
                    self.term_value()
                )
            }
            2..5 => self.variable(),
            5 => format!(
                "COALESCE({}, {}, {})",
                self.term_value(),
                self.variable(),
                self.small()
            ),
            6 | 7 => self.number(),
            8 => self.text(),
            _ => self.term_value(),
        }
    }

    /// Functions that give terms of every sort, and casts.
    pub(super) fn term_value(&mut self) -> String {
        let variable = self.variable();
        let types = [
            "integer",
            "decimal",
            "double",
            "float",
            "boolean",
            "string",
            "dateTime",
            "date",
            "dayTimeDuration",
        ];
        match self.random.below(22) {
            0..4 => {
                let name = *self.random.pick(&types);
                format!("<http://www.w3.org/2001/XMLSchema#{name}>({variable})")
            }
            4 => {
                let name = *self.random.pick(&types[..5]);
                format!("<http://www.w3.org/2001/XMLSchema#{name}>(STR({variable}))")
            }
            5 => format!("IRI(STR({variable}))"),
            6 => format!("STRDT(STR({variable}), <http://example.org/datatype>)"),
            7 => format!("STRLANG(STR({variable}), \"en\")"),
            8 => {
                let name = *self
                    .random
                    .pick(&["MD5", "SHA1", "SHA256", "SHA384", "SHA512"]);
                format!("{name}(STR({variable}))")
            }
            9 => format!("TZ({variable})"),
            10 => format!("TIMEZONE({variable})"),
            11 => format!(
                "TRIPLE({variable}, <http://example.org/p0>, {})",
                self.variable()
            ),
            12 => {
                let name = *self
                    .random
                    .pick(&["SUBJECT", "PREDICATE", "OBJECT", "isTRIPLE"]);
                format!("{name}({variable})")
            }
            13 => {
                let name = *self.random.pick(&["LANGDIR", "hasLANG", "hasLANGDIR"]);
                format!("{name}({variable})")
            }
            14 => format!("STRLANGDIR(STR({variable}), \"he\", \"rtl\")"),
            15 => format!("IF({}, {variable}, 1/0)", self.constraint(0)),
            16 => format!("COALESCE(1/0, {variable})"),
            17 => format!("({variable} + {})", self.small()),
            18 => format!("({variable} - {})", self.variable()),
            19 => format!(
                "ADJUST({variable}, \"PT1H\"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>)"
            ),
            20 => format!("CONCAT(STR({variable}), \"-\", STR({}))", self.variable()),
            _ => self.constant(),
        }
    }
}

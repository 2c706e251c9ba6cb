//! Filters: every operator and function of this release, over variables, constants of the data and
//! one another, mostly of the types that they are for.

use super::Writer;

impl Writer<'_> {
    /// A `FILTER`.
    pub(super) fn filter(&mut self) -> String {
        let depth = self.random.between(0, 2);
        format!("FILTER({})", self.constraint(depth))
    }

    /// An expression that mostly has a truth value.
    pub(super) fn constraint(&mut self, depth: usize) -> String {
        if depth > 0 {
            let deeper = depth - 1;
            match self.random.below(6) {
                0 => return format!("!({})", self.constraint(deeper)),
                1 | 2 => {
                    let (left, right) = (self.constraint(deeper), self.constraint(deeper));
                    return format!("(({left}) && ({right}))");
                }
                3 | 4 => {
                    let (left, right) = (self.constraint(deeper), self.constraint(deeper));
                    return format!("(({left}) || ({right}))");
                }
                _ => {}
            }
        }
        match self.random.below(20) {
            0..8 => {
                let operator = *self
                    .random
                    .pick(&["=", "!=", "<", "<=", ">", ">=", "=", "!="]);
                format!("{} {operator} {}", self.value(depth), self.value(depth))
            }
            8 => format!("sameTerm({}, {})", self.variable(), self.value(0)),
            9 | 10 => self.membership(),
            11..13 => {
                let name =
                    *self
                        .random
                        .pick(&["isIRI", "isURI", "isBLANK", "isLITERAL", "isNUMERIC"]);
                format!("{name}({})", self.value(depth))
            }
            13 => format!("BOUND({})", self.variable()),
            14 | 15 => self.string_test(),
            16 => self.pattern_test(),
            17 => {
                let range = *self.random.pick(&["en", "EN", "fr", "*", "en-GB"]);
                format!("langMATCHES(LANG({}), \"{range}\")", self.variable())
            }
            18 => {
                let condition = self.constraint(0);
                format!("IF({condition}, {}, {})", self.constraint(0), self.value(0))
            }
            _ => self.value(depth),
        }
    }

    fn membership(&mut self) -> String {
        let word = *self.random.pick(&["IN", "NOT IN"]);
        let list: Vec<String> = (0..self.random.between(1, 4))
            .map(|_| self.value(0))
            .collect();
        format!("{} {word} ({})", self.variable(), list.join(", "))
    }

    fn string_test(&mut self) -> String {
        let name = *self.random.pick(&["STRSTARTS", "STRENDS", "CONTAINS"]);
        format!("{name}({}, {})", self.text(), self.short_text())
    }

    fn pattern_test(&mut self) -> String {
        if self.random.chance(10) {
            return format!("REGEX({}, {})", self.text(), self.variable());
        }
        let pattern = *self
            .random
            .pick(&["a", "^b", "[bc]+", "c$", "v[0-9]", ".", "A\\\\s?B"]);
        let flags = *self
            .random
            .pick(&["", "", ", \"i\"", ", \"s\"", ", \"im\""]);
        format!("REGEX({}, \"{pattern}\"{flags})", self.text())
    }

    /// Any expression.
    fn value(&mut self, depth: usize) -> String {
        match self.random.below(20) {
            8..11 => self.constant(),
            11..13 => self.text(),
            13..15 => self.number(),
            15 => format!("LANG({})", self.variable()),
            16 => format!("DATATYPE({})", self.variable()),
            17 if depth > 0 => format!("COALESCE({}, {})", self.value(0), self.value(0)),
            18 if depth > 0 => {
                let condition = self.constraint(0);
                format!("IF({condition}, {}, {})", self.value(0), self.value(0))
            }
            _ => self.variable(),
        }
    }

    /// A variable that is in scope, mostly; never one of a `GRAPH` around this place.
    pub(super) fn variable(&mut self) -> String {
        let hidden = &self.graph_variables;
        let visible: Vec<&String> = self
            .variables
            .iter()
            .filter(|name| !hidden.contains(name))
            .collect();
        if visible.is_empty() || self.random.chance(2) {
            return "?nowhere".to_owned();
        }
        (*self.random.pick(&visible)).clone()
    }

    pub(super) fn constant(&mut self) -> String {
        let vocabulary = self.vocabulary;
        if !vocabulary.literals.is_empty() && self.random.chance(70) {
            return self.random.pick(&vocabulary.literals).to_string();
        }
        match self.random.below(4) {
            0 => self.random.below(12).to_string(),
            1 => format!("{}.5", self.random.below(12)),
            2 => (*self.random.pick(&["true", "false", "\"\"", "\"abc\"@en"])).to_owned(),
            _ => self.random.pick(&vocabulary.iris).to_string(),
        }
    }

    /// An expression that is mostly text.
    pub(super) fn text(&mut self) -> String {
        match self.random.below(12) {
            0..5 => format!("STR({})", self.variable()),
            5 => self.variable(),
            6 => {
                let name = *self.random.pick(&["UCASE", "LCASE", "ENCODE_FOR_URI"]);
                format!("{name}(STR({}))", self.variable())
            }
            7 => {
                let start = self.random.between(0, 20);
                let length = if self.random.chance(50) { ", 3" } else { "" };
                format!("SUBSTR(STR({}), {start}{length})", self.variable())
            }
            8 => format!("CONCAT({}, {})", self.variable(), self.short_text()),
            9 => {
                let name = *self.random.pick(&["STRBEFORE", "STRAFTER"]);
                format!("{name}(STR({}), {})", self.variable(), self.short_text())
            }
            10 => {
                let pattern =
                    *self
                        .random
                        .pick(&["\"a\", \"zz\"", "\"[bc]\", \"\"", "\"B\", \"z\", \"i\""]);
                format!("REPLACE({}, {pattern})", self.variable())
            }
            _ => format!("UCASE({})", self.variable()),
        }
    }

    fn short_text(&mut self) -> String {
        (*self.random.pick(&[
            "\"a\"", "\"b\"", "\"/\"", "\"v1\"", "\"a\"@en", "\"\"", "\"c\"@fr",
        ]))
        .to_owned()
    }

    /// An expression that is mostly a number.
    pub(super) fn number(&mut self) -> String {
        match self.random.below(10) {
            0 | 1 => format!("STRLEN({})", self.text()),
            2..6 => {
                let operator = *self.random.pick(&["+", "-", "*", "/"]);
                let right = if self.random.chance(50) {
                    self.variable()
                } else {
                    self.small()
                };
                format!("({} {operator} {right})", self.variable())
            }
            6 => {
                let name = *self.random.pick(&["ABS", "ROUND", "CEIL", "FLOOR"]);
                format!("{name}({})", self.variable())
            }
            7 => {
                let sign = *self.random.pick(&["-", "+"]);
                format!("({sign}{})", self.variable())
            }
            8 => {
                let names = ["YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"];
                format!("{}({})", self.random.pick(&names), self.variable())
            }
            _ => self.small(),
        }
    }

    pub(super) fn small(&mut self) -> String {
        (*self
            .random
            .pick(&["0", "1", "2", "3", "0.5", "2.5e0", "21"]))
        .to_owned()
    }
}

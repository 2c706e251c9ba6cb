//! Where a statement ends: at a `;` outside all brackets, or at an empty line once its brackets
//! are closed and it has the groups that its form needs.
//!
//! A semicolon cannot be taken for anything else: outside brackets a query has none, and an update
//! has it between its operations. The empty line is for people who do not write one. It is asked
//! for after the groups, so that a blank line after the prologue or between a template and its
//! `WHERE` ends nothing. A script looks ahead besides: where `ORDER BY` and the like follow, a blank
//! line before them is only a blank line.

use super::form::{Form, in_prologue, of_word};
use somersault::text::{Piece as Token, PieceKind, TokenKind, pieces};

/// How far a text has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing but white space and comments.
    Empty,
    /// More is needed.
    Incomplete,
    /// It may end here, if an empty line follows.
    Endable,
    /// It ends at a `;`, which is the last byte before this offset.
    Ended(usize),
}

/// How far a text has come.
pub fn progress(text: &str) -> Progress {
    Scan::default().advance(text)
}

/// What has been seen of a statement that grows by whole lines. No token but a long string goes
/// over the end of a line, so each line is looked at once.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own about what came
struct Scan {
    scanned_bytes: usize,
    depth: u32,
    /// Top-level `{ }` after the form.
    groups: u32,
    is_begun: bool,
    is_string_open: bool,
    has_first: bool,
    /// What came is no form and no prologue: no SPARQL, whatever follows.
    is_past_prologue: bool,
    form: Option<Form>,
    /// `{` follows CONSTRUCT at once.
    has_template: Option<bool>,
    /// DESCRIBE names a variable or `*`.
    has_variable: bool,
}

impl Scan {
    /// Looks at what is new in `text`, which begins as it did last time.
    fn advance(&mut self, text: &str) -> Progress {
        let from = self.scanned_bytes;
        self.is_string_open = false;
        for token in pieces(&text[from..]) {
            if token.kind == (PieceKind::OpenString { is_long: true }) {
                self.is_begun = true;
                self.is_string_open = true;
                break;
            }
            self.scanned_bytes = from + token.end();
            if !token.is_significant() {
                continue;
            }
            self.is_begun = true;
            if token.is_operator(";") && self.depth == 0 {
                return Progress::Ended(self.scanned_bytes);
            }
            self.take(token);
        }
        self.progress()
    }

    fn take(&mut self, token: Token<'_>) {
        if let Some(form) = self.form {
            self.has_template.get_or_insert(token.text == "{");
            self.has_variable |=
                form == Form::Describe && (token.is(TokenKind::Variable) || token.text == "*");
        } else if !self.is_past_prologue {
            self.form = of_word(token);
            let begins = |word| token.is_word(word);
            let may_begin = ["PREFIX", "BASE", "VERSION"].into_iter().any(begins);
            let belongs = in_prologue(&token) && (self.has_first || may_begin);
            self.is_past_prologue = self.form.is_none() && !belongs;
            self.has_first = true;
        }
        self.depth = self.depth.saturating_add_signed(token.nesting());
        self.groups += u32::from(self.depth == 0 && token.is_operator("}"));
    }

    fn progress(&self) -> Progress {
        let needed = self.form.map(|form| match form {
            Form::Construct if self.has_template == Some(true) => 2,
            Form::Select | Form::Ask | Form::Construct => 1,
            Form::Describe => u32::from(self.has_variable),
            Form::Update => 0,
        });
        let needed = needed.or(self.is_past_prologue.then_some(0));
        if !self.is_begun {
            Progress::Empty
        } else if self.depth == 0
            && !self.is_string_open
            && needed.is_some_and(|needed| self.groups >= needed)
        {
            Progress::Endable
        } else {
            Progress::Incomplete
        }
    }
}

/// Cuts a script into statements, line by line as it is read.
#[derive(Debug, Default)]
pub struct Statements {
    pending: String,
    scan: Scan,
    /// Lines before `pending`.
    lines_before: u64,
    /// An empty line has come since `pending` could have ended.
    has_blank_after: bool,
}

/// A statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    /// Its text, without the `;` at its end.
    pub text: String,
    /// Lines of the script before its first.
    pub lines_before: u64,
}

impl Statements {
    /// Takes a line (with its end, if it has one) and gives the statements that are complete now.
    /// A line that begins with a dot where a statement may begin or end is one of its own.
    pub fn line(&mut self, line: &str) -> Vec<ScriptStatement> {
        assert!(
            line.find('\n').is_none_or(|at| at + 1 == line.len()),
            "a script comes line by line"
        );
        let mut pieces = Vec::new();
        let is_blank = line.trim().is_empty();
        let is_command = line.starts_with('.');
        if self.scan.progress() == Progress::Endable {
            if is_command || self.has_blank_after && !is_blank && !continues(line) {
                pieces.extend(self.take(self.pending.len(), 0));
            } else if is_blank {
                self.has_blank_after = true;
            }
        }
        let is_first = self.scan.progress() == Progress::Empty;
        self.pending.push_str(line);
        if is_first && is_command {
            pieces.extend(self.take(self.pending.len(), 0));
            return pieces;
        }
        while let Progress::Ended(end) = self.scan.advance(&self.pending) {
            pieces.extend(self.take(end, 1));
        }
        pieces
    }

    /// What is left at the end of the script, complete or not.
    pub fn rest(&mut self) -> Option<ScriptStatement> {
        self.take(self.pending.len(), 0)
    }

    /// Takes what is pending up to `end`, without the last `cut` bytes; `None` if it is nothing.
    fn take(&mut self, end: usize, cut: usize) -> Option<ScriptStatement> {
        let rest = self.pending.split_off(end);
        let mut text = std::mem::replace(&mut self.pending, rest);
        assert!(
            cut == 0 || text.ends_with(';'),
            "a semicolon ends the statement"
        );
        let lines_before = self.lines_before;
        self.lines_before += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.has_blank_after = false;
        self.scan = Scan::default();
        text.truncate(text.len() - cut);
        (progress(&text) != Progress::Empty).then_some(ScriptStatement { text, lines_before })
    }
}

/// Whether a line goes on with a statement that could have ended.
fn continues(line: &str) -> bool {
    const WORDS: [&str; 8] = [
        "ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET", "VALUES", "WHERE", "FROM",
    ];
    let first = pieces(line).find(|token| token.kind != PieceKind::Space);
    first.is_none_or(|token| {
        token.kind == PieceKind::Comment
            || token.is_operator(";")
            || WORDS.iter().any(|word| token.is_word(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_needs_its_groups() {
        use Progress::{Empty, Endable, Ended, Incomplete};
        for (text, expected) in [
            ("", Empty),
            ("  # nothing\n", Empty),
            ("PREFIX a: <http://a/>\n", Incomplete),
            ("PREFIX a: <http://a/>;", Ended(22)),
            ("SELECT ?x", Incomplete),
            ("SELECT ?x { ?x a ?y ; ", Incomplete),
            ("SELECT ?x { ?x a ?y ; a ?z }", Endable),
            ("SELECT ?x { ?x a ';}' ", Incomplete),
            ("SELECT ?x { ?x a '''}\n", Incomplete),
            ("SELECT ?x { ?x a ?y } ; SELECT", Ended(23)),
            ("CONSTRUCT { ?x a ?y }", Incomplete),
            ("CONSTRUCT { ?x a ?y } WHERE { ?x a ?y }", Endable),
            ("CONSTRUCT WHERE { ?x a ?y }", Endable),
            ("DESCRIBE <http://e/>", Endable),
            ("DESCRIBE ?x", Incomplete),
            ("DESCRIBE ?x { ?x a ?y }", Endable),
            ("SELECT ?x {}}", Endable),
            ("nonsense", Endable),
            ("nonsense {", Incomplete),
        ] {
            assert_eq!(progress(text), expected, "{text:?}");
        }
    }

    fn cut(script: &str) -> Vec<(String, u64)> {
        let mut statements = Statements::default();
        let mut pieces = Vec::new();
        for line in script.split_inclusive('\n') {
            pieces.extend(statements.line(line));
        }
        pieces.extend(statements.rest());
        pieces
            .into_iter()
            .map(|piece| (piece.text, piece.lines_before))
            .collect()
    }

    #[test]
    fn a_script_is_cut_at_semicolons_blank_lines_and_commands() {
        let script = ".timer on\n\nASK {}; ASK { }\n\n# then\nSELECT * {\n\n}\n\nORDER BY ?x\n\n\
                      ASK {  }\n.mode csv\nASK {";
        let expected = [
            (".timer on\n", 0),
            ("\nASK {}", 1),
            (" ASK { }\n\n# then\n", 2),
            ("SELECT * {\n\n}\n\nORDER BY ?x\n\n", 5),
            ("ASK {  }\n", 11),
            (".mode csv\n", 12),
            ("ASK {", 13),
        ];
        let expected = expected.map(|(text, line)| (text.to_owned(), line));
        assert_eq!(cut(script), expected);
    }

    #[test]
    fn long_strings_hide_what_is_in_them() {
        let script = "SELECT * { ?x ?y '''\n;\n\n}\n.mode\n''' }\n\nASK {}";
        let pieces = cut(script);
        assert_eq!(pieces.len(), 2, "{pieces:?}");
        assert_eq!(pieces[1], ("ASK {}".to_owned(), 7));
    }

    #[test]
    fn a_script_of_one_long_statement_is_cut_in_linear_time() {
        let mut statements = Statements::default();
        assert_eq!(statements.line("SELECT * {\n"), []);
        for _ in 0..100_000 {
            assert_eq!(
                statements.line("  ?x <http://e/p> 1 ; <http://e/q> 2 .\n"),
                []
            );
        }
        assert_eq!(statements.line("};").len(), 1);
    }
}

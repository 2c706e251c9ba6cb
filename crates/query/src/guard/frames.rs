//! The stack of open brackets, and what is counted in each.
//!
//! **How a bracket is read** depends on what stands before it, as in the grammar:
//!
//! | bracket | is | when |
//! |---|---|---|
//! | `(` | expression | within one; after FILTER; after a builtin's name or another keyword; in the head of a SELECT and after its WHERE |
//! | `(` | data: a collection, a path, a list of VALUES | otherwise |
//! | `{` | values | after VALUES |
//! | `{` | data: quads to be inserted or deleted | outside of all brackets, after DATA, INSERT or DELETE |
//! | `{` | group | otherwise |
//! | `[`, `<<`, `<<(`, `{\|` | as written | |
//!
//! Only within expressions does `<` compare and `/` divide, so this decides how text is cut into
//! tokens; it follows the grammar on every prefix that the parser accepts, and beyond the first
//! syntax error the parser reads nothing.
//!
//! **Updates.** A `;` outside of all brackets ends an operation (SPARQL 1.1 Update, grammar rule
//! Update), which is parsed and planned on its own, so what is counted begins anew. The quads of data
//! become a flat list, of which neither a chain nor a join is made: what bounds them is the length of
//! the text. In a query neither can stand, so this says nothing of queries.

use super::lexer::{Lexer, Place, Unclosed};
use super::limits::{Limit, Limits};
use super::token::{Token, TokenKind, Tokens};
use super::{GuardError, Problem};
use crate::position::Position;

/// What an open bracket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Outside of all brackets.
    Root,
    /// `{ ... }` of patterns.
    Group,
    /// `( ... )` of an expression.
    Expression,
    /// `( ... )` of terms: a collection, a path, a list.
    Data,
    /// `{ ... }` of VALUES.
    Values,
    /// `[ ... ]`.
    Bracket,
    /// `{| ... |}`.
    Annotation,
    /// `<< ... >>` and `<<( ... )>>`.
    Triple,
}

/// One open bracket.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about what was read, not states of one machine"
)]
struct Frame {
    kind: Kind,
    /// The bracket as written, and where.
    opened: &'static str,
    offset: u32,
    /// Links of the chain that this frame's elements form in the algebra.
    chain: u64,
    /// The longest chain below it.
    below: u64,
    /// `!` before the operand that is being read.
    bangs: u64,
    /// The nearest frame that holds statements.
    statements: usize,
    /// Within a statement (subject or verb read).
    in_statement: bool,
    /// Operators of the path being read, and the steps of its sequence.
    path_operators: u64,
    path_steps: u64,
    /// Patterns counted for the items of a collection; taken back when it turns out a path.
    collected: u64,
    is_collection: bool,
    /// After FILTER, before its bracket.
    constraint: bool,
    /// After VALUES, before its block.
    values: bool,
    /// After GRAPH or SERVICE, before its name.
    name_follows: bool,
    /// A group that began with SELECT.
    select: bool,
    /// Within quads to be inserted or deleted.
    data: bool,
}

impl Frame {
    fn new(kind: Kind, opened: &'static str, offset: u32) -> Frame {
        Frame {
            kind,
            opened,
            offset,
            chain: 0,
            below: 0,
            bangs: 0,
            statements: 0,
            in_statement: false,
            path_operators: 0,
            path_steps: 0,
            collected: 0,
            is_collection: false,
            constraint: false,
            values: false,
            name_follows: false,
            select: kind == Kind::Root,
            data: false,
        }
    }

    /// Whether the frame holds statements: subject, verb, objects.
    fn has_statements(&self) -> bool {
        matches!(self.kind, Kind::Group | Kind::Bracket | Kind::Annotation) && !self.select
    }

    fn end_verb(&mut self) {
        self.in_statement = false;
        self.path_operators = 0;
        self.path_steps = 0;
    }
}

/// The scan of one text.
pub(super) struct Scanner<'t> {
    text: &'t str,
    limits: Limits,
    tokens: Vec<Token>,
    frames: Vec<Frame>,
    /// Open brackets and `!` before them.
    live: u64,
    patterns: u64,
    aggregates: u64,
    names: u64,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, limits: Limits) -> Scanner<'t> {
        let mut frames = Vec::with_capacity(8);
        frames.push(Frame::new(Kind::Root, "", 0));
        Scanner {
            text,
            limits,
            tokens: Vec::with_capacity(text.len() / 5),
            frames,
            live: 0,
            patterns: 0,
            aggregates: 0,
            names: 0,
        }
    }

    pub(super) fn scan(mut self) -> Result<Tokens<'t>, GuardError> {
        let mut lexer = Lexer::new(self.text);
        loop {
            let place = self.place();
            let token = lexer
                .next(place)
                .map_err(|Unclosed(at)| self.error(at, Problem::NotClosed(quote(self.text, at))))?;
            let Some(token) = token else { break };
            self.take(token)?;
            self.tokens.push(token);
        }
        match self.frames.last() {
            Some(frame) if frame.kind != Kind::Root => {
                Err(self.error(frame.offset as usize, Problem::NotClosed(frame.opened)))
            }
            _ => {
                self.check_depth(0, self.text.len())?;
                Ok(Tokens {
                    text: self.text,
                    tokens: self.tokens,
                })
            }
        }
    }

    /// What may stand at the next token.
    fn place(&self) -> Place {
        let frame = self.top();
        let is_expression = frame.kind == Kind::Expression;
        Place {
            after_operand: is_expression && self.tokens.last().is_some_and(|t| self.is_operand(*t)),
            innermost: frame.opened,
        }
    }

    /// Whether an operand ends with this token.
    fn is_operand(&self, token: Token) -> bool {
        let slice = self.slice(token);
        match token.kind {
            TokenKind::Word => {
                slice.eq_ignore_ascii_case("true") || slice.eq_ignore_ascii_case("false")
            }
            TokenKind::Operator => matches!(slice, ")" | "]" | "}" | ")>>" | ">>"),
            _ => true,
        }
    }

    fn take(&mut self, token: Token) -> Result<(), GuardError> {
        let slice = self.slice(token);
        match (token.kind, slice) {
            (TokenKind::Operator, "(") => self.open(token, self.parenthesis(), "("),
            (TokenKind::Operator, "{") => self.open(token, self.brace(), "{"),
            (TokenKind::Operator, "[") => self.open(token, Kind::Bracket, "["),
            (TokenKind::Operator, "{|") => self.open(token, Kind::Annotation, "{|"),
            (TokenKind::Operator, "<<") => self.open(token, Kind::Triple, "<<"),
            (TokenKind::Operator, "<<(") => self.open(token, Kind::Triple, "<<("),
            (TokenKind::Operator, ")" | "}" | "]" | "|}" | ">>" | ")>>") => self.close(token),
            (TokenKind::Operator, _) => self.operator(token, slice),
            (TokenKind::Word, _) => self.word(token, slice),
            _ => self.term(token),
        }
    }

    /// How a parenthesis is to be read.
    fn parenthesis(&self) -> Kind {
        let frame = self.top();
        let after_keyword = self.tokens.last().is_some_and(|&token| {
            token.kind == TokenKind::Word && !matches!(self.slice(token), "a")
        });
        match frame.kind {
            Kind::Expression => Kind::Expression,
            Kind::Root | Kind::Group if frame.values => Kind::Data,
            Kind::Root | Kind::Group if frame.constraint || frame.select || after_keyword => {
                Kind::Expression
            }
            _ => Kind::Data,
        }
    }

    /// How a brace is to be read.
    fn brace(&self) -> Kind {
        if self.top().values {
            Kind::Values
        } else {
            Kind::Group
        }
    }

    /// Whether a brace holds quads to be inserted or deleted.
    fn begins_data(&self) -> bool {
        const BEFORE: [&str; 3] = ["DATA", "INSERT", "DELETE"];
        let follows = |&before: &Token| {
            let slice = self.slice(before);
            before.kind == TokenKind::Word
                && BEFORE.iter().any(|word| slice.eq_ignore_ascii_case(word))
        };
        self.top().kind == Kind::Root && self.tokens.last().is_some_and(follows)
    }

    fn open(&mut self, token: Token, kind: Kind, opened: &'static str) -> Result<(), GuardError> {
        let mut frame = Frame::new(kind, opened, token.start);
        frame.data = self.top().data || kind == Kind::Group && self.begins_data();
        frame.is_collection = kind == Kind::Data && self.counts_terms();
        frame.statements = if frame.has_statements() {
            self.frames.len()
        } else {
            self.top().statements
        };
        self.link(kind);
        match kind {
            Kind::Data | Kind::Bracket => self.item(token)?,
            Kind::Triple => {
                self.item(token)?;
                self.count_patterns(1, token)?;
            }
            Kind::Annotation => self.count_patterns(1, token)?,
            Kind::Group | Kind::Values | Kind::Expression | Kind::Root => {}
        }
        self.frames.push(frame);
        self.nest(1, token)
    }

    /// Whether terms here are items of a collection or begin a statement.
    fn counts_terms(&self) -> bool {
        let frame = self.top();
        match frame.kind {
            Kind::Data => frame.is_collection && !frame.data,
            Kind::Group | Kind::Bracket | Kind::Annotation => !frame.values && !frame.data,
            _ => false,
        }
    }

    /// What an opening bracket adds to the chain of the frame around it.
    fn link(&mut self, kind: Kind) {
        let frame = self.top_mut();
        match kind {
            Kind::Group | Kind::Values => {
                frame.chain += if frame.data { 0 } else { 2 };
                frame.constraint = false;
                frame.values = false;
                frame.name_follows = false;
                frame.end_verb();
            }
            Kind::Expression => {
                frame.chain += u64::from(frame.kind != Kind::Expression);
                frame.constraint = false;
            }
            _ => {}
        }
    }

    fn close(&mut self, token: Token) -> Result<(), GuardError> {
        let frame = self.top();
        let expected = closing(frame.opened);
        let found = closing_bracket(self.slice(token));
        if expected != Some(found) {
            let problem = Problem::Unexpected { found, expected };
            return Err(self.error(token.start as usize, problem));
        }
        self.check_depth(self.frames.len() - 1, token.start as usize)?;
        let frame = self.frames.pop().expect("the frame that was looked at");
        let below = frame.chain + frame.below + 1;
        self.live -= 1 + frame.bangs;
        let kind = frame.kind;
        let parent = self.top_mut();
        parent.below = parent.below.max(below);
        if matches!(kind, Kind::Group | Kind::Values | Kind::Expression) {
            parent.end_verb();
        }
        self.operand_ends();
        Ok(())
    }

    /// An operand is complete: its `!` are no longer open.
    fn operand_ends(&mut self) {
        let bangs = std::mem::take(&mut self.top_mut().bangs);
        self.live -= bangs;
    }

    fn operator(&mut self, token: Token, slice: &str) -> Result<(), GuardError> {
        let kind = self.top().kind;
        if slice == "!" {
            self.top_mut().bangs += 1;
            self.nest(1, token)?;
        }
        match kind {
            Kind::Root if slice == ";" => self.next_operation(token),
            Kind::Expression | Kind::Root => {
                self.top_mut().chain += u64::from(slice != ",");
                self.check_depth(self.frames.len() - 1, token.start as usize)
            }
            Kind::Group | Kind::Bracket | Kind::Annotation | Kind::Data => {
                self.statement_operator(token, slice)
            }
            Kind::Values | Kind::Triple => Ok(()),
        }
    }

    /// The operation of an update ends.
    fn next_operation(&mut self, token: Token) -> Result<(), GuardError> {
        self.check_depth(0, token.start as usize)?;
        *self.top_mut() = Frame::new(Kind::Root, "", 0);
        self.live = 0;
        self.patterns = 0;
        self.aggregates = 0;
        self.names = 0;
        Ok(())
    }

    /// Separators of statements, and the operators of paths.
    fn statement_operator(&mut self, token: Token, slice: &str) -> Result<(), GuardError> {
        // `ex:p+` repeats a step; in `?p +1` the sign belongs to the number.
        let adjacent = self
            .tokens
            .last()
            .is_some_and(|&before| self.is_operand(before) && before.end == token.start);
        let nearest = self.top().statements;
        let statements = &mut self.frames[nearest];
        match slice {
            "." | ";" => {
                self.top_mut().end_verb();
                Ok(())
            }
            "," => {
                let steps = statements.path_steps;
                self.count_patterns(1 + steps, token)
            }
            "~" => self.count_patterns(1, token),
            "*" | "+" | "?" if !adjacent => Ok(()),
            "/" | "|" | "^" | "*" | "+" | "?" | "!" => {
                statements.path_operators += 1;
                statements.path_steps += u64::from(slice == "/");
                let used = statements.path_operators;
                self.not_a_collection();
                self.check(
                    Limit::PathOperators,
                    used,
                    self.limits.path_operators,
                    token,
                )?;
                self.count_patterns(u64::from(slice == "/"), token)
            }
            _ => Ok(()),
        }
    }

    /// The innermost parenthesis is a path: its items are no collection's.
    fn not_a_collection(&mut self) {
        let frame = self.top_mut();
        frame.is_collection = false;
        let collected = std::mem::take(&mut frame.collected);
        self.patterns -= collected;
    }

    fn word(&mut self, token: Token, slice: &str) -> Result<(), GuardError> {
        if matches!(slice, "a" | "true" | "false") {
            return self.term(token);
        }
        const AGGREGATES: [&str; 7] = [
            "COUNT",
            "SUM",
            "MIN",
            "MAX",
            "AVG",
            "SAMPLE",
            "GROUP_CONCAT",
        ];
        if AGGREGATES
            .iter()
            .any(|name| slice.eq_ignore_ascii_case(name))
        {
            self.aggregates += 1;
            let used = self.aggregates;
            self.check(Limit::Aggregates, used, self.limits.aggregates, token)?;
        }
        if slice.eq_ignore_ascii_case("SELECT") {
            self.top_mut().select = true;
            self.names += if self.frames.len() > 1 {
                Limits::NAMES_PER_SELECT
            } else {
                0
            };
        }
        let frame = self.top_mut();
        match frame.kind {
            Kind::Group | Kind::Root => {
                frame.end_verb();
                frame.constraint |= slice.eq_ignore_ascii_case("FILTER");
                frame.values |= slice.eq_ignore_ascii_case("VALUES");
                frame.name_follows = ["GRAPH", "SERVICE", "SILENT"]
                    .iter()
                    .any(|keyword| slice.eq_ignore_ascii_case(keyword));
                frame.chain += u64::from(
                    slice.eq_ignore_ascii_case("FILTER") || slice.eq_ignore_ascii_case("BIND"),
                );
            }
            // IN and NOT link operands as operators do.
            Kind::Expression => frame.chain += 1,
            _ => {}
        }
        self.check_depth(self.frames.len() - 1, token.start as usize)
    }

    fn term(&mut self, token: Token) -> Result<(), GuardError> {
        self.operand_ends();
        let after_datatype = self.tokens.last().is_some_and(|&t| self.slice(t) == "^^");
        if token.kind == TokenKind::Language || after_datatype {
            return Ok(());
        }
        let frame = self.top();
        let listed = (frame.kind == Kind::Data && !frame.is_collection) || frame.select;
        if listed && token.kind == TokenKind::Variable {
            self.names += 1;
            let used = self.names;
            self.check(Limit::ListedNames, used, self.limits.listed_names, token)?;
        }
        self.item(token)
    }

    /// A term or a bracket that stands for one: an item of a collection, or part of a statement.
    fn item(&mut self, token: Token) -> Result<(), GuardError> {
        let counts = self.counts_terms();
        let has_statements = self.top().has_statements();
        let frame = self.top_mut();
        if std::mem::take(&mut frame.name_follows) || frame.constraint || !counts {
            return Ok(());
        }
        if frame.kind == Kind::Data {
            frame.collected += 2;
            return self.count_patterns(2, token);
        }
        if has_statements && !frame.in_statement {
            frame.in_statement = true;
            return self.count_patterns(1, token);
        }
        Ok(())
    }

    fn count_patterns(&mut self, more: u64, token: Token) -> Result<(), GuardError> {
        if self.top().data {
            return Ok(());
        }
        self.patterns += more;
        let used = self.patterns;
        self.check(
            Limit::TriplePatterns,
            used,
            self.limits.triple_patterns,
            token,
        )
    }

    fn nest(&mut self, more: u64, token: Token) -> Result<(), GuardError> {
        self.live += more;
        let used = self.live;
        self.check(Limit::Nesting, used, self.limits.nesting, token)
    }

    /// The chain through a frame and all that was closed in it.
    fn check_depth(&self, frame: usize, offset: usize) -> Result<(), GuardError> {
        let frame = &self.frames[frame];
        let used = frame.chain + frame.below;
        if used <= self.limits.depth {
            return Ok(());
        }
        let problem = Problem::Limit {
            limit: Limit::Depth,
            used,
            max: self.limits.depth,
        };
        Err(self.error(offset, problem))
    }

    fn check(&self, limit: Limit, used: u64, max: u64, token: Token) -> Result<(), GuardError> {
        if used <= max {
            return Ok(());
        }
        Err(self.error(token.start as usize, Problem::Limit { limit, used, max }))
    }

    fn error(&self, offset: usize, problem: Problem) -> GuardError {
        GuardError {
            position: Position::of_offset(self.text, offset),
            problem,
        }
    }

    fn slice(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn top(&self) -> &Frame {
        self.frames.last().expect("the root frame is never closed")
    }

    fn top_mut(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("the root frame is never closed")
    }
}

/// What closes a bracket.
fn closing(opened: &str) -> Option<&'static str> {
    Some(match opened {
        "(" => ")",
        "{" => "}",
        "[" => "]",
        "{|" => "|}",
        "<<" => ">>",
        "<<(" => ")>>",
        _ => return None,
    })
}

/// A closing bracket, as a constant.
fn closing_bracket(slice: &str) -> &'static str {
    match slice {
        ")" => ")",
        "}" => "}",
        "]" => "]",
        "|}" => "|}",
        ">>" => ">>",
        _ => ")>>",
    }
}

/// The quotes that begin a string.
fn quote(text: &str, at: usize) -> &'static str {
    let rest = &text[at..];
    if rest.starts_with("\"\"\"") {
        "\"\"\""
    } else if rest.starts_with("'''") {
        "'''"
    } else if rest.starts_with('"') {
        "\""
    } else {
        "'"
    }
}

//! The text of an update, piece by piece.
//!
//! A request is cut at each `;` outside of brackets (grammar rule Update), and each piece is parsed on
//! its own: `Prologue Operation ;`. So an error has the number of its operation, names of one operation are
//! not looked for in the tokens of all others, and plain data (`plain`) have their own way. A piece inherits
//! the base and the prefixes declared before it; it is given only those prefixes that its tokens name, so
//! that all pieces together cost time linear in the text.

use super::data::Data;
use super::{Modify, Operation, Update, plain};
use crate::lexer::token::{Token, TokenKind, Tokens};
use crate::lexer::{self, nesting};
use crate::limits::Limits;
use crate::lower::lower_modification;
use crate::parse::{self, ParseError, ParseErrorKind, ParseOptions, first_keyword, is_one};
use crate::position::Position;
use crate::translate::{Declared, Made, Modification, Parts, Translated};
use crate::{parser, translate};
use oxiri::Iri;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Reads an update. Costs time linear in the text; needs [`crate::STACK_BYTES_MIN`] of stack.
/// Errors have the number of their operation where the text has more than one.
pub fn parse_update(text: &str, options: &ParseOptions) -> Result<Update, ParseError> {
    parse(text, options, true).0
}

/// The same without the shorter way for plain data: what [`parse_update`] is compared with in tests.
pub fn parse_update_by_grammar(text: &str, options: &ParseOptions) -> Result<Update, ParseError> {
    parse(text, options, false).0
}

/// The update, and how many of its pieces were read as plain data.
pub(super) fn parse(
    text: &str,
    options: &ParseOptions,
    takes_plain: bool,
) -> (Result<Update, ParseError>, usize) {
    let mut plain_pieces = 0;
    let mut read = || {
        let tokens = lexer::scan(text, &options.limits)?;
        refuse_query(&tokens)?;
        parse::check_options(options)?;
        let cuts = cuts(&tokens);
        let count = cuts.len();
        let mut reader = Reader::new(options);
        let mut first = 0;
        for (number, end) in cuts.into_iter().enumerate() {
            let piece = piece(&tokens, first..end);
            first = end;
            let at = (number, piece.start);
            let mut read = || {
                let inherited = reader.inherited(&piece.tokens)?;
                let data = takes_plain.then(|| reader.plain_data(&piece.tokens, &inherited));
                if let Some(data) = data.flatten() {
                    plain_pieces += 1;
                    return reader.take_plain(text, &piece.tokens, data, at);
                }
                reader.piece(text, &piece.tokens, &inherited, at)
            };
            read().map_err(|error| placed(error, text, piece.start, (number, count)))?;
        }
        Ok(reader.update)
    };
    (read(), plain_pieces)
}

/// A query begins, after its prologue, with one of its own keywords.
fn refuse_query(tokens: &Tokens<'_>) -> Result<(), ParseError> {
    const QUERIES: [&str; 4] = ["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"];
    match first_keyword(tokens) {
        Some(token) if is_one(tokens.slice(token), &QUERIES) => Err(ParseError {
            kind: ParseErrorKind::Update,
            position: Position::of_offset(tokens.text, token.start as usize),
            message: format!(
                "{} is a query, not an update: send it where queries are accepted",
                tokens.slice(token).to_ascii_uppercase()
            ),
        }),
        _ => Ok(()),
    }
}

/// An error of a piece as one of the whole text.
fn placed(
    error: ParseError,
    text: &str,
    start: usize,
    (number, count): (usize, usize),
) -> ParseError {
    let mut message = error.message;
    if count > 1 {
        message = format!("{message}, in operation {}", number + 1);
    }
    ParseError {
        kind: error.kind,
        position: Position::of_offset(text, start + error.position.offset as usize),
        message,
    }
}

/// What stands up to and with a `;`.
struct Piece<'p, 't> {
    start: usize,
    /// The tokens, with their places in the piece. Those of the only piece are those of the text.
    tokens: Cow<'p, Tokens<'t>>,
}

/// Behind which tokens the text is cut: after each `;` outside of brackets.
fn cuts(tokens: &Tokens<'_>) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut depth = 0_u32;
    for (place, &token) in tokens.tokens.iter().enumerate() {
        if token.kind != TokenKind::Operator {
            continue;
        }
        match tokens.slice(token) {
            ";" if depth == 0 => cuts.push(place + 1),
            slice => depth = depth.saturating_add_signed(nesting(slice)),
        }
    }
    let all = tokens.tokens.len();
    if cuts.last().copied().unwrap_or(0) < all {
        cuts.push(all);
    }
    cuts
}

/// The piece of these tokens: from where the one before it ended.
fn piece<'p, 't>(tokens: &'p Tokens<'t>, range: Range<usize>) -> Piece<'p, 't> {
    let all = &tokens.tokens;
    let end_of = |token: usize| all[token].end as usize;
    let start = range.start.checked_sub(1).map_or(0, end_of);
    let end = match all.get(range.end) {
        Some(_) => end_of(range.end - 1),
        None if is_cut(tokens, range.end) => end_of(range.end - 1),
        None => tokens.text.len(),
    };
    if range == (0..all.len()) && end == tokens.text.len() {
        let tokens = Cow::Borrowed(tokens);
        return Piece { start, tokens };
    }
    let own = all[range].iter().map(|&token| Token {
        start: token.start - start as u32,
        end: token.end - start as u32,
        ..token
    });
    let tokens = Tokens {
        text: &tokens.text[start..end],
        tokens: own.collect(),
    };
    Piece {
        start,
        tokens: Cow::Owned(tokens),
    }
}

/// Whether the tokens before this one end with the `;` of an operation: it cannot be in brackets there.
fn is_cut(tokens: &Tokens<'_>, end: usize) -> bool {
    let last = end.checked_sub(1).map(|last| tokens.tokens[last]);
    last.is_some_and(|last| tokens.slice(last) == ";")
}

/// A piece of plain data.
struct Plain {
    declared: Declared,
    operation: Operation,
    /// Where the operation begins in the piece.
    start: usize,
}

/// What the pieces so far have said.
struct Reader {
    base: Option<String>,
    prefixes: HashMap<String, String>,
    limits: Limits,
    union_default_graph: bool,
    /// The labels of `INSERT DATA`, each with the number of its piece.
    labels: HashMap<String, usize>,
    /// What the pieces have made; a piece that inherits makes copies, too.
    made: Made,
    /// Of the operation read last.
    position: Position,
    update: Update,
}

impl Reader {
    fn new(options: &ParseOptions) -> Reader {
        Reader {
            base: options.base.clone(),
            prefixes: options.prefixes.iter().cloned().collect(),
            limits: options.limits,
            union_default_graph: options.union_default_graph,
            labels: HashMap::new(),
            made: Made::new(&options.limits),
            position: Position::START,
            update: Update {
                operations: Vec::new(),
                positions: Vec::new(),
                prefixes: options.prefixes.clone(),
            },
        }
    }

    /// Reads one piece; places in errors are those in the piece. `number` and `start` are the piece's.
    fn piece(
        &mut self,
        text: &str,
        tokens: &Tokens<'_>,
        options: &ParseOptions,
        (number, start): (usize, usize),
    ) -> Result<(), ParseError> {
        let tree = parser::update(tokens, &self.limits)?;
        let Translated {
            said,
            terms,
            prefixes,
            made,
        } = translate::update(&tree, options, self.made.bytes)?;
        self.made.bytes = made;
        self.declare(said.declared);
        let Some((verb, parts)) = said.operation else {
            return Ok(());
        };
        if matches!(parts, Parts::Data { inserts: true, .. }) {
            self.note_labels(tokens, number)?;
        }
        let operation = match parts {
            Parts::Whole(operation) => operation,
            Parts::Data { inserts, data } => data_operation(inserts, data),
            Parts::Modify(said) => modification(
                Translated {
                    said: *said,
                    terms,
                    prefixes,
                    made,
                },
                options,
            )?,
        };
        let verb = tokens.tokens[verb];
        self.push(text, start + verb.start as usize, operation);
        Ok(())
    }

    /// The next operation, and where it begins in the text.
    fn push(&mut self, text: &str, start: usize, operation: Operation) {
        self.position = self.position.further(text, start);
        self.update.operations.push(operation);
        self.update.positions.push(self.position);
    }

    /// A piece that is plain data; `None` for all others, and where the grammar has to decide.
    fn plain_data(&mut self, tokens: &Tokens<'_>, options: &ParseOptions) -> Option<Plain> {
        let before = self.made.bytes;
        let plain = self.plain_data_counted(tokens, options);
        if plain.is_none() {
            // The grammar reads it from its beginning.
            self.made.bytes = before;
        }
        plain
    }

    fn plain_data_counted(&mut self, tokens: &Tokens<'_>, options: &ParseOptions) -> Option<Plain> {
        let list = &tokens.tokens;
        let is = |token: &Token, words: &[&str]| {
            token.kind == TokenKind::Word && is_one(tokens.slice(*token), words)
        };
        let start = list
            .iter()
            .position(|token| is(token, &["INSERT", "DELETE"]))?;
        let [verb, word, open, body @ ..] = &list[start..] else {
            return None;
        };
        if !(is(word, &["DATA"]) && tokens.slice(*open) == "{") {
            return None;
        }
        let declared = self.prologue(tokens, options, start)?;
        let base = declared.base.as_deref();
        let base = base.map(|base| Iri::parse(base.to_owned()));
        let own = declared.prefixes.iter();
        let own: HashMap<&str, &str> = own
            .map(|(name, iri)| (name.as_str(), iri.as_str()))
            .collect();
        let inherited = &self.prefixes;
        let prefix = |name: &str| {
            let own = own.get(name).copied();
            own.or_else(|| inherited.get(name).map(String::as_str))
        };
        let names = plain::Names {
            base: base.transpose().ok()?,
            prefix: &prefix,
        };
        let inserts = is(verb, &["INSERT"]);
        let data = plain::data(tokens, body, &names, inserts, &mut self.made)?;
        Some(Plain {
            operation: data_operation(inserts, data),
            start: verb.start as usize,
            declared,
        })
    }

    /// The operation of a piece of plain data.
    fn take_plain(
        &mut self,
        text: &str,
        tokens: &Tokens<'_>,
        plain: Plain,
        (number, start): (usize, usize),
    ) -> Result<(), ParseError> {
        self.declare(plain.declared);
        if matches!(plain.operation, Operation::InsertData { .. }) {
            self.note_labels(tokens, number)?;
        }
        self.push(text, start + plain.start, plain.operation);
        Ok(())
    }

    fn declare(&mut self, declared: Declared) {
        self.base = declared.base;
        self.update
            .prefixes
            .extend(declared.prefixes.iter().cloned());
        self.prefixes.extend(declared.prefixes);
    }

    /// What a piece inherits: the base, and the prefixes that its tokens name.
    fn inherited(&mut self, tokens: &Tokens<'_>) -> Result<ParseOptions, ParseError> {
        let mut used: HashMap<&str, &str> = HashMap::new();
        for &token in &tokens.tokens {
            if token.kind == TokenKind::PrefixedName
                && let Some((prefix, _)) = tokens.slice(token).split_once(':')
                && let Some((prefix, iri)) = self.prefixes.get_key_value(prefix)
            {
                used.insert(prefix, iri);
            }
        }
        let base = self.base.as_ref().map_or(0, String::len);
        let copied = used.values().map(|iri| iri.len()).sum::<usize>() + base;
        // One for the options, one to resolve with, one that the operation keeps, one that is handed on.
        self.made
            .count(4 * copied)
            .map_err(|exceeded| exceeded.at(Position::START))?;
        let mut prefixes: Vec<(String, String)> = used
            .into_iter()
            .map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()))
            .collect();
        prefixes.sort_unstable();
        Ok(ParseOptions {
            base: self.base.clone(),
            prefixes,
            union_default_graph: self.union_default_graph,
            limits: self.limits,
        })
    }

    /// What the first tokens of a piece declare, if they are a prologue.
    fn prologue(
        &mut self,
        tokens: &Tokens<'_>,
        options: &ParseOptions,
        end: usize,
    ) -> Option<Declared> {
        if end == 0 {
            return Some(Declared {
                base: self.base.clone(),
                prefixes: Vec::new(),
            });
        }
        let tokens = Tokens {
            text: tokens.text,
            tokens: tokens.tokens[..end].to_vec(),
        };
        let tree = parser::prologue(&tokens, &self.limits).ok()?;
        let read = translate::update(&tree, options, self.made.bytes).ok()?;
        self.made.bytes = read.made;
        Some(read.said.declared)
    }

    /// Refuses labels of `INSERT DATA` that another one has.
    fn note_labels(&mut self, tokens: &Tokens<'_>, number: usize) -> Result<(), ParseError> {
        for &token in &tokens.tokens {
            if token.kind != TokenKind::BlankNode {
                continue;
            }
            let label = tokens.slice(token);
            match self.labels.get(label) {
                Some(known) if *known == number => {}
                None => drop(self.labels.insert(label.to_owned(), number)),
                Some(known) => {
                    let message = format!(
                        "the label {label} stands in the INSERT DATA of operation {} already: a \
                         blank node belongs to one operation",
                        known + 1
                    );
                    return Err(at(tokens, token, message));
                }
            }
        }
        Ok(())
    }
}

fn at(tokens: &Tokens<'_>, token: Token, message: String) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Syntax,
        position: Position::of_offset(tokens.text, token.start as usize),
        message,
    }
}

fn data_operation(inserts: bool, data: Data) -> Operation {
    if inserts {
        Operation::InsertData { data }
    } else {
        Operation::DeleteData { data }
    }
}

fn modification(
    read: Translated<'_, Modification>,
    options: &ParseOptions,
) -> Result<Operation, ParseError> {
    let names_dataset = read.said.using.is_some() || read.said.with.is_some();
    let lowered = lower_modification(read, options)?;
    Ok(Operation::Modify(Box::new(Modify {
        query: lowered.query,
        delete: lowered.delete,
        insert: lowered.insert,
        names_dataset,
    })))
}

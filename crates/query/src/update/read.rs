//! The text of an update, piece by piece.
//!
//! A piece is what stands up to a `;` outside of brackets (grammar rule Update): `Prologue Operation ;`. Pieces are
//! read one by one, each from its range of the text's tokens. So an error has the number of its operation, names of
//! one operation are not looked for in the tokens of all others, and plain data (`plain`) have their own way. A piece
//! inherits the base and the prefixes declared before it; it is given only those prefixes that its tokens name, so
//! that all pieces together cost time linear in the text.

use super::data::Data;
use super::{Modify, Operation, Update, plain};
use crate::error::{NUMBERED, ParseError, ParseErrorKind};
use crate::grammar::lexer::token::{Token, TokenKind, Tokens};
use crate::grammar::lexer::{self, nesting};
use crate::grammar::translate::{Declared, Made, Modification, Parts, Translated};
use crate::grammar::{parser, translate};
use crate::limits::Limits;
use crate::lower::lower_modification;
use crate::options::{ParseOptions, check_options};
use crate::parse::{first_keyword, is_one};
use crate::position::Position;
use oxiri::Iri;
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
        check_options(options)?;
        let pieces = pieces(&tokens);
        let count = pieces.len();
        let mut reader = Reader::new(options, &tokens);
        for (number, piece) in pieces.into_iter().enumerate() {
            let mut read = || {
                let inherited = reader.inherited(piece.clone())?;
                let data = takes_plain.then(|| reader.plain_data(piece.clone(), &inherited));
                if let Some(data) = data.flatten() {
                    plain_pieces += 1;
                    return reader.take_plain(data, number, piece.clone());
                }
                reader.piece(&inherited, number, piece.clone())
            };
            read().map_err(|error| numbered(error, (number, count)))?;
        }
        let Update {
            operations,
            positions,
            ..
        } = &reader.update;
        assert_eq!(
            operations.len(),
            positions.len(),
            "an operation has its position"
        );
        Ok(reader.update)
    };
    (read(), plain_pieces)
}

/// What else is wrong with the grammar of an update, as [`crate::parse::further_errors`] says it of a query.
pub fn further_errors(text: &str, options: &ParseOptions, first: &ParseError) -> Vec<ParseError> {
    if first.kind != ParseErrorKind::Syntax {
        return Vec::new();
    }
    let Ok(tokens) = lexer::scan(text, &options.limits) else {
        return Vec::new();
    };
    let pieces = pieces(&tokens);
    let count = pieces.len();
    let mut errors = Vec::new();
    for (number, piece) in pieces.into_iter().enumerate() {
        let Err(error) = parser::update(&tokens, piece.clone(), &options.limits) else {
            continue;
        };
        let of_piece = parser::errors_of_update(&tokens, piece, &options.limits);
        let of_piece = if of_piece.is_empty() {
            vec![error]
        } else {
            of_piece
        };
        errors.extend(
            of_piece
                .into_iter()
                .map(|error| numbered(error, (number, count))),
        );
        if errors.len() >= parser::ERRORS_MAX {
            break;
        }
    }
    errors.truncate(parser::ERRORS_MAX);
    errors.retain(|error| error.position != first.position);
    errors
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

/// An error of a piece, with its number.
fn numbered(error: ParseError, (number, count): (usize, usize)) -> ParseError {
    if count == 1 {
        return error;
    }
    ParseError {
        message: format!("{}{NUMBERED}{}", error.message, number + 1),
        ..error
    }
}

/// The tokens of each piece: up to and with a `;` outside of brackets.
fn pieces(tokens: &Tokens<'_>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut first = 0;
    let mut depth = 0_u32;
    for (place, &token) in tokens.tokens.iter().enumerate() {
        if token.kind != TokenKind::Operator {
            continue;
        }
        match tokens.slice(token) {
            ";" if depth == 0 => {
                pieces.push(first..place + 1);
                first = place + 1;
            }
            slice => depth = depth.saturating_add_signed(nesting(slice)),
        }
    }
    if first < tokens.tokens.len() {
        pieces.push(first..tokens.tokens.len());
    }
    let end = pieces.last().map_or(0, |last: &Range<usize>| last.end);
    assert_eq!(end, tokens.tokens.len(), "a token is in one piece");
    pieces
}

/// A piece of plain data.
struct Plain {
    declared: Declared,
    operation: Operation,
    /// The operation's first token.
    verb: Token,
}

/// What the pieces so far have said.
struct Reader<'t> {
    tokens: &'t Tokens<'t>,
    base: Option<String>,
    prefixes: HashMap<String, String>,
    limits: Limits,
    union_default_graph: bool,
    /// The labels of `INSERT DATA`, each with the number of its piece.
    labels: HashMap<&'t str, usize>,
    /// What the pieces have made; a piece that inherits makes copies, too.
    made: Made,
    /// Of the operation read last.
    position: Position,
    update: Update,
}

impl<'t> Reader<'t> {
    fn new(options: &ParseOptions, tokens: &'t Tokens<'t>) -> Reader<'t> {
        Reader {
            tokens,
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

    /// Reads one piece.
    fn piece(
        &mut self,
        options: &ParseOptions,
        number: usize,
        piece: Range<usize>,
    ) -> Result<(), ParseError> {
        let tree = parser::update(self.tokens, piece.clone(), &self.limits)?;
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
            self.note_labels(number, piece)?;
        }
        let operation = match parts {
            Parts::Whole(operation) => operation,
            Parts::Data { inserts, data } => data_operation(inserts, data),
            Parts::Modify(said) => {
                let read = Translated {
                    said: *said,
                    terms,
                    prefixes,
                    made,
                };
                modification(read, options).map_err(|error| self.at_operation(error, verb))?
            }
        };
        self.push(self.tokens.tokens[verb], operation);
        Ok(())
    }

    /// An error that is about no place is about the operation with this first token.
    fn at_operation(&self, error: ParseError, verb: usize) -> ParseError {
        if error.position != Position::START {
            return error;
        }
        let start = self.tokens.tokens[verb].start as usize;
        ParseError {
            position: Position::of_offset(self.tokens.text, start),
            ..error
        }
    }

    /// The next operation, and its first token.
    fn push(&mut self, verb: Token, operation: Operation) {
        self.position = self.position.further(self.tokens.text, verb.start as usize);
        self.update.operations.push(operation);
        self.update.positions.push(self.position);
    }

    /// A piece that is plain data; `None` for all others, and where the grammar has to decide.
    fn plain_data(&mut self, piece: Range<usize>, options: &ParseOptions) -> Option<Plain> {
        let before = self.made.bytes;
        let plain = self.plain_data_counted(piece, options);
        if plain.is_none() {
            // The grammar reads it from its beginning.
            self.made.bytes = before;
        }
        plain
    }

    fn plain_data_counted(&mut self, piece: Range<usize>, options: &ParseOptions) -> Option<Plain> {
        let tokens = self.tokens;
        let list = &tokens.tokens[piece.clone()];
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
        let declared = self.prologue(piece.start..piece.start + start, options)?;
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
            verb: *verb,
            declared,
        })
    }

    /// The operation of a piece of plain data.
    fn take_plain(
        &mut self,
        plain: Plain,
        number: usize,
        piece: Range<usize>,
    ) -> Result<(), ParseError> {
        self.declare(plain.declared);
        if matches!(plain.operation, Operation::InsertData { .. }) {
            self.note_labels(number, piece)?;
        }
        self.push(plain.verb, plain.operation);
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
    fn inherited(&mut self, piece: Range<usize>) -> Result<ParseOptions, ParseError> {
        let tokens = self.tokens;
        let mut used: HashMap<&str, &str> = HashMap::new();
        for &token in &tokens.tokens[piece.clone()] {
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
        self.made.count(4 * copied).map_err(|exceeded| {
            let start = tokens.tokens[piece.start].start as usize;
            exceeded.at(Position::of_offset(tokens.text, start))
        })?;
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

    /// What these tokens declare, if they are a prologue.
    fn prologue(&mut self, part: Range<usize>, options: &ParseOptions) -> Option<Declared> {
        if part.is_empty() {
            return Some(Declared {
                base: self.base.clone(),
                prefixes: Vec::new(),
            });
        }
        let tree = parser::prologue(self.tokens, part, &self.limits).ok()?;
        let read = translate::update(&tree, options, self.made.bytes).ok()?;
        self.made.bytes = read.made;
        Some(read.said.declared)
    }

    /// Refuses labels of `INSERT DATA` that another one has.
    fn note_labels(&mut self, number: usize, piece: Range<usize>) -> Result<(), ParseError> {
        let tokens = self.tokens;
        for &token in &tokens.tokens[piece] {
            if token.kind != TokenKind::BlankNode {
                continue;
            }
            let label = tokens.slice(token);
            match self.labels.get(label) {
                Some(known) if *known == number => {}
                None => drop(self.labels.insert(label, number)),
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

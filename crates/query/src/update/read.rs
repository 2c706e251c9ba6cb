//! The text of an update, piece by piece.
//!
//! A request is cut at each `;` outside of brackets (grammar rule Update), and each piece is parsed on
//! its own: `Prologue Operation ;`. So a prologue may stand before each operation, which the library
//! does not know; an error has the number of its operation; and `ADD`, `COPY` and `MOVE` are kept
//! apart, which the library writes as other operations. A piece inherits the base and the prefixes
//! declared before it; it is given only those prefixes that its tokens name, so that all pieces
//! together cost time linear in the text.
//!
//! Plain data are read without the library (`plain`); what their prologue declares, with it.
//!
//! The library reads keywords without looking for their end (`CLEARALL`); a piece begins with one of
//! the keywords as a token, or is refused.

use super::data::Data;
use super::{Modify, Operation, Target, Transfer, Update, plain};
use crate::guard::token::{Token, TokenKind, Tokens};
use crate::guard::{self, limits::Limits};
use crate::lower::{self, Modification, lower_modification};
use crate::parse::{
    self, ParseError, ParseErrorKind, ParseOptions, UPDATES, first_keyword, is_one,
    with_plain_booleans,
};
use crate::position::Position;
use oxiri::Iri;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use spargebra::algebra::GraphTarget;
use spargebra::term::GraphName;
use spargebra::{GraphUpdateOperation, SparqlParser};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Reads an update. Costs time linear in the text; needs [`guard::limits::STACK_BYTES_MIN`] of stack.
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
        let tokens = guard::scan(text, &options.limits)?;
        refuse_query(&tokens)?;
        parse::expansion(&tokens, options)?;
        parse::parser(options).map(drop)?;
        let plain = with_plain_booleans(&tokens);
        let cuts = cuts(&tokens);
        let count = cuts.len();
        let mut reader = Reader::new(&tokens, options);
        let mut first = 0;
        for (number, end) in cuts.into_iter().enumerate() {
            let piece = piece(&tokens, first..end);
            first = end;
            let data = takes_plain.then(|| reader.plain_data(&piece.tokens));
            let at = (number, piece.start);
            let read = if let Some(data) = data.flatten() {
                plain_pieces += 1;
                reader.take_plain(text, &piece.tokens, data, at)
            } else {
                let slice = &plain[piece.start..piece.end];
                reader.piece(text, &piece.tokens, slice, at)
            };
            read.map_err(|error| placed(error, text, piece.start, (number, count)))?;
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
    end: usize,
    /// The tokens, with their places in the piece. Those of the only piece are those of the text.
    tokens: Cow<'p, Tokens<'t>>,
}

/// Behind which tokens the text is cut: after each `;` outside of brackets, which the guard has checked.
fn cuts(tokens: &Tokens<'_>) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut depth = 0_u32;
    for (place, &token) in tokens.tokens.iter().enumerate() {
        if token.kind != TokenKind::Operator {
            continue;
        }
        match tokens.slice(token) {
            "(" | "{" | "[" | "{|" | "<<" | "<<(" => depth += 1,
            ")" | "}" | "]" | "|}" | ">>" | ")>>" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => cuts.push(place + 1),
            _ => {}
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
        return Piece { start, end, tokens };
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
        end,
        tokens: Cow::Owned(tokens),
    }
}

/// Whether the tokens before this one end with the `;` of an operation: it cannot be in brackets there.
fn is_cut(tokens: &Tokens<'_>, end: usize) -> bool {
    let last = end.checked_sub(1).map(|last| tokens.tokens[last]);
    last.is_some_and(|last| tokens.slice(last) == ";")
}

/// What a prologue declares.
struct Declared {
    /// The base, inherited or declared.
    base: Option<String>,
    /// The prefixes that it declares itself.
    prefixes: HashMap<String, String>,
    /// Its number of tokens.
    tokens: usize,
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
    /// Of the operation read last.
    position: Position,
    update: Update,
}

impl Reader {
    fn new(tokens: &Tokens<'_>, options: &ParseOptions) -> Reader {
        Reader {
            base: options.base.clone(),
            prefixes: options.prefixes.iter().cloned().collect(),
            limits: options.limits,
            union_default_graph: options.union_default_graph,
            labels: HashMap::new(),
            position: Position::START,
            update: Update {
                operations: Vec::new(),
                positions: Vec::new(),
                prefixes: lower::prefixes(tokens, options),
            },
        }
    }

    /// Reads one piece; places in errors are those in the piece. `plain` is its text as the library
    /// understands it; `number` and `start` are the piece's.
    fn piece(
        &mut self,
        text: &str,
        tokens: &Tokens<'_>,
        plain: &str,
        (number, start): (usize, usize),
    ) -> Result<(), ParseError> {
        let options = self.options(&tokens.tokens, tokens);
        let parser = parse::parser(&options)?;
        let parse_update = |text: &str| parser.clone().parse_update(text);
        let mut parsed = parse::read(tokens, plain, "update", &parse_update)?;
        for operation in &mut parsed.operations {
            if let GraphUpdateOperation::DeleteInsert { pattern, .. } = operation {
                lower::add_endpoints(pattern, tokens);
            }
        }
        let declared = self.prologue(tokens)?;
        let at = declared.tokens;
        self.declare(declared);
        let Some(&verb) = tokens.tokens.get(at) else {
            return Ok(());
        };
        let is_verb = verb.kind == TokenKind::Word && is_one(tokens.slice(verb), &UPDATES);
        if !is_verb {
            return Err(unexpected(tokens, verb));
        }
        let list = &tokens.tokens[at..];
        let operation = match &parsed.operations[..] {
            _ if transfer(tokens.slice(verb)).is_some() => {
                // With what the piece declares itself.
                let parser = parse::parser(&self.options(list, tokens))?;
                moved(tokens, list, &parser)?
            }
            [operation] => {
                if matches!(operation, GraphUpdateOperation::InsertData { .. }) {
                    self.note_labels(tokens, number)?;
                }
                let base = parsed.base_iri.as_ref().map(ToString::to_string);
                one(operation, base, tokens, &options)?
            }
            _ => return Err(unexpected(tokens, verb)),
        };
        self.push(text, start + verb.start as usize, operation);
        Ok(())
    }

    /// The next operation, and where it begins in the text.
    fn push(&mut self, text: &str, start: usize, operation: Operation) {
        self.position = self.position.further(text, start);
        self.update.operations.push(operation);
        self.update.positions.push(self.position);
    }

    /// A piece that is plain data; `None` for all others, and where the library has to decide.
    fn plain_data(&self, tokens: &Tokens<'_>) -> Option<Plain> {
        let list = &tokens.tokens;
        let declared = self.prologue(tokens).ok()?;
        let [verb, word, open, body @ ..] = list.get(declared.tokens..)? else {
            return None;
        };
        let is = |token: &Token, words: &[&str]| {
            token.kind == TokenKind::Word && is_one(tokens.slice(*token), words)
        };
        if !(is(verb, &["INSERT", "DELETE"]) && is(word, &["DATA"]) && tokens.slice(*open) == "{") {
            return None;
        }
        if declared.tokens > 0 {
            let before = &tokens.text[..verb.start as usize];
            let options = self.options(&list[..declared.tokens], tokens);
            let parser = parse::parser(&options).ok()?;
            parser
                .parse_update(&format!("{before}INSERT DATA {{}}"))
                .ok()?;
        }
        let base = declared
            .base
            .as_deref()
            .map(|base| Iri::parse(base.to_owned()));
        let prefix = |name: &str| {
            declared
                .prefixes
                .get(name)
                .or_else(|| self.prefixes.get(name))
        };
        let names = plain::Names {
            base: base.transpose().ok()?,
            prefix: &|name| prefix(name).map(String::as_str),
        };
        let inserts = is(verb, &["INSERT"]);
        let data = plain::data(tokens, body, &names, inserts)?;
        Some(Plain {
            operation: if inserts {
                Operation::InsertData { data }
            } else {
                Operation::DeleteData { data }
            },
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
        self.prefixes.extend(declared.prefixes);
    }

    /// What tokens of a piece inherit: the base, and the prefixes that they name.
    fn options(&self, list: &[Token], tokens: &Tokens<'_>) -> ParseOptions {
        let mut used: HashMap<&str, &str> = HashMap::new();
        for &token in list {
            if token.kind == TokenKind::PrefixedName
                && let Some((prefix, _)) = tokens.slice(token).split_once(':')
                && let Some((prefix, iri)) = self.prefixes.get_key_value(prefix)
            {
                used.insert(prefix, iri);
            }
        }
        let mut prefixes: Vec<(String, String)> = used
            .into_iter()
            .map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()))
            .collect();
        prefixes.sort_unstable();
        ParseOptions {
            base: self.base.clone(),
            prefixes,
            union_default_graph: self.union_default_graph,
            limits: self.limits,
        }
    }

    /// What the prologue of a piece declares, if the library accepts it.
    fn prologue(&self, tokens: &Tokens<'_>) -> Result<Declared, ParseError> {
        let list = &tokens.tokens;
        let mut declared = Declared {
            base: self.base.clone(),
            prefixes: HashMap::new(),
            tokens: 0,
        };
        while let Some(&keyword) = list.get(declared.tokens) {
            let word = tokens.slice(keyword);
            if keyword.kind != TokenKind::Word || !is_one(word, &["PREFIX", "BASE", "VERSION"]) {
                break;
            }
            let is_prefix = is_one(word, &["PREFIX"]);
            let value = declared.tokens + 1 + usize::from(is_prefix);
            let Some(&iri) = list.get(value) else {
                return Err(unexpected(tokens, keyword));
            };
            if is_prefix {
                let name = tokens
                    .slice(list[value - 1])
                    .trim_end_matches(':')
                    .to_owned();
                let iri = resolved(declared.base.as_ref(), tokens, iri)?;
                declared.prefixes.insert(name, iri);
            } else if is_one(word, &["BASE"]) {
                declared.base = Some(resolved(declared.base.as_ref(), tokens, iri)?);
            }
            declared.tokens = value + 1;
        }
        Ok(declared)
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

/// An IRI in angle brackets, resolved as the library resolves it: as the base of a query.
fn resolved(base: Option<&String>, tokens: &Tokens<'_>, iri: Token) -> Result<String, ParseError> {
    let mut parser = SparqlParser::new();
    if let Some(base) = base {
        let with_base = parser.with_base_iri(base);
        parser = with_base.map_err(|_| unexpected(tokens, iri))?;
    }
    let query = format!("BASE {} ASK {{}}", tokens.slice(iri));
    let query = parser.parse_query(&query).ok();
    let base = query.as_ref().and_then(spargebra::Query::base_iri);
    base.map(ToString::to_string)
        .ok_or_else(|| unexpected(tokens, iri))
}

fn at(tokens: &Tokens<'_>, token: Token, message: String) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Syntax,
        position: Position::of_offset(tokens.text, token.start as usize),
        message,
    }
}

fn unexpected(tokens: &Tokens<'_>, token: Token) -> ParseError {
    let slice: String = tokens.slice(token).chars().take(40).collect();
    at(tokens, token, format!("unexpected `{slice}`"))
}

/// Which of `ADD`, `COPY` and `MOVE` a word is.
fn transfer(word: &str) -> Option<Transfer> {
    let kinds = [
        ("ADD", Transfer::Add),
        ("COPY", Transfer::Copy),
        ("MOVE", Transfer::Move),
    ];
    let mut kinds = kinds.into_iter();
    kinds
        .find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        .map(|(_, kind)| kind)
}

/// `ADD`, `COPY`, `MOVE`, which the library has accepted, from their tokens.
fn moved(
    tokens: &Tokens<'_>,
    list: &[Token],
    parser: &SparqlParser,
) -> Result<Operation, ParseError> {
    let is_word = |token: Token, word: &str| {
        token.kind == TokenKind::Word && tokens.slice(token).eq_ignore_ascii_case(word)
    };
    let mut silent = false;
    let mut graphs = Vec::with_capacity(2);
    for &token in &list[1..] {
        match token.kind {
            TokenKind::Word if is_word(token, "SILENT") => silent = true,
            TokenKind::Word if is_word(token, "DEFAULT") => graphs.push(None),
            TokenKind::Word if is_word(token, "GRAPH") || is_word(token, "TO") => {}
            TokenKind::Iri | TokenKind::PrefixedName => {
                graphs.push(Some(graph(tokens, token, parser)?));
            }
            TokenKind::Operator if tokens.slice(token) == ";" => {}
            _ => return Err(unexpected(tokens, token)),
        }
    }
    let kind = transfer(tokens.slice(list[0]));
    let graphs: Result<[Option<NamedNode>; 2], _> = graphs.try_into();
    match (kind, graphs) {
        (Some(kind), Ok([from, to])) => Ok(Operation::Transfer {
            kind,
            silent,
            from,
            to,
        }),
        _ => Err(unexpected(tokens, list[0])),
    }
}

/// The IRI that a token stands for.
fn graph(
    tokens: &Tokens<'_>,
    token: Token,
    parser: &SparqlParser,
) -> Result<NamedNode, ParseError> {
    let clear = format!("CLEAR GRAPH {}", tokens.slice(token));
    let parsed = parser.clone().parse_update(&clear);
    match parsed.as_ref().map(|update| &update.operations[..]) {
        Ok(
            [
                GraphUpdateOperation::Clear {
                    graph: GraphTarget::NamedNode(graph),
                    ..
                },
            ],
        ) => Ok(graph.clone()),
        _ => Err(unexpected(tokens, token)),
    }
}

/// An operation that the library has as it is.
fn one(
    operation: &GraphUpdateOperation,
    base: Option<String>,
    tokens: &Tokens<'_>,
    options: &ParseOptions,
) -> Result<Operation, ParseError> {
    Ok(match operation {
        GraphUpdateOperation::InsertData { data: quads } => {
            let mut labels = HashMap::new();
            let mut data = Data::default();
            for quad in quads {
                data.push_quad(&new_blanks(quad, &mut labels));
            }
            data.set_blanks(labels.len());
            Operation::InsertData { data }
        }
        GraphUpdateOperation::DeleteData { data: quads } => {
            let mut data = Data::default();
            for quad in quads {
                data.push_quad(&Quad {
                    subject: quad.subject.clone().into(),
                    predicate: quad.predicate.clone(),
                    object: quad.object.clone().into(),
                    graph_name: graph_name(&quad.graph_name),
                });
            }
            Operation::DeleteData { data }
        }
        GraphUpdateOperation::DeleteInsert {
            delete,
            insert,
            using,
            pattern,
        } => {
            let modification = Modification {
                delete,
                insert,
                using: using.as_ref(),
                pattern,
                base,
            };
            let lowered = lower_modification(&modification, tokens, options)?;
            Operation::Modify(Box::new(Modify {
                query: lowered.query,
                delete: lowered.delete,
                insert: lowered.insert,
                names_dataset: using.is_some(),
            }))
        }
        GraphUpdateOperation::Load {
            silent,
            source,
            destination,
        } => Operation::Load {
            silent: *silent,
            source: source.clone(),
            graph: match destination {
                GraphName::NamedNode(graph) => Some(graph.clone()),
                GraphName::DefaultGraph => None,
            },
        },
        GraphUpdateOperation::Clear { silent, graph } => Operation::Clear {
            silent: *silent,
            target: target(graph),
        },
        GraphUpdateOperation::Drop { silent, graph } => Operation::Drop {
            silent: *silent,
            target: target(graph),
        },
        GraphUpdateOperation::Create { silent, graph } => Operation::Create {
            silent: *silent,
            graph: graph.clone(),
        },
    })
}

fn target(graph: &GraphTarget) -> Target {
    match graph {
        GraphTarget::NamedNode(graph) => Target::Graph(graph.clone()),
        GraphTarget::DefaultGraph => Target::Default,
        GraphTarget::NamedGraphs => Target::Named,
        GraphTarget::AllGraphs => Target::All,
    }
}

fn graph_name(name: &GraphName) -> oxrdf::GraphName {
    match name {
        GraphName::NamedNode(graph) => graph.clone().into(),
        GraphName::DefaultGraph => oxrdf::GraphName::DefaultGraph,
    }
}

/// The quad with labels that are numbers, in the order of the text: the library draws some by chance.
fn new_blanks(quad: &spargebra::term::Quad, labels: &mut HashMap<String, BlankNode>) -> Quad {
    let triple = Triple {
        subject: quad.subject.clone(),
        predicate: quad.predicate.clone(),
        object: quad.object.clone(),
    };
    let triple = new_blanks_in(triple, labels);
    triple.in_graph(graph_name(&quad.graph_name))
}

/// As deep as triple terms are nested, which the guard bounds.
fn new_blanks_in(triple: Triple, labels: &mut HashMap<String, BlankNode>) -> Triple {
    let mut new = |node: BlankNode| {
        let number = labels.len();
        let made = || BlankNode::new_unchecked(format!("b{number}"));
        labels
            .entry(node.into_string())
            .or_insert_with(made)
            .clone()
    };
    let subject = match triple.subject {
        NamedOrBlankNode::BlankNode(node) => new(node).into(),
        other @ NamedOrBlankNode::NamedNode(_) => other,
    };
    let object = match triple.object {
        Term::BlankNode(node) => new(node).into(),
        Term::Triple(inner) => new_blanks_in(*inner, labels).into(),
        other => other,
    };
    Triple {
        subject,
        predicate: triple.predicate,
        object,
    }
}

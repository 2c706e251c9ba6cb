//! RDF Patch (Apache Jena, "RDF Patch", version 1, the text form) as an update: lines that add and delete
//! statements, for replicas and for tools that keep what they change.
//!
//! ```text
//! H id <uuid:0686c69d-8f89-4496-acb5-744f0157a8db> .     headers are passed over
//! TX .                                                   begin
//! PA ex <http://example.org/> .                          a prefix; PD takes it away
//! A ex:s ex:p "new" .                                    add
//! D ex:s ex:p "old" <http://example.org/graph> .         delete, of a named graph
//! TC .                                                   commit; TA: nothing since TX
//! ```
//!
//! Lines that follow one another and add to one graph become one `INSERT DATA`, those that delete from one graph one
//! `DELETE DATA`. An update is all or nothing, so a patch is, whatever transactions it has. The words of a line
//! become terms at once, and nothing but terms is read: no line can say more than what is added or deleted.
//!
//! **Why operations**, and not chunks of a record, as documents become: a chunk deletes before it inserts, so lines
//! that take turns would be a chunk and a layer each. Data of operations that follow one another become one layer.
//!
//! **Names** are the IRI of their prefix with the local name behind it, resolved then; nothing in them is escaped.
//!
//! **Blank nodes** (`_:label`, `<_:label>`) of a patch are new ones. None can name a stored one, so they are refused in what is deleted; and
//! statements that share one stand together, without a deletion, another graph or the end of a transaction between
//! them.
//!
//! One pass over the text, in time linear in it. It recurs as deep as triple terms are nested, which
//! [`Limits::nesting`] bounds; [`Limits::expanded_bytes`] bounds what names and relative IRIs stand for. Room is
//! asked for before anything grows.

mod words;

use super::data::{Data, TermIndex};
use super::plain::hash;
use super::{Operation, Update};
use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::lexer::{self, token::TokenKind};
use crate::grammar::parser::quoted;
use crate::grammar::translate::{Made, is_relative, language, number_type, unescape};
use crate::limits::{Exceeded, Limit, Limits};
use crate::options::{ParseOptions, check_options};
use crate::position::Position;
use oxiri::Iri;
use oxrdf::vocab::xsd;
use oxrdf::{
    BaseDirection, BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term, Triple,
};
use rdf::nt::is_plain_iri;
use rdf::{TermBuffer, name};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use words::{Word, is_name, quoted_length, words};

/// Which graphs a patch may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchTarget<'g> {
    /// All: statements go to the graphs that they name.
    Store,
    /// The default graph alone.
    Default,
    /// The graph of this name alone.
    Graph(&'g str),
}

/// Reads a patch. `room` is told how many bytes the update may hold while it grows, each number larger than the one
/// before; where it says `false` the answer is `None`. O(text).
pub fn parse_patch(
    text: &str,
    target: PatchTarget<'_>,
    options: &ParseOptions,
    room: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Update>, ParseError> {
    let bytes = text.len() as u64;
    let checked = options.limits.check(Limit::TextBytes, bytes);
    checked.map_err(|exceeded| exceeded.at(Position::START))?;
    check_options(options)?;
    match Reader::new(text, target, options, room).and_then(|reader| reader.read(text)) {
        Ok(update) => Ok(Some(update)),
        Err(Stop::NoRoom) => Ok(None),
        Err(Stop::Wrong { at, kind, message }) => Err(ParseError {
            kind,
            position: Position::of_offset(text, at),
            message,
        }),
    }
}

/// Why a patch is not read to its end.
enum Stop {
    NoRoom,
    Wrong {
        /// The byte of the text.
        at: usize,
        kind: ParseErrorKind,
        message: String,
    },
}

type Reading<T = ()> = Result<T, Stop>;

fn wrong(at: usize, message: impl Into<String>) -> Stop {
    Stop::Wrong {
        at,
        kind: ParseErrorKind::Syntax,
        message: message.into(),
    }
}

fn exceeded(at: usize, exceeded: Exceeded) -> Stop {
    Stop::Wrong {
        at,
        kind: exceeded.kind(),
        message: exceeded.to_string(),
    }
}

/// How often what grows is held: there, and in a list twice as large that it moves to.
const COPIES: usize = 3;
/// Bytes of a prefix or a label in its table, while that moves to one twice as large.
const NAME_BYTES: usize = 128;
/// Bytes of an operation beside its data, in lists that grow.
const OPERATION_BYTES: usize = COPIES * (size_of::<Operation>() + size_of::<Position>());
/// Names in the table of those that were read lately, at most.
const RECENT_MAX: usize = 4096;
/// Bytes of text that one place of that table is for: most names take more.
const BYTES_PER_RECENT: usize = 16;
/// Bytes that are asked for ahead, so that not each term asks.
const AHEAD_BYTES: u64 = 4 << 10;
/// What `a` stands for.
const TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";

/// Whoever gives memory, and how much was asked for.
struct Room<'r> {
    ask: &'r mut dyn FnMut(u64) -> bool,
    needed: u64,
    granted: u64,
}

impl Room<'_> {
    /// So many bytes more are about to be held.
    fn take(&mut self, bytes: usize) -> Reading {
        self.needed += bytes as u64;
        if self.needed <= self.granted {
            return Ok(());
        }
        self.granted = self.needed + AHEAD_BYTES;
        if (self.ask)(self.granted) {
            Ok(())
        } else {
            Err(Stop::NoRoom)
        }
    }
}

/// The operation whose data are being read.
struct Open {
    inserts: bool,
    graph: Option<String>,
    /// The graph among the terms of the data.
    place: TermIndex,
    position: Position,
}

/// A transaction: operations before it, and the prefixes that it has changed, as they were.
struct Begun<'t> {
    operations: usize,
    labels: usize,
    /// [`Room::needed`] of that time.
    needed: u64,
    changed: HashMap<&'t str, Option<&'t str>>,
}

/// A name that was read lately, and its term's place in the data of that time.
#[derive(Clone, Copy)]
struct Recent<'t> {
    word: &'t str,
    /// [`Reader::epoch`] of that time.
    epoch: u64,
    place: TermIndex,
}

struct Reader<'t, 'r> {
    /// Whether statements may name graphs.
    is_store: bool,
    /// The only graph, where that is a named one.
    graph: Option<String>,
    base: Option<Iri<String>>,
    limits: Limits,
    made: Made,
    room: Room<'r>,
    /// The beginning of the line that is read.
    position: Position,
    open: Option<Open>,
    /// Of the operation that is open.
    data: Data,
    /// Operations so far, those that were taken back too.
    opened: u64,
    begun: Option<Begun<'t>>,
    /// The IRIs of prefixes, without brackets.
    prefixes: HashMap<&'t str, &'t str>,
    /// The operation and the number of each blank node.
    labels: HashMap<&'t str, (u64, TermIndex)>,
    recent: Vec<Recent<'t>>,
    /// Names mean the same, and stand in the same data, while this number does not change.
    epoch: u64,
    operations: Vec<Operation>,
    positions: Vec<Position>,
}

impl<'t, 'r> Reader<'t, 'r> {
    fn new(
        text: &'t str,
        target: PatchTarget<'_>,
        options: &ParseOptions,
        ask: &'r mut dyn FnMut(u64) -> bool,
    ) -> Reading<Reader<'t, 'r>> {
        let names = (text.len() / BYTES_PER_RECENT).next_power_of_two();
        let recent = Recent {
            word: "",
            epoch: 0,
            place: TermIndex::NONE,
        };
        let mut reader = Reader {
            is_store: target == PatchTarget::Store,
            graph: None,
            base: options.base.clone().map(Iri::parse_unchecked),
            limits: options.limits,
            made: Made::new(&options.limits),
            room: Room {
                ask,
                needed: 0,
                granted: 0,
            },
            position: Position::START,
            open: None,
            data: Data::default(),
            opened: 0,
            begun: None,
            prefixes: HashMap::new(),
            labels: HashMap::new(),
            recent: vec![recent; names.min(RECENT_MAX)],
            epoch: 0,
            operations: Vec::new(),
            positions: Vec::new(),
        };
        reader.room.take(size_of_val(&reader.recent[..]))?;
        if let PatchTarget::Graph(name) = target {
            let name = reader.iri(0, Cow::Owned(name.to_owned()))?;
            reader.graph = Some(name.into_owned());
        }
        Ok(reader)
    }

    fn read(mut self, text: &'t str) -> Reading<Update> {
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            self.position = Position {
                line: number as u32 + 1,
                column: 1,
                offset: at as u32,
            };
            self.line((at, line.trim_end()))?;
            at += line.len();
        }
        if self.begun.is_some() {
            let last = self.position.offset as usize;
            return Err(wrong(last, "its last transaction has no end"));
        }
        self.close();
        Ok(Update {
            operations: self.operations,
            positions: self.positions,
            prefixes: Vec::new(),
        })
    }

    fn line(&mut self, line: Word<'t>) -> Reading {
        if is_header(line.1) {
            return Ok(());
        }
        let words = words(line).map_err(|(at, why)| wrong(at, why))?;
        let Some((&(at, operation), rest)) = words.split_first() else {
            return Ok(());
        };
        let Some((&(end, "."), terms)) = rest.split_last() else {
            return Err(wrong(
                line.0 + line.1.len(),
                "the line does not end with `.`",
            ));
        };
        match operation {
            "H" => Ok(()),
            "A" => self.statement(true, terms, end),
            "D" => self.statement(false, terms, end),
            "PA" | "PD" => self.prefix(operation == "PA", terms, end),
            "TX" | "TC" | "TA" if !terms.is_empty() => {
                Err(wrong(terms[0].0, format!("`{operation}` stands alone")))
            }
            "TX" => self.begin(at),
            "TC" | "TA" => self.end(operation == "TA", at),
            other => Err(wrong(at, format!("{} is no operation", quoted(other)))),
        }
    }

    fn begin(&mut self, at: usize) -> Reading {
        if self.begun.is_some() {
            return Err(wrong(at, "a transaction within a transaction"));
        }
        self.close();
        self.begun = Some(Begun {
            operations: self.operations.len(),
            labels: self.labels.len(),
            needed: self.room.needed,
            changed: HashMap::new(),
        });
        Ok(())
    }

    fn end(&mut self, is_aborted: bool, at: usize) -> Reading {
        let begun = self.begun.take();
        let begun = begun.ok_or_else(|| wrong(at, "no transaction has begun"))?;
        self.close();
        if is_aborted {
            self.operations.truncate(begun.operations);
            self.positions.truncate(begun.operations);
            // Tables keep what they were made for.
            let names = self.labels.len() - begun.labels + 2 * begun.changed.len();
            self.room.needed = begun.needed + (names * NAME_BYTES) as u64;
            for (name, iri) in begun.changed {
                self.set_prefix(name, iri);
            }
        }
        Ok(())
    }

    /// Gives a prefix its IRI, or takes it away.
    fn set_prefix(&mut self, name: &'t str, iri: Option<&'t str>) {
        self.epoch += 1;
        match iri {
            Some(iri) => drop(self.prefixes.insert(name, iri)),
            None => drop(self.prefixes.remove(name)),
        }
    }

    fn prefix(&mut self, is_added: bool, words: &[Word<'t>], end: usize) -> Reading {
        let ((at, name), iri) = match (is_added, words) {
            (true, &[name, (_, iri)]) if bracketed(iri).is_some() => (name, bracketed(iri)),
            (false, &[name]) => (name, None),
            _ => return Err(wrong(end, "a prefix is a name and an IRI in `<>`")),
        };
        let name = name.trim_matches('"').trim_end_matches(':');
        if !name.chars().all(|c| is_name(c) && c != ':') {
            return Err(wrong(
                at,
                format!("{} is no name of a prefix", quoted(name)),
            ));
        }
        self.room.take(2 * NAME_BYTES)?;
        let before = self.prefixes.get(name).copied();
        if let Some(begun) = &mut self.begun {
            begun.changed.entry(name).or_insert(before);
        }
        self.set_prefix(name, iri);
        Ok(())
    }

    /// Adds a statement to the data of its operation and graph.
    fn statement(&mut self, inserts: bool, words: &[Word<'t>], end: usize) -> Reading {
        let terms = terms(words)?;
        let (triple, graph) = match terms[..] {
            [subject, predicate, object] => ([subject, predicate, object], None),
            [subject, predicate, object, graph] => ([subject, predicate, object], Some(graph[0])),
            _ => {
                let found = terms.len();
                return Err(wrong(end, format!("{found} terms, expected three or four")));
            }
        };
        let named = match graph {
            None => None,
            Some((at, _)) if !self.is_store => {
                return Err(wrong(at, "the patch is for one graph, and names another"));
            }
            Some((at, graph)) if graph.starts_with('"') || label_of(graph).is_some() => {
                let why = format!("{} names no graph, an IRI does", quoted(graph));
                return Err(wrong(at, why));
            }
            Some(graph) => Some(self.name(graph)?),
        };
        let graph = named.as_deref().or(self.graph.as_deref());
        let is_open = |open: &Open| open.inserts == inserts && open.graph.as_deref() == graph;
        if !self.open.as_ref().is_some_and(is_open) {
            let graph = graph.map(str::to_owned);
            self.close();
            self.open(inserts, graph)?;
        }
        self.room.take(COPIES * size_of::<[TermIndex; 4]>())?;
        let graph = self
            .open
            .as_ref()
            .map_or(TermIndex::NONE, |open| open.place);
        let [subject, predicate, object] = triple;
        let subject = match label_of(subject[0].1) {
            Some(label) => self.blank(subject[0].0, label)?,
            None => self.named(subject[0])?,
        };
        let predicate = self.named(verb(predicate[0]))?;
        let object = self.object(object)?;
        self.data.push([subject, predicate, object, graph]);
        Ok(())
    }

    fn open(&mut self, inserts: bool, graph: Option<String>) -> Reading {
        self.opened += 1;
        self.epoch += 1;
        self.room.take(OPERATION_BYTES)?;
        let place = match &graph {
            Some(iri) => self.push(iri.len(), |terms| terms.push_iri(iri))?,
            None => TermIndex::NONE,
        };
        self.open = Some(Open {
            inserts,
            graph,
            place,
            position: self.position,
        });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let data = std::mem::take(&mut self.data);
            self.operations.push(if open.inserts {
                Operation::InsertData { data }
            } else {
                Operation::DeleteData { data }
            });
            self.positions.push(open.position);
        }
    }

    /// The term that `push` appends to the data; `bytes`: those of its text.
    fn push(&mut self, bytes: usize, push: impl FnOnce(&mut TermBuffer)) -> Reading<TermIndex> {
        self.room
            .take(COPIES * TermBuffer::capacity_bytes(1, bytes))?;
        Ok(self.data.push_term(push))
    }

    /// The place of an IRI, that of the same word lately where there is one.
    fn named(&mut self, word: Word<'t>) -> Reading<TermIndex> {
        let slot = hash(word.1.as_bytes()) as usize & (self.recent.len() - 1);
        let known = self.recent[slot];
        if known.epoch == self.epoch && known.word == word.1 {
            return Ok(known.place);
        }
        let iri = self.name(word)?;
        let place = self.push(iri.len(), |terms| terms.push_iri(&iri))?;
        self.recent[slot] = Recent {
            word: word.1,
            epoch: self.epoch,
            place,
        };
        Ok(place)
    }

    fn object(&mut self, words: &[Word<'t>]) -> Reading<TermIndex> {
        let &[word] = words else {
            let triple = self.triple(words, 1)?;
            return self.push(0, |terms| terms.push_triple(triple));
        };
        if let Some(label) = label_of(word.1) {
            return self.blank(word.0, label);
        }
        match self.value(word)? {
            None => self.named(word),
            Some(Value::Simple(text)) => self.push(text.len(), |terms| terms.push_simple(&text)),
            Some(Value::Language(text, tag, direction)) => {
                let bytes = text.len() + tag.len();
                self.push(bytes, |terms| terms.push_language(&text, &tag, direction))
            }
            Some(Value::Of(datatype, text)) => {
                let datatype = datatype.as_str();
                let bytes = text.len() + datatype.len();
                self.push(bytes, |terms| terms.push_typed(text, datatype))
            }
            Some(Value::Typed(datatype, text)) => {
                // The literal keeps no copy of its datatype.
                let place = self.named(datatype)?;
                self.room
                    .take(COPIES * TermBuffer::capacity_bytes(1, text.len()))?;
                if let Some(literal) = self.data.push_typed(&text, place) {
                    return Ok(literal);
                }
                let iri = self.name(datatype)?;
                let bytes = text.len() + iri.len();
                self.push(bytes, |terms| terms.push_typed(&text, &iri))
            }
        }
    }

    /// A literal; `None` where the word is a name.
    fn value(&mut self, (at, word): Word<'t>) -> Reading<Option<Value<'t>>> {
        if !word.starts_with('"') {
            if word.starts_with('<') || word.contains(':') {
                return Ok(None);
            }
            let value = plain_value(word);
            let why = || wrong(at, format!("{} is no term", quoted(word)));
            return value.map(Some).ok_or_else(why);
        }
        let end = quoted_length(word).map_err(|why| wrong(at, why))?;
        let inner = &word[1..end - 1];
        let text = if inner.contains('\\') {
            self.room.take(inner.len())?;
            let plain = unescape(inner, true).map_err(|why| wrong(at, why))?;
            Cow::Owned(plain)
        } else {
            Cow::Borrowed(inner)
        };
        let behind = &word[end..];
        Ok(Some(if behind.starts_with('@') {
            let tag = language(behind).map_err(|why| wrong(at + end, why))?;
            Value::Language(text, tag.0, tag.1)
        } else if let Some(datatype) = behind.strip_prefix("^^") {
            Value::Typed((at + end + 2, datatype), text)
        } else {
            Value::Simple(text)
        }))
    }

    /// Checks that a blank node is a new one and stays in one operation.
    fn blank(&mut self, at: usize, label: &'t str) -> Reading<TermIndex> {
        if !self.open.as_ref().is_some_and(|open| open.inserts) {
            let why = "a blank node of a patch is a new one, so nothing of it can be deleted";
            return Err(wrong(at, why));
        }
        if label.is_empty() || !label.chars().all(is_of_label) {
            let why = format!("{} is no label", quoted(&format!("_:{label}")));
            return Err(wrong(at, why));
        }
        match self.labels.get(label) {
            Some(&(opened, place)) if opened == self.opened => Ok(place),
            Some(_) => {
                let why = format!(
                    "a deletion, another graph or the end of a transaction stands between this \
                     and other statements of _:{label}"
                );
                Err(wrong(at, why))
            }
            None => {
                self.room.take(NAME_BYTES)?;
                let place = self.data.push_blank();
                self.labels.insert(label, (self.opened, place));
                Ok(place)
            }
        }
    }

    /// The IRI of a word, in brackets or as a prefixed name.
    fn name(&mut self, (at, word): Word<'t>) -> Reading<Cow<'t, str>> {
        if let Some(iri) = bracketed(word) {
            return self.iri(at, Cow::Borrowed(iri));
        }
        match word.split_once(':') {
            Some((prefix, local)) if prefix != "_" && word.starts_with(is_name) => {
                let Some(&iri) = self.prefixes.get(prefix) else {
                    let why = format!("there is no prefix {}", quoted(prefix));
                    return Err(wrong(at, why));
                };
                self.make(at, iri.len() + local.len())?;
                self.iri(at, Cow::Owned(format!("{iri}{local}")))
            }
            _ => Err(wrong(at, format!("{} is no IRI", quoted(word)))),
        }
    }

    /// What stands in brackets, resolved where there is a base.
    fn iri(&mut self, at: usize, text: Cow<'t, str>) -> Reading<Cow<'t, str>> {
        let text = if text.contains('\\') {
            self.room.take(text.len())?;
            Cow::Owned(unescape(&text, false).map_err(|why| wrong(at, why))?)
        } else {
            text
        };
        // Resolving takes segments of dots away, of absolute IRIs too (RFC 3986 section 5.2.2).
        let has_dots = || text.contains("/.") || text.contains(":.");
        if is_plain_iri(&text) && (self.base.is_none() || !has_dots()) {
            return Ok(text);
        }
        let base = self.base.as_ref().filter(|_| is_relative(&text));
        let bytes = text.len() + base.map_or(0, |base| base.len());
        self.make(at, bytes)?;
        let resolved = match &self.base {
            Some(base) => base.resolve(&text),
            None => Iri::parse(text.to_string()),
        };
        let iri = resolved.map_err(|_| {
            let text = quoted(&format!("<{text}>"));
            wrong(at, format!("{text} is not a valid absolute IRI"))
        })?;
        Ok(Cow::Owned(iri.into_inner()))
    }

    /// What a word abbreviates is about to be written out.
    fn make(&mut self, at: usize, bytes: usize) -> Reading {
        let counted = self.made.count(bytes);
        counted.map_err(|beyond| exceeded(at, beyond))?;
        self.room.take(bytes)
    }

    /// The triple term of these words. `depth`: how many are open, with this one.
    fn triple(&mut self, words: &[Word<'t>], depth: u64) -> Reading<Triple> {
        let at = words[0].0;
        let nesting = self.limits.check(Limit::Nesting, depth);
        nesting.map_err(|beyond| exceeded(at, beyond))?;
        if depth == 1 {
            let bytes: usize = words.iter().map(|word| word.1.len()).sum();
            let triples = words.iter().filter(|word| word.1 == "<<(").count();
            self.room
                .take(COPIES * (triples * size_of::<Triple>() + bytes))?;
        }
        let parts = terms(&words[1..words.len() - 1])?;
        let [subject, predicate, object] = parts[..] else {
            let found = parts.len();
            let why = format!("{found} terms in a triple term, expected three");
            return Err(wrong(at, why));
        };
        let begin = subject[0].0;
        let subject = match self.part(subject, depth)? {
            Term::NamedNode(iri) => NamedOrBlankNode::from(iri),
            Term::BlankNode(blank) => blank.into(),
            other => {
                let why = format!("{} is no subject", quoted(&other.to_string()));
                return Err(wrong(begin, why));
            }
        };
        Ok(Triple {
            subject,
            predicate: NamedNode::new_unchecked(self.name(verb(predicate[0]))?),
            object: self.part(object, depth)?,
        })
    }

    /// The subject or the object of a triple term.
    fn part(&mut self, words: &[Word<'t>], depth: u64) -> Reading<Term> {
        let &[word] = words else {
            return Ok(self.triple(words, depth + 1)?.into());
        };
        if let Some(label) = label_of(word.1) {
            let number = self.blank(word.0, label)?.blank();
            let number = number.expect("it is the place of a blank node");
            return Ok(BlankNode::new_unchecked(format!("b{number}")).into());
        }
        let literal = match self.value(word)? {
            None => return Ok(NamedNode::new_unchecked(self.name(word)?).into()),
            Some(Value::Simple(text)) => Literal::new_simple_literal(text),
            Some(Value::Language(text, tag, None)) => {
                Literal::new_language_tagged_literal_unchecked(text, tag)
            }
            Some(Value::Language(text, tag, Some(direction))) => {
                Literal::new_directional_language_tagged_literal_unchecked(text, tag, direction)
            }
            Some(Value::Of(datatype, text)) => Literal::new_typed_literal(text, datatype),
            Some(Value::Typed(datatype, text)) => {
                let datatype = NamedNode::new_unchecked(self.name(datatype)?);
                Literal::new_typed_literal(text, datatype)
            }
        };
        Ok(literal.into())
    }
}

/// A literal.
enum Value<'t> {
    Simple(Cow<'t, str>),
    /// With its tag in lower case.
    Language(Cow<'t, str>, String, Option<BaseDirection>),
    /// A number or a boolean.
    Of(NamedNodeRef<'static>, &'t str),
    /// With the word of its datatype.
    Typed(Word<'t>, Cow<'t, str>),
}

/// A number, or a boolean in any case.
fn plain_value(word: &str) -> Option<Value<'_>> {
    let mut booleans = ["true", "false"].into_iter();
    if let Some(value) = booleans.find(|value| value.eq_ignore_ascii_case(word)) {
        return Some(Value::Of(xsd::BOOLEAN, value));
    }
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let tokens = lexer::scan(digits, &Limits::NONE).ok()?.tokens;
    let is_number = tokens.len() == 1 && tokens[0].kind == TokenKind::Number;
    is_number.then(|| Value::Of(number_type(word), word))
}

/// Whether a line is a header: passed over whatever it says, and however much.
fn is_header(line: &str) -> bool {
    let behind = line.trim_start().strip_prefix('H');
    behind.is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.trim_end().ends_with('.'))
}

/// The label of a blank node, `_:label` or `<_:label>` (Jena writes the second).
fn label_of(word: &str) -> Option<&str> {
    let bare = bracketed(word).unwrap_or(word);
    bare.strip_prefix("_:")
}

/// What stands in the brackets of an IRI.
fn bracketed(word: &str) -> Option<&str> {
    word.strip_prefix('<')?.strip_suffix('>')
}

/// A predicate, `a` as the IRI that it stands for.
fn verb(word: Word<'_>) -> Word<'_> {
    if word.1 == "a" { (word.0, TYPE) } else { word }
}

/// Whether a label may have this character.
fn is_of_label(c: char) -> bool {
    name::is_base(c) || name::is_tail(c) || "_-.".contains(c)
}

/// The words of each term: one, or those of a triple term with its brackets.
fn terms<'w, 't>(words: &'w [Word<'t>]) -> Reading<SmallVec<[&'w [Word<'t>]; 4]>> {
    let mut terms = SmallVec::new();
    let (mut first, mut depth) = (0, 0_usize);
    for (last, &(at, word)) in words.iter().enumerate() {
        match (word, depth) {
            ("<<(", _) => depth += 1,
            (")>>", 0) => return Err(wrong(at, "`)>>` ends no triple term")),
            (")>>", _) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            terms.push(&words[first..=last]);
            first = last + 1;
        }
    }
    match words.get(first) {
        None => Ok(terms),
        Some(&(at, _)) => Err(wrong(at, "a triple term is not closed")),
    }
}

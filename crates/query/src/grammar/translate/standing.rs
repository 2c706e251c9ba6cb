//! What a standing query says of streams: its registration, its windows, and which of them its patterns are of.
//!
//! The dialects are told apart here, by where a window is declared:
//!
//! | declared by | dialect | what its patterns are of |
//! |---|---|---|
//! | `FROM STREAM`, and no `GRAPH` names a stream | C-SPARQL | all windows and `FROM` graphs at once |
//! | `FROM STREAM`, and a `GRAPH` names a stream | C-SPARQL with graphs | that stream's windows within it, else the store |
//! | `FROM NAMED WINDOW` | RSP-QL | the window within `WINDOW`, else the store |
//! | `STREAM s [...] { }` | CQELS-QL | the window within it, else the store |
//!
//! Invariants: a text has windows of one dialect; a window is there once, however often it is written; a window's name
//! means one window.
//!
//! A bare name (`FROM Tweets [RANGE 10s STEP 1s]`, as Wukong+S writes it) is an IRI relative to the base.

use super::Translation;
use crate::error::ParseErrorKind;
use crate::grammar::abstract_query::{
    Constant, Dataset, GraphPattern, NamePattern, Query, Registered, Window, WrittenExtent,
};
use crate::grammar::parser::tree::{Id, NodeKind, Tree};
use crate::grammar::parser::{GrammarError, Parsed, quoted, span_text};
use crate::grammar::span;
use crate::plan::Source;
use crate::standing::{Dialect, Relation};
use oxiri::Iri;
use oxrdf::{NamedNode, Term};

/// Windows of a query at most (count). Each is kept up to date by itself; sources are numbered by 16 bits.
const WINDOWS_MAX: usize = 256;

/// Items of a count window at most.
const ITEMS_MAX: u64 = u32::MAX as u64;

impl Translation<'_> {
    /// The whole text of a standing query.
    pub(super) fn standing_unit(&mut self) -> Parsed<Query> {
        let mut form = Tree::ROOT;
        let mut register = None;
        for child in self.tree.children(Tree::ROOT) {
            match self.kind(child) {
                NodeKind::Prefix | NodeKind::Base | NodeKind::Version => self.declare(child)?,
                NodeKind::Register => {
                    self.registered(child)?;
                    register = Some(child);
                }
                _ => form = child,
            }
        }
        self.relation(form)?;
        self.declared_windows(form)?;
        let mut query = self.query_of(form)?;
        self.check_standing(form, register)?;
        if self.streams.dialect == Some(Dialect::CSparqlGraph)
            && let Some(dataset) = &mut query.dataset
        {
            self.name_graphs(dataset);
        }
        Ok(query)
    }

    /// `REGISTER`.
    fn registered(&mut self, id: Id) -> Parsed {
        let mut parts = self.tree.children(id);
        let Some(name) = parts.next() else {
            return self.fault(id, "expected a name");
        };
        let every_ms = match parts.next() {
            Some(every) => Some(self.span_above_zero(every, "COMPUTED EVERY")?),
            None => None,
        };
        let kind = self.tree.range(id).start + 1;
        let kind = self.tree.tokens.slice(self.tree.tokens.tokens[kind]);
        self.streams.relation = relation(kind);
        let is_stream = !kind.eq_ignore_ascii_case("QUERY");
        // A query may be named by a word; a stream that it makes has an IRI.
        let name = match self.kind(name) {
            NodeKind::BareName if !is_stream => self.written(name).to_owned(),
            _ => self.stream_iri(name)?.into_string(),
        };
        self.streams.registered = Some(Registered {
            name,
            is_stream,
            every_ms,
        });
        Ok(())
    }

    /// `ISTREAM` and its like behind the form.
    fn relation(&mut self, form: Id) -> Parsed {
        let Some(word) = self.tree.child(form, NodeKind::Relation) else {
            return Ok(());
        };
        let said = relation(self.tree.slice(word));
        if self
            .streams
            .relation
            .is_some_and(|registered| Some(registered) != said)
        {
            return self.fault(
                word,
                "REGISTER says another one of RSTREAM, ISTREAM and DSTREAM",
            );
        }
        self.streams.relation = said;
        Ok(())
    }

    /// `FROM STREAM` and `FROM NAMED WINDOW`.
    fn declared_windows(&mut self, form: Id) -> Parsed {
        for clause in self.tree.children(form) {
            let dialect = match self.kind(clause) {
                NodeKind::FromStream => Dialect::CSparql,
                NodeKind::FromWindow => Dialect::RspQl,
                _ => continue,
            };
            let (mut name, mut stream, mut extent) = (None, None, None);
            for part in self.tree.children(clause) {
                match self.kind(part) {
                    NodeKind::WindowName => name = Some(part.only()),
                    NodeKind::Extent => extent = Some(self.extent(part)?),
                    _ => stream = Some(self.stream_iri(part)?.into_string()),
                }
            }
            let (Some(stream), Some(extent)) = (stream, extent) else {
                return self.fault(clause, "expected a stream and its window");
            };
            let name_iri = match name {
                Some(name) => Some(self.stream_iri(name)?.into_string()),
                None => None,
            };
            let window = Window {
                name: name_iri,
                stream,
                extent,
            };
            self.declare_window(name.unwrap_or(clause), window, dialect)?;
        }
        Ok(())
    }

    /// Keeps a window that is written at a node; gives its place.
    fn declare_window(&mut self, at: Id, window: Window, dialect: Dialect) -> Parsed<usize> {
        let before = *self.streams.dialect.get_or_insert(dialect);
        if before != dialect {
            let message = format!(
                "this window is written as in {}, and one before it as in {}: a text has windows of one dialect",
                words(dialect),
                words(before)
            );
            return self.fault(at, message);
        }
        let windows = &self.streams.windows;
        if let Some(place) = windows.iter().position(|known| *known == window) {
            return Ok(place);
        }
        let is_named_so = |known: &Window| known.name.is_some() && known.name == window.name;
        if windows.iter().any(is_named_so) {
            let name = quoted(self.written(at));
            return self.fault(at, format!("{name} is the name of another window already"));
        }
        if windows.len() >= WINDOWS_MAX {
            let message = format!("a query has {WINDOWS_MAX} windows at most");
            return self.unsupported(at, message);
        }
        self.streams.windows.push(window);
        Ok(self.streams.windows.len() - 1)
    }

    /// What stands in a window's brackets.
    fn extent(&mut self, id: Id) -> Parsed<WrittenExtent> {
        let word = self.tree.tokens.tokens[self.tree.range(id).start + 1];
        let word = self.tree.tokens.slice(word).to_ascii_uppercase();
        let parts: Vec<Id> = self.tree.children(id).collect();
        match (&*word, &parts[..]) {
            ("NOW", []) => Ok(WrittenExtent::Now),
            ("ALL", []) => Ok(WrittenExtent::All),
            (_, [items, step @ ..]) if self.kind(*items) == NodeKind::Number => {
                Ok(WrittenExtent::Count {
                    items: self.items(*items)?,
                    step: match step.first() {
                        Some(step) => Some(self.items(*step)?),
                        None => None,
                    },
                })
            }
            ("RANGE", [range, step @ ..]) => self.range(id, *range, step.first().copied()),
            ("FROM", [from, step]) => self.past(*from, None, *step),
            ("FROM", [from, to, step]) => self.past(*from, Some(*to), *step),
            _ => self.fault(id, "expected a window"),
        }
    }

    fn range(&mut self, id: Id, range: Id, step: Option<Id>) -> Parsed<WrittenExtent> {
        let range_ms = self.span_above_zero(range, "RANGE")?;
        let last = self.tree.range(id).end - 2;
        let last = self.tree.tokens.slice(self.tree.tokens.tokens[last]);
        let step_ms = match step {
            Some(step) => Some(self.span_above_zero(step, "STEP")?),
            None => last.eq_ignore_ascii_case("TUMBLING").then_some(range_ms),
        };
        Ok(WrittenExtent::Range { range_ms, step_ms })
    }

    fn past(&mut self, from: Id, to: Option<Id>, step: Id) -> Parsed<WrittenExtent> {
        let from_ms = self.span_above_zero(from, "FROM NOW-")?;
        let to_ms = match to {
            Some(to) => self.span(to)?,
            None => 0,
        };
        if to_ms >= from_ms {
            let message = "a window of the past ends after it begins: FROM NOW-PT10S TO NOW-PT5S";
            return self.fault(to.unwrap_or(from), message);
        }
        Ok(WrittenExtent::Past {
            from_ms,
            to_ms,
            step_ms: self.span_above_zero(step, "STEP")?,
        })
    }

    /// Milliseconds.
    fn span(&self, id: Id) -> Parsed<u64> {
        let range = self.tree.range(id);
        let tokens = self.tree.tokens;
        let text = span_text(tokens.text, &tokens.tokens[range.clone()]);
        span::milliseconds(&text).map_err(|message| GrammarError::at(range.start, message))
    }

    fn span_above_zero(&self, id: Id, of: &str) -> Parsed<u64> {
        match self.span(id)? {
            0 => self.fault(id, format!("{of} needs a span of time above 0")),
            span => Ok(span),
        }
    }

    fn items(&self, id: Id) -> Parsed<u64> {
        let digits = self.tree.slice(id);
        match digits.parse() {
            Ok(0) => self.fault(id, "a window of items needs a number above 0"),
            Ok(items) if items <= ITEMS_MAX => Ok(items),
            _ => self.fault(id, format!("{} is above {ITEMS_MAX} items", quoted(digits))),
        }
    }

    /// `WINDOW` or `STREAM` in a pattern.
    pub(super) fn window(&mut self, id: Id, kind: NodeKind) -> Parsed<GraphPattern> {
        if self.is_elsewhere {
            return self.fault(
                id,
                "the endpoint of SERVICE does not know the windows of this query",
            );
        }
        let parts: Vec<Id> = self.tree.children(id).collect();
        let (name, extent, group) = match parts[..] {
            [name, group] if kind == NodeKind::Window => (name, None, group),
            [name, extent, group] => (name, Some(extent), group),
            _ => return self.fault(id, "expected WINDOW name { ... }"),
        };
        let iri = self.stream_iri(name)?.into_string();
        let place = match extent {
            None => self.window_named(name, &iri)?,
            Some(extent) => {
                let window = Window {
                    name: None,
                    stream: iri,
                    extent: self.extent(extent)?,
                };
                self.declare_window(id, window, Dialect::Cqels)?
            }
        };
        let source = self.streams.source(&[place]);
        self.in_window(source, group)
    }

    /// What a group is that stands in the windows of a source.
    pub(super) fn in_window(&mut self, source: Source, group: Id) -> Parsed<GraphPattern> {
        self.streams.around += 1;
        let inner = Box::new(self.group(group)?);
        self.streams.around -= 1;
        Ok(GraphPattern::Window { source, inner })
    }

    /// Refuses a `GRAPH` in a window that is a bag.
    pub(super) fn check_graph(&self, id: Id) -> Parsed {
        if self.streams.are_bags && self.streams.around > 0 {
            return self.unsupported(
                id,
                "multiset=on counts how often a triple came, whatever graph its items name: leave out this GRAPH, or \
                 multiset=on"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn window_named(&self, at: Id, name: &str) -> Parsed<usize> {
        let windows = &self.streams.windows;
        let is_it = |window: &Window| window.name.as_deref() == Some(name);
        if let Some(place) = windows.iter().position(is_it) {
            return Ok(place);
        }
        let written = self.written(at);
        let names = windows.iter().filter_map(|window| window.name.as_deref());
        let nearest = names.min_by_key(|known| strsim::osa_distance(known, name));
        let hint = match nearest {
            Some(nearest) => format!("did you mean <{nearest}>?"),
            None => format!(
                "declare it by FROM NAMED WINDOW {written} ON <stream> [RANGE PT10S STEP PT1S]"
            ),
        };
        self.fault(
            at,
            format!("no window is called {}: {hint}", quoted(written)),
        )
    }

    /// What a `GRAPH` is of that names a stream; `None` of any other.
    pub(super) fn source_of_graph(&mut self, name: NamePattern) -> Option<Source> {
        let NamePattern::Constant(constant) = name else {
            return None;
        };
        if self.streams.windows.is_empty() || self.is_elsewhere {
            return None;
        }
        let windows = match self.terms.term(constant) {
            Term::NamedNode(iri) => self.streams.over(iri.as_str()),
            _ => Vec::new(),
        };
        if windows.is_empty() {
            self.streams.graphs.insert(constant);
            return None;
        }
        self.streams.dialect = Some(Dialect::CSparqlGraph);
        Some(self.streams.source(&windows))
    }

    /// Wukong+S's texts name a stored graph by `FROM` and ask it by `GRAPH`: it is a named one, too.
    fn name_graphs(&self, dataset: &mut Dataset) {
        for graph in &dataset.default {
            if self.streams.graphs.contains(graph) && !dataset.named.contains(graph) {
                dataset.named.push(*graph);
            }
        }
    }

    /// What holds of the whole text.
    fn check_standing(&mut self, form: Id, register: Option<Id>) -> Parsed {
        let Some(dialect) = self.streams.dialect else {
            return Err(GrammarError::of(
                ParseErrorKind::Standing,
                self.tree.range(form).start,
                "this query reads no window of a stream, so nothing would ever start it: add FROM STREAM <s> [RANGE 10s \
                 STEP 1s], or follow its answer as a live query (/api/v1/subscribe)"
                    .to_owned(),
            ));
        };
        let is_c_sparql = matches!(dialect, Dialect::CSparql | Dialect::CSparqlGraph);
        let is_stream = self
            .streams
            .registered
            .as_ref()
            .is_some_and(|it| it.is_stream);
        if let Some(register) = register
            && is_c_sparql
            && is_stream
            && self.streams.relation.is_none()
            && self.kind(form) != NodeKind::Construct
        {
            let message = "a stream is made of triples: REGISTER STREAM needs CONSTRUCT; REGISTER QUERY gives rows";
            return self.fault(register, message);
        }
        if dialect == Dialect::CSparql {
            // All windows are one source.
            let all: Vec<usize> = (0..self.streams.windows.len()).collect();
            self.streams.source(&all);
        }
        Ok(())
    }

    /// A graph of a dataset clause, or of a `GRAPH`.
    pub(super) fn graph_of(&mut self, id: Id) -> Parsed<Constant> {
        let iri = self.stream_iri(id)?;
        Ok(self.constant(iri))
    }

    /// The IRI of a stream, a window or a graph: one of the text, or a bare name.
    fn stream_iri(&mut self, id: Id) -> Parsed<NamedNode> {
        if self.kind(id) != NodeKind::BareName {
            return self.iri(id);
        }
        let name = self.written(id);
        let resolved = self.base.as_ref().map(|base| base.resolve(name));
        match resolved {
            Some(Ok(iri)) => Ok(NamedNode::new_unchecked(Iri::into_inner(iri))),
            Some(Err(error)) => self.fault(id, format!("{} makes no IRI: {error}", quoted(name))),
            None => self.fault(
                id,
                format!(
                    "{} is a bare name, and there is no BASE that makes it an IRI: write BASE <...> or an IRI in <>",
                    quoted(name)
                ),
            ),
        }
    }

    /// A node as the text has it.
    fn written(&self, id: Id) -> &str {
        let tokens = &self.tree.tokens.tokens[self.tree.range(id)];
        let bounds = tokens.first().zip(tokens.last());
        bounds.map_or("", |(first, last)| {
            &self.tree.tokens.text[first.start as usize..last.end as usize]
        })
    }

    fn unsupported<T>(&self, at: Id, message: String) -> Parsed<T> {
        let at = self.tree.range(at).start;
        Err(GrammarError::of(ParseErrorKind::Unsupported, at, message))
    }
}

/// The relation that a word names.
fn relation(word: &str) -> Option<Relation> {
    match &*word.to_ascii_uppercase() {
        "RSTREAM" => Some(Relation::Rows),
        "ISTREAM" => Some(Relation::Insertions),
        "DSTREAM" => Some(Relation::Deletions),
        _ => None,
    }
}

fn words(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::CSparql | Dialect::CSparqlGraph => "C-SPARQL (FROM STREAM)",
        Dialect::RspQl => "RSP-QL (FROM NAMED WINDOW)",
        Dialect::Cqels => "CQELS-QL (STREAM in a pattern)",
    }
}

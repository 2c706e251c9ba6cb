//! What a query probably did not mean: names that the graph does not have, variables that nothing binds.
//!
//! | looked at | said where |
//! |---|---|
//! | a predicate | no statement has it; the nearest that some have, with their number |
//! | a class after `a` | nothing is one; the nearest with its members |
//! | a graph | it holds nothing; the nearest that does |
//! | `MINUS` | it shares no variable with what it is taken from, so it removes nothing |
//! | a variable | nothing binds it; the nearest that something does |
//! | the default graph | it is empty, named graphs are not, and it is what the query asks |
//!
//! Such a query is answered all the same, and by the letter: with nothing, or an empty column.
//!
//! **Cost.** A query whose plan is kept is not looked at again ([`crate::request::plan_cache`]); any other pays a
//! few lookups. A nearest name is searched only for one that is not there, among at most
//! [`CANDIDATES_MAX`] names and for [`SEARCH_TIME`]. Whether the default graph is empty is found out once
//! a version, within [`KEYS_MAX`] keys; where that does not tell, nothing is said.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `EmptyDefault` | the first requests of a version, with its lock; they look without it | requests, with its lock |

use crate::error::QueryError;
use crate::moment::Graph;
use oxrdf::{NamedNodeRef, Term, TermRef};
use query::mentions::Mentions;
use query::plan::ConstantId;
use rdf::{Direction, Lexicon, TermBuffer, VertexId};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::Lists;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};

/// Names among which the nearest is searched.
const CANDIDATES_MAX: usize = 100_000;
/// Time for all searches of a query.
const SEARCH_TIME: Duration = Duration::from_millis(10);
/// Names whose text is read at once.
const BATCH: usize = 1024;
/// Keys that are looked at to find out whether the default graph is empty.
const KEYS_MAX: u64 = 1 << 20;
/// Warnings of one query.
const WARNINGS_MAX: usize = 16;
/// Characters of a local name beyond which it is compared with no other.
const NAME_CHARACTERS_MAX: usize = 64;
/// Graphs whose names are read to look for one of them.
const GRAPHS_MAX: u64 = 100_000;

/// A query with what its constants are in a graph.
pub(crate) struct ResolvedQuery<'q> {
    pub empty_default: &'q EmptyDefault,
    pub graph: &'q Graph,
    pub query: &'q query::Query,
    /// The ids of the query's constants.
    pub ids: &'q [Option<VertexId>],
    /// Constants that stand for others, of which nothing is said.
    pub placeholders: &'q [ConstantId],
}

/// A name that is not there, and among what it is searched.
struct Candidates {
    /// Names with the number that is said of each; `None`: none is said.
    named: Vec<(VertexId, Option<u64>)>,
}

impl ResolvedQuery<'_> {
    /// The warnings, in the order of the table above.
    pub(crate) fn warnings(&self) -> Result<Vec<String>, QueryError> {
        let mentions = self.query.mentions();
        let mut told = Vec::new();
        let until = Instant::now() + SEARCH_TIME;
        for &predicate in &mentions.predicates {
            let id = self.ids[predicate.0 as usize];
            if id
                .and_then(|id| self.graph.snapshot.predicate_id(id))
                .is_none()
            {
                let near = self.nearest(predicate.0, &|| Ok(self.predicates()), until)?;
                let near = near.map(|(name, edges)| format!("; {name} has {edges}"));
                let name = self.name(predicate.0);
                told.push(format!(
                    "no statement has {name}{}",
                    near.unwrap_or_default()
                ));
            }
        }
        for &class in &mentions.classes {
            if !self.placeholders.contains(&class)
                && !self.has_members(self.ids[class.0 as usize])?
            {
                let near = self.nearest(class.0, &|| Ok(self.classes()), until)?;
                let near = near.map(|(name, members)| format!("; {name} has {members}"));
                let name = self.name(class.0);
                told.push(format!("nothing is a {name}{}", near.unwrap_or_default()));
            }
        }
        self.graphs(&mentions, until, &mut told)?;
        if mentions.has_idle_minus {
            told.push(
                "MINUS removes nothing: its group shares no variable with what stands before it"
                    .to_owned(),
            );
        }
        told.extend(
            mentions
                .unbound
                .iter()
                .map(|name| unbound(name, &mentions.bound)),
        );
        if mentions.asks_default && self.graph.planner.statistics().named_graphs > 0 {
            self.default_graph(&mut told)?;
        }
        told.truncate(WARNINGS_MAX);
        Ok(told)
    }

    fn graphs(
        &self,
        mentions: &Mentions<'_>,
        until: Instant,
        told: &mut Vec<String>,
    ) -> Result<(), QueryError> {
        let has_few = self.graph.planner.statistics().named_graphs <= GRAPHS_MAX;
        if mentions.graphs.is_empty() || !has_few {
            return Ok(());
        }
        let known = self.graph.snapshot.named_graphs()?;
        for &graph in &mentions.graphs {
            let id = self.ids[graph.0 as usize];
            if id.is_some_and(|id| known.binary_search(&id).is_ok()) {
                continue;
            }
            let named = || {
                let named = known.iter().map(|graph| (*graph, None)).collect();
                Ok(Candidates { named })
            };
            let near = self.nearest(graph.0, &named, until)?;
            let near = near.map(|(name, _)| format!("; there is {name}"));
            let name = self.name(graph.0);
            told.push(format!(
                "no graph {name} holds anything{}",
                near.unwrap_or_default()
            ));
        }
        Ok(())
    }

    fn default_graph(&self, told: &mut Vec<String>) -> Result<(), QueryError> {
        if !self.empty_default.of(self.graph)? {
            return Ok(());
        }
        let graphs = match self.graph.snapshot.named_graphs()?.len() as u64 {
            0 => return Ok(()),
            1 => "a named graph is not".to_owned(),
            graphs => format!("{} named graphs are not", grouped(graphs)),
        };
        told.push(format!(
            "the default graph is empty, and {graphs}: ask with GRAPH, or set --union-default-graph"
        ));
        Ok(())
    }

    /// Whether something is of a class, in any graph.
    fn has_members(&self, class: Option<VertexId>) -> Result<bool, QueryError> {
        let snapshot = &self.graph.snapshot;
        let kind = self.graph.planner.statistics().type_vertex;
        let kind = kind.and_then(|kind| snapshot.predicate_id(kind));
        let (Some(class), Some(predicate)) = (class, kind) else {
            // Where nothing has a type, that has been said of the predicate.
            return Ok(class.is_some());
        };
        let segment = SegmentKey {
            predicate,
            direction: Direction::In,
        };
        has_edge(self.graph, segment, &[class], GraphScope::Union)
    }

    fn predicates(&self) -> Candidates {
        let sizes = &self.graph.planner.statistics().predicates;
        let sized = sizes.iter().map(|size| (size.vertex, Some(size.edges)));
        let snapshot = &self.graph.snapshot;
        let named = sized.filter(|(vertex, _)| snapshot.predicate_id(*vertex).is_some());
        Candidates {
            named: named.take(CANDIDATES_MAX).collect(),
        }
    }

    fn classes(&self) -> Candidates {
        let sizes = &self.graph.planner.statistics().classes;
        let sized = sizes
            .iter()
            .map(|(class, members)| (*class, Some(*members)));
        Candidates {
            named: sized.take(CANDIDATES_MAX).collect(),
        }
    }

    /// The name among some that is most like a constant's, as the query would write it, with its number.
    fn nearest(
        &self,
        constant: u32,
        candidates: &dyn Fn() -> Result<Candidates, QueryError>,
        until: Instant,
    ) -> Result<Option<(String, String)>, QueryError> {
        let Term::NamedNode(wanted) = &self.query.constants()[constant as usize] else {
            return Ok(None);
        };
        let wanted = wanted.as_ref();
        if Instant::now() > until || local(wanted.as_str()).chars().count() > NAME_CHARACTERS_MAX {
            return Ok(None);
        }
        let mut best: Option<((usize, usize), String, Option<u64>)> = None;
        for batch in candidates()?.named.chunks(BATCH) {
            if Instant::now() > until {
                break;
            }
            let ids: Vec<VertexId> = batch.iter().map(|candidate| candidate.0).collect();
            let mut terms = TermBuffer::new();
            self.graph.dictionary.terms(&ids, &mut terms)?;
            for (row, (_, number)) in batch.iter().enumerate() {
                if let Some(TermRef::NamedNode(name)) = terms.get(row)
                    && name != wanted
                    && let Some(distance) = distance(wanted, name)
                    && best.as_ref().is_none_or(|(known, ..)| distance < *known)
                {
                    best = Some((distance, self.written(name.as_str()), *number));
                }
            }
        }
        Ok(best.map(|(_, name, number)| (name, number.map(grouped).unwrap_or_default())))
    }

    /// A constant as the query would write it.
    fn name(&self, constant: u32) -> String {
        match &self.query.constants()[constant as usize] {
            Term::NamedNode(name) => self.written(name.as_str()),
            other => other.to_string(),
        }
    }

    fn written(&self, iri: &str) -> String {
        let prefixes = self.query.prefixes().iter();
        let shortened = prefixes.filter_map(|(prefix, start)| {
            let rest = iri.strip_prefix(start.as_str())?;
            let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            (!rest.is_empty() && rest.chars().all(is_plain)).then(|| format!("{prefix}:{rest}"))
        });
        let shortest = shortened.min_by_key(String::len);
        shortest.unwrap_or_else(|| format!("<{iri}>"))
    }
}

/// A version whose default graph was looked at, and whether it is empty there.
#[derive(Default)]
pub(crate) struct EmptyDefault(Mutex<Option<(u64, bool)>>);

impl EmptyDefault {
    /// Whether the default graph of a version certainly holds nothing. Looked at once a version.
    fn of(&self, graph: &Graph) -> Result<bool, QueryError> {
        let number = graph.snapshot.number();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = *lock();
        if let Some((_, is_empty)) = known.filter(|(known, _)| *known == number) {
            return Ok(is_empty);
        }
        let is_empty = is_default_empty(graph)?;
        *lock() = Some((number, is_empty));
        Ok(is_empty)
    }
}

fn is_default_empty(graph: &Graph) -> Result<bool, QueryError> {
    let snapshot = &graph.snapshot;
    let until = Instant::now() + SEARCH_TIME;
    let mut looked = 0;
    for predicate in snapshot.predicates() {
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        match snapshot.edges(segment, GraphScope::Default)? {
            Some(0) => continue,
            Some(_) => return Ok(false),
            None => {}
        }
        let keys = snapshot.keys(segment)?;
        let mut batch = Vec::with_capacity(BATCH);
        for from in (0..keys.len()).step_by(BATCH) {
            batch.clear();
            keys.decode(from, (from + BATCH as u64).min(keys.len()), &mut batch)?;
            if has_edge(graph, segment, &batch, GraphScope::Default)? {
                return Ok(false);
            }
            looked += batch.len() as u64;
            if looked > KEYS_MAX || Instant::now() > until {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether one of these keys has an edge in a scope.
fn has_edge(
    graph: &Graph,
    segment: SegmentKey,
    keys: &[VertexId],
    scope: GraphScope<'_>,
) -> Result<bool, QueryError> {
    let mut lists = Lists::new();
    let asked = graph.snapshot.lists(segment, keys, scope, &mut lists)?;
    assert_eq!(asked, Progress::Ready, "the local view never waits");
    let mut degrees = Vec::with_capacity(keys.len());
    lists.degrees(&mut degrees)?;
    Ok(degrees.iter().any(|degree| *degree > 0))
}

fn unbound(name: &str, bound: &[&str]) -> String {
    let limit = slips(name);
    let near = bound
        .iter()
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|(distance, _)| *distance <= limit)
        .min();
    let near = near.map(|(_, known)| format!("; did you mean ?{known}"));
    format!("?{name} is bound nowhere{}", near.unwrap_or_default())
}

/// What follows the last `#`, `/` or `:` of an IRI.
fn local(iri: &str) -> &str {
    let trimmed = iri.trim_end_matches(['#', '/']);
    trimmed.rsplit(['#', '/', ':']).next().unwrap_or_default()
}

/// Letters that may differ in two names of which one is a slip of the other.
fn slips(name: &str) -> usize {
    match name.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        long => long / 3,
    }
}

/// How unlike two names are: their local names first, whatever the case; then what stands before. `None`:
/// one is no slip of the other.
fn distance(wanted: NamedNodeRef<'_>, known: NamedNodeRef<'_>) -> Option<(usize, usize)> {
    let (left, right) = (local(wanted.as_str()), local(known.as_str()));
    let limit = slips(left);
    if left.len().abs_diff(right.len()) > 4 * limit {
        return None;
    }
    let between = strsim::osa_distance(&left.to_lowercase(), &right.to_lowercase());
    let same_start = wanted.as_str().bytes().zip(known.as_str().bytes());
    let shared = same_start.take_while(|(left, right)| left == right).count();
    (between <= limit).then(|| (between, known.as_str().len().saturating_sub(shared)))
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_slip(wanted: &str, known: &str) -> bool {
        let iri = NamedNodeRef::new_unchecked;
        distance(iri(wanted), iri(known)).is_some()
    }

    #[test]
    fn slips_are_of_a_letter_or_two() {
        assert!(is_slip("http://schema.org/nmae", "http://schema.org/name"));
        assert!(is_slip("http://schema.org/name", "https://schema.org/name"));
        assert!(is_slip("http://e/Customr", "http://e/customer"));
        assert!(!is_slip("http://e/p", "http://e/q"));
        assert!(!is_slip("http://e/name", "http://e/customer"));
        assert_eq!(
            unbound("nme", &["x", "name"]),
            "?nme is bound nowhere; did you mean ?name"
        );
        assert_eq!(unbound("a", &["b"]), "?a is bound nowhere");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0, 999, 1000, 9_500, 1_234_567].map(grouped),
            ["0", "999", "1,000", "9,500", "1,234,567"]
        );
    }
}

//! Plans of the shapes that are asked again and again.
//!
//! ```text
//!  text --lexer--> shape + parameters --here?--> ids of the parameters --> their degrees --> plan
//!    |                   |  no           |            | not stored             | unlike those planned for
//!    |                   +-> grammar, planner <-------+                        +-> planner alone
//!    +--------- a known spelling --------+
//! ```
//!
//! Parsing and planning take ten times as long as the walk of a light query, and a service asks the
//! same few shapes ([`query::shape`]) all day. What is kept of a shape:
//!
//! * after its first text: that it was seen. So a flood of texts that never come back costs a few bytes
//!   each, and no second parse;
//! * from its second text on: the algebra with placeholders, and plans.
//!
//! * from its third text on: its spelling ([`query::shape::spelling`]), so that texts from one template are not
//!   even cut into tokens. Spellings are found by a hash of the text without what stands in angle brackets
//!   and quotes; that of a text that was seen once is only marked, and [`SPELLINGS_MAX`] may share one.
//!
//! **A plan fits** as long as the planner is the same (it is replaced when the graph has changed much)
//! and each parameter has about as many neighbours as the one that was planned for, within
//! [`DEGREES_ALIKE`]; for others the shape is planned again, and a few plans are kept beside each other.
//! A plan that does not fit well is slow, never wrong: what it promises of the data it proved of classes and
//! predicates, which are no parameters, and for one snapshot (`Action::Never`).
//!
//! **A shape is known** as long as ids mean what they meant: it holds those of its constants. Where a store
//! that another process changes was opened anew ([`Graph::ids`]), its next text is parsed and it is kept anew.
//!
//! Which texts are kept is the cache's business (S3-FIFO of the library: one pass of many texts does not
//! push out what is asked often). A spelling keeps its shape, and counts it once more. All entries together take at most [`Options::plan_cache_bytes`].
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `PlanCache::shapes` | any request (the library's locks, one for each part of it) | any request |
//! | `hits`, `spelled`, `misses` | any request | any thread, for figures |
//! | `ShapeEntry::plans` | a request that planned anew, for the time of an insertion | requests of that shape, many at once |
//! | `ShapeEntry::warned` | the first request of that shape in a snapshot | requests of that shape, for the time of a clone |
//! | all else of `ShapeEntry` | nobody after it was kept | requests of that shape |
//!
//! [`Options::plan_cache_bytes`]: crate::Options::plan_cache_bytes

use super::warnings::{EmptyDefault, ResolvedQuery};
use crate::error::QueryError;
use crate::moment::Graph;
use oxrdf::TermRef;
use query::parse::ParseOptions;
use query::plan::{ConstantId, Plan};
use query::planner::Planner;
use query::shape::spelling::{Spelling, skeleton};
use query::shape::{ParameterDegree, Shape, TEXT_BYTES_MAX, Template};
use query::statistics::DegreeQuestion;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rdf::VertexId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// Degrees of which the larger is at most so many times the smaller are planned for alike.
const DEGREES_ALIKE: u64 = 4;
/// Up to here all degrees are alike.
const DEGREE_SMALL: u64 = 16;
/// Plans of one shape: parameters of these many kinds are served without planning.
const PLANS_MAX: usize = 4;
/// Spellings that are kept of one hash: texts that differ in what is no parameter, as in predicates that
/// are written as whole IRIs.
const SPELLINGS_MAX: usize = 8;
const _: () = assert!(PLANS_MAX > 0 && SPELLINGS_MAX > 0, "the newest is kept");

/// What keys of spellings begin with; those of shapes begin with what their first token is, 0 to 4.
const SPELLED: u8 = 5;
/// Bytes that are counted for algebra and plans of a shape: a fixed part, and a factor of the text.
const SHAPE_BYTES: u64 = 8 << 10;
const SHAPE_FACTOR: u64 = 16;
/// Bytes that are counted for what was only seen, besides its text.
const SEEN_BYTES: u64 = 128;

/// What has come of keeping plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFigures {
    /// Queries whose text was not parsed, because their shape was known.
    pub hits: u64,
    /// Those of them whose text was not even cut into tokens, because their spelling was known.
    pub spelled: u64,
    /// Queries whose text was parsed.
    pub misses: u64,
    /// Bytes counted for what is kept.
    pub bytes: u64,
}

/// The plans of one database.
pub(crate) struct PlanCache {
    shapes: Cache<Box<[u8]>, CacheEntry, Bytes>,
    hits: AtomicU64,
    spelled: AtomicU64,
    misses: AtomicU64,
}

/// What is known of a shape.
#[derive(Clone)]
pub(crate) enum CacheEntry {
    /// It was asked once.
    Seen,
    /// It has no template ([`query::Scanned::template`]): it is never kept.
    Refused,
    /// It was asked again.
    Planned(Arc<ShapeEntry>),
    /// Texts of one hash, those that were asked last first.
    Spelled(Arc<[SpellingEntry]>),
}

/// A spelling with its shape.
#[derive(Clone)]
pub(crate) struct SpellingEntry {
    spelling: Arc<Spelling>,
    shaped: Arc<ShapeEntry>,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Box<[u8]>, CacheEntry> for Bytes {
    fn weight(&self, key: &Box<[u8]>, known: &CacheEntry) -> u64 {
        let text = key.len() as u64;
        match known {
            CacheEntry::Seen | CacheEntry::Refused => text + SEEN_BYTES,
            CacheEntry::Planned(_) => shape_bytes(text),
            CacheEntry::Spelled(texts) => {
                let bytes = texts.iter().map(|text| text.spelling.bytes() as u64);
                bytes.map(shape_bytes).sum()
            }
        }
    }
}

/// Bytes counted for a shape whose texts are so long.
fn shape_bytes(text: u64) -> u64 {
    SHAPE_BYTES + SHAPE_FACTOR * text
}

fn spelling_key(text: &str) -> [u8; 9] {
    let mut key = [SPELLED; 9];
    key[1..].copy_from_slice(&skeleton(text).to_le_bytes());
    key
}

impl PlanCache {
    /// Takes at most so many bytes, 0 to keep nothing.
    pub(crate) fn new(bytes: u64) -> PlanCache {
        let shapes = (bytes / SHAPE_BYTES).clamp(1, 1 << 20) as usize;
        PlanCache {
            shapes: Cache::with_weighter(shapes, bytes, Bytes),
            hits: AtomicU64::new(0),
            spelled: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn figures(&self) -> PlanFigures {
        PlanFigures {
            hits: self.hits.load(Ordering::Relaxed),
            spelled: self.spelled.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.shapes.weight(),
        }
    }

    pub(crate) fn count(&self, is_hit: bool) {
        let counter = if is_hit { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// A hit was found by its spelling.
    pub(crate) fn count_spelled(&self) {
        self.spelled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, shape: &Shape) -> Option<CacheEntry> {
        self.shapes.get(&shape.key[..])
    }

    pub(crate) fn put(&self, shape: &Shape, known: CacheEntry) {
        self.shapes
            .insert(shape.key.clone().into_boxed_slice(), known);
    }
}

impl PlanCache {
    /// The shape and the parameters of a text whose spelling is known.
    pub(crate) fn spelled<'t>(
        &self,
        text: &'t str,
        options: &ParseOptions,
    ) -> Option<(Arc<ShapeEntry>, Vec<TermRef<'t>>)> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let Some(CacheEntry::Spelled(texts)) = self.shapes.get(&spelling_key(text)[..]) else {
            return None;
        };
        texts.iter().find_map(|known| {
            let parameters = known.spelling.parameters(text, options)?;
            Some((Arc::clone(&known.shaped), parameters))
        })
    }

    /// Remembers how a text of a known shape is spelled, if it is the second of that hash.
    pub(crate) fn spell(
        &self,
        text: &str,
        shape: &Shape,
        options: &ParseOptions,
        shaped: &Arc<ShapeEntry>,
    ) {
        let Some(spelling) = Spelling::new(text, shape, options) else {
            return;
        };
        let key = spelling_key(text);
        let known = match self.shapes.get(&key[..]) {
            None => return self.shapes.insert(key.into(), CacheEntry::Seen),
            Some(CacheEntry::Spelled(texts)) => texts,
            Some(_) => Arc::default(),
        };
        let is_other = |known: &&SpellingEntry| known.spelling.parameters(text, options).is_none();
        let new = SpellingEntry {
            spelling: Arc::new(spelling),
            shaped: Arc::clone(shaped),
        };
        let others = known.iter().filter(is_other).take(SPELLINGS_MAX - 1);
        let texts = std::iter::once(new).chain(others.cloned()).collect();
        self.shapes.insert(key.into(), CacheEntry::Spelled(texts));
    }
}

/// What is said of a text; `None`: nothing.
type Warnings = Option<Arc<[String]>>;

/// A snapshot, and what is said of a text there.
type SnapshotWarnings = (u64, Warnings);

/// A shape with its plans.
pub(crate) struct ShapeEntry {
    template: Template,
    prefixes: Arc<[(String, String)]>,
    /// Ids of all constants; those of the parameters are of no meaning.
    constants: Vec<Option<VertexId>>,
    /// Constants that are no parameters and were stored nowhere in this snapshot.
    absent: Vec<ConstantId>,
    absent_in: u64,
    /// By which all these ids were given: [`Graph::ids`].
    ids: u64,
    /// What decides which plan fits.
    questions: Vec<ParameterDegree>,
    plans: RwLock<Vec<Arc<CachedPlan>>>,
    /// What is said of the text, and in which snapshot. `None`: nothing, and it is not looked at again.
    warned: Option<Mutex<SnapshotWarnings>>,
    is_local: bool,
}

/// A plan, and what it was made for.
struct CachedPlan {
    plan: Arc<Plan>,
    planner: Weak<Planner>,
    degrees: Vec<u64>,
}

impl CachedPlan {
    fn fits(&self, planner: &Arc<Planner>, degrees: &[u64]) -> bool {
        let is_same = std::ptr::eq(self.planner.as_ptr(), Arc::as_ptr(planner));
        is_same && are_all_alike(&self.degrees, degrees)
    }
}

/// Whether two lists are of the same terms' degrees, about. A term that is stored nowhere has none, and whoever
/// stands behind it in the list has another place then.
fn are_all_alike(known: &[u64], asked: &[u64]) -> bool {
    let mut pairs = known.iter().zip(asked);
    known.len() == asked.len() && pairs.all(|(known, asked)| are_alike(*known, *asked))
}

fn are_alike(left: u64, right: u64) -> bool {
    let smaller = left.min(right).saturating_mul(DEGREES_ALIKE);
    left.max(right) <= smaller.max(DEGREE_SMALL)
}

/// What is looked up in a graph for a text of a known shape.
pub(crate) trait Lookups {
    /// Appends the ids of terms; `None` where one is stored nowhere.
    fn ids(&self, terms: &[TermRef<'_>], ids: &mut Vec<Option<VertexId>>)
    -> Result<(), QueryError>;

    /// How many neighbours constants have.
    fn degrees(
        &self,
        questions: &mut dyn Iterator<Item = DegreeQuestion>,
    ) -> Result<Vec<u64>, QueryError>;
}

impl ShapeEntry {
    /// Of a text that was parsed, and planned so for a graph. `constants`: the ids of the template's own.
    pub(crate) fn new(
        template: Template,
        graph: &Graph,
        lookups: &dyn Lookups,
        plan: &Arc<Plan>,
        constants: &[Option<VertexId>],
        prefixes: &Arc<[(String, String)]>,
    ) -> Result<ShapeEntry, QueryError> {
        let is_absent = |constant: &ConstantId| {
            constants[constant.0 as usize].is_none() && !template.parameters.contains(constant)
        };
        let all = (0..constants.len() as u32).map(ConstantId);
        let questions = template.parameter_degrees(constants);
        let degrees = parameter_degrees(lookups, &template, &questions, constants)?;
        assert_eq!(
            constants.len(),
            template.query.constants().len(),
            "ids are of the template's constants"
        );
        let mut known = constants.iter().flatten();
        assert!(
            known.all(|id| id.is_stored()),
            "what is kept outlives windows and their terms"
        );
        let fitted = CachedPlan {
            plan: Arc::clone(plan),
            planner: Arc::downgrade(&graph.planner),
            degrees,
        };
        Ok(ShapeEntry {
            prefixes: Arc::clone(prefixes),
            absent: all.filter(is_absent).collect(),
            absent_in: graph.snapshot.number(),
            ids: graph.ids,
            constants: constants.to_vec(),
            questions,
            plans: RwLock::new(vec![Arc::new(fitted)]),
            warned: None,
            is_local: plan.is_local(),
            template,
        })
    }

    /// Keeps what is said of the text whatever its parameters are. Without this nothing ever is.
    pub(crate) fn warn(
        &mut self,
        empty_default: &EmptyDefault,
        graph: &Graph,
        ids: &[Option<VertexId>],
    ) -> Result<(), QueryError> {
        let told = self.look(empty_default, graph, ids)?;
        self.warned = Some(Mutex::new((graph.snapshot.number(), told)));
        Ok(())
    }

    fn look(
        &self,
        empty_default: &EmptyDefault,
        graph: &Graph,
        ids: &[Option<VertexId>],
    ) -> Result<Warnings, QueryError> {
        let asked = ResolvedQuery {
            empty_default,
            graph,
            query: &self.template.query,
            ids,
            placeholders: &self.template.parameters,
        };
        let told = asked.warnings()?;
        Ok((!told.is_empty()).then(|| told.into()))
    }

    /// What is said of the text: the same as it was found last, or anew where the graph has changed since.
    pub(crate) fn warnings(
        &self,
        empty_default: &EmptyDefault,
        graph: &Graph,
        ids: &[Option<VertexId>],
    ) -> Result<Warnings, QueryError> {
        let Some(warned) = &self.warned else {
            return Ok(None);
        };
        let lock = || warned.lock().unwrap_or_else(PoisonError::into_inner);
        let number = graph.snapshot.number();
        let (known, told) = lock().clone();
        if known == number {
            return Ok(told);
        }
        let told = self.look(empty_default, graph, ids)?;
        *lock() = (number, told.clone());
        Ok(told)
    }

    /// Whether its ids are those of this graph.
    pub(crate) fn is_of(&self, graph: &Graph) -> bool {
        self.ids == graph.ids
    }

    /// Whether it asks no other endpoint.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Its algebra, with placeholders for the parameters.
    pub(crate) fn algebra(&self) -> &query::Query {
        &self.template.query
    }

    /// The constants that are parameters, in the order of a text's terms.
    pub(crate) fn parameters(&self) -> &Arc<[ConstantId]> {
        &self.template.parameters
    }

    /// The prefixes that its first text declared.
    pub(crate) fn prefixes(&self) -> &Arc<[(String, String)]> {
        &self.prefixes
    }

    /// The ids of all constants with these terms for the parameters; `None` where one of them is stored
    /// nowhere.
    pub(crate) fn constants(
        &self,
        graph: &Graph,
        lookups: &dyn Lookups,
        terms: &[TermRef<'_>],
    ) -> Result<Option<Vec<Option<VertexId>>>, QueryError> {
        let mut constants = self.constants.clone();
        let mut found = Vec::with_capacity(terms.len());
        if !terms.is_empty() {
            lookups.ids(terms, &mut found)?;
        }
        assert_eq!(
            found.len(),
            self.template.parameters.len(),
            "a text has a term for each parameter of its shape"
        );
        if found.contains(&None) {
            return Ok(None);
        }
        for (constant, id) in self.template.parameters.iter().zip(&found) {
            constants[constant.0 as usize] = *id;
        }
        if !self.absent.is_empty() && graph.snapshot.number() != self.absent_in {
            let all = self.template.query.constants();
            let absent = self.absent.iter().map(|constant| constant.0 as usize);
            let terms: Vec<_> = absent.clone().map(|at| all[at].as_ref()).collect();
            found.clear();
            lookups.ids(&terms, &mut found)?;
            assert_eq!(
                found.len(),
                self.absent.len(),
                "a lexicon answers for each term"
            );
            for (at, id) in absent.zip(&found) {
                constants[at] = *id;
            }
        }
        Ok(Some(constants))
    }

    /// How many neighbours the parameters have, as far as that decides which plan fits.
    pub(crate) fn degrees(
        &self,
        lookups: &dyn Lookups,
        constants: &[Option<VertexId>],
    ) -> Result<Vec<u64>, QueryError> {
        parameter_degrees(lookups, &self.template, &self.questions, constants)
    }

    /// A plan that was made by this planner for about these degrees.
    pub(crate) fn fitting(&self, planner: &Arc<Planner>, degrees: &[u64]) -> Option<Arc<Plan>> {
        let plans = self.plans.read().unwrap_or_else(PoisonError::into_inner);
        let fitted = plans.iter().find(|plan| plan.fits(planner, degrees))?;
        Some(Arc::clone(&fitted.plan))
    }

    /// Keeps a new plan in the place of one that fits no longer, or of the oldest.
    pub(crate) fn keep(&self, planner: &Arc<Planner>, plan: &Arc<Plan>, degrees: Vec<u64>) {
        let fitted = Arc::new(CachedPlan {
            plan: Arc::clone(plan),
            planner: Arc::downgrade(planner),
            degrees,
        });
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|known| std::ptr::eq(known.planner.as_ptr(), Arc::as_ptr(planner)));
        plans.truncate(PLANS_MAX - 1);
        plans.insert(0, fitted);
    }
}

/// How many neighbours the parameters have, in the order of the questions.
fn parameter_degrees(
    lookups: &dyn Lookups,
    template: &Template,
    questions: &[ParameterDegree],
    constants: &[Option<VertexId>],
) -> Result<Vec<u64>, QueryError> {
    let mut asked = questions.iter().filter_map(|question| {
        let constant = template.parameters[question.parameter];
        Some(DegreeQuestion {
            vertex: constants[constant.0 as usize]?,
            predicate: question.predicate,
            direction: question.direction,
        })
    });
    lookups.degrees(&mut asked)
}

#[cfg(test)]
mod tests {
    use super::{are_alike, are_all_alike};

    #[test]
    fn degrees_are_alike_within_a_factor_or_when_small() {
        assert!(are_alike(0, 16));
        assert!(!are_alike(0, 17));
        assert!(are_alike(100, 400));
        assert!(!are_alike(401, 100));
        assert!(are_alike(u64::MAX, u64::MAX));
    }

    #[test]
    fn a_plan_that_lacks_a_degree_fits_no_list_that_has_it() {
        assert!(are_all_alike(&[100, 1000], &[101, 999]));
        assert!(!are_all_alike(&[1000], &[1000, 1000]));
        assert!(!are_all_alike(&[], &[1000]));
    }
}

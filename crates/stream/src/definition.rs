//! What a stream is: its name, its grain, how long it waits for what is late, and what of it is stored.
//!
//! The grain is how finely the stream is sealed, and so the latency of a window that closes at a whole batch. Windows
//! need not be whole numbers of batches: a window that ends within a batch is covered when that batch is.

use std::collections::BTreeSet;

use crate::items::Items;
use rdf::VertexId;
use store::GraphScope;
use store::delta::IdQuad;

/// The longest grain (milliseconds): a day.
pub const GRAIN_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// The grain of a stream that says nothing else (milliseconds).
pub const GRAIN_MS: u64 = 100;

/// The budget of a stream that says nothing else (bytes).
pub const BUDGET_BYTES: u64 = 1 << 30;

/// What a stream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its IRI.
    pub name: String,
    /// How long a batch is (milliseconds); from 1 to [`GRAIN_MAX_MS`].
    pub grain_ms: u64,
    /// How much later than its source's watermark an item may come (milliseconds).
    pub lateness_ms: u64,
    /// A source that was silent for so long (milliseconds) is idle and holds nobody up; `None`: it never is.
    pub idle_ms: Option<u64>,
    /// Sealed batches are readable for at least so long (milliseconds), whether a window needs them or not.
    pub retain_ms: u64,
    /// What its items and their slices may hold (bytes); above 0.
    pub budget_bytes: u64,
    /// Which of its quads are stored.
    pub absorb: Absorb,
    /// The graph that quads of the default graph are stored in; [`GraphScope::DEFAULT_GRAPH`] leaves them there.
    pub into: VertexId,
    /// Whether an item's time is that of its arrival, by the clock of the edge.
    pub arrival_time: bool,
}

/// Which quads of a stream are stored; the others live in windows only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absorb {
    /// All.
    All,
    /// None.
    Nothing,
    /// Those with one of these predicates.
    Only(BTreeSet<VertexId>),
}

/// Why a definition is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The name is empty.
    #[error("a stream needs a name")]
    Nameless,
    /// The grain is 0 or too long.
    #[error(
        "the grain of stream <{name}> is {grain_ms} ms: it must be from 1 ms to {GRAIN_MAX_MS} ms"
    )]
    Grain {
        /// The stream's name.
        name: String,
        /// Its grain (milliseconds).
        grain_ms: u64,
    },
    /// A source would be idle at once.
    #[error("a source of stream <{0}> is idle after 0 ms: give at least 1 ms, or no limit")]
    Idle(String),
    /// Nothing could ever be held.
    #[error("the budget of stream <{0}> is 0 bytes: nothing could be pushed")]
    Budget(String),
}

impl Definition {
    /// A stream of this name, in all else the usual: no lateness, sources that are never idle, everything stored in
    /// the default graph, nothing kept that no window needs.
    pub fn new(name: impl Into<String>) -> Definition {
        Definition {
            name: name.into(),
            grain_ms: GRAIN_MS,
            lateness_ms: 0,
            idle_ms: None,
            retain_ms: 0,
            budget_bytes: BUDGET_BYTES,
            absorb: Absorb::All,
            into: GraphScope::DEFAULT_GRAPH,
            arrival_time: false,
        }
    }

    /// Whether it can be kept.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        if self.name.is_empty() {
            return Err(DefinitionError::Nameless);
        }
        if self.grain_ms == 0 || self.grain_ms > GRAIN_MAX_MS {
            let (name, grain_ms) = (self.name.clone(), self.grain_ms);
            return Err(DefinitionError::Grain { name, grain_ms });
        }
        if self.idle_ms == Some(0) {
            return Err(DefinitionError::Idle(self.name.clone()));
        }
        if self.budget_bytes == 0 {
            return Err(DefinitionError::Budget(self.name.clone()));
        }
        Ok(())
    }

    /// What of these items is stored, in the graphs where it is stored. A quad that names a graph stays in it.
    pub fn absorbed(&self, items: &Items) -> impl Iterator<Item = IdQuad> {
        let taken = items
            .quads()
            .iter()
            .filter(|quad| self.absorb.takes(quad.1));
        taken.map(|&(subject, predicate, object, graph)| {
            let is_default = graph == GraphScope::DEFAULT_GRAPH;
            let graph = if is_default { self.into } else { graph };
            (subject, predicate, object, graph)
        })
    }
}

impl Absorb {
    /// Whether quads of this predicate are stored.
    pub fn takes(&self, predicate: VertexId) -> bool {
        match self {
            Absorb::All => true,
            Absorb::Nothing => false,
            Absorb::Only(predicates) => predicates.contains(&predicate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use rdf::Tag;

    #[test]
    fn a_definition_says_what_is_wrong_with_it() {
        let usual = Definition::new("s");
        assert_eq!(usual.validate(), Ok(()));
        let wrong = |change: fn(&mut Definition)| {
            let mut definition = usual.clone();
            change(&mut definition);
            definition.validate().unwrap_err().to_string()
        };
        assert_eq!(wrong(|it| it.name.clear()), "a stream needs a name");
        assert!(wrong(|it| it.grain_ms = 0).contains("is 0 ms"));
        assert!(wrong(|it| it.grain_ms = GRAIN_MAX_MS + 1).contains("from 1 ms to 86400000 ms"));
        assert!(wrong(|it| it.idle_ms = Some(0)).contains("idle after 0 ms"));
        assert!(wrong(|it| it.budget_bytes = 0).contains("0 bytes"));
    }

    #[test]
    fn what_is_absorbed_goes_into_its_graph() {
        let id = |number| VertexId::new(Tag::Iri, number);
        let (here, there) = (GraphScope::DEFAULT_GRAPH, id(90));
        let quads = [(id(1), id(2), id(3), here), (id(1), id(4), id(3), there)];
        let mut items = Items::new();
        items.add(Time(0), &quads);
        let mut stream = Definition::new("s");
        let absorbed = |stream: &Definition| stream.absorbed(&items).collect::<Vec<_>>();
        assert_eq!(absorbed(&stream), quads);
        stream.into = id(91);
        assert_eq!(absorbed(&stream), [(id(1), id(2), id(3), id(91)), quads[1]]);
        stream.absorb = Absorb::Only(BTreeSet::from([id(4)]));
        assert_eq!(absorbed(&stream), [quads[1]]);
        stream.absorb = Absorb::Nothing;
        assert_eq!(absorbed(&stream), []);
    }
}

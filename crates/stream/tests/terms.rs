//! Terms that are stored while windows name them by transient ids: items and slices get the stored ids, and nothing else
//! changes.

use std::collections::BTreeSet;

use query::standing::Bounds;
use rdf::transient::Renamed;
use rdf::{Tag, VertexId};
use store::GraphScope;
use store::delta::IdQuad;
use stream::{Evaluation, Items, QueryId, SourceId, StreamError, Streams, Time};
use testkit::random::Random;
use testkit::seeds;

use crate::common::{CLOSE, at, drain, grained, quads_of, range, schedule};

const SOURCE: SourceId = SourceId(0);
/// Terms of a case (count).
const TERMS: usize = 12;

/// Terms by number: those that are stored by now have other ids.
struct Terms {
    is_stored: [bool; TERMS],
}

impl Terms {
    fn transient(number: usize) -> VertexId {
        VertexId::new(Tag::TransientIri, number as u64)
    }

    fn stored(number: usize) -> VertexId {
        VertexId::new(Tag::Iri, 100 + number as u64)
    }

    fn id(&self, number: usize) -> VertexId {
        if self.is_stored[number] {
            Terms::stored(number)
        } else {
            Terms::transient(number)
        }
    }

    /// A quad with the ids of now, and with those of all terms stored.
    fn quad(&self, random: &mut Random) -> [IdQuad; 2] {
        let parts: [usize; 4] = std::array::from_fn(|_| random.below(TERMS));
        let is_named = random.chance(20);
        let quad = |id: &dyn Fn(usize) -> VertexId| {
            let [subject, predicate, object, graph] = parts.map(id);
            let graph = if is_named {
                graph
            } else {
                GraphScope::DEFAULT_GRAPH
            };
            (subject, predicate, object, graph)
        };
        [quad(&|number| self.id(number)), quad(&Terms::stored)]
    }

    /// Stores some.
    fn store(&mut self, random: &mut Random) -> Renamed {
        let mut renamed = Renamed::default();
        for number in 0..TERMS {
            if !self.is_stored[number] && random.chance(15) {
                renamed.add(Terms::transient(number), Terms::stored(number));
                self.is_stored[number] = true;
            }
        }
        renamed
    }

    /// What a window has, each term by its stored id. Asserts that it names each by the id of now.
    fn checked(&self, quads: BTreeSet<IdQuad>, seed: u64) -> BTreeSet<IdQuad> {
        let stored = |id: VertexId| {
            let number = (0..TERMS).find(|number| self.id(*number) == id);
            let default = (id == GraphScope::DEFAULT_GRAPH).then_some(id);
            let stored = number.map(Terms::stored).or(default);
            stored.unwrap_or_else(|| panic!("seed {seed}: {id:?} is an old id"))
        };
        let quads = quads.into_iter();
        quads
            .map(|quad| {
                (
                    stored(quad.0),
                    stored(quad.1),
                    stored(quad.2),
                    stored(quad.3),
                )
            })
            .collect()
    }
}

fn registered(random: &mut Random) -> Streams {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let mut random = random.clone();
    for query in 1..4 {
        let bounds = *random.pick(&[Bounds::LeftClosed, Bounds::RightClosed]);
        let window = range(stream, random.between(1, 200) as u64, 20, bounds);
        streams
            .register(QueryId(query), schedule(&[window], CLOSE), Time(0))
            .unwrap();
    }
    streams
}

#[test]
fn stored_terms_have_their_stored_ids_in_every_window() {
    let mut compared = 0;
    for seed in seeds::chosen(150, 100_000) {
        let mut random = Random::new(seed);
        let (mut streams, mut all_stored) = (registered(&mut random), registered(&mut random));
        let stream = streams.find("s").unwrap();
        let mut terms = Terms {
            is_stored: [false; TERMS],
        };
        let mut now = 0;
        for _ in 0..40 {
            let (mut items, mut stored) = (Items::new(), Items::new());
            for _ in 0..random.below(6) {
                let time = Time(now + random.below(30) as u64);
                let [quad, of_stored] = terms.quad(&mut random);
                items.add(time, &[quad]);
                stored.add(time, &[of_stored]);
            }
            now += random.below(25) as u64;
            for (streams, items) in [(&mut streams, &items), (&mut all_stored, &stored)] {
                streams.push(stream, SOURCE, items).unwrap();
                streams.watermark(stream, SOURCE, Time(now)).unwrap();
            }
            if random.chance(40) {
                let renamed = terms.store(&mut random);
                streams.rename(&renamed);
            }
            let (given, wanted) = (drain(&mut streams), drain(&mut all_stored));
            assert_eq!(given.len(), wanted.len(), "seed {seed}");
            let key = |each: &Evaluation| (each.query, each.close, each.windows[0].items);
            for (given, wanted) in given.iter().zip(&wanted) {
                assert_eq!(key(given), key(wanted), "seed {seed}");
                let quads = terms.checked(quads_of(&given.windows[0]), seed);
                assert_eq!(quads, quads_of(&wanted.windows[0]), "seed {seed}");
                compared += 1;
            }
            let held = |streams: &Streams| streams.status(stream).unwrap().held_bytes;
            assert!(held(&streams) < 4 * held(&all_stored) + 4096, "seed {seed}");
            streams.name_transients(&mut |id| {
                let is_old = (0..TERMS).all(|number| terms.id(number) != id);
                assert!(!is_old, "seed {seed}: {id:?} is named");
            });
        }
    }
    assert!(compared > 1000, "{compared} windows");
}

#[test]
fn names_are_those_of_open_and_kept_items_alone() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let window = range(stream, 20, 10, Bounds::LeftClosed);
    streams
        .register(QueryId(1), schedule(&[window], CLOSE), Time(0))
        .unwrap();
    let quad = |number: usize| {
        let id = Terms::transient(number);
        let graph = GraphScope::DEFAULT_GRAPH;
        (id, Terms::stored(0), id, graph)
    };
    for (number, time) in [(1, 5), (2, 15), (3, 45), (4, 75)] {
        let items = Items::singles([(Time(time), quad(number))]);
        streams.push(stream, SOURCE, &items).unwrap();
    }
    let names = |streams: &Streams| {
        let mut named = BTreeSet::new();
        streams.name_transients(&mut |id| {
            named.insert(id.payload());
        });
        named.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names(&streams), [1, 2, 3, 4]);
    drain(&mut streams);
    assert_eq!(names(&streams), [4], "the watermark is 75 ms");
    streams.drop_stream(stream).unwrap_err();
}

#[test]
fn what_is_held_elsewhere_counts_to_the_budget() {
    let mut streams = Streams::new();
    let mut definition = grained("s", 10);
    definition.budget_bytes = 10_000;
    let stream = streams.create(definition, Time(0)).unwrap();
    streams.push(stream, SOURCE, &at(&[5])).unwrap();
    let before = streams.status(stream).unwrap().held_bytes;
    streams.hold_beside(stream, 20_000).unwrap();
    assert_eq!(streams.status(stream).unwrap().held_bytes, before + 20_000);
    let refused = streams.push(stream, SOURCE, &at(&[6]));
    assert!(matches!(refused, Err(StreamError::Full { .. })));
    streams.hold_beside(stream, 0).unwrap();
    streams.push(stream, SOURCE, &at(&[6])).unwrap();
}

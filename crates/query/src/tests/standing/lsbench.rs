//! Plans of LSBench's standing queries, whose patterns are of windows and of the store, by statistics of both.
//!
//! Counts of the store are of the generated data with 1,000 users; those of the windows are of one second of each stream
//! at 10,000 posts', 86,000 post likes', 10,000 photos' and 7,500 photo likes' triples a second. A larger store has the
//! same counts times so many, beside the same windows.

use super::super::invariants::check_plan;
use crate::explain::PlanNames;
use crate::plan::{Action, Plan, Source};
use crate::planner::Planner;
use crate::statistics::{CharacteristicSet, PredicateStatistics, SourceStatistics, Statistics};
use crate::{ParseOptions, PlanOptions, Query, parse};
use oxrdf::Term;
use rdf::{Tag, VertexId};
use std::sync::Arc;

/// Local names of predicates, by number of the vertex.
const NAMES: [&str; 7] = [
    "account_of",
    "knows",
    "subscriber_of",
    "creator_of",
    "container_of",
    "usertag",
    "like",
];

/// Distinct subjects, objects, edges.
type Counts = (&'static str, u64, u64, u64);

/// The windows, as sources 1 to 4: all their triples, and those predicates that queries name.
const WINDOWS: [(&str, u64, &[Counts]); 4] = [
    (
        "window :po",
        9_997,
        &[
            ("container_of", 467, 817, 817),
            ("creator_of", 450, 817, 817),
        ],
    ),
    ("window :pol", 3_116, &[("like", 898, 715, 3_116)]),
    ("window :ph", 10_000, &[("usertag", 644, 348, 3_181)]),
    ("window :phl", 3_276, &[("like", 410, 644, 3_276)]),
];

const STORE: u16 = 0;
const PO: u16 = 1;
const POL: u16 = 2;
const PH: u16 = 3;
const PHL: u16 = 4;

fn vertex(name: &str) -> VertexId {
    let at = NAMES.iter().position(|known| *known == name);
    VertexId::new(Tag::Iri, at.expect("a predicate of the queries") as u64)
}

fn predicates(counts: &[Counts], times: u64) -> Vec<PredicateStatistics> {
    let mut predicates: Vec<_> = counts
        .iter()
        .map(|&(name, subjects, objects, edges)| PredicateStatistics {
            vertex: vertex(name),
            subjects: subjects * times,
            objects: objects * times,
            edges: edges * times,
        })
        .collect();
    predicates.sort_by_key(|it| it.vertex);
    predicates
}

fn set(vertices: u64, predicates: &[(&str, u64)], times: u64) -> CharacteristicSet {
    let mut predicates: Vec<_> = predicates
        .iter()
        .map(|&(name, edges)| (vertex(name), edges * times))
        .collect();
    predicates.sort_unstable();
    CharacteristicSet {
        predicates,
        types: Vec::new(),
        vertices: vertices * times,
    }
}

/// The store's, complete: nothing in it has a post, a photo or a like.
fn stored(times: u64) -> Statistics {
    let counts = [
        ("account_of", 1_000, 1_000, 1_000),
        ("knows", 1_000, 1_000, 19_168),
        ("subscriber_of", 1_039, 2_078, 2_078),
        ("creator_of", 18, 39, 39),
    ];
    let user = [
        ("account_of", 1_000),
        ("knows", 19_168),
        ("subscriber_of", 2_000),
    ];
    Statistics {
        quads: 102_356 * times,
        predicates: predicates(&counts, times),
        out_sets: vec![
            set(1_000, &user, times),
            set(39, &[("subscriber_of", 78)], times),
            set(18, &[("creator_of", 39)], times),
        ],
        in_sets: vec![
            set(1_000, &[("account_of", 1_000)], times),
            set(1_000, &[("knows", 19_168)], times),
            set(2_078, &[("subscriber_of", 2_078)], times),
            set(39, &[("creator_of", 39)], times),
        ],
        complete_at: Some(7),
        ..Statistics::default()
    }
}

fn windows() -> Vec<Option<Arc<SourceStatistics>>> {
    let window = |(_, quads, counts): &(_, u64, &[Counts])| {
        Some(Arc::new(SourceStatistics {
            quads: *quads,
            predicates: predicates(counts, 1),
        }))
    };
    WINDOWS.iter().map(window).collect()
}

/// A query whose patterns are of these sources, in the order of the text.
fn query(pattern: &str, sources: &[u16]) -> Query {
    let text = format!("PREFIX : <e:> SELECT * {{ {pattern} }}");
    let mut query = parse(&text, &ParseOptions::default()).unwrap();
    let mut sources = sources.iter();
    query.for_each_source_mut(&mut |source| {
        *source = Source(*sources.next().expect("a source for each pattern"));
    });
    assert_eq!(sources.next(), None, "a pattern for each source");
    query
}

fn ids(query: &Query) -> Vec<Option<VertexId>> {
    let id = |term: &Term| match term {
        Term::NamedNode(node) => match node.as_str().strip_prefix("e:") {
            Some("person") => Some(VertexId::new(Tag::Iri, 1_000)),
            Some(name) => NAMES.contains(&name).then(|| vertex(name)),
            None => None,
        },
        _ => None,
    };
    query.constants().iter().map(id).collect()
}

fn planned(query: &Query, sources: &[Option<Arc<SourceStatistics>>], times: u64) -> Plan {
    let ids = ids(query);
    let degrees = vec![1; query.degree_questions(&ids).len()];
    let planner = Planner::new(stored(times));
    let plan = planner.plan_over(query, &ids, &degrees, sources, PlanOptions::DEFAULT);
    let plan = plan.unwrap();
    check_plan(&plan);
    plan
}

/// What the steps do, without figures and columns.
fn steps(query: &Query, plan: &Plan) -> Vec<String> {
    let sources = WINDOWS.map(|(name, ..)| name.to_owned());
    let names = PlanNames {
        prefixes: query.prefixes(),
        sources: &sources,
    };
    let outline = plan.outline_named(names, None);
    outline.steps.into_iter().map(|step| step.text).collect()
}

const L2: (&str, &[u16]) = (
    "?user :account_of :person . ?user :creator_of ?post",
    &[STORE, PO],
);
const L3: (&str, &[u16]) = (
    "?user :account_of :person ; :knows ?friend . ?friend :creator_of ?post",
    &[STORE, STORE, PO],
);
const L5: (&str, &[u16]) = (
    "?friend1 :knows ?friend2 . ?photo :usertag ?friend1 . ?friend2 :like ?photo",
    &[STORE, PH, PHL],
);
const L6: (&str, &[u16]) = (
    "?user :subscriber_of ?channel ; :knows ?friend . ?channel :container_of ?post . ?friend :like ?post",
    &[STORE, STORE, PO, POL],
);

/// The plans do not depend on how large the store is beside the windows.
fn check((text, sources): (&str, &[u16]), expected: &[&str]) {
    let query = query(text, sources);
    for times in [1, 840] {
        let plan = planned(&query, &windows(), times);
        assert_eq!(steps(&query, &plan), expected, "{times} times the store");
    }
}

#[test]
fn posts_of_a_person_begin_with_the_person() {
    check(
        L2,
        &[
            ":person <-:account_of- ?user",
            "?user -:creator_of-> ?post in window :po",
        ],
    );
}

#[test]
fn posts_of_friends_go_through_the_store_to_the_window() {
    check(
        L3,
        &[
            ":person <-:account_of- ?user",
            "?user -:knows-> ?friend",
            "?friend -:creator_of-> ?post in window :po",
        ],
    );
}

/// Everyone's friends are 19,168 pairs, or millions: the photos of a second lead to those that matter, and their likers
/// are met with the friends of who is on them.
#[test]
fn likes_of_friends_begin_with_the_photos() {
    check(
        L5,
        &[
            "keys ?friend1 <-:usertag- in window :ph",
            "?friend1 <-:usertag- ?photo in window :ph",
            "intersect ?friend1 -:knows-> ?friend2 and ?photo <-:like- ?friend2 in window :phl",
        ],
    );
}

/// The order that Wukong+S publishes for it, its last two patterns as one step.
#[test]
fn likes_in_subscribed_channels_begin_with_the_posts() {
    check(
        L6,
        &[
            "keys ?channel -:container_of-> in window :po",
            "?channel -:container_of-> ?post in window :po",
            "?channel <-:subscriber_of- ?user",
            "intersect ?post <-:like- ?friend in window :pol and ?user -:knows-> ?friend",
        ],
    );
}

/// The store's complete statistics have no post, photo or like at all.
#[test]
fn nothing_of_a_window_is_proven_by_the_store() {
    for (text, sources) in [L2, L3, L5, L6] {
        let query = query(text, sources);
        let empty = vec![Some(Arc::new(SourceStatistics::default())); WINDOWS.len()];
        for known in [windows(), empty, Vec::new()] {
            let plan = planned(&query, &known, 1);
            let actions = plan.steps.iter().map(|step| &step.action);
            let is_never = |action: &Action| matches!(action, Action::Never { .. });
            assert!(!actions.clone().any(is_never), "{text}");
        }
    }
    let (text, sources) = L6;
    let query = query(text, &vec![STORE; sources.len()]);
    let plan = planned(&query, &[], 1);
    assert!(matches!(plan.steps[0].action, Action::Never { .. }));
}

/// When nothing was streamed lately, a walk rather looks there first.
#[test]
fn an_empty_window_comes_first() {
    let (text, sources) = L6;
    let query = query(text, sources);
    let mut known = windows();
    known[usize::from(POL) - 1] = Some(Arc::new(SourceStatistics::default()));
    let plan = planned(&query, &known, 1);
    let steps = steps(&query, &plan);
    assert!(steps[0].ends_with("in window :pol"), "{steps:?}");
}

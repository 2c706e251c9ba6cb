//! Plans mean what the algebra says: random texts over random small graphs, evaluated by definition
//! ([`reference`]) and by their plans ([`testkit::plan`]), by cost and in the order of the text.
//!
//! A program of its own, because `testkit` knows the library and not its unit tests' copy of it.

#[path = "../../src/tests/invariants.rs"]
mod invariants;
mod reference;

use invariants::check_plan;
use oxrdf::Term;
use proptest::prelude::*;
use query::plan::{self, Form, Source};
use query::statistics::{PredicateStatistics, SourceStatistics, Statistics};
use query::{ParseOptions, PlanOptions, Planner, parse};
use rdf::{Tag, VertexId, inline};
use reference::Reference;
use std::collections::BTreeSet;
use std::sync::Arc;
use testkit::plan::{Row, Unbound, World};

/// The terms of texts and graphs; those from `GRAPHS` on name graphs.
const NAMES: [&str; 9] = [
    "a:n0", "a:n1", "a:n2", "a:n3", "a:p", "a:q", "a:r", "a:g", "a:h",
];
const PREDICATES: std::ops::Range<u32> = 4..7;
const GRAPHS: std::ops::Range<u32> = 7..9;

fn value(term: &Term) -> VertexId {
    let Term::NamedNode(node) = term else {
        return inline::from_boolean(term.to_string().contains("true"));
    };
    let at = NAMES.iter().position(|name| *name == node.as_str());
    id(at.expect("a name of the world") as u32)
}

/// Subject, predicate, object, graph.
type Edge = (u32, u32, u32, Option<u32>);

/// The solutions as sorted text; what is not projected is cut off.
fn printed(rows: Vec<Row>, form: &Form) -> Vec<String> {
    let Form::Select(slots) = form else {
        return vec![(!rows.is_empty()).to_string()];
    };
    let row = |row: Row| {
        let cells = slots.iter().map(|slot| row.get(slot).copied());
        format!("{:?}", cells.collect::<Vec<_>>())
    };
    let mut printed: Vec<String> = rows.into_iter().map(row).collect();
    printed.sort();
    printed
}

/// The id of a name.
fn id(value: u32) -> VertexId {
    VertexId::new(Tag::Iri, u64::from(value))
}

/// Sizes of the predicates, so that orders differ.
fn statistics(edges: &[Edge]) -> Statistics {
    let count = |column: &dyn Fn(&Edge) -> u32, predicate: u32| {
        let edges = edges.iter().filter(|edge| edge.1 == predicate);
        edges.map(column).collect::<BTreeSet<u32>>().len() as u64
    };
    let predicates = PREDICATES.map(|predicate| PredicateStatistics {
        vertex: id(predicate),
        subjects: count(&|edge| edge.0, predicate),
        objects: count(&|edge| edge.2, predicate),
        edges: edges.iter().filter(|edge| edge.1 == predicate).count() as u64,
    });
    Statistics {
        quads: edges.len() as u64,
        predicates: predicates.collect(),
        named_graphs: 2,
        ..Statistics::default()
    }
}

/// Sizes of the predicates in a window.
fn of_window(edges: &[Edge]) -> Arc<SourceStatistics> {
    let Statistics {
        quads, predicates, ..
    } = statistics(edges);
    Arc::new(SourceStatistics { quads, predicates })
}

/// Compares both ways, whatever is known of other sources than the store: what they hold, that they were empty, or
/// nothing. Says what differs. `sources`: which each pattern is of, over and over; but where paths are within `GRAPH`,
/// all are of the first, as what one `GRAPH` holds is of one source ([`query::Query::for_each_source_mut`]).
fn compare(text: &str, edges: &[Vec<Edge>], sources: &[u16]) -> Result<(), String> {
    let mut query = parse(text, &ParseOptions::default()).map_err(|e| format!("{text}: {e}"))?;
    let has_path = format!("{:?}", query.body()).contains("PathPattern");
    let kinds = if has_path && text.contains("GRAPH") {
        1
    } else {
        sources.len()
    };
    let mut sources = sources[..kinds].iter().cycle();
    query.for_each_source_mut(&mut |source| *source = Source(*sources.next().unwrap_or(&0)));
    let quad = |&(s, p, o, graph): &Edge| (id(s), id(p), id(o), graph.map(id));
    let world = World {
        quads: edges
            .iter()
            .map(|edges| edges.iter().map(quad).collect())
            .collect(),
        dataset: query.dataset().clone(),
        constants: query.constants().iter().map(value).collect(),
        strings: &|_| None,
        unbound: Unbound::Mistake,
    };
    let reference = Reference { world: &world };
    let solutions = reference.solve(query.body(), &Row::new());
    let expected = printed(solutions, query.form());
    let ids: Vec<_> = world.constants.iter().copied().map(Some).collect();
    let planner = Planner::new(statistics(&edges[0]));
    let counted: Vec<_> = edges[1..]
        .iter()
        .map(|edges| Some(of_window(edges)))
        .collect();
    let emptied: Vec<_> = edges[1..].iter().map(|_| Some(of_window(&[]))).collect();
    let known = [&counted[..], &emptied, &[]];
    for (keep_order, sources) in [false, true]
        .into_iter()
        .flat_map(|it| known.map(|of| (it, of)))
    {
        let options = PlanOptions {
            keep_order,
            ..PlanOptions::DEFAULT
        };
        let plan = planner
            .plan_over(&query, &ids, &[], sources, options)
            .map_err(|error| error.to_string())?;
        check_plan(&plan);
        let found = printed(world.walk(&plan.steps, vec![Row::new()]), query.form());
        if found != expected {
            let plan = plan.explain();
            return Err(format!(
                "{text}\nover {edges:?}\nfound    {found:?}\nexpected {expected:?}\n{plan}\n{:#?}",
                query.body()
            ));
        }
    }
    Ok(())
}

fn edges() -> impl Strategy<Value = Vec<Edge>> {
    let graph = prop_oneof![3 => Just(None), 1 => GRAPHS.prop_map(Some)];
    prop::collection::vec((0..4_u32, PREDICATES, 0..4_u32, graph), 0..24)
}

fn variable() -> impl Strategy<Value = String> {
    (0..5_usize).prop_map(|at| format!("?{}", ["a", "b", "c", "d", "g"][at]))
}

fn node() -> impl Strategy<Value = String> {
    prop_oneof![5 => variable(), 1 => (0..4_usize).prop_map(|at| format!("<{}>", NAMES[at]))]
}

fn predicate() -> impl Strategy<Value = String> {
    let iri = || (4..7_usize).prop_map(|at| format!("<{}>", NAMES[at]));
    prop_oneof![
        8 => iri(),
        1 => variable(),
        1 => iri().prop_map(|iri| format!("{iri}*")),
        1 => iri().prop_map(|iri| format!("(^{iri})+")),
        1 => (iri(), iri()).prop_map(|(a, b)| format!("({a}|{b})?")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        (variable(), variable()).prop_map(|(a, b)| format!("{a} = {b}")),
        (variable(), variable()).prop_map(|(a, b)| format!("{a} != {b}")),
        (variable(), node()).prop_map(|(a, b)| format!("!BOUND({a}) || {a} = {b}")),
        variable().prop_map(|a| format!("BOUND({a})")),
        variable().prop_map(|a| format!("COALESCE({a}, <a:n0>) = <a:n0>")),
    ]
}

fn group(depth: u32) -> BoxedStrategy<String> {
    let triple = || (node(), predicate(), node()).prop_map(|(s, p, o)| format!("{s} {p} {o} ."));
    let filter = || condition().prop_map(|c| format!("FILTER({c})"));
    let values = || {
        let cell = || prop_oneof![3 => (0..4_usize).prop_map(|at| format!("<{}>", NAMES[at])), 1 => Just("UNDEF".to_owned())];
        prop_oneof![
            (variable(), prop::collection::vec(cell(), 1..4))
                .prop_map(|(v, cells)| format!("VALUES {v} {{ {} }}", cells.join(" "))),
            prop::collection::vec((cell(), cell()), 1..3).prop_map(|rows| {
                let rows: Vec<String> = rows.iter().map(|(a, b)| format!("({a} {b})")).collect();
                format!("VALUES (?a ?b) {{ {} }}", rows.join(" "))
            }),
        ]
    };
    if depth == 0 {
        return prop_oneof![6 => triple(), 1 => filter(), 1 => values()].boxed();
    }
    let inner =
        move || prop::collection::vec(group(depth - 1), 0..4).prop_map(|parts| parts.join(" "));
    let nested = (
        inner(),
        inner(),
        0..22_u8,
        variable(),
        condition(),
        0..200_u8,
    )
        .prop_map(|(one, two, kind, variable, condition, fresh)| match kind {
            0..=3 => format!("OPTIONAL {{ {one} }}"),
            4 => format!("OPTIONAL {{ {one} FILTER({condition}) }}"),
            5 | 6 => format!("{{ {one} }} UNION {{ {two} }}"),
            7 => format!("MINUS {{ {one} }}"),
            8 => format!("FILTER EXISTS {{ {one} }}"),
            9 => format!("FILTER NOT EXISTS {{ {one} }}"),
            10 => format!(
                "GRAPH {} {{ {one} }}",
                if fresh % 2 == 0 { "?g" } else { "<a:g>" }
            ),
            11 => format!("{{ SELECT {variable} ?a {{ {one} }} }}"),
            12 => format!("{{ SELECT DISTINCT {variable} ?b {{ {one} }} }}"),
            13 => format!(
                "{{ SELECT {variable} (COUNT(*) AS ?n{fresh}) {{ {one} }} GROUP BY {variable} }}"
            ),
            14 if fresh < 60 => format!("BIND({variable} AS ?d)"),
            14 => format!("BIND({variable} AS ?z{fresh})"),
            15 => format!("LATERAL {{ {one} }}"),
            16 => format!("LATERAL {{ SELECT DISTINCT {variable} ?b {{ {one} }} }}"),
            17 => format!("BIND(EXISTS {{ {one} }} AS ?z{fresh})"),
            18 => format!(
                "LATERAL {{ {two} {{ SELECT {variable} ?b (COUNT({variable}) AS ?n{fresh}) {{ {one} }} \
                 GROUP BY {variable} ?b }} }}"
            ),
            19 => format!("FILTER EXISTS {{ {two} {{ SELECT DISTINCT {variable} ?c {{ {one} }} }} }}"),
            20 => format!("FILTER EXISTS {{ {two} {{ SELECT (COUNT(*) AS ?d) {{ {one} }} }} }}"),
            _ => format!("{{ {one} }}"),
        });
    prop_oneof![4 => triple(), 1 => filter(), 1 => values(), 5 => nested].boxed()
}

fn text() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        6 => Just("SELECT *"),
        1 => Just("SELECT DISTINCT ?a ?c"),
        1 => Just("SELECT (COUNT(*) AS ?count)"),
        1 => Just("SELECT (COUNT(?a) AS ?count)"),
    ];
    let clause = prop_oneof![
        6 => Just(""),
        1 => Just("FROM <a:g>"),
        1 => Just("FROM <a:g> FROM <a:h> FROM NAMED <a:h>"),
        1 => Just("FROM NAMED <a:g>"),
    ];
    let body = prop::collection::vec(group(2), 1..6);
    (head, clause, body)
        .prop_map(|(head, clause, body)| format!("{head} {clause} {{ {} }}", body.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn plans_mean_what_the_algebra_says(text in text(), edges in edges()) {
        if parse(&text, &ParseOptions::default()).is_ok()
            && let Err(differs) = compare(&text, &[edges], &[0])
        {
            prop_assert!(false, "{differs}");
        }
    }

    /// What is known of one source says nothing of the others, and a dataset clause is of the first alone.
    #[test]
    fn patterns_of_several_sources_mean_what_the_algebra_says(
        text in text(),
        edges in prop::collection::vec(edges(), 3),
        sources in prop::collection::vec(0..3_u16, 1..6),
    ) {
        if parse(&text, &ParseOptions::default()).is_ok()
            && let Err(differs) = compare(&text, &edges, &sources)
        {
            prop_assert!(false, "{differs}");
        }
    }
}

//! What nodes do with their rows before these meet: by counts of the rows that are sent, and the same answers.

use super::world::World;
use cluster::Mode;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad};
use testkit::suite::Results;
use testkit::suite::hold::on_a_thread;

const NODES: u64 = 4;

/// Things, each with some links to others, and what they have.
const THINGS: u64 = 80;
const LINKS: u64 = 6;

fn name(text: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{text}"))
}

/// Every thing links to some others; each has a size from 0 to 6, every seventh thing none, and a weight that has halves.
fn things() -> Dataset {
    let mut dataset = Dataset::new();
    let mut add = |subject: u64, predicate: &str, object: oxrdf::Term| {
        let subject = name(&format!("thing{subject}"));
        let quad = Quad::new(subject, name(predicate), object, GraphName::DefaultGraph);
        dataset.insert(quad.as_ref());
    };
    for thing in 0..THINGS {
        for link in 1..=LINKS {
            let other = name(&format!("thing{}", (thing * 7 + link * 13) % THINGS));
            add(thing, "link", other.into());
        }
        if thing % 7 != 0 {
            add(thing, "size", Literal::from(thing % 7).into());
        }
        let weight = format!("{}.5", thing % 3);
        let weight = Literal::new_typed_literal(weight, oxrdf::vocab::xsd::DECIMAL.into_owned());
        add(thing, "weight", weight.into());
    }
    dataset
}

fn rows(results: Results) -> Vec<String> {
    let mut rows: Vec<String> = match results {
        Results::Solutions { rows, .. } => rows.iter().map(|row| format!("{row:?}")).collect(),
        other => vec![format!("{other:?}")],
    };
    rows.sort_unstable();
    rows
}

/// A pattern whose last rows are found everywhere, 480 of them.
const WHERE: &str = "WHERE { ?a <http://example.org/link> ?b . ?b <http://example.org/link> ?c . \
    OPTIONAL { ?c <http://example.org/size> ?s } ?c <http://example.org/weight> ?w }";

/// Queries, and the rows that a node may send of its own.
fn queries() -> Vec<(String, u64)> {
    let select =
        |what: &str, tail: &str, most: u64| (format!("SELECT {what} {WHERE} {tail}"), most);
    vec![
        select("(COUNT(*) AS ?n)", "", 1),
        select(
            "(COUNT(?s) AS ?n) (SUM(?w) AS ?m) (AVG(?w) AS ?v) (MIN(?w) AS ?l) (MAX(?w) AS ?g)",
            "",
            1,
        ),
        select("(SUM(?s) AS ?m) (AVG(?s) AS ?v) (MIN(?s) AS ?l)", "", 1),
        select("(COUNT(*) AS ?n) (COUNT(DISTINCT ?w) AS ?d)", "", 3),
        select("(COUNT(DISTINCT ?s) AS ?n)", "", 7),
        select(
            "?w (COUNT(?s) AS ?n) (AVG(?w) AS ?v)",
            "GROUP BY ?w HAVING(COUNT(*) > 2)",
            3,
        ),
        select("?w", "GROUP BY ?w", 3),
        select("DISTINCT ?w", "", 3),
        select("DISTINCT ?w", "LIMIT 2", 2),
        select("?c ?w", "ORDER BY ?c LIMIT 5", 5),
        select("(COUNT(*) AS ?n)", "HAVING(COUNT(*) < 0)", 1),
        (format!("ASK {WHERE}"), 1),
        (
            "SELECT (COUNT(*) AS ?n) (MIN(?w) AS ?l) WHERE { ?a <http://example.org/link> ?b . \
             ?b <http://example.org/weight> ?w FILTER(?w > 100) }"
                .to_owned(),
            1,
        ),
    ]
}

#[test]
fn what_a_node_can_do_with_its_own_rows_it_does_before_they_meet() {
    on_a_thread(|| {
        let dataset = things();
        let whole = World::new(&dataset, 1, None);
        let mut world = World::new(&dataset, NODES as u16, None).expecting_many();
        world.chunk_rows = 16;
        for (text, most) in queries() {
            let expected = whole.answer(&text, None, 0, Mode::InPlace);
            let expected = rows(expected.expect("one node answers"));
            for (mode, ways) in [(Mode::ForkJoin, 1), (Mode::InPlace, 1), (Mode::Dynamic, 2)] {
                let before = world.figures().shipped.answer;
                let answer = world.answer(&text, None, 1, mode);
                let found = rows(answer.unwrap_or_else(|error| panic!("{error}: {text}")));
                if text.contains("DISTINCT ?w WHERE") && text.contains("LIMIT") {
                    assert_eq!(found.len(), expected.len(), "{mode:?}: {text}");
                } else {
                    assert_eq!(found, expected, "{mode:?}: {text}");
                }
                let sent = world.figures().shipped.answer - before;
                let most = most * ways * (NODES - 1);
                assert!(
                    sent <= most,
                    "{mode:?}: {sent} rows were sent, {most} would do: {text}"
                );
            }
        }
    });
}

/// `LIMIT` ends the walk on all nodes: none sends more than it was asked for.
#[test]
fn a_limit_is_kept_by_each_node() {
    on_a_thread(|| {
        let world = World::new(&things(), NODES as u16, None);
        for (tail, wanted) in [("LIMIT 10", 10), ("OFFSET 3 LIMIT 4", 4)] {
            let text = format!("SELECT * {WHERE} {tail}");
            let before = world.figures().shipped.answer;
            let answer = world.answer(&text, None, 0, Mode::ForkJoin);
            assert_eq!(rows(answer.expect("it is answered")).len(), wanted);
            let sent = world.figures().shipped.answer - before;
            let most = 10 * (NODES - 1);
            assert!(sent <= most, "{sent} rows were sent: {text}");
        }
    });
}

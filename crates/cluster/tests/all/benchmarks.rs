//! Queries of benchmarks over parts: LUBM's q1 to q12, and the shapes of WatDiv (linear, star, snowflake, complex) over a shop's graph.
//!
//! Each is asked on 1, 2, 3 and 8 nodes, in all modes, over each carrier, and its rows are those that another evaluator finds. Graphs
//! are small, and blocks of two ids leave hardly an edge in one part.

use super::conformance::answer_of;
use super::drive::Drive;
use super::part::Form;
use super::world::{Matter, World};
use cluster::{Mode, ReadPolicy};
use fabric::Fabric;
use oxrdf::vocab::xsd;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad, Term};
use std::fmt::Write as _;
use std::sync::Arc;
use testkit::random::Random;
use testkit::suite::hold::on_a_thread;
use testkit::{Answer, spareval_oracle};
use workload::lubm::{Lubm, Parameters, Syntax};
use workload::queries::QUERIES;

const MODES: [Mode; 3] = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic];

/// Students of LUBM that are kept: one in so many.
const STUDENTS: usize = 5;

/// What carries the bytes of so many nodes.
type Carried = fn(u16) -> (Drive, Vec<Arc<dyn Fabric>>);

const CARRIERS: [(&str, Carried); 3] = [
    ("memory", Drive::local),
    ("simulated", |nodes| Drive::sim(nodes, 5)),
    ("sockets", Drive::tcp),
];

/// An answer's rows as a bag.
fn bag(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Boolean(value) => vec![value.to_string()],
        Answer::Rows { rows, .. } => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort_unstable();
            rows
        }
    }
}

/// Asks these on so many nodes, of each carrier, in all modes; every query has rows.
fn asked_everywhere(dataset: &Dataset, queries: &[(String, String)]) {
    let expected = |(name, text): &(String, String)| {
        let found = spareval_oracle::answer_optimized(dataset, text);
        let rows = bag(found.unwrap_or_else(|error| panic!("{name}: {error}")));
        assert!(!rows.is_empty(), "{name} has rows");
        rows
    };
    let expected: Vec<Vec<String>> = queries.iter().map(expected).collect();
    for (carrier, carried) in CARRIERS {
        for (turn, nodes) in [1, 2, 3, 8].into_iter().enumerate() {
            let mut matter = Matter::new(dataset, nodes, None);
            if turn % 2 == 1 {
                matter = matter.in_form(Form::Stored, ReadPolicy::Always);
            }
            let world = World::of(carried(nodes), matter).expecting_many();
            for (number, ((name, text), expected)) in queries.iter().zip(&expected).enumerate() {
                let mode = |mode: Mode| {
                    let home = (number + turn) % usize::from(nodes);
                    let answer = world.answer(text, None, home, mode);
                    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
                    let rows = bag(answer_of(answer));
                    assert!(
                        rows == *expected,
                        "{name}, {carrier}, {nodes} nodes, {mode:?}: {} rows, not {}",
                        rows.len(),
                        expected.len()
                    );
                };
                MODES.into_iter().for_each(mode);
            }
        }
    }
}

/// Two departments of a university, with few students, whose degrees are of two universities.
fn departments() -> Dataset {
    let lubm = Lubm::new(Parameters::standard(1), Syntax::NTriples).expect("parameters");
    let chunks = lubm.chunks(1).expect("nothing fails");
    let mut dataset = Dataset::new();
    for chunk in chunks.take(2) {
        let text = String::from_utf8(chunk.bytes).expect("lines");
        for line in text.lines().filter(|line| is_kept(line)) {
            dataset.insert(&quad_of(line));
        }
    }
    dataset
}

/// Whether a line is not of one of the many students.
fn is_kept(line: &str) -> bool {
    let subject = line.split(' ').next().unwrap_or_default();
    let Some((_, number)) = subject.split_once("Student") else {
        return true;
    };
    let number: usize = number.trim_end_matches('>').parse().unwrap_or(0);
    number.is_multiple_of(STUDENTS)
}

/// A query's text with constants that are kept.
fn of_kept(text: &str) -> String {
    [
        ("Department3.", "Department1."),
        ("Department7.", "Department1."),
        ("Student201", "Student200"),
        ("FullProfessor1>", "FullProfessor4>"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The quad of a line of LUBM's, which has IRIs and plain literals alone.
fn quad_of(line: &str) -> Quad {
    let mut words = line.trim_end_matches(" .").splitn(3, ' ');
    let mut next = || words.next().expect("three terms");
    let iri = |text: &str| NamedNode::new(text.trim_matches(['<', '>'])).expect("an IRI");
    let (subject, predicate, object) = (iri(next()), iri(next()), next());
    let object: Term = if let Some(text) = object.strip_prefix('"') {
        Literal::new_simple_literal(text.trim_end_matches('"')).into()
    } else if predicate.as_str().ends_with("DegreeFrom") {
        let digits: String = object.chars().filter(char::is_ascii_digit).collect();
        let university = digits.parse::<u32>().expect("a number") % 2;
        iri(&format!("http://www.University{university}.edu")).into()
    } else {
        iri(object).into()
    };
    Quad::new(subject, predicate, object, GraphName::DefaultGraph)
}

#[test]
fn lubm_is_answered_over_parts() {
    on_a_thread(|| {
        let dataset = departments();
        // q3 has none anywhere.
        let has_rows = |(name, _): &(String, String)| name != "q3";
        let queries = QUERIES.map(|query| (query.name.to_owned(), of_kept(query.text)));
        let queries: Vec<_> = queries.into_iter().filter(has_rows).collect();
        asked_everywhere(&dataset, &queries);
    });
}

/// The shop's vocabulary and things.
const SHOP: &str = "http://shop/";

/// The shop's graph while it is made.
struct Shop {
    dataset: Dataset,
    random: Random,
}

impl Shop {
    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("{SHOP}{name}"))
    }

    fn add(&mut self, subject: &str, predicate: &str, object: impl Into<Term>) {
        let (subject, predicate) = (Shop::iri(subject), Shop::iri(predicate));
        let quad = Quad::new(subject, predicate, object, GraphName::DefaultGraph);
        self.dataset.insert(&quad);
    }

    fn is_a(&mut self, subject: &str, class: &str) {
        let kind = oxrdf::vocab::rdf::TYPE.into_owned();
        let quad = Quad::new(
            Shop::iri(subject),
            kind,
            Shop::iri(class),
            GraphName::DefaultGraph,
        );
        self.dataset.insert(&quad);
    }

    fn link(&mut self, subject: &str, predicate: &str, object: &str) {
        self.add(subject, predicate, Shop::iri(object));
    }

    /// One of so many, the first ones more often than the others.
    fn one(&mut self, kind: &str, count: usize) -> String {
        let most = self.random.between(1, count);
        format!("{kind}{}", self.random.below(most))
    }

    fn number(&mut self, subject: &str, predicate: &str, below: usize) {
        let number = self.random.below(below).to_string();
        self.add(
            subject,
            predicate,
            Literal::new_typed_literal(number, xsd::INTEGER),
        );
    }

    /// Users, products with reviews, shops with offers; each property is there for some.
    fn graph(seed: u64) -> Dataset {
        let mut shop = Shop {
            dataset: Dataset::new(),
            random: Random::new(seed),
        };
        for number in 0..60 {
            shop.user(&format!("User{number}"));
        }
        for number in 0..40 {
            shop.product(&format!("Product{number}"));
        }
        for number in 0..80 {
            let offer = format!("Offer{number}");
            let (retailer, product) = (shop.one("Retailer", 4), shop.one("Product", 40));
            shop.link(&retailer, "offers", &offer);
            shop.link(&offer, "includes", &product);
            shop.number(&offer, "price", 50);
        }
        shop.dataset
    }

    fn user(&mut self, user: &str) {
        let role = self.one("Role", 2);
        self.is_a(user, &role);
        let country = self.one("Country", 6);
        self.link(user, "nationality", &country);
        self.number(user, "age", 40);
        for (predicate, kind, count, most) in [
            ("follows", "User", 60, 8),
            ("friendOf", "User", 60, 5),
            ("likes", "Product", 40, 4),
            ("subscribes", "Website", 8, 2),
        ] {
            for _ in 0..self.random.below(most) {
                let object = self.one(kind, count);
                self.link(user, predicate, &object);
            }
        }
    }

    fn product(&mut self, product: &str) {
        let category = self.one("Category", 5);
        self.is_a(product, &category);
        self.add(product, "caption", Literal::new_simple_literal(product));
        let genre = self.one("Genre", 6);
        self.link(product, "genre", &genre);
        if self.random.chance(50) {
            let actor = self.one("User", 60);
            self.link(product, "actor", &actor);
        }
        for number in 0..self.random.below(5) {
            let review = format!("{product}Review{number}");
            self.link(product, "review", &review);
            let reviewer = self.one("User", 60);
            self.link(&review, "reviewer", &reviewer);
            self.number(&review, "rating", 10);
        }
    }
}

/// Patterns by WatDiv's shapes, and what else is asked of such graphs.
const SHAPES: [(&str, &str); 16] = [
    (
        "L1",
        "?u :subscribes :Website0 . ?u :likes ?p . ?p :caption ?c",
    ),
    ("L2", ":Country0 ^:nationality ?u . ?u :likes ?p"),
    (
        "L3",
        "?r :reviewer ?u . ?u :follows ?f . ?f :nationality :Country1",
    ),
    (
        "S1",
        ":Retailer0 :offers ?o . ?o :includes ?p . ?o :price ?x",
    ),
    (
        "S2",
        "?u a :Role0 . ?u :age ?a . ?u :nationality ?n . ?u :subscribes ?w",
    ),
    (
        "S3",
        "?p a :Category0 . ?p :caption ?c . ?p :genre ?g . ?p :actor ?u",
    ),
    ("S4", "?p :genre :Genre0 . ?u :likes ?p . ?u a :Role1"),
    (
        "F1",
        "?p :genre :Genre1 . ?p :caption ?c . ?p :review ?r . ?r :rating ?x . ?r :reviewer ?u",
    ),
    (
        "F2",
        ":Retailer1 :offers ?o . ?o :includes ?p . ?o :price ?x . ?p :review ?r . ?r :reviewer ?u . ?u :nationality ?n",
    ),
    (
        "F3",
        "?o :includes ?p . ?p a :Category1 . ?p :actor ?a . ?a :follows ?f",
    ),
    (
        "C1",
        "?p :caption ?c . ?p :review ?r . ?r :reviewer ?u . ?p :actor ?a . ?a :likes ?q . ?u :friendOf ?a",
    ),
    (
        "C2",
        "?a :follows ?b . ?b :follows ?c . ?a :follows ?c . ?a :likes ?p . ?c :likes ?p",
    ),
    (
        "C3",
        "?u :likes ?p . ?u :friendOf ?f . ?u :age ?a . ?f :age ?b . FILTER(?a < ?b)",
    ),
    (
        "O1",
        "?u :nationality :Country2 OPTIONAL { ?u :likes ?p . ?p :review ?r } FILTER NOT EXISTS { ?u :subscribes :Website1 }",
    ),
    (
        "U1",
        "{ ?u :friendOf :User0 } UNION { ?u :follows :User0 } ?u :likes ?p",
    ),
    (
        "P1",
        "?u :friendOf+ :User1 . ?u :subscribes ?w MINUS { ?u a :Role0 }",
    ),
];

#[test]
fn shapes_of_watdiv_are_answered_over_parts() {
    on_a_thread(|| {
        let dataset = Shop::graph(11);
        let prologue = format!("PREFIX : <{SHOP}> ");
        let mut queries = Vec::new();
        for (name, pattern) in SHAPES {
            let text = format!("{prologue}SELECT * {{ {pattern} }}");
            queries.push((name.to_owned(), text));
        }
        let groups = [
            "SELECT ?n (COUNT(*) AS ?m) (SUM(?a) AS ?v) { ?u :nationality ?n ; :age ?a ; :likes ?p } GROUP BY ?n",
            "SELECT DISTINCT ?g { ?p :genre ?g ; :review ?r . ?r :rating ?x FILTER(?x > 5) }",
            "SELECT (COUNT(DISTINCT ?u) AS ?m) { ?u :follows ?f . ?f :likes ?p . ?p a :Category0 }",
            "SELECT ?p ?x { ?o :includes ?p ; :price ?x } ORDER BY ?x ?p ?o",
        ];
        for (number, text) in groups.into_iter().enumerate() {
            let mut whole = prologue.clone();
            let _ = write!(whole, "{text}");
            queries.push((format!("G{number}"), whole));
        }
        // A projection of all columns has no order that both must choose.
        for (_, text) in &mut queries {
            if text.contains("SELECT *") {
                let columns = columns_of(text);
                *text = text.replacen('*', &columns, 1);
            }
        }
        asked_everywhere(&dataset, &queries);
    });
}

/// The variables of a text, each once.
fn columns_of(text: &str) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for piece in text.split('?').skip(1) {
        let name = piece.split(|c: char| !c.is_alphanumeric()).next();
        columns.extend(name.filter(|name| !columns.contains(name)));
    }
    columns
        .iter()
        .fold(String::new(), |all, name| all + " ?" + name)
}

/// Searches from many starts ask for what they look up together, and not one after the other.
#[test]
fn paths_from_everywhere_ask_in_batches() {
    on_a_thread(|| {
        let dataset = Shop::graph(5);
        let world = World::of(Drive::local(3), Matter::new(&dataset, 3, None));
        let world = world.with_chunks(1024);
        for path in [":follows?", ":follows*", ":follows+", "(:follows|:likes)*"] {
            let text = format!("PREFIX : <{SHOP}> SELECT ?a ?b {{ ?a {path} ?b }}");
            let found = spareval_oracle::answer_optimized(&dataset, &text);
            let expected = bag(found.expect("it is answered"));
            for mode in MODES {
                let before = world.figures().fetched.questions;
                let answer = world.answer(&text, None, 1, mode).expect("it is answered");
                assert!(bag(answer_of(answer)) == expected, "{path}, {mode:?}");
                let asked = world.figures().fetched.questions - before;
                assert!(asked < 60, "{path}, {mode:?}: {asked} questions");
            }
        }
    });
}

//! Many standing queries as one: the reports of a template's instances are those of the queries registered one by one,
//! whatever the text, however the rows of the table come and go.

use oxrdf::{GraphName, Literal, NamedNode, Quad, Term};
use query::standing::{StandingQuery, parse_given};
use query::{Given, ParseOptions};
use somersault::load::{self, Source, Unwatched};
use somersault::{
    Binding, Bindings, Database, Hub, HubStream, Kind, Options, ReportRow, StandingReport,
    TimedQuads,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use testkit::random::Random;
use testkit::seeds;

/// A query whose reports nobody reads.
const KEEPER: &str = "urn:keeper";
const STREAM: &str = "http://e/s";
const STEPS: u64 = 14;
const STEP_MS: u64 = 100;

/// Texts with the parameters `?u`, or `?u` and `?v`; `WINDOW` stands for the window's clause.
const TEXTS: [(&str, usize); 31] = [
    ("SELECT ?x { WINDOW :w { ?u :p ?x } }", 1),
    ("SELECT ?u ?x { WINDOW :w { ?u :p ?x } }", 1),
    ("SELECT ?p ?x { WINDOW :w { ?u ?p ?x } }", 1),
    (
        "SELECT ?p ?x { { WINDOW :w { ?u ?p ?x } } UNION { WINDOW :w { ?x ?p ?u } } }",
        1,
    ),
    ("SELECT * { ?u :q ?y . WINDOW :w { ?y :p ?x } }", 1),
    ("SELECT ?x ?y { ?a :q ?u , ?y . WINDOW :w { ?y :p ?x } }", 1),
    (
        "SELECT DISTINCT ?y { WINDOW :w { ?u :p ?x . ?x ?r ?y } }",
        1,
    ),
    (
        "SELECT ?x ?y { WINDOW :w { ?u :p ?x } OPTIONAL { ?x :q ?y } }",
        1,
    ),
    (
        "SELECT ?x ?y { WINDOW :w { ?x :p ?y } OPTIONAL { ?u :q ?y } }",
        1,
    ),
    (
        "SELECT ?x ?y { ?x :q ?z OPTIONAL { ?z :q ?y FILTER(?y != ?u) } WINDOW :w { ?u :p ?x } }",
        1,
    ),
    (
        "SELECT ?x ?y { WINDOW :w { ?x :p ?y } MINUS { ?u :q ?y } }",
        1,
    ),
    ("SELECT ?x { WINDOW :w { ?u :p ?x } MINUS { ?x :q ?u } }", 1),
    (
        "SELECT ?x { WINDOW :w { ?u :p ?x } FILTER NOT EXISTS { ?x :q ?u } }",
        1,
    ),
    (
        "SELECT ?x { WINDOW :w { ?y :p ?x } FILTER EXISTS { ?x :q ?u } }",
        1,
    ),
    (
        "SELECT ?x { WINDOW :w { ?y :p ?x } FILTER(?x = ?u || ?y = ?u) }",
        1,
    ),
    (
        "SELECT ?n { WINDOW :w { ?u :p ?x } BIND(STR(?u) AS ?n) }",
        1,
    ),
    ("SELECT (COUNT(*) AS ?n) { WINDOW :w { ?u :p ?x } }", 1),
    (
        "SELECT ?x (COUNT(*) AS ?n) { WINDOW :w { ?u :p ?x . ?y ?r ?x } } GROUP BY ?x",
        1,
    ),
    (
        "SELECT ?u (COUNT(*) AS ?n) { WINDOW :w { ?u ?r ?x } } GROUP BY ?u HAVING (COUNT(*) > 1)",
        1,
    ),
    (
        "SELECT ?x (MAX(STR(?y)) AS ?m) { WINDOW :w { ?x :p ?y } FILTER(?y != ?u) } GROUP BY ?x",
        1,
    ),
    (
        "SELECT ?x ?n { { SELECT ?u (COUNT(*) AS ?n) { ?u :q ?z } GROUP BY ?u } WINDOW :w { ?u :p ?x } }",
        1,
    ),
    (
        "SELECT ?x ?n { { SELECT (COUNT(*) AS ?n) { ?u :q ?z } } WINDOW :w { ?u :p ?x } }",
        1,
    ),
    (
        "SELECT ?x { WINDOW :w { ?u :p ?x } } ORDER BY STR(?x) LIMIT 1",
        1,
    ),
    (
        "SELECT ?x ?z { WINDOW :w { ?u :p ?x } { SELECT ?u ?z { ?u :q ?z } ORDER BY STR(?z) LIMIT 2 } }",
        1,
    ),
    ("ASK { WINDOW :w { ?u :p ?x } }", 1),
    (
        "CONSTRUCT { ?u :r ?x . ?x :r :c } { WINDOW :w { ?u :p ?x } }",
        1,
    ),
    ("SELECT ?x { WINDOW :w { ?u :p ?x . ?v :p ?x } }", 2),
    (
        "SELECT ?x { { WINDOW :w { ?u :p ?x } } UNION { WINDOW :w { ?v :p ?x } } }",
        2,
    ),
    (
        "SELECT ?x ?y { WINDOW :w { ?u :p ?x } OPTIONAL { ?x :q ?y FILTER(?y = ?v || ?y = ?u) } }",
        2,
    ),
    (
        "SELECT ?x ?y { WINDOW :w { ?u :p ?x } OPTIONAL { ?x :q ?y FILTER(?y = ?v) } }",
        2,
    ),
    (
        "SELECT DISTINCT ?v { WINDOW :w { ?u ?r ?v } FILTER NOT EXISTS { ?v :q ?u } }",
        2,
    ),
];

fn node(number: usize) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/{number}"))
}

fn quad(random: &mut Random, predicates: &[&str]) -> Quad {
    let predicate = NamedNode::new_unchecked(format!("http://e/{}", random.pick(predicates)));
    let object: Term = match random.below(8) {
        0 => Literal::from(random.below(3) as i64).into(),
        _ => node(random.below(7)).into(),
    };
    Quad::new(
        node(random.below(7)),
        predicate,
        object,
        GraphName::DefaultGraph,
    )
}

fn database(random: &mut Random) -> Database {
    let mut text = String::new();
    for _ in 0..random.below(20) {
        let _ = writeln!(text, "{} .", quad(random, &["p", "q"]));
    }
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let source = Source::reader("stored.nq".to_owned(), std::io::Cursor::new(text));
    let loaded = load::load_in_memory(
        vec![source],
        &load::Request::default(),
        &options,
        &Unwatched,
    );
    loaded.expect("it loads").0
}

/// The text of a question: its prologue, windows and report policy.
fn text(random: &mut Random, body: &str) -> String {
    let relation = match random.below(3) {
        0 => "RSTREAM",
        1 => "ISTREAM",
        _ => "DSTREAM",
    };
    let policy = *random.pick(&[
        "report=close,rows",
        "report=close",
        "report=close,nonempty,rows",
    ]);
    let set = if random.chance(30) {
        " difference=set"
    } else {
        ""
    };
    let range = 1 + random.below(4);
    let clause = format!("FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT0.{range}S STEP PT0.1S]");
    let (kind, rest) = body.split_once(' ').expect("a keyword");
    let output = if kind == "SELECT" || kind == "CONSTRUCT" {
        relation
    } else {
        "RSTREAM"
    };
    let (head, pattern) = split(kind, rest);
    format!(
        "#@ {policy}{set}\nPREFIX : <http://e/>\nREGISTER {output} <urn:many> AS {kind} {head} {clause} WHERE {pattern}"
    )
}

/// What stands before the `WHERE` of a body, and it.
fn split<'t>(kind: &str, rest: &'t str) -> (&'t str, &'t str) {
    let from = if kind == "CONSTRUCT" {
        rest.find('}').map_or(0, |at| at + 1)
    } else {
        0
    };
    let at = from + rest[from..].find('{').expect("a group");
    rest.split_at(at)
}

/// By instance and close what is reported: rows as texts, sorted, with the columns' names.
type Reports = BTreeMap<(String, u64), (Vec<String>, Vec<String>)>;

fn shown(report: &StandingReport) -> (Vec<String>, Vec<String>) {
    assert_eq!(report.failure, None, "{}", report.query);
    let row = |row: &ReportRow| {
        let cells = row
            .0
            .iter()
            .map(|term| term.as_ref().map_or("-".to_owned(), Term::to_string));
        cells.collect::<Vec<_>>().join(" ")
    };
    let mut rows: Vec<String> = report.rows.iter().map(row).collect();
    rows.sort_unstable();
    (report.variables.clone(), rows)
}

/// One run: items come, instances come and go.
struct Run<'r> {
    random: &'r mut Random,
    text: String,
    parameters: Vec<String>,
    together: Hub,
    apart: Hub,
    /// The instances that there are: name, terms.
    instances: Vec<(String, Vec<Term>)>,
    named: usize,
    made: u64,
    found: [Reports; 2],
}

impl Run<'_> {
    fn binding(&mut self) -> Binding {
        let width = self.parameters.len();
        let mut terms: Vec<Term> = Vec::new();
        terms.extend((0..width).map(|_| Term::from(node(self.random.below(9)))));
        self.made += 1;
        let name = self.random.chance(50).then(|| {
            self.named += 1;
            format!("instance {}", self.named)
        });
        let called = name.clone();
        let called = called.unwrap_or_else(|| format!("urn:many/{}", self.made));
        self.instances.push((called, terms.clone()));
        Binding { name, terms }
    }

    fn one_by_one(&mut self, from: usize, at_ms: u64) {
        for (name, terms) in &self.instances[from..] {
            let given = Given {
                terms: self
                    .parameters
                    .iter()
                    .cloned()
                    .zip(terms.iter().cloned())
                    .collect(),
                ..Given::default()
            };
            let options = ParseOptions::default();
            let query = parse_given(&self.text, &options, &given).expect("it is read");
            let query = StandingQuery {
                name: Some(name.clone()),
                ..query
            };
            self.apart
                .register(query, name, at_ms)
                .expect("it is registered");
        }
    }

    fn bindings(&mut self, count: usize) -> Bindings<'static> {
        let rows: Vec<Binding> = (0..count).map(|_| self.binding()).collect();
        Bindings {
            parameters: self.parameters.clone(),
            rows: Box::new(rows.into_iter().map(Ok)),
        }
    }

    fn begin(&mut self) {
        let count = self.random.below(6);
        let bindings = self.bindings(count);
        let (text, name) = (self.text.clone(), "otherwise");
        let made = self.together.register_table(&text, name, bindings, 0);
        assert_eq!(
            made.expect("it is registered"),
            ("urn:many".to_owned(), count as u64)
        );
        self.one_by_one(0, 0);
        // What windows hold is kept while somebody looks at them, as the template does.
        let given = Given {
            terms: self
                .parameters
                .iter()
                .map(|name| (name.clone(), node(0).into()))
                .collect(),
            ..Given::default()
        };
        let keeper = parse_given(&self.text, &ParseOptions::default(), &given);
        let keeper = StandingQuery {
            name: Some(KEEPER.to_owned()),
            ..keeper.expect("it is read")
        };
        self.apart
            .register(keeper, KEEPER, 0)
            .expect("it is registered");
    }

    fn step(&mut self, at_ms: u64) {
        if self.random.chance(40) && !self.instances.is_empty() {
            let place = self.random.below(self.instances.len());
            let (name, _) = self.instances.swap_remove(place);
            self.together
                .remove_instance("urn:many", &name)
                .expect("it is there");
            self.apart.unregister(&name).expect("it is there");
        }
        if self.random.chance(40) {
            let (from, count) = (self.instances.len(), 1 + self.random.below(3));
            let bindings = self.bindings(count);
            self.together
                .add_instances("urn:many", bindings)
                .expect("they are added");
            // They are evaluated from the next close on.
            self.one_by_one(from, at_ms + 1);
        }
        let mut items = Vec::new();
        for _ in 0..self.random.below(5) {
            items.push(TimedQuads {
                time_ms: at_ms + self.random.below(STEP_MS as usize) as u64,
                quads: vec![quad(self.random, &["p", "q", "p"])],
            });
        }
        items.sort_by_key(|item| item.time_ms);
        for (hub, found) in [&mut self.together, &mut self.apart]
            .into_iter()
            .zip(&mut self.found)
        {
            hub.push(STREAM, "source", None, &items, None)
                .expect("they are taken");
            hub.watermark(STREAM, "source", at_ms + STEP_MS)
                .expect("it is there");
            let ran = hub.advance(&mut |somersault::Reported { report, .. }| {
                if report.query == KEEPER {
                    return Ok(ControlFlow::Continue(()));
                }
                let instance = report.instance.as_deref().unwrap_or(&report.query);
                let key = (instance.to_owned(), report.close_ms);
                assert!(
                    found.insert(key, shown(&report)).is_none(),
                    "a report comes once"
                );
                Ok(ControlFlow::Continue(()))
            });
            assert!(ran.expect("it runs").is_continue());
        }
    }
}

fn hub(database: Database) -> Hub {
    let mut hub = Hub::new(database);
    let stream = HubStream {
        absorb: Some(vec!["http://e/q".to_owned()]),
        ..HubStream::new(STREAM)
    };
    hub.create(&stream, 0).expect("it is made");
    hub
}

#[test]
fn instances_report_what_queries_of_their_own_do() {
    let (mut reports, mut rows) = (0, 0);
    let (mut shared, mut alone) = (0, 0);
    for seed in seeds::chosen(310, 20_000) {
        let mut random = Random::new(seed);
        let (body, width) = TEXTS[seed as usize % TEXTS.len()];
        let text = text(&mut random, body);
        let stored = random.clone();
        let mut hubs = [stored.clone(), stored].map(|mut random| hub(database(&mut random)));
        let [together, apart] = &mut hubs;
        let mut run = Run {
            text: text.clone(),
            parameters: ["u", "v"][..width]
                .iter()
                .map(|&it| it.to_owned())
                .collect(),
            together: std::mem::replace(together, hub(database(&mut Random::new(0)))),
            apart: std::mem::replace(apart, hub(database(&mut Random::new(0)))),
            instances: Vec::new(),
            named: 0,
            made: 0,
            found: Default::default(),
            random: &mut random,
        };
        run.begin();
        for step in 0..STEPS {
            run.step(step * STEP_MS);
        }
        let infos = run.together.queries();
        let info = infos[0].template.as_ref().expect("it is a template");
        assert_eq!(info.instances as usize, run.instances.len(), "seed {seed}");
        match info.apart {
            None => shared += 1,
            Some(_) => alone += 1,
        }
        let [together, apart] = run.found;
        reports += apart.len();
        rows += apart.values().map(|(_, rows)| rows.len()).sum::<usize>();
        assert_eq!(together, apart, "seed {seed}: {text}");
    }
    assert!(
        reports > 1000 && rows > 1000,
        "{reports} reports of {rows} rows say little"
    );
    assert!(
        shared > 100 && alone > 30,
        "{shared} were shared, {alone} were not"
    );
}

fn rows<'b>(parameters: &[&str], rows: impl Iterator<Item = usize> + Send + 'b) -> Bindings<'b> {
    let width = parameters.len();
    Bindings {
        parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
        rows: Box::new(rows.map(move |row| {
            Ok(Binding {
                name: None,
                terms: vec![node(row).into(); width],
            })
        })),
    }
}

fn windowed(policy: &str, body: &str) -> String {
    format!(
        "#@ {policy}\nPREFIX : <http://e/>\nREGISTER RSTREAM <urn:t> AS SELECT {} FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT1S STEP PT0.1S] WHERE {}",
        body.split_once('{').expect("a group").0,
        &body[body.find('{').expect("a group")..],
    )
}

#[test]
fn what_would_cost_by_what_did_not_happen_is_bounded_and_says_so() {
    let mut hub = hub(database(&mut Random::new(1)));
    let mut check = |policy: &str, body: &str, hint: &str| {
        let bindings = rows(&["u"], 0..1001);
        let error = hub.register_table(&windowed(policy, body), "t", bindings, 0);
        let error = error.expect_err("there are too many");
        assert_eq!(error.kind, Kind::Shape, "{error}");
        assert_eq!(
            (error.limit, error.used),
            (Some(1000), Some(1001)),
            "{error}"
        );
        assert!(error.to_string().contains(hint), "{error}");
    };
    let rows_alone = "report=close,rows";
    check(rows_alone, "?x { WINDOW :w { ?u :p ?x } } LIMIT 1", "apart");
    check("report=close", "?x { WINDOW :w { ?u :p ?x } }", rows_alone);
    let text = windowed(rows_alone, "?x { WINDOW :w { ?u :p ?x } }");
    let registered = hub.register_table(&text, "t", rows(&["u"], 0..1001), 0);
    assert_eq!(registered, Ok(("urn:t".to_owned(), 1001)));
    let again = hub.register_table(&text, "t", rows(&["u"], 0..1), 0);
    assert_eq!(again.expect_err("its name is taken").kind, Kind::Conflict);
}

#[test]
fn a_table_that_is_none_is_refused_and_nothing_is_registered() {
    let mut hub = hub(database(&mut Random::new(1)));
    let text = windowed("report=close,rows", "?x { WINDOW :w { ?u :p ?x } }");
    let mut check = |bindings: Bindings<'_>, expected: &str| {
        let error = hub.register_table(&text, "t", bindings, 0);
        assert_eq!(error.expect_err("it is refused").message, expected);
        assert!(hub.queries().is_empty());
    };
    check(
        rows(&["z"], 0..1),
        "the query has no variable ?z to be bound; it has ?u, ?x",
    );
    check(rows(&["u", "u"], 0..1), "the table has two columns ?u");
    let mut short = rows(&["u"], 0..2);
    short.rows = Box::new([1, 0].into_iter().map(|width| {
        Ok(Binding {
            name: None,
            terms: vec![node(1).into(); width],
        })
    }));
    check(short, "row 1 has 0 terms for 1 parameters");
    let mut twice = rows(&["u"], 0..0);
    twice.rows = Box::new((0..2).map(|row| {
        Ok(Binding {
            name: Some("a".to_owned()),
            terms: vec![node(row).into()],
        })
    }));
    check(twice, "an instance `a` is there already");
}

#[test]
fn instances_draw_on_the_memory_of_queries() {
    let options = Options {
        memory_is_writable: true,
        query_memory_bytes: 256 << 10,
        ..Options::default()
    };
    let source = Source::reader("stored.nq".to_owned(), std::io::empty());
    let loaded = load::load_in_memory(
        vec![source],
        &load::Request::default(),
        &options,
        &Unwatched,
    );
    let mut hub = hub(loaded.expect("it loads").0);
    let text = windowed("report=close,rows", "?x { WINDOW :w { ?u :p ?x } }");
    let error = hub.register_table(&text, "t", rows(&["u"], 0..100_000), 0);
    let error = error.expect_err("they are too many");
    assert_eq!(
        (error.kind, error.limit),
        (Kind::Memory, Some(256 << 10)),
        "{error}"
    );
    assert!(hub.queries().is_empty());
}

//! Plans kept by shape: whatever was asked before, and whatever has changed since, a text gives the
//! answer that the naive evaluator gives.

use crate::support;

use oxrdf::{Dataset, GraphName, NamedNode, Quad};
use somersault::load::{self, Source, Unwatched};
use somersault::{Database, Options, PlanFigures, Request, UpdateRequest};
use std::fmt::Write as _;
use support::NoAnswer;
use testkit::Answer;
use testkit::compare::{self, Blanks};
use testkit::graph::{self, Format};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_wide_query};
use testkit::{naive, seeds};

const QUERIES_A_GRAPH: usize = 30;
/// From the third on a shape has a plan, from the fifth on a spelling.
const TEXTS_A_QUERY: usize = 9;
const WORK_MAX: u64 = 1_000_000;
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const NOWHERE: &str = "http://example.org/nowhere";

struct Tested {
    database: Database,
    dataset: Dataset,
    blanks: Blanks,
    names: Vec<NamedNode>,
    compared: usize,
    with_rows: usize,
}

fn database(text: &str) -> Database {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let source = Source::reader("graph.nq".to_owned(), text.as_bytes());
    let request = load::Request::default();
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.map(|(database, _)| database).expect("it loads")
}

impl Tested {
    fn new(random: &mut Random) -> Tested {
        let dataset = random_dataset(&Shape::random(random), random);
        let database = database(&graph::write(&dataset, Format::NQuads));
        let vertices = dataset.iter().filter_map(|quad| match quad.subject {
            oxrdf::NamedOrBlankNodeRef::NamedNode(name) => Some(name.into_owned()),
            oxrdf::NamedOrBlankNodeRef::BlankNode(_) => None,
        });
        let mut names: Vec<NamedNode> = vertices.collect();
        names.sort();
        names.dedup();
        Tested {
            blanks: support::blanks(&database).expect("its blank nodes"),
            database,
            dataset,
            names,
            compared: 0,
            with_rows: 0,
        }
    }

    /// The text with some of its vertices replaced by others, or by one that is nowhere.
    fn other(&self, text: &str, random: &mut Random) -> String {
        let mut other = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            other.push_str(before);
            other.push('<');
            rest = after;
            if let Some((name, after)) = after.split_once('>')
                && self.names.iter().any(|known| known.as_str() == name)
            {
                let name = match random.below(8) {
                    0 | 1 => name,
                    2 => NOWHERE,
                    _ => random.pick(&self.names).as_str(),
                };
                let _ = write!(other, "{name}>");
                rest = after;
            }
        }
        other + rest
    }

    fn check(&mut self, text: &str) -> Result<(), String> {
        let Ok(expected) = naive::answer_within(&self.dataset, text, WORK_MAX) else {
            return Ok(());
        };
        let answer = match support::answer(&self.database, text, 1) {
            Ok(answer) => answer,
            Err(NoAnswer::Refused(_)) => return Ok(()),
            Err(NoAnswer::Failed(message)) => return Err(message),
        };
        self.compared += 1;
        self.with_rows += usize::from(!expected.rows.is_empty());
        compare::check(&expected, &answer, &self.blanks)
    }

    /// Adds a quad; sometimes of the name that was nowhere.
    fn change(&mut self, random: &mut Random) {
        let name = |random: &mut Random| match random.below(3) {
            0 => NamedNode::new_unchecked(NOWHERE),
            _ => random.pick(&self.names).clone(),
        };
        let quads: Vec<Quad> = self.dataset.iter().map(Into::into).collect();
        let predicate = random.pick(&quads).predicate.clone();
        let quad = Quad::new(
            name(random),
            predicate,
            name(random),
            GraphName::DefaultGraph,
        );
        let text = format!(
            "INSERT DATA {{ {} {} {} }}",
            quad.subject, quad.predicate, quad.object
        );
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        self.database.update(&request).expect("it is a change");
        self.dataset.insert(&quad);
    }
}

#[test]
fn a_kept_plan_gives_the_answer_of_its_text() {
    let (mut compared, mut with_rows, mut hits, mut spelled) = (0, 0, 0, 0);
    let seeds = seeds::chosen(12, 400);
    for seed in seeds.clone() {
        let mut random = Random::new(seed);
        let mut tested = Tested::new(&mut random);
        for number in 0..QUERIES_A_GRAPH {
            let vocabulary = Vocabulary::of(&tested.dataset);
            let query = match number % 2 {
                0 => random_query(&vocabulary, &mut random),
                _ => random_wide_query(&vocabulary, &mut random),
            };
            for text in 0..TEXTS_A_QUERY {
                let text = match text {
                    0 => query.clone(),
                    _ => tested.other(&query, &mut random),
                };
                if random.chance(10) {
                    tested.change(&mut random);
                }
                tested
                    .check(&text)
                    .unwrap_or_else(|it| panic!("SOMERSAULT_SEED={seed}: {it}\n{query}\n{text}"));
            }
        }
        compared += tested.compared;
        hits += tested.database.plan_figures().hits;
        spelled += tested.database.plan_figures().spelled;
        with_rows += tested.with_rows;
    }
    println!(
        "plans kept: seeds {seeds:?}: {compared} compared, {with_rows} with rows, {hits} hits, \
         {spelled} of them spelled"
    );
    assert!(
        seeds.end - seeds.start < 10 || with_rows > 500 && hits > 500 && spelled > 200,
        "{with_rows} with rows, {hits} hits and {spelled} spelled of {compared}"
    );
}

fn explained(database: &Database, text: &str) -> String {
    let query = database.start(&Request::new(text)).expect("it plans");
    query.explain()
}

#[test]
fn a_plan_is_explained_with_the_constants_of_its_own_text() {
    let database = database(
        "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/b> <http://e/p> <http://e/c> .",
    );
    for name in ["a", "b", "a", "b"] {
        let text = format!("SELECT ?x {{ <http://e/{name}> <http://e/p> ?x }}");
        let plan = explained(&database, &text);
        assert!(plan.contains(&format!("<http://e/{name}>")), "{plan}");
    }
}

/// A plan may hold that a class has no members, so it is kept for no other class, by whatever path both
/// are asked for.
#[test]
fn a_kept_plan_for_an_empty_class_answers_for_no_other() {
    let rdf_type = format!("<{RDF_TYPE}>");
    let database = database(&format!(
        "<http://e/None> <http://e/p> <http://e/Some> .\n<http://e/Some> <http://e/p> <http://e/None> .\n\
         <http://e/x> {rdf_type} <http://e/Some> .\n<http://e/y> {rdf_type} <http://e/Some> ."
    ));
    for path in ["^a", "(^a)", "^(a)", "<http://e/q>|^a", "^<http://e/q>|^a"] {
        for (class, members) in [
            ("None", 0),
            ("None", 0),
            ("None", 0),
            ("Some", 2),
            ("None", 0),
        ] {
            let text = format!("SELECT ?x {{ <http://e/{class}> {path} ?x }}");
            let Ok(Answer::Rows { rows, .. }) = support::answer(&database, &text, 1) else {
                panic!("no rows for {text}");
            };
            assert_eq!(rows.len(), members, "{text}");
        }
    }
}

/// What is made of a parameter is made of the one that is asked about.
#[test]
fn annotations_are_those_of_the_text_that_asks() {
    let mut graph = String::new();
    for number in 0..9 {
        let triple = format!("<http://e/s{number}> <http://e/p> <http://e/o{number}>");
        let _ = writeln!(graph, "{triple} .");
        let reifies = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>";
        let _ = writeln!(graph, "<http://e/r{number}> {reifies} <<( {triple} )>> .");
        let _ = writeln!(graph, "<http://e/r{number}> <http://e/q> \"{number}\" .");
    }
    let database = database(&graph);
    for number in 0..9 {
        let subject = format!("<http://e/s{number}>");
        for text in [
            format!("SELECT ?z {{ {subject} <http://e/p> ?y {{| <http://e/q> ?z |}} }}"),
            format!(
                "SELECT ?z {{ {subject} <http://e/p> <http://e/o{number}> {{| <http://e/q> ?z |}} }}"
            ),
            format!(
                "SELECT ?z {{ {subject} <http://e/p> ?y . << {subject} <http://e/p> ?y >> <http://e/q> ?z }}"
            ),
        ] {
            let answer = support::answer(&database, &text, 1);
            let Ok(answer) = answer else {
                panic!("no answer: {text}");
            };
            let answer = format!("{answer:?}");
            assert!(
                answer.contains(&format!("(\"{number}\")")),
                "{text}: {answer}"
            );
        }
    }
}

/// A hub and a leaf of one shape are walked from different ends.
#[test]
fn parameters_of_other_degrees_have_a_plan_of_their_own() {
    let mut text = String::new();
    for leaf in 0..2000 {
        let _ = writeln!(text, "<http://e/{leaf}> <http://e/in> <http://e/hub> .");
        let _ = writeln!(
            text,
            "<http://e/{leaf}> <http://e/in> <http://e/own{leaf}> ."
        );
        let _ = writeln!(
            text,
            "<http://e/{leaf}> <http://e/is> <http://e/k{}> .",
            leaf % 40
        );
    }
    let database = database(&text);
    let ask = |name: &str| {
        let text = format!(
            "SELECT ?x {{ ?x <http://e/in> <http://e/{name}> . ?x <http://e/is> <http://e/k1> }}"
        );
        explained(&database, &text)
    };
    let first_step = |plan: &str| {
        plan.lines()
            .find(|line| line.contains("http://e/"))
            .map(str::to_owned)
    };
    for _ in 0..4 {
        assert!(
            first_step(&ask("own1")).is_some_and(|step| step.contains("own1")),
            "{}",
            ask("own1")
        );
        assert!(
            first_step(&ask("hub")).is_some_and(|step| step.contains("k1")),
            "{}",
            ask("hub")
        );
    }
}

#[test]
fn nothing_is_kept_where_nothing_may_be() {
    let source = Source::reader(
        "graph.nq".to_owned(),
        &b"<http://e/a> <http://e/p> <http://e/b> ."[..],
    );
    let options = Options {
        plan_cache_bytes: 0,
        ..Options::default()
    };
    let request = load::Request::default();
    let (database, _) =
        load::load_in_memory(vec![source], &request, &options, &Unwatched).expect("it loads");
    for _ in 0..3 {
        let mut query = database
            .start(&Request::new("SELECT * { <http://e/a> ?p ?o }"))
            .expect("it plans");
        assert_eq!(query.run_folded().expect("it runs").rows, 1);
    }
    assert_eq!(database.plan_figures(), PlanFigures::default());
}

/// Signatures prove that no student has a degree; the proof ends with the first student who has.
#[test]
fn what_signatures_prove_empty_is_not_walked_until_it_is_changed() {
    let mut text = String::new();
    for person in 0..300 {
        let class = if person % 2 == 0 {
            "Student"
        } else {
            "Professor"
        };
        let kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
        let _ = writeln!(text, "<http://e/{person}> <{kind}> <http://e/{class}> .");
        let _ = writeln!(
            text,
            "<http://e/{person}> <http://e/in> <http://e/d{}> .",
            person % 7
        );
        if class == "Professor" {
            let _ = writeln!(text, "<http://e/{person}> <http://e/degree> <http://e/u> .");
        }
    }
    let database = database(&text);
    let pattern = "?x a <http://e/Student> ; <http://e/in> ?d ; <http://e/degree> ?u";
    let texts = [
        (format!("SELECT * {{ {pattern} }}"), 0, 1),
        (format!("SELECT (COUNT(*) AS ?n) {{ {pattern} }}"), 1, 1),
        (format!("SELECT (COUNT(*) + 1 AS ?n) {{ {pattern} }}"), 1, 1),
        (format!("ASK {{ {pattern} }}"), 0, 1),
        (
            format!(
                "SELECT * {{ ?y <http://e/degree> ?v OPTIONAL {{ {pattern} FILTER(?x = ?y) }} }}"
            ),
            150,
            151,
        ),
        (
            format!("SELECT * {{ {{ {pattern} }} UNION {{ ?x a <http://e/Professor> }} }}"),
            150,
            151,
        ),
        (
            format!(
                "SELECT * {{ ?y a <http://e/Student> FILTER NOT EXISTS {{ {pattern} FILTER(?x = ?y) }} }}"
            ),
            150,
            149,
        ),
    ];
    let rows = |text: &str| {
        let mut query = database.start(&Request::new(text)).expect("it plans");
        query.run_folded().expect("it runs").rows
    };
    assert!(explained(&database, &texts[0].0).contains("nothing, by the signatures"));
    for (text, before, _) in &texts {
        for _ in 0..3 {
            assert_eq!(rows(text), *before, "{text}");
        }
    }
    let request = UpdateRequest {
        text: "INSERT DATA { <http://e/0> <http://e/degree> <http://e/u> }",
        ..UpdateRequest::default()
    };
    database.update(&request).expect("it is a change");
    for (text, _, after) in &texts {
        for _ in 0..3 {
            assert_eq!(rows(text), *after, "{text}");
        }
    }
}

#[test]
fn warnings_are_of_the_graph_as_it_is() {
    let prefix = "PREFIX : <http://e/> ";
    let mut graph = String::new();
    for number in 0..40 {
        writeln!(graph, "<http://e/{number}> <http://e/name> \"{number}\" .").expect("to a string");
        writeln!(
            graph,
            "<http://e/{number}> <{RDF_TYPE}> <http://e/Person> ."
        )
        .expect("to a string");
    }
    let database = database(&graph);
    let warned = |text: &str| -> Vec<String> {
        let text = format!("{prefix}{text}");
        let query = database.start(&Request::new(&text)).expect("it plans");
        query.warnings().to_vec()
    };
    let optional =
        |number: usize| format!("SELECT * {{ :{number} :name ?n OPTIONAL {{ ?x :nmae ?n }} }}");
    for number in 0..8 {
        assert_eq!(
            warned(&optional(number)),
            ["no statement has :nmae; :name has 40"]
        );
        assert_eq!(
            warned(&format!("SELECT ?n {{ :{number} :name ?n }}")),
            [""; 0]
        );
    }
    assert!(database.plan_figures().hits > 8, "plans were kept");
    // A class that is stored and has no members is a parameter of a kept plan, so nothing is said of it there.
    assert_eq!(
        warned("SELECT ?s { ?s a :Persn ; :name ?n }"),
        ["nothing is a :Persn; :Person has 40"]
    );
    assert_eq!(
        warned("SELECT ?s { ?s :name ?n MINUS { ?x a ?y } }"),
        ["MINUS removes nothing: its group shares no variable with what stands before it"]
    );
    let change = |text: &str| {
        let text = format!("{prefix}{text}");
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&request).expect("it is a change");
    };
    change("INSERT DATA { :0 :nmae \"0\" }");
    for number in 0..4 {
        assert_eq!(warned(&optional(number)), [""; 0]);
    }
    change("DELETE WHERE { ?s :nmae ?o }");
    for number in 0..4 {
        assert_eq!(
            warned(&optional(number)),
            ["no statement has :nmae; :name has 40"]
        );
    }
}

#[test]
fn an_empty_default_graph_is_told_where_it_is_asked() {
    let mut graph = String::new();
    for number in 0..40 {
        writeln!(
            graph,
            "<http://e/{number}> <http://e/p> \"1\" <http://e/g{}> .",
            number % 3
        )
        .expect("to a string");
    }
    let database = database(&graph);
    let warned = |text: &str| -> Vec<String> {
        let query = database.start(&Request::new(text)).expect("it plans");
        query.warnings().to_vec()
    };
    let told = "the default graph is empty, and 3 named graphs are not: ask with GRAPH, or set \
                --union-default-graph";
    for _ in 0..4 {
        assert_eq!(warned("SELECT ?s { ?s <http://e/p> ?o }"), [told]);
        assert_eq!(
            warned("SELECT ?s { GRAPH ?g { ?s <http://e/p> ?o } }"),
            [""; 0]
        );
    }
    assert_eq!(
        warned("SELECT ?s FROM <http://e/g1> { ?s <http://e/p> ?o }"),
        [""; 0]
    );
    let union = Request {
        union_default_graph: Some(true),
        ..Request::new("SELECT ?s { ?s <http://e/p> ?o }")
    };
    let query = database.start(&union).expect("it plans");
    assert_eq!(query.warnings(), [""; 0]);
    let change = |text: &str| {
        let request = UpdateRequest {
            text,
            ..UpdateRequest::default()
        };
        database.update(&request).expect("it is a change");
    };
    change("INSERT DATA { <http://e/s> <http://e/p> 1 }");
    for _ in 0..4 {
        assert_eq!(warned("SELECT ?s { ?s <http://e/p> ?o }"), [""; 0]);
    }
    change("DROP DEFAULT; DROP GRAPH <http://e/g1>; DROP GRAPH <http://e/g2>");
    assert_eq!(
        warned("SELECT ?s { ?s ?p ?o }"),
        [told.replace("3 named graphs are not", "a named graph is not")]
    );
    change("CLEAR ALL");
    assert_eq!(warned("SELECT ?s { ?s ?p ?o }"), [""; 0]);
}

//! The W3C's query suites, and random queries, over a graph of plain vectors that lets every question wait.
//!
//! Nothing of a store answers here: neither segments nor a dictionary, and no question that was not asked ahead. What is
//! walked is planned without statistics. Endpoints are worlds of the same kind.

use explore::describe::{Edges, Seeds, describe};
use explore::environment::EachSolution;
use explore::{
    Chunk, Environment, Limits, Options, Service, ServiceError, Status, Walk, prepare, wait_for,
};
use oxrdf::{Dataset, Term};
use query::plan::Form;
use query::statistics::Statistics;
use query::{ParseOptions, PlanOptions, Planner};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::sync::Arc;
use testkit::collected::Collected;
use testkit::compare::Blanks;
use testkit::plain_graph::PlainGraph;
use testkit::plain_terms::PlainTerms;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::suite::hold::{hold, on_a_thread};
use testkit::suite::{self, ExpectedResults, Results, Verdict};
use testkit::waiting::Waiting;
use testkit::{Answer, compare, oracles, seeds};

/// Random graphs, and queries for each.
const GRAPHS: u64 = 100;
const QUERIES: usize = 10;

/// What is asked: a graph, and terms for its ids; and whom it may ask.
struct World {
    graph: PlainGraph,
    terms: PlainTerms,
    endpoints: Endpoints,
}

/// Other worlds by name, which reach each other.
#[derive(Clone, Default)]
struct Endpoints(Arc<Vec<(String, Dataset)>>);

impl Service for Endpoints {
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError> {
        let named = self.0.iter().find(|(name, _)| name == endpoint);
        let (_, dataset) =
            named.ok_or_else(|| ServiceError::Failed(format!("{endpoint} cannot be reached")))?;
        let mut world = World::new(dataset);
        world.endpoints = self.clone();
        let answer = world.answer(text, None).map_err(ServiceError::Failed)?;
        let Results::Solutions {
            variables: given,
            rows,
        } = answer
        else {
            return Err(ServiceError::Failed("it is no SELECT".to_owned()));
        };
        for row in rows {
            let cell = |variable: &String| {
                let place = given.iter().position(|given| given == variable)?;
                row[place].clone()
            };
            let cells: Vec<Option<Term>> = variables.iter().map(cell).collect();
            each(&cells).map_err(ServiceError::Walk)?;
        }
        Ok(())
    }
}

impl World {
    fn new(dataset: &Dataset) -> World {
        let mut terms = PlainTerms::default();
        let graph = PlainGraph::new(&terms.quads(dataset));
        World {
            graph,
            terms,
            endpoints: Endpoints::default(),
        }
    }

    /// The answer.
    fn answer(&self, text: &str, base: Option<&str>) -> Result<Results, String> {
        let answer = self.answer_counted(text, base, 3)?;
        Ok(answer.0)
    }

    /// The same by chunks of so many rows, and how many tickets were given for it.
    fn answer_counted(
        &self,
        text: &str,
        base: Option<&str>,
        chunk_rows: usize,
    ) -> Result<(Results, u64), String> {
        let options = ParseOptions {
            base: base.map(str::to_owned),
            ..ParseOptions::default()
        };
        let query = query::parse(text, &options).map_err(|error| error.to_string())?;
        let waiting = Waiting::new(&self.graph, &self.terms);
        let constants: Vec<_> = query.constants().iter().map(Term::as_ref).collect();
        let mut ids = Vec::new();
        let known = self.terms.ids(&constants, &mut ids);
        known.map_err(|error| error.to_string())?;
        let planner = Planner::new(Statistics::default());
        let plan = planner.plan(&query, &ids, &[], PlanOptions::DEFAULT);
        let plan = plan.map_err(|error| error.to_string())?;
        let mut environment = Environment::fixed();
        environment.service = Some(&self.endpoints);
        let prepared = wait_for(&waiting, &Limits::none(), || {
            prepare(&plan, &ids, &waiting, Limits::none(), &environment)
        });
        let prepared = prepared.map_err(|error| error.to_string())?;
        let options = Options {
            chunk_rows,
            ..Options::default()
        };
        let mut walk = Walk::new(&prepared, &waiting, &waiting, Limits::none(), options);
        let mut collected = Collected::new(&plan, &ids);
        let mut chunk = Chunk::new();
        loop {
            match walk.next(&mut chunk).map_err(|error| error.to_string())? {
                Status::Rows => {
                    let term = |id: VertexId| prepared.locals().term(id).or_else(|| self.term(id));
                    collected.add(chunk.rows(), |slot| chunk.column(slot), &term);
                }
                Status::Pending(_) | Status::Yield => {}
                Status::Done | Status::Starved => break,
            }
        }
        drop(walk);
        if let Form::Describe(_) = plan.form {
            let mut seeds = Seeds::new(Limits::none());
            let added = seeds.add(&collected.described);
            added.map_err(|error| error.to_string())?;
            let mut each = |edges: &Edges| {
                collected.add_edges(edges, &|id| self.term(id));
                Ok(())
            };
            let described = describe(&prepared, &waiting, Limits::none(), &mut seeds, &mut each);
            described.map_err(|error| error.to_string())?;
        }
        Ok((collected.into_results(), waiting.tickets()))
    }

    fn term(&self, id: VertexId) -> Option<Term> {
        let mut terms = TermBuffer::new();
        self.terms
            .terms(&[id], &mut terms)
            .expect("a term of the graph");
        terms.get(0).map(oxrdf::TermRef::into_owned)
    }
}

#[test]
fn the_suites_hold_over_a_view_that_lets_wait() {
    hold(|case, text, endpoints| {
        let mut world = World::new(&suite::data::dataset(case)?);
        world.endpoints = Endpoints(Arc::new(endpoints));
        let results = world.answer(text, Some(case.base()))?;
        let verdict: Verdict = suite::compare::check(&ExpectedResults::of(case)?, &results);
        verdict.map(|()| true)
    });
}

#[test]
fn random_queries_are_answered_over_a_view_that_lets_wait() {
    on_a_thread(|| {
        for seed in seeds::chosen(GRAPHS, 50 * GRAPHS) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let world = World::new(&dataset);
            for _ in 0..QUERIES {
                let text = random_query(&vocabulary, &mut random);
                let expected = oracles::expected_wide(&dataset, &text);
                let expected =
                    expected.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                let Some(expected) = expected else { continue };
                let answer = world.answer(&text, None);
                let answer = answer.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                let answer = match answer {
                    Results::Boolean(value) => Answer::Boolean(value),
                    Results::Solutions { variables, rows } => Answer::Rows { variables, rows },
                    Results::Graph(_) => panic!("random queries ask for rows"),
                };
                if let Err(complaint) = compare::check(&expected, &answer, &Blanks::Same) {
                    panic!("seed {seed}: {complaint}\n{text}");
                }
            }
        }
    });
}

fn asked(data: &str, text: &str) -> Vec<testkit::Row> {
    let dataset = testkit::graph::parse(data).expect("a graph");
    match World::new(&dataset)
        .answer(text, None)
        .expect("it is answered")
    {
        Results::Solutions { rows, .. } => rows,
        other => panic!("{other:?}"),
    }
}

/// The second test waits for the text of ?y when fewer rows are left than the first had read.
#[test]
fn a_filter_that_waits_twice_reads_the_rows_that_are_left() {
    let names = ["b1", "a1", "a2", "b2", "xa", "a3"];
    let edges = names.map(|name| format!("<http://e/{name}> <http://e/p> <http://e/q{name}> ."));
    let rows = asked(
        &edges.join("\n"),
        "SELECT ?x { ?x <http://e/p> ?y
         FILTER(CONTAINS(STR(?x), 'a') && CONTAINS(STR(?y), SUBSTR(STR(?x), 10))) }",
    );
    assert_eq!(rows.len(), 4, "{rows:?}");
}

/// What one aggregate drew before a pause another one does not draw after it.
#[test]
fn aggregates_draw_numbers_of_their_own() {
    let rows = asked(
        "<http://e/a> <http://e/p> 'x' .",
        "SELECT ?a (STRBEFORE(?c, ' ') AS ?b) {
           { SELECT (SAMPLE(STRUUID()) AS ?a) (MIN(CONCAT(STRUUID(), ' ', STR(?y))) AS ?c)
             { ?x <http://e/p> ?y } } }",
    );
    assert!(rows[0][0].is_some() && rows[0][1].is_some(), "{rows:?}");
    assert_ne!(rows[0][0], rows[0][1]);
}

/// Tickets that a query over this graph is given in one chunk.
fn tickets(data: &str, text: &str) -> u64 {
    let dataset = testkit::graph::parse(data).expect("a graph");
    let answered = World::new(&dataset).answer_counted(text, None, 1024);
    answered.expect("it is answered").1
}

/// The ids of computed values are looked up for a chunk together, and those of results for all groups.
#[test]
fn rows_and_groups_have_no_tickets_of_their_own() {
    let data = |rows: u32| {
        let row = |row| {
            format!(
                "<http://e/x{row}> <http://e/p> 'v{row}' . <http://e/x{row}> <http://e/n> 12345678901234567890123.{row} ."
            )
        };
        (1..=rows).map(row).collect::<Vec<_>>().join("\n")
    };
    let prefix = "SELECT * { { SELECT";
    let names = "{ ?x <http://e/p> ?y }";
    let by_name = "{ ?x <http://e/p> ?y } GROUP BY ?x";
    let numbers = "{ ?x <http://e/n> ?y } GROUP BY ?x";
    for (aggregate, pattern) in [
        ("(COUNT(DISTINCT CONCAT(?y, '!')) AS ?a)", names),
        ("?x (COUNT(DISTINCT CONCAT(?y, '!')) AS ?a)", by_name),
        ("?x (SUM(?y) AS ?a)", numbers),
        ("?x (AVG(?y) AS ?a)", numbers),
        ("?x (GROUP_CONCAT(CONCAT(?y, '!')) AS ?a)", by_name),
        ("(MAX(CONCAT(?y, '!')) AS ?a)", names),
        ("?x (MIN(CONCAT(?y, '!')) AS ?a)", by_name),
        ("(SAMPLE(CONCAT(?y, '!')) AS ?a)", names),
        ("?x (SAMPLE(CONCAT(?y, '!')) AS ?a)", by_name),
    ] {
        let text = format!("{prefix} {aggregate} {pattern} }} }}");
        let [few, many] = [5, 50].map(|rows| tickets(&data(rows), &text));
        assert_eq!(few, many, "{text}");
        assert!(many <= 8, "{many} tickets: {text}");
    }
}

/// Where a path may begin is asked of all segments together.
#[test]
fn predicates_have_no_tickets_of_their_own() {
    let data = |predicates: u32| {
        let edge = |at| format!("<http://e/a> <http://e/p{at}> <http://e/b> .");
        let edges: Vec<_> = (1..=predicates).map(edge).collect();
        format!("<http://e/g> {{ {} }}", edges.join("\n"))
    };
    let text = "SELECT * { GRAPH <http://e/g> { ?a <http://e/p1>* ?b } }";
    let [few, many] = [5, 50].map(|predicates| tickets(&data(predicates), text));
    assert_eq!(few, many);
    assert!(many <= 8, "{many} tickets");
}

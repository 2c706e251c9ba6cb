//! The W3C's query suites, and random queries, over a graph of plain vectors that lets every question wait.
//!
//! And over the same graphs cut into parts, whose rows are dealt out between nodes ([apart]).
//!
//! Nothing of a store answers here: neither segments nor a dictionary, and no question that was not asked ahead. What is
//! walked is planned without statistics. Endpoints are worlds of the same kind, and [graphs] are made of rows here.
//! Without `../shared/w3c` beside the checkout the suites are skipped, which is reported.

mod apart;
mod exchange;
mod figures;
mod graphs;
mod home;
mod ship;

use explore::describe::{Edges, Seeds, describe};
use explore::environment::EachSolution;
use explore::{
    Chunk, Environment, Limits, Options, Service, ServiceError, Status, Walk, prepare, wait_for,
};
use graphs::{Solution, triple_of};
use oxrdf::{Dataset, Term, Triple};
use query::plan::{Form, Node, Plan, Slot};
use query::statistics::Statistics;
use query::{ParseOptions, PlanOptions, Planner};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::collections::HashSet;
use std::io::Write as _;
use std::sync::Arc;
use testkit::compare::Blanks;
use testkit::plain_graph::PlainGraph;
use testkit::plain_terms::PlainTerms;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::suite::{self, ExpectedResults, Report, Results, SuiteCase, Verdict};
use testkit::waiting::Waiting;
use testkit::{Answer, compare, oracles, seeds};

/// Random graphs, and queries for each.
const GRAPHS: u64 = 100;
const QUERIES: usize = 10;

/// Stack of the thread that runs them.
const STACK_BYTES: usize = 16 << 20;

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
                    collected.add(&chunk, &term);
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

/// What a walk's rows come to.
struct Collected<'p> {
    plan: &'p Plan,
    ids: &'p [Option<VertexId>],
    rows: Vec<testkit::Row>,
    count: usize,
    triples: HashSet<Triple>,
    described: Vec<VertexId>,
}

impl<'p> Collected<'p> {
    fn new(plan: &'p Plan, ids: &'p [Option<VertexId>]) -> Self {
        Collected {
            plan,
            ids,
            rows: Vec::new(),
            count: 0,
            triples: HashSet::new(),
            described: Vec::new(),
        }
    }

    fn add(&mut self, chunk: &Chunk, term: &dyn Fn(VertexId) -> Option<Term>) {
        for row in 0..chunk.rows() as usize {
            let cell = |slot: Slot| chunk.column(slot).map(|cells| cells[row]);
            let value = |slot: Slot| cell(slot).and_then(term);
            match &self.plan.form {
                Form::Ask => {}
                Form::Select(slots) => {
                    self.rows
                        .push(slots.iter().map(|slot| value(*slot)).collect());
                }
                Form::Construct(template) => {
                    let solution = Solution {
                        number: self.count,
                        constants: &self.plan.constants,
                        value: &value,
                    };
                    let made = template.iter().filter_map(|triple| solution.made(triple));
                    self.triples.extend(made);
                }
                Form::Describe(nodes) => {
                    let named = |node: &Node| match node {
                        Node::Slot(slot) => cell(*slot),
                        Node::Constant(constant) => self.ids[constant.0 as usize],
                    };
                    self.described.extend(nodes.iter().filter_map(named));
                }
            }
            self.count += 1;
        }
    }

    fn add_edges(&mut self, edges: &Edges, term: &dyn Fn(VertexId) -> Option<Term>) {
        let [subjects, predicates, objects] = edges;
        for ((subject, predicate), object) in subjects.iter().zip(predicates).zip(objects) {
            let parts = [subject, predicate, object].map(|id| term(*id).expect("it is stored"));
            let made = triple_of(parts).expect("an edge is a triple");
            self.triples.insert(made);
        }
    }

    fn into_results(self) -> Results {
        match &self.plan.form {
            Form::Ask => Results::Boolean(self.count > 0),
            Form::Construct(_) | Form::Describe(_) => {
                Results::Graph(self.triples.into_iter().collect())
            }
            Form::Select(slots) => Results::Solutions {
                variables: slots
                    .iter()
                    .map(|slot| self.plan.variables[usize::from(slot.0)].clone())
                    .collect(),
                rows: self.rows,
            },
        }
    }
}

fn on_a_thread(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Every evaluation of the suites but those about CSV, which is no question of a walk. `check` says whether it has asked.
fn suites_hold(check: fn(&SuiteCase, &str, Endpoints) -> Result<bool, String>) {
    let Some(root) = suite::root() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: ../shared/w3c"
        );
        return;
    };
    on_a_thread(move || {
        for version in ["sparql10", "sparql11", "sparql12"] {
            let suites = suite::manifest::of_version(&root, version);
            let suites = suites.unwrap_or_else(|error| panic!("{error}"));
            let mut asked = 0;
            let mut failed = Vec::new();
            for suite in &suites {
                let chosen = |case: &SuiteCase| case.kind.is_evaluation();
                let report = Report::of(suite, &[], chosen, |case| {
                    checked(case, check).map(|is_asked| asked += u32::from(is_asked))
                });
                if let Some(report) = report.filter(|report| !report.failed.is_empty()) {
                    failed.push(report.text());
                }
            }
            assert!(failed.is_empty(), "{version}:\n{}", failed.join("\n"));
            assert!(asked > 50, "only {asked} tests of {version} were asked");
        }
    });
}

fn checked(
    case: &SuiteCase,
    check: fn(&SuiteCase, &str, Endpoints) -> Result<bool, String>,
) -> Result<bool, String> {
    let text = case.text()?;
    let is_of_csv = case
        .result
        .as_ref()
        .is_some_and(|result| result.extension() == "csv");
    if is_of_csv {
        return Ok(false);
    }
    let endpoints = case.services.iter().map(|(name, document)| {
        let quads = suite::data::quads(document)?;
        Ok((name.clone(), quads.into_iter().collect()))
    });
    let endpoints = Endpoints(Arc::new(endpoints.collect::<Result<_, String>>()?));
    check(case, &text, endpoints)
}

#[test]
fn the_suites_hold_over_a_view_that_lets_wait() {
    suites_hold(|case, text, endpoints| {
        let mut world = World::new(&suite::data::dataset(case)?);
        world.endpoints = endpoints;
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

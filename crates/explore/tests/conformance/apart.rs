//! The W3C's query suites, and random queries, over a graph that is cut into parts: no answer may differ.
//!
//! The parts are plain vectors, ids are dealt out in blocks of two, so that hardly an edge has both ends in one part.
//! What every node makes of its part is not compared, only what they answer together.

use super::exchange::{self, Costs, Setting};
use super::ship::shipped;
use super::{Collected, Endpoints, GRAPHS, QUERIES, on_a_thread, suites_hold};
use oxrdf::vocab::rdf as vocabulary;
use oxrdf::{Dataset, Term};
use query::plan::{Action, Form, Plan, Step};
use query::statistics::{PredicateStatistics, Statistics};
use query::{ParseOptions, PlanOptions, Planner};
use rdf::{Lexicon, TermBuffer, VertexId};
use std::collections::BTreeSet;
use testkit::cut::{Cut, Placement};
use testkit::plain_graph::{PlainGraph, Quad};
use testkit::plain_terms::PlainTerms;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_summary, random_wide_query};
use testkit::suite::{self, ExpectedResults, Results, Verdict};
use testkit::{Answer, compare, oracles, seeds};

/// Ids of a kind that lie together: two to the power of it.
const SHIFT: u32 = 1;

/// A graph in parts, terms for its ids, and whom it may ask.
pub struct Apart {
    cut: Cut<PlainGraph>,
    terms: PlainTerms,
    endpoints: Endpoints,
    /// What plans are made with.
    statistics: Statistics,
    /// Whether rows go to the second lists of intersections, or these are fetched.
    ships: bool,
}

impl Apart {
    pub fn new(dataset: &Dataset, parts: usize) -> Apart {
        let mut terms = PlainTerms::default();
        let quads = terms.quads(dataset);
        let placement = Placement {
            parts,
            shift: SHIFT,
            kind: terms.id(&vocabulary::TYPE.into_owned().into()),
        };
        Apart {
            cut: Cut::of(&quads, placement),
            terms,
            endpoints: Endpoints::default(),
            statistics: Statistics::default(),
            ships: false,
        }
    }

    /// Has plans made as for a graph with these sizes, whatever it has.
    fn with_sizes_of(mut self, quads: &[Quad], random: &mut Random) -> Apart {
        let vertices: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
        let predicates = vertices.into_iter().map(|vertex| PredicateStatistics {
            vertex,
            subjects: random.between(1, 100) as u64,
            objects: random.between(1, 100) as u64,
            edges: random.between(100, 10_000) as u64,
        });
        self.statistics.predicates = predicates.collect();
        let edges = self.statistics.predicates.iter().map(|one| one.edges);
        self.statistics.quads = edges.sum();
        self
    }

    fn plan(
        &self,
        text: &str,
        base: Option<&str>,
    ) -> Result<(Plan, Vec<Option<VertexId>>), String> {
        let options = ParseOptions {
            base: base.map(str::to_owned),
            ..ParseOptions::default()
        };
        let query = query::parse(text, &options).map_err(|error| error.to_string())?;
        let constants: Vec<_> = query.constants().iter().map(Term::as_ref).collect();
        let mut ids = Vec::new();
        let known = self.terms.ids(&constants, &mut ids);
        known.map_err(|error| error.to_string())?;
        let planner = Planner::new(self.statistics.clone());
        let plan = planner.plan(&query, &ids, &[], PlanOptions::DEFAULT);
        let plan = plan.map_err(|error| error.to_string())?;
        Ok((if self.ships { shipped(&plan) } else { plan }, ids))
    }

    /// The answer to a `SELECT`, an `ASK` or a `CONSTRUCT`, and what it cost; `None` for a `DESCRIBE`.
    fn answer(
        &self,
        text: &str,
        base: Option<&str>,
    ) -> Result<Option<(Results, Costs, Plan)>, String> {
        let (plan, ids) = self.plan(text, base)?;
        if matches!(plan.form, Form::Describe(_)) {
            return Ok(None);
        }
        let setting = Setting {
            cut: &self.cut,
            lexicon: &self.terms,
            service: Some(&self.endpoints),
            chunk_rows: 3,
        };
        let mut collected = Collected::new(&plan, &ids);
        let costs = exchange::walk(&setting, &plan, &ids, &mut |chunk, locals| {
            collected.add(chunk, &|id| locals.term(id).or_else(|| self.term(id)));
        });
        let costs = costs.map_err(|error| error.to_string())?;
        Ok(Some((collected.into_results(), costs, plan)))
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
fn the_suites_hold_over_parts() {
    suites_hold(|case, text, endpoints| {
        let dataset = suite::data::dataset(case)?;
        for parts in 1..=3 {
            let mut apart = Apart::new(&dataset, parts);
            apart.endpoints = endpoints.clone();
            let Some((results, ..)) = apart.answer(text, Some(case.base()))? else {
                return Ok(false);
            };
            let verdict: Verdict = suite::compare::check(&ExpectedResults::of(case)?, &results);
            verdict.map_err(|complaint| format!("{parts} parts: {complaint}"))?;
        }
        Ok(true)
    });
}

/// What was met in random queries, so that a test that meets nothing fails.
#[derive(Debug, Default)]
struct Met {
    answers: u64,
    disputed: u64,
    rows: u64,
    texts: u64,
    intersections: u64,
    blocks: u64,
    sections: u64,
}

impl Met {
    fn add(&mut self, costs: &Costs, plan: &Plan) {
        let is_intersection = |step: &&Step| matches!(step.action, Action::Intersect { .. });
        self.answers += 1;
        self.rows += costs.rows;
        self.texts += costs.texts;
        self.sections += costs.sections as u64;
        self.intersections += plan.steps.iter().filter(is_intersection).count() as u64;
        self.blocks += u64::from(
            plan.steps
                .iter()
                .any(|step| !step.action.blocks().is_empty()),
        );
    }
}

/// Says what was asked when a panic passes.
struct Asked<'t>(u64, &'t str);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}: {}", self.0, self.1);
        }
    }
}

fn answer_of(results: Results) -> Answer {
    match results {
        Results::Boolean(value) => Answer::Boolean(value),
        Results::Solutions { variables, rows } => Answer::Rows { variables, rows },
        Results::Graph(triples) => Answer::Rows {
            variables: testkit::TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
            rows: triples
                .into_iter()
                .map(|triple| {
                    let parts = [
                        triple.subject.into(),
                        triple.predicate.into(),
                        triple.object,
                    ];
                    parts.map(Some).to_vec()
                })
                .collect(),
        },
    }
}

#[test]
fn random_queries_are_answered_over_parts() {
    on_a_thread(|| {
        let mut met = Met::default();
        for seed in seeds::chosen(2 * GRAPHS, 64 * GRAPHS) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let parts = [3, 3, 2, 1][seed as usize % 4];
            let mut apart = Apart::new(&dataset, parts);
            if seed % 3 > 0 {
                let quads = apart.terms.quads(&dataset);
                apart = apart.with_sizes_of(&quads, &mut random);
            }
            for query in 0..QUERIES {
                apart.ships = query % 3 == 0;
                let text = match query % 4 {
                    0 => random_wide_query(&vocabulary, &mut random),
                    1 => random_summary(&vocabulary, &mut random),
                    _ => random_query(&vocabulary, &mut random),
                };
                let blame =
                    |error: String| -> ! { panic!("seed {seed}, {parts} parts: {error}\n{text}") };
                let expected = match oracles::expected_wide(&dataset, &text) {
                    Ok(Some(expected)) => expected,
                    Ok(None) => continue,
                    Err(error) => {
                        // That is the oracles' business, as long as it is rare.
                        println!("seed {seed}: not compared: {error}\n{text}");
                        met.disputed += 1;
                        continue;
                    }
                };
                let _asked = Asked(seed, &text);
                let answer = apart.answer(&text, None);
                let answer = answer.unwrap_or_else(|error| blame(error));
                let Some((results, costs, plan)) = answer else {
                    continue;
                };
                let answer = answer_of(results);
                if let Err(complaint) = compare::check(&expected, &answer, &compare::Blanks::Same) {
                    blame(complaint);
                }
                met.add(&costs, &plan);
            }
        }
        println!("{met:?}");
        if std::env::var(seeds::SEED_VARIABLE).is_err() {
            let has_all = met.rows > 0 && met.texts > 0 && met.intersections > 0 && met.blocks > 0;
            assert!(has_all && met.disputed * 1000 < met.answers, "{met:?}");
        }
    });
}

fn rows_of(data: &str, text: &str) -> Vec<testkit::Row> {
    let dataset = testkit::graph::parse(data).expect("a graph");
    let answered = Apart::new(&dataset, 3).answer(text, None);
    let answered = answered.expect("it is answered").expect("it has rows");
    match answered.0 {
        Results::Solutions { rows, .. } => rows,
        other => panic!("{other:?}"),
    }
}

/// Only one node has a key of the predicate whose edges are in a named graph; all have to see that there are some.
#[test]
fn nodes_decide_by_what_is_known_of_all() {
    let edges = (1..=9).map(|at| format!("<http://e/x{at}> <http://e/p> <http://e/y{at}> ."));
    let edges: Vec<String> = edges.collect();
    for at in 1..=9 {
        let named = format!("<http://e/g> {{ <http://e/x{at}> <http://e/q> <http://e/z> }}");
        let data = format!("{}\n{named}", edges.join("\n"));
        let rows = rows_of(&data, "SELECT DISTINCT ?o { ?s ?p ?o }");
        assert_eq!(rows.len(), 9, "{rows:?}");
    }
}

/// What is drawn for a row is drawn once, wherever the row is; and a table is made once, not by each node.
#[test]
fn nodes_draw_numbers_of_their_own_and_tables_are_of_one() {
    let edges = (1..=20).map(|at| format!("<http://e/x{at}> <http://e/p> <http://e/y{at}> ."));
    let data = edges.collect::<Vec<_>>().join("\n");
    let distinct = |text: &str| {
        let rows = rows_of(&data, text);
        assert_eq!(rows.len(), 20);
        let drawn = rows
            .into_iter()
            .map(|row| row[0].clone().expect("a number"));
        drawn.map(|term| term.to_string()).collect::<BTreeSet<_>>()
    };
    let each = distinct("SELECT (STRUUID() AS ?u) { ?x <http://e/p> ?y }");
    assert_eq!(each.len(), 20);
    let one = "SELECT ?u { ?x <http://e/p> ?y { SELECT (STRUUID() AS ?u) {} } }";
    assert_eq!(distinct(one).len(), 1);
}

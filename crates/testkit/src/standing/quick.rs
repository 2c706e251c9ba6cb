//! The same reports by other people's evaluator, for data that is too large for the naive one.
//!
//! `spareval` with its optimiser, over one dataset in which windows are named graphs: put in before each instant and
//! taken out after it, so the stored data is copied once. Not for questions with `GRAPH ?g`, which would see the
//! windows, nor for groups that would have to see an empty one.

use super::contents::{StandingMoment, moment};
use super::instants::instants;
use super::relation::related;
use super::{Question, Reported, StandingCase, window_iri};
use crate::{Answer, Row, spareval_oracle};
use oxrdf::{Dataset, GraphName, Quad, Triple};

/// The reports of all instants up to `until_ms`, that one included. The error is `spareval`'s.
pub fn reports_by_spareval(case: &StandingCase, until_ms: u64) -> Result<Vec<Reported>, String> {
    let question = &case.question;
    let mut seen = Dataset::new();
    case.stored
        .iter()
        .for_each(|quad| see(question, &quad.into_owned(), &mut seen));
    let query = format!(
        "{}{} WHERE {}",
        question.prologue, question.head, question.body
    );
    let mut reports = Vec::new();
    let mut before: Vec<Row> = Vec::new();
    for instant in instants(case, until_ms) {
        let moment = moment(case, instant);
        moment
            .absorbed
            .iter()
            .for_each(|quad| see(question, quad, &mut seen));
        if question.nonempty && moment.is_empty() {
            continue;
        }
        let put = put(question, &moment, &mut seen);
        let answer = spareval_oracle::answer_unbounded(&seen, &query)?;
        for quad in &put {
            seen.remove(quad);
        }
        let answer = part(question, answer, &mut before);
        if !is_suppressed(question, &answer) {
            reports.push(Reported {
                close_ms: instant,
                answer,
            });
        }
    }
    Ok(reports)
}

/// Adds a stored quad where the question's dataset clause has it.
fn see(question: &Question, quad: &Quad, seen: &mut Dataset) {
    let has_clause =
        question.is_merged || !(question.from.is_empty() && question.from_named.is_empty());
    let GraphName::NamedNode(graph) = &quad.graph_name else {
        if !has_clause {
            seen.insert(quad);
        }
        return;
    };
    if !has_clause || question.from_named.contains(graph) {
        seen.insert(quad);
    }
    if question.from.contains(graph) {
        seen.insert(&Triple::from(quad.clone()).in_graph(GraphName::DefaultGraph));
    }
}

/// Adds the windows; gives the quads that were not there before.
fn put(question: &Question, moment: &StandingMoment, seen: &mut Dataset) -> Vec<Quad> {
    let mut put = Vec::new();
    for (window, triples) in moment.windows.iter().enumerate() {
        let graph = if question.is_merged {
            GraphName::DefaultGraph
        } else {
            window_iri(window).into()
        };
        for triple in triples {
            let quad = triple.clone().in_graph(graph.clone());
            if seen.insert(&quad) {
                put.push(quad);
            }
        }
    }
    put
}

fn part(question: &Question, answer: Answer, before: &mut Vec<Row>) -> Answer {
    let Answer::Rows { variables, rows } = answer else {
        return answer;
    };
    let reported = related(question.relation, question.difference, before, &rows);
    *before = rows;
    Answer::Rows {
        variables,
        rows: reported,
    }
}

fn is_suppressed(question: &Question, answer: &Answer) -> bool {
    question.rows && matches!(answer, Answer::Rows { rows, .. } if rows.is_empty())
}

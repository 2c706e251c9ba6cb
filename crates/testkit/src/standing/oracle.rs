//! What has to be reported, instant by instant, and the comparison with what was.

use super::contents::{StandingMoment, ends, moment_over};
use super::instants::instants;
use super::relation::{Unrelated, determined, related};
use super::{Question, Reported, StandingCase, window_iri};
use crate::Row;
use crate::compare::{self, Blanks};
use crate::naive::{self, Beside, Expected, NaiveError};
use crate::random_query::dataset_clause;
use oxrdf::Triple;
use query::standing::Relation;

/// A report that has to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The instant (milliseconds).
    pub close_ms: u64,
    /// All that the specification says of its rows.
    pub expected: Expected,
}

impl Question {
    /// The question at one moment, as a query of SPARQL 1.1 over what [`StandingMoment::dataset`] has and the windows beside it.
    pub fn sparql(&self) -> String {
        let clause = if self.is_merged {
            String::new()
        } else {
            dataset_clause(&self.from, &self.from_named)
        };
        let Question {
            prologue,
            head,
            body,
            ..
        } = self;
        format!("{prologue}{head}{clause} WHERE {body}")
    }
}

/// The reports that have to be made of all instants up to `until_ms`, that one included; `None` where an answer is too
/// large to be found naively, or has nothing determined of which a difference could be made. `work_max` bounds the
/// evaluation at each instant, as [`naive::answer_within`] has it. The error is a query that is not evaluated here.
pub fn expected(
    case: &StandingCase,
    until_ms: u64,
    work_max: u64,
) -> Result<Option<Vec<Wanted>>, String> {
    expected_over(case, until_ms, work_max, &|instant| Ok(ends(case, instant)))
}

/// The same where it is said before which moment each stream is stored at an instant (milliseconds).
pub(super) fn expected_over(
    case: &StandingCase,
    until_ms: u64,
    work_max: u64,
    stored_ms: &dyn Fn(u64) -> Result<Vec<u64>, String>,
) -> Result<Option<Vec<Wanted>>, String> {
    let mut wanted = Vec::new();
    let mut before: Vec<Row> = Vec::new();
    for instant in instants(case, until_ms) {
        let moment = moment_over(case, instant, &stored_ms(instant)?);
        if case.question.nonempty && moment.is_empty() {
            continue;
        }
        let answer = match answer(case, &moment, work_max) {
            Ok(answer) => answer,
            Err(NaiveError::TooLarge | NaiveError::Undetermined(_)) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let Ok(reported) = reported(case, answer, &mut before) else {
            return Ok(None);
        };
        if !is_suppressed(&case.question, &reported) {
            wanted.push(Wanted {
                close_ms: instant,
                expected: reported,
            });
        }
    }
    Ok(Some(wanted))
}

/// The whole answer at a moment.
pub(super) fn answer(
    case: &StandingCase,
    moment: &StandingMoment,
    work_max: u64,
) -> Result<Expected, NaiveError> {
    let window = |(window, triples): (usize, &Vec<Triple>)| (window_iri(window), triples.clone());
    let beside = Beside {
        graphs: moment.windows.iter().enumerate().map(window).collect(),
        default: moment.merged_bag(case),
        times: moment.times.clone(),
        is_compat: case.question.is_compat,
    };
    naive::answer_beside(
        &moment.dataset(case),
        &beside,
        &case.question.sparql(),
        work_max,
    )
}

/// The part of an answer that is reported.
fn reported(
    case: &StandingCase,
    answer: Expected,
    before: &mut Vec<Row>,
) -> Result<Expected, Unrelated> {
    let Question {
        relation,
        difference,
        ..
    } = case.question;
    if relation == Relation::Rows {
        return Ok(answer);
    }
    let now = determined(&answer)?;
    let rows = related(relation, difference, before, &now);
    *before = now;
    Ok(Expected {
        rows,
        ordering: None,
        offset: 0,
        limit: None,
        ..answer
    })
}

/// Whether an answer is left out that was compared with the one before all the same.
fn is_suppressed(question: &Question, reported: &Expected) -> bool {
    question.rows && reported.boolean.is_none() && reported.given() == 0
}

/// Checks the reports of an engine, in their order; the error is a complaint for people.
pub fn check(wanted: &[Wanted], given: &[Reported], blanks: &Blanks) -> Result<(), String> {
    for (wanted, given) in wanted.iter().zip(given) {
        if wanted.close_ms != given.close_ms {
            let (wanted, given) = (wanted.close_ms, given.close_ms);
            return Err(format!(
                "expected the report of {wanted} ms, got that of {given} ms"
            ));
        }
        compare::check(&wanted.expected, &given.answer, blanks)
            .map_err(|complaint| format!("the report of {} ms: {complaint}", wanted.close_ms))?;
    }
    let closes = |closes: Vec<u64>| {
        closes
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    match (wanted.get(given.len()..), given.get(wanted.len()..)) {
        (Some(missing @ [_, ..]), _) => {
            let missing = closes(missing.iter().map(|each| each.close_ms).collect());
            Err(format!("no report of {missing} ms"))
        }
        (_, Some(extra @ [_, ..])) => {
            let extra = closes(extra.iter().map(|each| each.close_ms).collect());
            Err(format!("reports that are too many: {extra} ms"))
        }
        _ => Ok(()),
    }
}

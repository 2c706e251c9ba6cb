//! Who takes the streams: a hub that keeps nothing, or the streams of a database as a server has them, with their log.
//!
//! The first tells of each report how long it was on its way to ids. The second is told of as a server is: of each query
//! the last report, with its terms.

use super::apart::{Answer, Evaluator, evaluated};
use super::{Asked, failure};
use crate::exit::{Code, Failure, Outcome};
use crate::trouble::Trouble;
use somersault::{Database, Hub, HubCosts, HubStream, Live, QueryError, TimedQuads, read_standing};
use std::collections::BTreeMap;
use workload::lsbench::Stream;

/// The only source of each stream.
const SOURCE: &str = "";

/// Nobody asks while another thread evaluates, and after an error nobody asks again.
const HERE: &str = "the hub is here unless evaluating it failed";

/// See the head of this file.
pub(super) enum Sink {
    Unkept {
        /// Away only while another thread evaluates.
        hub: Option<Box<Hub>>,
        answers: Vec<Answer>,
        /// Who evaluates, where this thread does not.
        apart: Option<Evaluator>,
    },
    Kept {
        live: Live,
        /// The close of the last report of each query that was seen (milliseconds).
        seen: BTreeMap<String, u64>,
    },
}

impl Sink {
    /// The five streams, from the beginning of application time, without a log. Evaluated here, or on a thread of its own.
    pub(super) fn unkept(database: &Database, is_apart: bool) -> Result<Sink, Failure> {
        let mut hub = Box::new(Hub::new(database.clone()));
        for stream in Stream::ALL {
            hub.create(&settings_of(stream), 0).map_err(failure)?;
        }
        Ok(Sink::Unkept {
            hub: Some(hub),
            answers: Vec::new(),
            apart: is_apart.then(Evaluator::new),
        })
    }

    /// The same, in the log of the database.
    pub(super) fn kept(database: &Database) -> Result<Sink, Failure> {
        let live = Live::new(database.clone());
        for stream in Stream::ALL {
            live.create(&settings_of(stream), Some(0))
                .map_err(failure)?;
        }
        let seen = BTreeMap::new();
        Ok(Sink::Kept { live, seen })
    }

    pub(super) fn register(&mut self, database: &Database, queries: &[Asked]) -> Outcome {
        for Asked { name, text, .. } in queries {
            let told = |error: QueryError| Trouble::from(error).into_failure(text);
            match self {
                Sink::Unkept { hub, .. } => {
                    let query = read_standing(database, text).map_err(told)?;
                    let hub = hub.as_mut().expect(HERE);
                    hub.register(query, name, 0).map_err(failure)?;
                }
                Sink::Kept { live, .. } => drop(live.register(text, name).map_err(told)?),
            }
        }
        Ok(())
    }

    /// Items of a stream, and that no others come before `end_ms`; and then all that has become possible. A report that
    /// failed is an error.
    pub(super) fn feed(&mut self, stream: Stream, items: &[TimedQuads], end_ms: u64) -> Outcome {
        let name = stream.iri();
        match self {
            Sink::Unkept {
                hub,
                answers,
                apart,
            } => {
                let mut own = hub.take().expect(HERE);
                own.push(&name, SOURCE, None, items, None)
                    .map_err(failure)?;
                own.watermark(&name, SOURCE, end_ms).map_err(failure)?;
                *hub = Some(advance(own, answers, apart.as_ref()).map_err(failure)?);
                Ok(())
            }
            Sink::Kept { live, .. } => {
                let pushed = live.feed(&name, SOURCE, items, Some(end_ms), None);
                pushed.map(drop).map_err(failure)
            }
        }
    }

    /// The reports since this was last asked, of each query that keeps a log the last one.
    pub(super) fn answers(&mut self) -> Result<Vec<Answer>, Failure> {
        let (live, seen) = match self {
            Sink::Unkept { answers, .. } => return Ok(std::mem::take(answers)),
            Sink::Kept { live, seen } => (live, seen),
        };
        let mut answers = Vec::new();
        for query in live.queries() {
            if let Some(why) = query.failure {
                return Err(Failure::new(Code::Failed, format!("{}: {why}", query.name)));
            }
            if let Some(last) = query.last
                && seen.insert(query.name.clone(), last.close_ms) != Some(last.close_ms)
            {
                answers.push(Answer {
                    query: query.name,
                    rows: last.rows,
                    ids: None,
                    terms: last.exec,
                });
            }
        }
        Ok(answers)
    }

    /// What the work has cost so far.
    pub(super) fn costs(&self) -> HubCosts {
        match self {
            Sink::Unkept { hub, .. } => hub.as_ref().expect(HERE).costs(),
            Sink::Kept { live, .. } => live.costs(),
        }
    }

    /// The plan of a query, where it has one.
    pub(super) fn explain(&self, name: &str) -> Result<Option<String>, Failure> {
        let plan = match self {
            Sink::Unkept { hub, .. } => hub.as_ref().expect(HERE).explain(name),
            Sink::Kept { live, .. } => live.explain(name),
        };
        plan.map_err(failure)
    }
}

/// Positions live in windows alone; the rest is absorbed.
fn settings_of(stream: Stream) -> HubStream {
    HubStream {
        absorb: (stream == Stream::Positions).then(Vec::new),
        ..HubStream::new(&stream.iri())
    }
}

/// Does what has become possible, here or where queries are evaluated.
fn advance(
    mut hub: Box<Hub>,
    answers: &mut Vec<Answer>,
    apart: Option<&Evaluator>,
) -> Result<Box<Hub>, QueryError> {
    while hub.reach_ready()? {
        hub = match apart {
            Some(evaluator) => evaluator.evaluated(hub, answers)?,
            None => evaluated(hub, answers)?,
        };
    }
    Ok(hub)
}

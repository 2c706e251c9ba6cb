//! One push of items: what its request says, how it is taken, and what became of it.

use crate::endpoint::call::{Call, pushed};
use crate::request::intake::Intake;
use crate::request::items::{Delivery, ItemsForm, REJECTIONS_MAX, ReadItems, Rejection};
use crate::request::timing::moment;
use crate::response::problem::Problem;
use crate::state::ServerState;
use hyper::header::HeaderName;
use serde_json::{Value, json};
use somersault::terms::NamedNode;
use somersault::{Kind, Live, Positions, Pushed, QueryError, TimedQuads};
use std::sync::Arc;

/// What is said of pushed items in the address.
pub(crate) const ITEM_PARAMETERS: [&str; 5] =
    ["source", "position", "time", "time-predicate", "watermark"];
/// The same as `time`, for whoever cannot change the address.
const TIME: HeaderName = HeaderName::from_static("somersault-time");

/// What a push says besides its body.
pub(crate) fn delivery(call: &Call) -> Result<Delivery, Problem> {
    let text = |name: &str| -> Result<Option<String>, Problem> {
        Ok(call.parameters.single(name)?.map(str::to_owned))
    };
    let time_predicate = text("time-predicate")?;
    if let Some(predicate) = &time_predicate
        && let Err(error) = NamedNode::new(predicate)
    {
        let why = format!("`time-predicate` is no IRI: {error}");
        return Err(Problem::bad_request(why));
    }
    Ok(Delivery {
        source: text("source")?.unwrap_or_else(|| "default".to_owned()),
        time_ms: time(call)?,
        time_predicate,
        watermark_ms: call.number("watermark")?,
        position: call.number("position")?,
    })
}

/// The time of items that bring none, from the address or the head.
fn time(call: &Call) -> Result<Option<u64>, Problem> {
    let in_head = call.headers.get(TIME).map(|value| {
        let text = value.to_str().unwrap_or_default();
        moment("Somersault-Time", text)
    });
    let in_address = call.parameters.single("time")?;
    let in_address = in_address.map(|text| moment("time", text)).transpose()?;
    match (in_head.transpose()?, in_address) {
        (Some(head), Some(address)) if head != address => {
            let why = "`time` in the address and the field `Somersault-Time` say different times";
            Err(Problem::bad_request(why))
        }
        (head, address) => Ok(address.or(head)),
    }
}

/// Gives the items of a body to a stream, all or none. A body of which nothing is well formed is refused unless it is a part
/// of one.
pub(crate) async fn taken(
    server: &ServerState,
    stream: &str,
    delivery: &Arc<Delivery>,
    (form, is_part): (Option<ItemsForm>, bool),
    body: &Arc<Intake>,
) -> Result<PushAccount, Problem> {
    let (stream, delivery, body) = (stream.to_owned(), Arc::clone(delivery), Arc::clone(body));
    let take = move |live: &Live| {
        let is_arrival_time = live.has_arrival_time(&stream).map_err(failed)?;
        let mut read = delivery.read(form, &body, is_arrival_time)?;
        if !is_part {
            read = read.or_refused()?;
        }
        let positions = delivery.position.map(|first| Positions {
            first,
            count: read.positions,
            rejected: &read.unfilled,
        });
        let (source, items) = (&delivery.source, &read.items);
        let held_bytes = live.held_bytes(&stream).map_err(failed)?;
        let pushed = feed(live, &stream, source, items, read.watermark_ms, positions);
        let pushed = pushed.map_err(|problem| match items.len() {
            1 if is_hopeless(&problem, held_bytes) => problem.for_good(),
            _ => problem,
        })?;
        // What is not taken comes again.
        if read.rejected > 0 {
            live.count_rejected(&stream, read.rejected)
                .map_err(failed)?;
        }
        Ok(PushAccount::of(pushed, read))
    };
    pushed(server, take).await
}

/// Gives items of a source to a stream, all or none; 429 where its budget has no room for them.
pub(crate) fn feed(
    live: &Live,
    stream: &str,
    source: &str,
    items: &[TimedQuads],
    watermark_ms: Option<u64>,
    positions: Option<Positions<'_>>,
) -> Result<Pushed, Problem> {
    let pushed = live.feed(stream, source, items, watermark_ms, positions);
    pushed.map_err(|error| match error.kind {
        Kind::Memory => Problem::full(&error),
        _ => failed(error),
    })
}

/// Whether there will never be room for what was refused so by a stream that held so many bytes: it alone is too much.
pub(crate) fn is_hopeless(problem: &Problem, held_bytes: u64) -> bool {
    let used = problem.used_and_limit();
    used.is_some_and(|(used, limit)| used - used.min(held_bytes) > limit)
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failed(error: QueryError) -> Problem {
    Problem::of_change(&error)
}

/// What became of a push.
#[derive(Debug)]
pub(crate) struct PushAccount {
    pushed: Pushed,
    /// Positions of the source that it takes (count).
    pub positions: u64,
    /// Items that were here already (count).
    known: usize,
    rejected: u64,
    rejections: Vec<Rejection>,
}

impl PushAccount {
    /// Of items that were all taken.
    pub fn of(pushed: Pushed, read: ReadItems) -> PushAccount {
        PushAccount {
            known: read.items.len() - pushed.taken - pushed.late,
            pushed,
            positions: read.positions,
            rejected: read.rejected,
            rejections: read.rejections,
        }
    }

    /// Goes on with that of the next part, before which there are so many lines.
    pub fn go_on(&mut self, later: PushAccount, lines_before: u64) {
        let Pushed {
            taken,
            late,
            latest_ms,
            missing,
            ..
        } = self.pushed;
        self.pushed = Pushed {
            taken: taken + later.pushed.taken,
            late: late + later.pushed.late,
            latest_ms: latest_ms.max(later.pushed.latest_ms),
            missing: missing + later.pushed.missing,
            ..later.pushed
        };
        self.positions += later.positions;
        self.known += later.known;
        self.rejected += later.rejected;
        let room = REJECTIONS_MAX.saturating_sub(self.rejections.len());
        let rejections = later.rejections.into_iter().take(room);
        self.rejections.extend(rejections.map(|mut rejection| {
            rejection.position.line += lines_before;
            rejection
        }));
    }

    /// For a client.
    pub fn json(&self) -> Value {
        let pushed = &self.pushed;
        let items = (pushed.taken + pushed.late + self.known) as u64;
        let durable = pushed.next_position.unwrap_or(items);
        let mut account = json!({
            "taken": pushed.taken,
            "late": pushed.late,
            "rejected": self.rejected,
            "durable": pushed.is_durable.then_some(durable),
            "sealed": pushed.settled_ms,
            "settled": pushed.settled_ms,
            "latest": pushed.latest_ms,
        });
        if let Some(next) = pushed.next_position {
            account["position"] = json!(next);
            account["positions"] = json!(self.positions);
            account["known"] = json!(self.known);
            account["missing"] = json!(pushed.missing);
        }
        if self.rejected > 0 {
            let line = |rejection: &Rejection| {
                json!({
                    "line": rejection.position.line,
                    "column": rejection.position.column,
                    "message": rejection.message,
                })
            };
            account["rejections"] = self.rejections.iter().map(line).collect();
        }
        account
    }
}

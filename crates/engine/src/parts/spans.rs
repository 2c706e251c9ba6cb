//! What nodes of this process did of queries that are followed, with times of the system's clock, for whoever exports it.

use cluster::Span;
use std::time::{Duration, SystemTime};

/// A stretch of a node's work, in the world's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanAt {
    /// What it is.
    pub span: Span,
    /// When it began.
    pub began: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
}

/// Who is given what nodes did of queries that are followed.
pub trait Spans: Send + Sync {
    /// Takes what a node did of one query, which has ended there. Called by the threads of queries, so it must not block.
    fn take(&self, spans: Vec<SpanAt>);
}

/// The same in the world's time; `now` is what the fabric's clock says.
pub(super) fn dated(spans: Vec<Span>, now: Duration) -> Vec<SpanAt> {
    let world = SystemTime::now();
    let at = |time: Duration| {
        let ago = now.saturating_sub(time);
        world.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let spans = spans.into_iter();
    spans
        .map(|span| SpanAt {
            began: at(span.time.0),
            ended: at(span.time.1),
            span,
        })
        .collect()
}

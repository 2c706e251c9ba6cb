//! The budget and the token of a request, as a walk asks for them, and a walk's failure as an error of the request.
//!
//! Planning by samples, queries, answers and changes all walk within the same limits. `explore` knows
//! neither tokens nor pools, so what a token and a budget mean to it is said here, once for all of them.

use crate::budget::Budget;
use crate::error::{Kind, QueryError, Unit};
use crate::stop::{StopReason, StopToken, outdated};
use explore::{MemoryBudget, MemoryExceeded, Stop, WalkError};
use rdf::{LexiconError, NodeCause, NodeError};
use std::fmt::Display;
use store::view::ViewError;

/// Adds the limit to a failure that only knows that it was told to stop.
pub(crate) fn explained(token: &StopToken, error: QueryError) -> QueryError {
    match (error.kind, token.timeout()) {
        (Kind::Timeout, _) if token.reason() == Some(StopReason::Outdated) => outdated(),
        (Kind::Timeout, Some(timeout)) => QueryError::out_of_time(timeout, token.elapsed()),
        _ => error,
    }
}

impl Stop for StopToken {
    fn reason(&self) -> Option<explore::StopReason> {
        self.look().map(stop_reason)
    }

    fn is_stopped(&self) -> bool {
        StopToken::reason(self).is_some()
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        StopToken::waiting(self, wait);
    }
}

/// Why a request is to end, in the words of a walk.
pub(crate) fn stop_reason(reason: StopReason) -> explore::StopReason {
    match reason {
        StopReason::Deadline | StopReason::Outdated => explore::StopReason::Deadline,
        StopReason::Cancelled => explore::StopReason::Cancelled,
    }
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        self.take(bytes).map_err(|exhausted| MemoryExceeded {
            limit_bytes: exhausted.limit,
            used_bytes: exhausted.used,
            of_all: exhausted.of_all,
        })
    }

    fn release(&self, bytes: u64) {
        self.give_back(bytes);
    }
}

impl From<WalkError> for QueryError {
    fn from(error: WalkError) -> QueryError {
        match error {
            WalkError::View(error) => error.into(),
            WalkError::Lexicon(error) => error.into(),
            WalkError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => out_of_memory(error, (limit_bytes, used_bytes), of_all),
            WalkError::Stopped(explore::StopReason::Deadline) => {
                QueryError::new(Kind::Timeout, error)
            }
            WalkError::Stopped(explore::StopReason::Cancelled) => {
                QueryError::new(Kind::Cancelled, "the query was cancelled")
            }
            WalkError::StringTooLong { limit_bytes } => QueryError::new(Kind::Memory, error)
                .with_limit(Unit::Bytes, limit_bytes, limit_bytes),
            WalkError::Pending(_) => QueryError::new(Kind::Internal, error),
            WalkError::TooManyRows => QueryError::new(Kind::Memory, error),
            WalkError::RefusedPattern { .. } => QueryError::new(Kind::Unsupported, error),
            WalkError::ServiceRefused { .. } => service_refused(error),
            WalkError::ServiceFailed { .. } | WalkError::ServiceUnnamed { .. } => {
                QueryError::new(Kind::Remote, error)
            }
        }
    }
}

impl From<ViewError> for QueryError {
    fn from(error: ViewError) -> QueryError {
        let kind = match error {
            ViewError::Elsewhere(error) => return elsewhere(&error),
            ViewError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => return out_of_memory(error, (limit_bytes, used_bytes), of_all),
            ViewError::Damaged { .. } | ViewError::Inconsistent { .. } => Kind::Damaged,
        };
        QueryError::new(kind, error)
    }
}

/// A node did not do its share. What is the matter there is told as if it were here, with the node.
fn elsewhere(error: &NodeError) -> QueryError {
    let mut failure = match error.cause {
        NodeCause::Away => QueryError::new(Kind::Away, error)
            .with_hint("ask again; /api/v1/cluster says which nodes are there"),
        NodeCause::Memory {
            limit_bytes,
            used_bytes,
            of_all,
        } => out_of_memory(error, (limit_bytes, used_bytes), of_all),
        NodeCause::TooMuch => QueryError::new(Kind::Memory, error),
        NodeCause::Damaged => QueryError::new(Kind::Damaged, error),
        NodeCause::Unsupported => QueryError::new(Kind::Unsupported, error),
        NodeCause::Policy => service_refused(error),
        NodeCause::Remote => QueryError::new(Kind::Remote, error),
        NodeCause::Device => QueryError::new(Kind::Unavailable, error)
            .with_hint("ask again: the processors answer then"),
        NodeCause::Fault => QueryError::new(Kind::Internal, error),
    };
    failure.node = Some(error.node);
    failure
}

/// A budget is used up, of which so many bytes may be used and so many are.
fn out_of_memory(error: impl Display, bytes: (u64, u64), of_all: bool) -> QueryError {
    QueryError::new(Kind::Memory, error)
        .with_limit(Unit::Bytes, bytes.0, bytes.1)
        .with_hint(if of_all {
            "ask again when others have ended, or give queries more memory: `query.memory_pool`"
        } else {
            "ask for less, or for a higher memory limit"
        })
}

fn service_refused(error: impl Display) -> QueryError {
    QueryError::new(Kind::Policy, error).with_hint(
        "allow it in the configuration, key service.allow (--allow-service), or ask it yourself",
    )
}

impl From<LexiconError> for QueryError {
    fn from(error: LexiconError) -> QueryError {
        let kind = match error {
            LexiconError::Elsewhere(error) => return elsewhere(&error),
            LexiconError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => return out_of_memory(error, (limit_bytes, used_bytes), of_all),
            LexiconError::Damaged { .. } | LexiconError::UnknownId(_) | LexiconError::Io(_) => {
                Kind::Damaged
            }
        };
        QueryError::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::{Pace, Wait};
    use explore::limits::Unlimited;
    use explore::{Limits, wait_for};
    use rdf::Direction;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use store::view::{GraphView, Need, Progress};
    use testkit::plain_graph::PlainGraph;
    use testkit::plain_terms::PlainTerms;
    use testkit::waiting::Waiting;

    const LONG: Duration = Duration::from_mins(1);

    /// Asks a view that never answers.
    fn asked(token: &StopToken) -> QueryError {
        let (graph, terms) = (PlainGraph::default(), PlainTerms::default());
        let silent = Waiting::for_ever(&graph, &terms);
        let limits = Limits {
            memory: &Unlimited,
            stop: token,
        };
        let answer = wait_for(&silent, &limits, || {
            match silent.fetch(&[Need::Vertices(Direction::Out)])? {
                Progress::Ready => Ok(()),
                Progress::Pending(ticket) => Err(WalkError::Pending(ticket)),
            }
        });
        let error = answer.expect_err("nothing is ever there");
        explained(token, error.into())
    }

    #[test]
    fn a_view_that_never_answers_ends_at_the_deadline() {
        let token = StopToken::starting_now(Some(Duration::from_millis(50)));
        assert_eq!(asked(&token).kind, Kind::Timeout);
        assert!(token.elapsed() < LONG / 2);
    }

    #[test]
    fn a_view_that_never_answers_ends_when_it_is_cancelled() {
        let token = StopToken::starting_now(Some(LONG));
        let from_outside = token.clone();
        let cancelling = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            from_outside.cancel()
        });
        assert_eq!(asked(&token).kind, Kind::Cancelled);
        assert!(cancelling.join().expect("it only sleeps"));
        assert!(token.elapsed() < LONG / 2);
    }

    #[derive(Debug, Default)]
    struct Counted {
        suspended: AtomicU64,
        resumed: AtomicU64,
    }

    impl Pace for Counted {
        fn look(&self, _left: &dyn Fn() -> Duration) {}

        fn suspend(&self, wait: Wait) {
            assert_eq!(wait, Wait::Other);
            self.suspended.fetch_add(1, Ordering::Relaxed);
        }

        fn resume(&self, wait: Wait, _left: &dyn Fn() -> Duration) {
            assert_eq!(wait, Wait::Other);
            self.resumed.fetch_add(1, Ordering::Relaxed);
        }

        fn expect_heavy(&self, _threads: usize, _left: &dyn Fn() -> Duration) {}
    }

    #[test]
    fn who_waits_for_an_answer_has_no_share_of_the_processors() {
        let pace = Arc::new(Counted::default());
        let token = StopToken::starting_now(Some(Duration::from_millis(50)));
        let token = token.with_pace(Some(Arc::clone(&pace) as Arc<dyn Pace>));
        assert_eq!(asked(&token).kind, Kind::Timeout);
        let [suspended, resumed] =
            [&pace.suspended, &pace.resumed].map(|count| count.load(Ordering::Relaxed));
        assert!(suspended > 0 && suspended == resumed);
    }

    /// Only a node that is away is to be asked again.
    #[test]
    fn what_is_the_matter_at_a_node_is_told_with_the_node() {
        let memory = NodeCause::Memory {
            limit_bytes: 9,
            used_bytes: 8,
            of_all: false,
        };
        let causes = [
            (NodeCause::Away, Kind::Away),
            (memory, Kind::Memory),
            (NodeCause::TooMuch, Kind::Memory),
            (NodeCause::Damaged, Kind::Damaged),
            (NodeCause::Unsupported, Kind::Unsupported),
            (NodeCause::Policy, Kind::Policy),
            (NodeCause::Remote, Kind::Remote),
            (NodeCause::Device, Kind::Unavailable),
            (NodeCause::Fault, Kind::Internal),
        ];
        for (cause, kind) in causes {
            let error = Box::new(NodeError {
                node: 3,
                cause,
                what: "this".to_owned(),
            });
            let told = [
                QueryError::from(ViewError::Elsewhere(error.clone())),
                QueryError::from(LexiconError::Elsewhere(error)),
            ];
            for told in told {
                assert_eq!((told.kind, told.node), (kind, Some(3)), "{cause:?}");
                assert!(told.message.ends_with(": this"), "{}", told.message);
                let limit = (cause == memory).then_some(9);
                assert_eq!(told.limit, limit, "{cause:?}");
            }
        }
    }
}

//! Reading one's own writes: `Somersault-Snapshot: N` on a request makes it see commit N.
//!
//! On one node a commit is visible before it is answered, so there is mostly nothing to wait for;
//! a number that is ahead is that of a commit under way, or of another database. Where the commits of another
//! process are followed, one that was answered there may still be on its way. The wait holds no
//! thread and no turn.

use crate::response::head;
use crate::response::problem::Problem;
use crate::run::job::Engine;
use hyper::{HeaderMap, StatusCode};
use std::time::{Duration, Instant};

/// The first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));
const _: () = assert!(PAUSES.0.as_nanos() <= PAUSES.1.as_nanos(), "pauses grow");

/// The snapshot that a request must not be older than; 400 where that is no number.
pub(crate) fn wanted(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(head::SNAPSHOT) else {
        return Ok(None);
    };
    let number = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        Problem::bad_request("`Somersault-Snapshot` is the number that an answer came with")
    })
}

/// Waits until commit `number` is visible: 504 where it is not in time, 412 where nobody could make
/// it.
pub(crate) async fn wait(
    engine: &dyn Engine,
    number: u64,
    patience: Duration,
) -> Result<(), Problem> {
    let begun = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        let newest = engine.snapshot();
        if newest >= number {
            return Ok(());
        }
        let title = "That snapshot is not here";
        if !engine.is_writable() && engine.follow_figures().is_none() {
            let detail = format!("snapshot {number} is asked for, and {newest} will stay the last");
            let status = StatusCode::PRECONDITION_FAILED;
            return Err(Problem::new(status, "snapshot", title, detail));
        }
        let Some(left) = patience.checked_sub(begun.elapsed()) else {
            let detail = format!("snapshot {number} was waited for, and the newest is {newest}");
            return Err(Problem::new(
                StatusCode::GATEWAY_TIMEOUT,
                "snapshot",
                title,
                detail,
            ));
        };
        tokio::time::sleep(pause.min(left)).await;
        pause = (2 * pause).min(longest);
    }
}

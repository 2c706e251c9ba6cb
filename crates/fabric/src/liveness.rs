//! How fast an absence is noticed.
//!
//! Each node lets each peer hear something every [`HEARTBEAT`], and gives up a peer of which nothing was heard for
//! [`SILENCE_MAX`]. So a dead or frozen peer is `Down` after at most `SILENCE_MAX` and the time between two looks at the clock.
//! Where a link is cut in one direction only, the side that hears nothing ends it, and the other notices by that, at the latest
//! by the silence that follows: twice the time. Five heartbeats in a row may be lost or late before a peer that lives is given
//! up.

use std::time::Duration;

/// How often a peer hears something where there is nothing else to say.
pub const HEARTBEAT: Duration = Duration::from_millis(200);

/// For how long nothing may be heard of a peer that is `Up`.
pub const SILENCE_MAX: Duration = Duration::from_millis(1200);

/// How often a node looks at its clock. Time in which it did not, because it was frozen or had no processor, is not counted
/// as silence of others beyond one [`HEARTBEAT`].
pub const TICK: Duration = Duration::from_millis(50);

/// How soon after it died, froze or was cut off a peer is reported `Down`, at the latest.
pub const DOWN_WITHIN: Duration = Duration::from_secs(3);

const _: () = assert!(
    SILENCE_MAX.as_millis() >= 4 * HEARTBEAT.as_millis()
        && DOWN_WITHIN.as_millis() >= 2 * (SILENCE_MAX.as_millis() + 2 * TICK.as_millis()),
    "a late heartbeat is no absence, and an absence is noticed in time"
);

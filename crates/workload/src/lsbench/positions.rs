//! Positions: who is tracked where.
//!
//! ```text
//! a fix of each lane is a round:        lane 0 .. members | members .. 199
//!   round of the slot below `length`    the event         | a user's walk
//!   later rounds of the slot            a user's walk     | another user's walk
//! ```
//!
//! The stream goes around [`LANES`] lanes; [`SLOT_ROUNDS`] rounds are a slot. A slot has one event, with 20 to 119 users
//! and at most 100 points of each, as the original's events. All other lanes hold walks of the tenth of the users who
//! share their way, each some points long. So a user is tracked some 20 times a second, or not at all.
//!
//! The `i`-th fix is a function of `i`; five lines each.

use super::draws::Purpose;
use super::lines::{Lines, MicroDegrees};
use super::society::{BEGIN, Society, later};
use super::vocabulary::{
    Entity, LATITUDE, LONGITUDE, TRACKED_AT, TRACKED_LOCATION, TRACKED_TIME, user_node,
};
use super::words::{COUNTRIES, TOWNS, point_of};

const LANES: u64 = 200;
const SLOT_ROUNDS: u64 = 100;
const EVENT_USERS_MIN: u64 = 20;
const EVENT_USERS_RANGE: u64 = 100;
/// One user of so many shares the way.
const USERS_PER_SHARER: u32 = 10;
/// From one round to the next in the data's own time (seconds).
const ROUND_SECONDS: u64 = 60;
/// How far a fix lies from the one before, or from an event (millionths of a degree), at most.
const STEP: u64 = 4000;

/// Whose fix it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    pub(super) user: u32,
    /// Tells events and walks apart: all fixes of one are close to each other.
    track: u64,
}

/// Whose the `number`-th fix is.
pub(super) fn tracked(society: &Society, number: u64) -> Tracked {
    let (lane, round) = (number % LANES, number / LANES);
    let (slot, round) = (round / SLOT_ROUNDS, round % SLOT_ROUNDS);
    let members = EVENT_USERS_MIN + society.seed.below(Purpose::Event, slot, EVENT_USERS_RANGE);
    let own = slot * LANES + lane;
    let event_track = slot * LANES * 3;
    let turn = if lane < members { slot * LANES } else { own };
    let length = 1 + society
        .seed
        .below(Purpose::EventLength, turn, SLOT_ROUNDS - 1);
    let users = u64::from(society.users);
    if lane < members && round < length {
        let first = society.seed.draw(Purpose::EventLength, !slot) % users;
        let user = society.shuffled(((first + lane) % users) as u32);
        return Tracked {
            user,
            track: event_track,
        };
    }
    let track = own * 3 + 1 + u64::from(round >= length);
    let sharers = (society.users / USERS_PER_SHARER).max(1);
    let place = society
        .seed
        .below(Purpose::Track, track, u64::from(sharers));
    Tracked {
        user: society.shuffled(place as u32),
        track,
    }
}

/// Writes a fix.
pub(super) fn write_fix(society: &Society, number: u64, lines: &mut Lines) {
    let Tracked { user, track } = tracked(society, number);
    let place = society.seed.draw(Purpose::Track, !track);
    let country = (place % COUNTRIES.len() as u64) as usize;
    let (latitude, longitude) = point_of(country, place.rotate_left(20));
    let step = society.seed.draw(Purpose::Fix, number);
    let near = |at: MicroDegrees, bits: u64| MicroDegrees(at.0 + (bits % STEP) as i32);
    let node = Entity::Fix.node(number);
    lines.link(user_node(user), TRACKED_AT, node);
    lines.degrees(node, LATITUDE, near(latitude, step & 0xFFFF_FFFF));
    lines.degrees(node, LONGITUDE, near(longitude, step >> 32));
    let seconds = number / LANES * ROUND_SECONDS;
    lines.moment(node, TRACKED_TIME, later(BEGIN, seconds));
    let town = society
        .words
        .town(country, place >> 32 & (TOWNS as u64 - 1));
    lines.text(node, TRACKED_LOCATION, &[town]);
}

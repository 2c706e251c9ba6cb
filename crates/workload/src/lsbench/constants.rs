//! Start points that have answers: a user for L1, persons for L2 and L3.
//!
//! L1's user is tracked and posts within the first window, and has few rows in all. L2's person is the one whose
//! posts leave the shortest longest gap. L3's person is the one whose friends' posts are most in the window that has fewest. All look
//! at the first [`OBSERVED_MS`] of the streams at most, at [`POSTS_MAX`] posts and [`FIXES_MAX`] fixes, and L3 at [`PERSONS_MAX`] persons.

use std::collections::BTreeMap;

use super::lines::{lines_until, time_ms};
use super::network::Friends;
use super::positions::tracked;
use super::posts::{Post, post_lines};
use super::society::Society;
use super::{Lsbench, Span, Stream};

/// How much of the streams is looked at (milliseconds).
const OBSERVED_MS: u64 = 6000;
const POSTS_MAX: u64 = 100_000;
const FIXES_MAX: u64 = 500_000;
const PERSONS_MAX: u32 = 4096;
/// The windows of L1 to L6 (milliseconds).
const RANGE_MS: u64 = 1000;
const STEP_MS: u64 = 100;
/// Lines of a fix.
const FIX_LINES: u64 = 5;

/// The constants of L1, L2 and L3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The number of L1's user.
    pub l1_user: u32,
    /// The number of L2's person.
    pub l2_person: u32,
    /// The number of L3's person.
    pub l3_person: u32,
}

impl Constants {
    /// `{"L1": "u141", "L2": "p236", "L3": "p31"}`
    pub fn json(&self) -> String {
        let Self {
            l1_user,
            l2_person,
            l3_person,
        } = self;
        format!("{{\"L1\": \"u{l1_user}\", \"L2\": \"p{l2_person}\", \"L3\": \"p{l3_person}\"}}\n")
    }
}

impl Lsbench {
    /// Start points with answers within a span; any, where the span has none.
    pub fn constants(&self, span: Span) -> Constants {
        let posts = Posts::observe(&self.society, span);
        Constants {
            l1_user: tracked_author(&self.society, span, &posts),
            l2_person: posts.steadiest(),
            l3_person: busiest_neighbour(&self.society, &posts),
        }
    }
}

/// How many of the times, which ascend, are in each window.
fn windows(times: &[u64], until_ms: u64) -> impl Iterator<Item = usize> {
    let before = |end: u64| times.partition_point(|&ms| ms < end);
    let closes = (RANGE_MS..=until_ms).step_by(STEP_MS as usize);
    closes.map(move |close| before(close) - before(close - RANGE_MS))
}

/// Who posted when.
struct Posts {
    /// By author: times, ascending (milliseconds).
    by_author: BTreeMap<u32, Vec<u64>>,
    until_ms: u64,
}

impl Posts {
    fn observe(society: &Society, span: Span) -> Self {
        let until_ms = span.milliseconds.min(OBSERVED_MS);
        let rate = Stream::Posts.lines_per_second() * span.rate.thousandths();
        let mut by_author: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let mut line = 0;
        for number in 0..POSTS_MAX {
            let at_ms = time_ms(line, rate);
            if at_ms >= until_ms {
                break;
            }
            let author = Post::new(society, number).author;
            by_author.entry(author).or_default().push(at_ms);
            line += post_lines(society, number);
        }
        Self {
            by_author,
            until_ms,
        }
    }

    fn of(&self, user: u32) -> &[u64] {
        self.by_author.get(&user).map_or(&[], Vec::as_slice)
    }

    /// The author with the shortest longest gap.
    fn steadiest(&self) -> u32 {
        let longest_gap = |times: &[u64]| {
            let ends = [self.until_ms];
            let mut before = 0;
            let gaps = times.iter().chain(&ends).map(|&ms| {
                let gap = ms - before;
                before = ms;
                gap
            });
            gaps.max()
        };
        let steadiest = self
            .by_author
            .iter()
            .min_by_key(|(_, times)| longest_gap(times));
        steadiest.map_or(0, |(&user, _)| user)
    }
}

fn tracked_author(society: &Society, span: Span, posts: &Posts) -> u32 {
    let rate = Stream::Positions.lines_per_second() * span.rate.thousandths();
    let fixes = lines_until(posts.until_ms, rate).div_ceil(FIX_LINES);
    let mut by_user: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for number in 0..fixes.min(FIXES_MAX) {
        let user = tracked(society, number).user;
        let at_ms = time_ms(number * FIX_LINES, rate);
        by_user.entry(user).or_default().push(at_ms);
    }
    let weight = |(user, fixes): (&u32, &Vec<u64>)| {
        let authored = posts.of(*user);
        let starts = |times: &[u64]| times.first().is_some_and(|&ms| ms < RANGE_MS);
        let mut rows = [fixes, authored].concat();
        rows.sort_unstable();
        let most = windows(&rows, posts.until_ms).max();
        (!starts(authored) || !starts(fixes), most, *user)
    };
    let best = by_user.iter().map(weight).min();
    best.map_or(0, |(_, _, user)| user)
}

fn busiest_neighbour(society: &Society, posts: &Posts) -> u32 {
    let mut friends = Friends::default();
    let mut least_rows = |user: u32| {
        society.friends(user, &mut friends);
        let mut times: Vec<u64> = friends
            .known
            .iter()
            .flat_map(|&friend| posts.of(friend))
            .copied()
            .collect();
        times.sort_unstable();
        windows(&times, posts.until_ms).min().unwrap_or(times.len())
    };
    let persons = 0..society.users.min(PERSONS_MAX);
    persons.max_by_key(|&user| least_rows(user)).unwrap_or(0)
}

//! The benchmark's queries, and start points for mixes of them.
//!
//! L1 to L6 stand over windows of 1 s that step by 100 ms; S1 to S6 ask once, of the store. What they ask is what
//! Wukong+S published (Zhang et al., SOSP 2017, table 1); the texts are ours. L1 to L6 look for stored data in the graph
//! [`STORED_GRAPH`](super::STORED_GRAPH), S1 to S6 in the default graph.
//!
//! The mixes of that paper draw a random start point of the right type for each query: mix A is L1 to L3, mix B is L1
//! to L6, weighted by the reciprocal of the measured latency, which is the measuring side's to know.

use super::Lsbench;
use super::draws::{Purpose, Seed};
use super::stored::group_count;

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// All that a user does: posts, positions.
    L1,
    /// A person's posts.
    L2,
    /// The posts of a person's friends.
    L3,
    /// Pairs of posts of one author with a common hashtag.
    L4,
    /// Photos that a friend of somebody tagged in them likes.
    L5,
    /// Posts in a channel that a friend of a subscriber likes.
    L6,
    /// All of a user.
    S1,
    /// L2, stored.
    S2,
    /// L3, stored.
    S3,
    /// Photos of a group's members, their albums and whose these are.
    S4,
    /// Gender, birthday and address of a user's friends.
    S5,
    /// Posts from China that are liked in the United States, with their hashtags.
    S6,
}

/// How the text of a standing query is written; S1 to S6 are SPARQL whatever is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// C-SPARQL with `GRAPH <stream>`, as Wukong+S extends it.
    CSparql,
    /// RSP-QL.
    RspQl,
}

macro_rules! standing {
    ($name:literal, $dialect:expr) => {
        match $dialect {
            Dialect::CSparql => {
                include_str!(concat!("../../queries/lsbench/", $name, ".csparql"))
            }
            Dialect::RspQl => include_str!(concat!("../../queries/lsbench/", $name, ".rspql")),
        }
    };
}

macro_rules! once {
    ($name:literal) => {
        include_str!(concat!("../../queries/lsbench/", $name, ".rq"))
    };
}

impl Question {
    /// Mix A of the paper: the selective ones.
    pub const MIX_A: [Self; 3] = [Self::L1, Self::L2, Self::L3];
    /// Mix B: all that stand.
    pub const MIX_B: [Self; 6] = [Self::L1, Self::L2, Self::L3, Self::L4, Self::L5, Self::L6];
    /// Those that ask once.
    pub const ONCE: [Self; 6] = [Self::S1, Self::S2, Self::S3, Self::S4, Self::S5, Self::S6];

    /// `L1` to `L6`, `S1` to `S6`.
    pub fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::L5 => "L5",
            Self::L6 => "L6",
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::S4 => "S4",
            Self::S5 => "S5",
            Self::S6 => "S6",
        }
    }

    /// The text with `%User`, `%Person` or `%Group` where a start point belongs.
    pub fn template(self, dialect: Dialect) -> &'static str {
        match self {
            Self::L1 => standing!("l1", dialect),
            Self::L2 => standing!("l2", dialect),
            Self::L3 => standing!("l3", dialect),
            Self::L4 => standing!("l4", dialect),
            Self::L5 => standing!("l5", dialect),
            Self::L6 => standing!("l6", dialect),
            Self::S1 => once!("s1"),
            Self::S2 => once!("s2"),
            Self::S3 => once!("s3"),
            Self::S4 => once!("s4"),
            Self::S5 => once!("s5"),
            Self::S6 => once!("s6"),
        }
    }

    /// The text from this start point. It registers the query by [`Self::name`] where it registers one.
    pub fn text(self, dialect: Dialect, start: StartPoint) -> String {
        let StartPoint {
            user,
            person,
            group,
        } = start;
        self.template(dialect)
            .replace(
                "%User",
                &format!("<http://www.ins.cwi.nl/sib/user/u{user}>"),
            )
            .replace(
                "%Person",
                &format!("<http://www.ins.cwi.nl/sib/person/p{person}>"),
            )
            .replace(
                "%Group",
                &format!("<http://www.ins.cwi.nl/sib/group/g{group}>"),
            )
    }
}

/// What a query starts from: numbers of a user, a person and a group. A query has one of them at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartPoint {
    /// For L1, S1, S5.
    pub user: u32,
    /// For L2, L3, S2, S3.
    pub person: u32,
    /// For S4; from 1.
    pub group: u64,
}

/// Random start points of a data set, without end; the same for the same data set and seed.
#[derive(Clone, Debug)]
pub struct StartPoints {
    seed: Seed,
    users: u32,
    drawn: u64,
}

impl Lsbench {
    /// Random start points; `seed` is the mix's, not the data set's.
    pub fn start_points(&self, seed: u64) -> StartPoints {
        StartPoints {
            seed: Seed::new(seed),
            users: self.society.users,
            drawn: 0,
        }
    }
}

impl Iterator for StartPoints {
    type Item = StartPoint;

    fn next(&mut self) -> Option<StartPoint> {
        let mut draws = self.seed.sequence(Purpose::StartPoint, self.drawn);
        self.drawn += 1;
        Some(StartPoint {
            user: draws.below(u64::from(self.users)) as u32,
            person: draws.below(u64::from(self.users)) as u32,
            group: 1 + draws.below(group_count(self.users)),
        })
    }
}

//! What a text has of what [`Limits`] bounds, counted while it is read.
//!
//! Lists and sequences are counted as what they are written out as: a list of *n* items as 2*n* triples, a
//! sequence of paths as a triple for each step, for each object. (Alternatives are not: a path has few operators.) A chain (`a || b || c`, `{} UNION {}`, one element of a group
//! after the other) nests its links in the algebra, so that whatever recurs over that recurs as deep as the longest chain
//! with all that hangs below it. The quads of data and of templates of updates become flat lists; what bounds them is the
//! length of the text.

use super::DEPTH_MAX;
use crate::limits::{Exceeded, Limit, Limits};

/// Links of the longest chain through what is read, from the last bracket that is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    links: u64,
    /// The longest one within brackets that are closed.
    below: u64,
}

/// The counts of a text, up to the next token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    limits: Limits,
    chain: Chain,
    patterns: u64,
    aggregates: u64,
    names: u64,
    path_operators: u64,
    /// Steps of the path that is read, without the last.
    path_steps: u64,
    /// Within quads of an update, which are not counted.
    pub(super) is_data: bool,
}

impl Counts {
    pub(super) fn new(limits: &Limits) -> Counts {
        Counts {
            limits: Limits {
                nesting: limits.nesting.min(DEPTH_MAX),
                ..*limits
            },
            chain: Chain::default(),
            patterns: 0,
            aggregates: 0,
            names: 0,
            path_operators: 0,
            path_steps: 0,
            is_data: false,
        }
    }

    /// A bracket opens; gives what [`Counts::end`] needs.
    pub(super) fn begin(&mut self) -> Chain {
        std::mem::take(&mut self.chain)
    }

    /// The bracket closes.
    pub(super) fn end(&mut self, around: Chain) -> Result<(), Exceeded> {
        let within = self.chain.links + self.chain.below + 1;
        self.chain = around;
        self.chain.below = self.chain.below.max(within);
        self.link(0)
    }

    /// So many brackets and `!` are open.
    pub(super) fn nested(&self, open: u64) -> Result<(), Exceeded> {
        self.limits.check(Limit::Nesting, open)
    }

    pub(super) fn link(&mut self, links: u64) -> Result<(), Exceeded> {
        self.chain.links += links;
        self.limits
            .check(Limit::Depth, self.chain.links + self.chain.below)
    }

    pub(super) fn patterns(&mut self, more: u64) -> Result<(), Exceeded> {
        if self.is_data {
            return Ok(());
        }
        self.patterns += more;
        self.limits.check(Limit::TriplePatterns, self.patterns)
    }

    pub(super) fn aggregate(&mut self) -> Result<(), Exceeded> {
        self.aggregates += 1;
        self.limits.check(Limit::Aggregates, self.aggregates)
    }

    pub(super) fn names(&mut self, more: u64) -> Result<(), Exceeded> {
        self.names += more;
        self.limits.check(Limit::ListedNames, self.names)
    }

    /// A path begins.
    pub(super) fn begin_path(&mut self) {
        self.path_operators = 0;
        self.path_steps = 0;
    }

    pub(super) fn path_operator(&mut self, is_step: bool) -> Result<(), Exceeded> {
        self.path_operators += 1;
        self.path_steps += u64::from(is_step);
        self.limits.check(Limit::PathOperators, self.path_operators)
    }

    /// What the path that was read is written out as, for each object (count).
    pub(super) fn path_patterns(&self) -> u64 {
        self.path_steps + 1
    }
}

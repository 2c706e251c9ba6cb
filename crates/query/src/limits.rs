//! The limits that a query text is held to while it is read, with their defaults.
//!
//! Why limits of shape at all: 5,000 parentheses, groups, OPTIONALs or `!` overflow the stack of a thread whose
//! functions recur over them, and end the process. Each limit is counted where the text is read or written out, before
//! anything of that size is made; counts are upper bounds of what is made.
//!
//! Measured with `spargebra` 0.4.8, the first parser, in the development profile on a thread with a stack of 2 MiB
//! (2026-11-21; ours needs less), bytes of stack per open bracket: 700 to 3,100 for parentheses of paths, groups and
//! calls, 4,100 for `[`, 5,700 at worst (`FILTER EXISTS {`); per `!` 430; per step of a path 480;
//! dropping a chain of UNION or OPTIONAL 130 a link, of `&&` 33. So 256 brackets, 256 path operators
//! and 1,024 links fit a stack of [`STACK_BYTES_MIN`] together: the worst texts of the tests pass
//! with 1.4 MiB and overflow 1.25 MiB, in the development profile; release needs no more.

/// The stack that [`crate::parse`] and [`crate::Planner::plan`] need of their thread, in bytes, for
/// any text within the default [`Limits`].
pub const STACK_BYTES_MIN: usize = 2 << 20;

/// What a query text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub text_bytes: u64,
    /// Open brackets of all kinds at once, and `!` before them.
    pub nesting: u64,
    /// Links of the longest chain through the algebra: operators, groups, filters.
    pub depth: u64,
    /// Operators in one property path.
    pub path_operators: u64,
    /// Triple patterns, after lists, collections and sequences of steps are written out.
    pub triple_patterns: u64,
    /// Calls of aggregates.
    pub aggregates: u64,
    /// Variables listed after SELECT, VALUES, GROUP BY and ORDER BY, and what DESCRIBE lists; each sub-SELECT counts as
    /// [`Limits::NAMES_PER_SELECT`] more.
    pub listed_names: u64,
    /// Bytes of what the text abbreviates, once it is written out: prefixed names, relative IRIs, triple terms and
    /// their copies, and what is sent to other endpoints.
    pub expanded_bytes: u64,
}

impl Limits {
    /// What a sub-SELECT counts in [`Limits::listed_names`], as it lists its variables once more.
    pub const NAMES_PER_SELECT: u64 = 64;

    /// No limits: for texts that this crate has written.
    pub(crate) const NONE: Limits = Limits {
        text_bytes: u32::MAX as u64,
        nesting: u64::MAX,
        depth: u64::MAX,
        path_operators: u64::MAX,
        triple_patterns: u64::MAX,
        aggregates: u64::MAX,
        listed_names: u64::MAX,
        expanded_bytes: u64::MAX,
    };
}

impl Limits {
    fn of(&self, limit: Limit) -> u64 {
        match limit {
            Limit::TextBytes => self.text_bytes,
            Limit::Nesting => self.nesting,
            Limit::Depth => self.depth,
            Limit::PathOperators => self.path_operators,
            Limit::TriplePatterns => self.triple_patterns,
            Limit::Aggregates => self.aggregates,
            Limit::ListedNames => self.listed_names,
            Limit::ExpandedBytes => self.expanded_bytes,
        }
    }

    /// Whether so much is within a limit.
    #[inline]
    pub(crate) fn check(&self, limit: Limit, used: u64) -> Result<(), Exceeded> {
        let max = self.of(limit);
        if used <= max {
            return Ok(());
        }
        Err(Exceeded { limit, used, max })
    }
}

/// A limit, and how much of what it bounds a text has, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{used} {}, {max} allowed", limit.words())]
pub(crate) struct Exceeded {
    pub(crate) limit: Limit,
    pub(crate) used: u64,
    pub(crate) max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            text_bytes: 1 << 20,
            nesting: 256,
            depth: 1024,
            path_operators: 256,
            triple_patterns: 1000,
            aggregates: 100,
            listed_names: 4096,
            expanded_bytes: 1 << 28,
        }
    }
}

/// Which of the [`Limits`] was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// [`Limits::text_bytes`].
    TextBytes,
    /// [`Limits::nesting`].
    Nesting,
    /// [`Limits::depth`].
    Depth,
    /// [`Limits::path_operators`].
    PathOperators,
    /// [`Limits::triple_patterns`].
    TriplePatterns,
    /// [`Limits::aggregates`].
    Aggregates,
    /// [`Limits::listed_names`].
    ListedNames,
    /// [`Limits::expanded_bytes`].
    ExpandedBytes,
}

impl Limit {
    /// The limit in words, to follow a number.
    pub const fn words(self) -> &'static str {
        match self {
            Limit::TextBytes => "bytes of query text",
            Limit::Nesting => "nested brackets",
            Limit::Depth => "chained operators or groups",
            Limit::PathOperators => "operators in one path",
            Limit::TriplePatterns => "triple patterns",
            Limit::Aggregates => "aggregates",
            Limit::ListedNames => "listed variables",
            Limit::ExpandedBytes => "bytes of terms with what they abbreviate written out",
        }
    }
}

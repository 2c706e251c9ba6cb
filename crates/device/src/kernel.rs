//! The kernels, by name. Their source is in `kernels/`, a file of it is a module of its own on the device.

macro_rules! kernels {
    ($($module:literal { $($kernel:ident = $name:literal: $what:literal,)* })*) => {
        /// A kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kernel {
            $($(#[doc = $what] $kernel,)*)*
        }

        impl Kernel {
            /// All of them.
            pub const ALL: &[Kernel] = &[$($(Kernel::$kernel,)*)*];

            /// What it is called in its source.
            pub const fn name(self) -> &'static str {
                match self { $($(Kernel::$kernel => $name,)*)* }
            }

            /// The file of `kernels/` that it is in, without its ending.
            pub const fn module(self) -> &'static str {
                match self { $($(Kernel::$kernel => $module,)*)* }
            }
        }
    };
}

kernels! {
    "probe" {
        Nothing = "do_nothing": "Does nothing: what a launch costs.",
        Post = "post": "Counts its runs in a word that the host sees.",
        Fill = "fill_words": "Fills with random words.",
        Copy = "copy_words": "Copies 16-byte words.",
        Read = "read_words": "Reads 16-byte words.",
        GatherCodes = "gather_codes": "Reads 4 bytes at random places.",
        GatherSectors = "gather_sectors": "Reads 32 bytes at random places.",
        GatherPairs = "gather_pairs": "Reads 64 bytes at random places.",
        GatherLines = "gather_lines": "Reads lines of 128 bytes at random places, eight threads each.",
        LayRing = "lay_ring": "Lays a ring of places through memory.",
        FollowRing = "follow_ring": "Follows it, by one thread.",
        Exchange = "exchange": "Compares and exchanges at random places of a table.",
        TakeRanges = "take_ranges": "Adds to one word, a thread of each block in turn.",
    }
    "meet" {
        Meet = "walk_meet": "Makes what several sets have of a strip of the first one the first column.",
    }
    "spread" {
        Predicates = "walk_predicates": "One row out for each predicate that a vertex has.",
        ExpandBy = "walk_expand_by": "One row out for each neighbour by the row's predicate.",
        CheckBy = "walk_check_by": "Keeps the rows whose edge exists by the row's predicate.",
    }
    "collapse" {
        CollapseClear = "collapse_clear": "Empties the slots in which equal rows are counted.",
        CollapseRows = "collapse_rows": "Counts each row at the slot of its equals.",
        CollapseOut = "collapse_out": "One row out for all that are equal, with their number.",
    }
    "walk" {
        Seed = "walk_seed": "Makes a strip of the first column.",
        SeedJoined = "walk_seed_joined": "Makes a strip of two runs of rows, one behind the other, the first column.",
        Expand = "walk_expand": "One row out for each neighbour that passes the checks.",
        ExpandOne = "walk_expand_one": "The same, where each row has one neighbour at most.",
        ExpandHubs = "walk_expand_hubs": "The same of the lists that were too long for one block.",
        Filter = "walk_filter": "Keeps the rows that pass the checks.",
        Finish = "walk_finish": "Sums the last level's rows up.",
    }
    "left" {
        ExpandLeft = "walk_expand_left": "`Expand` that keeps a row which has no neighbour, with an unbound cell.",
        ExpandOneLeft = "walk_expand_one_left": "The same, where each row has one neighbour at most.",
        ExpandLeftPaged = "walk_expand_left_paged": "`ExpandLeft` over segments that lie in pages.",
        ExpandOneLeftPaged = "walk_expand_one_left_paged": "`ExpandOneLeft` over segments that lie in pages.",
    }
    "paged" {
        SeedPaged = "walk_seed_paged": "`Seed` of an index that lies in pages.",
        SeedRowsPaged = "walk_seed_rows_paged": "Makes a strip of rows that lie in pages the first column.",
        SeedJoinedPaged = "walk_seed_joined_paged": "`SeedJoined` of rows that lie in pages.",
        ExpandPaged = "walk_expand_paged": "`Expand` over segments that lie in pages.",
        ExpandOnePaged = "walk_expand_one_paged": "`ExpandOne` over segments that lie in pages.",
        ExpandHubsPaged = "walk_expand_hubs_paged": "`ExpandHubs` over segments that lie in pages.",
        FilterPaged = "walk_filter_paged": "`Filter` over segments that lie in pages.",
    }
}

impl Kernel {
    /// The same kernel over segments that lie in pages; itself, where it reads no segment.
    #[must_use]
    pub const fn paged(self) -> Kernel {
        match self {
            Kernel::Seed => Kernel::SeedPaged,
            Kernel::SeedJoined => Kernel::SeedJoinedPaged,
            Kernel::Expand => Kernel::ExpandPaged,
            Kernel::ExpandOne => Kernel::ExpandOnePaged,
            Kernel::ExpandHubs => Kernel::ExpandHubsPaged,
            Kernel::ExpandLeft => Kernel::ExpandLeftPaged,
            Kernel::ExpandOneLeft => Kernel::ExpandOneLeftPaged,
            Kernel::Filter => Kernel::FilterPaged,
            other => other,
        }
    }
}

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
        Copy = "copy_words": "Copies 16-byte words.",
        Gather = "gather_words": "Reads words at random places.",
        Nothing = "do_nothing": "Does nothing: what a launch costs.",
        Exchange = "exchange": "Compares and exchanges at random places of a table.",
    }
    "walk" {
        Seed = "walk_seed": "Makes a strip of the first column.",
        Expand = "walk_expand": "One row out for each neighbour that passes the checks.",
        Filter = "walk_filter": "Keeps the rows that pass the checks.",
        Finish = "walk_finish": "Sums the last level's rows up.",
    }
}

//! What a step costs: nanoseconds of one thread, by kind of access.
//!
//! The figures are of the order of a throw-away prototype's (2-core EPYC,
//! 2026-11-21: 1.8 ms for 173,040 rows of a sorted expand, 0.2 to 1 us for a light query); only
//! their ratios choose between orders, so a factor of two changes little. They are constants in one
//! place so that a measurement replaces them in one place.

/// Appending one row to a table.
pub(super) const ROW: f64 = 4.0;
/// Rows of a table that nothing is known of.
pub(super) const TABLE_ROWS: f64 = 1000.0;
/// Listing one vertex of an index: sequential.
pub(super) const KEY: f64 = 1.5;
/// Finding a neighbour list by a column that is sorted: the next block is in cache.
pub(super) const LOOKUP_SORTED: f64 = 6.0;
/// Finding a neighbour list by a column in any order, with other lookups in flight.
pub(super) const LOOKUP: f64 = 20.0;
/// Testing a column against the list of a constant: the list is looked up once.
pub(super) const CHECK_CONSTANT: f64 = 3.0;
/// Testing an edge between two columns: a lookup and a search in the list.
pub(super) const CHECK: f64 = 25.0;
/// Intersection two lists that were found, and an element more of the shorter one: 82 ns for a pair of lists of a skewed
/// graph's triangles, 94 ns for q1 of LUBM-160, whose shorter lists have some 500 elements.
pub(super) const INTERSECT: f64 = 60.0;
pub(super) const MEET: f64 = 0.1;
/// Evaluating a filter on one row.
pub(super) const FILTER: f64 = 30.0;
/// Comparing two columns of one row.
pub(super) const SAME: f64 = 1.0;
/// Hashing one row.
pub(super) const DISTINCT: f64 = 40.0;
/// Comparing two rows while sorting.
pub(super) const COMPARE: f64 = 30.0;
/// Counting one row.
pub(super) const COUNT: f64 = 0.5;
/// Starting a step.
pub(super) const STEP: f64 = 100.0;

/// Plans from this cost on are heavy: cut into chunks that all workers share.
pub(super) const HEAVY_NS: f64 = 200_000.0;

/// Share of rows that a filter lets pass, by kind.
pub(super) mod selectivity {
    /// `=`, `sameTerm` with a constant.
    pub(in crate::planner) const EQUAL: f64 = 0.05;
    /// `<`, `<=`, `>`, `>=`.
    pub(in crate::planner) const RANGE: f64 = 0.33;
    /// Tests of strings.
    pub(in crate::planner) const STRING: f64 = 0.2;
    /// Anything else.
    pub(in crate::planner) const OTHER: f64 = 0.5;
}

/// Reaching one vertex along a path.
pub(super) const PATH: f64 = 40.0;
/// Adding one row to an aggregate.
pub(super) const AGGREGATE: f64 = 60.0;
/// Asking an endpoint, and the rows that it is taken to answer.
pub(super) const SERVICE: f64 = 1e7;
pub(super) const SERVICE_ROWS: f64 = 100.0;

/// Edges of a pattern of another source than the store, and vertices at either end of them: a guess where nothing is
/// known of that source. What has arrived within a window is little beside what is stored, so a walk rather begins there.
pub(super) const SOURCE_EDGES: f64 = 1000.0;
pub(super) const SOURCE_KEYS: f64 = 250.0;

/// Of the time that a walk is expected to take, what samples may take.
pub(super) const SAMPLE_SHARE: f64 = 0.015;
/// Looking a key of a sample up, or reading a row of it: nothing of it is in cache (measured over the
/// queries of `somersault/examples/sampling.rs`, 2026-11-22).
pub(super) const SAMPLE_TOUCH: f64 = 150.0;
/// Ways to extend a subset that are weighed in the time of one of these.
pub(super) const ORDERED_PER_TOUCH: u64 = 4;

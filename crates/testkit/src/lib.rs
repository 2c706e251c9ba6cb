//! What the engine is checked against, without knowing it: graphs as text, random graphs and
//! queries, two oracles, a comparison of answers, case files, and the suites of the W3C.
//!
//! ```text
//! random_graph ── graph (text) ──> engine ──┐
//!      │                                    ├─> compare
//! random_query ──> naive, spareval_oracle ──┘
//! ```
//!
//! Deliberately does not know the engine: whoever tests it passes a function from graph and query
//! to an [`Answer`]. The naive oracle follows the definitions of SPARQL 1.1 Query section 18 to the
//! letter and is as slow as they are; `spareval` is a second opinion by other people. Where the two
//! are known to differ, the naive one notes it ([`naive::Expected::spareval_differs`]).
//!
//! [`plain_graph`] answers the questions of a walk without a store, whole or as a part, and [`waiting`] lets them wait, so these
//! know the seam that they are asked through.
//!
//! Beside them [`plan`] interprets plans, as `query` defines them, for whoever makes or walks plans. The oracles
//! above know no plan.

pub mod cases;
pub mod collected;
pub mod compare;
pub mod correlated;
pub mod graph;
pub mod naive;
pub mod oracles;
pub mod plain_graph;
pub mod plain_terms;
pub mod plan;
pub mod random;
pub mod random_graph;
pub mod random_query;
pub mod renaming;
pub mod seeds;
pub mod shrink;
pub mod spareval_oracle;
pub mod standing;
pub mod suite;
pub mod waiting;

use oxrdf::Term;

/// The namespace of everything in random graphs.
pub const NAMESPACE: &str = "http://example.org/";

/// The predicate by which each blank node of a random graph is told from all others.
pub const MARKER: &str = "http://example.org/marker";

/// The columns in which the triples of a graph are answered.
pub const TRIPLE_COLUMNS: [&str; 3] = ["subject", "predicate", "object"];

/// A solution, projected: a cell for each variable, `None` where it is unbound.
pub type Row = Vec<Option<Term>>;

/// What an engine or an oracle answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of a `SELECT`; of a `CONSTRUCT` or `DESCRIBE`, each triple once, in [`TRIPLE_COLUMNS`].
    Rows {
        /// The projected variables, without question marks.
        variables: Vec<String>,
        /// The rows, a cell for each variable.
        rows: Vec<Row>,
    },
    /// Of an `ASK`.
    Boolean(bool),
}

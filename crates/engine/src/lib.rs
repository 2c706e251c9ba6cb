//! A database that runs: what is asked of one graph, and what is changed in it.
//!
//! A request becomes a plan (`request`), a plan a walk ([`run`]), rows become an answer in the format asked for
//! ([`output`]); a change becomes a record, a layer and a new version ([`change`]). Crates below are functions of their
//! arguments; time, threads, randomness and the budgets of memory enter here, so that those can be tested without
//! them and every surface (command line, HTTP, benchmark) gets the same limits and the same words for what failed.
//!
//! Deliberately does not know: configuration, bulk loads, backups and checks of a store (the façade above composes
//! those), HTTP, argument parsing.

pub mod accelerator;
pub mod budget;
pub mod change;
mod clock;
mod database;
pub mod dump;
pub mod error;
pub mod federation;
pub mod floor;
mod graph_read;
mod health;
pub mod moment;
mod open_error;
mod options;
pub mod output;
mod panics;
pub mod parts;
mod plan_document;
mod prepared;
mod request;
pub mod run;
pub mod running;
mod standing;
pub mod stop;
mod sync;
#[cfg(test)]
mod testing;
pub mod units;

pub use change::follow::{FollowFigures, Notice};
pub use change::{
    Committed, Documents, GraphState, GraphTarget, GraphWrite, GraphWritten, Precondition,
    RDF_PATCH, RunningGraphChange, RunningUpdate, UpdateRequest, WriteMode, check_update,
};
pub use clock::{milliseconds_of, milliseconds_of_date};
pub use database::{ChangeFigures, Database, SnapshotInfo, Summary};
pub use error::{Further, Kind, Position, QueryError, Unit};
pub use federation::{Document, ServiceClient, ServiceError};
pub use graph_read::GraphRead;
pub use health::{ChangeHealth, FollowHealth, Health};
pub use moment::Graph;
pub use moment::statistics::ForeignStatistics;
pub use moment::vector::{SnapshotVector, StreamPoint};
pub use open_error::{OpenError, is_damaged_load};
pub use options::Options;
pub use output::graph::{GraphFormat, GraphWriter};
pub use output::{AnswerFormat, LastRecord, ResultFormat};
pub use plan_document::PlanDocument;
pub use prepared::{AnswerKind, Query, Timings};
pub use query::standing::StandingQuery;
pub use request::Request;
pub use request::learnt::Learnt;
pub use request::plan_cache::PlanFigures;
pub use run::{Finished, Folded};
pub use standing::{
    Arrivals, Binding, Bindings, BindingsFormat, BlankScope, ChangePieces, Hub, HubCosts,
    HubStream, JournalEntry, JournalRead, LastReport, Live, LiveChange, Positions, Pushed,
    QueryInfo, Recording, Replay, ReplaySpan, ReportDocument, ReportKind, ReportRow, ReportRows,
    Reported, SourceInfo, StandingReport, StreamFigures, StreamInfo, Subscriber,
    SubscriptionFigures, SubscriptionInfo, SubscriptionLimits, Subscriptions, TemplateInfo,
    TimedQuads, WeightedRow, WholeStore, WindowInfo, read_bindings, read_standing, recorded,
    statements, whole_store,
};

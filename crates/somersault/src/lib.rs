//! The database: composes store, query and exploration behind one façade.
//!
//! Rooms below are functions of their arguments; time, threads, randomness and the budgets of
//! memory enter here, so that those can be tested without them and every surface (command line,
//! HTTP, benchmark) gets the same limits and the same words for what failed.
//!
//! Deliberately does not know: HTTP, argument parsing.

mod answer;
pub mod backup;
pub mod budget;
pub mod change;
mod clock;
pub mod config;
mod construct;
pub mod control_group;
pub mod database;
mod decode;
pub mod dump;
pub mod error;
pub mod federation;
pub mod floor;
pub mod graph;
mod graph_read;
pub mod health;
pub mod load;
mod moment;
mod open_error;
mod options;
mod panics;
mod plan_document;
pub mod query;
mod request;
pub mod results;
pub mod run;
pub mod running;
pub mod stop;
pub mod text;
pub mod units;
pub mod upkeep;

pub use change::follow::{FollowFigures, Told};
pub use change::{
    Committed, Documents, GraphState, GraphTarget, GraphWrite, GraphWritten, Precondition,
    RDF_PATCH, RunningGraphChange, RunningUpdate, UpdateRequest, WriteMode, check_update,
    patch_to_update,
};
pub use database::{ChangeFigures, Database, Summary};
pub use error::{Further, Kind, Position, QueryError, Unit};
pub use federation::{Document, ServiceClient, ServiceError};
pub use graph::{GraphFormat, GraphWriter};
pub use graph_read::GraphRead;
pub use health::{ChangeHealth, FollowHealth, Health};
pub use memory::{give_back as give_back_memory, survive_bus_errors};
pub use moment::statistics::ForeignStatistics;
pub use open_error::OpenError;
pub use options::Options;
pub use oxrdf;
pub use plan_document::PlanDocument;
pub use query::{AnswerKind, Query, Timings};
pub use rdf;
pub use request::Request;
pub use request::learnt::Learnt;
pub use request::plan_cache::PlanFigures;
pub use results::{AnswerFormat, LastRecord, ResultFormat};
pub use run::{Finished, Folded};

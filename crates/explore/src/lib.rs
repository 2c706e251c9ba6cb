//! Runs a plan over any graph view, growing columnar binding tables.
//!
//! Deliberately does not know: where the graph lives, how a query was written, threads, clocks.
//!
//! ```text
//!  Plan + ids of its constants --prepare--> Prepared --Walk--> chunks of ids
//! ```
//!
//! [`prepare::prepare`] resolves a plan against a [`store::view::GraphView`] once, or against one for each source that
//! it names ([`views`]);
//! [`walk::Walk::next`] then gives chunk after chunk. [`walk::Walk::over`] and
//! [`walk::Walk::tail`] let many workers share one query: each walks parts of the seed up to the
//! first step that looks at rows together, one walks the rest over their rows.
//!
//! [`GivenTable`]s are tables of ids that a plan joins with and that outlive its walks: an argument beside the views, in the
//! [`environment`].
//!
//! [`sample::Samples`] walks a few rows for the planner, before there is a plan.

mod ask;
mod chain;
pub mod chunk;
pub mod describe;
mod drawn_lists;
pub mod environment;
pub mod error;
pub mod execution;
mod expression;
mod given;
pub mod limits;
pub mod local;
mod options;
pub mod prepare;
pub mod profile;
pub mod run;
pub mod sample;
mod scene;
mod scope;
mod step;
mod table;
pub mod views;
pub mod walk;

pub use ask::{wait, wait_for};
pub use chunk::{Chunk, Collapse};
pub use environment::{Arrivals, Clock, Environment, Service, ServiceError};
pub use error::{MemoryExceeded, StopReason, WalkError};
pub use execution::offload::{Came, Offloaded, OffloadedWalk, Offloader, Unfinished};
pub use execution::{Execution, Ground, Origin, Ticks};
pub use given::{GIVEN_ROWS_MAX, GivenTable, Inserted};
pub use limits::{Limits, MemoryBudget, Stop};
pub use options::{Options, Status};
pub use prepare::{IdCondition, Prepared, Seed, TagSet, prepare, prepare_steps};
pub use profile::StepProfile;
pub use run::{Checksum, run_to_end};
pub use sample::Samples;
pub use step::set::ArrangedSet;
pub use views::Views;
pub use walk::Walk;

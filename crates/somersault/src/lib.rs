//! The database for whoever uses it: composes the engine with configuration, loading, copies and upkeep.
//!
//! The façade computes nothing about a graph. What surfaces (command line, HTTP, benchmark) need of the crates below
//! is named here, and what is not named is none of their business.
//!
//! | module | about |
//! |---|---|
//! | `config`, `options`, `control_group` | settings, the limits that follow from them, the memory that there is |
//! | `load` | files into a store or into memory |
//! | `parts` | a store cut into the parts of a cluster's nodes |
//! | `backup`, `upkeep` | copies that can be trusted; checking, measuring and compacting a store |
//! | `device` | the GPU, where there is one |
//! | `terms`, `text` | terms of RDF and pieces of a query's text, for surfaces that show them |
//!
//! Deliberately does not know: HTTP, argument parsing.

pub mod backup;
pub mod config;
pub mod control_group;
pub mod device;
pub mod load;
pub mod nodes;
mod options;
pub mod parts;
pub mod terms;
pub mod text;
pub mod upkeep;

pub use engine::{
    AnswerFormat, AnswerKind, ChangeFigures, ChangeHealth, Committed, Database, Document,
    Documents, Finished, Folded, FollowFigures, FollowHealth, ForeignStatistics, Further, Graph,
    GraphFormat, GraphRead, GraphState, GraphTarget, GraphWrite, GraphWriter, GraphWritten, Health,
    Kind, LastRecord, Learnt, Notice, OpenError, Options, PlanDocument, PlanFigures, Position,
    Precondition, Query, QueryError, RDF_PATCH, Request, ResultFormat, RunningGraphChange,
    RunningUpdate, ServiceClient, ServiceError, SnapshotInfo, SnapshotVector, StreamPoint, Summary,
    Timings, Unit, UpdateRequest, WriteMode, budget, check_update, dump, federation, floor,
    milliseconds_of, milliseconds_of_date, output, run, running, stop, units,
};
pub use engine::{
    Arrivals, Binding, Bindings, BindingsFormat, BlankScope, ChangePieces, Hub, HubCosts,
    HubStream, JournalEntry, JournalRead, LastReport, Live, LiveChange, Positions, Pushed,
    QueryInfo, Recording, Replay, ReplaySpan, ReportDocument, ReportKind, ReportRow, ReportRows,
    Reported, SourceInfo, StandingQuery, StandingReport, StreamFigures, StreamInfo, Subscriber,
    SubscriptionFigures, SubscriptionInfo, SubscriptionLimits, Subscriptions, TemplateInfo,
    TimedQuads, WeightedRow, WindowInfo, read_bindings, read_standing, recorded, statements,
};
pub use memory::{give_back as give_back_memory, survive_bus_errors};

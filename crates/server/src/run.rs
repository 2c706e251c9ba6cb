//! Running what was asked: admission, engine threads, and the pipe from there to the response.
//!
//! | module | about |
//! |---|---|
//! | `job`, `engine` | what a server needs of a database, and the database as that |
//! | `admission` | who may start, and who computes now |
//! | `account` | memory that requests hold outside of the engine |
//! | `give_back` | the thread that gives freed memory back to the system |
//! | `gate` | the same for changes, by number alone |
//! | `crew` | the threads of pushes |
//! | `light` | queries that are answered on the thread that read them |
//! | `live` | streams and registered queries, and waiting for reports without a thread |
//! | `subscribing` | live queries, and waiting for their changes without a thread |
//! | `work`, `outlet`, `pipe` | a query on an engine thread, its output, the way to the connection |
//! | `sizes` | how much of an answer is held and passed on at once |
//! | `sync` | what is shared by threads, as models of their protocols have it |
//! | `kept`, `spool` | answers that are finished before they are sent, and the disk that they take |
//! | `change` | a change on an engine thread |
//! | `fresh` | reading one's own writes |

pub(crate) mod account;
pub(crate) mod admission;
pub(crate) mod change;
pub(crate) mod crew;
pub(crate) mod engine;
pub(crate) mod fresh;
pub(crate) mod gate;
pub(crate) mod give_back;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod light;
pub(crate) mod live;
pub(crate) mod pipe;
pub(crate) mod pipe_sink;
pub(crate) mod sizes;
pub(crate) mod spool;
pub(crate) mod subscribing;
mod sync;
pub(crate) mod throttle;
pub(crate) mod work;

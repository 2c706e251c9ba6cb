//! Running what was asked: admission, engine threads, and the pipe from there to the response.
//!
//! | module | about |
//! |---|---|
//! | `job`, `engine` | what a server needs of a database, and the database as that |
//! | `gate` | who may run |
//! | `light` | queries that are answered on the thread that read them |
//! | `work`, `outlet`, `pipe` | a query on an engine thread, its output, the way to the connection |
//! | `fresh` | reading one's own writes |

pub(crate) mod engine;
pub(crate) mod fresh;
pub(crate) mod gate;
pub(crate) mod job;
pub(crate) mod light;
pub(crate) mod outlet;
pub(crate) mod pipe;
pub(crate) mod work;

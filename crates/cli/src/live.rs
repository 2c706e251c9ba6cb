//! Streams and registered queries, as the verbs `stream`, `cq` and `subscribe` and the shell see them.
//!
//! ```text
//! door:      which server is meant, and whether it may be one
//! items:     input -> batches of whole lines, bounded in bytes, with their places
//! push:      batches -> the server, at the server's pace and at that of the items; what is wrong is said with its place
//! events:    bytes -> Server-Sent Events
//! following: events of a query -> reports, over connections that break and come back
//! screen:    the latest report as a table that is drawn anew in its place
//! answer:    changes of a live query -> its answer
//! viewer:    reports -> a screen or a pipe, until enough came
//! listing:   streams and queries as tables for people, as lines of JSON for programs
//! ```
//!
//! Memory is bounded: some batches of a push, what one connection has brought of a subscription, and of a live query its answer, which
//! the server bounds.

mod answer;
mod door;
mod events;
mod following;
mod items;
mod listing;
mod order;
mod push;
mod report;
mod screen;
mod time;
mod viewer;

pub use door::{door, live_source};
pub use following::{Followed, Following};
pub use items::{ItemsForm, ItemsInput};
pub use listing::{Listed, print_all, print_one};
pub use push::{ItemTime, PushAccount, PushOptions, Pusher};
pub use time::{ahead, milliseconds, moment, span, speed};
pub use viewer::{End, View, Watch};

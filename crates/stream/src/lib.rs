//! The graph over time: streams, their windows, and which standing query is ready.
//!
//! A stream is a log of batches, a batch is a small immutable graph (a [slice](store::slice::Slice)), and a window is
//! a union of slices. [`Streams`] is the state machine of all that: messages in, effects out, time as an argument.
//!
//! ```text
//!  items, watermarks, ticks                                 standing queries
//!       |                                                          |
//!       v                                                          v
//!  watermark -> batch -> (seal) -> retention, panes <- reach <- instants
//!                 |        |              |                        |
//!               late    to be logged      '------> readiness <-----'
//!                                                      |
//!                                            evaluations: close, slices
//! ```
//!
//! | file | one idea |
//! |---|---|
//! | [`definition`] | what a stream is |
//! | `watermark` | what sources promise, and who is idle |
//! | `batch` | open batches and their seals |
//! | `vector` | how far each part has sealed, what is visible |
//! | `columns` | items of a sealed batch beside a slice |
//! | `retention` | sealed batches as slices, and panes of them |
//! | `reach` | what one window sees at an instant |
//! | `instants` | when a query is evaluated |
//! | `readiness` | who waits for what |
//! | `image` | how a stream stands, for a restart |
//! | [`difference`] | from answers to reports |
//!
//! Invariants, each with its test in `tests/`: an evaluation at a close sees all items of its windows and no others; it
//! comes as soon as its windows are covered, and not before; closes of one query ascend, and none is left out. Nothing
//! costs by what did not happen: empty batches, silent years and queries that nothing matches are stepped over.
//!
//! How it is driven, in one loop:
//!
//! ```
//! use query::standing::{Bounds, Extent, Origin, Report, When};
//! use rdf::{Tag, VertexId};
//! use store::GraphScope;
//! use stream::{Definition, Effect, Items, PartId, QueryId, Schedule, ScheduledWindow, SourceId, Streams, Time};
//!
//! let mut streams = Streams::new();
//! let likes = streams.create(Definition::new("http://example.org/likes"), Time(0))?;
//!
//! // A window of a second, closed every half second.
//! let window = ScheduledWindow {
//!     stream: likes,
//!     extent: Extent::Time { range_ms: 1000, step_ms: 500, origin: Origin::Epoch { offset_ms: 0 } },
//!     bounds: Bounds::LeftClosed,
//!     partial_first: false,
//! };
//! let report = Report { when: When::Close, nonempty: true, rows: false };
//! let schedule = Schedule { windows: vec![window], report, every_ms: None, lateness_ms: 0, asks_arrivals: false, sees_stored: false, revise_ms: None };
//! streams.register(QueryId(1), schedule, Time(0))?;
//!
//! let id = |number| VertexId::new(Tag::Iri, number);
//! let like = (id(1), id(2), id(3), GraphScope::DEFAULT_GRAPH);
//! streams.push(likes, SourceId(0), &Items::singles([(Time(120), like), (Time(1400), like)]))?;
//! streams.watermark(likes, SourceId(0), Time(2000))?;
//!
//! let mut reports = Vec::new();
//! while let Some(effect) = streams.poll() {
//!     match effect {
//!         // Here the seal is logged and its quads are committed; only then they are seen.
//!         Effect::Sealed(seal) => streams.sealed(PartId(0), seal.stream, seal.until)?,
//!         // Here it is logged that something came late; no query of this loop wants it.
//!         Effect::Late(late) => streams.revealed(&late)?,
//!         // Here the query's plan is walked over the union of the slices.
//!         Effect::Ready(ready) => reports.push((ready.close, ready.windows[0].items)),
//!     }
//! }
//! assert_eq!(reports, [(Time(1000), 1), (Time(1500), 1), (Time(2000), 1)]);
//! # Ok::<(), stream::StreamError>(())
//! ```

mod batch;
mod columns;
mod content;
pub mod definition;
pub mod difference;
mod error;
mod gaps;
mod image;
mod instants;
mod items;
mod reach;
mod readiness;
mod retention;
mod schedule;
mod stream;
mod streams;
mod time;
mod vector;
mod watermark;

pub use content::{Content, Evaluation};
pub use definition::{Absorb, Definition, DefinitionError};
pub use difference::Differences;
pub use error::StreamError;
pub use image::{ImageItems, StreamImage};
pub use items::Items;
pub use retention::Holdings;
pub use schedule::{QueryId, Schedule, ScheduleError, ScheduledWindow, StreamId};
pub use stream::{Accepted, LateSeal, Seal};
pub use streams::{Effect, StreamStatus, Streams};
pub use time::{SealPoint, Time};
pub use vector::PartId;
pub use watermark::{SourceId, SourceStatus};

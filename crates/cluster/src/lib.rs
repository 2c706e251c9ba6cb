//! One graph from many parts: any node answers any query, by fetching what it needs or by shipping the walk.
//!
//! Deliberately does not know: windows, devices, HTTP, threads, clocks.
//!
//! | idea | in |
//! |---|---|
//! | the whole graph as one node sees it: what is not at hand is fetched | [`view`], [`lexicon`] |
//! | where a step's rows are walked, and the sections of a plan | [`home`] |
//! | what each node does with its rows before they meet | [`home::at_data`] |
//! | what a question means where every node takes its share | [`home::share`] |
//! | a node: its part, and what nodes ask each other | [`ground`], `question`, `message` |
//! | lists read out of another node's memory, and where they lie | `reading` |
//! | terms that others were asked for once | `terms::known` |
//!
//! The placement ([`rdf::Placement`]) says who owns a vertex or a term; the [`fabric`] moves bytes.

mod ask;
mod bytes;
mod desk;
mod error;
mod figures;
pub mod ground;
mod held;
pub mod home;
pub mod host;
pub mod lexicon;
mod message;
pub mod node;
mod question;
mod reading;
mod register;
mod run;
pub mod running;
mod session;
mod sizes;
pub mod terms;
pub mod trace;
pub mod view;
pub mod visit;

pub use bytes::Malformed;
pub use figures::Figures;
pub use ground::Ground;
pub use home::share::Share;
pub use home::start;
pub use host::Host;
pub use lexicon::RemoteLexicon;
pub use message::{Mode, QueryId};
pub use node::{Node, PartsQuery};
pub use reading::locations::{KeptLocations, LOCATION_BYTES_MAX, ReadPolicy};
pub use run::Shipped;
pub use run::figures::{SectionFigures, SectionOfNode};
pub use run::span::Span;
pub use running::Running;
pub use session::{Fetched, KeyPage};
pub use terms::PartTerms;
pub use trace::Trace;
pub use view::RemoteView;
pub use visit::Visit;

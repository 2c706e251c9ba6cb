//! Standing questions over live data: streams come in, registered queries answer as their windows close.
//!
//! The state machine of `stream` decides what a window holds and which query is ready; here is what it needs of a
//! running database: ids for the terms of items (`items`), commits of what is absorbed (`hub`), plans over several
//! sources (`planned`) and their answers (`answer`). [`Hub`] drives it all in one loop, without a thread or a clock of its own:
//! a replay gives it the time of its files (`replay`), a server that of its wall.
//!
//! ```text
//!  items --ids--> Streams --seals--> one commit for all streams' batches of a moment --> sealed
//!                    |                                                                      |
//!                    '------ evaluations <----- the graph as that commit left it <----------'
//!                                 |
//!                        plan over store and windows --> rows --> differences --> reports
//! ```
//!
//! **What an answer sees.** An evaluation at close `c` comes after the commit of all batches that end by `c`, and before
//! the next one; so its stored side is the first commit that covers them (Wukong+S, SOSP'17 section 4.3).
//!
//! Live queries (`subscribe`) need no stream: they answer again as the store changes.
//!
//! **Repeatable.** `NOW` is the close; what is drawn by chance follows from the query's name and the close.

mod answer;
mod bindings;
mod costs;
mod hub;
mod info;
mod instances;
mod items;
mod journal;
mod live;
mod log;
mod many;
mod planned;
mod reading;
mod recorded;
mod recovery;
mod registered;
mod replay;
mod report;
mod revised;
mod setting;
mod subscribe;
mod whole;
mod windows;

pub use bindings::{BindingsFormat, read_bindings};
pub use costs::HubCosts;
pub use hub::{Hub, Reported};
pub use info::{
    Arrivals, HubStream, LastReport, QueryInfo, SourceInfo, StreamFigures, StreamInfo,
    TemplateInfo, WindowInfo,
};
pub use instances::{Binding, Bindings};
pub use items::{BlankScope, Positions, TimedQuads};
pub use journal::{JournalEntry, JournalRead};
pub use live::{Live, Pushed};
pub use reading::read_standing;
pub use recorded::{recorded, statements};
pub use replay::{Recording, Replay, ReplaySpan};
pub use report::document::{ReportDocument, ReportRows};
pub use report::{ReportKind, ReportRow, StandingReport};
pub use subscribe::{
    ChangePieces, LiveChange, Subscriber, SubscriptionFigures, SubscriptionInfo,
    SubscriptionLimits, Subscriptions, WeightedRow,
};
pub use whole::{WholeStore, whole_store};

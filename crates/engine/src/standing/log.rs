//! What the log and the store's generations keep of streams and standing queries.
//!
//! - [`codec`]: numbers, texts and terms as bytes;
//! - [`messages`]: what records of the log say;
//! - [`items`]: items as text and back;
//! - [`image`]: how everything stands at one moment, for a generation.

pub(super) mod codec;
pub(super) mod image;
pub(super) mod items;
pub(super) mod messages;

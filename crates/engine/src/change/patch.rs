//! RDF Patch as an update: its operations, from [`query::update::parse_patch`], and errors in the façade's words.
//!
//! What its terms take is drawn on the request's budget while they are read.

use super::charge::Charge;
use super::store_write::GraphTarget;
use crate::error::QueryError;
use crate::request::context::Context;
use crate::request::reading::parse_options;
use query::update::{PatchTarget, Update, parse_patch};
use query::{Limit, ParseError, ParseErrorKind};

/// The media type.
pub const RDF_PATCH: &str = "application/rdf-patch";

/// The operations of a patch of a graph, or of the store. `base`: what relative IRIs are resolved against.
pub(super) fn read(
    context: &Context,
    text: &str,
    target: &GraphTarget,
    base: Option<&str>,
) -> Result<Update, QueryError> {
    let text_max = context.shared.options.update_text_max_bytes;
    let options = parse_options(base, text_max, false);
    let target = match target {
        GraphTarget::Store => PatchTarget::Store,
        GraphTarget::Default => PatchTarget::Default,
        GraphTarget::Named(name) => PatchTarget::Graph(name),
    };
    let mut held = Charge::new(&context.budget);
    let mut refused = None;
    let mut room = |bytes: u64| {
        let grown = held.grow(bytes.saturating_sub(held.bytes()));
        grown.map_err(|error| refused = Some(error)).is_ok()
    };
    match parse_patch(text, target, &options, &mut room) {
        Ok(Some(update)) => Ok(update),
        Ok(None) => Err(refused.expect("reading ends where room is refused")),
        Err(error) => Err(no_patch(error)),
    }
}

fn no_patch(error: ParseError) -> QueryError {
    let kind = error.kind;
    let mut error = QueryError::from(error);
    let (message, hint) = match kind {
        ParseErrorKind::Syntax => (
            format!("this is no RDF Patch: {}", error.message),
            "a line is `A s p o .` or `D s p o .`, with a fourth term for a graph",
        ),
        ParseErrorKind::Limit {
            limit: Limit::TextBytes,
            ..
        } => (
            "the patch is longer than the text of an update may be".to_owned(),
            "send it in parts",
        ),
        _ => return error,
    };
    error.message = message;
    error.with_hint(hint)
}

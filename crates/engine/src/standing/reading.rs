//! From the text of a standing query to what is registered.

use crate::database::Database;
use crate::error::QueryError;
use crate::options::Options;
use crate::request::reading::parse_options;
use query::standing::{self, StandingQuery, StandingTemplate};

/// Reads a standing query in one of the dialects, with the limits that the database has for texts. Needs
/// `query::STACK_BYTES_MIN` (2 MiB) of stack.
pub fn read_standing(database: &Database, text: &str) -> Result<StandingQuery, QueryError> {
    read_with(&database.shared().options, text)
}

/// The same with the options that a database is opened with.
pub(super) fn read_with(options: &Options, text: &str) -> Result<StandingQuery, QueryError> {
    let options = parse_options(None, options.text_max_bytes, options.union_default_graph);
    Ok(standing::parse(text, &options)?)
}

/// The same of a template, whose variables `parameters` a table gives terms to.
pub(super) fn read_template(
    database: &Database,
    text: &str,
    parameters: &[String],
) -> Result<StandingTemplate, QueryError> {
    read_template_with(&database.shared().options, text, parameters)
}

/// The same with the options that a database is opened with.
pub(super) fn read_template_with(
    options: &Options,
    text: &str,
    parameters: &[String],
) -> Result<StandingTemplate, QueryError> {
    let options = parse_options(None, options.text_max_bytes, options.union_default_graph);
    Ok(standing::parse_template(text, &options, parameters)?)
}

//! How a text is to be read, and what is said of it beside the text.
//!
//! Translation and lowering follow these options, and [`mod@crate::parse`] calls both; so the options stand below.

use crate::error::{ParseError, ParseErrorKind};
use crate::limits::Limits;
use crate::position::Position;
use oxiri::Iri;
use oxrdf::Term;

/// How a text is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// What relative IRIs are resolved against; a BASE in the text replaces it.
    pub base: Option<String>,
    /// Prefixes (without the colon) that are declared beforehand, with their IRIs.
    pub prefixes: Vec<(String, String)>,
    /// Whether a text without a dataset clause sees the merge of all graphs as its default graph
    /// ([`crate::plan::DatasetClause::union_default`]).
    pub union_default_graph: bool,
    /// What the text may hold.
    pub limits: Limits,
}

/// What is said of a query beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Terms for variables of the text, without question mark: as if `VALUES ?name { TERM }` were the first
    /// element of `WHERE` and of each group in it that has ?name. No blank node is one.
    pub terms: Vec<(String, Term)>,
    /// Solutions of a `SELECT` that are skipped (count), of those that the text's own `OFFSET` and `LIMIT`
    /// leave.
    pub offset: u64,
    /// Solutions after these at most (count); `None`: all.
    pub limit: Option<u64>,
}

impl Given {
    /// Whether nothing is said.
    pub fn is_nothing(&self) -> bool {
        self.terms.is_empty() && !self.is_sliced()
    }

    /// Whether only a part of the solutions is wanted.
    pub(crate) fn is_sliced(&self) -> bool {
        self.offset > 0 || self.limit.is_some()
    }
}

/// Refuses a base or a prefix of the options that is no IRI.
pub(crate) fn check_options(options: &ParseOptions) -> Result<(), ParseError> {
    let refused = |what: &str, iri: &str, error: &dyn std::fmt::Display| ParseError {
        kind: ParseErrorKind::Option,
        position: Position::START,
        message: format!("{what} <{iri}> is not an IRI: {error}"),
    };
    if let Some(base) = &options.base {
        Iri::parse(base.as_str()).map_err(|error| refused("base", base, &error))?;
    }
    for (prefix, iri) in &options.prefixes {
        Iri::parse(iri.as_str())
            .map_err(|error| refused(&format!("prefix {prefix}:"), iri, &error))?;
    }
    Ok(())
}

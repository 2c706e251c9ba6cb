//! `SERVICE`: the query that is sent, and the variables that come back.
//!
//! The pattern is another endpoint's business: it is printed as it was parsed (SPARQL 1.1 Federated
//! Query section 4), not translated, and a graph around it means nothing to it.

use super::group::Pipeline;
use super::{Lowering, print};
use crate::algebra::{Element, Service};
use crate::parse::ParseError;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use std::collections::HashSet;

impl Lowering<'_> {
    pub(super) fn service(
        &mut self,
        endpoint: &NamedNodePattern,
        inner: &GraphPattern,
        silent: bool,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        inner.on_in_scope_variable(|variable| {
            if seen.insert(variable.as_str()) {
                names.push(variable.as_str());
            }
        });
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let slot = self.named(name)?;
            table.maybe.insert(slot);
            columns.push((name.to_owned(), slot));
        }
        let service = Service {
            endpoint: self.name(endpoint)?,
            silent,
            text: print::select(&columns, inner),
            columns,
        };
        table.elements.push(Element::Service(service));
        Ok(())
    }
}

//! `SERVICE`: the query that is sent, and the variables that come back.
//!
//! The pattern is another endpoint's business: it is printed as it was parsed (SPARQL 1.1 Federated
//! Query section 4), not translated, and a graph around it means nothing to it.

use super::group::Pipeline;
use super::{Lowering, print};
use crate::algebra::{Element, Service};
use crate::guard::limits::Limits;
use crate::guard::{self, token::TokenKind};
use crate::parse::ParseError;
use crate::plan::Node;
use crate::translate::in_scope;
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;
use std::collections::HashMap;
use std::fmt::Write;

impl Lowering<'_> {
    pub(super) fn service(
        &mut self,
        endpoint: &NamedNodePattern,
        inner: &GraphPattern,
        silent: bool,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let names = in_scope(inner).into_iter().map(Variable::as_str);
        let mut columns = Vec::new();
        for name in names {
            let slot = self.named(name)?;
            table.maybe.insert(slot);
            columns.push((name.to_owned(), slot));
        }
        let endpoint = self.name(endpoint)?;
        if let Node::Slot(slot) = endpoint {
            table.maybe.insert(slot);
        }
        let service = Service {
            endpoint,
            silent,
            text: self.settled(&print::select(&columns, inner)),
            columns,
        };
        table.elements.push(Element::Service(service));
        Ok(())
    }

    /// The text with short names in the place of those that the parser makes up by chance: the same
    /// query gives the same text.
    fn settled(&self, text: &str) -> String {
        let Ok(tokens) = guard::scan(text, &Limits::NONE) else {
            return text.to_owned();
        };
        let mut names: HashMap<&str, String> = HashMap::new();
        let mut number = 0;
        let mut settled = String::with_capacity(text.len());
        let mut copied = 0;
        for &token in &tokens.tokens {
            let slice = tokens.slice(token);
            let is_made_up = match token.kind {
                TokenKind::Variable => !self.written.contains(&slice[1..]),
                TokenKind::BlankNode => true,
                _ => false,
            };
            if !is_made_up {
                continue;
            }
            let name = names.entry(slice).or_insert_with(|| {
                let sigil = if token.kind == TokenKind::Variable {
                    "?"
                } else {
                    "_:"
                };
                while self.written.contains(format!("v{number}").as_str()) {
                    number += 1;
                }
                number += 1;
                format!("{sigil}v{}", number - 1)
            });
            let _ = write!(settled, "{}{name}", &text[copied..token.start as usize]);
            copied = token.end as usize;
        }
        settled + &text[copied..]
    }
}

//! `SERVICE`: the query that is sent, and the variables that come back.
//!
//! The pattern is another endpoint's business: it is printed as it was parsed (SPARQL 1.1 Federated
//! Query section 4), not translated, and a graph around it means nothing to it.

use super::Lowering;
use super::group::Pipeline;
use super::print::Printer;
use crate::algebra::{Element, Service};
use crate::error::ParseError;
use crate::grammar::abstract_query::{GraphPattern, NamePattern};
use crate::grammar::lexer::{self, token::TokenKind};
use crate::grammar::translate::in_scope;
use crate::limits::Limits;
use crate::plan::Node;
use std::collections::HashMap;
use std::fmt::Write;

impl Lowering<'_> {
    pub(super) fn service(
        &mut self,
        endpoint: NamePattern,
        inner: &GraphPattern,
        silent: bool,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let names = in_scope(inner);
        let printer = Printer::new(&self.terms);
        let text = self.settled(&printer.select(&names, inner));
        let mut columns = Vec::new();
        for name in names {
            let slot = self.variable(name)?;
            table.maybe.insert(slot);
            // What the endpoint calls it does not matter where the text has no name for it.
            columns.extend(self.terms.text(name).map(|text| (text.to_owned(), slot)));
        }
        let endpoint = self.name(endpoint)?;
        if let Node::Slot(slot) = endpoint {
            table.maybe.insert(slot);
        }
        let service = Service {
            endpoint,
            silent,
            text,
            columns,
        };
        table.elements.push(Element::Service(service));
        Ok(())
    }

    /// The text with short names in the place of those that the parser makes up by chance: the same
    /// query gives the same text.
    fn settled(&self, text: &str) -> String {
        let Ok(tokens) = lexer::scan(text, &Limits::NONE) else {
            return text.to_owned();
        };
        let mut names: HashMap<&str, String> = HashMap::new();
        let mut number = 0;
        let mut settled = String::with_capacity(text.len());
        let mut copied = 0;
        for &token in &tokens.tokens {
            let slice = tokens.slice(token);
            let is_made_up = match token.kind {
                TokenKind::Variable => self.terms.known(&slice[1..]).is_none(),
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
                while self.terms.known(&format!("v{number}")).is_some() {
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

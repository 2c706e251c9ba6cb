//! Groups and what stands in them; inline data.

use super::tree::NodeKind;
use super::{Parsed, Parser};
use crate::grammar::lexer::token::TokenKind;

impl Parser<'_> {
    /// GroupGraphPattern.
    pub(super) fn group(&mut self) -> Parsed {
        self.link(2)?;
        self.deeper(Self::group_within)
    }

    fn group_within(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect("{")?;
        if self.is_word("SELECT") {
            self.select(false)?;
        } else {
            self.elements()?;
        }
        if !self.is("}") {
            return Err(self.unexpected("`}`"));
        }
        self.bump();
        self.close(mark, NodeKind::Group);
        Ok(())
    }

    /// GroupGraphPatternSub.
    fn elements(&mut self) -> Parsed {
        // Whether triples may follow: not right after others without a dot.
        let mut may_be_triples = true;
        while !self.is("}") {
            let element = |parser: &mut Self| parser.element(&mut may_be_triples);
            if self.attempt(element, Self::is_at_element)? {
                self.eat(".");
                may_be_triples = true;
            }
        }
        Ok(())
    }

    fn element(&mut self, may_be_triples: &mut bool) -> Parsed {
        if self.other_than_triples()? {
            self.eat(".");
            *may_be_triples = true;
            return Ok(());
        }
        if self.is_word("UNION") {
            return Err(self.refused("UNION stands between groups: { ... } UNION { ... }"));
        }
        if !*may_be_triples {
            self.missing(self.unexpected("`.`, `;`, `,` or `}`"))?;
        }
        self.triples(true)?;
        *may_be_triples = self.eat(".");
        Ok(())
    }

    /// GraphPatternNotTriples; false where there is none.
    fn other_than_triples(&mut self) -> Parsed<bool> {
        if self.is("{") {
            self.union()?;
            return Ok(true);
        }
        if self.kind() != Some(TokenKind::Word) {
            return Ok(false);
        }
        let mark = self.mark();
        let kind = if self.eat_word("OPTIONAL") {
            self.inner_group()?;
            NodeKind::Optional
        } else if self.eat_word("FILTER") {
            self.link(1)?;
            self.constraint()?;
            NodeKind::Filter
        } else if self.eat_word("GRAPH") {
            if self.is_standing && !self.is_variable() {
                self.stream_name("a variable, an IRI or a name")?;
            } else {
                self.variable_or_iri()?;
            }
            self.inner_group()?;
            NodeKind::Graph
        } else if self.eat_word("BIND") {
            self.link(1)?;
            self.expression_as("AS and a variable: BIND(... AS ?name)")?;
            NodeKind::Bind
        } else if self.is_word("VALUES") {
            self.values()?;
            return Ok(true);
        } else if self.eat_word("MINUS") {
            self.inner_group()?;
            NodeKind::Minus
        } else if self.eat_word("SERVICE") {
            if self.is_word("SILENT") {
                self.leaf(NodeKind::Silent);
            }
            self.variable_or_iri()?;
            self.inner_group()?;
            NodeKind::Service
        } else if self.eat_word("LATERAL") {
            self.inner_group()?;
            NodeKind::Lateral
        } else if self.is_standing {
            return self.window();
        } else {
            return Ok(false);
        };
        self.close(mark, kind);
        Ok(true)
    }

    pub(super) fn inner_group(&mut self) -> Parsed {
        if !self.is("{") {
            return Err(self.unexpected("`{`"));
        }
        self.group()
    }

    /// GroupOrUnionGraphPattern.
    fn union(&mut self) -> Parsed {
        let mark = self.mark();
        self.group()?;
        if self.is_word("UNION") {
            while self.eat_word("UNION") {
                self.inner_group()?;
            }
            self.close(mark, NodeKind::Union);
        }
        Ok(())
    }

    /// `VALUES` with its DataBlock.
    pub(super) fn values(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect_word("VALUES")?;
        self.link(2)?;
        let is_list = self.eat("(");
        if is_list {
            while self.is_variable() {
                self.listed_variable()?;
            }
            self.expect(")")?;
        } else {
            if !self.is_variable() {
                return Err(self.unexpected("a variable, or variables in brackets"));
            }
            self.variable()?;
        }
        self.expect("{")?;
        while !self.is("}") {
            let row = self.mark();
            if is_list {
                if !self.is("(") {
                    return Err(self.unexpected("a row in brackets, or `}`"));
                }
                self.bump();
                while !self.is(")") {
                    self.value()?;
                }
                self.bump();
            } else {
                self.value()?;
            }
            self.close(row, NodeKind::Row);
        }
        self.bump();
        self.close(mark, NodeKind::Values);
        Ok(())
    }

    /// A text that is one term.
    pub(super) fn one_term(&mut self) -> Parsed {
        let mark = self.mark();
        const EXPECTED: &str = "one term: an IRI in <>, a literal or a number";
        if self.is("<<(") {
            self.triple_term()?;
        } else if !self.ground_term()? {
            return Err(self.unexpected(EXPECTED));
        }
        if self.token(0).is_some() {
            return Err(self.unexpected(EXPECTED));
        }
        self.close(mark, NodeKind::Unit);
        Ok(())
    }

    /// DataBlockValue.
    fn value(&mut self) -> Parsed {
        if self.is_word("UNDEF") {
            self.leaf(NodeKind::Undef);
            return Ok(());
        }
        if self.is("<<(") {
            return self.triple_term();
        }
        if !self.ground_term()? {
            return Err(self.unexpected("an IRI, a literal or UNDEF"));
        }
        Ok(())
    }
}

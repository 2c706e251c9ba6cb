//! Expressions.

use super::builtin::{self, Arguments};
use super::tree::NodeKind;
use super::{GrammarError, Parsed, Parser, hint, quoted};
use crate::grammar::lexer::token::TokenKind;

impl Parser<'_> {
    /// Expression: a chain of `||`.
    pub(super) fn expression(&mut self) -> Parsed {
        let mark = self.mark();
        self.conjunction()?;
        if self.is("||") {
            while self.eat("||") {
                self.link(1)?;
                self.conjunction()?;
            }
            self.close(mark, NodeKind::Or);
        }
        Ok(())
    }

    /// ConditionalAndExpression.
    fn conjunction(&mut self) -> Parsed {
        let mark = self.mark();
        self.relation()?;
        if self.is("&&") {
            while self.eat("&&") {
                self.link(1)?;
                self.relation()?;
            }
            self.close(mark, NodeKind::And);
        }
        Ok(())
    }

    /// RelationalExpression.
    fn relation(&mut self) -> Parsed {
        let mark = self.mark();
        self.sum()?;
        let kind = match self.kind() {
            Some(TokenKind::Operator) => match self.slice() {
                "=" => NodeKind::Equal,
                "!=" => NodeKind::NotEqual,
                "<" => NodeKind::Less,
                "<=" => NodeKind::LessOrEqual,
                ">" => NodeKind::Greater,
                ">=" => NodeKind::GreaterOrEqual,
                "<<" | "<<(" => {
                    return Err(self.refused("it begins a triple: put a blank after the first `<`"));
                }
                _ => return Ok(()),
            },
            Some(TokenKind::Iri) => return Err(self.iri_behind_operand()),
            Some(TokenKind::Word) if self.is_word("IN") => NodeKind::In,
            Some(TokenKind::Word) if self.is_word("NOT") && self.is_word_ahead(1, "IN") => {
                self.bump();
                NodeKind::NotIn
            }
            _ => return Ok(()),
        };
        self.bump();
        self.link(1)?;
        if matches!(kind, NodeKind::In | NodeKind::NotIn) {
            self.arguments()?;
        } else {
            self.sum()?;
        }
        self.close(mark, kind);
        Ok(())
    }

    /// What was meant as a comparison: the longest token counts (SPARQL 1.1 Query section 19.8).
    #[cold]
    fn iri_behind_operand(&self) -> GrammarError {
        let iri = self.slice();
        if iri == "<>" {
            let message = "unexpected `<>`: SPARQL writes `!=` for `<>`".to_owned();
            return GrammarError::at(self.at, message);
        }
        let operator = if iri.starts_with("<=") { "<=" } else { "<" };
        let iri = quoted(iri);
        GrammarError::at(
            self.at,
            format!("{iri} is read as an IRI: put a blank after `{operator}`"),
        )
    }

    /// AdditiveExpression.
    fn sum(&mut self) -> Parsed {
        let mark = self.mark();
        self.product()?;
        if self.is("+") || self.is("-") {
            while self.eat("+") || self.eat("-") {
                self.link(1)?;
                self.product()?;
            }
            self.close(mark, NodeKind::Sum);
        }
        Ok(())
    }

    /// MultiplicativeExpression.
    fn product(&mut self) -> Parsed {
        let mark = self.mark();
        self.unary()?;
        if self.is("*") || self.is("/") {
            while self.eat("*") || self.eat("/") {
                self.link(1)?;
                self.unary()?;
            }
            self.close(mark, NodeKind::Product);
        }
        Ok(())
    }

    /// UnaryExpression.
    fn unary(&mut self) -> Parsed {
        let mark = self.mark();
        if self.eat("!") {
            self.deeper(Self::unary)?;
            self.close(mark, NodeKind::Not);
        } else if self.is_signed_number() {
            self.ground_term()?;
        } else if self.eat("-") {
            self.primary()?;
            self.close(mark, NodeKind::Negative);
        } else if self.eat("+") {
            self.primary()?;
            self.close(mark, NodeKind::Positive);
        } else {
            self.primary()?;
        }
        Ok(())
    }

    /// PrimaryExpression.
    fn primary(&mut self) -> Parsed {
        match self.kind() {
            Some(TokenKind::Variable) => self.variable(),
            Some(TokenKind::Operator) if self.is("(") => self.parenthesised(),
            Some(TokenKind::Operator) if self.is("<<(") => self.triple_term(),
            Some(TokenKind::Iri | TokenKind::PrefixedName) if self.is_ahead(1, "(") => {
                self.function_call()
            }
            Some(TokenKind::Word) if !(self.is_word("true") || self.is_word("false")) => {
                self.builtin_call()
            }
            _ => {
                if self.ground_term()? {
                    return Ok(());
                }
                Err(self.unexpected_operator("an expression"))
            }
        }
    }

    /// BrackettedExpression.
    pub(super) fn parenthesised(&mut self) -> Parsed {
        let mark = self.mark();
        self.deeper(|parser| {
            parser.expect("(")?;
            parser.expression()?;
            parser.end_of_arguments("an operator or `)`")
        })?;
        self.close(mark, NodeKind::Parenthesised);
        Ok(())
    }

    fn end_of_arguments(&mut self, expected: &str) -> Parsed {
        if !self.is(")") {
            return Err(self.unexpected_operator(expected));
        }
        self.bump();
        Ok(())
    }

    /// Constraint.
    pub(super) fn constraint(&mut self) -> Parsed {
        self.link(1)?;
        if self.is("(") {
            return self.parenthesised();
        }
        if self.is_iri() {
            if !self.is_ahead(1, "(") {
                self.bump();
                return Err(self.unexpected("`(` and the arguments of the function"));
            }
            return self.function_call();
        }
        if self.kind() != Some(TokenKind::Word) {
            return Err(self.unexpected("a condition in brackets, FILTER(...), or a call"));
        }
        self.builtin_call()
    }

    /// FunctionCall, with the DISTINCT of an aggregate that is named by an IRI.
    fn function_call(&mut self) -> Parsed {
        let mark = self.mark();
        self.iri()?;
        if self.is_word_ahead(1, "DISTINCT") {
            self.deeper(|parser| {
                parser.bump();
                parser.leaf(NodeKind::Distinct);
                parser.expression()?;
                while parser.eat(",") {
                    parser.expression()?;
                }
                parser.end_of_arguments("an operator, `,` or `)`")
            })?;
        } else {
            self.arguments()?;
        }
        self.close(mark, NodeKind::FunctionCall);
        Ok(())
    }

    /// ArgList, ExpressionList.
    fn arguments(&mut self) -> Parsed {
        self.deeper(|parser| {
            if !parser.is("(") {
                return Err(parser.unexpected("`(`"));
            }
            parser.bump();
            if parser.eat(")") {
                return Ok(());
            }
            parser.expression()?;
            while parser.eat(",") {
                parser.expression()?;
            }
            parser.end_of_arguments("an operator, `,` or `)`")
        })
    }

    /// BuiltInCall.
    fn builtin_call(&mut self) -> Parsed {
        let mark = self.mark();
        if self.is_word("EXISTS") {
            self.bump();
            self.pattern_of_exists()?;
            self.close(mark, NodeKind::Exists);
            return Ok(());
        }
        if self.is_word("NOT") && self.is_word_ahead(1, "EXISTS") {
            self.bump();
            self.bump();
            self.pattern_of_exists()?;
            self.close(mark, NodeKind::NotExists);
            return Ok(());
        }
        let word = self.slice();
        if let Some(aggregate) = builtin::aggregate(word) {
            let counted = self.counts.aggregate();
            counted.map_err(|exceeded| self.exceeds(exceeded))?;
            self.bump();
            self.deeper(|parser| parser.aggregate(aggregate))?;
            self.close(mark, NodeKind::Aggregate);
            return Ok(());
        }
        let Some(builtin) = builtin::builtin(word) else {
            return Err(self.unknown_word());
        };
        let (name_at, count_from) = (self.at, self.mark());
        self.bump();
        if builtin.arguments == Arguments::Variable {
            self.deeper(|parser| {
                parser.expect("(")?;
                parser.variable()?;
                parser.expect(")")
            })?;
        } else {
            let given = self.counted_arguments()?;
            if !builtin.arguments.allow(given) {
                let name = word.to_ascii_uppercase();
                let wanted = builtin.arguments;
                return Err(GrammarError::at(
                    name_at,
                    format!("{name} takes {wanted}, not {given}"),
                ));
            }
        }
        self.close(count_from, NodeKind::Call);
        Ok(())
    }

    fn pattern_of_exists(&mut self) -> Parsed {
        if !self.is("{") {
            return Err(self.unexpected("`{`"));
        }
        self.group()
    }

    /// Arguments, and how many they are.
    fn counted_arguments(&mut self) -> Parsed<usize> {
        let mut given = 0;
        self.deeper(|parser| {
            if !parser.is("(") {
                return Err(parser.unexpected("`(`"));
            }
            parser.bump();
            if parser.eat(")") {
                return Ok(());
            }
            parser.expression()?;
            given = 1;
            while parser.eat(",") {
                parser.expression()?;
                given += 1;
            }
            parser.end_of_arguments("an operator, `,` or `)`")
        })?;
        Ok(given)
    }

    /// What stands in the brackets of an Aggregate.
    fn aggregate(&mut self, aggregate: builtin::AggregateName) -> Parsed {
        self.expect("(")?;
        if self.is_word("DISTINCT") {
            self.leaf(NodeKind::Distinct);
        }
        if aggregate == builtin::AggregateName::Count && self.is("*") {
            self.leaf(NodeKind::Star);
        } else {
            self.expression()?;
        }
        if aggregate == builtin::AggregateName::GroupConcat && self.eat(";") {
            self.expect_word("SEPARATOR")?;
            self.expect("=")?;
            if self.kind() != Some(TokenKind::String) {
                return Err(self.unexpected("a separator in quotes"));
            }
            self.leaf(NodeKind::Separator);
        }
        self.end_of_arguments("an operator or `)`")
    }

    /// A word that is no function.
    #[cold]
    fn unknown_word(&self) -> GrammarError {
        let meant_exists = |word: &str| hint::keyword(word, false) == Some("EXISTS");
        if self.is_word("NOT") {
            let is_word = self
                .token(1)
                .is_some_and(|token| token.kind == TokenKind::Word);
            if is_word && self.is_ahead(2, "{") && meant_exists(self.slice_ahead(1)) {
                let word = quoted(self.slice_ahead(1));
                let message = format!("unexpected {word}: did you mean EXISTS?");
                return GrammarError::at(self.at + 1, message);
            }
            return self
                .refused("SPARQL writes `!` for NOT, and has NOT EXISTS { ... } and NOT IN (...)");
        }
        if meant_exists(self.slice()) && self.is_ahead(1, "{") {
            return self.refused("did you mean EXISTS?");
        }
        if !self.is_ahead(1, "(") {
            return self.unexpected_operator("an expression");
        }
        if self.slice().eq_ignore_ascii_case("timestamp") {
            return self.refused(
                "this function has an IRI and takes the three terms of a triple: write cs:timestamp(?s, ?p, ?o)",
            );
        }
        match builtin::nearest(self.slice()) {
            Some(name) => self.refused(&format!("no function has this name; did you mean {name}?")),
            None => self.refused("no function has this name"),
        }
    }
}

//! Prologue, query forms, their clauses and modifiers.

use super::builtin::is_function;
use super::tree::{Mark, NodeKind};
use super::{GrammarError, Parsed, Parser};
use crate::grammar::lexer::token::{Token, TokenKind};
use crate::limits::Limits;

impl Parser<'_> {
    /// QueryUnit.
    pub(super) fn query_unit(&mut self) -> Parsed {
        let mark = self.mark();
        self.prologue()?;
        self.one_query(mark)
    }

    /// The query behind a prologue that began at the mark, up to the end of the text.
    pub(super) fn one_query(&mut self, mark: Mark) -> Parsed {
        let form = self.slice();
        if self.is_word("SELECT") {
            self.select(true)?;
        } else if self.is_word("ASK") {
            self.ask()?;
        } else if self.is_word("CONSTRUCT") {
            self.construct()?;
        } else if self.is_word("DESCRIBE") {
            self.describe()?;
        } else {
            if self.slice().eq_ignore_ascii_case("@prefix") {
                return Err(
                    self.refused("SPARQL writes PREFIX without `@`, and without a dot behind it")
                );
            }
            return Err(self.unexpected("SELECT, ASK, CONSTRUCT or DESCRIBE"));
        }
        if self.token(0).is_some() {
            return Err(self.behind_the_end(form));
        }
        self.close(mark, NodeKind::Unit);
        Ok(())
    }

    /// That something follows a query.
    #[cold]
    fn behind_the_end(&self, form: &str) -> GrammarError {
        const CLAUSES: [&str; 8] = [
            "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES",
        ];
        if CLAUSES.iter().any(|clause| self.is_word(clause)) {
            return self.refused(
                "a clause stands once and in its order: FROM, WHERE { ... }, GROUP BY, HAVING, ORDER BY, \
                 LIMIT and OFFSET, VALUES",
            );
        }
        if self.is(",") {
            return self.refused("SPARQL writes LIMIT 20 OFFSET 10, and no comma");
        }
        let form = form.to_ascii_uppercase();
        self.unexpected(&format!("the end of the {form} query"))
    }

    /// Prologue.
    pub(super) fn prologue(&mut self) -> Parsed {
        while self.is_word("PREFIX") || self.is_word("BASE") || self.is_word("VERSION") {
            self.attempt(Self::declaration, Self::is_at_unit)?;
        }
        Ok(())
    }

    /// One declaration of a prologue.
    fn declaration(&mut self) -> Parsed {
        let mark = self.mark();
        if self.eat_word("PREFIX") {
            self.prefix_name()?;
            self.bracketed_iri()?;
            self.close(mark, NodeKind::Prefix);
        } else if self.eat_word("BASE") {
            self.bracketed_iri()?;
            self.close(mark, NodeKind::Base);
        } else {
            self.expect_word("VERSION")?;
            let version = self.slice();
            let is_short = !(version.starts_with("\"\"\"") || version.starts_with("'''"));
            if self.kind() != Some(TokenKind::String) || !is_short {
                return Err(self.unexpected("a version in quotes, such as \"1.2\""));
            }
            self.bump();
            self.close(mark, NodeKind::Version);
        }
        Ok(())
    }

    fn prefix_name(&mut self) -> Parsed {
        let is_name = self.kind() == Some(TokenKind::PrefixedName);
        if !is_name || !self.slice().ends_with(':') || self.slice().matches(':').count() > 1 {
            return Err(self.unexpected("a prefix that ends with a colon, such as `ex:`"));
        }
        self.bump();
        Ok(())
    }

    fn bracketed_iri(&mut self) -> Parsed {
        if self.kind() != Some(TokenKind::Iri) {
            return Err(self.unexpected("an IRI in <>"));
        }
        self.leaf(NodeKind::Iri);
        Ok(())
    }

    /// SelectQuery, or SubSelect, which has no dataset.
    pub(super) fn select(&mut self, is_query: bool) -> Parsed {
        let mark = self.mark();
        self.expect_word("SELECT")?;
        if is_query {
            self.stream_relation();
        } else {
            self.list_names(Limits::NAMES_PER_SELECT)?;
        }
        if self.is_word("DISTINCT") {
            self.leaf(NodeKind::Distinct);
        } else if self.is_word("REDUCED") {
            self.leaf(NodeKind::Reduced);
        }
        self.attempt(Self::items, Self::is_at_pattern)?;
        if is_query {
            self.attempt(Self::dataset, Self::is_at_pattern)?;
        }
        self.where_clause()?;
        self.modifiers()?;
        self.close(mark, NodeKind::Select);
        Ok(())
    }

    fn items(&mut self) -> Parsed {
        let mark = self.mark();
        if self.is("*") {
            self.leaf(NodeKind::Star);
        } else {
            while self.item()? {}
        }
        self.close(mark, NodeKind::Items);
        Ok(())
    }

    /// One that is selected; false where there is none.
    fn item(&mut self) -> Parsed<bool> {
        if self.is_variable() {
            self.listed_variable()?;
        } else if self.is("(") {
            self.list_names(1)?;
            let mark = self.mark();
            self.expression_as("AS and a variable: (... AS ?name)")?;
            self.close(mark, NodeKind::As);
        } else if self.kind() == Some(TokenKind::Word) && is_function(self.slice()) {
            let name = self.slice().to_ascii_uppercase();
            return Err(self.refused(&format!(
                "what SELECT computes stands in brackets and has a name: ({name}(...) AS ?name)"
            )));
        } else {
            let before = self.tokens.tokens[self.at - 1];
            let is_none = before.kind == TokenKind::Word && {
                let word = self.tokens.slice(before);
                [
                    "SELECT", "DISTINCT", "REDUCED", "RSTREAM", "ISTREAM", "DSTREAM",
                ]
                .iter()
                .any(|keyword| keyword.eq_ignore_ascii_case(word))
            };
            if is_none {
                return Err(self.unexpected("`*`, variables or (... AS ?name)"));
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// `( Expression AS Var )`.
    pub(super) fn expression_as(&mut self, otherwise: &str) -> Parsed {
        self.link(1)?;
        self.deeper(|parser| {
            parser.expect("(")?;
            parser.expression()?;
            if !parser.eat_word("AS") {
                return Err(parser.unexpected(otherwise));
            }
            parser.variable()?;
            parser.expect(")")
        })
    }

    /// A variable of a list.
    pub(super) fn listed_variable(&mut self) -> Parsed {
        self.list_names(1)?;
        self.variable()
    }

    fn list_names(&mut self, more: u64) -> Parsed {
        let counted = self.counts.names(more);
        counted.map_err(|exceeded| self.exceeds(exceeded))
    }

    fn ask(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect_word("ASK")?;
        self.dataset()?;
        self.where_clause()?;
        self.modifiers()?;
        self.close(mark, NodeKind::Ask);
        Ok(())
    }

    fn construct(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect_word("CONSTRUCT")?;
        self.stream_relation();
        if self.is("{") {
            self.template()?;
            self.dataset()?;
            self.where_clause()?;
        } else {
            self.dataset()?;
            self.expect_word("WHERE")?;
            self.template()?;
        }
        self.modifiers()?;
        self.close(mark, NodeKind::Construct);
        Ok(())
    }

    /// ConstructTemplate: triples without paths.
    pub(super) fn template(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect("{")?;
        while !self.is("}") {
            let recovered = self.attempt(|parser| parser.triples(false), Self::is_at_triples)?;
            if !self.eat(".") && !self.is("}") && !recovered {
                self.missing(self.unexpected("`.`, `;`, `,` or `}`"))?;
            }
        }
        self.expect("}")?;
        self.close(mark, NodeKind::Template);
        Ok(())
    }

    fn describe(&mut self) -> Parsed {
        let mark = self.mark();
        self.expect_word("DESCRIBE")?;
        let items = self.mark();
        if self.is("*") {
            self.leaf(NodeKind::Star);
        } else {
            self.list_names(1)?;
            self.variable_or_iri()?;
            while self.is_variable() || self.is_iri() {
                self.list_names(1)?;
                self.variable_or_iri()?;
            }
        }
        self.close(items, NodeKind::Items);
        self.dataset()?;
        if self.is_word("WHERE") || self.is("{") {
            self.where_clause()?;
        }
        self.modifiers()?;
        self.close(mark, NodeKind::Describe);
        Ok(())
    }

    /// DatasetClause, any number of it.
    fn dataset(&mut self) -> Parsed {
        while self.is_word("FROM") {
            if self.is_standing {
                self.standing_from()?;
                continue;
            }
            let mark = self.mark();
            self.bump();
            let kind = if self.eat_word("NAMED") {
                NodeKind::FromNamed
            } else {
                NodeKind::From
            };
            self.iri()?;
            self.close(mark, kind);
        }
        Ok(())
    }

    fn where_clause(&mut self) -> Parsed {
        if self.attempt(Self::begin_of_pattern, Self::is_at_pattern)? {
            self.eat_word("WHERE");
            if !self.is("{") {
                return Err(self.over());
            }
        }
        self.group()
    }

    fn begin_of_pattern(&mut self) -> Parsed {
        let has_where = self.eat_word("WHERE");
        if self.is("{") {
            return Ok(());
        }
        if self.is(",") {
            return Err(self.refused("variables are separated by blanks"));
        }
        let expected = if has_where { "`{`" } else { "WHERE or `{`" };
        Err(self.unexpected(expected))
    }

    /// SolutionModifier and ValuesClause.
    fn modifiers(&mut self) -> Parsed {
        while self.attempt(Self::modifiers_in_order, Self::is_at_modifier)? {}
        Ok(())
    }

    fn modifiers_in_order(&mut self) -> Parsed {
        let mark = self.mark();
        if self.eat_word("GROUP") {
            self.expect_word("BY")?;
            self.list(
                Self::group_key,
                "a variable, a call or an expression in brackets",
            )?;
            self.close(mark, NodeKind::GroupBy);
        }
        let mark = self.mark();
        if self.eat_word("HAVING") {
            self.list(Self::constraint_if_any, "a condition in brackets")?;
            self.close(mark, NodeKind::Having);
        }
        let mark = self.mark();
        if self.eat_word("ORDER") {
            self.expect_word("BY")?;
            self.list(
                Self::order_key,
                "a variable, a call, an expression in brackets, ASC(...) or DESC(...)",
            )?;
            self.close(mark, NodeKind::OrderBy);
        }
        let has_limit = self.count("LIMIT", NodeKind::Limit)?;
        let has_offset = self.count("OFFSET", NodeKind::Offset)?;
        if has_offset && !has_limit {
            self.count("LIMIT", NodeKind::Limit)?;
        }
        if self.is_word("VALUES") {
            self.values()?;
        }
        Ok(())
    }

    /// As often as a rule finds something, and once at least.
    fn list(&mut self, mut rule: impl FnMut(&mut Self) -> Parsed<bool>, expected: &str) -> Parsed {
        if !rule(self)? {
            return Err(self.unexpected(expected));
        }
        while rule(self)? {}
        Ok(())
    }

    /// GroupCondition.
    fn group_key(&mut self) -> Parsed<bool> {
        if self.is_variable() {
            self.listed_variable()?;
            return Ok(true);
        }
        if !self.is("(") {
            return self.constraint_if_any();
        }
        let mark = self.mark();
        let mut is_named = false;
        self.link(1)?;
        self.deeper(|parser| {
            parser.bump();
            parser.expression()?;
            is_named = parser.eat_word("AS");
            if is_named {
                parser.variable()?;
            }
            parser.expect(")")
        })?;
        self.close(
            mark,
            if is_named {
                NodeKind::As
            } else {
                NodeKind::Parenthesised
            },
        );
        Ok(true)
    }

    /// OrderCondition.
    fn order_key(&mut self) -> Parsed<bool> {
        let mark = self.mark();
        let is_descending = self.is_word("DESC");
        if is_descending || self.is_word("ASC") {
            if !self.is_ahead(1, "(") {
                let word = if is_descending { "DESC" } else { "ASC" };
                return Err(self.not_in_brackets(word));
            }
            self.bump();
            self.link(1)?;
            self.parenthesised()?;
            self.close(
                mark,
                if is_descending {
                    NodeKind::Descending
                } else {
                    NodeKind::Ascending
                },
            );
            return Ok(true);
        }
        if self.is_variable() {
            self.listed_variable()?;
            return Ok(true);
        }
        self.constraint_if_any()
    }

    /// That an order stands behind a variable, or before one without brackets.
    #[cold]
    fn not_in_brackets(&self, word: &str) -> GrammarError {
        /// Bytes of a name that is repeated in a message.
        const NAME_SHOWN_MAX: usize = 40;
        let is_variable = |token: &&Token| token.kind == TokenKind::Variable;
        let after = self.read.get(self.at + 1).filter(is_variable);
        let before = self.read.get(self.at.wrapping_sub(1)).filter(is_variable);
        let variable = after
            .or(before)
            .map(|token| self.tokens.slice(*token))
            .filter(|name| name.len() <= NAME_SHOWN_MAX)
            .unwrap_or("?x");
        self.refused(&format!(
            "an order has its expression in brackets: {word}({variable})"
        ))
    }

    fn constraint_if_any(&mut self) -> Parsed<bool> {
        let is_call = self.kind() == Some(TokenKind::Word) && is_function(self.slice());
        if !(is_call || self.is("(") || self.is_iri()) {
            return Ok(false);
        }
        self.constraint()?;
        Ok(true)
    }

    /// LimitClause or OffsetClause, if it is there.
    fn count(&mut self, word: &str, kind: NodeKind) -> Parsed<bool> {
        let mark = self.mark();
        if !self.eat_word(word) {
            return Ok(false);
        }
        let is_integer = self.slice().bytes().all(|byte| byte.is_ascii_digit());
        if self.kind() != Some(TokenKind::Number) || !is_integer {
            return Err(self.unexpected(&format!("a number after {word}, such as {word} 10")));
        }
        if self.slice().parse::<usize>().is_err() {
            return Err(GrammarError::at(
                self.at,
                format!(
                    "{} is too large a number for {word}",
                    super::quoted(self.slice())
                ),
            ));
        }
        self.bump();
        self.close(mark, kind);
        Ok(true)
    }
}

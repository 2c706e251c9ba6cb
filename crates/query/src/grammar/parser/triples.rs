//! Triples, terms, property paths.

use super::tree::NodeKind;
use super::{Parsed, Parser, hint};
use crate::grammar::lexer::token::TokenKind;

impl Parser<'_> {
    /// TriplesSameSubject, or TriplesSameSubjectPath.
    pub(super) fn triples(&mut self, has_paths: bool) -> Parsed {
        let mark = self.mark();
        let stands_alone = self.is("<<")
            || (self.is("(") && !self.is_ahead(1, ")"))
            || (self.is("[") && !self.is_ahead(1, "]"));
        self.node(has_paths, "a triple pattern")?;
        if self.is_verb(has_paths) {
            self.properties(has_paths)?;
        } else if !stands_alone {
            return Err(self.unexpected("a predicate: a variable, an IRI, `a` or a path"));
        }
        self.close(mark, NodeKind::Triples);
        Ok(())
    }

    fn is_verb(&self, has_paths: bool) -> bool {
        match self.kind() {
            Some(TokenKind::Variable | TokenKind::Iri | TokenKind::PrefixedName) => true,
            Some(TokenKind::Word) => self.slice() == "a",
            Some(TokenKind::Operator) => has_paths && matches!(self.slice(), "^" | "!" | "("),
            _ => false,
        }
    }

    /// PropertyListNotEmpty, or PropertyListPathNotEmpty.
    fn properties(&mut self, has_paths: bool) -> Parsed {
        loop {
            let mark = self.mark();
            self.counts.begin_path();
            if self.is_variable() {
                self.variable()?;
            } else if has_paths {
                self.path()?;
            } else {
                self.verb()?;
            }
            if matches!(self.slice(), "/" | "|" | "*" | "+" | "?") && !self.is_signed_number() {
                return Err(self.refused(if has_paths {
                    "a path is made of IRIs: no variable is part of one"
                } else {
                    "there are no paths here, only in patterns"
                }));
            }
            let patterns = self.counts.path_patterns();
            self.object(has_paths, patterns)?;
            while self.eat(",") {
                self.object(has_paths, patterns)?;
            }
            self.close(mark, NodeKind::Property);
            if !self.is(";") {
                return Ok(());
            }
            while self.eat(";") {}
            if !self.is_verb(has_paths) {
                return Ok(());
            }
        }
    }

    /// Verb.
    fn verb(&mut self) -> Parsed {
        if self.is_type() {
            self.leaf(NodeKind::Type);
            return Ok(());
        }
        if !(self.is_variable() || self.is_iri()) {
            return Err(self.unexpected("a variable, an IRI or `a`"));
        }
        self.variable_or_iri()
    }

    fn is_type(&self) -> bool {
        self.kind() == Some(TokenKind::Word) && self.slice() == "a"
    }

    /// Object with its Annotation; with its verb it is so many patterns.
    fn object(&mut self, has_paths: bool, patterns: u64) -> Parsed {
        let mark = self.mark();
        self.patterns(patterns)?;
        self.node(
            has_paths,
            "an object: a variable, an IRI, a literal or a blank node",
        )?;
        if !(self.is("~") || self.is("{|")) {
            return Ok(());
        }
        loop {
            if self.is("~") {
                self.reifier()?;
            } else if self.is("{|") {
                let annotation = self.mark();
                self.patterns(1)?;
                self.deeper(|parser| {
                    parser.bump();
                    parser.properties(has_paths)
                })?;
                self.expect("|}")?;
                self.close(annotation, NodeKind::Annotation);
            } else {
                break;
            }
        }
        self.close(mark, NodeKind::Annotated);
        Ok(())
    }

    fn patterns(&mut self, more: u64) -> Parsed {
        let counted = self.counts.patterns(more);
        counted.map_err(|exceeded| self.exceeds(exceeded))
    }

    /// Reifier.
    fn reifier(&mut self) -> Parsed {
        let mark = self.mark();
        self.patterns(1)?;
        self.expect("~")?;
        if self.is_variable() || self.is_iri() {
            self.variable_or_iri()?;
        } else {
            self.blank_node();
        }
        self.close(mark, NodeKind::Reifier);
        Ok(())
    }

    /// BlankNode; false where there is none.
    fn blank_node(&mut self) -> bool {
        if self.kind() == Some(TokenKind::BlankNode) {
            self.leaf(NodeKind::Label);
            return true;
        }
        if !(self.is("[") && self.is_ahead(1, "]")) {
            return false;
        }
        let mark = self.mark();
        self.bump();
        self.bump();
        self.close(mark, NodeKind::Anonymous);
        true
    }

    /// GraphNode, or GraphNodePath.
    fn node(&mut self, has_paths: bool, expected: &str) -> Parsed {
        if self.is_variable() {
            return self.variable();
        }
        if self.ground_term()? || self.blank_node() {
            return Ok(());
        }
        let mark = self.mark();
        match self.slice() {
            "<<(" => self.triple_term(),
            "<<" => self.deeper(Self::reified),
            "(" if self.is_ahead(1, ")") => {
                self.bump();
                self.bump();
                self.close(mark, NodeKind::Nil);
                Ok(())
            }
            "(" => {
                self.deeper(|parser| {
                    parser.bump();
                    while !parser.is(")") {
                        parser.patterns(2)?;
                        parser.node(has_paths, "an item of the list, or `)`")?;
                    }
                    parser.bump();
                    Ok(())
                })?;
                self.close(mark, NodeKind::Collection);
                Ok(())
            }
            "[" => {
                self.deeper(|parser| {
                    parser.bump();
                    if !parser.is_verb(has_paths) {
                        return Err(parser.unexpected("a predicate, or `]`"));
                    }
                    parser.properties(has_paths)?;
                    if !parser.is("]") {
                        return Err(parser.unexpected("`;`, `,` or `]`"));
                    }
                    parser.bump();
                    Ok(())
                })?;
                self.close(mark, NodeKind::BlankList);
                Ok(())
            }
            word if self.kind() == Some(TokenKind::Word) && !hint::is_keyword(word) && hint::keyword(word, self.is_standing).is_none() => {
                Err(self.refused(&format!(
                    "a word alone is no term: write <{word}>, a prefixed name or \"{word}\" (expected {expected})"
                )))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// An IRI, a literal, a number or a boolean; false where there is none.
    pub(super) fn ground_term(&mut self) -> Parsed<bool> {
        let Some(token) = self.token(0) else {
            return Ok(false);
        };
        match token.kind {
            TokenKind::Iri | TokenKind::PrefixedName => self.leaf(NodeKind::Iri),
            TokenKind::String => self.string()?,
            TokenKind::Number => self.leaf(NodeKind::Number),
            TokenKind::Operator if self.is_signed_number() => {
                let mark = self.mark();
                self.bump();
                self.bump();
                self.close(mark, NodeKind::Number);
            }
            TokenKind::Word if self.is_word("true") || self.is_word("false") => {
                self.leaf(NodeKind::Boolean);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a sign is next, and its number right behind it.
    pub(super) fn is_signed_number(&self) -> bool {
        let (Some(sign), Some(number)) = (self.token(0), self.token(1)) else {
            return false;
        };
        number.kind == TokenKind::Number
            && number.start == sign.end
            && (self.is("+") || self.is("-"))
    }

    /// RDFLiteral.
    fn string(&mut self) -> Parsed {
        let mark = self.mark();
        self.bump();
        if self.kind() == Some(TokenKind::Language) {
            self.bump();
        } else if self.eat("^^") {
            if !self.is_iri() {
                return Err(self.unexpected("the IRI of a datatype"));
            }
            self.iri()?;
        }
        self.close(mark, NodeKind::String);
        Ok(())
    }

    /// TripleTerm, TripleTermData; what may not stand in one is found when it is translated.
    pub(super) fn triple_term(&mut self) -> Parsed {
        let mark = self.mark();
        self.patterns(1)?;
        self.deeper(|parser| {
            parser.expect("<<(")?;
            parser.part_of_triple_term()?;
            parser.verb()?;
            parser.part_of_triple_term()?;
            parser.expect(")>>")
        })?;
        self.close(mark, NodeKind::TripleTerm);
        Ok(())
    }

    fn part_of_triple_term(&mut self) -> Parsed {
        if self.is_variable() {
            return self.variable();
        }
        if self.is("<<(") {
            return self.triple_term();
        }
        if self.ground_term()? || self.blank_node() {
            return Ok(());
        }
        Err(self.unexpected("a variable, an IRI, a literal, a blank node or a triple term"))
    }

    /// ReifiedTriple.
    fn reified(&mut self) -> Parsed {
        let mark = self.mark();
        self.patterns(1)?;
        self.expect("<<")?;
        self.part_of_reified()?;
        self.verb()?;
        self.part_of_reified()?;
        if self.is("~") {
            self.reifier()?;
        }
        self.expect(">>")?;
        self.close(mark, NodeKind::Reified);
        Ok(())
    }

    fn part_of_reified(&mut self) -> Parsed {
        if self.is("<<") {
            return self.deeper(Self::reified);
        }
        self.part_of_triple_term()
    }

    /// Path.
    fn path(&mut self) -> Parsed {
        let mark = self.mark();
        self.path_sequence()?;
        if self.is("|") {
            while self.eat("|") {
                self.path_operator(false)?;
                self.path_sequence()?;
            }
            self.close(mark, NodeKind::PathAlternative);
        }
        Ok(())
    }

    fn path_sequence(&mut self) -> Parsed {
        let mark = self.mark();
        self.path_step()?;
        if self.is("/") {
            while self.eat("/") {
                self.path_operator(true)?;
                self.path_step()?;
            }
            self.close(mark, NodeKind::PathSequence);
        }
        Ok(())
    }

    fn path_operator(&mut self, is_step: bool) -> Parsed {
        let counted = self.counts.path_operator(is_step);
        counted.map_err(|exceeded| self.exceeds(exceeded))
    }

    /// PathEltOrInverse.
    fn path_step(&mut self) -> Parsed {
        let mark = self.mark();
        let is_inverse = self.eat("^");
        if is_inverse {
            self.path_operator(false)?;
        }
        let inner = self.mark();
        self.path_primary()?;
        let kind = match self.slice() {
            "*" => Some(NodeKind::PathZeroOrMore),
            // The longest token counts: in `<p> +5` the sign belongs to the number.
            "+" if !self.is_signed_number() => Some(NodeKind::PathOneOrMore),
            "?" => Some(NodeKind::PathZeroOrOne),
            _ => None,
        };
        if let Some(kind) = kind {
            self.path_operator(false)?;
            self.bump();
            self.close(inner, kind);
        }
        if is_inverse {
            self.close(mark, NodeKind::PathInverse);
        }
        Ok(())
    }

    fn path_primary(&mut self) -> Parsed {
        if self.is_type() {
            self.leaf(NodeKind::Type);
            return Ok(());
        }
        if self.is_iri() {
            return self.iri();
        }
        if self.is("(") {
            return self.deeper(|parser| {
                parser.bump();
                parser.path()?;
                if !parser.is(")") {
                    return Err(parser.unexpected("`/`, `|` or `)`"));
                }
                parser.bump();
                Ok(())
            });
        }
        let mark = self.mark();
        if !self.eat("!") {
            return Err(self.unexpected("a predicate: an IRI, `a`, or a path of these"));
        }
        if self.eat("(") {
            if !self.is(")") {
                self.path_negated()?;
                while self.eat("|") {
                    self.path_operator(false)?;
                    self.path_negated()?;
                }
            }
            self.expect(")")?;
        } else {
            self.path_negated()?;
        }
        self.close(mark, NodeKind::PathNegated);
        Ok(())
    }

    /// PathOneInPropertySet.
    fn path_negated(&mut self) -> Parsed {
        let mark = self.mark();
        let is_inverse = self.eat("^");
        if self.is_type() {
            self.leaf(NodeKind::Type);
        } else if self.is_iri() {
            self.leaf(NodeKind::Iri);
        } else {
            return Err(self.unexpected("an IRI, `a`, or one of them after `^`"));
        }
        if is_inverse {
            self.close(mark, NodeKind::PathInverse);
        }
        Ok(())
    }
}

//! Standing queries: what C-SPARQL, RSP-QL and CQELS-QL add to the grammar.
//!
//! ```text
//!  Register  ::= 'REGISTER' ('QUERY'|'STREAM'|'RSTREAM'|'ISTREAM'|'DSTREAM') Name ('COMPUTED' 'EVERY' Span)? 'AS'
//!  From      ::= 'FROM' 'NAMED'? ('STREAM'? Name Extent | Name)
//!              | 'FROM' 'NAMED' 'WINDOW' (Name 'ON' 'STREAM'? Name Extent | 'ON' 'STREAM'? Name Extent 'AS' Name)
//!  Extent    ::= '[' ( 'RANGE' Span (('STEP'|'SLIDE') Span | 'TUMBLING')?
//!                    | 'RANGE'? ('TRIPLES'|'ELEMENTS') Integer (('STEP'|'SLIDE') Integer)? | 'NOW' | 'ALL'
//!                    | 'FROM' 'NOW' '-' Span 'TO' 'NOW' ('-' Span)? ('STEP'|'SLIDE') Span ) ']'
//!  Window    ::= 'WINDOW' Name Group | 'STREAM' Name Extent Group        -- wherever GRAPH may stand
//!  Select    ::= 'SELECT' ('ISTREAM'|'RSTREAM'|'DSTREAM')? ...            -- CONSTRUCT likewise
//!  Name      ::= an IRI, or words and numbers side by side, with '-' between them
//! ```
//!
//! Why in this parser and not before it: windows have places, hints and completion like the rest, and nothing of the
//! text is written anew. All of it is read only where the text is to be a standing query ([`Parser::is_standing`]); any
//! other text that has it is told what it is ([`Parser::of_standing`]).
//!
//! Sources: Barbieri et al., "C-SPARQL" (IJSC 2010); Dell'Aglio et al., "RSP-QL semantics" (IJSWIS 2014); Le-Phuoc et
//! al., "A native and adaptive approach for unified processing of linked streams and linked data" (ISWC 2011).

use super::tree::{Mark, NodeKind};
use super::{GrammarError, Parsed, Parser, hint, quoted};
use crate::error::ParseErrorKind;
use crate::grammar::lexer::token::{Token, TokenKind};
use crate::grammar::span;

/// Where a window is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// `FROM STREAM`
    Stream,
    /// `FROM NAMED WINDOW`
    Window,
    /// Within a pattern.
    Pattern,
}

impl Parser<'_> {
    /// A standing query.
    pub(super) fn standing_unit(&mut self) -> Parsed {
        let mark = self.mark();
        self.prologue()?;
        if self.is_word("REGISTER") {
            self.attempt(Self::register, Self::is_at_unit)?;
            self.prologue()?;
        }
        self.one_query(mark)
    }

    fn register(&mut self) -> Parsed {
        let mark = self.mark();
        self.bump();
        if !(self.is_word("QUERY") || self.is_word("STREAM") || self.is_at_relation()) {
            return Err(self.unexpected("QUERY, STREAM, RSTREAM, ISTREAM or DSTREAM"));
        }
        self.bump();
        self.stream_name("the name that the query is registered by")?;
        if self.eat_word("COMPUTED") {
            self.expect_word("EVERY")?;
            self.span()?;
        }
        self.expect_word("AS")?;
        self.close(mark, NodeKind::Register);
        Ok(())
    }

    fn is_at_relation(&self) -> bool {
        ["RSTREAM", "ISTREAM", "DSTREAM"]
            .iter()
            .any(|word| self.is_word(word))
    }

    /// `ISTREAM` and its like behind `SELECT` or `CONSTRUCT`.
    pub(super) fn stream_relation(&mut self) {
        if self.is_standing && self.is_at_relation() {
            self.leaf(NodeKind::Relation);
        }
    }

    /// The name of a stream, a window, a graph or a query.
    pub(super) fn stream_name(&mut self, expected: &str) -> Parsed {
        if self.is_iri() {
            return self.iri();
        }
        let is_name = self.kind() == Some(TokenKind::Word)
            && !hint::is_keyword(self.slice())
            && !hint::is_of_standing(self.slice());
        if self.is_word("AS") {
            return Err(self.refused(&format!("expected {expected}")));
        }
        if !is_name {
            return Err(self.unexpected(expected));
        }
        let mark = self.mark();
        self.bump();
        while self.is_beside()
            && (self.is("-") || matches!(self.kind(), Some(TokenKind::Word | TokenKind::Number)))
        {
            self.bump();
        }
        self.close(mark, NodeKind::BareName);
        Ok(())
    }

    /// Whether no blank stands before the next token.
    fn is_beside(&self) -> bool {
        let before = self.read[self.at - 1];
        self.token(0).is_some_and(|token| token.start == before.end)
    }

    /// One clause of the dataset: a graph, a stream or a window.
    pub(super) fn standing_from(&mut self) -> Parsed {
        let mark = self.mark();
        self.bump();
        let is_named = self.eat_word("NAMED");
        if self.is_word("WINDOW") {
            if !is_named {
                return Err(self.refused("a window is declared by FROM NAMED WINDOW"));
            }
            self.bump();
            return self.named_window(mark);
        }
        let is_stream = self.eat_word("STREAM");
        self.stream_name("an IRI or a name")?;
        let kind = if is_stream || self.is("[") {
            self.extent(Place::Stream)?;
            NodeKind::FromStream
        } else if is_named {
            NodeKind::FromNamed
        } else {
            NodeKind::From
        };
        self.close(mark, kind);
        Ok(())
    }

    /// Behind `FROM NAMED WINDOW`.
    fn named_window(&mut self, mark: Mark) -> Parsed {
        let is_draft = self.eat_word("ON");
        if !is_draft {
            self.window_name()?;
            self.expect_word("ON")?;
        }
        self.eat_word("STREAM");
        self.stream_name("the IRI of a stream")?;
        self.extent(Place::Window)?;
        if is_draft {
            self.expect_word("AS")?;
            self.window_name()?;
        }
        self.close(mark, NodeKind::FromWindow);
        Ok(())
    }

    fn window_name(&mut self) -> Parsed {
        let mark = self.mark();
        self.stream_name("the IRI of a window")?;
        self.close(mark, NodeKind::WindowName);
        Ok(())
    }

    fn extent(&mut self, place: Place) -> Parsed {
        let mark = self.mark();
        self.deeper(|parser| {
            if !parser.is("[") {
                return Err(parser.unexpected("a window, such as [RANGE 10s STEP 1s]"));
            }
            parser.bump();
            parser.extent_within(place)?;
            parser.expect("]")
        })?;
        self.close(mark, NodeKind::Extent);
        Ok(())
    }

    fn extent_within(&mut self, place: Place) -> Parsed {
        // C-SPARQL writes RANGE before TRIPLES, too.
        let has_range = self.eat_word("RANGE");
        if self.eat_word("TRIPLES") || self.eat_word("ELEMENTS") {
            self.item_count()?;
            if self.eat_step() {
                self.item_count()?;
            }
            return Ok(());
        }
        if has_range {
            self.span()?;
            if self.eat_step() {
                self.span()?;
            } else if !self.eat_word("TUMBLING") && place == Place::Stream {
                return Err(self.unexpected("STEP with a span of time, or TUMBLING"));
            }
            return Ok(());
        }
        if self.is_word("NOW") || self.is_word("ALL") {
            if place != Place::Pattern {
                return Err(self.refused(
                    "NOW and ALL never close, so they are windows of CQELS-QL alone: STREAM <s> [NOW] { ... }",
                ));
            }
            self.bump();
            return Ok(());
        }
        if self.eat_word("FROM") {
            return self.past();
        }
        Err(self.unexpected(match place {
            Place::Pattern => "RANGE, TRIPLES, ELEMENTS, FROM, NOW or ALL",
            _ => "RANGE, TRIPLES, ELEMENTS or FROM",
        }))
    }

    fn eat_step(&mut self) -> bool {
        self.eat_word("STEP") || self.eat_word("SLIDE")
    }

    /// Behind `FROM` of a window.
    fn past(&mut self) -> Parsed {
        self.expect_word("NOW")?;
        self.expect("-")?;
        self.span()?;
        self.expect_word("TO")?;
        self.expect_word("NOW")?;
        if self.eat("-") {
            self.span()?;
        }
        if !self.eat_step() {
            return Err(self.unexpected("STEP with a span of time"));
        }
        self.span()
    }

    /// A span of time: one number with its unit, several, or an `xsd:duration`.
    fn span(&mut self) -> Parsed {
        let mark = self.mark();
        let first = self.at;
        let is_duration =
            self.kind() == Some(TokenKind::Word) && self.slice().starts_with(['P', 'p']);
        if !(is_duration || self.kind() == Some(TokenKind::Number)) {
            return Err(self.unexpected("a span of time, such as 10s, 100ms or PT10S"));
        }
        self.bump();
        loop {
            let before = self.read[self.at - 1].kind;
            let goes_on = match self.kind() {
                Some(TokenKind::Number) => !is_duration || self.is_beside(),
                Some(TokenKind::Word) => {
                    self.is_beside() || (before == TokenKind::Number && !self.is_at_extent_word())
                }
                _ => false,
            };
            if !goes_on {
                break;
            }
            self.bump();
        }
        let text = span_text(self.tokens.text, &self.read[first..self.at]);
        if let Err(message) = span::milliseconds(&text) {
            return Err(GrammarError::at(first, message));
        }
        self.close(mark, NodeKind::Span);
        Ok(())
    }

    /// Whether a word goes on with the window, and is no unit.
    fn is_at_extent_word(&self) -> bool {
        ["STEP", "SLIDE", "TUMBLING", "TO", "AS"]
            .iter()
            .any(|word| self.is_word(word))
    }

    /// How many items.
    fn item_count(&mut self) -> Parsed {
        let is_integer = self.slice().bytes().all(|byte| byte.is_ascii_digit());
        if self.kind() != Some(TokenKind::Number) || !is_integer {
            return Err(self.unexpected("how many items, such as 10"));
        }
        self.leaf(NodeKind::Number);
        Ok(())
    }

    /// `WINDOW` or `STREAM` in a group; false where there is none.
    pub(super) fn window(&mut self) -> Parsed<bool> {
        let mark = self.mark();
        let kind = if self.eat_word("WINDOW") {
            self.refuse_variable("a window is named by its IRI")?;
            self.stream_name("the IRI of a window")?;
            NodeKind::Window
        } else if self.eat_word("STREAM") {
            self.refuse_variable("a stream is named by its IRI")?;
            self.stream_name("the IRI of a stream")?;
            self.extent(Place::Pattern)?;
            NodeKind::StreamWindow
        } else {
            return Ok(false);
        };
        self.inner_group()?;
        self.close(mark, kind);
        Ok(true)
    }

    fn refuse_variable(&self, reason: &str) -> Parsed {
        if self.is_variable() {
            return Err(self.refused(&format!(
                "{reason}: for several of them write {{ ... }} UNION {{ ... }}"
            )));
        }
        Ok(())
    }

    /// That the next token begins what only a standing query has, in a text that is to be none.
    #[cold]
    pub(super) fn of_standing(&self) -> Option<GrammarError> {
        const BEGIN: [&str; 6] = [
            "REGISTER", "STREAM", "WINDOW", "RSTREAM", "ISTREAM", "DSTREAM",
        ];
        const WITHIN: [&str; 6] = ["RANGE", "TRIPLES", "ELEMENTS", "NOW", "ALL", "FROM"];
        let is_window = self.is("[") && WITHIN.iter().any(|word| self.is_word_ahead(1, word));
        let is_of_standing = is_window || BEGIN.iter().any(|word| self.is_word(word));
        if self.is_standing || !is_of_standing {
            return None;
        }
        let message = format!(
            "unexpected {}: this is a standing query over windows of streams, which is registered, not asked: use `cq \
             register` or POST /api/v1/continuous",
            quoted(self.slice())
        );
        Some(GrammarError::of(ParseErrorKind::Standing, self.at, message))
    }
}

/// The tokens of a span, with a blank between those that do not stand side by side.
pub(crate) fn span_text(text: &str, tokens: &[Token]) -> String {
    let mut joined = String::new();
    let mut end = None;
    for token in tokens {
        if end.is_some_and(|end| end != token.start) {
            joined.push(' ');
        }
        joined.push_str(&text[token.start as usize..token.end as usize]);
        end = Some(token.end);
    }
    joined
}

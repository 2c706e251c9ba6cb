//! The shape of a query's text: what stays when the terms that are asked about are taken out.
//!
//! ```text
//!  SELECT ?x { ?x ub:worksFor <.../Department0> . ?x a ub:FullProfessor }
//!  SELECT ?x { ?x ub:worksFor       $0          . ?x a ub:FullProfessor }     the shape
//! ```
//!
//! A service is asked the same few questions about ever other things. Texts of one shape have one
//! algebra but for these constants, so whoever keeps the algebra of a shape and its plan needs neither
//! the grammar nor the planner for the next text: a pass of the lexer, which is made anyway, and a comparison
//! of bytes.
//!
//! **What is a parameter.** An IRI or a plain string that is the subject or the object of a triple
//! pattern whose predicate is one token, and that is no class: the object of `rdf:type`, by which plans
//! differ most, and whose emptiness a plan may prove ([`Action::Never`](crate::plan::Action::Never)).
//! Everything else belongs to the shape, byte for byte: predicates and classes, numbers, whatever stands
//! in expressions, paths, collections, `VALUES`, clauses and modifiers, and the names of variables; and
//! which parameters are the same term. Only `SELECT` and `ASK` have parameters: other forms write
//! constants into their answers.
//!
//! **Why that is right.** To the grammar and the translation one absolute IRI in such a place is like
//! another. This module finds the places by following the tokens, which is not a proof; so a
//! [`Template`] is only made where the translation met each of them as that term of a triple pattern, and put a
//! placeholder there (a hole, `translate/hole.rs`) that became part of no triple term. A parameter that is not written out plainly (with
//! an escape, or relative to a base) belongs to the shape. What its text says is not checked here: it is
//! looked up in the dictionary, and what is found there is a term; of a shape with a parameter that is
//! not found nothing is known, and the text has to be parsed.

pub mod spelling;

use crate::algebra::Query;
use crate::error::ParseError;
use crate::grammar::lexer::token::{Token, TokenKind, Tokens};
use crate::grammar::translate::{self, Holes, Parameter};
use crate::lower;
use crate::options::{Given, ParseOptions};
use crate::parse::{Scanned, is_one, refuse_update};
use crate::plan::{ConstantId, Node};
use oxrdf::{Literal, NamedNode, Term, TermRef};
use rdf::{Direction, VertexId};
use std::sync::Arc;

/// What placeholders begin with: no IRI of a text has a blank.
const PLACEHOLDER: &str = "a parameter: ";

/// Longer texts have no shape: they are rarely asked twice, and keeping them takes memory.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// Further ones belong to the shape.
const PARAMETERS_MAX: usize = 32;
const _: () = assert!(
    PARAMETERS_MAX <= u8::MAX as usize,
    "a parameter has a number of 8 bits"
);
const _: () = assert!(TEXT_BYTES_MAX <= u32::MAX as usize, "a place has 32 bits");

/// A text as its shape and its parameters.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Equal for two texts (with the options that they are read with) if and only if they have one
    /// shape.
    pub key: Vec<u8>,
    /// The terms that were taken out, each once, in the order of the text.
    pub parameters: Vec<Term>,
    /// Where they stand: a place, and which parameter it is.
    places: Vec<(Token, usize)>,
}

/// The algebra of a shape.
#[derive(Clone, Debug)]
pub struct Template {
    /// The algebra; a placeholder stands for each parameter among its constants.
    pub query: Query,
    /// Which constant is which parameter.
    pub parameters: Arc<[ConstantId]>,
}

impl Shape {
    /// The shape of a text; `None` for a text that is too long. O(tokens).
    pub fn of(scanned: &Scanned<'_>, options: &ParseOptions) -> Option<Shape> {
        let tokens = &scanned.tokens;
        if tokens.text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut finder = Finder::new(tokens);
        let mut shape = Shape {
            key: Vec::with_capacity(tokens.text.len() + 2 * tokens.tokens.len()),
            parameters: Vec::new(),
            places: Vec::new(),
        };
        for (at, &token) in tokens.tokens.iter().enumerate() {
            if finder.is_place(at)
                && let Some(term) = finder.parameter(at)
            {
                let earlier = shape.parameters.iter().position(|known| *known == term);
                let number = earlier.unwrap_or(shape.parameters.len());
                if earlier.is_none() {
                    finder.has_any = number + 1 < PARAMETERS_MAX;
                    shape.parameters.push(term);
                }
                let is_string = token.kind == TokenKind::String;
                shape
                    .key
                    .extend([if is_string { 2 } else { 1 }, number as u8]);
                shape.places.push((token, number));
            } else {
                word(&mut shape.key, tokens.slice(token));
            }
        }
        shape.key.push(3);
        shape.key.push(options.union_default_graph.into());
        written(&mut shape.key, options.base.as_deref().unwrap_or_default());
        for (prefix, iri) in &options.prefixes {
            written(&mut shape.key, prefix);
            written(&mut shape.key, iri);
        }
        let parameters = shape.parameters.len();
        assert!(
            parameters <= PARAMETERS_MAX,
            "parameters have a number each"
        );
        assert!(parameters <= shape.places.len(), "a parameter has a place");
        Some(shape)
    }

    /// The parameters, to be looked up.
    pub fn terms(&self) -> Vec<TermRef<'_>> {
        self.parameters.iter().map(Term::as_ref).collect()
    }

    /// Where its parameters stand in the text, in order, and which each is.
    pub(crate) fn places(&self) -> &[(Token, usize)] {
        &self.places
    }

    /// The term that stands for a parameter in a template: no text has it.
    fn placeholder(&self, number: usize) -> Term {
        let name = NamedNode::new_unchecked(format!("{PLACEHOLDER}{number}"));
        match self.parameters[number] {
            Term::Literal(_) => Literal::new_typed_literal("", name).into(),
            _ => name.into(),
        }
    }

    /// Its parameters, for the translation.
    pub(crate) fn holes(&self) -> Holes {
        let parameters = self.parameters.iter().enumerate();
        let parameters = parameters.map(|(number, term)| Parameter {
            term: term.clone(),
            placeholder: self.placeholder(number),
        });
        let places = self.places.iter();
        let places = places.map(|(token, number)| (token.start, *number));
        Holes::new(places, parameters.collect())
    }

    /// The template that this query with a placeholder for each parameter is.
    pub(crate) fn template(&self, query: Query) -> Option<Template> {
        let constant = |number: usize| {
            let term = self.placeholder(number);
            let found = query.constants.iter().position(|known| *known == term)?;
            Some(ConstantId(u32::try_from(found).ok()?))
        };
        let parameters = 0..self.parameters.len();
        let parameters = parameters.map(constant).collect::<Option<Arc<_>>>()?;
        let template = Template { query, parameters };
        (!template.has_parameter_in_proof()).then_some(template)
    }

    /// The text with other words in the places of its parameters.
    #[cfg(test)]
    pub(crate) fn with(&self, text: &str, word: impl Fn(usize) -> String) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut from = 0;
        for (place, number) in &self.places {
            replaced.push_str(&text[from..place.start as usize]);
            replaced.push_str(&word(*number));
            from = place.end as usize;
        }
        replaced.push_str(&text[from..]);
        replaced
    }
}

/// How many neighbours a parameter has decides which plan is good for it: one question for each pattern
/// that it is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterDegree {
    /// Which of [`Template::parameters`].
    pub parameter: usize,
    /// The pattern's predicate; `None` where it is a variable.
    pub predicate: Option<VertexId>,
    /// [`Direction::Out`]: the parameter is the subject.
    pub direction: Direction,
}

impl Template {
    /// Whether a parameter is a class or a predicate, by which alone the planner proves that nothing
    /// matches ([`Action::Never`](crate::plan::Action::Never)). The places are found for what people write
    /// ([`Finder`]); this looks at what became of them.
    fn has_parameter_in_proof(&self) -> bool {
        let rdf_type = Term::from(oxrdf::vocab::rdf::TYPE);
        let constants = &self.query.constants;
        let is_type =
            |node| matches!(node, Node::Constant(it) if constants[it.0 as usize] == rdf_type);
        let is_parameter =
            |node| matches!(node, Node::Constant(it) if self.parameters.contains(&it));
        let patterns = self.query.patterns();
        patterns.iter().any(|it| {
            is_parameter(it.predicate) || is_type(it.predicate) && is_parameter(it.object)
        })
    }

    /// What is to be asked about the parameters, each question once. `ids` are those of the constants;
    /// those of parameters are not looked at. Nothing is asked about predicates that are stored nowhere,
    /// nor by which of all predicates two terms are joined: whichever end a plan begins at, it looks at
    /// the few predicates of that one.
    pub fn parameter_degrees(&self, ids: &[Option<VertexId>]) -> Vec<ParameterDegree> {
        let mut asked = Vec::new();
        for pattern in self.query.patterns() {
            let is_constant = |end: Node| matches!(end, Node::Constant(_));
            let predicate = match pattern.predicate {
                Node::Slot(_) if is_constant(pattern.subject) && is_constant(pattern.object) => {
                    continue;
                }
                Node::Slot(_) => None,
                Node::Constant(constant) => match ids[constant.0 as usize] {
                    None => continue,
                    known => known,
                },
            };
            let ends = [
                (pattern.subject, Direction::Out),
                (pattern.object, Direction::In),
            ];
            for (end, direction) in ends {
                let is_end = |parameter: &ConstantId| end == Node::Constant(*parameter);
                let parameter = self.parameters.iter().position(is_end);
                let question = parameter.map(|parameter| ParameterDegree {
                    parameter,
                    predicate,
                    direction,
                });
                asked.extend(question.filter(|question| !asked.contains(question)));
            }
        }
        asked
    }

    /// The algebra with these terms for its parameters.
    pub fn filled(&self, parameters: &[Term]) -> Query {
        assert_eq!(
            self.parameters.len(),
            parameters.len(),
            "a text has a term for each parameter of its shape"
        );
        let mut query = self.query.clone();
        for (constant, term) in self.parameters.iter().zip(parameters) {
            query.constants[constant.0 as usize] = term.clone();
        }
        query
    }
}

impl Scanned<'_> {
    /// The template of the text's shape, which is that of [`Shape::of`] with these options, from one reading of the
    /// text; `None` where a parameter stands in what is sent elsewhere (`SERVICE`), becomes a class or part of a
    /// triple term, or is not what [`Shape::of`] took it for. The text's own query is [`Template::filled`] with the shape's
    /// parameters.
    pub fn template(
        &self,
        shape: &Shape,
        options: &ParseOptions,
    ) -> Result<Option<Template>, ParseError> {
        let tokens = &self.tokens;
        refuse_update(tokens)?;
        let tree = crate::grammar::parser::query(tokens, &options.limits)?;
        let (parsed, holes) = translate::query_with_holes(&tree, options, shape.holes())?;
        if !holes.are_all_met() {
            return Ok(None);
        }
        let query = lower::lower(parsed, options, &Given::default())?;
        Ok(shape.template(query))
    }
}

/// A token that belongs to the shape: 0 and a length of one byte, or 4 and one of four.
#[inline]
fn word(key: &mut Vec<u8>, text: &str) {
    if let Ok(length) = u8::try_from(text.len()) {
        key.extend_from_slice(&[0, length]);
        key.extend_from_slice(text.as_bytes());
    } else {
        key.push(4);
        written(key, text);
    }
}

/// Text with its length before it, so that no two lists of texts are written alike.
fn written(key: &mut Vec<u8>, text: &str) {
    key.extend_from_slice(&(text.len() as u32).to_le_bytes());
    key.extend_from_slice(text.as_bytes());
}

/// What the next token of a group is, if it is a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Subject,
    Verb,
    Object,
    /// The object of `rdf:type`.
    Class,
    /// A separator; whether the verb was `rdf:type` is told.
    Separator(bool),
    /// Nothing that is looked at, up to the end of the statement.
    End,
    /// What belongs to a keyword, up to the end of a bracket: with `true` a round one ends it too.
    Clause(bool),
    /// What belongs to a sub-query, up to the end of the group.
    SubQuery,
}

/// An open bracket: a group with its state, or anything else.
#[derive(Clone, Copy, Debug)]
struct Open {
    is_group: bool,
    next: Next,
}

/// Follows the tokens and knows where parameters may stand.
struct Finder<'t> {
    tokens: &'t Tokens<'t>,
    /// Prefixes with what they stand for.
    prefixes: Vec<(&'t str, &'t str)>,
    open: Vec<Open>,
    /// After `VALUES`, before its block.
    values: bool,
    /// The text may have parameters.
    has_any: bool,
}

impl<'t> Finder<'t> {
    fn new(tokens: &'t Tokens<'t>) -> Finder<'t> {
        let first = crate::parse::first_keyword(tokens);
        let asks = first.is_some_and(|word| is_one(tokens.slice(word), &["SELECT", "ASK"]));
        let mut finder = Finder {
            tokens,
            prefixes: Vec::new(),
            open: Vec::new(),
            values: false,
            has_any: asks,
        };
        finder.prefixes = finder.declared();
        finder
    }

    /// The prologue's prefixes; a later declaration of a prefix replaces an earlier one.
    fn declared(&self) -> Vec<(&'t str, &'t str)> {
        let tokens = &self.tokens.tokens;
        let mut declared = Vec::new();
        for (at, word) in tokens.iter().enumerate() {
            if word.kind != TokenKind::Word {
                continue;
            }
            if !is_one(self.tokens.slice(*word), &["PREFIX", "BASE", "VERSION"]) {
                break;
            }
            if let (Some(name), Some(iri)) = (tokens.get(at + 1), tokens.get(at + 2))
                && name.kind == TokenKind::PrefixedName
                && iri.kind == TokenKind::Iri
            {
                let prefix = self.tokens.slice(*name).trim_end_matches(':');
                declared.retain(|(known, _)| *known != prefix);
                declared.push((prefix, between(self.tokens.slice(*iri))));
            }
        }
        declared
    }

    /// Takes the next token: whether it stands where a parameter may.
    fn is_place(&mut self, at: usize) -> bool {
        let token = self.tokens.tokens[at];
        let slice = self.tokens.slice(token);
        match token.kind {
            TokenKind::Operator => {
                self.operator(slice);
                false
            }
            TokenKind::Word => {
                self.word(slice);
                false
            }
            TokenKind::Language => false,
            kind => {
                let is_iri = matches!(kind, TokenKind::Iri | TokenKind::PrefixedName);
                let is_type = is_iri && self.is_verb() && self.is_rdf_type(token);
                let place = self.term(is_type);
                let is_term = is_iri || (kind == TokenKind::String && !self.is_qualified(at));
                place && is_term && self.has_any && !self.is_class_of_path(at)
            }
        }
    }

    fn is_verb(&self) -> bool {
        matches!(self.open.last(), Some(open) if open.is_group && open.next == Next::Verb)
    }

    fn is_rdf_type(&self, token: Token) -> bool {
        let slice = self.tokens.slice(token);
        let is_like = slice.trim_end_matches('>').ends_with("type") || slice.contains('\\');
        is_like && self.resolved(token).is_none_or(|iri| iri == RDF_TYPE)
    }

    /// Whether a subject is followed by a path that may make a class of it, as `<C> ^a ?x` does.
    fn is_class_of_path(&self, at: usize) -> bool {
        let token = |at: usize| self.tokens.tokens.get(at).copied();
        match token(at + 1).map(|next| self.tokens.slice(next)) {
            Some("(") => true,
            Some("^") => token(at + 2).is_some_and(|next| {
                matches!(self.tokens.slice(next), "a" | "(") || self.is_rdf_type(next)
            }),
            _ => false,
        }
    }

    /// Whether a string is followed by a language or a datatype.
    fn is_qualified(&self, at: usize) -> bool {
        self.tokens.tokens.get(at + 1).is_some_and(|next| {
            next.kind == TokenKind::Language || self.tokens.slice(*next) == "^^"
        })
    }

    /// A term where the innermost bracket is: whether it is a subject or an object of a pattern.
    fn term(&mut self, is_type: bool) -> bool {
        let Some(Open {
            is_group: true,
            next,
        }) = self.open.last_mut()
        else {
            return false;
        };
        let place = matches!(next, Next::Subject | Next::Object);
        *next = match *next {
            Next::Subject => Next::Verb,
            Next::Verb if is_type => Next::Class,
            Next::Verb => Next::Object,
            Next::Object => Next::Separator(false),
            Next::Class => Next::Separator(true),
            Next::Separator(_) => Next::End,
            other => other,
        };
        place
    }

    fn word(&mut self, word: &str) {
        if matches!(word, "a" | "true" | "false") {
            self.term(word == "a");
            return;
        }
        self.values |= word.eq_ignore_ascii_case("VALUES");
        if let Some(Open { next, .. }) = self.open.last_mut()
            && *next != Next::SubQuery
        {
            *next = if word.eq_ignore_ascii_case("SELECT") {
                Next::SubQuery
            } else {
                Next::Clause(is_one(word, &["FILTER", "BIND"]) || *next == Next::Clause(true))
            };
        }
    }

    fn operator(&mut self, operator: &str) {
        match operator {
            "{" => {
                let is_group = !std::mem::take(&mut self.values);
                self.open.push(Open {
                    is_group,
                    next: Next::Subject,
                });
            }
            "(" | "[" | "{|" | "<<" | "<<(" => self.open.push(Open {
                is_group: false,
                next: Next::End,
            }),
            ")" | "]" | "|}" | ">>" | ")>>" | "}" => {
                self.open.pop();
                self.closed(operator);
            }
            _ => {
                if let Some(Open { next, .. }) = self.open.last_mut() {
                    *next = match (*next, operator) {
                        (kept @ (Next::Clause(_) | Next::SubQuery), _) => kept,
                        (_, ".") => Next::Subject,
                        (Next::Separator(_) | Next::Verb, ";") => Next::Verb,
                        (Next::Separator(false), ",") => Next::Object,
                        (Next::Separator(true), ",") => Next::Class,
                        _ => Next::End,
                    };
                }
            }
        }
    }

    /// What was opened last is closed: it was a term, or the end of a clause.
    fn closed(&mut self, bracket: &str) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        match (bracket, open.next) {
            (_, Next::SubQuery) | (")", Next::Clause(false)) => {}
            ("}", _) | (")", Next::Clause(true)) => open.next = Next::Subject,
            // An annotation, or a path in brackets.
            ("|}", _) | (_, Next::Verb) => open.next = Next::End,
            _ => {
                self.term(false);
            }
        }
    }

    /// The term of a token that is a parameter.
    fn parameter(&self, at: usize) -> Option<Term> {
        let token = self.tokens.tokens[at];
        if token.kind == TokenKind::String {
            let slice = self.tokens.slice(token);
            let is_plain =
                !slice.contains('\\') && !slice.starts_with("\"\"\"") && !slice.starts_with("'''");
            return is_plain.then(|| Literal::new_simple_literal(between(slice)).into());
        }
        Some(NamedNode::new_unchecked(self.resolved(token)?).into())
    }

    /// The IRI of a token, if it is written out plainly.
    fn resolved(&self, token: Token) -> Option<String> {
        let slice = self.tokens.slice(token);
        if slice.contains('\\') {
            return None;
        }
        if token.kind == TokenKind::Iri {
            let iri = between(slice);
            return is_absolute(iri).then(|| iri.to_owned());
        }
        let (prefix, local) = slice.split_once(':')?;
        let (_, iri) = self.prefixes.iter().find(|(known, _)| *known == prefix)?;
        (is_absolute(iri) && !iri.contains('\\')).then(|| [*iri, local].concat())
    }
}

const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// Without the first and the last character, both of one byte.
pub(crate) fn between(slice: &str) -> &str {
    slice.get(1..slice.len() - 1).unwrap_or_default()
}

/// Whether an IRI stays as it is, whatever it is resolved against: it has a scheme, and no segments to
/// be removed (RFC 3986 section 5.2.4).
pub(crate) fn is_absolute(iri: &str) -> bool {
    let scheme = iri.split(':').next().unwrap_or_default();
    scheme.len() < iri.len()
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        && !iri.contains("/.")
        && !iri.contains(":.")
}

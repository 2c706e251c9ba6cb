//! Triples, triple terms, reifiers, paths.
//!
//! Within a subject's triples those of what stands inside (lists, `[ ]`, annotations) come first.

use super::Translation;
use crate::grammar::abstract_query::{
    Constant, GraphPattern, Name, NamePattern, Path, TermPattern, TriplePattern,
};
use crate::grammar::parser::Parsed;
use crate::grammar::parser::tree::{Id, NodeKind};
use oxrdf::vocab::rdf;
use oxrdf::{NamedOrBlankNode, Term, Triple};

/// A triple, or two ends of a path.
pub(super) enum TripleOrPath {
    Triple(TriplePattern),
    Path {
        subject: TermPattern,
        path: Path,
        object: TermPattern,
    },
}

/// A predicate, and an object with what reifies the triple.
pub(super) struct Property {
    at: Id,
    verb: Verb,
    object: TermPattern,
    reifiers: Vec<TermPattern>,
}

#[derive(Clone)]
enum Verb {
    Variable(Name),
    Path(Path),
}

impl Translation<'_> {
    /// The triples of a subject.
    pub(super) fn triples(&mut self, id: Id, into: &mut Vec<TripleOrPath>) -> Parsed {
        let mut children = self.tree.children(id);
        let Some(first) = children.next() else {
            return Ok(());
        };
        let mut own = Vec::new();
        let subject = self.node(first, &mut own)?;
        // A list stands before what is said of it, a reified triple after it.
        let is_after = self.kind(first) == NodeKind::Reified;
        if !is_after {
            into.append(&mut own);
        }
        let mut properties = std::mem::take(&mut self.properties);
        self.properties(children, &mut properties, into)?;
        into.append(&mut own);
        self.edges(&subject, &mut properties, into)?;
        self.properties = properties;
        Ok(())
    }

    /// The triples of a template, which has no paths.
    pub(super) fn template(&mut self, id: Id) -> Parsed<Vec<TriplePattern>> {
        let mut pieces = Vec::new();
        for triples in self.tree.children(id) {
            self.triples(triples, &mut pieces)?;
        }
        let is_triple = |piece: &TripleOrPath| matches!(piece, TripleOrPath::Triple(_));
        assert!(pieces.iter().all(is_triple), "a template has no paths");
        let triples = pieces.into_iter().filter_map(|piece| match piece {
            TripleOrPath::Triple(triple) => Some(triple),
            TripleOrPath::Path { .. } => None,
        });
        Ok(triples.collect())
    }

    /// The properties of a subject; the triples within their objects.
    fn properties(
        &mut self,
        list: impl Iterator<Item = Id>,
        properties: &mut Vec<Property>,
        into: &mut Vec<TripleOrPath>,
    ) -> Parsed {
        for property in list {
            let mut children = self.tree.children(property);
            let Some(verb) = children.next() else {
                continue;
            };
            let verb = match self.kind(verb) {
                NodeKind::Variable => Verb::Variable(self.variable(verb)),
                _ => Verb::Path(self.path(verb)?),
            };
            let mut verb = Some(verb);
            let mut objects = children.peekable();
            while let Some(object) = objects.next() {
                let (term, reifiers) = self.object(object, into)?;
                // The last one keeps it.
                let verb = match objects.peek() {
                    Some(_) => {
                        self.count_verb(object, verb.as_ref())?;
                        verb.clone()
                    }
                    None => verb.take(),
                };
                properties.extend(verb.map(|verb| Property {
                    at: object,
                    verb,
                    object: term,
                    reifiers,
                }));
            }
        }
        Ok(())
    }

    /// An object, and what reifies its triple.
    fn object(
        &mut self,
        id: Id,
        into: &mut Vec<TripleOrPath>,
    ) -> Parsed<(TermPattern, Vec<TermPattern>)> {
        if self.kind(id) != NodeKind::Annotated {
            return Ok((self.node(id, into)?, Vec::new()));
        }
        let mut children = self.tree.children(id).peekable();
        let object = match children.next() {
            Some(object) => self.node(object, into)?,
            None => return self.fault(id, "expected an object"),
        };
        let mut reifiers = Vec::new();
        while let Some(next) = children.next() {
            let (reifier, annotation) = if self.kind(next) == NodeKind::Annotation {
                (self.new_blank(), Some(next))
            } else {
                let is_annotation = |id: &Id| self.tree.kind(*id) == NodeKind::Annotation;
                let annotation = children.next_if(is_annotation);
                (self.reifier(next)?, annotation)
            };
            if let Some(annotation) = annotation {
                let (mut properties, mut inner) = (Vec::new(), Vec::new());
                let children = self.tree.children(annotation);
                self.properties(children, &mut properties, &mut inner)?;
                self.edges(&reifier, &mut properties, into)?;
                into.append(&mut inner);
            }
            reifiers.push(reifier);
        }
        Ok((object, reifiers))
    }

    fn reifier(&mut self, id: Id) -> Parsed<TermPattern> {
        match self.tree.children(id).next() {
            Some(named) => self.term(named),
            None => Ok(self.new_blank()),
        }
    }

    /// A term, a list, `[ ]` or a reified triple; the triples that it stands for.
    fn node(&mut self, id: Id, into: &mut Vec<TripleOrPath>) -> Parsed<TermPattern> {
        match self.kind(id) {
            NodeKind::Collection => self.collection(id, into),
            NodeKind::BlankList => {
                let mut properties = Vec::new();
                self.properties(self.tree.children(id), &mut properties, into)?;
                let node = self.new_blank();
                self.edges(&node, &mut properties, into)?;
                Ok(node)
            }
            NodeKind::Reified => self.reified(id, into),
            _ => self.term(id),
        }
    }

    /// RDF 1.1 Semantics section D.3: a node for each item, from the last to the first.
    fn collection(&mut self, id: Id, into: &mut Vec<TripleOrPath>) -> Parsed<TermPattern> {
        let mut items = Vec::new();
        for item in self.tree.children(id) {
            let mut own = Vec::new();
            let term = self.node(item, &mut own)?;
            items.push((term, own));
        }
        let mut rest = TermPattern::Constant(self.constant(rdf::NIL));
        for (item, mut own) in items.into_iter().rev() {
            let node = self.new_blank();
            let first = NamePattern::Constant(self.constant(rdf::FIRST));
            let first = triple(node.clone(), first, item);
            let next = NamePattern::Constant(self.constant(rdf::REST));
            let next = triple(node.clone(), next, rest);
            into.extend([first, next].map(TripleOrPath::Triple));
            into.append(&mut own);
            rest = node;
        }
        Ok(rest)
    }

    fn reified(&mut self, id: Id, into: &mut Vec<TripleOrPath>) -> Parsed<TermPattern> {
        let mut inner = Vec::new();
        let mut parts = self.tree.children(id);
        let (Some(subject), Some(verb), Some(object)) = (parts.next(), parts.next(), parts.next())
        else {
            return self.fault(id, "expected a triple");
        };
        let subject = self.node(subject, &mut inner)?;
        let predicate = self.verb(verb)?;
        let object = self.node(object, &mut inner)?;
        let reifier = match parts.next() {
            Some(reifier) => self.reifier(reifier)?,
            None => self.new_blank(),
        };
        let reified = self.reified_term(id, triple(subject, predicate, object))?;
        into.push(TripleOrPath::Triple(self.reifies(reifier.clone(), reified)));
        into.append(&mut inner);
        Ok(reifier)
    }

    /// A term that stands for no triples.
    pub(super) fn term(&mut self, id: Id) -> Parsed<TermPattern> {
        Ok(match self.kind(id) {
            NodeKind::Variable => TermPattern::Variable(self.variable(id)),
            NodeKind::Iri => {
                let iri = self.iri(id)?;
                TermPattern::Constant(self.held(id, iri.into()))
            }
            NodeKind::Label => TermPattern::Blank(self.label(id)?),
            NodeKind::Anonymous => self.new_blank(),
            NodeKind::Nil => TermPattern::Constant(self.constant(rdf::NIL)),
            NodeKind::TripleTerm => {
                let mut parts = self.tree.children(id);
                let (Some(subject), Some(verb), Some(object)) =
                    (parts.next(), parts.next(), parts.next())
                else {
                    return self.fault(id, "expected a triple");
                };
                let subject = self.term(subject)?;
                let predicate = self.verb(verb)?;
                let object = self.term(object)?;
                let triple = triple(subject, predicate, object);
                match self.ground_pattern(id, &triple)? {
                    Some(constant) => TermPattern::Constant(constant),
                    None => TermPattern::Triple(Box::new(triple)),
                }
            }
            _ => {
                let literal = self.literal(id)?;
                TermPattern::Constant(self.held(id, literal.into()))
            }
        })
    }

    /// A term of a pattern, or what is put for it.
    fn held(&mut self, id: Id, term: Term) -> Constant {
        // What is sent elsewhere is a text, which no other term can be put into.
        if !self.is_elsewhere
            && let Some(placeholder) = self.holes.at(self.tree.token(id).start, &term)
        {
            return self.constant(placeholder);
        }
        self.constant(term)
    }

    /// A verb that is no path.
    pub(super) fn verb(&mut self, id: Id) -> Parsed<NamePattern> {
        Ok(match self.kind(id) {
            NodeKind::Variable => NamePattern::Variable(self.variable(id)),
            _ => NamePattern::Constant(self.predicate(id)?),
        })
    }

    /// The triple term, where it has neither variables and blank nodes nor what no triple can hold.
    fn ground_pattern(&mut self, id: Id, triple: &TriplePattern) -> Parsed<Option<Constant>> {
        let (
            TermPattern::Constant(subject),
            NamePattern::Constant(predicate),
            TermPattern::Constant(object),
        ) = (&triple.subject, triple.predicate, &triple.object)
        else {
            return Ok(None);
        };
        let parts = [*subject, predicate, *object].map(|part| self.terms.term(part));
        let [Term::NamedNode(subject), Term::NamedNode(predicate), object] = parts else {
            return Ok(None);
        };
        let bytes = parts.iter().map(|part| bytes_of(part)).sum();
        self.made.count_at(self.tree.range(id).start, bytes)?;
        let triple = Triple::new(subject.clone(), predicate.clone(), object.clone());
        Ok(Some(self.constant(triple)))
    }

    fn new_blank(&mut self) -> TermPattern {
        TermPattern::Blank(self.terms.new_blank())
    }

    /// A term without variables and blank nodes.
    pub(super) fn ground(&mut self, id: Id) -> Parsed<Constant> {
        let term = self.ground_term(id)?;
        Ok(self.constant(term))
    }

    fn ground_term(&mut self, id: Id) -> Parsed<Term> {
        Ok(match self.kind(id) {
            NodeKind::Iri => self.iri(id)?.into(),
            NodeKind::TripleTerm => self.ground_triple(id)?.into(),
            NodeKind::Variable | NodeKind::Label | NodeKind::Anonymous => {
                return self.fault(id, "data have neither variables nor blank nodes");
            }
            _ => self.literal(id)?.into(),
        })
    }

    fn ground_triple(&mut self, id: Id) -> Parsed<Triple> {
        let mut parts = self.tree.children(id);
        let (Some(subject), Some(verb), Some(object)) = (parts.next(), parts.next(), parts.next())
        else {
            return self.fault(id, "expected a triple");
        };
        let Term::NamedNode(named) = self.ground_term(subject)? else {
            return self.fault(
                subject,
                "a literal or a triple term is no subject of a triple term",
            );
        };
        let predicate = match self.kind(verb) {
            NodeKind::Variable => return self.fault(verb, "data have no variables"),
            NodeKind::Type => rdf::TYPE.into_owned(),
            _ => self.iri(verb)?,
        };
        let object = self.ground_term(object)?;
        let bytes = named.as_str().len() + predicate.as_str().len() + bytes_of(&object);
        self.made.count_at(self.tree.range(id).start, bytes)?;
        Ok(Triple::new(named, predicate, object))
    }

    /// The triples of a subject and its properties.
    fn edges(
        &mut self,
        subject: &TermPattern,
        properties: &mut Vec<Property>,
        into: &mut Vec<TripleOrPath>,
    ) -> Parsed {
        for property in properties.drain(..) {
            let Property {
                at,
                verb,
                object,
                reifiers,
            } = property;
            match verb {
                Verb::Variable(variable) => {
                    let verb = NamePattern::Variable(variable);
                    let edge = triple(self.copy(at, subject)?, verb, object);
                    self.annotated(at, edge, reifiers, into)?;
                }
                Verb::Path(Path::Predicate(predicate)) => {
                    let verb = NamePattern::Constant(predicate);
                    let edge = triple(self.copy(at, subject)?, verb, object);
                    self.annotated(at, edge, reifiers, into)?;
                }
                Verb::Path(path) => {
                    let is_edge = matches!(&path, Path::Inverse(inner)
                        if matches!(**inner, Path::Predicate(_)));
                    if !reifiers.is_empty() && !is_edge {
                        return self.fault(
                            at,
                            "what a path connects is no triple that could be annotated",
                        );
                    }
                    let ends = (self.copy(at, subject)?, object);
                    self.connect(at, ends, path, reifiers, into)?;
                }
            }
        }
        Ok(())
    }

    /// The two ends of a path; sequences and inverses at its top become steps (section 18.2.2.4).
    fn connect(
        &mut self,
        at: Id,
        (subject, object): (TermPattern, TermPattern),
        path: Path,
        reifiers: Vec<TermPattern>,
        into: &mut Vec<TripleOrPath>,
    ) -> Parsed {
        match path {
            Path::Predicate(predicate) => {
                let verb = NamePattern::Constant(predicate);
                self.annotated(at, triple(subject, verb, object), reifiers, into)
            }
            Path::Inverse(inner) => self.connect(at, (object, subject), *inner, reifiers, into),
            Path::Sequence(first, second) => {
                let middle = self.new_blank();
                self.connect(at, (subject, middle.clone()), *first, Vec::new(), into)?;
                self.connect(at, (middle, object), *second, Vec::new(), into)
            }
            path => {
                into.push(TripleOrPath::Path {
                    subject,
                    path,
                    object,
                });
                Ok(())
            }
        }
    }

    fn path(&mut self, id: Id) -> Parsed<Path> {
        Ok(match self.kind(id) {
            NodeKind::PathAlternative => self.chain(id, Path::Alternative)?,
            NodeKind::PathSequence => self.chain(id, Path::Sequence)?,
            NodeKind::PathInverse => Path::Inverse(self.repeated(id)?),
            NodeKind::PathZeroOrMore => Path::ZeroOrMore(self.repeated(id)?),
            NodeKind::PathOneOrMore => Path::OneOrMore(self.repeated(id)?),
            NodeKind::PathZeroOrOne => Path::ZeroOrOne(self.repeated(id)?),
            NodeKind::PathNegated => self.negated(id)?,
            _ => Path::Predicate(self.predicate(id)?),
        })
    }

    /// The path that an operator stands at.
    fn repeated(&mut self, id: Id) -> Parsed<Box<Path>> {
        self.path(id.only()).map(Box::new)
    }

    /// A chain of one operator, to the left.
    fn chain(&mut self, id: Id, join: fn(Box<Path>, Box<Path>) -> Path) -> Parsed<Path> {
        let mut links = self.tree.children(id);
        let Some(first) = links.next() else {
            return self.fault(id, "expected a path");
        };
        let mut chain = self.path(first)?;
        for link in links {
            chain = join(Box::new(chain), Box::new(self.path(link)?));
        }
        Ok(chain)
    }

    /// `!(p|^q)`: `!(p) | ^!(q)`.
    fn negated(&mut self, id: Id) -> Parsed<Path> {
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for one in self.tree.children(id) {
            let is_inverse = self.kind(one) == NodeKind::PathInverse;
            let name = if is_inverse { one.only() } else { one };
            let name = self.predicate(name)?;
            if is_inverse {
                backward.push(name);
            } else {
                forward.push(name);
            }
        }
        let inverse = |list| Path::Inverse(Box::new(Path::Negated(list)));
        Ok(match (forward.is_empty(), backward.is_empty()) {
            (_, true) => Path::Negated(forward),
            (true, false) => inverse(backward),
            (false, false) => Path::Alternative(
                Box::new(Path::Negated(forward)),
                Box::new(inverse(backward)),
            ),
        })
    }

    fn predicate(&mut self, id: Id) -> Parsed<Constant> {
        match self.kind(id) {
            NodeKind::Type => Ok(self.constant(rdf::TYPE)),
            _ => self.name(id),
        }
    }

    /// A triple, and what reifies it.
    fn annotated(
        &mut self,
        at: Id,
        edge: TriplePattern,
        reifiers: Vec<TermPattern>,
        into: &mut Vec<TripleOrPath>,
    ) -> Parsed {
        if !reifiers.is_empty() {
            let copy = triple(
                self.copy(at, &edge.subject)?,
                edge.predicate,
                self.copy(at, &edge.object)?,
            );
            let reified = self.reified_term(at, copy)?;
            for reifier in reifiers {
                let reified = self.copy(at, &reified)?;
                into.push(TripleOrPath::Triple(self.reifies(reifier, reified)));
            }
        }
        into.push(TripleOrPath::Triple(edge));
        Ok(())
    }

    /// A term for another place. A triple term is copied, and copied again where it becomes part of a template or of
    /// data; within `SERVICE` everything is written out as text.
    fn copy(&mut self, at: Id, term: &TermPattern) -> Parsed<TermPattern> {
        let bytes = match term {
            TermPattern::Triple(triple) => self.bytes_of_copy(triple),
            term if self.is_elsewhere => self.bytes_of_text(term),
            _ => 0,
        };
        self.made.count_at(self.tree.range(at).start, bytes)?;
        Ok(term.clone())
    }

    /// The same of a verb, which has no triple terms.
    fn count_verb(&mut self, at: Id, verb: Option<&Verb>) -> Parsed {
        let bytes = match verb {
            Some(Verb::Path(Path::Predicate(name))) if self.is_elsewhere => {
                self.bytes_of_text(&TermPattern::Constant(*name))
            }
            Some(Verb::Variable(name)) if self.is_elsewhere => {
                self.bytes_of_text(&TermPattern::Variable(*name))
            }
            // The names of a path are few; each operator is a node.
            Some(Verb::Path(_)) if self.is_elsewhere => self.tree.text().len(),
            _ => 0,
        };
        self.made.count_at(self.tree.range(at).start, bytes)
    }

    /// As deep as triple terms are nested.
    fn bytes_of_copy(&self, triple: &TriplePattern) -> usize {
        /// Of a pattern, of the template that it becomes, and of what the allocator adds.
        const NODE_BYTES: usize = 256;
        let part = |term: &TermPattern| match term {
            TermPattern::Triple(triple) => self.bytes_of_copy(triple),
            term if self.is_elsewhere => self.bytes_of_text(term),
            _ => 0,
        };
        NODE_BYTES + part(&triple.subject) + part(&triple.object)
    }

    /// Bytes of a term in the text for an endpoint, and in the copies that are made while it is put together.
    fn bytes_of_text(&self, term: &TermPattern) -> usize {
        const COPIES: usize = 4;
        COPIES
            * match term {
                TermPattern::Constant(constant) => bytes_of(self.terms.term(*constant)),
                TermPattern::Variable(name) => self.terms.text(*name).map_or(0, str::len),
                TermPattern::Blank(_) | TermPattern::Triple(_) => 0,
            }
    }

    /// A triple as a term.
    fn reified_term(&mut self, at: Id, triple: TriplePattern) -> Parsed<TermPattern> {
        for part in [&triple.subject, &triple.object] {
            if let TermPattern::Constant(constant) = part {
                self.holes.becomes_part(self.terms.term(*constant));
            }
        }
        Ok(match self.ground_pattern(at, &triple)? {
            Some(constant) => TermPattern::Constant(constant),
            None => TermPattern::Triple(Box::new(triple)),
        })
    }

    fn reifies(&mut self, reifier: TermPattern, reified: TermPattern) -> TriplePattern {
        let predicate = NamePattern::Constant(self.constant(rdf::REIFIES));
        triple(reifier, predicate, reified)
    }
}

/// The bytes of a term's text. As deep as triple terms are nested.
pub(super) fn bytes_of(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
                NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
            };
            subject + triple.predicate.as_str().len() + bytes_of(&triple.object)
        }
    }
}

/// The pattern of triples and paths.
pub(super) fn pattern(pieces: Vec<TripleOrPath>) -> GraphPattern {
    let mut pattern = GraphPattern::default();
    let mut triples = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            TripleOrPath::Triple(triple) => triples.push(triple),
            TripleOrPath::Path {
                subject,
                path,
                object,
            } => {
                let patterns = std::mem::take(&mut triples);
                pattern = joined(pattern, GraphPattern::Bgp(patterns));
                pattern = joined(
                    pattern,
                    GraphPattern::Path {
                        subject,
                        path,
                        object,
                    },
                );
            }
        }
    }
    joined(pattern, GraphPattern::Bgp(triples))
}

/// The join of two patterns. The empty one changes nothing, and triples side by side are one pattern.
pub(super) fn joined(left: GraphPattern, right: GraphPattern) -> GraphPattern {
    match (left, right) {
        (GraphPattern::Bgp(patterns), other) | (other, GraphPattern::Bgp(patterns))
            if patterns.is_empty() =>
        {
            other
        }
        (GraphPattern::Bgp(mut patterns), GraphPattern::Bgp(more)) => {
            patterns.extend(more);
            GraphPattern::Bgp(patterns)
        }
        (left, right) => GraphPattern::Join {
            left: Box::new(left),
            right: Box::new(right),
        },
    }
}

fn triple(subject: TermPattern, predicate: NamePattern, object: TermPattern) -> TriplePattern {
    TriplePattern {
        subject,
        predicate,
        object,
    }
}

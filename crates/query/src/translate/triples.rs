//! Triples, triple terms, reifiers, paths.
//!
//! Within a subject's triples those of what stands inside (lists, `[ ]`, annotations) come first.

use super::Translation;
use crate::parser::Parsed;
use crate::parser::tree::{Id, Kind};
use oxrdf::vocab::rdf;
use oxrdf::{NamedNode, Variable};
use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, GroundTriple, NamedNodePattern, TermPattern, TriplePattern};

/// A triple, or two ends of a path.
pub(super) enum Piece {
    Triple(TriplePattern),
    Path {
        subject: TermPattern,
        path: PropertyPathExpression,
        object: TermPattern,
    },
}

/// A predicate, and an object with what reifies the triple.
struct Property {
    at: Id,
    verb: Verb,
    object: TermPattern,
    reifiers: Vec<TermPattern>,
}

#[derive(Clone)]
enum Verb {
    Variable(Variable),
    Path(PropertyPathExpression),
}

impl Translation<'_> {
    /// The triples of a subject.
    pub(super) fn triples(&mut self, id: Id, into: &mut Vec<Piece>) -> Parsed {
        let mut children = self.tree.children(id);
        let Some(first) = children.next() else {
            return Ok(());
        };
        let mut own = Vec::new();
        let subject = self.node(first, &mut own)?;
        // A list stands before what is said of it, a reified triple after it.
        let is_after = self.kind(first) == Kind::Reified;
        if !is_after {
            into.append(&mut own);
        }
        let properties = self.properties(children, into)?;
        into.append(&mut own);
        self.edges(&subject, properties, into)
    }

    /// The triples of a template, which has no paths.
    pub(super) fn template(&mut self, id: Id) -> Parsed<Vec<TriplePattern>> {
        let mut pieces = Vec::new();
        for triples in self.tree.children(id) {
            self.triples(triples, &mut pieces)?;
        }
        let triples = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Triple(triple) => Some(triple),
            Piece::Path { .. } => None,
        });
        Ok(triples.collect())
    }

    /// The properties of a subject; the triples within their objects.
    fn properties(
        &mut self,
        list: impl Iterator<Item = Id>,
        into: &mut Vec<Piece>,
    ) -> Parsed<Vec<Property>> {
        let mut properties = Vec::new();
        for property in list {
            let mut children = self.tree.children(property);
            let Some(verb) = children.next() else {
                continue;
            };
            let verb = match self.kind(verb) {
                Kind::Variable => Verb::Variable(self.variable(verb)),
                _ => Verb::Path(self.path(verb)?),
            };
            let mut verb = Some(verb);
            let mut objects = children.peekable();
            while let Some(object) = objects.next() {
                let (term, reifiers) = self.object(object, into)?;
                // The last one keeps it.
                let verb = match objects.peek() {
                    Some(_) => verb.clone(),
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
        Ok(properties)
    }

    /// An object, and what reifies its triple.
    fn object(&mut self, id: Id, into: &mut Vec<Piece>) -> Parsed<(TermPattern, Vec<TermPattern>)> {
        if self.kind(id) != Kind::Annotated {
            return Ok((self.node(id, into)?, Vec::new()));
        }
        let mut children = self.tree.children(id).peekable();
        let object = match children.next() {
            Some(object) => self.node(object, into)?,
            None => return self.fault(id, "expected an object"),
        };
        let mut reifiers = Vec::new();
        while let Some(next) = children.next() {
            let (reifier, annotation) = if self.kind(next) == Kind::Annotation {
                (self.new_blank().into(), Some(next))
            } else {
                let is_annotation = |id: &Id| self.tree.kind(*id) == Kind::Annotation;
                let annotation = children.next_if(is_annotation);
                (self.reifier(next)?, annotation)
            };
            if let Some(annotation) = annotation {
                let mut inner = Vec::new();
                let properties = self.properties(self.tree.children(annotation), &mut inner)?;
                self.edges(&reifier, properties, into)?;
                into.append(&mut inner);
            }
            reifiers.push(reifier);
        }
        Ok((object, reifiers))
    }

    fn reifier(&mut self, id: Id) -> Parsed<TermPattern> {
        match self.tree.children(id).next() {
            Some(named) => self.term(named),
            None => Ok(self.new_blank().into()),
        }
    }

    /// A term, a list, `[ ]` or a reified triple; the triples that it stands for.
    fn node(&mut self, id: Id, into: &mut Vec<Piece>) -> Parsed<TermPattern> {
        match self.kind(id) {
            Kind::Collection => self.collection(id, into),
            Kind::BlankList => {
                let properties = self.properties(self.tree.children(id), into)?;
                let node = TermPattern::from(self.new_blank());
                self.edges(&node, properties, into)?;
                Ok(node)
            }
            Kind::Reified => self.reified(id, into),
            _ => self.term(id),
        }
    }

    /// RDF 1.1 Semantics section D.3: a node for each item, from the last to the first.
    fn collection(&mut self, id: Id, into: &mut Vec<Piece>) -> Parsed<TermPattern> {
        let mut items = Vec::new();
        for item in self.tree.children(id) {
            let mut own = Vec::new();
            let term = self.node(item, &mut own)?;
            items.push((term, own));
        }
        let mut rest = TermPattern::from(rdf::NIL.into_owned());
        for (item, mut own) in items.into_iter().rev() {
            let node = TermPattern::from(self.new_blank());
            let first = triple(node.clone(), rdf::FIRST.into_owned(), item);
            let next = triple(node.clone(), rdf::REST.into_owned(), rest);
            into.extend([first, next].map(Piece::Triple));
            into.append(&mut own);
            rest = node;
        }
        Ok(rest)
    }

    fn reified(&mut self, id: Id, into: &mut Vec<Piece>) -> Parsed<TermPattern> {
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
            None => self.new_blank().into(),
        };
        let reified = TriplePattern {
            subject,
            predicate,
            object,
        };
        into.push(Piece::Triple(reifies(reifier.clone(), reified)));
        into.append(&mut inner);
        Ok(reifier)
    }

    /// A term that stands for no triples.
    pub(super) fn term(&mut self, id: Id) -> Parsed<TermPattern> {
        Ok(match self.kind(id) {
            Kind::Variable => self.variable(id).into(),
            Kind::Iri => self.iri(id)?.into(),
            Kind::Label => self.label(id)?.into(),
            Kind::Anonymous => self.new_blank().into(),
            Kind::Nil => rdf::NIL.into_owned().into(),
            Kind::TripleTerm => {
                let mut parts = self.tree.children(id);
                let (Some(subject), Some(verb), Some(object)) =
                    (parts.next(), parts.next(), parts.next())
                else {
                    return self.fault(id, "expected a triple");
                };
                let subject = self.term(subject)?;
                let predicate = self.verb(verb)?;
                let object = self.term(object)?;
                let triple = TriplePattern {
                    subject,
                    predicate,
                    object,
                };
                TermPattern::Triple(Box::new(triple))
            }
            _ => self.literal(id)?.into(),
        })
    }

    /// A verb that is no path.
    pub(super) fn verb(&mut self, id: Id) -> Parsed<NamedNodePattern> {
        Ok(match self.kind(id) {
            Kind::Variable => self.variable(id).into(),
            Kind::Type => rdf::TYPE.into_owned().into(),
            _ => self.iri(id)?.into(),
        })
    }

    /// A term without variables and blank nodes.
    pub(super) fn ground(&mut self, id: Id) -> Parsed<GroundTerm> {
        Ok(match self.kind(id) {
            Kind::Iri => self.iri(id)?.into(),
            Kind::TripleTerm => self.ground_triple(id)?.into(),
            Kind::Variable | Kind::Label | Kind::Anonymous => {
                return self.fault(id, "data have neither variables nor blank nodes");
            }
            _ => self.literal(id)?.into(),
        })
    }

    fn ground_triple(&mut self, id: Id) -> Parsed<GroundTriple> {
        let mut parts = self.tree.children(id);
        let (Some(subject), Some(verb), Some(object)) = (parts.next(), parts.next(), parts.next())
        else {
            return self.fault(id, "expected a triple");
        };
        let GroundTerm::NamedNode(named) = self.ground(subject)? else {
            return self.fault(
                subject,
                "a literal or a triple term is no subject of a triple term",
            );
        };
        let NamedNodePattern::NamedNode(predicate) = self.verb(verb)? else {
            return self.fault(verb, "data have no variables");
        };
        Ok(GroundTriple {
            subject: named,
            predicate,
            object: self.ground(object)?,
        })
    }

    /// The triples of a subject and its properties.
    fn edges(
        &mut self,
        subject: &TermPattern,
        properties: Vec<Property>,
        into: &mut Vec<Piece>,
    ) -> Parsed {
        for property in properties {
            let Property {
                at,
                verb,
                object,
                reifiers,
            } = property;
            match verb {
                Verb::Variable(variable) => {
                    annotated(triple(subject.clone(), variable, object), reifiers, into);
                }
                Verb::Path(PropertyPathExpression::NamedNode(predicate)) => {
                    annotated(triple(subject.clone(), predicate, object), reifiers, into);
                }
                Verb::Path(path) => {
                    let is_edge = matches!(&path, PropertyPathExpression::Reverse(inner)
                        if matches!(**inner, PropertyPathExpression::NamedNode(_)));
                    if !reifiers.is_empty() && !is_edge {
                        return self.fault(
                            at,
                            "what a path connects is no triple that could be annotated",
                        );
                    }
                    self.connect(subject.clone(), path, object, reifiers, into);
                }
            }
        }
        Ok(())
    }

    /// The two ends of a path; sequences and inverses at its top become steps (section 18.2.2.4).
    fn connect(
        &mut self,
        subject: TermPattern,
        path: PropertyPathExpression,
        object: TermPattern,
        reifiers: Vec<TermPattern>,
        into: &mut Vec<Piece>,
    ) {
        match path {
            PropertyPathExpression::NamedNode(predicate) => {
                annotated(triple(subject, predicate, object), reifiers, into);
            }
            PropertyPathExpression::Reverse(inner) => {
                self.connect(object, *inner, subject, reifiers, into);
            }
            PropertyPathExpression::Sequence(first, second) => {
                let middle = TermPattern::from(self.new_blank());
                self.connect(subject, *first, middle.clone(), Vec::new(), into);
                self.connect(middle, *second, object, Vec::new(), into);
            }
            path => into.push(Piece::Path {
                subject,
                path,
                object,
            }),
        }
    }

    fn path(&mut self, id: Id) -> Parsed<PropertyPathExpression> {
        use PropertyPathExpression as Path;
        let boxed = |path: Path| Box::new(path);
        Ok(match self.kind(id) {
            Kind::Type => Path::NamedNode(rdf::TYPE.into_owned()),
            Kind::PathAlternative => self.chain(id, |left, right| {
                Path::Alternative(Box::new(left), Box::new(right))
            })?,
            Kind::PathSequence => self.chain(id, |left, right| {
                Path::Sequence(Box::new(left), Box::new(right))
            })?,
            Kind::PathInverse => Path::Reverse(boxed(self.path(id.only())?)),
            Kind::PathZeroOrMore => Path::ZeroOrMore(boxed(self.path(id.only())?)),
            Kind::PathOneOrMore => Path::OneOrMore(boxed(self.path(id.only())?)),
            Kind::PathZeroOrOne => Path::ZeroOrOne(boxed(self.path(id.only())?)),
            Kind::PathNegated => self.negated(id)?,
            _ => Path::NamedNode(self.iri(id)?),
        })
    }

    /// A chain of one operator, to the left.
    fn chain(
        &mut self,
        id: Id,
        join: impl Fn(PropertyPathExpression, PropertyPathExpression) -> PropertyPathExpression,
    ) -> Parsed<PropertyPathExpression> {
        let mut links = self.tree.children(id);
        let Some(first) = links.next() else {
            return self.fault(id, "expected a path");
        };
        let mut chain = self.path(first)?;
        for link in links {
            chain = join(chain, self.path(link)?);
        }
        Ok(chain)
    }

    /// `!(p|^q)`: `!(p) | ^!(q)`.
    fn negated(&mut self, id: Id) -> Parsed<PropertyPathExpression> {
        use PropertyPathExpression as Path;
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for one in self.tree.children(id) {
            let is_inverse = self.kind(one) == Kind::PathInverse;
            let name = if is_inverse { one.only() } else { one };
            let name = self.predicate(name)?;
            if is_inverse {
                backward.push(name);
            } else {
                forward.push(name);
            }
        }
        let reverse = |list| Path::Reverse(Box::new(Path::NegatedPropertySet(list)));
        Ok(match (forward.is_empty(), backward.is_empty()) {
            (_, true) => Path::NegatedPropertySet(forward),
            (true, false) => reverse(backward),
            (false, false) => Path::Alternative(
                Box::new(Path::NegatedPropertySet(forward)),
                Box::new(reverse(backward)),
            ),
        })
    }

    fn predicate(&mut self, id: Id) -> Parsed<NamedNode> {
        match self.kind(id) {
            Kind::Type => Ok(rdf::TYPE.into_owned()),
            _ => self.iri(id),
        }
    }
}

/// The pattern of triples and paths.
pub(super) fn pattern(pieces: Vec<Piece>) -> GraphPattern {
    let mut pattern = GraphPattern::default();
    let mut triples = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Triple(triple) => triples.push(triple),
            Piece::Path {
                subject,
                path,
                object,
            } => {
                let patterns = std::mem::take(&mut triples);
                pattern = joined(pattern, GraphPattern::Bgp { patterns });
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
    joined(pattern, GraphPattern::Bgp { patterns: triples })
}

/// The join of two patterns. The empty one changes nothing, and triples side by side are one pattern.
pub(super) fn joined(left: GraphPattern, right: GraphPattern) -> GraphPattern {
    match (left, right) {
        (GraphPattern::Bgp { patterns }, other) | (other, GraphPattern::Bgp { patterns })
            if patterns.is_empty() =>
        {
            other
        }
        (GraphPattern::Bgp { mut patterns }, GraphPattern::Bgp { patterns: more }) => {
            patterns.extend(more);
            GraphPattern::Bgp { patterns }
        }
        (left, right) => GraphPattern::Join {
            left: Box::new(left),
            right: Box::new(right),
        },
    }
}

fn triple(
    subject: TermPattern,
    predicate: impl Into<NamedNodePattern>,
    object: TermPattern,
) -> TriplePattern {
    TriplePattern {
        subject,
        predicate: predicate.into(),
        object,
    }
}

fn reifies(reifier: TermPattern, reified: TriplePattern) -> TriplePattern {
    let object = TermPattern::Triple(Box::new(reified));
    triple(reifier, rdf::REIFIES.into_owned(), object)
}

/// A triple, and what reifies it.
fn annotated(edge: TriplePattern, reifiers: Vec<TermPattern>, into: &mut Vec<Piece>) {
    for reifier in reifiers {
        into.push(Piece::Triple(reifies(reifier, edge.clone())));
    }
    into.push(Piece::Triple(edge));
}

//! Operations of an update (SPARQL 1.1 Update section 3.1 and 4.3).

use super::Translation;
use super::triples::{Piece, joined};
use crate::parse::{ParseError, ParseOptions};
use crate::parser::Parsed;
use crate::parser::tree::{Id, Kind, Tree};
use crate::update::{Operation, Target, Transfer};
use oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use spargebra::algebra::{GraphPattern, QueryDataset};
use spargebra::term::{
    GraphNamePattern, NamedNodePattern, QuadPattern, TermPattern, TriplePattern,
};
use std::collections::HashMap;

/// What a text with one operation at most says.
pub(crate) struct Read {
    pub(crate) declared: Declared,
    /// The operation, and the number of its first token.
    pub(crate) operation: Option<(usize, Parts)>,
}

/// What a prologue leaves.
pub(crate) struct Declared {
    pub(crate) base: Option<String>,
    /// What it declares itself, without colons.
    pub(crate) prefixes: Vec<(String, String)>,
}

/// An operation, as far as its text tells.
pub(crate) enum Parts {
    /// What needs no pattern.
    Whole(Operation),
    /// `INSERT DATA` or `DELETE DATA`: the quads, whose blank nodes are labelled `b0`, `b1`, ... in the order of
    /// the text, and how many these are.
    Data {
        inserts: bool,
        quads: Vec<Quad>,
        blanks: usize,
    },
    /// `DELETE`, `INSERT`, `WHERE`.
    Modify(Box<Modification>),
}

/// `DELETE`, `INSERT`, `WHERE` as written; `WITH` stands in the templates.
pub(crate) struct Modification {
    /// Without blank nodes.
    pub(crate) delete: Vec<QuadPattern>,
    pub(crate) insert: Vec<QuadPattern>,
    pub(crate) using: Option<QueryDataset>,
    pub(crate) with: Option<NamedNode>,
    pub(crate) pattern: GraphPattern,
    pub(crate) base: Option<String>,
}

/// The operation of a tree.
pub(crate) fn update(tree: &Tree<'_>, options: &ParseOptions) -> Result<Read, ParseError> {
    let mut translation = Translation::new(tree, options)?;
    translation
        .update_unit()
        .map_err(|fault| fault.placed(tree.tokens))
}

impl Translation<'_> {
    fn update_unit(&mut self) -> Parsed<Read> {
        let mut operation = None;
        let mut prefixes = Vec::new();
        for child in self.tree.children(Tree::ROOT) {
            match self.kind(child) {
                Kind::Prefix => {
                    self.declare(child)?;
                    let name = self.declared_name(child);
                    let iri = self.prefixes.get(name).cloned().unwrap_or_default();
                    prefixes.push((name.to_owned(), iri));
                }
                Kind::Base | Kind::Version => self.declare(child)?,
                _ => operation = Some((self.tree.range(child).start, self.operation(child)?)),
            }
        }
        let base = self.base.as_ref().map(ToString::to_string);
        let declared = Declared { base, prefixes };
        Ok(Read {
            declared,
            operation,
        })
    }

    fn operation(&mut self, id: Id) -> Parsed<Parts> {
        let silent = self.tree.child(id, Kind::Silent).is_some();
        let mut targets = self.tree.children(id).skip(usize::from(silent));
        Ok(Parts::Whole(match self.kind(id) {
            Kind::InsertData => return self.data(id, true),
            Kind::DeleteData => return self.data(id, false),
            Kind::DeleteWhere => return self.delete_where(id),
            Kind::Modify => return self.modify(id),
            Kind::Load => Operation::Load {
                silent,
                source: self.graph_name(id, targets.next())?,
                graph: match targets.next() {
                    Some(graph) => Some(self.iri(graph)?),
                    None => None,
                },
            },
            Kind::Clear => Operation::Clear {
                silent,
                target: self.target(id, targets.next())?,
            },
            Kind::Drop => Operation::Drop {
                silent,
                target: self.target(id, targets.next())?,
            },
            Kind::Create => Operation::Create {
                silent,
                graph: self.graph_name(id, targets.next())?,
            },
            kind => Operation::Transfer {
                kind: match kind {
                    Kind::Add => Transfer::Add,
                    Kind::Copy => Transfer::Copy,
                    _ => Transfer::Move,
                },
                silent,
                from: self.graph_or_default(id, targets.next())?,
                to: self.graph_or_default(id, targets.next())?,
            },
        }))
    }

    fn graph_name(&mut self, of: Id, id: Option<Id>) -> Parsed<NamedNode> {
        match id {
            Some(id) => self.iri(id),
            None => self.fault(of, "expected the IRI of a graph"),
        }
    }

    fn graph_or_default(&mut self, of: Id, id: Option<Id>) -> Parsed<Option<NamedNode>> {
        match id.map(|id| self.kind(id)) {
            Some(Kind::Default) => Ok(None),
            _ => self.graph_name(of, id).map(Some),
        }
    }

    fn target(&mut self, of: Id, id: Option<Id>) -> Parsed<Target> {
        Ok(match id.map(|id| self.kind(id)) {
            Some(Kind::Default) => Target::Default,
            Some(Kind::Named) => Target::Named,
            Some(Kind::All) => Target::All,
            _ => Target::Graph(self.graph_name(of, id)?),
        })
    }

    /// The quads of a clause; those without a graph of their own are in this one.
    fn quads(&mut self, clause: Id, graph: &GraphNamePattern) -> Parsed<Vec<QuadPattern>> {
        let mut quads = Vec::new();
        for part in self.tree.children(clause) {
            if self.kind(part) == Kind::Triples {
                self.quads_of(part, graph, &mut quads)?;
                continue;
            }
            let mut children = self.tree.children(part);
            let (Some(name), Some(triples)) = (children.next(), children.next()) else {
                return self.fault(part, "expected GRAPH name { ... }");
            };
            let name = GraphNamePattern::from(self.verb(name)?);
            for triples in self.tree.children(triples) {
                self.quads_of(triples, &name, &mut quads)?;
            }
        }
        Ok(quads)
    }

    fn quads_of(
        &mut self,
        triples: Id,
        graph: &GraphNamePattern,
        into: &mut Vec<QuadPattern>,
    ) -> Parsed {
        let mut pieces = Vec::new();
        self.triples(triples, &mut pieces)?;
        into.extend(pieces.into_iter().filter_map(|piece| match piece {
            Piece::Triple(triple) => Some(QuadPattern {
                subject: triple.subject,
                predicate: triple.predicate,
                object: triple.object,
                graph_name: graph.clone(),
            }),
            Piece::Path { .. } => None,
        }));
        Ok(())
    }

    fn data(&mut self, id: Id, inserts: bool) -> Parsed<Parts> {
        let clause = id.only();
        let what = if inserts {
            "INSERT DATA"
        } else {
            "DELETE DATA"
        };
        if let Some(variable) = self.tree.within(clause, Kind::Variable) {
            return self.fault(variable, format!("{what} has no variables"));
        }
        let patterns = self.quads(clause, &GraphNamePattern::DefaultGraph)?;
        if !inserts {
            self.without_blanks(clause, what, &patterns)?;
        }
        let mut labels = Numbers::default();
        let mut quads = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let Some(quad) = labels.quad(pattern) else {
                return self.fault(
                    clause,
                    "a literal or a triple term is no subject of a triple, nor of a triple term",
                );
            };
            quads.push(quad);
        }
        let blanks = labels.0.len();
        Ok(Parts::Data {
            inserts,
            quads,
            blanks,
        })
    }

    /// Refuses blank nodes, which stand for new nodes: nothing that is there could be meant.
    fn without_blanks(&self, clause: Id, what: &str, quads: &[QuadPattern]) -> Parsed {
        fn has_blank(term: &TermPattern) -> bool {
            match term {
                TermPattern::BlankNode(_) => true,
                TermPattern::Triple(triple) => {
                    has_blank(&triple.subject) || has_blank(&triple.object)
                }
                _ => false,
            }
        }
        let is_blank = |quad: &QuadPattern| has_blank(&quad.subject) || has_blank(&quad.object);
        if !quads.iter().any(is_blank) {
            return Ok(());
        }
        const KINDS: [Kind; 7] = [
            Kind::Label,
            Kind::Anonymous,
            Kind::BlankList,
            Kind::Collection,
            Kind::Reified,
            Kind::Reifier,
            Kind::Annotation,
        ];
        let found = KINDS
            .into_iter()
            .find_map(|kind| self.tree.within(clause, kind));
        self.fault(
            found.unwrap_or(clause),
            format!("blank nodes are not allowed in {what}: use a variable in a pattern"),
        )
    }

    /// `DELETE WHERE`: the quads are pattern and template.
    fn delete_where(&mut self, id: Id) -> Parsed<Parts> {
        let clause = id.only();
        let delete = self.quads(clause, &GraphNamePattern::DefaultGraph)?;
        self.without_blanks(clause, "DELETE WHERE", &delete)?;
        let mut pattern = GraphPattern::default();
        for quad in &delete {
            let triple = TriplePattern {
                subject: quad.subject.clone(),
                predicate: quad.predicate.clone(),
                object: quad.object.clone(),
            };
            let edge = GraphPattern::Bgp {
                patterns: vec![triple],
            };
            let name = match &quad.graph_name {
                GraphNamePattern::DefaultGraph => None,
                GraphNamePattern::NamedNode(name) => Some(NamedNodePattern::from(name.clone())),
                GraphNamePattern::Variable(name) => Some(NamedNodePattern::from(name.clone())),
            };
            let edge = match name {
                None => edge,
                Some(name) => GraphPattern::Graph {
                    name,
                    inner: Box::new(edge),
                },
            };
            pattern = joined(pattern, edge);
        }
        Ok(Parts::Modify(Box::new(Modification {
            delete,
            insert: Vec::new(),
            using: None,
            with: None,
            pattern,
            base: self.base.as_ref().map(ToString::to_string),
        })))
    }

    fn modify(&mut self, id: Id) -> Parsed<Parts> {
        let with = match self.tree.child(id, Kind::With) {
            Some(with) => Some(self.iri(with.only())?),
            None => None,
        };
        let graph = match &with {
            Some(with) => GraphNamePattern::NamedNode(with.clone()),
            None => GraphNamePattern::DefaultGraph,
        };
        let (mut delete, mut insert, mut pattern) = (Vec::new(), Vec::new(), None);
        for part in self.tree.children(id) {
            match self.kind(part) {
                Kind::DeleteClause => {
                    let clause = part.only();
                    delete = self.quads(clause, &graph)?;
                    self.without_blanks(clause, "DELETE", &delete)?;
                }
                Kind::InsertClause => insert = self.quads(part.only(), &graph)?,
                Kind::Group => {
                    // Labels of templates are not those of the pattern.
                    self.labels.here.clear();
                    pattern = Some(self.group(part)?);
                }
                _ => {}
            }
        }
        Ok(Parts::Modify(Box::new(Modification {
            delete,
            insert,
            using: self.dataset(id)?,
            with,
            pattern: pattern.unwrap_or_default(),
            base: self.base.as_ref().map(ToString::to_string),
        })))
    }
}

/// The blank nodes of data: each label and the number that it gets, in the order of the text.
#[derive(Default)]
struct Numbers(HashMap<String, usize>);

impl Numbers {
    /// The quad; `None` where a literal or a triple term is a subject.
    fn quad(&mut self, pattern: QuadPattern) -> Option<Quad> {
        let graph = match pattern.graph_name {
            GraphNamePattern::NamedNode(graph) => graph.into(),
            GraphNamePattern::DefaultGraph => GraphName::DefaultGraph,
            GraphNamePattern::Variable(_) => return None,
        };
        let triple = self.triple(TriplePattern {
            subject: pattern.subject,
            predicate: pattern.predicate,
            object: pattern.object,
        })?;
        Some(triple.in_graph(graph))
    }

    /// As deep as triple terms are nested.
    fn triple(&mut self, pattern: TriplePattern) -> Option<Triple> {
        let subject: NamedOrBlankNode = match pattern.subject {
            TermPattern::NamedNode(node) => node.into(),
            TermPattern::BlankNode(node) => self.blank(node).into(),
            _ => return None,
        };
        let NamedNodePattern::NamedNode(predicate) = pattern.predicate else {
            return None;
        };
        let object: Term = match pattern.object {
            TermPattern::NamedNode(node) => node.into(),
            TermPattern::BlankNode(node) => self.blank(node).into(),
            TermPattern::Literal(literal) => literal.into(),
            TermPattern::Triple(inner) => self.triple(*inner)?.into(),
            TermPattern::Variable(_) => return None,
        };
        Some(Triple {
            subject,
            predicate,
            object,
        })
    }

    fn blank(&mut self, node: BlankNode) -> BlankNode {
        let next = self.0.len();
        let number = *self.0.entry(node.into_string()).or_insert(next);
        BlankNode::new_unchecked(format!("b{number}"))
    }
}

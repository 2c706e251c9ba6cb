//! Operations of an update (SPARQL 1.1 Update section 3.1 and 4.3).

use super::data::Filling;
use super::triples::{TripleOrPath, joined};
use super::{Translated, Translation, translated};
use crate::error::ParseError;
use crate::grammar::abstract_query::{
    Constant, Dataset, GraphPattern, NamePattern, QuadPattern, TermPattern,
};
use crate::grammar::parser::tree::{Id, NodeKind, Tree};
use crate::grammar::parser::{GrammarError, Parsed};
use crate::options::ParseOptions;
use crate::update::{Data, Operation, Target, Transfer};
use oxrdf::NamedNode;

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
    /// `INSERT DATA` or `DELETE DATA`.
    Data { inserts: bool, data: Data },
    /// `DELETE`, `INSERT`, `WHERE`.
    Modify(Box<Modification>),
}

/// `DELETE`, `INSERT`, `WHERE` as written; `WITH` stands in the templates.
pub(crate) struct Modification {
    /// Without blank nodes.
    pub(crate) delete: Vec<QuadPattern>,
    pub(crate) insert: Vec<QuadPattern>,
    pub(crate) using: Option<Dataset>,
    pub(crate) with: Option<Constant>,
    pub(crate) pattern: GraphPattern,
    pub(crate) base: Option<String>,
}

/// The operation of a tree. `made`: what the operations before it have made.
pub(crate) fn update<'t>(
    tree: &'t Tree<'t>,
    options: &'t ParseOptions,
    made: u64,
) -> Result<Translated<'t, Read>, ParseError> {
    translated(tree, options, made, Translation::update_unit)
}

impl Translation<'_> {
    fn update_unit(&mut self) -> Parsed<Read> {
        let mut operation = None;
        let mut prefixes = Vec::new();
        for child in self.tree.children(Tree::ROOT) {
            match self.kind(child) {
                NodeKind::Prefix => {
                    self.declare(child)?;
                    let name = self.declared_name(child);
                    let iri = self.prefixes.get(name).map_or("", |declared| &declared.iri);
                    prefixes.push((name.to_owned(), iri.to_owned()));
                }
                NodeKind::Base | NodeKind::Version => self.declare(child)?,
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
        let silent = self.tree.child(id, NodeKind::Silent).is_some();
        let mut targets = self.tree.children(id).skip(usize::from(silent));
        Ok(Parts::Whole(match self.kind(id) {
            NodeKind::InsertData => return self.data(id, true),
            NodeKind::DeleteData => return self.data(id, false),
            NodeKind::DeleteWhere => return self.delete_where(id),
            NodeKind::Modify => return self.modify(id),
            NodeKind::Load => Operation::Load {
                silent,
                source: self.graph_name(id, targets.next())?,
                graph: match targets.next() {
                    Some(graph) => Some(self.iri(graph)?),
                    None => None,
                },
            },
            NodeKind::Clear => Operation::Clear {
                silent,
                target: self.target(id, targets.next())?,
            },
            NodeKind::Drop => Operation::Drop {
                silent,
                target: self.target(id, targets.next())?,
            },
            NodeKind::Create => Operation::Create {
                silent,
                graph: self.graph_name(id, targets.next())?,
            },
            kind => Operation::Transfer {
                kind: match kind {
                    NodeKind::Add => Transfer::Add,
                    NodeKind::Copy => Transfer::Copy,
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
            Some(NodeKind::Default) => Ok(None),
            _ => self.graph_name(of, id).map(Some),
        }
    }

    fn target(&mut self, of: Id, id: Option<Id>) -> Parsed<Target> {
        Ok(match id.map(|id| self.kind(id)) {
            Some(NodeKind::Default) => Target::Default,
            Some(NodeKind::Named) => Target::Named,
            Some(NodeKind::All) => Target::All,
            _ => Target::Graph(self.graph_name(of, id)?),
        })
    }

    /// The quads of a clause; those without a graph of their own are in this one.
    fn quads(&mut self, clause: Id, graph: Option<NamePattern>) -> Parsed<Vec<QuadPattern>> {
        let mut quads = Vec::new();
        for part in self.tree.children(clause) {
            if self.kind(part) == NodeKind::Triples {
                self.quads_of(part, graph, &mut quads)?;
                continue;
            }
            let mut children = self.tree.children(part);
            let (Some(name), Some(triples)) = (children.next(), children.next()) else {
                return self.fault(part, "expected GRAPH name { ... }");
            };
            let name = Some(self.verb(name)?);
            for triples in self.tree.children(triples) {
                self.quads_of(triples, name, &mut quads)?;
            }
        }
        Ok(quads)
    }

    fn quads_of(
        &mut self,
        triples: Id,
        graph: Option<NamePattern>,
        into: &mut Vec<QuadPattern>,
    ) -> Parsed {
        let mut pieces = Vec::new();
        self.triples(triples, &mut pieces)?;
        into.extend(pieces.into_iter().filter_map(|piece| match piece {
            TripleOrPath::Triple(triple) => Some(QuadPattern { triple, graph }),
            TripleOrPath::Path { .. } => None,
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
        if let Some(variable) = self.tree.within(clause, NodeKind::Variable) {
            return self.fault(variable, format!("{what} has no variables"));
        }
        let patterns = self.quads(clause, None)?;
        if !inserts {
            self.without_blanks(clause, what, &patterns)?;
        }
        let mut filling = Filling::new(&self.terms, &mut self.made);
        for pattern in &patterns {
            if !filling.push(pattern).map_err(|exceeded| {
                let at = self.tree.range(clause).start;
                GrammarError::of(exceeded.kind(), at, exceeded.to_string())
            })? {
                return self.fault(
                    clause,
                    "a literal or a triple term is no subject of a triple, nor of a triple term",
                );
            }
        }
        let data = filling.finish();
        Ok(Parts::Data { inserts, data })
    }

    /// Refuses blank nodes, which stand for new nodes: nothing that is there could be meant.
    fn without_blanks(&self, clause: Id, what: &str, quads: &[QuadPattern]) -> Parsed {
        fn has_blank(term: &TermPattern) -> bool {
            match term {
                TermPattern::Blank(_) => true,
                TermPattern::Triple(triple) => {
                    has_blank(&triple.subject) || has_blank(&triple.object)
                }
                _ => false,
            }
        }
        let is_blank =
            |quad: &QuadPattern| has_blank(&quad.triple.subject) || has_blank(&quad.triple.object);
        if !quads.iter().any(is_blank) {
            return Ok(());
        }
        const KINDS: [NodeKind; 7] = [
            NodeKind::Label,
            NodeKind::Anonymous,
            NodeKind::BlankList,
            NodeKind::Collection,
            NodeKind::Reified,
            NodeKind::Reifier,
            NodeKind::Annotation,
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
        let delete = self.quads(clause, None)?;
        self.without_blanks(clause, "DELETE WHERE", &delete)?;
        let mut pattern = GraphPattern::default();
        for quad in &delete {
            let edge = GraphPattern::Bgp(vec![quad.triple.clone()]);
            let edge = match quad.graph {
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
        let with = match self.tree.child(id, NodeKind::With) {
            Some(with) => Some(self.name(with.only())?),
            None => None,
        };
        let graph = with.map(NamePattern::Constant);
        let (mut delete, mut insert, mut pattern) = (Vec::new(), Vec::new(), None);
        for part in self.tree.children(id) {
            match self.kind(part) {
                NodeKind::DeleteClause => {
                    let clause = part.only();
                    delete = self.quads(clause, graph)?;
                    self.without_blanks(clause, "DELETE", &delete)?;
                }
                NodeKind::InsertClause => insert = self.quads(part.only(), graph)?,
                NodeKind::Group => {
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

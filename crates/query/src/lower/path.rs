//! Paths: what is a join or a union becomes patterns; closures and negated sets stay paths.
//!
//! SPARQL 1.1 Query section 18.2.2.4 translates sequences and inverses so (the parser has done it for
//! those at the top); alternatives are a union by section 18.4, which keeps duplicates. Within a
//! closure results are sets, and everything stays one path.

use super::group::Pipeline;
use super::nested::join_union;
use super::pattern::{edge, take_apart};
use super::{Context, Lowering};
use crate::algebra::{Element, PathPattern};
use crate::error::ParseError;
use crate::grammar::abstract_query::{Constant, Path as Algebra, TermPattern};
use crate::path::Path;
use crate::plan::{ConstantId, Node};

impl Lowering<'_> {
    pub(super) fn path(
        &mut self,
        subject: &TermPattern,
        path: &Algebra,
        object: &TermPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut parts = Vec::new();
        let subject = self.term(subject, &mut parts)?;
        let object = self.term(object, &mut parts)?;
        self.connect(subject, path, object, context, table)?;
        take_apart(parts, table);
        Ok(())
    }

    /// Joins with what a path connects.
    fn connect(
        &mut self,
        subject: Node,
        path: &Algebra,
        object: Node,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        match path {
            Algebra::Predicate(predicate) => {
                let predicate = Node::Constant(self.constant(*predicate));
                edge([subject, predicate, object], context, table);
                Ok(())
            }
            Algebra::Inverse(inner) if !matches!(**inner, Algebra::Negated(_)) => {
                self.connect(object, inner, subject, context, table)
            }
            Algebra::Sequence(..) => {
                let mut from = subject;
                let mut steps = links(path, is_sequence).into_iter().peekable();
                while let Some(step) = steps.next() {
                    let to = match steps.peek() {
                        Some(_) => Node::Slot(self.hidden()?),
                        None => object,
                    };
                    self.connect(from, step, to, context, table)?;
                    from = to;
                }
                Ok(())
            }
            Algebra::Alternative(..) => self.alternatives(subject, path, object, context, table),
            Algebra::Inverse(_)
            | Algebra::ZeroOrMore(_)
            | Algebra::OneOrMore(_)
            | Algebra::ZeroOrOne(_)
            | Algebra::Negated(_) => {
                let path = self.closed(path);
                path_pattern(subject, path, object, context, table);
                Ok(())
            }
        }
    }

    fn alternatives(
        &mut self,
        subject: Node,
        path: &Algebra,
        object: Node,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let list = links(path, is_alternative);
        if let [forward, backward] = list[..]
            && let Some(path) = self.negated(forward, backward)
        {
            path_pattern(subject, path, object, context, table);
            return Ok(());
        }
        let mut branches = Vec::with_capacity(list.len());
        for alternative in list {
            let mut branch = Pipeline::default();
            self.connect(subject, alternative, object, context, &mut branch)?;
            Self::ensure_graph(context, &mut branch);
            branches.push(branch);
        }
        join_union(table, branches);
        Ok(())
    }

    /// A path within a closure, or one that is none.
    fn closed(&mut self, path: &Algebra) -> Path {
        match path {
            Algebra::Predicate(predicate) => Path::Predicate(self.constant(*predicate)),
            Algebra::Inverse(inner) => match &**inner {
                Algebra::Negated(list) => Path::Negated {
                    forward: None,
                    backward: Some(self.predicates(list)),
                },
                inner => Path::Inverse(Box::new(self.closed(inner))),
            },
            Algebra::Sequence(..) => {
                let steps = links(path, is_sequence).into_iter();
                Path::Sequence(steps.map(|step| self.closed(step)).collect())
            }
            Algebra::Alternative(..) => {
                let list = links(path, is_alternative);
                if let [forward, backward] = list[..]
                    && let Some(path) = self.negated(forward, backward)
                {
                    return path;
                }
                Path::Alternative(list.into_iter().map(|link| self.closed(link)).collect())
            }
            Algebra::ZeroOrMore(inner) => Path::ZeroOrMore(Box::new(self.closed(inner))),
            Algebra::OneOrMore(inner) => Path::OneOrMore(Box::new(self.closed(inner))),
            Algebra::ZeroOrOne(inner) => Path::ZeroOrOne(Box::new(self.closed(inner))),
            Algebra::Negated(list) => Path::Negated {
                forward: Some(self.predicates(list)),
                backward: None,
            },
        }
    }

    /// `!(p|^q)`, which the parser writes `!(p) | ^!(q)`.
    fn negated(&mut self, forward: &Algebra, backward: &Algebra) -> Option<Path> {
        let (Algebra::Negated(forward), Algebra::Inverse(backward)) = (forward, backward) else {
            return None;
        };
        let Algebra::Negated(backward) = &**backward else {
            return None;
        };
        Some(Path::Negated {
            forward: Some(self.predicates(forward)),
            backward: Some(self.predicates(backward)),
        })
    }

    fn predicates(&mut self, list: &[Constant]) -> Vec<ConstantId> {
        let list = list.iter();
        list.map(|predicate| self.constant(*predicate)).collect()
    }
}

fn path_pattern(subject: Node, path: Path, object: Node, context: &Context, table: &mut Pipeline) {
    // A path of no length connects what need not be in the graph.
    let has_edge = !path.allows_no_length();
    let pattern = PathPattern {
        subject,
        path,
        object,
        graph: context.graph,
        source: context.source,
    };
    if !has_edge {
        Lowering::ensure_graph(context, table);
    }
    table.join(Element::Path(pattern), &[subject, object]);
    table.in_graph |= has_edge;
}

fn is_sequence(path: &Algebra) -> Option<(&Algebra, &Algebra)> {
    match path {
        Algebra::Sequence(left, right) => Some((left, right)),
        _ => None,
    }
}

fn is_alternative(path: &Algebra) -> Option<(&Algebra, &Algebra)> {
    match path {
        Algebra::Alternative(left, right) => Some((left, right)),
        _ => None,
    }
}

/// The links of a chain of one operator, in the order of the text.
fn links<'p>(
    path: &'p Algebra,
    split: impl Fn(&'p Algebra) -> Option<(&'p Algebra, &'p Algebra)>,
) -> Vec<&'p Algebra> {
    let mut links = Vec::new();
    let mut pending = vec![path];
    while let Some(next) = pending.pop() {
        match split(next) {
            Some((left, right)) => pending.extend([right, left]),
            None => links.push(next),
        }
    }
    links
}

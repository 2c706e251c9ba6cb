//! Windows as bags (`multiset=on`): a triple that came `k` times is there `k` times, as adjacency lists that keep
//! duplicates have it.
//!
//! A basic graph pattern over a multigraph has each solution as often as there are ways to choose an occurrence of each of
//! its triples: the product of their multiplicities. SPARQL can say that already. `GRAPH ?g { s p o }` has a solution for
//! each graph that holds the triple; so here each pattern of a window gets a graph variable of its own that nobody sees, and
//! the window, looked at as a bag, has each occurrence in a graph of its own
//! (`store::Window::bag`). All that plans and walks do for `GRAPH ?g` does for bags.
//!
//! | in the text | means |
//! |---|---|
//! | a pattern, a sequence, an alternative, an inverse | one solution for each choice of occurrences |
//! | `!(p)` | as a pattern with a variable and a filter: one for each occurrence |
//! | `p*`, `p+`, `p?` | a set, as over any graph: SPARQL counts no ways there |
//! | `EXISTS`, `MINUS` | whether there is one |
//! | `DISTINCT`, `COUNT(DISTINCT ...)` | distinct solutions: how often something came is no part of one |
//! | `GRAPH` within a window | refused: the graph of an item and how often it came are not asked together |
//!
//! Invariant: a query without windows in it is left as it is. Cost: one pass over the elements.

use crate::algebra::{Element, Group, PathPattern, Pattern, Query};
use crate::expression::Expression;
use crate::node::{ConstantId, Node, Slot};
use crate::path::Path;

/// Slots of a query at most, of which the planner needs some.
const SLOTS_MAX: usize = u16::MAX as usize / 2;

/// Lets all patterns of windows see each occurrence. `None` where the query has too many variables for that.
pub(super) fn see_occurrences(query: &mut Query) -> Option<()> {
    let mut elements = std::mem::take(&mut query.body.elements);
    let done = Occurrences {
        variables: &mut query.variables,
    }
    .of_elements(&mut elements);
    query.body.elements = elements;
    done
}

struct Occurrences<'q> {
    variables: &'q mut Vec<String>,
}

impl Occurrences<'_> {
    fn of_elements(&mut self, elements: &mut Vec<Element>) -> Option<()> {
        let mut seen = Vec::with_capacity(elements.len());
        for mut element in std::mem::take(elements) {
            match &mut element {
                Element::Pattern(pattern) => self.of_pattern(pattern)?,
                Element::Path(path) => {
                    seen.extend(self.of_path(path)?);
                    continue;
                }
                Element::Join(group)
                | Element::Minus(group)
                | Element::Lateral(group)
                | Element::Exists { group, .. }
                | Element::Mark { group, .. } => self.of_elements(&mut group.elements)?,
                Element::Union(groups) => {
                    for group in groups {
                        self.of_elements(&mut group.elements)?;
                    }
                }
                Element::Optional { group, condition } => {
                    self.of_elements(&mut group.elements)?;
                    self.of_elements(condition)?;
                }
                _ => {}
            }
            seen.push(element);
        }
        *elements = seen;
        Some(())
    }

    fn of_pattern(&mut self, pattern: &mut Pattern) -> Option<()> {
        if !pattern.source.is_store() && pattern.graph.is_none() {
            pattern.graph = Some(Node::Slot(self.hidden()?));
        }
        Some(())
    }

    /// A negated set is a pattern and a filter; a closure stays as it is.
    fn of_path(&mut self, path: &PathPattern) -> Option<Vec<Element>> {
        let Path::Negated { forward, backward } = &path.path else {
            return Some(vec![Element::Path(path.clone())]);
        };
        if path.source.is_store() || path.graph.is_some() {
            return Some(vec![Element::Path(path.clone())]);
        }
        let ends = [path.subject, path.object];
        let mut ways = Vec::new();
        for (excluded, [subject, object]) in
            [(forward, ends), (backward, [path.object, path.subject])]
        {
            if let Some(excluded) = excluded {
                let predicate = self.hidden()?;
                let mut pattern = Pattern {
                    subject,
                    predicate: Node::Slot(predicate),
                    object,
                    graph: None,
                    source: path.source,
                };
                self.of_pattern(&mut pattern)?;
                let mut way = vec![Element::Pattern(pattern)];
                way.extend(excluded.iter().map(|one| is_not(predicate, *one)));
                ways.push(way);
            }
        }
        if ways.len() == 1 {
            return Some(ways.swap_remove(0));
        }
        let groups = ways.into_iter().map(|elements| Group { elements });
        Some(vec![Element::Union(groups.collect())])
    }

    fn hidden(&mut self) -> Option<Slot> {
        let number = self.variables.len();
        if number >= SLOTS_MAX {
            return None;
        }
        self.variables.push(format!(".{number}"));
        Some(Slot(number as u16))
    }
}

fn is_not(predicate: Slot, excluded: ConstantId) -> Element {
    let same = Expression::SameTerm(
        Box::new(Expression::Slot(predicate)),
        Box::new(Expression::Constant(excluded)),
    );
    Element::Filter(Expression::Not(Box::new(same)))
}

//! What a group does with its variables, found in one pass over it.
//!
//! | set | a variable is in it when |
//! |---|---|
//! | `certain` | every solution binds it |
//! | `maybe` | some solution may bind it, another not |
//! | `occurs` | it stands anywhere in the group, however deep |
//! | `captured` | substituting a value for it before evaluating the group may give something else than joining afterwards |
//!
//! **Substitution.** Let T be a table in which `v` is bound, and G a group. `T join G` may be evaluated
//! by starting G's pipeline with T's rows where each of G's elements commutes with the join:
//!
//! ```text
//!   T join (A join E)          =  (T join A) join E             always
//!   T join Filter(A)           =  Filter(T join A)              the filter's variables that are in T are certain in A
//!   T join LeftJoin(A, B, f)   =  LeftJoin(T join A, B, f)      those of B and f are
//!   T join Minus(A, B)         =  Minus(T join A, B)            those of B are
//!   T join Extend(A, w, e)     =  Extend(T join A, w, e)        those of e are, and w is not in T
//! ```
//!
//! (Perez, Arenas and Gutierrez, "Semantics and Complexity of SPARQL", TODS'09, section 4: what they
//! call well designed is a group in which nothing is captured.) A variable that breaks a condition is
//! captured. What looks at rows together (`LIMIT`, aggregates, `DISTINCT`), and what gives another
//! value each time (`RAND`), `blocks`: such a group is not started with all of T's rows. Where it sees
//! a row (in `EXISTS`, `LATERAL`) it is started with each, unless the row's variables commute with it:
//!
//! ```text
//!   T join Distinct(A)         =  Distinct(T join A)            row by row: those certain in A
//!   T join Aggregate(A, keys)  =  Aggregate(T join A, keys)     row by row: keys that are certain in A
//!   T join Slice(A)                                             none
//! ```

use crate::algebra::{Element, Group, PathPattern};
use crate::expression::Expression;
use crate::plan::{Node, Slot};
use crate::slots::Slots;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub certain: Slots,
    pub maybe: Slots,
    pub occurs: Slots,
    pub captured: Slots,
    /// What groups within it capture, however deep.
    pub captured_within: Slots,
    /// Never to be walked from all of another table's rows at once.
    pub blocks: bool,
    /// All elements are joins, or filters over what is certain.
    pub is_plain: bool,
}

impl Facts {
    /// Of a group that is evaluated on its own.
    pub(crate) fn of(elements: &[Element]) -> Facts {
        let mut facts = Facts {
            is_plain: true,
            ..Facts::default()
        };
        for element in elements {
            facts.element(element);
        }
        if elements.iter().any(is_volatile) {
            facts.captured.add(&facts.occurs);
        }
        assert!(
            !facts.certain.intersects(&facts.maybe),
            "what is certain is not in doubt"
        );
        facts
    }

    /// What is captured, here or however deep.
    pub(super) fn captures(&self) -> Slots {
        self.captured.or(&self.captured_within)
    }

    /// The variables of solutions.
    pub(super) fn out(&self) -> Slots {
        self.certain.or(&self.maybe)
    }

    /// Takes one more element of the pipeline.
    pub(super) fn element(&mut self, element: &Element) {
        match element {
            Element::Pattern(_)
            | Element::Path(_)
            | Element::Graph(..)
            | Element::TripleTerm { .. }
            | Element::Values { .. }
            | Element::Given { .. }
            | Element::Join(_)
            | Element::Union(_)
            | Element::Service(_) => {
                let joined = Facts::of_join(element);
                self.join(&joined);
                if let Element::Join(_) | Element::Union(_) = element {
                    self.holds(&joined);
                }
            }
            Element::Optional { group, condition } => {
                let right = Facts::of(&group.elements);
                let mut read = right.occurs.clone();
                for part in condition {
                    read.add(&occurs(part));
                }
                self.reads(&read);
                self.holds(&right);
                for part in condition {
                    if let Element::Exists { group, .. } | Element::Mark { group, .. } = part {
                        self.holds(&Facts::of(&group.elements));
                    }
                }
                self.blocks |= is_volatile(element);
                self.left(&right);
                self.is_plain = false;
            }
            Element::Minus(group) | Element::Exists { group, .. } => {
                self.looks_at(group);
            }
            Element::Mark { group, into } => {
                self.looks_at(group);
                self.binds(*into, true);
            }
            Element::Lateral(group) => {
                let right = self.looks_at(group);
                self.blocks |= right.blocks;
                let (certain, maybe) = (right.certain, right.maybe);
                self.add(&certain, &maybe);
            }
            Element::Filter(expression) => {
                let read = slots_of(expression);
                self.is_plain &= read.is_within(&self.certain);
                self.reads(&read);
                self.blocks |= is_volatile(element);
            }
            Element::Bind { expression, into } => {
                self.reads(&slots_of(expression));
                self.blocks |= is_volatile(element);
                let is_sure = match expression {
                    Expression::Constant(_) => true,
                    Expression::Slot(slot) => self.certain.contains(*slot),
                    _ => false,
                };
                self.binds(*into, is_sure);
                self.is_plain = false;
            }
            modifier => self.modifier(modifier),
        }
    }

    fn modifier(&mut self, element: &Element) {
        self.is_plain = false;
        match element {
            Element::Aggregate { keys, aggregates } => {
                let certain: Slots = keys.iter().copied().collect();
                let certain = certain.and(&self.certain);
                let mut read: Slots = keys.iter().copied().collect();
                for (aggregate, into) in aggregates {
                    aggregate.for_each_slot(&mut |slot| {
                        read.insert(slot);
                    });
                    read.insert(*into);
                }
                self.occurs.add(&read);
                self.captured.add(&self.occurs.without(&certain));
                let keys: Slots = keys.iter().copied().collect();
                self.certain.intersect(&keys);
                self.maybe.intersect(&keys);
                for (aggregate, into) in aggregates {
                    let set = if aggregate.argument.is_none() {
                        &mut self.certain
                    } else {
                        &mut self.maybe
                    };
                    set.insert(*into);
                }
                self.blocks = true;
            }
            Element::Order(keys) => {
                for key in keys {
                    self.occurs.add(&slots_of(&key.expression));
                }
                self.blocks = true;
            }
            Element::Project(slots) => {
                let kept: Slots = slots.iter().copied().collect();
                self.certain.intersect(&kept);
                self.maybe.intersect(&kept);
                self.occurs.add(&kept);
            }
            Element::Distinct => {
                self.captured.add(&self.occurs.without(&self.certain));
                self.blocks = true;
            }
            _ => {
                self.captured.add(&self.occurs);
                self.blocks = true;
            }
        }
    }

    /// Of an element that is joined, alone.
    pub(super) fn of_join(element: &Element) -> Facts {
        let mut facts = Facts {
            is_plain: true,
            ..Facts::default()
        };
        match element {
            Element::Pattern(pattern) => facts.certain.extend(pattern.slots()),
            Element::Path(path) => facts.certain.extend(path_slots(path)),
            Element::Graph(node, _) => facts.certain.extend(slot_of(*node)),
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => {
                facts.certain.insert(*term);
                let parts = [*subject, *predicate, *object];
                facts.certain.extend(parts.into_iter().filter_map(slot_of));
            }
            Element::Values { columns, rows } => {
                for (at, column) in columns.iter().enumerate() {
                    let undefined = rows
                        .iter()
                        .any(|row| row.get(at).is_none_or(Option::is_none));
                    let set = if undefined {
                        &mut facts.maybe
                    } else {
                        &mut facts.certain
                    };
                    set.insert(*column);
                }
            }
            Element::Given { columns, .. } => facts.certain.extend(columns.iter().copied()),
            Element::Service(service) => {
                facts.certain.extend(slot_of(service.endpoint));
                let columns = service.columns.iter().map(|(_, slot)| *slot);
                facts.maybe.extend(columns);
                facts.maybe.subtract(&facts.certain);
            }
            Element::Join(group) => return Facts::of(&group.elements),
            Element::Union(branches) => {
                let all: Vec<Facts> = branches.iter().map(|b| Facts::of(&b.elements)).collect();
                return Facts::of_union(&all);
            }
            Element::Optional { .. }
            | Element::Minus(_)
            | Element::Lateral(_)
            | Element::Exists { .. }
            | Element::Mark { .. }
            | Element::Filter(_)
            | Element::Bind { .. }
            | Element::Aggregate { .. }
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. } => {}
        }
        facts.occurs = facts.certain.or(&facts.maybe);
        facts
    }

    fn of_union(branches: &[Facts]) -> Facts {
        let mut union = branches.first().cloned().unwrap_or_default();
        for branch in branches {
            union.certain.intersect(&branch.certain);
            union.occurs.add(&branch.occurs);
            union.captured.add(&branch.captured);
            union.captured_within.add(&branch.captured_within);
            union.blocks |= branch.blocks;
            union.is_plain &= branch.is_plain;
        }
        union.maybe = Slots::default();
        for branch in branches {
            union.maybe.add(&branch.out());
        }
        union.maybe.subtract(&union.certain);
        union
    }

    /// A join with something that is evaluated on its own, which captures nothing: the planner looks
    /// at it again when it joins it.
    pub(super) fn join(&mut self, joined: &Facts) {
        self.add(&joined.certain, &joined.maybe);
        self.occurs.add(&joined.occurs);
    }

    /// A group that says something of the row.
    fn looks_at(&mut self, group: &Group) -> Facts {
        let right = Facts::of(&group.elements);
        self.reads(&right.occurs);
        self.holds(&right);
        self.is_plain = false;
        right
    }

    fn holds(&mut self, inner: &Facts) {
        self.captured_within.add(&inner.captured);
        self.captured_within.add(&inner.captured_within);
    }

    fn left(&mut self, right: &Facts) {
        let none = Slots::default();
        self.add(&none, &right.out());
    }

    fn add(&mut self, certain: &Slots, maybe: &Slots) {
        self.certain.add(certain);
        self.maybe.add(maybe);
        self.maybe.subtract(&self.certain);
    }

    fn reads(&mut self, slots: &Slots) {
        self.captured.add(&slots.without(&self.certain));
        self.occurs.add(slots);
    }

    fn binds(&mut self, slot: Slot, is_sure: bool) {
        self.captured.insert(slot);
        self.occurs.insert(slot);
        if is_sure {
            self.certain.insert(slot);
            self.maybe.remove(slot);
        } else if !self.certain.contains(slot) {
            self.maybe.insert(slot);
        }
    }
}

/// Every variable of an element.
pub(crate) fn occurs(element: &Element) -> Slots {
    let mut facts = Facts::default();
    facts.element(element);
    facts.occurs
}

pub(super) fn slot_of(node: Node) -> Option<Slot> {
    match node {
        Node::Slot(slot) => Some(slot),
        Node::Constant(_) => None,
    }
}

pub(super) fn path_slots(path: &PathPattern) -> impl Iterator<Item = Slot> {
    let nodes = [Some(path.subject), Some(path.object), path.graph];
    nodes.into_iter().flatten().filter_map(slot_of)
}

pub(crate) fn slots_of(expression: &Expression) -> Slots {
    let mut slots = Slots::default();
    expression.for_each_slot(&mut |slot| {
        slots.insert(slot);
    });
    slots
}

/// Whether two evaluations for equal rows may differ.
pub(crate) fn is_volatile(element: &Element) -> bool {
    match element {
        Element::Filter(expression) | Element::Bind { expression, .. } => expression.gives_new(),
        Element::Optional { condition, .. } => condition.iter().any(is_volatile),
        _ => false,
    }
}

/// Whether a group is a sub-query, whose variables are its own.
pub(super) fn is_subquery(group: &Group) -> bool {
    let projects = |element: &Element| matches!(element, Element::Project(_));
    group.elements.iter().any(projects)
}

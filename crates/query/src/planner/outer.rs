//! What keeps or extends the rows of a table by what a group says of each: `OPTIONAL`, `MINUS`,
//! `EXISTS`, `LATERAL`, `BIND`.
//!
//! Each is a block that is walked from the table, with a mode. Whether the group's elements are walked
//! from the row or looked up in a table of their own is decided where they are laid into the block
//! (see [`super::group`]): the block of `OPTIONAL` and `MINUS` joins with the group, so nothing but
//! what is joined passes into it; that of `EXISTS` and `LATERAL` begins with the row.
//!
//! **`MINUS`** removes a row if a compatible solution shares a bound variable with it (SPARQL 1.1 Query
//! section 18.5). A variable that is certain on both sides settles the second condition. Where there
//! is none, all shared variables get slots of their own and both conditions become a filter. Where no
//! variable can be shared, nothing is removed.

use super::block::{Block, Planning};
use super::costs;
use super::facts::{Facts, is_subquery, slots_of};
use crate::algebra::{Element, Group};
use crate::expression::Expression;
use crate::plan::{Action, Mode, Slot};
use crate::slots::Slots;

impl Planning<'_> {
    /// What is neither join nor modifier.
    pub(super) fn barrier(&mut self, block: &mut Block, element: Element) {
        match element {
            Element::Optional { group, condition } => {
                let mut inner = block.within();
                let mut elements = vec![Element::Join(group)];
                elements.extend(condition);
                self.pipeline(&mut inner, elements);
                if !inner.steps.is_empty() {
                    self.nest(block, Mode::Left, vec![inner], false);
                }
            }
            Element::Minus(group) => self.minus(block, group),
            Element::Lateral(group) => self.lateral(block, group),
            Element::Exists { group, negated } => {
                let inner = self.seeing(block, group);
                let mode = if negated { Mode::Anti } else { Mode::Semi };
                self.nest(block, mode, vec![inner], false);
            }
            Element::Mark { group, into } => {
                let inner = self.seeing(block, group);
                self.nest(block, Mode::Mark(into), vec![inner], false);
            }
            Element::Filter(filter) => block.filter(filter),
            Element::Bind { expression, into } => self.extend(block, expression, into),
            Element::Pattern(_)
            | Element::Path(_)
            | Element::Graph(..)
            | Element::TripleTerm { .. }
            | Element::Values { .. }
            | Element::Given { .. }
            | Element::Join(_)
            | Element::Union(_)
            | Element::Service(_)
            | Element::Aggregate { .. }
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. } => unreachable!("joins and modifiers are no barriers"),
        }
    }

    fn extend(&mut self, block: &mut Block, expression: Expression, into: Slot) {
        let read = slots_of(&expression);
        block.ensure(&read.without(&[into].into_iter().collect()));
        let is_sure = match &expression {
            Expression::Constant(_) => true,
            Expression::Slot(slot) => block.certain.contains(*slot),
            _ => false,
        };
        let is_taken = block.has(into);
        let column = if is_taken { self.hidden() } else { into };
        let cost = costs::STEP + block.rows * costs::FILTER;
        let action = Action::Bind {
            expression,
            into: column,
        };
        block.push(action, block.rows, cost);
        if is_sure {
            block.bind(column);
        } else {
            block.bind_maybe(column);
        }
        if is_taken {
            block.unify(into, column);
        }
    }

    /// A block for a group that sees the row.
    fn seeing(&mut self, block: &mut Block, group: Group) -> Block {
        let mut inner = block.within();
        inner.seen.add(&block.columns());
        let occurs = Facts::of(&group.elements).occurs;
        let elements = if is_subquery(&group) || !occurs.intersects(&inner.seen) {
            vec![Element::Join(group)]
        } else {
            group.elements
        };
        self.keep_seen(&mut inner, &elements);
        self.pipeline(&mut inner, elements);
        inner
    }

    /// Copies what may be unbound and is read by groups within a group that sees it: there it stays
    /// what the row has, whatever the group around them binds.
    fn keep_seen(&mut self, block: &mut Block, elements: &[Element]) {
        // What rows further out had is not what this one has.
        block.kept.clear();
        if block.maybe.is_empty() {
            return;
        }
        for slot in Facts::of(elements).captured_within.and(&block.maybe).iter() {
            let kept = self.hidden();
            self.extend(block, Expression::Slot(slot), kept);
            block.kept.insert(slot, kept);
        }
    }

    fn lateral(&mut self, block: &mut Block, mut group: Group) {
        if let [Element::Join(_)] = group.elements[..]
            && let Some(Element::Join(only)) = group.elements.pop()
        {
            group = only;
        }
        let looks_at_all = |element: &Element| {
            matches!(
                element,
                Element::Aggregate { .. }
                    | Element::Order(_)
                    | Element::Distinct
                    | Element::Slice { .. }
            )
        };
        let row_by_row = group.elements.iter().any(looks_at_all);
        let mut inner = block.within();
        inner.is_unit = false;
        inner.seen.add(&block.columns());
        self.keep_seen(&mut inner, &group.elements);
        self.pipeline(&mut inner, group.elements);
        self.nest(block, Mode::Inner, vec![inner], row_by_row);
    }

    fn minus(&mut self, block: &mut Block, mut group: Group) {
        let facts = Facts::of(&group.elements);
        let shared = facts.out().and(&block.columns());
        if shared.is_empty() {
            return;
        }
        let mut inner = block.within();
        if shared.and(&block.certain).intersects(&facts.certain) {
            self.pipeline(&mut inner, vec![Element::Join(group)]);
            return self.nest(block, Mode::Anti, vec![inner], false);
        }
        let renaming = self.renaming(&shared);
        renaming.group(&mut group);
        self.pipeline(&mut inner, vec![Element::Join(group)]);
        let bound = |slot: Slot| Expression::Bound(slot);
        let not = |e: Expression| Expression::Not(Box::new(e));
        let slot = |slot: Slot| Box::new(Expression::Slot(slot));
        let mut compatible = Vec::new();
        let mut domains = Vec::new();
        for left in shared.iter() {
            let right = renaming.to[&left];
            let same = Expression::SameTerm(slot(left), slot(right));
            compatible.push(Expression::Or(vec![
                not(bound(left)),
                not(bound(right)),
                same,
            ]));
            domains.push(Expression::And(vec![bound(left), bound(right)]));
        }
        let shares = match domains.len() {
            1 => domains.swap_remove(0),
            _ => Expression::Or(domains),
        };
        compatible.push(shares);
        inner.filter(Expression::And(compatible));
        self.nest(block, Mode::Anti, vec![inner], false);
    }

    /// Adds a step that walks blocks from the table.
    pub(super) fn nest(
        &mut self,
        block: &mut Block,
        mode: Mode,
        inner: Vec<Block>,
        row_by_row: bool,
    ) {
        let row = self.hidden();
        let walks = matches!(mode, Mode::Inner | Mode::Left);
        let is_one = matches!(inner[..], [_]);
        assert!(
            is_one || matches!(mode, Mode::Inner | Mode::Semi),
            "what is left of a row is left once"
        );
        let mut exports = Slots::default();
        let mut rows = 0.0;
        let mut cost = costs::STEP;
        let mut certain: Option<Slots> = None;
        let mut columns = Slots::default();
        for inner in &inner {
            exports.add(&inner.written.and(&inner.columns()));
            rows += inner.rows;
            cost += inner.cost() + block.rows * costs::ROW;
            columns.add(&inner.columns());
            match &mut certain {
                None => certain = Some(inner.certain.clone()),
                Some(certain) => certain.intersect(&inner.certain),
            }
        }
        let rows = match mode {
            Mode::Inner => rows,
            Mode::Left => rows.max(block.rows),
            Mode::Semi => (block.rows * 0.5).min(rows),
            Mode::Anti => block.rows * 0.5,
            Mode::Mark(_) => block.rows,
        };
        let action = Action::Nested {
            mode,
            branches: inner.into_iter().map(|inner| inner.steps).collect(),
            imports: Vec::new(),
            row,
            exports: if walks { exports.to_vec() } else { Vec::new() },
            row_by_row,
        };
        block.push(action, rows, cost);
        if walks {
            if mode == Mode::Inner {
                block.certain.add(&certain.unwrap_or_default());
            }
            block.maybe.add(&columns);
            block.maybe.subtract(&block.certain);
        }
        if let Mode::Mark(mark) = mode {
            block.bind(mark);
        }
    }
}

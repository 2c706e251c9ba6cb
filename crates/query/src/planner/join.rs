//! One join: its items are ordered by cost, and each becomes steps.
//!
//! | item | steps |
//! |---|---|
//! | a pattern | the moves of [`super::access`] |
//! | a path | from a bound end; with none, seeds and then from them. Its graph is bound first |
//! | `GRAPH ?g {}` | all graphs, compared with what is known |
//! | a triple term | taken apart where it is bound, put together where its parts are |
//! | `VALUES`, `SERVICE` | new columns; those that the table has already are unified |
//! | a given table | looked up by the columns that are certain; where a pattern binds them all, as soon as it has |
//! | `UNION` | a block for each branch, walked from the table |
//! | a table of its own | looked up by what is certain on both sides |
//!
//! A variable that may be unbound in the table is matched by a slot of its own, and the two columns
//! are unified after the item. Where such a variable is all that links patterns to the table, the rows
//! that have it and those that have not go different ways, because without it the patterns' matches
//! would be multiplied with the table.

use super::block::{Block, Planning};
use super::costs;
use super::facts::{Facts, path_slots, slot_of};
use super::group::{PipelineElement, facts_of};
use super::order;
use super::order::component::Ordered;
use super::problem::{Item, Problem};
use super::rename::Renaming;
use crate::algebra::{Element, Group, PathPattern, Service};
use crate::expression::{Expression, Function};
use crate::path::Path;
use crate::plan::{Action, ConstantId, Mode, Node, Scope, Slot, Source, TableId};
use crate::slots::Slots;
use rdf::Direction;
use std::borrow::Cow;

/// Why a piece cannot be among the joins: [`super::group`] puts these alone there.
const NO_JOIN: &str = "only joins and tables are joined";

/// How deep ways for bound and for unbound variables are nested.
const GUARDS_MAX: u8 = 2;

impl Planning<'_> {
    /// Joins the table with all of these.
    pub(super) fn join(&mut self, block: &mut Block, joins: Vec<PipelineElement>) {
        if joins.is_empty() {
            return;
        }
        let joins = match self.guard(block, &joins) {
            None => joins,
            Some(slot) => return self.guarded(block, slot, joins),
        };
        // Named graphs are few and say little: they come last, where they are often known.
        let is_graph =
            |piece: &PipelineElement| matches!(piece, PipelineElement::Join(Element::Graph(..)));
        let (graphs, joins) = if joins.iter().any(is_graph) {
            joins.into_iter().partition(is_graph)
        } else {
            (Vec::new(), joins)
        };
        let mut doubtful = block.maybe.clone();
        for piece in &joins {
            if !matches!(piece, PipelineElement::Join(Element::Pattern(_))) {
                doubtful.add(&facts_of(piece).maybe);
            }
        }
        let item = |piece| self.item(piece, &doubtful);
        let items: Vec<Item> = joins.iter().map(item).collect();
        let index = self.index;
        let problem = Problem::new(items, block.filters(), &block.certain, &self.known, index);
        let order = if self.keep_order {
            order::as_written(&problem)
        } else {
            self.prove(block, &problem);
            order::order(&problem, self.sampling.as_mut())
        };
        let is_interrupted = self.sampling.as_ref().is_some_and(|it| it.is_interrupted);
        assert!(
            is_interrupted || order.len() == joins.len(),
            "what is joined is in the order once"
        );
        let mut joins: Vec<Option<PipelineElement>> = joins.into_iter().map(Some).collect();
        for (at, &ordered) in order.iter().enumerate() {
            let Some(piece) = joins[ordered.pattern].take() else {
                continue;
            };
            let met = order.get(at + 1).filter(|next| next.is_met).copied();
            match met {
                Some(met) if block.intersect(self, &problem, [ordered, met]) => {
                    joins[met.pattern] = None;
                }
                None => {
                    let next = order.get(at + 1).copied();
                    if let Some(next) = next
                        && looks_up_early(block, &problem, &joins, &piece, [ordered, next])
                    {
                        joins[next.pattern] = None;
                    }
                    self.item_steps(block, &problem, ordered, piece);
                }
                _ => self.item_steps(block, &problem, ordered, piece),
            }
            block.place_filters();
        }
        assert!(
            is_interrupted || joins.iter().all(Option::is_none),
            "what is joined is in the order once"
        );
        for piece in graphs {
            if let PipelineElement::Join(Element::Graph(node, source)) = piece {
                self.graph(block, node, source);
                block.place_filters();
            }
        }
    }

    /// What the signatures prove empty is not walked in the snapshot that they are of.
    fn prove(&self, block: &mut Block, problem: &Problem<'_>) {
        if let Some(snapshot) = self.index.statistics.complete_at
            && !self.known.keep_empty
            && problem.has_empty_star()
        {
            let is_unit = block.is_unit;
            block.push(Action::Never { snapshot }, block.rows, 0.0);
            block.is_unit = is_unit;
        }
    }

    /// A variable that may be unbound and is all that links some of the joins to the table.
    fn guard(&self, block: &Block, joins: &[PipelineElement]) -> Option<Slot> {
        if self.keep_order || block.maybe.is_empty() || block.guards >= GUARDS_MAX {
            return None;
        }
        let sets: Vec<Slots> = joins.iter().map(|piece| facts_of(piece).out()).collect();
        if !sets.iter().any(|set| set.intersects(&block.maybe)) {
            return None;
        }
        // What the table reaches, until it reaches no more.
        let mut reached = block.certain.clone();
        let mut open: Vec<&Slots> = sets.iter().collect();
        loop {
            let before = open.len();
            open.retain(|set| {
                let is_linked = set.intersects(&reached);
                if is_linked {
                    reached.add(set);
                }
                !is_linked
            });
            if open.len() == before {
                break;
            }
        }
        open.iter()
            .find_map(|set| set.and(&block.maybe).iter().next())
    }

    /// Rows with the variable are walked with it; those without it are joined and then given it.
    fn guarded(&mut self, block: &mut Block, slot: Slot, joins: Vec<PipelineElement>) {
        let bound = Expression::Bound(slot);
        let mut with = block.within();
        with.guards += 1;
        with.filter(bound.clone());
        with.bind(slot);
        self.join(&mut with, joins.clone());
        let mut without = block.within();
        without.guards += 1;
        without.filter(Expression::Not(Box::new(bound)));
        let hidden = self.hidden();
        let mut renaming = Renaming::default();
        renaming.to.insert(slot, hidden);
        let renamed = joins.into_iter().map(|mut piece| {
            match &mut piece {
                PipelineElement::Join(element) => renaming.element(element),
                PipelineElement::Table(group) => renaming.group(group),
                PipelineElement::Unify { .. }
                | PipelineElement::Other(_)
                | PipelineElement::Modifier(_) => {
                    unreachable!("{NO_JOIN}")
                }
            }
            piece
        });
        self.join(&mut without, renamed.collect());
        if without.has(hidden) {
            without.unify(slot, hidden);
        }
        self.nest(block, Mode::Inner, vec![with, without], false);
    }

    fn item_steps(
        &mut self,
        block: &mut Block,
        problem: &Problem<'_>,
        ordered: Ordered,
        piece: PipelineElement,
    ) {
        block.begin(ordered);
        let mut element = match piece {
            PipelineElement::Table(group) => {
                let rows = block.expected(ordered);
                return self.table(block, group, rows);
            }
            PipelineElement::Join(Element::Union(branches)) => {
                return self.union(block, branches);
            }
            PipelineElement::Join(element) => element,
            PipelineElement::Unify { .. }
            | PipelineElement::Other(_)
            | PipelineElement::Modifier(_) => {
                unreachable!("{NO_JOIN}")
            }
        };
        let endpoint = endpoint_of(block, &element);
        let apart = columns_apart(block, &element);
        let renaming = self.renaming(&apart);
        if !apart.is_empty() {
            renaming.element(&mut element);
        }
        match element {
            Element::Pattern(pattern) => {
                let mut sized = Cow::Borrowed(&problem.patterns[ordered.pattern]);
                if pattern != sized.pattern {
                    sized.to_mut().pattern = pattern;
                }
                block.pattern(self, problem, &sized, ordered);
            }
            Element::Path(path) => {
                let rows = block.expected(ordered);
                self.path(block, path, rows);
            }
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => {
                self.triple_term(block, term, [subject, predicate, object]);
            }
            Element::Values { columns, rows } => {
                let expected = block.expected(ordered);
                self.values(block, columns, rows, expected);
            }
            Element::Given { table, columns } => self.given(block, table, columns, ordered),
            Element::Service(mut service) => {
                service.endpoint = endpoint.unwrap_or(service.endpoint);
                ask(block, service);
            }
            Element::Graph(..) => unreachable!("named graphs come last, without an order"),
            Element::Union(_) => unreachable!("its branches were joined above"),
            Element::Join(_)
            | Element::Optional { .. }
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
            | Element::Slice { .. } => unreachable!("{NO_JOIN}"),
        }
        for (into, from) in &renaming.to {
            block.unify(*into, *from);
        }
    }

    pub(super) fn renaming(&mut self, slots: &Slots) -> Renaming {
        let to = slots.iter().map(|slot| (slot, self.hidden()));
        Renaming { to: to.collect() }
    }

    fn path(&mut self, block: &mut Block, pattern: PathPattern, rows: f64) {
        if let Some(Node::Slot(graph)) = pattern.graph
            && !block.certain.contains(graph)
        {
            self.all_graphs(block, pattern.source, graph);
        }
        let scope = pattern.graph.map_or(Scope::Default, Scope::Named);
        let known =
            |block: &Block, node: Node| slot_of(node).is_none_or(|s| block.certain.contains(s));
        let PathPattern {
            subject,
            path,
            object,
            graph,
            source,
        } = pattern;
        if let Some(end) = end_to_look_for(block, subject, &path, object) {
            self.vertex(block, end, source, graph);
        }
        // A path without length may connect a constant with itself that is no vertex.
        let is_walked =
            !path.allows_no_length() || matches!((subject, object), (Node::Slot(_), Node::Slot(_)));
        let ends = [subject, object].into_iter().filter(|_| is_walked);
        let ends: Vec<Slot> = ends.filter_map(slot_of).collect();
        let note_ends = |block: &mut Block| {
            for slot in ends {
                block.note_vertex(source, graph, slot);
            }
        };
        if !known(block, subject) && !known(block, object) {
            let into = slot_of(subject).unwrap_or(Slot(u16::MAX));
            let seeds = block.rows * self.path_starts(source, &path);
            let direction = Direction::Out;
            let seed = Action::PathSeed {
                path: path.clone(),
                direction,
                scope,
                source,
                into,
            };
            block.push(seed, seeds, costs::STEP + seeds * costs::ROW);
            block.bind(into);
        }
        let cost = costs::STEP + block.rows * self.path_reach(source, &path) * costs::PATH;
        let (from, into, direction) = match (slot_of(subject), slot_of(object)) {
            (_, Some(into)) if !block.certain.contains(into) => (subject, into, Direction::Out),
            (Some(into), _) if !block.certain.contains(into) => (object, into, Direction::In),
            _ => {
                let check = Action::PathCheck {
                    subject,
                    path,
                    object,
                    scope,
                    source,
                };
                let rows = rows.min(block.rows);
                block.push(check, rows, cost);
                return note_ends(block);
            }
        };
        let expand = Action::PathExpand {
            from,
            path,
            direction,
            scope,
            source,
            into,
        };
        block.push(expand, rows, cost);
        block.bind(into);
        note_ends(block);
    }

    /// Keeps rows where this is a subject or an object of the source's graph.
    fn vertex(&mut self, block: &mut Block, from: Node, source: Source, graph: Option<Node>) {
        if let Node::Slot(slot) = from
            && !block.note_vertex(source, graph, slot)
        {
            return;
        }
        let scope = graph.map_or(Scope::Default, Scope::Named);
        let mut ways = Vec::new();
        for direction in [Direction::Out, Direction::In] {
            let (predicate, into) = (self.hidden(), self.hidden());
            let mut way = block.within();
            let cost = costs::STEP + way.rows * costs::LOOKUP;
            let predicates = Action::ExpandPredicates {
                from,
                direction,
                source,
                into: predicate,
            };
            way.push(predicates, way.rows, cost);
            let expand = Action::Expand {
                from,
                predicate: Node::Slot(predicate),
                direction,
                scope,
                source,
                into,
            };
            way.push(expand, way.rows, cost);
            ways.push(way);
        }
        let rows = block.rows;
        self.nest(block, Mode::Semi, ways, false);
        block.rows = rows;
    }

    fn all_graphs(&mut self, block: &mut Block, source: Source, into: Slot) {
        let rows = block.rows * self.graphs(source);
        block.push(Action::AllGraphs { source, into }, rows, rows * costs::ROW);
        block.bind(into);
    }

    /// A graph that has to be one of the dataset's.
    fn graph(&mut self, block: &mut Block, graph: Node, source: Source) {
        let before = block.rows;
        if let Node::Slot(slot) = graph
            && block.maybe.contains(slot)
        {
            let listed = self.hidden();
            self.all_graphs(block, source, listed);
            return block.unify(slot, listed);
        }
        match graph {
            Node::Slot(slot) if !block.certain.contains(slot) => {
                self.all_graphs(block, source, slot);
            }
            Node::Slot(left) => {
                let right = self.hidden();
                self.all_graphs(block, source, right);
                let cost = block.rows * costs::SAME;
                block.push(Action::Same { left, right }, before, cost);
            }
            Node::Constant(constant) => {
                let listed = self.hidden();
                self.all_graphs(block, source, listed);
                let cost = block.rows * costs::FILTER;
                block.push(Action::Filter(is_constant(listed, constant)), before, cost);
            }
        }
    }

    /// The term from its parts, or the parts from the term.
    fn triple_term(&mut self, block: &mut Block, term: Slot, parts: [Node; 3]) {
        if !block.certain.contains(term) {
            let slots: Slots = parts.into_iter().filter_map(slot_of).collect();
            block.ensure(&slots);
            let part = |node: Node| match node {
                Node::Slot(slot) => Expression::Slot(slot),
                Node::Constant(constant) => Expression::Constant(constant),
            };
            let expression = Expression::Call(Function::Triple, parts.map(part).to_vec());
            let made = self.hidden();
            let cost = block.rows * costs::FILTER;
            block.push(
                Action::Bind {
                    expression,
                    into: made,
                },
                block.rows,
                cost,
            );
            block.bind(made);
            block.filter(Expression::Bound(made));
            return block.unify(term, made);
        }
        let mut columns = [term; 3];
        for at in 0..3 {
            columns[at] = match parts[at] {
                // Unless it stands in the term twice, a new variable is its own column.
                Node::Slot(slot) if !block.has(slot) && !columns[..at].contains(&slot) => slot,
                _ => self.hidden(),
            };
        }
        let [subject, predicate, object] = columns;
        let unpack = Action::Unpack {
            term,
            subject,
            predicate,
            object,
        };
        block.push(unpack, block.rows, block.rows * costs::FILTER);
        for column in columns {
            block.bind(column);
        }
        for (column, part) in columns.into_iter().zip(parts) {
            let rows = block.rows;
            match part {
                Node::Constant(constant) => block.filter(is_constant(column, constant)),
                Node::Slot(slot) if slot == column => {}
                Node::Slot(left) if block.certain.contains(left) => {
                    let right = column;
                    block.push(Action::Same { left, right }, rows, rows * costs::SAME);
                }
                Node::Slot(slot) => block.unify(slot, column),
            }
        }
    }

    fn values(
        &mut self,
        block: &mut Block,
        mut columns: Vec<Slot>,
        rows: Vec<Vec<Option<ConstantId>>>,
        expected: f64,
    ) {
        let given: Slots = columns.iter().copied().collect();
        let (columns_given, rows_given) = (columns.clone(), rows);
        let element = Element::Values {
            columns: columns_given,
            rows: rows_given,
        };
        let facts = Facts::of_join(&element);
        if facts.certain.intersects(&block.certain) {
            // Looked up: a product of rows and rows is not needed.
            let group = Group {
                elements: vec![element],
            };
            return self.table(block, group, expected);
        }
        let Element::Values { rows, .. } = element else {
            return;
        };
        let renaming = self.renaming(&given.and(&block.columns()));
        renaming.slots(&mut columns);
        let out = block.rows * rows.len() as f64;
        let action = Action::Values { columns, rows };
        block.push(action, out, costs::STEP + out * costs::ROW);
        for slot in given.iter() {
            let column = renaming.to.get(&slot).copied().unwrap_or(slot);
            if facts.certain.contains(slot) {
                block.bind(column);
            } else {
                block.bind_maybe(column);
            }
        }
        for (into, from) in &renaming.to {
            block.unify(*into, *from);
        }
    }

    /// Joins with a table that is given from outside.
    fn given(
        &mut self,
        block: &mut Block,
        table: TableId,
        mut columns: Vec<Slot>,
        ordered: Ordered,
    ) {
        let expected = block.expected(ordered);
        let all: Slots = columns.iter().copied().collect();
        let renaming = self.renaming(&all.and(&block.maybe));
        renaming.slots(&mut columns);
        let keys = all.and(&block.certain);
        let (rows, cost) = if keys.is_empty() {
            let rows = block.rows * self.known.table_rows(table);
            (rows, rows * costs::ROW)
        } else {
            let lookups = block.rows * costs::LOOKUP;
            (expected, lookups + expected * costs::ROW)
        };
        for column in &columns {
            block.bind(*column);
        }
        let keys = keys.to_vec();
        let action = Action::Given {
            table,
            columns,
            keys,
        };
        block.push(action, rows, costs::STEP + cost);
        for (into, from) in &renaming.to {
            block.unify(*into, *from);
        }
    }

    fn union(&mut self, block: &mut Block, branches: Vec<Group>) {
        let mut blocks = Vec::with_capacity(branches.len());
        for branch in branches {
            let mut inner = block.within();
            self.pipeline(&mut inner, vec![Element::Join(branch)]);
            blocks.push(inner);
        }
        self.nest(block, Mode::Inner, blocks, false);
    }

    /// Joins with a group by a table of its own.
    pub(super) fn table(&mut self, block: &mut Block, mut group: Group, rows: f64) {
        let facts = Facts::of(&group.elements);
        let out = facts.out();
        let keys = out.and(&block.certain).and(&facts.certain);
        let others = out.and(&block.columns()).without(&keys);
        let renaming = self.renaming(&others);
        if !renaming.to.is_empty() {
            renaming.group(&mut group);
        }
        let mut table = Block::whole();
        self.pipeline(&mut table, group.elements);
        let mut made: Slots = out.without(&others);
        made.extend(renaming.to.values().copied());
        made.intersect(&table.columns());
        let certain = table.certain.and(&made);
        let cost = table.cost() + costs::STEP + block.rows * costs::LOOKUP;
        let action = Action::Probe {
            keys: keys.to_vec(),
            exports: made.without(&keys).to_vec(),
            table: table.steps,
        };
        block.push(action, rows, cost + rows * costs::ROW);
        for slot in made.iter() {
            if certain.contains(slot) {
                block.bind(slot);
            } else {
                block.bind_maybe(slot);
            }
        }
        for (into, from) in &renaming.to {
            if made.contains(*from) {
                block.unify(*into, *from);
            }
        }
    }

    /// The variables of a path, for the order.
    pub(super) fn path_item_slots(path: &PathPattern) -> Vec<Slot> {
        path_slots(path).collect::<Slots>().to_vec()
    }
}

/// Lets the table behind a pattern be looked up while the pattern is walked, where that keeps rows only.
fn looks_up_early(
    block: &mut Block,
    problem: &Problem<'_>,
    joins: &[Option<PipelineElement>],
    piece: &PipelineElement,
    pair: [Ordered; 2],
) -> bool {
    let is_pattern = matches!(piece, PipelineElement::Join(Element::Pattern(_)));
    match &joins[pair[1].pattern] {
        Some(PipelineElement::Join(Element::Given { table, columns })) if is_pattern => {
            let sized = &problem.patterns[pair[0].pattern];
            let is_sure = columns.iter().all(|slot| !block.maybe.contains(*slot));
            is_sure && block.begin_early(sized, pair, (*table, columns))
        }
        _ => false,
    }
}

/// The end that must be a vertex of the graph for a path without length to connect it. Of two
/// variables such a path connects only vertices, while a walk from a bound end would connect any
/// term with itself; from a constant, it depends on the path (SPARQL 1.1 Query section 18.4).
fn end_to_look_for(block: &Block, subject: Node, path: &Path, object: Node) -> Option<Node> {
    if !path.allows_no_length() {
        return None;
    }
    match [subject, object].map(slot_of) {
        [Some(one), Some(other)] => {
            let mut ends = [one, other].into_iter();
            let known = ends.find(|slot| block.certain.contains(*slot));
            known.map(Node::Slot)
        }
        [one, other] => {
            let is_pair = one.is_none() && other.is_none();
            let constant = if one.is_none() { subject } else { object };
            (!path.connects_outside(is_pair)).then_some(constant)
        }
    }
}

/// The endpoint that an element asks. One that is unbound in a row cannot be asked: the step has to tell, or
/// with `SILENT` not to.
fn endpoint_of(block: &mut Block, element: &Element) -> Option<Node> {
    let Element::Service(service) = element else {
        return None;
    };
    if let Some(endpoint) = slot_of(service.endpoint) {
        block.ensure(&[endpoint].into_iter().collect());
    }
    Some(service.endpoint)
}

/// The columns of an element that it gets under other names, to be unified with the table's afterwards: those
/// that the table may have unbound, and those that an endpoint answers with.
fn columns_apart(block: &Block, element: &Element) -> Slots {
    match element {
        // Its columns are new ones in any case; its parts are looked at where they are known.
        Element::Values { .. } | Element::Given { .. } | Element::TripleTerm { .. } => {
            Slots::default()
        }
        Element::Service(service) => service
            .columns
            .iter()
            .map(|(_, slot)| *slot)
            .collect::<Slots>()
            .and(&block.columns()),
        _ if block.maybe.is_empty() => Slots::default(),
        other => Facts::of_join(other).out().and(&block.maybe),
    }
}

/// Asks an endpoint, whose column is there.
fn ask(block: &mut Block, service: Service) {
    let Service {
        endpoint,
        silent,
        text,
        columns,
    } = service;
    let slots: Vec<Slot> = columns.iter().map(|(_, slot)| *slot).collect();
    let rows = block.rows * costs::SERVICE_ROWS;
    let action = Action::Service {
        endpoint,
        silent,
        text,
        columns,
    };
    block.push(action, rows, costs::SERVICE);
    for slot in slots {
        block.bind_maybe(slot);
    }
    if let Some(endpoint) = slot_of(endpoint)
        && !silent
    {
        // A row without it is an error.
        block.bind(endpoint);
    }
}

fn is_constant(slot: Slot, constant: ConstantId) -> Expression {
    Expression::SameTerm(
        Box::new(Expression::Slot(slot)),
        Box::new(Expression::Constant(constant)),
    )
}

//! What every plan is, whatever was asked and whoever made it: the contract that walks rely on.
//!
//! A walk indexes by slots and constants, takes the columns that a step reads, and recurs over blocks and expressions.
//! It asserts what it relies on instead of asking for each row. So a plan that comes from a peer or a disk
//! ([`crate::wire`]) is looked at here first, and the planner looks at each of its own in debug builds.
//!
//! ```text
//!  table      step                          looked at
//!  [?x ?y] -> ?x -p-> ?z   [?x ?z]          reads are there, writes are not, constants and columns exist
//!                                           keep is ascending, and a part of what is there then
//! ```
//!
//! Not looked at, because a walk is right without it: estimates, texts, and whether the plan answers what was asked.
//!
//! Cost: a set of slots for each step and each list of columns; microseconds for a plan of a text.
//! Stack: [`PlanFault::Deep`] bounds the recursion before it is entered.

use super::{Action, AggregateFunction, Form, Mode, Plan, Scope, Step, TemplateTerm};
use crate::expression::{Expression, Function};
use crate::node::{ConstantId, Node, Slot};
use crate::path::Path;
use crate::slots::Slots;
use std::fmt;

/// The most variables of a plan: a slot is 16 bits.
pub const VARIABLES_MAX: usize = 1 << 16;

/// How deep blocks lie within steps, at most. A block stands for a bracket of a text, of which 256 are open at once
/// (`Limits::nesting`).
pub const BLOCKS_MAX: usize = 272;

/// How deep an expression, a path or a triple of a template nests, with the blocks around it, at most. A text has chains
/// of at most 1,024 links through groups and operators (`Limits::depth`), of which plans have 1,018 (2026-11-25).
pub const DEPTH_MAX: usize = 1088;

/// Where a plan breaks the contract, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct IllFormed {
    /// The step, from the outside in: its number among the plan's, then of each step within a step the number of its
    /// branch and its own. All from 0. Empty: it is not about a step.
    pub place: Vec<usize>,
    /// What is wrong.
    pub fault: PlanFault,
}

impl fmt::Display for IllFormed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.place.iter().enumerate() {
            let what = if at % 2 == 0 { "step" } else { "branch" };
            write!(f, "{what} {number}, ")?;
        }
        write!(f, "{}", self.fault)
    }
}

impl IllFormed {
    fn within(mut self, number: usize) -> IllFormed {
        self.place.insert(0, number);
        self
    }
}

impl From<PlanFault> for IllFormed {
    fn from(fault: PlanFault) -> IllFormed {
        let place = Vec::new();
        IllFormed { place, fault }
    }
}

/// How a plan can break the contract of [`crate::plan`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// More variables than a slot can name.
    #[error("the plan has {0} variables, {VARIABLES_MAX} are allowed")]
    Variables(usize),
    /// A slot without a variable.
    #[error("column {} has no variable", .0.0)]
    NoVariable(Slot),
    /// A constant that is not in the list.
    #[error("constant {} is not among the plan's", .0.0)]
    NoConstant(ConstantId),
    /// Recursion over it might overflow a stack.
    #[error("{what} nest deeper than {max} levels")]
    Deep {
        /// Blocks, expressions, paths or templates.
        what: &'static str,
        /// The most.
        max: usize,
    },
    /// A column is read that is not there.
    #[error("column {} is read but not there", .0.0)]
    Unwritten(Slot),
    /// A column is written that is there already, or twice by one step.
    #[error("column {} is written again", .0.0)]
    Rewritten(Slot),
    /// A list of columns that has to be ascending, each once.
    #[error("the columns of `{0}` are not ascending")]
    Order(&'static str),
    /// `keep` names a column that is not there.
    #[error("column {} is kept but not there", .0.0)]
    Unkept(Slot),
    /// A step of a block drops the column with the numbers of the rows that it is walked for.
    #[error("column {}, which numbers the rows of the block, is dropped", .0.0)]
    RowDropped(Slot),
    /// The column with the numbers of rows is one that there is, or one of the block's results.
    #[error("column {}, which numbers the rows of a block, is another one besides", .0.0)]
    RowTaken(Slot),
    /// A step that holds blocks has none.
    #[error("a step of blocks has no block")]
    NoBlock,
    /// A block that is only asked whether it has rows gives columns.
    #[error("a block that is only asked whether it has rows gives columns")]
    Asked,
    /// A block ends with a column that nobody takes.
    #[error("column {} lives to the end of a block and is not taken from it", .0.0)]
    Leftover(Slot),
    /// A block drops a column that was there and that it is to give.
    #[error("column {} was there, and a block that is to change it drops it", .0.0)]
    Lost(Slot),
    /// Steps that look at rows together in a block that is walked for many rows at once.
    #[error("a block with steps that look at rows together is not walked row by row")]
    Together,
    /// The columns of a table are not its keys and what is taken from it.
    #[error("the columns of a table are not its keys and what is taken from it")]
    TableColumns,
    /// A row of a table in the text has another number of cells than the table columns.
    #[error("row {row} has {cells} cells for {columns} columns")]
    Cells {
        /// The row, from 0.
        row: usize,
        /// Its cells.
        cells: usize,
        /// The columns.
        columns: usize,
    },
    /// The columns that rows of a given table are looked up by are not some of its columns, or a column is there twice.
    #[error("the columns of a given table are not each once, or its keys are none of them")]
    GivenColumns,
    /// A scope that the action is never asked with.
    #[error("`{0}` is asked of graphs in a way that it has not")]
    Graphs(&'static str),
    /// A call with more or fewer arguments than the function has.
    #[error("{function} is called with {given} arguments")]
    Call {
        /// Its name, or `a cast`.
        function: &'static str,
        /// The number of arguments.
        given: usize,
    },
    /// An aggregate without argument that is no count.
    #[error("an aggregate that is no count has no argument")]
    NoArgument,
    /// A sequence or an alternative of fewer than two paths.
    #[error("a sequence or an alternative has {0} paths")]
    Parts(usize),
}

impl Plan {
    /// Whether the plan keeps the contract of [`crate::plan`], so that a walk of it asserts nothing in vain. Linear in
    /// the plan and the columns that live at its steps; a frame of stack per nested block, operator and path.
    pub fn check(&self) -> Result<(), IllFormed> {
        let names = Names {
            depth: 0,
            variables: self.variables.len(),
            constants: self.constants.len(),
        };
        if names.variables > VARIABLES_MAX {
            return Err(PlanFault::Variables(names.variables).into());
        }
        for id in self
            .dataset
            .graphs
            .iter()
            .flat_map(|(a, b)| a.iter().chain(b))
        {
            names.constant(*id)?;
        }
        names.block(&self.steps, Slots::default(), None)?;
        match &self.form {
            Form::Ask => {}
            Form::Select(slots) => slots.iter().try_for_each(|slot| names.slot(*slot))?,
            Form::Construct(triples) => triples
                .iter()
                .flatten()
                .try_for_each(|term| names.template(term, 1))?,
            Form::Describe(nodes) => nodes.iter().try_for_each(|node| match node {
                Node::Slot(slot) => names.slot(*slot),
                Node::Constant(_) => names.nodes(&[*node]),
            })?,
        }
        Ok(())
    }
}

/// What a plan may name, and where it is looked at.
#[derive(Clone, Copy)]
struct Names {
    /// Blocks around.
    depth: usize,
    variables: usize,
    constants: usize,
}

impl Names {
    fn slot(self, slot: Slot) -> Result<(), PlanFault> {
        let is_named = usize::from(slot.0) < self.variables;
        is_named.then_some(()).ok_or(PlanFault::NoVariable(slot))
    }

    fn constant(self, id: ConstantId) -> Result<(), PlanFault> {
        let is_there = (id.0 as usize) < self.constants;
        is_there.then_some(()).ok_or(PlanFault::NoConstant(id))
    }

    /// Slots among them are looked at where they are read.
    fn nodes(self, nodes: &[Node]) -> Result<(), PlanFault> {
        nodes.iter().try_for_each(|node| match node {
            Node::Slot(_) => Ok(()),
            Node::Constant(id) => self.constant(*id),
        })
    }

    fn scope(self, scope: Scope) -> Result<(), PlanFault> {
        match scope {
            Scope::Default => Ok(()),
            Scope::Named(node) => self.nodes(&[node]),
            Scope::Bind(slot) => self.slot(slot),
        }
    }

    /// A scope of the default graph or one graph.
    fn fixed(self, scope: Scope, action: &Action) -> Result<(), PlanFault> {
        match scope {
            Scope::Default | Scope::Named(Node::Constant(_)) => self.scope(scope),
            Scope::Named(Node::Slot(_)) | Scope::Bind(_) => Err(PlanFault::Graphs(action.name())),
        }
    }

    fn expression(self, expression: &Expression, depth: usize) -> Result<(), PlanFault> {
        is_within("expressions", depth, DEPTH_MAX)?;
        match expression {
            Expression::Constant(id) => self.constant(*id)?,
            Expression::Call(function, arguments) => check_call(*function, arguments.len())?,
            _ => {}
        }
        let mut found = Ok(());
        expression.for_each_operand(&mut |operand| {
            if found.is_ok() {
                found = self.expression(operand, depth + 1);
            }
        });
        found
    }

    fn path(self, path: &Path, depth: usize) -> Result<(), PlanFault> {
        is_within("paths", depth, DEPTH_MAX)?;
        match path {
            Path::Predicate(id) => self.constant(*id),
            Path::Inverse(inner)
            | Path::ZeroOrMore(inner)
            | Path::OneOrMore(inner)
            | Path::ZeroOrOne(inner) => self.path(inner, depth + 1),
            Path::Sequence(parts) | Path::Alternative(parts) if parts.len() < 2 => {
                Err(PlanFault::Parts(parts.len()))
            }
            Path::Sequence(parts) | Path::Alternative(parts) => {
                parts.iter().try_for_each(|part| self.path(part, depth + 1))
            }
            Path::Negated { forward, backward } => {
                let mut excluded = [forward, backward].into_iter().flatten().flatten();
                excluded.try_for_each(|id| self.constant(*id))
            }
        }
    }

    fn template(self, term: &TemplateTerm, depth: usize) -> Result<(), PlanFault> {
        is_within("triples of templates", depth, DEPTH_MAX)?;
        match term {
            TemplateTerm::Slot(slot) => self.slot(*slot),
            TemplateTerm::Constant(id) => self.constant(*id),
            TemplateTerm::Blank(_) => Ok(()),
            TemplateTerm::Triple(parts) => parts
                .iter()
                .try_for_each(|part| self.template(part, depth + 1)),
        }
    }

    /// What an action says by itself, of its blocks apart.
    fn action(self, action: &Action) -> Result<(), PlanFault> {
        match action {
            Action::Expand {
                from,
                predicate,
                scope,
                ..
            } => self.nodes(&[*from, *predicate]).and(self.scope(*scope)),
            Action::ExpandKeys {
                predicate,
                scope,
                into,
                ..
            } => match scope {
                Scope::Bind(graph) if graph == into => Err(PlanFault::Rewritten(*into)),
                _ => self.nodes(&[*predicate]).and(self.scope(*scope)),
            },
            Action::Intersect { sides, .. } => sides.iter().try_for_each(|side| {
                self.constant(side.predicate)?;
                self.fixed(side.scope, action)
            }),
            Action::ExpandPredicates { from, .. } => self.nodes(&[*from]),
            Action::Check {
                subject,
                predicate,
                object,
                scope,
                ..
            } => {
                self.nodes(&[*subject, *predicate, *object])?;
                self.scope(*scope)
            }
            Action::PathSeed { path, scope, .. } => self.of_path(action, path, &[], *scope),
            Action::PathExpand {
                from, path, scope, ..
            } => self.of_path(action, path, &[*from], *scope),
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
                ..
            } => self.of_path(action, path, &[*subject, *object], *scope),
            Action::Sizes {
                predicate, scope, ..
            } => {
                self.nodes(predicate.as_slice())?;
                self.fixed(*scope, action)
            }
            Action::Degree {
                predicate, scope, ..
            } => self.constant(*predicate).and(self.fixed(*scope, action)),
            Action::Service { endpoint, .. } => self.nodes(&[*endpoint]),
            Action::Never { .. } | Action::AllPredicates { .. } | Action::AllGraphs { .. } => {
                Ok(())
            }
            of_rows => self.of_rows(of_rows),
        }
    }

    fn of_path(
        self,
        action: &Action,
        path: &Path,
        ends: &[Node],
        scope: Scope,
    ) -> Result<(), PlanFault> {
        if let Scope::Bind(_) = scope {
            return Err(PlanFault::Graphs(action.name()));
        }
        self.path(path, self.depth + 1)?;
        self.nodes(ends)?;
        self.scope(scope)
    }

    /// [`Names::action`] of the actions that look at no pattern.
    fn of_rows(self, action: &Action) -> Result<(), PlanFault> {
        match action {
            Action::Filter(expression) | Action::Bind { expression, .. } => {
                self.expression(expression, self.depth + 1)
            }
            Action::Order { keys, .. } => keys
                .iter()
                .try_for_each(|key| self.expression(&key.expression, self.depth + 1)),
            Action::Aggregate { aggregates, .. } => {
                aggregates.iter().try_for_each(|(aggregate, _)| {
                    let is_count = aggregate.function == AggregateFunction::Count;
                    match &aggregate.argument {
                        Some(argument) => self.expression(argument, self.depth + 1),
                        None if is_count => Ok(()),
                        None => Err(PlanFault::NoArgument),
                    }
                })
            }
            Action::Values { columns, rows } => self.cells(columns, rows),
            Action::Nested {
                branches,
                imports,
                row,
                exports,
                mode,
                ..
            } => {
                let gives_rows = matches!(mode, Mode::Inner | Mode::Left);
                check_that(!branches.is_empty(), PlanFault::NoBlock)?;
                check_that(gives_rows || exports.is_empty(), PlanFault::Asked)?;
                ascending("imports", imports)?;
                ascending("exports", exports)?;
                check_that(!exports.contains(row), PlanFault::RowTaken(*row))?;
                self.slot(*row)
            }
            Action::Probe { keys, exports, .. } => {
                ascending("keys", keys).and(ascending("exports", exports))
            }
            Action::Given { columns, keys, .. } => given_columns(columns, keys),
            Action::Unify { from, .. } => self.slot(*from),
            // Their columns are looked at with those of all steps.
            Action::Same { .. }
            | Action::Distinct { .. }
            | Action::Unpack { .. }
            | Action::Slice { .. }
            | Action::Count { .. }
            // The caller has looked at these.
            | Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::Never { .. }
            | Action::AllGraphs { .. }
            | Action::Check { .. }
            | Action::PathSeed { .. }
            | Action::PathExpand { .. }
            | Action::PathCheck { .. }
            | Action::Service { .. }
            | Action::Sizes { .. }
            | Action::Degree { .. } => Ok(()),
        }
    }

    /// The rows of a table of the text.
    fn cells(self, columns: &[Slot], rows: &[Vec<Option<ConstantId>>]) -> Result<(), PlanFault> {
        rows.iter().enumerate().try_for_each(|(at, row)| {
            if row.len() != columns.len() {
                return Err(PlanFault::Cells {
                    row: at,
                    cells: row.len(),
                    columns: columns.len(),
                });
            }
            row.iter().flatten().try_for_each(|id| self.constant(*id))
        })
    }

    /// Looks at a block that begins with these columns; gives those that it ends with. `row`: the column with the
    /// numbers of the rows that it is walked for.
    fn block(self, steps: &[Step], begins: Slots, row: Option<Slot>) -> Result<Slots, IllFormed> {
        is_within("blocks", self.depth, BLOCKS_MAX)?;
        let mut there = begins;
        for (at, step) in steps.iter().enumerate() {
            let ends = self.step(step, there, row);
            there = ends.map_err(|fault| fault.within(at))?;
        }
        Ok(there)
    }

    fn step(self, step: &Step, mut there: Slots, row: Option<Slot>) -> Result<Slots, IllFormed> {
        let action = &step.action;
        self.action(action)?;
        let written = self.columns(action, &there)?;
        if let Some(row) = row.filter(|row| written.contains(*row)) {
            return Err(PlanFault::RowTaken(row).into());
        }
        self.blocks(action, &there)?;
        match action {
            Action::Aggregate { keys, .. } => {
                let mut kept: Slots = keys.iter().copied().collect();
                kept.extend(row);
                there.intersect(&kept);
            }
            Action::Count { .. } => there = Slots::default(),
            _ => {}
        }
        there.add(&written);
        ascending("keep", &step.keep)?;
        let keep: Slots = step.keep.iter().copied().collect();
        if let Some(slot) = first_outside(&keep, &there) {
            return Err(PlanFault::Unkept(slot).into());
        }
        match row.filter(|row| !keep.contains(*row)) {
            Some(row) => Err(PlanFault::RowDropped(row).into()),
            None => Ok(keep),
        }
    }

    /// The columns that an action writes, after a look at them and at those that it reads.
    fn columns(self, action: &Action, there: &Slots) -> Result<Slots, PlanFault> {
        let may_be_absent = matches!(action, Action::Unify { .. });
        let (mut read, mut written) = (Slots::default(), Slots::default());
        action.for_each_read(&mut |slot| {
            read.insert(slot);
        });
        if let Some(slot) = first_outside(&read, there).filter(|_| !may_be_absent) {
            return Err(PlanFault::Unwritten(slot));
        }
        let mut found = Ok(());
        action.for_each_write(&mut |slot| {
            if found.is_ok() {
                found = self.slot(slot);
                if found.is_ok() && !written.insert(slot) {
                    found = Err(PlanFault::Rewritten(slot));
                }
            }
        });
        found?;
        let again = written.without(&changed(action)).and(there);
        match again.iter().next() {
            Some(slot) => Err(PlanFault::Rewritten(slot)),
            None => Ok(written),
        }
    }

    fn blocks(self, action: &Action, there: &Slots) -> Result<(), IllFormed> {
        let inner = Names {
            depth: self.depth + 1,
            ..self
        };
        match action {
            Action::Nested {
                branches,
                imports,
                row,
                exports,
                row_by_row,
                ..
            } => {
                let mut begins: Slots = imports.iter().copied().collect();
                let is_new = !there.contains(*row) && begins.insert(*row);
                check_that(is_new, PlanFault::RowTaken(*row))?;
                let mut given: Slots = exports.iter().copied().collect();
                let kept = given.and(there);
                given.insert(*row);
                for (at, branch) in branches.iter().enumerate() {
                    let is_together = branch.iter().any(|step| looks_at_all(&step.action));
                    check_that(*row_by_row || !is_together, PlanFault::Together)?;
                    let ends = inner.block(branch, begins.clone(), Some(*row));
                    let ends = ends.map_err(|fault| fault.within(at))?;
                    if let Some(slot) = first_outside(&ends, &given) {
                        return Err(PlanFault::Leftover(slot).into());
                    }
                    if let Some(slot) = first_outside(&kept, &ends) {
                        return Err(PlanFault::Lost(slot).into());
                    }
                }
                Ok(())
            }
            Action::Probe {
                table,
                keys,
                exports,
            } => {
                let ends = inner.block(table, Slots::default(), None);
                let ends = ends.map_err(|fault| fault.within(0))?;
                let mut made = Slots::default();
                let is_once = keys.iter().chain(exports).all(|slot| made.insert(*slot));
                let is_all = ends.is_within(&made) && made.is_within(&ends);
                Ok(check_that(is_once && is_all, PlanFault::TableColumns)?)
            }
            _ => Ok(()),
        }
    }
}

fn check_that(holds: bool, fault: PlanFault) -> Result<(), PlanFault> {
    holds.then_some(()).ok_or(fault)
}

fn is_within(what: &'static str, depth: usize, max: usize) -> Result<(), PlanFault> {
    check_that(depth <= max, PlanFault::Deep { what, max })
}

/// The columns of a given table, each once, and those of them that are compared.
fn given_columns(columns: &[Slot], keys: &[Slot]) -> Result<(), PlanFault> {
    let is_again = |at: usize| columns[..at].contains(&columns[at]);
    let are_columns = keys.iter().all(|key| columns.contains(key));
    let is_once = !(0..columns.len()).any(is_again);
    check_that(are_columns && is_once, PlanFault::GivenColumns)?;
    ascending("keys", keys)
}

fn ascending(list: &'static str, slots: &[Slot]) -> Result<(), PlanFault> {
    let is_ascending = slots.is_sorted_by(|a, b| a < b);
    check_that(is_ascending, PlanFault::Order(list))
}

fn first_outside(slots: &Slots, of: &Slots) -> Option<Slot> {
    if slots.is_within(of) {
        return None;
    }
    slots.without(of).iter().next()
}

/// Columns that a step may write although they are there.
fn changed(action: &Action) -> Slots {
    match action {
        Action::Unify { into, .. } | Action::Count { into, .. } => [*into].into_iter().collect(),
        Action::Nested { imports, .. } => imports.iter().copied().collect(),
        // All columns but the keys end here, so their names are free.
        Action::Aggregate { keys, aggregates } => {
            let made = aggregates.iter().map(|(_, into)| *into);
            made.filter(|into| !keys.contains(into)).collect()
        }
        _ => Slots::default(),
    }
}

fn looks_at_all(action: &Action) -> bool {
    matches!(
        action,
        Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. }
            | Action::Aggregate { .. }
            | Action::Count { .. }
    )
}

/// Whether a function may be called with so many arguments. Two may have what no text gives them: the planner adds the
/// row to `BNODE`, and `ADJUST` without a timezone means the implicit one.
fn check_call(function: Function, given: usize) -> Result<(), PlanFault> {
    let is_allowed = match function {
        Function::BNode => given <= 2,
        Function::Adjust => (1..=2).contains(&given),
        _ => function.arguments().allow(given),
    };
    let function = match function {
        Function::Timestamp => "timestamp",
        other => other.name().unwrap_or("a cast"),
    };
    check_that(is_allowed, PlanFault::Call { function, given })
}

//! The instances of a template: a row of constants each, and what it is called.
//!
//! ```text
//!  rows of ids (distinct)      by row: the last instance      instances, by number
//!  0  <user/17>                0 -> 5                         5  "alice"     row 0  before: 2
//!  1  <user/23>                1 -> 4                         4              row 1
//!                                                             2  "also her"  row 0
//! ```
//!
//! The walk meets each distinct row once; instances that have equal constants share it, and what matched is dealt out to
//! them afterwards. So a walk costs by what matched, and an instance that nothing matches costs its memory alone.
//!
//! Instances are numbered from 1 as they come, and no number comes twice: what was reported to an instance that is gone is
//! no past of another one. One without a name is called by its template's and its number.
//!
//! **Memory**: some 60 to 100 bytes an instance of one constant, and twice its name; drawn on the pool of queries, and
//! given back with the template.

mod kept;

use super::items::too_large;
use crate::budget::{Budget, Exhausted};
use crate::change::with_dictionary;
use crate::database::Database;
use crate::error::{Kind, QueryError, Unit};
use explore::{GIVEN_ROWS_MAX, GivenTable};
use oxrdf::{Term, TermRef};
use rdf::VertexId;
use rdf::dictionary::TermCounts;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Instances of a template that are not walked together, at most: each costs a walk at each close.
pub(super) const ONE_BY_ONE_MAX: usize = 1_000;
/// Instances of a template that reports whether there are rows or not, at most: each is a report at each close.
pub(super) const REPORTED_MAX: usize = 1_000;
/// Instances that are given ids together, under one turn.
const BATCH: usize = 4_096;

/// What a name takes beside its text (bytes).
const NAME_BYTES: u64 = 64;
/// Instances that are gone and still in the list (count), before it is looked at whether they are most of it.
const GONE_MAX: usize = 1_024;

/// One instance, as it is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What it is called; `None`: by its template's name and its number.
    pub name: Option<String>,
    /// A term for each parameter.
    pub terms: Vec<Term>,
}

/// Rows of constants for the parameters of a template.
pub struct Bindings<'b> {
    /// The parameters, without question mark, in the order of the terms.
    pub parameters: Vec<String>,
    /// The rows.
    pub rows: Box<dyn Iterator<Item = Result<Binding, QueryError>> + Send + 'b>,
}

/// See the head of this file.
pub(super) struct Instances {
    /// What the template is called.
    template: String,
    pub(super) parameters: Vec<String>,
    pub(super) table: GivenTable,
    /// By row of the table a place in `all`.
    last: Vec<u32>,
    /// Ascending by number, those that are gone among them.
    all: Vec<Instance>,
    gone: usize,
    named: HashMap<Arc<str>, u64>,
    name_bytes: u64,
    /// Instances that ever were.
    made: u64,
    budget: Budget,
    held_bytes: u64,
}

struct Instance {
    number: u64,
    name: Option<Arc<str>>,
    /// [`NONE`]: it is gone.
    row: u32,
    /// The place of the one before it that has the same row, or [`NONE`].
    before: u32,
}

const NONE: u32 = u32::MAX;

impl Instances {
    /// None yet, of a template of this name with these parameters, at least one; what they hold is drawn on `budget`.
    pub(super) fn new(template: String, parameters: Vec<String>, budget: Budget) -> Instances {
        Instances {
            template,
            table: GivenTable::new(parameters.len()),
            parameters,
            last: Vec::new(),
            all: Vec::new(),
            gone: 0,
            named: HashMap::new(),
            name_bytes: 0,
            made: 0,
            budget,
            held_bytes: 0,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.gone
    }

    /// Adds instances, a batch at a time; gives their number. `given`: the terms that there are afterwards. On an error those of the batches before it stay.
    pub(super) fn add(
        &mut self,
        database: &Database,
        given: &mut TermCounts,
        rows: &mut dyn Iterator<Item = Result<Binding, QueryError>>,
        max: Option<(usize, &'static str)>,
    ) -> Result<u64, QueryError> {
        let mut added = 0;
        loop {
            let mut batch: Vec<Binding> = Vec::with_capacity(BATCH);
            while batch.len() < BATCH
                && let Some(binding) = rows.next()
            {
                batch.push(binding?);
            }
            if batch.is_empty() {
                return Ok(added);
            }
            self.check_count(batch.len(), max)?;
            added += self.add_batch(database, given, batch)?;
        }
    }

    /// An error where there would be too many with so many more.
    fn check_count(
        &self,
        more: usize,
        max: Option<(usize, &'static str)>,
    ) -> Result<(), QueryError> {
        let count = self.len() + more;
        match max {
            Some((max, hint)) if count > max => {
                let message = format!("the template would have more than {max} instances");
                Err(QueryError::new(Kind::Shape, message)
                    .with_limit(Unit::Count, max as u64, count as u64)
                    .with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// Adds all of others that have the same parameters, in their order, with numbers of their own here; gives their number. On an
    /// error none is added.
    pub(super) fn take_in(
        &mut self,
        others: Instances,
        max: Option<(usize, &'static str)>,
    ) -> Result<u64, QueryError> {
        self.check_count(others.len(), max)?;
        self.check_names(others.len(), others.named.keys().map(|name| &**name))?;
        let before = self.made;
        for instance in others.all.iter().filter(|instance| instance.row != NONE) {
            self.add_one(instance.name.clone(), &others.cells(instance.row));
        }
        // What they hold there is given back first.
        drop(others);
        if let Err(refused) = self.account() {
            self.take_back(before);
            return Err(refused);
        }
        Ok(self.made - before)
    }

    fn add_batch(
        &mut self,
        database: &Database,
        given: &mut TermCounts,
        batch: Vec<Binding>,
    ) -> Result<u64, QueryError> {
        let names = batch.iter().filter_map(|binding| binding.name.as_deref());
        self.check_names(batch.len(), names)?;
        let width = self.parameters.len();
        let mut terms: Vec<TermRef<'_>> = Vec::with_capacity(batch.len() * width);
        for binding in &batch {
            if binding.terms.len() != width {
                let (found, number) = (binding.terms.len(), self.made + 1);
                let message = format!("row {number} has {found} terms for {width} parameters");
                return Err(QueryError::new(Kind::Syntax, message));
            }
            terms.extend(binding.terms.iter().map(Term::as_ref));
        }
        let mut ids = Vec::with_capacity(terms.len());
        with_dictionary(database, given, |live| {
            live.intern(&terms, &mut ids).map_err(too_large)
        })?;
        drop(terms);
        let before = self.made;
        for (binding, cells) in batch.into_iter().zip(ids.chunks_exact(width)) {
            self.add_one(binding.name.map(Into::into), cells);
        }
        if let Err(refused) = self.account() {
            self.take_back(before);
            return Err(refused);
        }
        Ok(self.made - before)
    }

    /// An error where an instance would have the name of another one, or there is no number left.
    fn check_names<'n>(
        &self,
        count: usize,
        given: impl Iterator<Item = &'n str>,
    ) -> Result<(), QueryError> {
        if count > GIVEN_ROWS_MAX - self.all.len() {
            return Err(QueryError::new(
                Kind::Shape,
                "no more instances can be numbered",
            ));
        }
        let mut names = HashSet::new();
        for name in given {
            if self.named.contains_key(name) || !names.insert(name) {
                let message = format!("an instance `{name}` is there already");
                return Err(QueryError::new(Kind::Conflict, message)
                    .with_hint("names of instances differ; leave the column out to number them"));
            }
            if self.number_in(name).is_some() {
                let message = format!("`{name}` is the name of an instance without one");
                return Err(QueryError::new(Kind::Conflict, message).with_hint(
                    "instances without a name are called by their template and number",
                ));
            }
        }
        Ok(())
    }

    fn add_one(&mut self, name: Option<Arc<str>>, cells: &[VertexId]) {
        let number = self.made + 1;
        if let Some(name) = &name {
            self.named.insert(Arc::clone(name), number);
            self.name_bytes += NAME_BYTES + name.len() as u64;
        }
        let inserted = self.table.insert(cells);
        let place = self.all.len() as u32;
        let before = if inserted.is_new {
            self.last.push(place);
            NONE
        } else {
            std::mem::replace(&mut self.last[inserted.row as usize], place)
        };
        self.all.push(Instance {
            number,
            name,
            row: inserted.row,
            before,
        });
        self.made = number;
    }

    /// Draws what they hold on the budget; gives back what they hold no more.
    pub(super) fn account(&mut self) -> Result<(), QueryError> {
        let lists =
            self.last.capacity() * size_of::<u32>() + self.all.capacity() * size_of::<Instance>();
        let held = self.table.bytes() + self.name_bytes + lists as u64;
        if held > self.held_bytes {
            let more = held - self.held_bytes;
            self.budget.take(more).map_err(|error| no_memory(&error))?;
        } else {
            self.budget.give_back(self.held_bytes - held);
        }
        self.held_bytes = held;
        Ok(())
    }

    /// What they hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Forgets an instance; false where there is none of this name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let place = self.place_of(name);
        if let Some(place) = place {
            self.remove_at(place);
        }
        place.is_some()
    }

    fn remove_at(&mut self, place: usize) {
        let row = self.all[place].row;
        let before = self.all[place].before;
        let place = place as u32;
        // The one that has it before itself.
        let mut after = NONE;
        let mut at = self.last[row as usize];
        while at != place {
            after = at;
            at = self.all[at as usize].before;
        }
        if after != NONE {
            self.all[after as usize].before = before;
        } else if before != NONE {
            self.last[row as usize] = before;
        } else {
            self.forget_row(row);
        }
        let gone = &mut self.all[place as usize];
        gone.row = NONE;
        gone.before = NONE;
        if let Some(name) = gone.name.take() {
            self.named.remove(&name);
            self.name_bytes -= NAME_BYTES + name.len() as u64;
        }
        self.gone += 1;
        if self.gone > GONE_MAX && self.gone * 2 > self.all.len() {
            self.compact();
        }
    }

    fn forget_row(&mut self, row: u32) {
        let moved = self.table.remove(row);
        self.last.swap_remove(row as usize);
        if moved.is_some() {
            let mut at = self.last[row as usize];
            while at != NONE {
                self.all[at as usize].row = row;
                at = self.all[at as usize].before;
            }
        }
    }

    /// Takes those that are gone out of the list.
    fn compact(&mut self) {
        let mut places = vec![NONE; self.all.len()];
        let mut next = 0;
        for (place, instance) in places.iter_mut().zip(&self.all) {
            if instance.row != NONE {
                *place = next;
                next += 1;
            }
        }
        self.all.retain(|instance| instance.row != NONE);
        let moved = |place: &mut u32| {
            if *place != NONE {
                *place = places[*place as usize];
            }
        };
        self.all.iter_mut().for_each(|it| moved(&mut it.before));
        self.last.iter_mut().for_each(moved);
        self.gone = 0;
    }

    /// The number in a name that an instance without one has.
    fn number_in(&self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(&*self.template)?.strip_prefix('/')?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| is_plain)
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        if let Some(number) = self.named.get(name) {
            return self.place(*number);
        }
        let place = self.place(self.number_in(name)?);
        place.filter(|place| self.all[*place].name.is_none())
    }

    /// Whether there is an instance of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place_of(name).is_some()
    }

    fn place(&self, number: u64) -> Option<usize> {
        let place = self
            .all
            .binary_search_by_key(&number, |it| it.number)
            .ok()?;
        (self.all[place].row != NONE).then_some(place)
    }

    /// What the instance of a number is called; `None` where it is gone.
    pub(super) fn name(&self, number: u64) -> Option<Arc<str>> {
        let instance = &self.all[self.place(number)?];
        let name = instance.name.clone();
        Some(name.unwrap_or_else(|| format!("{}/{number}", self.template).into()))
    }

    /// The name that it was given, if it was given one.
    fn given_name(&self, number: u64) -> Option<&str> {
        self.all[self.place(number)?].name.as_deref()
    }

    /// From now on what they hold is drawn on this budget.
    pub(super) fn draw_on(&mut self, budget: Budget) -> Result<(), QueryError> {
        self.budget = budget;
        self.held_bytes = 0;
        self.account()
    }

    /// The number of the last one that ever was.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Forgets those with numbers above `after`.
    pub(super) fn take_back(&mut self, after: u64) {
        for number in after + 1..=self.made {
            if let Some(place) = self.place(number) {
                self.remove_at(place);
            }
        }
    }

    /// The numbers of the instances that have these constants.
    pub(super) fn of_cells(&self, cells: &[VertexId]) -> impl Iterator<Item = u64> + '_ {
        let row = self.table.find(cells);
        let mut at = row.map_or(NONE, |row| self.last[row as usize]);
        std::iter::from_fn(move || {
            let instance = self.all.get(at as usize)?;
            at = instance.before;
            Some(instance.number)
        })
    }

    /// The numbers of all instances, ascending, each with its row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let there = self.all.iter().filter(|instance| instance.row != NONE);
        there.map(|instance| (instance.number, instance.row))
    }

    /// The constants of a row.
    pub(super) fn cells(&self, row: u32) -> Vec<VertexId> {
        let columns = 0..self.table.width();
        columns
            .map(|column| self.table.column(column)[row as usize])
            .collect()
    }
}

fn no_memory(exhausted: &Exhausted) -> QueryError {
    QueryError::new(
        Kind::Memory,
        format!("the instances of a template are {exhausted}"),
    )
    .with_limit(
        Unit::Bytes,
        exhausted.limit,
        exhausted.used + exhausted.asked,
    )
    .with_hint("register fewer instances, or give the server more memory for queries")
}

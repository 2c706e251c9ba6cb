//! What is kept of each group for one aggregate, and what becomes of it (SPARQL 1.1 Query section
//! 18.5.1).
//!
//! | aggregate | kept | an error among the values | no value |
//! |---|---|---|---|
//! | `COUNT` | a number | skipped | 0 |
//! | `SUM`, `AVG` | the sum of 64-bit integers in 128 bits, the sum of other numbers apart | an error | 0 |
//! | `MIN`, `MAX` | an id, and its sort key unless its value is within it | an error | an error |
//! | `SAMPLE` | an id | skipped | an error |
//! | `GROUP_CONCAT` | the text so far | an error, as are blank nodes | `""` |
//!
//! States lie in columns by group number. Inline integers are added and compared as they stand in the
//! ids; no value is made of them. Sums are exact, whatever their length ([`Computed`]).
//! Adding may have to wait for a text or an id, and is then begun again: sums take back what they have added; adding the
//! same values to a minimum, a maximum or a sample again changes nothing; texts are there before one is joined. Ids of
//! values that were computed are looked up for all groups of a batch together, of those alone that are kept.
//!
//! `GROUP_CONCAT` joins what `STR` gives of each value, as other engines do, and gives a simple literal.

use super::paged::{Meter, Paged};
use crate::error::WalkError;
use crate::expression::{
    Computed, LOOKED_UP_BYTES, Made, Operand, Scalar, SortKey, Terms, Value, combine, effort_of,
    ids_of_values, look_up, text_of,
};
use crate::limits::STRING_BYTES_MAX;
use oxrdf::{LiteralRef, TermRef};
use query::expression::Arithmetic;
use query::plan::AggregateFunction;
use rdf::{Tag, VertexId, inline};
use std::cmp::Ordering;
use std::ops::Range;

/// Where a group has seen an error and its answer will be one. No term has this id.
const FAILED: VertexId = VertexId::from_bits(u64::MAX - 1);

/// Where a row of the batch was chosen whose id is not known yet. No term has this id.
const CHOSEN: VertexId = VertexId::from_bits(u64::MAX - 2);

/// The states of all groups for one aggregate.
pub(crate) enum States<'a> {
    Counts(Paged<u64>),
    Sums(Sums),
    Bests(Bests),
    Samples(Paged<VertexId>),
    Texts(Texts<'a>),
}

/// Values of some rows: the group of each, and where the values are.
pub(crate) struct Values<'v, 'b> {
    /// The group of each row of the batch.
    pub(crate) groups: &'v [u32],
    /// The rows meant.
    pub(crate) rows: &'v [u32],
    pub(crate) source: Source<'v, 'b>,
    /// How many rows each row of the batch stands for; `None`: each for itself.
    pub(crate) counts: Option<&'v [u64]>,
}

/// Where values are.
#[derive(Clone, Copy)]
pub(crate) enum Source<'v, 'b> {
    /// There are none: rows are counted.
    Rows,
    /// Ids, one for each row of the batch.
    Ids(&'v [VertexId]),
    /// Values, one for each row of the batch.
    Operand(&'v Operand<'b>),
}

/// Gives the values of some rows of a column of ids.
pub(crate) trait Fetch<'b> {
    /// One for each of these rows.
    fn fetch(&self, rows: &[u32]) -> Result<Operand<'b>, WalkError>;
}

impl<'a> States<'a> {
    /// No group yet.
    pub(crate) fn new(function: &'a AggregateFunction) -> States<'a> {
        match function {
            AggregateFunction::Count => States::Counts(Paged::default()),
            AggregateFunction::Sum => States::Sums(Sums::new(false)),
            AggregateFunction::Avg => States::Sums(Sums::new(true)),
            AggregateFunction::Min => States::Bests(Bests::new(Ordering::Less)),
            AggregateFunction::Max => States::Bests(Bests::new(Ordering::Greater)),
            AggregateFunction::Sample => States::Samples(Paged::default()),
            AggregateFunction::GroupConcat(separator) => States::Texts(Texts {
                texts: Paged::default(),
                separator,
            }),
        }
    }

    /// Makes room for this many groups, those new without a value.
    pub(crate) fn extend_to(
        &mut self,
        groups: usize,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        match self {
            States::Counts(counts) => counts.extend_to(groups, || 0, meter),
            States::Sums(sums) => sums.groups.extend_to(groups, Sum::default, meter),
            States::Bests(Bests { best: ids, .. }) | States::Samples(ids) => {
                ids.extend_to(groups, || VertexId::UNBOUND, meter)
            }
            States::Texts(texts) => texts.texts.extend_to(groups, || Text::Empty, meter),
        }
    }

    /// Adds `rows` to a count of rows.
    pub(crate) fn add_rows(&mut self, group: usize, rows: u64) -> Result<(), WalkError> {
        let States::Counts(counts) = self else {
            unreachable!("only rows that are counted come without values")
        };
        let count = counts.get_mut(group);
        *count = count.checked_add(rows).ok_or(WalkError::TooManyRows)?;
        Ok(())
    }

    /// Adds values to their groups, for which there is room.
    pub(crate) fn add<'b>(
        &mut self,
        values: &Values<'_, 'b>,
        fetch: &dyn Fetch<'b>,
        terms: &Terms<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        match self {
            States::Counts(counts) => {
                values.for_each_bound(|group, row| *counts.get_mut(group) += values.times(row));
                Ok(())
            }
            States::Samples(ids) => sample(ids, values, terms),
            States::Sums(sums) => sums.add(values, fetch, meter),
            States::Bests(bests) => bests.add(values, fetch, terms, meter),
            States::Texts(texts) => texts.add(values, fetch, meter),
        }
    }

    /// Appends the results of some groups, unbound for an error.
    pub(crate) fn results(
        &self,
        groups: Range<usize>,
        terms: &Terms<'_>,
        out: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        match self {
            States::Counts(counts) => {
                for group in groups {
                    let count = i64::try_from(*counts.get(group)).ok();
                    out.push(
                        count
                            .and_then(inline::from_integer)
                            .ok_or(WalkError::TooManyRows)?,
                    );
                }
                Ok(())
            }
            States::Bests(Bests { best: ids, .. }) | States::Samples(ids) => {
                let result = |&id: &VertexId| if id == FAILED { VertexId::UNBOUND } else { id };
                out.extend(groups.map(|group| result(ids.get(group))));
                Ok(())
            }
            States::Sums(sums) => {
                let mut groups = groups.peekable();
                while groups.peek().is_some() {
                    sums.some_results(&mut groups, terms, out)?;
                }
                Ok(())
            }
            States::Texts(texts) => texts.results(groups, terms, out),
        }
    }
}

/// Gives each group without a sample the first of its values that has an id.
fn sample(
    ids: &mut Paged<VertexId>,
    values: &Values<'_, '_>,
    terms: &Terms<'_>,
) -> Result<(), WalkError> {
    let mut wanted = Vec::new();
    values.for_each_bound(|group, row| {
        if ids.get(group).is_unbound() {
            wanted.push((group, row));
        }
    });
    // A second time only where a value has no lexical form.
    while !wanted.is_empty() {
        let mut chosen = Vec::new();
        wanted.retain(|&(group, row)| {
            let is_first = ids.get(group).is_unbound();
            if is_first {
                *ids.get_mut(group) = CHOSEN;
                chosen.push((group, row));
            }
            !is_first
        });
        let mut found = Vec::with_capacity(chosen.len());
        let asked = values.ids(chosen.iter().map(|chosen| chosen.1), terms, &mut found);
        if asked.is_err() {
            found.clear();
            found.resize(chosen.len(), VertexId::UNBOUND);
        }
        for ((group, _), id) in chosen.into_iter().zip(found) {
            *ids.get_mut(group) = id;
        }
        asked?;
        wanted.retain(|&(group, _)| ids.get(group).is_unbound());
    }
    Ok(())
}

/// Values, by row of the batch or by place among the rows that were asked for.
enum RowValues<'v, 'b> {
    OfBatch(&'v Operand<'b>),
    OfRows(Operand<'b>),
}

impl<'v, 'b> Values<'v, 'b> {
    /// How many rows a row of the batch stands for.
    #[inline]
    fn times(&self, row: u32) -> u64 {
        self.counts.map_or(1, |counts| counts[row as usize])
    }

    /// Calls back for each row that has a value, with its group.
    fn for_each_bound(&self, mut each: impl FnMut(usize, u32)) {
        let group = |row: u32| self.groups[row as usize] as usize;
        match self.source {
            Source::Rows => self.rows.iter().for_each(|&row| each(group(row), row)),
            Source::Ids(ids) => {
                for &row in self.rows {
                    if !ids[row as usize].is_unbound() {
                        each(group(row), row);
                    }
                }
            }
            Source::Operand(operand) => {
                for &row in self.rows {
                    if operand.get(row as usize).is_some() {
                        each(group(row), row);
                    }
                }
            }
        }
    }

    /// Appends the ids of the values of some rows, unbound where one has no lexical form.
    fn ids(
        &self,
        rows: impl Iterator<Item = u32>,
        terms: &Terms<'_>,
        into: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        match self.source {
            Source::Ids(ids) => into.extend(rows.map(|row| ids[row as usize])),
            Source::Operand(operand) => {
                ids_of_values(rows.map(|row| operand.get(row as usize)), terms, into)?;
            }
            Source::Rows => into.extend(rows.map(|_| VertexId::UNBOUND)),
        }
        Ok(())
    }

    /// The values of these rows, fetched if need be. An error where that has to wait leaves all as it was.
    fn operand(&self, rows: &[u32], fetch: &dyn Fetch<'b>) -> Result<RowValues<'v, 'b>, WalkError> {
        Ok(match self.source {
            Source::Operand(operand) => RowValues::OfBatch(operand),
            Source::Rows | Source::Ids(_) => RowValues::OfRows(fetch.fetch(rows)?),
        })
    }

    /// Calls back with the value of each of these rows; `None` is an error.
    fn for_each_value(
        &self,
        rows: &[u32],
        operand: &RowValues<'_, 'b>,
        mut each: impl FnMut(usize, u32, Option<&Value<'b>>) -> Result<(), WalkError>,
    ) -> Result<(), WalkError> {
        let (operand, by_row) = match operand {
            RowValues::OfBatch(operand) => (*operand, true),
            RowValues::OfRows(operand) => (operand, false),
        };
        for (place, &row) in rows.iter().enumerate() {
            let place = if by_row { row as usize } else { place };
            let group = self.groups[row as usize] as usize;
            each(group, row, operand.get(place))?;
        }
        Ok(())
    }
}

/// `SUM` and `AVG`.
pub(crate) struct Sums {
    groups: Paged<Sum>,
    /// Sums of numbers that are no integers of 64 bits.
    others: Paged<Computed>,
    is_average: bool,
}

/// The sum of one group.
#[derive(Clone, Copy, Default)]
struct Sum {
    whole: i128,
    count: u64,
    other: Other,
}

/// What else is summed in a group.
#[derive(Clone, Copy, Default)]
enum Other {
    #[default]
    Nothing,
    At(u32),
    Failed,
}

impl Sums {
    fn new(is_average: bool) -> Sums {
        Sums {
            groups: Paged::default(),
            others: Paged::default(),
            is_average,
        }
    }

    fn add<'b>(
        &mut self,
        values: &Values<'_, 'b>,
        fetch: &dyn Fetch<'b>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        let mut rest = Vec::new();
        let rows = match values.source {
            Source::Ids(ids) => {
                for &row in values.rows {
                    match inline_integer(ids[row as usize]) {
                        Some(value) => {
                            let group = values.groups[row as usize] as usize;
                            let times = values.times(row);
                            self.groups.get_mut(group).add_whole(value, times);
                        }
                        None => rest.push(row),
                    }
                }
                rest.as_slice()
            }
            _ => values.rows,
        };
        if rows.is_empty() {
            return Ok(());
        }
        let operand = match values.operand(rows, fetch) {
            Ok(operand) => operand,
            Err(error) => {
                self.take_back(values);
                return Err(error);
            }
        };
        values.for_each_value(rows, &operand, |group, row, value| {
            let mut left = values.times(row);
            if let Some(Value::Scalar(Scalar::Integer(value), _)) = value {
                self.groups.get_mut(group).add_whole(*value, left);
                left = 0;
            }
            // Each is added by itself, as where each had a row of its own: so many roundings are the same.
            while left > 0 && !matches!(self.groups.get(group).other, Other::Failed) {
                meter.spend(1)?;
                self.add_other(group, value, meter)?;
                left -= 1;
            }
            Ok(())
        })
    }

    /// Takes back the ids that were added as they stand, because the values of the others have to be waited for.
    fn take_back(&mut self, values: &Values<'_, '_>) {
        let Source::Ids(ids) = values.source else {
            return;
        };
        for &row in values.rows {
            if let Some(value) = inline_integer(ids[row as usize]) {
                let sum = self.groups.get_mut(values.groups[row as usize] as usize);
                let times = values.times(row);
                sum.whole -= i128::from(value) * i128::from(times);
                sum.count -= times;
            }
        }
    }

    /// Adds what is no integer of 64 bits.
    fn add_other(
        &mut self,
        group: usize,
        value: Option<&Value<'_>>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        let sum = self.groups.get_mut(group);
        let Some(value) = value.filter(|value| value.is_numeric()) else {
            sum.other = Other::Failed;
            return Ok(());
        };
        meter.spend(effort_of(value))?;
        sum.count += 1;
        let (before, at) = match sum.other {
            Other::Failed => return Ok(()),
            Other::Nothing => {
                let at = u32::try_from(self.others.len()).map_err(|_| WalkError::TooManyRows)?;
                sum.other = Other::At(at);
                self.others.push(Computed::integer(0), meter)?;
                (Computed::integer(0), at)
            }
            Other::At(at) => {
                let other = self.others.get_mut(at as usize);
                (std::mem::replace(other, Computed::integer(0)), at)
            }
        };
        match combine(Arithmetic::Add, &before.value(), value) {
            Some(added) => {
                meter.grow(added.bytes())?;
                meter.shrink(before.bytes());
                *self.others.get_mut(at as usize) = added;
            }
            None => sum.other = Other::Failed,
        }
        Ok(())
    }

    /// Appends the results of at least one group, and as many as are looked up together.
    fn some_results(
        &self,
        groups: &mut impl Iterator<Item = usize>,
        terms: &Terms<'_>,
        out: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let (mut totals, mut bytes) = (Vec::new(), 0);
        for group in groups {
            let total = self.result(group);
            bytes += total.as_ref().map_or(0, Computed::bytes) as u64;
            totals.push(total);
            if bytes > LOOKED_UP_BYTES {
                break;
            }
        }
        let values = totals
            .iter()
            .map(|total| total.as_ref().map(Computed::value));
        let values: Vec<Option<Value<'_>>> = values.collect();
        ids_of_values(values.iter().map(Option::as_ref), terms, out)
    }

    /// The sum or the average of a group; `None` is an error.
    fn result(&self, group: usize) -> Option<Computed> {
        let sum = self.groups.get(group);
        let whole = Computed::integer(sum.whole);
        let total = match sum.other {
            Other::Failed => return None,
            Other::Nothing => whole,
            Other::At(at) => {
                let other = self.others.get(at as usize);
                combine(Arithmetic::Add, &other.value(), &whole.value())?
            }
        };
        if !self.is_average || sum.count == 0 {
            return Some(total);
        }
        let count = Computed::integer(sum.count.into());
        combine(Arithmetic::Divide, &total.value(), &count.value())
    }
}

impl Sum {
    #[inline]
    fn add_whole(&mut self, value: i64, times: u64) {
        self.whole += i128::from(value) * i128::from(times);
        self.count += times;
    }
}

/// The value of an inline integer.
#[inline]
fn inline_integer(id: VertexId) -> Option<i64> {
    if id.has_tag(Tag::Integer) {
        inline::integer(id)
    } else {
        None
    }
}

/// `MIN` and `MAX`.
pub(crate) struct Bests {
    /// Unbound before the first value.
    best: Paged<VertexId>,
    /// The sort key of the best, where its id is not inline. Empty until there is one such.
    keys: Paged<SortKey>,
    /// Groups whose best is a computed value, and the rows of the batch that have it; the last one of a group holds.
    chosen: Vec<(usize, u32)>,
    wanted: Ordering,
}

impl Bests {
    fn new(wanted: Ordering) -> Bests {
        Bests {
            best: Paged::default(),
            keys: Paged::default(),
            chosen: Vec::new(),
            wanted,
        }
    }

    fn add<'b>(
        &mut self,
        values: &Values<'_, 'b>,
        fetch: &dyn Fetch<'b>,
        terms: &Terms<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        let mut rest = Vec::new();
        let rows = match values.source {
            Source::Ids(ids) => {
                for &row in values.rows {
                    let group = values.groups[row as usize] as usize;
                    if !self.add_id(group, ids[row as usize]) {
                        rest.push(row);
                    }
                }
                rest.as_slice()
            }
            _ => values.rows,
        };
        if rows.is_empty() {
            return Ok(());
        }
        self.keys
            .extend_to(self.best.len(), || SortKey::Nothing, meter)?;
        let operand = values.operand(rows, fetch)?;
        values.for_each_value(rows, &operand, |group, row, value| match value {
            None => {
                *self.best.get_mut(group) = FAILED;
                Ok(())
            }
            Some(value) => {
                let id = match values.source {
                    Source::Ids(ids) => ids[row as usize],
                    Source::Rows | Source::Operand(_) => CHOSEN,
                };
                self.add_value(group, row, value, id, meter)
            }
        })?;
        self.name_chosen(values, terms)
    }

    /// Looks the ids of the chosen values up. Where that has to wait they stay chosen: adding the same rows again finds
    /// nothing better.
    fn name_chosen(&mut self, values: &Values<'_, '_>, terms: &Terms<'_>) -> Result<(), WalkError> {
        if self.chosen.is_empty() {
            return Ok(());
        }
        self.chosen
            .sort_unstable_by_key(|&(group, row)| (group, std::cmp::Reverse(row)));
        self.chosen.dedup_by_key(|&mut (group, _)| group);
        let best = &self.best;
        self.chosen.retain(|&(group, _)| *best.get(group) == CHOSEN);
        let mut ids = Vec::with_capacity(self.chosen.len());
        values.ids(self.chosen.iter().map(|chosen| chosen.1), terms, &mut ids)?;
        for ((group, _), id) in self.chosen.drain(..).zip(ids) {
            *self.best.get_mut(group) = if id.is_unbound() { FAILED } else { id };
        }
        Ok(())
    }

    /// Whether ids alone told what becomes of the best.
    #[inline]
    fn add_id(&mut self, group: usize, id: VertexId) -> bool {
        let best = self.best.get_mut(group);
        if *best == id && !id.is_unbound() || *best == FAILED {
            return true;
        }
        if id.is_unbound() {
            *best = FAILED;
            return true;
        }
        if !id.has_tag(Tag::Integer) || !(best.is_unbound() || best.has_tag(Tag::Integer)) {
            return false;
        }
        if best.is_unbound() || id.cmp(best) == self.wanted {
            *best = id;
        }
        true
    }

    fn add_value(
        &mut self,
        group: usize,
        row: u32,
        value: &Value<'_>,
        id: VertexId,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        let best = self.best.get_mut(group);
        if *best == FAILED {
            return Ok(());
        }
        meter.spend(effort_of(value))?;
        let key = SortKey::of(Some(value));
        let is_better = if best.is_unbound() {
            true
        } else if let Some(value) = Value::of_inline(*best) {
            key.cmp(&SortKey::of(Some(&value))) == self.wanted
        } else {
            key.cmp(self.keys.get(group)) == self.wanted
        };
        if !is_better {
            return Ok(());
        }
        *best = id;
        if id == CHOSEN {
            self.chosen.push((group, row));
        }
        meter.grow(key.bytes())?;
        let old = std::mem::replace(self.keys.get_mut(group), key);
        meter.shrink(old.bytes());
        Ok(())
    }
}

/// `GROUP_CONCAT`.
pub(crate) struct Texts<'a> {
    texts: Paged<Text>,
    separator: &'a str,
}

/// The text of one group.
enum Text {
    Empty,
    Some(String),
    Failed,
}

impl Texts<'_> {
    /// Appends the results of some groups, unbound for an error.
    fn results(
        &self,
        groups: Range<usize>,
        terms: &Terms<'_>,
        out: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let text = |group: usize| match self.texts.get(group) {
            Text::Empty => Some(""),
            Text::Some(text) => Some(text.as_str()),
            Text::Failed => None,
        };
        let texts = groups.clone().filter_map(text);
        let term = |text| TermRef::from(LiteralRef::new_simple_literal(text));
        let wanted: Vec<TermRef<'_>> = texts.map(term).collect();
        let mut found = look_up(&wanted, terms)?.into_iter();
        out.extend(groups.map(|group| {
            let id = text(group).and_then(|_| found.next());
            id.unwrap_or(VertexId::UNBOUND)
        }));
        assert!(found.next().is_none(), "a text has its id");
        Ok(())
    }

    fn add<'b>(
        &mut self,
        values: &Values<'_, 'b>,
        fetch: &dyn Fetch<'b>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        let separator = self.separator;
        // The text of a number or a date, none of which is long.
        let mut written = String::new();
        let operand = values.operand(values.rows, fetch)?;
        values.for_each_value(values.rows, &operand, |group, _, value| {
            let text = self.texts.get_mut(group);
            if matches!(text, Text::Failed) {
                return Ok(());
            }
            written.clear();
            let Some(part) = value.and_then(|value| text_of(value, &mut written)) else {
                if let Text::Some(before) = text {
                    meter.shrink(before.capacity());
                }
                *text = Text::Failed;
                return Ok(());
            };
            let part = match part {
                Made::Value(Value::Text(part)) => part,
                _ => written.as_str(),
            };
            if let Text::Some(text) = text {
                return append(text, [separator, part], meter);
            }
            let mut begun = String::new();
            append(&mut begun, ["", part], meter)?;
            *text = Text::Some(begun);
            Ok(())
        })
    }
}

/// Appends to a text that may not become too long.
fn append(text: &mut String, parts: [&str; 2], meter: &mut Meter<'_>) -> Result<(), WalkError> {
    let length = text.len() + parts.iter().map(|part| part.len()).sum::<usize>();
    if length > STRING_BYTES_MAX {
        return Err(WalkError::StringTooLong {
            limit_bytes: STRING_BYTES_MAX as u64,
        });
    }
    let held = text.capacity();
    if length > held {
        let wanted = length.max(2 * held).min(STRING_BYTES_MAX);
        meter.grow(wanted)?;
        text.reserve_exact(wanted - text.len());
        meter.shrink(held + wanted - text.capacity());
    }
    for part in parts {
        text.push_str(part);
    }
    Ok(())
}

//! A case as text for people, and a smaller case on which something still fails.
//!
//! What is shown is all that an answer depends on: stored data, streams, items in the order of their arrival, and the
//! question in each dialect that can say it.

use super::{Item, PlainStream, StandingCase};
use crate::{graph, shrink};
use std::fmt;

impl fmt::Display for StandingCase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "---- stored\n{}",
            graph::write(&self.stored, graph::Format::NQuads)
        )?;
        for (place, stream) in self.streams.iter().enumerate() {
            let PlainStream {
                iri,
                begin_ms,
                grain_ms,
                lateness_ms,
                absorbed,
                into,
                side_of,
            } = stream;
            writeln!(
                out,
                "---- stream {place}: {iri} from {begin_ms} ms, batches of {grain_ms} ms, late by {lateness_ms} ms, \
                 stored {absorbed:?} in {into}, late items of {side_of:?}"
            )?;
        }
        writeln!(out, "---- items: stream, milliseconds, quads")?;
        for Item {
            stream,
            time_ms,
            quads,
        } in &self.items
        {
            let quads: Vec<String> = quads.iter().map(|quad| format!("{quad} .")).collect();
            writeln!(out, "{stream} {time_ms} {}", quads.join(" "))?;
        }
        let question = &self.question;
        writeln!(
            out,
            "---- question, registered at {} ms",
            question.registered_ms
        )?;
        writeln!(out, "{}\n{:?}", question.sparql(), question.windows)?;
        for (dialect, text) in question.texts(&self.streams) {
            writeln!(out, "---- {dialect:?}\n{text}")?;
        }
        Ok(())
    }
}

/// A case with fewer items, stored quads and unused windows, on which `fails` still holds.
pub fn smaller(case: &StandingCase, fails: &mut dyn FnMut(&StandingCase) -> bool) -> StandingCase {
    let mut small = without_items(case, fails);
    small.stored = shrink::dataset(&small.stored.clone(), &mut |stored| {
        fails(&StandingCase {
            stored: stored.clone(),
            ..small.clone()
        })
    });
    without_windows(small, fails)
}

/// Takes items away: halves first, then smaller pieces.
fn without_items(
    case: &StandingCase,
    fails: &mut dyn FnMut(&StandingCase) -> bool,
) -> StandingCase {
    let mut small = case.clone();
    let mut piece = small.items.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        while start < small.items.len() {
            let mut fewer = small.clone();
            let end = (start + piece).min(fewer.items.len());
            fewer.items.drain(start..end);
            if fails(&fewer) {
                small = fewer;
            } else {
                start = end;
            }
        }
        piece /= 2;
    }
    small
}

/// Takes the last windows away, while no group asks about them; those before keep their names.
fn without_windows(
    mut small: StandingCase,
    fails: &mut dyn FnMut(&StandingCase) -> bool,
) -> StandingCase {
    while let Some(last) = small.question.windows.len().checked_sub(1) {
        let mut fewer = small.clone();
        fewer.question.windows.truncate(last);
        if last == 0 || small.question.uses(last) || !fails(&fewer) {
            break;
        }
        small = fewer;
    }
    small
}

//! `cut`: a store into the parts of a cluster's nodes. What `load --parts` says at its end is said here too.

use crate::arguments::Cut;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::verbs::input;
use somersault::parts::{self, CutSizes, Deal, PartSizes, PartsError};
use somersault::units::format_size;
use std::path::Path;
use std::time::Instant;

/// Runs the verb.
pub fn run(flags: &Cut, file: Option<&Path>) -> Outcome {
    settings::check(&settings::layers(file)?)?;
    let begun = Instant::now();
    let deal = Deal::Evenly {
        nodes: flags.parts,
        shift: flags.block_bits,
    };
    refuse_others(&flags.output, flags.parts)?;
    let sizes = parts::cut(&flags.location, &flags.output, &deal).map_err(failure)?;
    describe(&sizes);
    let seconds = begun.elapsed().as_secs_f64();
    say!("cut into {} parts, {seconds:.1} s", sizes.parts.len());
    Ok(())
}

/// An error where a directory has parts that so many new ones would not replace: all of them together would be no graph.
pub fn refuse_others(directory: &Path, count: u16) -> Outcome {
    let new: Vec<String> = (0..count).map(parts::part_name).collect();
    let there = parts::parts_in(directory);
    let Some(other) = there.iter().find(|name| !new.contains(name)) else {
        return Ok(());
    };
    Err(Failure::new(
        Code::Usage,
        format!(
            "{} has {other}, which is none of {count} parts: give another directory, or remove the parts that are there",
            directory.display()
        ),
    ))
}

/// How even the parts are, and what crosses between them.
pub fn describe(sizes: &CutSizes) {
    for part in &sizes.parts {
        say!(
            "{}: {} out-edges, {} in-edges, {} keys, {}",
            parts::part_name(part.node),
            part.out_edges,
            part.in_edges,
            part.keys,
            format_size(part.bytes)
        );
    }
    say!(
        "largest part by the mean: {:.3} in edges, {:.3} in bytes, {:.3} in keys; {:.1} % of {} links between IRIs cross",
        sizes.imbalance(PartSizes::edges),
        sizes.imbalance(|part| part.bytes),
        sizes.imbalance(|part| part.keys),
        100.0 * sizes.crossing_share(),
        sizes.sum(|part| part.links)
    );
}

/// The failure of a cut, with its exit code.
pub fn failure(error: PartsError) -> Failure {
    match error {
        PartsError::Load(error) => input::failure(error),
        PartsError::Placement(error) => Failure::new(Code::Usage, error),
        error => Failure::new(Code::Failed, error),
    }
}

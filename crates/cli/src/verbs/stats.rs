//! `stats`: what a store holds and what it weighs, by part, predicate and class.
//!
//! Reads heads, descriptors and characteristic sets, not the graph, so it takes milliseconds for any
//! size. Long lists are cut for people and whole in JSON.

use crate::arguments::Stats;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::open;
use somersault::units::format_size;
use somersault::upkeep::{Sizes, SizesError, sizes};
use std::io::{self, Write};
use std::path::Path;

/// Runs the verb.
pub fn run(flags: &Stats, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    if flags.planner {
        let database = open::unasked(&flags.location, flags.nodes, &config)?;
        let statistics = database.planner_statistics();
        let statistics = statistics.map_err(super::query::failure)?;
        writeln!(io::stdout().lock(), "{statistics}")?;
        return Ok(());
    }
    let sizes = sizes(&flags.location).map_err(failure)?;
    let mut output = io::stdout().lock();
    if flags.json {
        writeln!(output, "{}", json(&sizes))?;
    } else {
        print(&sizes, &mut output)?;
    }
    Ok(())
}

/// Prints the sizes of a store for people.
pub fn print_to(location: &Path, output: &mut dyn Write) -> Outcome {
    let sizes = sizes(location).map_err(failure)?;
    Ok(print(&sizes, output)?)
}

fn failure(error: SizesError) -> Failure {
    match error {
        SizesError::Open(error) => open::failure(error),
        SizesError::Lexicon(error) => Failure::new(Code::Integrity, error),
    }
}

fn total_bytes(sizes: &Sizes) -> u64 {
    sizes.files.iter().map(|(_, bytes)| bytes).sum()
}

fn per_quad(bytes: u64, sizes: &Sizes) -> f64 {
    bytes as f64 / sizes.quads.max(1) as f64
}

fn json(sizes: &Sizes) -> serde_json::Value {
    let predicates = sizes
        .predicates
        .iter()
        .map(|(predicate, [edges, subjects, objects])| {
            serde_json::json!({
                "predicate": predicate, "edges": edges, "subjects": subjects, "objects": objects,
            })
        });
    serde_json::json!({
        "quads": sizes.quads,
        "terms": sizes.terms,
        "named_graphs": sizes.named_graphs,
        "subjects": sizes.subjects,
        "objects": sizes.objects,
        "snapshot": sizes.snapshot,
        "log": { "records": sizes.tail.records, "bytes": sizes.tail.bytes },
        "characteristic_sets": { "out": sizes.sets.0, "in": sizes.sets.1 },
        "bytes": total_bytes(sizes),
        "bytes_per_quad": per_quad(total_bytes(sizes), sizes),
        "files": sizes.files.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "predicates": predicates.collect::<Vec<_>>(),
        "classes": sizes.classes.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
    })
}

fn print(sizes: &Sizes, output: &mut dyn Write) -> io::Result<()> {
    const ROWS_MAX: usize = 40;
    writeln!(output, "quads         {:>14}", sizes.quads)?;
    writeln!(output, "terms         {:>14}", sizes.terms)?;
    writeln!(output, "subjects      {:>14}", sizes.subjects)?;
    writeln!(output, "objects       {:>14}", sizes.objects)?;
    writeln!(output, "named graphs  {:>14}", sizes.named_graphs)?;
    writeln!(
        output,
        "sets out, in  {:>14}",
        format!("{}, {}", sizes.sets.0, sizes.sets.1)
    )?;
    writeln!(output, "snapshot      {:>14}", sizes.snapshot)?;
    if sizes.tail.records > 0 {
        writeln!(
            output,
            "in the log    {:>14}  commits, {} (compact writes them into the files)",
            sizes.tail.records,
            format_size(sizes.tail.bytes)
        )?;
    }
    writeln!(
        output,
        "\nfile                              bytes   bytes a quad"
    )?;
    for (name, bytes) in &sizes.files {
        writeln!(
            output,
            "{name:24} {bytes:>14} {:>14.2}",
            per_quad(*bytes, sizes)
        )?;
    }
    let total = total_bytes(sizes);
    let readable = format_size(total);
    writeln!(
        output,
        "all                      {total:>14} {:>14.2}",
        per_quad(total, sizes)
    )?;
    writeln!(output, "({readable})\n")?;
    writeln!(
        output,
        "         edges       subjects        objects  predicate"
    )?;
    for (predicate, [edges, subjects, objects]) in sizes.predicates.iter().take(ROWS_MAX) {
        writeln!(
            output,
            "{edges:>14} {subjects:>14} {objects:>14}  {predicate}"
        )?;
    }
    more(sizes.predicates.len(), ROWS_MAX, output)?;
    writeln!(output, "\n       members  class")?;
    for (class, members) in sizes.classes.iter().take(ROWS_MAX) {
        writeln!(output, "{members:>14}  {class}")?;
    }
    more(sizes.classes.len(), ROWS_MAX, output)
}

fn more(all: usize, shown: usize, output: &mut dyn Write) -> io::Result<()> {
    if all > shown {
        writeln!(
            output,
            "               and {} more; --json prints all",
            all - shown
        )?;
    }
    Ok(())
}

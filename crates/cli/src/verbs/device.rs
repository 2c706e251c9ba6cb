//! `device`: which cards there are, and what one can do.
//!
//! Where there is no card, `status` says so and why and ends with 0, for it was asked; `probe` cannot do what it was
//! told, and fails. Each figure of a probe is a median, by the card's own clock or by the host's where that is what
//! counts; a gigabyte is 10^9 bytes there, and a working set is given in KiB and MiB.

use crate::arguments::{DeviceFormat, DeviceProbe, DeviceStatus, DeviceVerb};
use crate::exit::{Code, Failure, Outcome};
use crate::table::{Style, Table};
use serde_json::{Value, json};
use somersault::device::{Chain, Cuda, DeviceError, Facts, Gather, Probe, probe};
use somersault::units::format_size;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Runs the verb.
pub fn run(verb: &DeviceVerb) -> Outcome {
    match verb {
        DeviceVerb::Status(flags) => status(flags),
        DeviceVerb::Probe(flags) => measured(flags),
    }
}

fn failure(error: &DeviceError) -> Failure {
    Failure::new(Code::Failed, error)
}

fn status(flags: &DeviceStatus) -> Outcome {
    let mut output = io::stdout().lock();
    let absence = Cuda::absence();
    let mut cards = Vec::new();
    for ordinal in 0..Cuda::count() {
        cards.push(Cuda::look(ordinal).map_err(|error| failure(&error))?);
    }
    match flags.format {
        DeviceFormat::Json => {
            let cards = cards.iter().enumerate();
            let devices: Vec<Value> = cards
                .map(|(ordinal, (facts, free))| json_of_card(ordinal, facts, *free))
                .collect();
            writeln!(output, "{}", json!({"devices": devices, "none": absence}))?;
        }
        DeviceFormat::Table => match absence {
            Some(reason) => writeln!(output, "device: none ({reason})")?,
            None => print_cards(&cards, &mut output)?,
        },
    }
    Ok(())
}

fn json_of_card(ordinal: usize, facts: &Facts, free: Option<u64>) -> Value {
    let mut card = json_of_facts(facts);
    card["device"] = ordinal.into();
    card["free_bytes"] = free.into();
    card
}

fn json_of_facts(facts: &Facts) -> Value {
    json!({
        "name": facts.name,
        "capability": dotted(facts.capability),
        "driver": dotted(facts.driver),
        "memory_bytes": facts.memory,
        "multiprocessors": facts.multiprocessors,
        "shared_cache_bytes": facts.shared_cache,
        "copy_engines": facts.copy_engines,
    })
}

fn dotted((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

fn print_cards(cards: &[(Facts, Option<u64>)], output: &mut dyn Write) -> io::Result<()> {
    let names = [
        "device",
        "name",
        "capability",
        "CUDA",
        "memory",
        "free",
        "multiprocessors",
        "cache",
    ];
    let row = |(ordinal, (facts, free)): (usize, &(Facts, Option<u64>))| {
        vec![
            ordinal.to_string(),
            facts.name.clone(),
            dotted(facts.capability),
            dotted(facts.driver),
            format_size(facts.memory),
            free.map_or_else(|| "unknown".to_owned(), format_size),
            facts.multiprocessors.to_string(),
            format_size(facts.shared_cache),
        ]
    };
    let rows: Vec<Vec<String>> = cards.iter().enumerate().map(row).collect();
    Table::words(output, Style::default(), &names, &rows)
}

fn measured(flags: &DeviceProbe) -> Outcome {
    let start = Instant::now();
    let clock = || start.elapsed();
    let device = Cuda::open(flags.device).map_err(|error| failure(&error))?;
    let opened = clock();
    let found = probe(&device, &clock).map_err(|error| failure(&error))?;
    let mut output = io::stdout().lock();
    match flags.format {
        DeviceFormat::Json => writeln!(output, "{}", json_of_probe(&found, opened))?,
        DeviceFormat::Table => print_probe(&found, opened, &mut output)?,
    }
    Ok(())
}

fn json_of_probe(found: &Probe, opened: Duration) -> Value {
    let gather = |gather: &Gather| {
        json!({
            "working_set_bytes": gather.working_set,
            "width_bytes": gather.width,
            "accesses_per_ns": gather.accesses_per_ns,
            "gigabytes_per_second": gather.rate(),
        })
    };
    let chain = |chain: &Chain| json!({"working_set_bytes": chain.working_set, "ns": chain.ns});
    let figures = found.figures.iter();
    let figures = figures.map(|it| json!({"what": it.what, "value": it.value, "unit": it.unit}));
    json!({
        "facts": json_of_facts(&found.facts),
        "opened_ms": opened.as_secs_f64() * 1e3,
        "figures": figures.collect::<Vec<_>>(),
        "gathers": found.gathers.iter().map(gather).collect::<Vec<_>>(),
        "chains": found.chains.iter().map(chain).collect::<Vec<_>>(),
        "skipped": found.skipped,
    })
}

fn print_probe(found: &Probe, opened: Duration, output: &mut dyn Write) -> io::Result<()> {
    let facts = &found.facts;
    writeln!(
        output,
        "{}, capability {}, driver of CUDA {}, {} multiprocessors, {} of memory, {} of shared cache\n",
        facts.name,
        dotted(facts.capability),
        dotted(facts.driver),
        facts.multiprocessors,
        format_size(facts.memory),
        format_size(facts.shared_cache)
    )?;
    let opened = opened.as_secs_f64() * 1e3;
    writeln!(
        output,
        "{opened:>12.1} ms    opening it, kernels kept or compiled"
    )?;
    for figure in &found.figures {
        let (value, unit) = (figure.value, figure.unit);
        writeln!(output, "{value:>12.3} {unit:5} {}", figure.what)?;
    }
    print_gathers(&found.gathers, output)?;
    writeln!(output, "\nA read that waits for the one before:")?;
    for chain in &found.chains {
        let set = format_size(chain.working_set);
        writeln!(output, "{:>12.1} ns    of {set}", chain.ns)?;
    }
    for skipped in &found.skipped {
        writeln!(output, "left out: {skipped}")?;
    }
    Ok(())
}

/// A row for each working set, a column for each width.
fn print_gathers(gathers: &[Gather], output: &mut dyn Write) -> io::Result<()> {
    let widths: BTreeSet<u32> = gathers.iter().map(|gather| gather.width).collect();
    let sets: BTreeSet<u64> = gathers.iter().map(|gather| gather.working_set).collect();
    writeln!(
        output,
        "\nReads at random places: GB/s of sectors (reads in a ns), by bytes of a read"
    )?;
    write!(output, "{:>12}", "working set")?;
    for width in &widths {
        write!(output, "{width:>18}")?;
    }
    writeln!(output)?;
    for set in sets {
        write!(output, "{:>12}", format_size(set))?;
        for width in &widths {
            let is_it = |gather: &&Gather| gather.working_set == set && gather.width == *width;
            let cell = gathers
                .iter()
                .find(is_it)
                .map(|gather| format!("{:.0} ({:.1})", gather.rate(), gather.accesses_per_ns));
            write!(output, "{:>18}", cell.unwrap_or_default())?;
        }
        writeln!(output)?;
    }
    Ok(())
}

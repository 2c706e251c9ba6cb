//! `dump`: a store's statements as text, in bounded memory.
//!
//! A file is written beside its name and renamed when it is whole, so a dump that fails leaves what
//! was there before. Formats that cannot hold named graphs are refused for a store that has some,
//! rather than leave their statements out.

use crate::arguments::Dump;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::open;
use crate::verbs::whole_file::whole_file;
use somersault::Graph;
use somersault::dump::{DumpError, all, named};
use somersault::terms::format::{Format, writer};
use std::io::{self, BufWriter, Write};
use std::path::Path;

const OUTPUT_BUFFER_BYTES: usize = 1 << 20;

/// Runs the verb.
pub fn run(flags: &Dump, file: Option<&Path>) -> Outcome {
    let layers = settings::layers(file)?;
    let config = settings::check(&layers)?;
    let format = format(flags)?;
    let database = open::unasked(&flags.location, flags.nodes, &config)?;
    let has_graphs = database.summary().named_graphs > 0;
    let holds_graphs = matches!(format, Format::NQuads | Format::TriG | Format::JsonLd);
    if flags.graph.is_none() && has_graphs && !holds_graphs {
        let message = format!(
            "{format:?} cannot hold named graphs, of which there are some: choose nq, trig or \
             jsonld, or one graph with --graph"
        );
        return Err(Failure::new(Code::Usage, message));
    }
    let graph = database.graph();
    if let Some(name) = &flags.graph {
        somersault::dump::find(&graph, name).map_err(failure)?;
    }
    if flags.output == Path::new("-") {
        return write(&graph, flags, format, io::stdout().lock());
    }
    whole_file(&flags.output, |file| write(&graph, flags, format, file))
}

/// The format that is named, or that of the output's extension.
fn format(flags: &Dump) -> Result<Format, Failure> {
    const KNOWN: &str = "nq, nt, ttl, trig, rdf or jsonld";
    if let Some(name) = &flags.format {
        return Format::from_name(name).ok_or_else(|| {
            Failure::new(Code::Usage, format!("`--format {name}`: expected {KNOWN}"))
        });
    }
    let Some(extension) = flags.output.extension() else {
        return Ok(Format::NQuads);
    };
    Format::from_extension(&extension.to_string_lossy()).ok_or_else(|| {
        let output = flags.output.display();
        let message = format!(
            "{output}: the extension names no format that is written; use {KNOWN}, or --format \
             (to compress, write to - and through a pipe)"
        );
        Failure::new(Code::Usage, message)
    })
}

fn write(graph: &Graph, flags: &Dump, format: Format, output: impl Write) -> Outcome {
    let mut writer = writer(
        format,
        BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, output),
    );
    match &flags.graph {
        None => all(graph, &mut |quad| writer.quad(quad)),
        Some(name) => named(graph, name, &mut |quad| writer.quad(quad)),
    }
    .map_err(failure)?;
    writer.finish()?.flush()?;
    Ok(())
}

fn failure(error: DumpError) -> Failure {
    match error {
        DumpError::Output(error) => Failure::from(error),
        DumpError::Nodes(error) => super::query::failure(error),
        DumpError::View(_) | DumpError::Lexicon(_) | DumpError::NotRdf(_) => {
            Failure::new(Code::Integrity, error)
        }
        DumpError::NoSuchGraph(_) => Failure::new(Code::Usage, error),
    }
}

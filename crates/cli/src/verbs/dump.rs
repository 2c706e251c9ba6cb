//! `dump`: a store's statements as text, in bounded memory.
//!
//! A file is written beside its name and renamed when it is whole, so a dump that fails leaves what
//! was there before. Formats that cannot hold named graphs are refused for a store that has some,
//! rather than leave their statements out.

use crate::arguments::Dump;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::open;
use somersault::database::Graph;
use somersault::dump::{DumpError, all, named};
use somersault::rdf::format::{Format, writer};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const OUTPUT_BUFFER_BYTES: usize = 1 << 20;

/// Runs the verb.
pub fn run(flags: &Dump, file: Option<&Path>) -> Outcome {
    let layers = settings::layers(file)?;
    let config = settings::check(&layers)?;
    let format = Format::from_extension(&flags.format).ok_or_else(|| {
        let known = "nq, nt, ttl, trig, rdf or jsonld";
        Failure::new(
            Code::Usage,
            format!("`--format {}`: expected {known}", flags.format),
        )
    })?;
    let database = open::store(&flags.location, &config)?;
    let has_graphs = database.summary().named_graphs > 0;
    let holds_graphs = matches!(format, Format::NQuads | Format::TriG | Format::JsonLd);
    if flags.graph.is_none() && has_graphs && !holds_graphs {
        let message = format!(
            "`--format {}` cannot hold named graphs, of which there are some: choose nq, trig or \
             jsonld, or one graph with --graph",
            flags.format
        );
        return Err(Failure::new(Code::Usage, message));
    }
    let graph = database.graph();
    if let Some(name) = &flags.graph {
        somersault::dump::find(graph, name).map_err(failure)?;
    }
    if flags.output == Path::new("-") {
        return write(graph, flags, format, io::stdout().lock());
    }
    // A dump that fails leaves neither half a file nor the loss of what was there.
    let mut unfinished = flags.output.clone().into_os_string();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let named = |error: io::Error| {
        let message = format!("{}: {error}", flags.output.display());
        Failure::new(Code::Failed, message)
    };
    let file = File::create(&unfinished).map_err(named)?;
    let written = write(graph, flags, format, file);
    if written.is_err() {
        // What it says about the dump matters more than whether this goes well.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    fs::rename(&unfinished, &flags.output).map_err(named)
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
        DumpError::View(_) | DumpError::Lexicon(_) | DumpError::NotRdf(_) => {
            Failure::new(Code::Integrity, error)
        }
        DumpError::NoSuchGraph(_) => Failure::new(Code::Usage, error),
    }
}

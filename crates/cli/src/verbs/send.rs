//! `load --endpoint`: files to the graph store of a server, as they are read.
//!
//! Each file is one request and one commit: all of it or nothing. Files are sent as they lie, packed
//! ones too where HTTP has a name for how (gzip, zstd), so neither side holds one in memory.

use crate::arguments::Load;
use crate::endpoint::{Document, Endpoint};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::stop::Stop;
use somersault::config::Config;
use somersault::terms::format::Format;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

/// Sends the files of a load, one after the other.
pub fn run(flags: &Load, url: &str, config: &Config) -> Outcome {
    let usage = |message: &str| Err(Failure::new(Code::Usage, message));
    if flags.on_error != "stop" {
        return usage("--on-error is for stores: a server takes a whole document or nothing");
    }
    if flags.base.is_some() {
        return usage("--base is for stores: a server resolves against the graph's address");
    }
    let headers = settings::headers(&flags.remote);
    let endpoint = Endpoint::new(url, &headers, config.update_timeout)?.without_limit();
    for file in &flags.files {
        let begun = Instant::now();
        let document = document(file, flags.format.as_deref())?;
        let graph = flags.graph.as_deref();
        if graph.is_some() && document.format.has_graphs() {
            let message = format!(
                "{}: it may name graphs itself, so --graph cannot say where it goes",
                file.display()
            );
            return Err(Failure::new(Code::Usage, message));
        }
        let mut changed = endpoint
            .add(document, graph, &Stop::default())
            .map_err(|trouble| {
                let mut failure = trouble.into_failure("");
                failure.message = format!("{}: {}", file.display(), failure.message);
                failure
            })?;
        changed.total = begun.elapsed();
        say!("{}: {changed}", file.display());
    }
    Ok(())
}

/// A file, its format and its packing told by its name.
fn document(file: &Path, format: Option<&str>) -> Result<Document, Failure> {
    let is_input = file == Path::new("-");
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (name, coding) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
        (Some(name), _) => (name, Some("gzip")),
        (None, Some(name)) => (name, Some("zstd")),
        (None, None) if name.ends_with(".bz2") || name.ends_with(".xz") => {
            let message = format!("{name}: unpack it, and send it with `--format F -`");
            return Err(Failure::new(Code::Usage, message));
        }
        (None, None) => (&*name, None),
    };
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let wanted = format.unwrap_or(extension);
    let format = Format::from_name(wanted).ok_or_else(|| {
        let message = format!(
            "{}: unknown format {wanted:?}; name one with --format: nt, nq, ttl, trig, rdf or \
             jsonld",
            file.display()
        );
        Failure::new(Code::Usage, message)
    })?;
    let body: Box<dyn Read + Send> = if is_input {
        Box::new(io::stdin())
    } else {
        let opened = File::open(file)
            .map_err(|error| Failure::new(Code::Failed, format!("{}: {error}", file.display())))?;
        Box::new(opened)
    };
    Ok(Document {
        format,
        coding: coding.filter(|_| !is_input),
        body,
    })
}

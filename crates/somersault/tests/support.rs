//! The engine as the test kit wants it: text in, answers out, through the public façade only.

use device::Device;
use device::cuda::Cuda;
use device::twin::Twin;
use oxrdf::Triple;
use somersault::device::{Accelerator, Memory, Offload, Opened};
use somersault::load::{self, Source, Unwatched};
use somersault::output::Collected;
use somersault::{Database, Kind, Options, Request};
use std::collections::HashSet;
use std::sync::Arc;
use testkit::compare::Blanks;
use testkit::graph::Format;
use testkit::{Answer, MARKER, Row, TRIPLE_COLUMNS};

/// A database in memory, loaded from text.
#[allow(dead_code, reason = "each test program uses its own part of this file")]
pub fn loaded(text: &str, format: Format, threads: usize) -> Result<Database, String> {
    loaded_with(text, format, threads, None)
}

/// The same, whose queries begin on a device wherever it can begin them.
#[allow(dead_code, reason = "each test program uses its own part of this file")]
pub fn loaded_with(
    text: &str,
    format: Format,
    threads: usize,
    accelerator: Option<Arc<Accelerator>>,
) -> Result<Database, String> {
    let name = format!("graph.{}", format.extension());
    let source = Source::reader(name, text.as_bytes());
    let request = load::Request {
        threads,
        ..load::Request::default()
    };
    let options = Options {
        query_threads: threads,
        accelerator,
        ..Options::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded
        .map(|(database, _)| database)
        .map_err(|error| error.to_string())
}

/// Devices for tests that take all they can: the host twin, or a card where `SOMERSAULT_DEVICE=cuda` says that there is
/// one. For even seeds there are two, every other time with one image of the graph together, and queries are shared among them and the processors. None without a C++ compiler, which is said.
#[allow(dead_code, reason = "each test program uses its own part of this file")]
pub fn accelerator(seed: u64) -> Option<Arc<Accelerator>> {
    let is_card = std::env::var("SOMERSAULT_DEVICE").is_ok_and(|it| it == "cuda");
    let card = is_card.then(|| -> Arc<dyn Device> {
        Arc::new(Cuda::open(0).expect("SOMERSAULT_DEVICE says that there is a card"))
    });
    let memory = Memory {
        images: 2 << 20,
        host: 16 << 20,
        // Small enough for strips.
        tables: 16 << 10,
        sections: 2,
    };
    let is_shared = seed.is_multiple_of(2);
    let mut devices = Vec::new();
    for number in 0..=u64::from(is_shared) {
        let device: Arc<dyn Device> = if let Some(card) = &card {
            Arc::clone(card)
        } else {
            match Twin::new(64 << 20, seed + number) {
                Ok(twin) => Arc::new(twin),
                Err(error) => {
                    eprintln!("SKIPPED: {error}");
                    return None;
                }
            }
        };
        devices.push(device);
    }
    let opened = if seed.is_multiple_of(4) {
        vec![Opened { devices, memory }]
    } else {
        let one = |device| Opened::one(device, memory);
        devices.into_iter().map(one).collect()
    };
    let accelerator = Accelerator::new(opened, Offload::Always);
    Some(Arc::new(if is_shared {
        accelerator.sharing_all()
    } else {
        accelerator
    }))
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The release does not evaluate this.
    Refused(String),
    /// Anything else.
    Failed(String),
}

impl NoAnswer {
    /// The message.
    pub fn message(self) -> String {
        match self {
            NoAnswer::Refused(message) | NoAnswer::Failed(message) => message,
        }
    }
}

/// The whole answer to a query.
pub fn answer(database: &Database, text: &str, threads: usize) -> Result<Answer, NoAnswer> {
    let request = Request {
        threads: Some(threads),
        ..Request::new(text)
    };
    answer_to(database, &request)
}

/// The whole answer to a request.
pub fn answer_to(database: &Database, request: &Request<'_>) -> Result<Answer, NoAnswer> {
    let failed = |error: somersault::QueryError| match error.kind {
        Kind::Unsupported => NoAnswer::Refused(error.to_string()),
        _ => NoAnswer::Failed(error.to_string()),
    };
    let mut collected = Collected::default();
    let mut query = database.start(request).map_err(failed)?;
    query.run(&mut collected).map_err(failed)?;
    Ok(match (collected.boolean, collected.triples) {
        (Some(value), _) => Answer::Boolean(value),
        (None, Some(triples)) => graph_answer(triples),
        (None, None) => Answer::Rows {
            variables: collected.variables,
            rows: collected.rows,
        },
    })
}

/// The rows of a graph's triples, each once.
fn graph_answer(triples: Vec<Triple>) -> Answer {
    let distinct: HashSet<Triple> = triples.into_iter().collect();
    let row = |triple: Triple| -> Row {
        vec![
            Some(triple.subject.into()),
            Some(triple.predicate.into()),
            Some(triple.object),
        ]
    };
    Answer::Rows {
        variables: TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
        rows: distinct.into_iter().map(row).collect(),
    }
}

/// From the labels of this database's answers to those of the random graph it was loaded from.
#[allow(dead_code, reason = "each test program uses its own part of this file")]
pub fn blanks(database: &Database) -> Result<Blanks, String> {
    let query = format!("SELECT ?blank ?name {{ ?blank <{MARKER}> ?name }}");
    match answer(database, &query, 1).map_err(NoAnswer::message)? {
        Answer::Rows { rows, .. } => Blanks::of_markers(&rows),
        Answer::Boolean(_) => Err("the markers are no rows".to_owned()),
    }
}

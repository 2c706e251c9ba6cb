//! Malformed statements: which, where, and their text put aside.
//!
//! A worker knows a line's number within its chunk only. Which line of its source that is follows
//! from the numbers of lines of the chunks before, once they are parsed; so rejections are kept by
//! (chunk, line) and resolved at the end.
//!
//! Invariant: what is listed are the first in order of the input, whoever met them first. At most
//! some thousands are held, however many there are; the quarantine file has all, in order.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `count` | workers, relaxed | any thread |
//! | `held`, `fatal` | workers that meet a malformed statement, with the lock | whoever ends the phase |

use super::dictionary::InOrder;
use super::error::LoadError;
use super::options::OnError;
use super::quarantine::QuarantineFile;
use super::report::Rejection;
use rdf::nt::SyntaxError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Rejections that a report lists.
pub const LISTED_MAX: usize = 100;
/// Rejections held before those that come too late in the input are dropped.
const HELD_MAX: usize = 16 * LISTED_MAX;

/// What is wrong at some place of a chunk.
pub struct ChunkError {
    line: Option<u64>,
    column: Option<u64>,
    message: String,
    /// Whether the line is counted from the chunk's first instead of the source's.
    is_within_chunk: bool,
    is_unusual: bool,
}

impl ChunkError {
    /// What is wrong with a document, at a place of it.
    pub fn of_document(line: Option<u64>, column: Option<u64>, message: String) -> ChunkError {
        ChunkError {
            line,
            column,
            message,
            is_within_chunk: false,
            is_unusual: false,
        }
    }

    /// The same of something that a lenient load takes, or does not.
    pub fn unusual(self, is_unusual: bool) -> ChunkError {
        ChunkError { is_unusual, ..self }
    }
}

/// A fault and its chunk.
struct Held {
    chunk: u32,
    fault: ChunkError,
}

/// Collects rejections; see the module's documentation.
pub struct Rejected {
    stops: bool,
    count: AtomicU64,
    held: Mutex<Vec<Held>>,
    /// The first document, by chunk, that is malformed as a whole.
    fatal: Mutex<Option<Held>>,
    quarantine: Option<Quarantine>,
}

struct Quarantine {
    lines: InOrder<Vec<u8>, QuarantineFile>,
    first_chunk: u32,
}

/// All rejections of a load.
pub struct Listed {
    /// How many there are.
    pub count: u64,
    /// The first ones, in order.
    pub first: Vec<Rejection>,
    /// The first after which the load cannot go on, whatever is to be done about the others.
    pub fatal: Option<Rejection>,
}

/// What one chunk's parsing rejects.
pub struct ChunkRejections {
    has_source_lines: bool,
    keeps_lines: bool,
    held: Vec<ChunkError>,
    fatal: Option<ChunkError>,
    count: u64,
    lines: Vec<u8>,
}

impl ChunkRejections {
    /// A malformed line of the chunk.
    pub fn line(&mut self, error: SyntaxError, line: &[u8]) {
        self.count += 1;
        if self.keeps_lines {
            self.lines.extend_from_slice(line);
            self.lines.push(b'\n');
        }
        if self.held.len() < LISTED_MAX {
            let known = |number| self.has_source_lines.then_some(number);
            self.held.push(ChunkError {
                line: known(error.line),
                column: known(error.column),
                message: error.message,
                is_within_chunk: self.has_source_lines,
                is_unusual: error.is_unusual,
            });
        }
    }

    /// After this many lines of the chunk its source cannot be read on.
    pub fn end(&mut self, lines: u64, message: String) {
        self.fatal = Some(ChunkError {
            line: Some(lines + 1),
            column: Some(1),
            message,
            is_within_chunk: true,
            is_unusual: false,
        });
    }

    /// A malformed document, a part of which the chunk is.
    pub fn document(&mut self, fault: ChunkError) {
        self.fatal = Some(fault);
    }
}

impl Rejected {
    /// Rejections of a load whose first chunk has this number. Creates the quarantine file.
    pub fn new(on_error: &OnError, first_chunk: u32) -> Result<Rejected, LoadError> {
        let quarantine = match on_error {
            OnError::Quarantine(path) => Some(Quarantine {
                lines: InOrder::new(QuarantineFile::create(path)?),
                first_chunk,
            }),
            OnError::Stop | OnError::Skip => None,
        };
        Ok(Rejected {
            stops: *on_error == OnError::Stop,
            count: AtomicU64::new(0),
            held: Mutex::default(),
            fatal: Mutex::default(),
            quarantine,
        })
    }

    /// Whether the load ends at the first rejection.
    pub fn stops(&self) -> bool {
        self.stops
    }

    /// No rejections of a chunk yet.
    pub fn of_chunk(&self, has_source_lines: bool) -> ChunkRejections {
        ChunkRejections {
            has_source_lines,
            keeps_lines: self.quarantine.is_some(),
            held: Vec::new(),
            fatal: None,
            count: 0,
            lines: Vec::new(),
        }
    }

    /// Takes what a chunk rejected. Every chunk must be given once, in any order.
    pub fn add(&self, chunk: u32, rejections: ChunkRejections) -> Result<(), LoadError> {
        self.count.fetch_add(rejections.count, Ordering::Relaxed);
        if !rejections.held.is_empty() {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.extend(
                rejections
                    .held
                    .into_iter()
                    .map(|fault| Held { chunk, fault }),
            );
            if held.len() > HELD_MAX {
                keep_first(&mut held);
            }
        }
        if let Some(fault) = rejections.fatal {
            let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
            if fatal.as_ref().is_none_or(|first| chunk < first.chunk) {
                *fatal = Some(Held { chunk, fault });
            }
        }
        let Some(Quarantine { lines, first_chunk }) = &self.quarantine else {
            return Ok(());
        };
        assert!(
            chunk >= *first_chunk,
            "chunks of the existing store reject nothing"
        );
        let number = (chunk - first_chunk) as usize;
        lines.submit(number, rejections.lines, |file, lines| file.write(&lines))
    }

    /// All of them. `place` gives the source's name and the number of lines before a chunk within
    /// its source, which may be unknown where the load failed: what cannot be placed is left out.
    /// Only a load whose input `is_complete` leaves its quarantine file.
    pub fn finish<F>(self, is_complete: bool, place: F) -> Result<Listed, LoadError>
    where
        F: Fn(u32) -> Option<(String, u64)>,
    {
        let mut held = self
            .held
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let fatal = self
            .fatal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Quarantine { lines, .. }) = self.quarantine
            && is_complete
            && fatal.is_none()
        {
            lines.finish().publish()?;
        }
        keep_first(&mut held);
        let resolve = |Held { chunk, fault }: Held| {
            let (file, before) = place(chunk)?;
            let ChunkError {
                line,
                column,
                message,
                is_within_chunk,
                is_unusual,
            } = fault;
            let line = line.map(|line| if is_within_chunk { before + line } else { line });
            Some(Rejection {
                file,
                line,
                column,
                message,
                is_unusual,
            })
        };
        Ok(Listed {
            count: self.count.into_inner(),
            first: held.into_iter().filter_map(resolve).collect(),
            fatal: fatal.and_then(resolve),
        })
    }
}

fn keep_first(held: &mut Vec<Held>) {
    held.sort_by_key(|each| (each.chunk, each.fault.line, each.fault.column));
    held.truncate(LISTED_MAX);
}

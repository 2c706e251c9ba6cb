//! Malformed statements: which, where, and their text put aside.
//!
//! A worker knows a line's number within its chunk only. Which line of its source that is follows
//! from the numbers of lines of the chunks before, once they are parsed; so rejections are kept by
//! (chunk, line) and resolved at the end.
//!
//! Invariant: what is listed are the first in order of the input, whoever met them first. At most
//! some thousands are held, however many there are; the quarantine file has all, in order.

use super::dictionary::InOrder;
use super::error::LoadError;
use super::options::OnError;
use super::report::Rejection;
use rdf::nt::SyntaxError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Rejections that a report lists.
pub const LISTED_MAX: usize = 100;
/// Rejections held before those that come too late in the input are dropped.
const HELD_MAX: usize = 16 * LISTED_MAX;

/// A rejected line of a chunk.
struct Held {
    chunk: u32,
    /// Line, column and message; the line is that within the chunk, unless `resolved`.
    error: SyntaxError,
    resolved: bool,
}

/// Collects rejections; see the module's documentation.
pub struct Rejected {
    stops: bool,
    count: AtomicU64,
    held: Mutex<Vec<Held>>,
    quarantine: Option<Quarantine>,
}

struct Quarantine {
    path: PathBuf,
    lines: InOrder<Vec<u8>, BufWriter<File>>,
    first_chunk: u32,
}

/// What one chunk's parsing rejects.
#[derive(Default)]
pub struct ChunkRejections {
    held: Vec<(SyntaxError, bool)>,
    count: u64,
    lines: Vec<u8>,
}

impl ChunkRejections {
    /// A malformed line of the chunk.
    pub fn line(&mut self, error: SyntaxError, line: &[u8], keep_line: bool) {
        self.add(error, false);
        if keep_line {
            self.lines.extend_from_slice(line);
            self.lines.push(b'\n');
        }
    }

    /// What a transcriber left out.
    pub fn transcribed(&mut self, rejection: Rejection) {
        let Rejection {
            line,
            column,
            message,
            ..
        } = rejection;
        self.add(
            SyntaxError {
                line,
                column,
                message,
            },
            true,
        );
    }

    fn add(&mut self, error: SyntaxError, resolved: bool) {
        self.count += 1;
        if self.held.len() < LISTED_MAX {
            self.held.push((error, resolved));
        }
    }
}

impl Rejected {
    /// Rejections of a load whose first chunk has this number. Creates the quarantine file.
    pub fn new(on_error: &OnError, first_chunk: u32) -> Result<Rejected, LoadError> {
        let quarantine = match on_error {
            OnError::Quarantine(path) => {
                let file = File::create(path).map_err(|error| LoadError::Quarantine {
                    path: path.clone(),
                    error,
                })?;
                let lines = InOrder::new(BufWriter::new(file));
                Some(Quarantine {
                    path: path.clone(),
                    lines,
                    first_chunk,
                })
            }
            OnError::Stop | OnError::Skip => None,
        };
        Ok(Rejected {
            stops: *on_error == OnError::Stop,
            count: AtomicU64::new(0),
            held: Mutex::default(),
            quarantine,
        })
    }

    /// Whether the load ends at the first rejection.
    pub fn stops(&self) -> bool {
        self.stops
    }

    /// Whether the text of rejected lines is wanted.
    pub fn keeps_lines(&self) -> bool {
        self.quarantine.is_some()
    }

    /// Takes what a chunk rejected. Every chunk must be given once, in any order.
    pub fn add(&self, chunk: u32, rejections: ChunkRejections) -> Result<(), LoadError> {
        self.count.fetch_add(rejections.count, Ordering::Relaxed);
        if !rejections.held.is_empty() {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let new = rejections.held.into_iter();
            held.extend(new.map(|(error, resolved)| Held {
                chunk,
                error,
                resolved,
            }));
            if held.len() > HELD_MAX {
                keep_first(&mut held);
            }
        }
        let Some(Quarantine {
            path,
            lines,
            first_chunk,
        }) = &self.quarantine
        else {
            return Ok(());
        };
        lines
            .submit(
                (chunk - first_chunk) as usize,
                rejections.lines,
                |file, lines| file.write_all(&lines),
            )
            .map_err(|error| LoadError::Quarantine {
                path: path.clone(),
                error,
            })
    }

    /// How many there are, and the first ones. `place` gives the source's name and the number of
    /// lines before a chunk within its source.
    pub fn finish(
        self,
        place: impl Fn(u32) -> (String, u64),
    ) -> Result<(u64, Vec<Rejection>), LoadError> {
        if let Some(Quarantine { path, lines, .. }) = self.quarantine {
            let flushed = lines.abandon().flush();
            flushed.map_err(|error| LoadError::Quarantine { path, error })?;
        }
        let mut held = self
            .held
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        keep_first(&mut held);
        let listed = held.into_iter().map(
            |Held {
                 chunk,
                 error,
                 resolved,
             }| {
                let (file, before) = place(chunk);
                let SyntaxError {
                    line,
                    column,
                    message,
                } = error;
                let line = if resolved { line } else { before + line };
                Rejection {
                    file,
                    line,
                    column,
                    message,
                }
            },
        );
        Ok((self.count.into_inner(), listed.collect()))
    }
}

fn keep_first(held: &mut Vec<Held>) {
    held.sort_by_key(|each| (each.chunk, each.error.line, each.error.column));
    held.truncate(LISTED_MAX);
}

//! A data set into a folder: the stored data, a file for each stream, and the constants.
//!
//! ```text
//! DIR/initial.nt           stored data, N-Triples
//! DIR/poststream.nt.ts     milliseconds TAB subject predicate object .     (and four more, see `Stream`)
//! DIR/constants.json       {"L1": "u141", "L2": "p236", "L3": "p31"}: start points with answers
//! ```
//!
//! Invariant: bytes depend on the parameters and the span alone, not on the number of threads. A failure ends the run;
//! what was written stays. With `n` threads, chunks of stored data are made `n` at a time and written in order, then
//! `n` streams at a time are written, each by one thread.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::lines::Lines;
use super::recording::{LineForm, Slice};
use super::stored;
use super::{Lsbench, RecordingError, Span, Stream, Written};

/// The name of the stored data's file.
const STORED_FILE: &str = "initial.nt";
const CONSTANTS_FILE: &str = "constants.json";
/// Finished chunks that may wait, for each thread (count): some 5 MB.
const CHUNKS_AHEAD: usize = 2;

/// A piece of the stored data: whole lines of N-Triples.
struct Chunk {
    bytes: Vec<u8>,
    lines: u64,
}

impl Lsbench {
    /// Writes the stored data as N-Triples, made by `threads` threads. `on_progress` is called after each piece.
    ///
    /// # Errors
    /// [`RecordingError::Write`].
    pub fn write_stored(
        &self,
        out: &mut dyn Write,
        threads: usize,
        on_progress: &mut dyn FnMut(Written),
    ) -> Result<Written, RecordingError> {
        let mut written = Written::default();
        let mut write = |chunk: Chunk| {
            out.write_all(&chunk.bytes).map_err(RecordingError::Write)?;
            written.add(chunk.lines, &chunk.bytes);
            on_progress(written);
            Ok(())
        };
        let count = stored::chunk_count(self.society.users);
        if threads <= 1 {
            for number in 0..count {
                write(self.chunk(number))?;
            }
        } else {
            self.write_in_order(threads as u64, count, &mut write)?;
        }
        out.flush().map_err(RecordingError::Write)?;
        Ok(written)
    }

    /// Worker `w` makes the chunks `w, w + n, w + 2n, ...`; the caller empties one queue after the other.
    fn write_in_order(
        &self,
        workers: u64,
        count: u64,
        write: &mut dyn FnMut(Chunk) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        thread::scope(|scope| {
            let queues: Vec<Receiver<Chunk>> = (0..workers.min(count))
                .map(|worker| {
                    let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
                    scope.spawn(move || {
                        let mut mine = (worker..count).step_by(workers as usize);
                        mine.try_for_each(|number| sender.send(self.chunk(number)))
                    });
                    receiver
                })
                .collect();
            // A queue that ends early has a worker that panicked; the scope raises that again.
            for queue in queues.iter().cycle().take(count as usize) {
                let Ok(chunk) = queue.recv() else { break };
                write(chunk)?;
            }
            Ok(())
        })
    }

    fn chunk(&self, number: u64) -> Chunk {
        let mut lines = Lines::bare();
        stored::write_chunk(&self.society, number, &mut lines);
        Chunk {
            lines: lines.count,
            bytes: lines.out,
        }
    }

    /// Writes everything into a folder, which is made where it is missing; files of these names are replaced.
    /// `on_progress` is called from time to time with what all files have.
    ///
    /// # Errors
    /// [`RecordingError::File`] with the path.
    pub fn write_folder(
        &self,
        folder: &Path,
        span: Span,
        threads: usize,
        on_progress: &mut (dyn FnMut(Written) + Send),
    ) -> Result<Written, RecordingError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let constants = folder.join(CONSTANTS_FILE);
        fs::write(&constants, self.constants(span).json()).map_err(at(&constants))?;
        let path = folder.join(STORED_FILE);
        let mut file = File::create(&path).map_err(at(&path))?;
        let stored = self
            .write_stored(&mut file, threads, on_progress)
            .map_err(|error| error.within(&path))?;
        let total = Mutex::new((stored, on_progress));
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&stream) = Stream::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                let path = folder.join(stream.file_name());
                self.write_stream(&path, stream, span, &mut |slice| {
                    let mut total = total.lock().expect("nobody panics while holding it");
                    total.0.add(slice.lines, &slice.bytes);
                    let written = total.0;
                    total.1(written);
                })?;
            }
            Ok(())
        };
        run_on(threads, &work)?;
        let (written, _) = total.into_inner().expect("nobody panics while holding it");
        Ok(written)
    }

    fn write_stream(
        &self,
        path: &PathBuf,
        stream: Stream,
        span: Span,
        on_slice: &mut dyn FnMut(&Slice),
    ) -> Result<(), RecordingError> {
        let mut file = File::create(path).map_err(at(path))?;
        let mut slices = self.slices(stream, span, LineForm::Triples);
        let mut slice = Slice::default();
        while slices.next_into(&mut slice) {
            file.write_all(&slice.bytes).map_err(at(path))?;
            on_slice(&slice);
        }
        Ok(())
    }
}

/// Runs `work` on so many threads, at most one for each stream; the caller's is one of them. The first failure counts.
fn run_on(
    threads: usize,
    work: &(impl Fn() -> Result<(), RecordingError> + Sync),
) -> Result<(), RecordingError> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(Stream::ALL.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let own = work();
        others.into_iter().fold(own, |sum, other| {
            let result = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sum.and(result)
        })
    })
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> RecordingError {
    let path = path.to_owned();
    move |source| RecordingError::File { path, source }
}

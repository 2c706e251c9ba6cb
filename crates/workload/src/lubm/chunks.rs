//! The departments of a run in order, made by one or more threads with bounded memory.
//!
//! Invariant: the sequence of chunks is the same for any number of threads. With `n` threads,
//! worker `w` makes the universities `w, w + n, w + 2n, ...` of the run and puts their
//! departments into its own bounded queue; the consumer empties queue 0 up to the end of a
//! university, then queue 1, and so on around. No chunk is ever reordered, so none waits for a
//! sort, and a worker that is ahead stops at its full queue.
//!
//! | who | touches |
//! |---|---|
//! | worker `w` | its walk, the sending end of queue `w`, the receiving end of the empties `w` |
//! | consumer | all receiving ends of queues, all sending ends of empties |
//!
//! Cost: a queue takes a whole university where the look-ahead permits ([`LOOKAHEAD_BYTES`]
//! over all workers), for while one is emptied the others should not stand still. With one
//! thread nothing is started: the caller makes each chunk when it asks for it. Vectors that the
//! consumer gives back ([`Chunks::recycle`]) are written again, which spares the page faults of
//! fresh memory. Peak memory of LUBM-160 into nothing: 4 MB with 1 thread, 79 MB with 2, 248 MB
//! with 8 (2026-11-21).
//!
//! Dropping the iterator (a consumer that met a closed pipe) closes the queues; workers see
//! that at their next chunk and end. A panic of a worker is raised again in the consumer.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::department::UniversityWalk;
use super::{DEPARTMENT_BYTES, DepartmentIndex, Error, Lubm, UniversityIndex};

/// How much finished text may wait, over all workers.
const LOOKAHEAD_BYTES: usize = 256 << 20;
/// No university has more departments, so more would not help.
const QUEUE_CHUNKS_MAX: usize = 25;
const QUEUE_CHUNKS_MIN: usize = 2;

/// One department's text: whole lines or statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The text. The first chunk begins with the syntax's header, if it has one.
    pub bytes: Vec<u8>,
    /// How many triples it holds, repetitions included.
    pub triples: u64,
    /// Whose department it is.
    pub university: UniversityIndex,
    /// Which department it is.
    pub department: DepartmentIndex,
    /// No chunk of this university follows.
    pub last: bool,
}

/// Where a document begins, hence where a header is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Documents {
    /// The run is one document.
    One,
    /// Each university is one.
    PerUniversity,
}

impl Lubm {
    /// The run's departments in order, made by `threads` threads (0 counts as 1; with 1 the
    /// caller's own does the work).
    ///
    /// # Errors
    /// [`Error::Thread`] where the system refuses one.
    pub fn chunks(&self, threads: usize) -> Result<Chunks, Error> {
        self.chunks_of(threads, Documents::One)
    }

    /// The run as a byte stream, for a loader that reads.
    ///
    /// # Errors
    /// As for [`Self::chunks`].
    pub fn reader(&self, threads: usize) -> Result<Reader, Error> {
        Ok(Reader {
            chunks: self.chunks(threads)?,
            current: Vec::new(),
            read_bytes: 0,
        })
    }

    pub(super) fn chunks_of(&self, threads: usize, documents: Documents) -> Result<Chunks, Error> {
        let workers = threads.clamp(1, self.shared.parameters.universities.max(1) as usize);
        let maker = |first| Maker::new(self, documents, first, workers);
        if workers == 1 {
            return Ok(Chunks {
                source: Source::Own(maker(0)),
                empty: Vec::new(),
            });
        }
        let queue_chunks = (LOOKAHEAD_BYTES / DEPARTMENT_BYTES / workers)
            .clamp(QUEUE_CHUNKS_MIN, QUEUE_CHUNKS_MAX);
        let workers = (0..workers)
            .map(|index| Worker::start(maker(index), index, queue_chunks))
            .collect::<Result<_, _>>()?;
        Ok(Chunks {
            source: Source::Workers { workers, turn: 0 },
            empty: Vec::new(),
        })
    }
}

/// The chunks of a run, in order; see [`Lubm::chunks`].
#[derive(Debug)]
pub struct Chunks {
    source: Source,
    /// Vectors given back, where there are no workers.
    empty: Vec<Vec<u8>>,
}

#[derive(Debug)]
enum Source {
    Own(Maker),
    Workers { workers: Vec<Worker>, turn: usize },
}

impl Chunks {
    /// Gives a chunk's vector back, to be written again. Never needed, only cheaper.
    pub fn recycle(&mut self, chunk: Chunk) {
        match &mut self.source {
            Source::Own(_) => self.empty.push(chunk.bytes),
            // Any worker will do; the one whose turn it is has the emptiest queue. One that
            // has ended needs no vector.
            Source::Workers { workers, turn } => drop(workers[*turn].empties.send(chunk.bytes)),
        }
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        match &mut self.source {
            Source::Own(maker) => maker.make(self.empty.pop().unwrap_or_default()),
            Source::Workers { workers, turn } => {
                let chunk = workers[*turn].receive()?;
                if chunk.last {
                    *turn = (*turn + 1) % workers.len();
                }
                Some(chunk)
            }
        }
    }
}

/// A thread and the ends of its two queues.
#[derive(Debug)]
struct Worker {
    full: Option<Receiver<Chunk>>,
    empties: Sender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(mut maker: Maker, index: usize, queue_chunks: usize) -> Result<Self, Error> {
        let (sender, full) = sync_channel(queue_chunks);
        let (empties, emptied) = channel();
        let thread = thread::Builder::new()
            .name(format!("lubm-{index}"))
            .spawn(move || maker.run(&sender, &emptied))
            .map_err(Error::Thread)?;
        Ok(Self {
            full: Some(full),
            empties,
            thread: Some(thread),
        })
    }

    /// The worker's next chunk; none when it has made its last.
    fn receive(&mut self) -> Option<Chunk> {
        let chunk = self.full.as_ref().and_then(|full| full.recv().ok());
        if chunk.is_none()
            && let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
        {
            std::panic::resume_unwind(panic);
        }
        chunk
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            // A panic here belongs to a run that nobody reads to its end any more.
            drop(thread.join());
        }
    }
}

/// Makes every `stride`-th university of a run, from the `first`.
#[derive(Debug)]
struct Maker {
    lubm: Lubm,
    documents: Documents,
    /// Offset of the next university within the run.
    next: u64,
    stride: u64,
    walk: Option<(UniversityIndex, UniversityWalk)>,
}

impl Maker {
    fn new(lubm: &Lubm, documents: Documents, first: usize, stride: usize) -> Self {
        let (next, stride) = (first as u64, stride as u64);
        Self {
            lubm: lubm.clone(),
            documents,
            next,
            stride,
            walk: None,
        }
    }

    fn run(&mut self, full: &SyncSender<Chunk>, emptied: &Receiver<Vec<u8>>) {
        while let Some(chunk) = self.make(emptied.try_recv().unwrap_or_default()) {
            if full.send(chunk).is_err() {
                return;
            }
        }
    }

    /// The next chunk, written into `bytes` (whose content is dropped).
    fn make(&mut self, mut bytes: Vec<u8>) -> Option<Chunk> {
        let (university, mut walk) = self.walk.take().or_else(|| self.next_university())?;
        bytes.clear();
        if self.begins_document(university, &walk) {
            bytes.extend_from_slice(self.lubm.header());
        }
        let appended = self.lubm.append_next(university, &mut walk, &mut bytes);
        if !appended.last {
            self.walk = Some((university, walk));
        }
        Some(Chunk {
            bytes,
            triples: appended.triples,
            university,
            department: appended.department,
            last: appended.last,
        })
    }

    fn next_university(&mut self) -> Option<(UniversityIndex, UniversityWalk)> {
        let parameters = self.lubm.parameters();
        if self.next >= u64::from(parameters.universities) {
            return None;
        }
        let university = UniversityIndex(parameters.start_index + self.next as u32);
        self.next += self.stride;
        Some((university, UniversityWalk::new(parameters.seed, university)))
    }

    fn begins_document(&self, university: UniversityIndex, walk: &UniversityWalk) -> bool {
        let begins_run = university.0 == self.lubm.parameters().start_index;
        walk.next_department() == Some(DepartmentIndex(0))
            && (begins_run || self.documents == Documents::PerUniversity)
    }
}

/// A run as a byte stream; see [`Lubm::reader`]. Never fails.
#[derive(Debug)]
pub struct Reader {
    chunks: Chunks,
    current: Vec<u8>,
    read_bytes: usize,
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read_bytes == self.current.len() {
            let Some(chunk) = self.chunks.next() else {
                return Ok(0);
            };
            self.current = chunk.bytes;
            self.read_bytes = 0;
        }
        let taken = (&self.current[self.read_bytes..]).read(into)?;
        self.read_bytes += taken;
        Ok(taken)
    }
}

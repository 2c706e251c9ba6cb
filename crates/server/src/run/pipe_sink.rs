//! From rows to chunks: the sink that a query of this edge writes into.
//!
//! The writer of the result format prints into a buffer of this thread, without a lock; the buffer
//! goes into the [`Writer`]'s pipe after every batch of rows, or earlier when it holds a chunk. What
//! the writer prints as a whole goes all the way to the socket without being copied. The
//! head of an answer (its variables) stays behind until there is a row, so that the clock of the
//! first 50 ms of output starts with the first row: an engine that prints its variables and then
//! computes for long can still fail with a status of its own.

use crate::response::format::{AnswerFormat, AnswerWriter};
use crate::run::pipe::Writer;
use crate::run::sizes::CHUNK_BYTES;
use somersault::output::{Output, Rows, Sink};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// A sink for one answer. Lives on the engine's thread.
pub(crate) struct PipeSink<'a> {
    buffer: Rc<RefCell<Buffer<'a>>>,
    writer: AnswerWriter<Handle<'a>>,
}

struct Buffer<'a> {
    bytes: Vec<u8>,
    pipe: &'a Writer,
}

/// The buffer, as the writer of the format has it.
struct Handle<'a>(Rc<RefCell<Buffer<'a>>>);

impl<'a> PipeSink<'a> {
    /// A sink that prints in this format into this pipe.
    pub fn new(format: AnswerFormat, pipe: &'a Writer) -> PipeSink<'a> {
        let bytes = Vec::new();
        let buffer = Rc::new(RefCell::new(Buffer { bytes, pipe }));
        let writer = AnswerWriter::new(format, Handle(Rc::clone(&buffer)));
        PipeSink { buffer, writer }
    }

    fn hand_over(&self) -> io::Result<()> {
        self.buffer.borrow_mut().hand_over()
    }

    fn complete(&self) -> io::Result<()> {
        let mut buffer = self.buffer.borrow_mut();
        buffer.hand_over()?;
        assert!(
            buffer.bytes.is_empty(),
            "a whole answer has been handed over"
        );
        buffer.pipe.complete();
        Ok(())
    }
}

impl Buffer<'_> {
    fn hand_over(&mut self) -> io::Result<()> {
        self.pipe.hand_over(&mut self.bytes)
    }

    fn hand_over_chunks(&mut self) -> io::Result<()> {
        if self.bytes.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.hand_over()
    }
}

impl Sink for PipeSink<'_> {
    fn warnings(&mut self, warnings: &[String]) -> io::Result<()> {
        self.writer.warnings(warnings)
    }

    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.writer.head(variables)
    }

    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()> {
        self.writer.graph_head(prefixes)
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.writer.rows(rows)?;
        if rows.len > 0 {
            self.hand_over()
        } else {
            Ok(())
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.finish()?;
        self.complete()
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.writer.boolean(value)?;
        self.complete()
    }
}

impl Write for Handle<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.borrow_mut();
        buffer.bytes.extend_from_slice(bytes);
        buffer.hand_over_chunks()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Handle<'_> {
    fn hand_over(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = self.0.borrow_mut();
        if buffer.bytes.is_empty() {
            std::mem::swap(&mut buffer.bytes, bytes);
        } else {
            buffer.bytes.append(bytes);
        }
        buffer.hand_over_chunks()
    }
}

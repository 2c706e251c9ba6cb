//! A run into a stream or into a folder.
//!
//! Invariant: output is written by the calling thread, in order, and the first failure ends
//! the run: no further chunk is made, the workers have ended when the call returns, and what
//! was written stays (a prefix of the whole: there is nothing to roll back in generated data).
//! A reader that closed its pipe comes back as [`Error::Write`] like any other failure; whether
//! that is worth a message is the caller's business.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::chunks::{Chunk, Documents};
use super::{Error, Lubm};

/// How far a run is; at its end, what it made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Universities written to their end.
    pub universities: u64,
    /// Triples written, repetitions included.
    pub triples: u64,
    /// Bytes written.
    pub bytes: u64,
}

impl Progress {
    fn add(&mut self, chunk: &Chunk) {
        self.universities += u64::from(chunk.last);
        self.triples += chunk.triples;
        self.bytes += chunk.bytes.len() as u64;
    }
}

impl Lubm {
    /// Writes the run as one document, made by `threads` threads; flushes at the end.
    /// `on_progress` is called after each department.
    ///
    /// # Errors
    /// [`Error::Write`], [`Error::Thread`].
    pub fn write_to(
        &self,
        out: &mut dyn Write,
        threads: usize,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Progress, Error> {
        let mut progress = Progress::default();
        let mut chunks = self.chunks(threads)?;
        while let Some(chunk) = chunks.next() {
            out.write_all(&chunk.bytes).map_err(Error::Write)?;
            progress.add(&chunk);
            on_progress(progress);
            chunks.recycle(chunk);
        }
        out.flush().map_err(Error::Write)?;
        Ok(progress)
    }

    /// Writes each university into a file of its own, `University{u}.{extension}`, in `folder`,
    /// which is made where it is missing. Existing files of these names are replaced.
    ///
    /// # Errors
    /// [`Error::File`] with the path, [`Error::Thread`].
    pub fn write_folder(
        &self,
        folder: &Path,
        threads: usize,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Progress, Error> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let mut progress = Progress::default();
        let mut chunks = self.chunks_of(threads, Documents::PerUniversity)?;
        let mut open: Option<(PathBuf, File)> = None;
        while let Some(chunk) = chunks.next() {
            let (path, mut file) = match open.take() {
                Some(open) => open,
                None => self.create(folder, &chunk)?,
            };
            file.write_all(&chunk.bytes).map_err(at(&path))?;
            if !chunk.last {
                open = Some((path, file));
            }
            progress.add(&chunk);
            on_progress(progress);
            chunks.recycle(chunk);
        }
        Ok(progress)
    }

    fn create(&self, folder: &Path, chunk: &Chunk) -> Result<(PathBuf, File), Error> {
        let name = format!(
            "University{}.{}",
            chunk.university.0,
            self.syntax().extension()
        );
        let path = folder.join(name);
        let file = File::create(&path).map_err(at(&path))?;
        Ok((path, file))
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path, source }
}

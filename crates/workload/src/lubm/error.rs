//! What can go wrong while data are generated: the parameters, and where the bytes go.
//!
//! Nothing can go wrong in between: the algorithm is total (no pool that it draws from runs
//! out for any seed; specification, section 6).

use std::io;
use std::path::PathBuf;

/// Why data were not generated, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The universities' indices would leave the original's signed 32 bits.
    #[error("the last university would have index {last}, the greatest is 2147483647")]
    IndexRange {
        /// The index asked for.
        last: u64,
    },
    /// An IRI without a scheme.
    #[error("the IRI \"{iri}\" is not absolute")]
    RelativeIri {
        /// The IRI as given.
        iri: String,
    },
    /// An IRI with a character that none may hold.
    #[error("the IRI \"{iri}\" has the character {character:?}, which no IRI may hold")]
    IriCharacter {
        /// The IRI as given.
        iri: String,
        /// The first such character.
        character: char,
    },
    /// The output did not take the bytes; a reader that closed its pipe is of kind
    /// [`io::ErrorKind::BrokenPipe`].
    #[error("writing generated data: {0}")]
    Write(#[source] io::Error),
    /// A file or folder of the output could not be made or written.
    #[error("writing generated data to {}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error("starting a generator thread: {0}")]
    Thread(#[source] io::Error),
}

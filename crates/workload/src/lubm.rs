//! Data of the Lehigh University Benchmark (LUBM), as the original generator makes them.
//!
//! Invariant: for the same parameters the triples are those of the original (UBA 1.7), in its
//! order and, as N-Triples, byte for byte; the number of threads changes neither bytes nor
//! order. The tests compare hashes with the original's output.
//!
//! ```text
//! Parameters --> UniversityWalk --> Sink: LineWriter   --> chunk --> a file, a folder,
//!                (draws, order)           TurtleWriter     (one      standard output,
//!                     ^                   Census        department)  or a load
//!                   Random
//! ```
//!
//! A *chunk* is the text of one department, some 1.2 MB or 7,000 triples: large enough that a
//! hand-over between threads is free, small enough that a bounded number of them in flight is
//! all the memory a run takes.
//!
//! ```
//! use workload::lubm::{Lubm, Parameters, Syntax};
//!
//! let lubm = Lubm::new(Parameters::standard(1), Syntax::NTriples)?;
//! let mut triples = 0;
//! for chunk in lubm.chunks(2)? {
//!     triples += chunk.triples; // `chunk.bytes` is whole lines
//! }
//! assert_eq!(triples, 103_074);
//! # Ok::<(), workload::lubm::Error>(())
//! ```

mod census;
mod chunks;
mod department;
mod error;
mod lines;
mod names;
mod output;
mod parameters;
mod random;
#[cfg(test)]
mod tests;
mod text;
mod turtle;

use std::sync::Arc;

pub use census::Census;
pub use chunks::{Chunk, Chunks, Reader};
pub use error::Error;
pub use names::Class;
pub use output::Progress;
pub use parameters::{
    DepartmentIndex, ONTOLOGY, Parameters, Syntax, UNIVERSITY_INDEX_MAX, UniversityIndex,
};
pub use random::Random;

use department::UniversityWalk;
use lines::{LineText, LineWriter};
use text::PlaceText;
use turtle::{TurtleText, TurtleWriter};

/// Room reserved for a department. The largest of LUBM-160's 3,200 takes 1,569,494 bytes as
/// N-Triples with the usual ontology, so its vector does not grow while it is written; where a
/// longer IRI makes it grow, that costs a copy and nothing else.
const DEPARTMENT_BYTES: usize = 3 << 19;

/// A generator with checked parameters. Cheap to clone; may be shared between threads.
#[derive(Clone, Debug)]
pub struct Lubm {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    parameters: Parameters,
    syntax: Syntax,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Lines(LineText),
    Turtle(TurtleText),
}

impl Lubm {
    /// A generator of these data in this syntax.
    ///
    /// # Errors
    /// [`Error::IndexRange`] for universities beyond index 2^31 - 1, [`Error::RelativeIri`] and
    /// [`Error::IriCharacter`] for an ontology or graph whose IRI cannot be written as it is.
    pub fn new(parameters: Parameters, syntax: Syntax) -> Result<Self, Error> {
        parameters.validate()?;
        syntax.validate()?;
        let ontology = &parameters.ontology;
        let text = match &syntax {
            Syntax::NTriples => Text::Lines(LineText::new(ontology, None)),
            Syntax::NQuads { graph } => Text::Lines(LineText::new(ontology, graph.as_deref())),
            Syntax::Turtle => Text::Turtle(TurtleText::new(ontology)),
        };
        Ok(Self {
            shared: Arc::new(Shared {
                parameters,
                syntax,
                text,
            }),
        })
    }

    /// What this generator makes.
    pub fn parameters(&self) -> &Parameters {
        &self.shared.parameters
    }

    /// The syntax it writes.
    pub fn syntax(&self) -> &Syntax {
        &self.shared.syntax
    }

    /// What a document in this syntax begins with: the prefixes in Turtle, else nothing.
    pub fn header(&self) -> &[u8] {
        match &self.shared.text {
            Text::Lines(_) => &[],
            Text::Turtle(text) => &text.header,
        }
    }

    /// Appends one university, without header; returns its number of triples, repetitions
    /// included. It need not be among the parameters' universities.
    pub fn append_university(&self, university: UniversityIndex, out: &mut Vec<u8>) -> u64 {
        let mut walk = UniversityWalk::new(self.shared.parameters.seed, university);
        let mut triples = 0;
        while walk.next_department().is_some() {
            triples += self.append_next(university, &mut walk, out).triples;
        }
        triples
    }

    /// Appends one department, without header; returns its number of triples, or none where
    /// the university has no such department. The departments before it are walked without
    /// writing, because all of a university share one stream of draws.
    pub fn append_department(
        &self,
        university: UniversityIndex,
        department: DepartmentIndex,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let mut walk = UniversityWalk::new(self.shared.parameters.seed, university);
        while walk.next_department()? < department {
            walk.walk_next(&mut census::Ignore);
        }
        Some(self.append_next(university, &mut walk, out).triples)
    }

    /// Appends the next department of a walk that has one.
    fn append_next(
        &self,
        university: UniversityIndex,
        walk: &mut UniversityWalk,
        out: &mut Vec<u8>,
    ) -> Appended {
        let department = walk
            .next_department()
            .expect("the caller looked whether one is left");
        let place = PlaceText::new(university, department);
        out.reserve(DEPARTMENT_BYTES);
        let (outcome, triples) = match &self.shared.text {
            Text::Lines(text) => {
                let mut writer = LineWriter::new(text, place, out);
                (walk.walk_next(&mut writer), writer.finish())
            }
            Text::Turtle(text) => {
                let mut writer = TurtleWriter::new(text, place, out);
                (walk.walk_next(&mut writer), writer.finish())
            }
        };
        Appended {
            department,
            last: outcome.last,
            triples,
        }
    }
}

/// What [`Lubm::append_next`] wrote.
struct Appended {
    department: DepartmentIndex,
    /// It was the university's last department.
    last: bool,
    triples: u64,
}

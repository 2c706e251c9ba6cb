//! What a run of the generator is asked for, checked once before anything is written.
//!
//! Invariant: a [`Parameters`] that passed [`Parameters::validate`] can be written in every
//! syntax without escaping. The only text from outside is the ontology's IRI and the graph's;
//! both must be absolute and free of the characters that an `IRIREF` excludes (RDF 1.1
//! N-Triples, section 7, production 8), so the writers paste them as they are. The ontology's
//! IRI is *not* normalised: the original always puts one `#` between it and a term's name, so
//! an IRI that ends in `#` gives `##`, and so does ours.

use super::error::Error;

/// The ontology's IRI in the published data and queries.
pub const ONTOLOGY: &str = "http://swat.cse.lehigh.edu/onto/univ-bench.owl";

/// The greatest university index: the original counts in signed 32-bit integers.
pub const UNIVERSITY_INDEX_MAX: u32 = i32::MAX as u32;

/// The number of a university, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniversityIndex(pub u32);

/// The number of a department within its university, from 0 (15 to 25 departments each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DepartmentIndex(pub u32);

/// Which data to make. The data of a university depend on `seed`, `ontology` and its index
/// alone, not on how many are made or where the run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How many universities; 0 gives an empty graph.
    pub universities: u32,
    /// The index of the first one.
    pub start_index: u32,
    /// The seed; only its lower 17 bits matter.
    pub seed: i32,
    /// The ontology's IRI, to which `#` and a term's name are appended.
    pub ontology: String,
}

impl Parameters {
    /// `universities` from index 0 with seed 0: the data set called LUBM-`universities`.
    pub fn standard(universities: u32) -> Self {
        Self {
            universities,
            ..Self::default()
        }
    }

    /// The indices of the universities, in the order written.
    pub fn indices(&self) -> impl Iterator<Item = UniversityIndex> + use<> {
        let first = u64::from(self.start_index);
        (first..first + u64::from(self.universities)).map(|index| UniversityIndex(index as u32))
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let end = u64::from(self.start_index) + u64::from(self.universities);
        if end > u64::from(UNIVERSITY_INDEX_MAX) + 1 {
            return Err(Error::IndexRange { last: end - 1 });
        }
        validate_iri(&self.ontology)
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            universities: 1,
            start_index: 0,
            seed: 0,
            ontology: ONTOLOGY.to_owned(),
        }
    }
}

/// The syntax to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// N-Triples, byte for byte the original's (without its header, which is no legal N-Triples).
    #[default]
    NTriples,
    /// Turtle: the same triples in the same order, grouped by subject and predicate.
    Turtle,
    /// N-Quads: the lines of N-Triples in a named graph, or in the default graph.
    NQuads {
        /// The IRI of the named graph.
        graph: Option<String>,
    },
}

impl Syntax {
    /// The usual extension of a file in this syntax, without the dot.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::NTriples => "nt",
            Self::Turtle => "ttl",
            Self::NQuads { .. } => "nq",
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        match self {
            Self::NQuads { graph: Some(graph) } => validate_iri(graph),
            _ => Ok(()),
        }
    }
}

fn validate_iri(iri: &str) -> Result<(), Error> {
    let scheme_is_there = iri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    if !scheme_is_there {
        return Err(Error::RelativeIri {
            iri: iri.to_owned(),
        });
    }
    let excluded = |character: char| character <= ' ' || "<>\"{}|^`\\".contains(character);
    match iri.chars().find(|&character| excluded(character)) {
        Some(character) => Err(Error::IriCharacter {
            iri: iri.to_owned(),
            character,
        }),
        None => Ok(()),
    }
}

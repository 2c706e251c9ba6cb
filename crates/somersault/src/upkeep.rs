//! What an engineer does with a store directory: check it, look at its sizes.
//!
//! Neither needs a database: a check must work on a store that no database would open, and reports
//! all it finds rather than the first; sizes come from statistics and cost what those cost, not what
//! the graph would. Terms are checked once the files are sound, because in a damaged dictionary
//! every one of them would be a finding.

use crate::database::{OpenError, open_parts};
use rdf::Lexicon;
use rdf::TermBuffer;
use rdf::dictionary::Dictionary;
use std::path::Path;
use store::check::{Finding, IdLimits};
use store::directory::{self, Opened};
use store::disk::RealDisk;
use store::load::{BLANK_NODES_COUNT, open_dictionary};
use store::statistics::SnapshotStatistics;

/// Verifies every checksum and every invariant of the store at `location`: files, graph,
/// dictionary. An empty list is a sound store. Reads every byte. What is no store at all, or cannot
/// be read, is an error.
pub fn check(location: &Path) -> Result<Vec<Finding>, OpenError> {
    let opened = match directory::open(&RealDisk, location) {
        Ok(opened) => opened,
        Err(error) => {
            let finding = Finding::from(&error);
            let error = OpenError::from(error);
            return if error.is_damage() {
                Ok(vec![finding])
            } else {
                Err(error)
            };
        }
    };
    Ok(check_opened(&opened))
}

fn check_opened(opened: &Opened) -> Vec<Finding> {
    let blank_nodes = opened
        .manifest()
        .counts
        .get(BLANK_NODES_COUNT)
        .copied()
        .unwrap_or(0);
    match open_dictionary(opened, blank_nodes) {
        Ok(dictionary) => {
            let counts = dictionary.counts();
            let limits = IdLimits {
                iris: counts.iris,
                blanks: counts.blank_nodes,
                literals: counts.literals,
                triple_terms: counts.triple_terms,
            };
            let mut findings = store::check::check(opened, &limits);
            if findings.is_empty() {
                findings = check_terms(&dictionary);
            }
            findings
        }
        Err(error) => {
            let mut findings = store::check::check(opened, &IdLimits::NONE);
            findings.push(Finding {
                file: "dictionary".to_owned(),
                place: "open".to_owned(),
                what: error.to_string(),
            });
            findings
        }
    }
}

fn check_terms(dictionary: &Dictionary) -> Vec<Finding> {
    const FINDINGS_MAX: usize = 1000;
    let mut findings = Vec::new();
    dictionary.check(|fault| {
        if findings.len() < FINDINGS_MAX {
            findings.push(Finding {
                file: "dictionary".to_owned(),
                place: "terms".to_owned(),
                what: fault.to_string(),
            });
        }
    });
    findings
}

/// Sizes of a store, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Distinct quads.
    pub quads: u64,
    /// Distinct terms, blank nodes included.
    pub terms: u64,
    /// Named graphs.
    pub named_graphs: u64,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
    /// Characteristic sets of subjects and of objects.
    pub sets: (u64, u64),
    /// Bytes of each file with its checksums, ascending by name.
    pub files: Vec<(String, u64)>,
    /// Each predicate's text with its edges, distinct subjects and objects; most edges first.
    pub predicates: Vec<(String, [u64; 3])>,
    /// Each class's text with its members; most first.
    pub classes: Vec<(String, u64)>,
}

/// Why sizes could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SizesError {
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A term could not be read.
    #[error(transparent)]
    Lexicon(#[from] rdf::LexiconError),
}

/// The sizes of the store at `location`.
pub fn sizes(location: &Path) -> Result<Sizes, SizesError> {
    let opened = directory::open(&RealDisk, location).map_err(OpenError::from)?;
    let (snapshot, dictionary) = open_parts(&opened)?;
    let statistics = snapshot.statistics(usize::MAX).map_err(OpenError::from)?;
    let counts = dictionary.counts();
    let (predicates, classes) = named(&statistics, &dictionary)?;
    Ok(Sizes {
        quads: statistics.quads,
        terms: counts.iris + counts.blank_nodes + counts.literals + counts.triple_terms,
        named_graphs: statistics.named_graphs,
        subjects: statistics.subjects,
        objects: statistics.objects,
        sets: (
            statistics.out_sets.sets.len() as u64,
            statistics.in_sets.sets.len() as u64,
        ),
        files: opened.sizes(),
        predicates,
        classes,
    })
}

type Named = (Vec<(String, [u64; 3])>, Vec<(String, u64)>);

/// Predicates and classes with their texts.
fn named(
    statistics: &SnapshotStatistics,
    dictionary: &Dictionary,
) -> Result<Named, rdf::LexiconError> {
    let mut ids: Vec<_> = statistics
        .predicates
        .iter()
        .map(|sizes| sizes.vertex)
        .collect();
    ids.extend(statistics.classes.iter().map(|(vertex, _)| *vertex));
    let mut terms = TermBuffer::new();
    dictionary.terms(&ids, &mut terms)?;
    let mut texts = terms
        .iter()
        .map(|term| term.map(|term| term.to_string()).unwrap_or_default());
    let mut predicates: Vec<_> = (&mut texts)
        .zip(&statistics.predicates)
        .map(|(text, sizes)| (text, [sizes.edges, sizes.subjects, sizes.objects]))
        .collect();
    let mut classes: Vec<_> = texts
        .zip(&statistics.classes)
        .map(|(text, (_, members))| (text, *members))
        .collect();
    predicates.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    classes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok((predicates, classes))
}

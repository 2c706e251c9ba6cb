//! `check`: is every byte as it was written, and does everything fit together?
//!
//! First every block of every file against its checksum, then the invariants that readers rely on:
//!
//! | invariant | how |
//! |---|---|
//! | keys ascend, an ordinal is a place | each index is read through and asked for its own keys |
//! | offsets ascend, every key has a row, rows add up | row ranges of all ordinals |
//! | rows ascend by (neighbour, graph) and are distinct | one pass over the columns |
//! | lists kept as indexes hold the list | decoded and compared |
//! | ids are below what the dictionary gave out, graph codes below the table of graphs | the same pass |
//! | both directions of a whole graph hold the same quads; of a part each edge lies where its mark says | sums of hashes, see [`sums`] |
//! | signatures name exactly the segments that a vertex is a key of, and its types | the same |
//! | the graph index names exactly the keys of each graph | the same |
//!
//! Sums of 128-bit hashes do not depend on the order, so nothing is sorted or held: memory is that
//! of the longest list, time that of reading the store once. A different multiset has the same sum
//! with a probability of about 2^-128 by accident.

mod parts;
mod segments;
mod sums;

pub use parts::PartsCheck;

use crate::directory::{OpenError, Opened};
use crate::error::ViewError;
use crate::parts::PartSource;
use crate::snapshot::{Snapshot, SnapshotError};
use rdf::{Tag, VertexId};

/// Findings after which the search ends: what is broken so often is not counted further.
const FINDINGS_MAX: usize = 1000;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}: {what}")]
pub struct Finding {
    /// The file's name within its generation, or what the finding is about.
    pub file: String,
    /// The block, or the segment by its predicate's number.
    pub place: String,
    /// What was found.
    pub what: String,
}

/// The ids that a dictionary gave out: per kind the first payload that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdLimits {
    /// IRIs.
    pub iris: u64,
    /// Blank nodes.
    pub blanks: u64,
    /// Literals.
    pub literals: u64,
    /// Triple terms.
    pub triple_terms: u64,
}

impl IdLimits {
    /// No limits: any payload is fine.
    pub const NONE: IdLimits = IdLimits {
        iris: u64::MAX,
        blanks: u64::MAX,
        literals: u64::MAX,
        triple_terms: u64::MAX,
    };

    /// Whether a stored id may have this value.
    #[inline]
    pub(crate) fn admit(&self, id: VertexId) -> bool {
        match id.tag() {
            Some(Tag::Iri) => id.payload() < self.iris,
            Some(Tag::Blank) => id.payload() < self.blanks,
            Some(Tag::Literal) => id.payload() < self.literals,
            Some(Tag::TripleTerm) => id.payload() < self.triple_terms,
            Some(Tag::QueryLocal | Tag::Unbound) | None => false,
            Some(tag) => !tag.is_transient(),
        }
    }
}

/// Findings so far.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    pub(crate) fn add(&mut self, file: &str, place: impl Into<String>, what: impl Into<String>) {
        let finding = Finding {
            file: file.to_owned(),
            place: place.into(),
            what: what.into(),
        };
        if self.list.len() < FINDINGS_MAX && !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    /// Takes note of why something could not be read.
    pub(crate) fn add_view(&mut self, place: &str, error: &ViewError) {
        match error {
            ViewError::Damaged { file, block } => {
                self.add(
                    file,
                    format!("block {block}"),
                    "the block does not match its checksum",
                );
            }
            ViewError::Inconsistent { file, what } => self.add(file, place, what.clone()),
            ViewError::Elsewhere(_) | ViewError::OutOfMemory { .. } => {
                unreachable!("a store asks no other node")
            }
        }
    }

    fn is_full(&self) -> bool {
        self.list.len() >= FINDINGS_MAX
    }
}

/// Checks every block of every file of an opened generation, the dictionary's too, and then the
/// graph. Nothing found is an empty list. Files that could not be opened at all are an
/// [`OpenError`] before this. O(bytes).
pub fn check(opened: &Opened, limits: &IdLimits) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(snapshot) = check_files(opened, &mut findings) {
        check_snapshot(&snapshot, limits, &mut findings);
    }
    findings.list
}

/// Checks every block, and opens the graph.
fn check_files(opened: &Opened, findings: &mut Findings) -> Option<Snapshot> {
    for file in &opened.manifest().files {
        check_blocks(opened, &file.name, findings);
    }
    match Snapshot::open(opened) {
        Ok(snapshot) => return Some(snapshot),
        Err(SnapshotError::View(error)) => findings.add_view("header", &error),
        Err(SnapshotError::Part(error)) => {
            findings.add(&error.file, "file", error.source.to_string());
        }
    }
    None
}

/// Checks the graph of a snapshot only: what is not in files has no blocks.
pub fn check_graph(snapshot: &Snapshot, limits: &IdLimits) -> Vec<Finding> {
    let mut findings = Findings::default();
    check_snapshot(snapshot, limits, &mut findings);
    findings.list
}

/// What [`check`] would say of a store that cannot be opened.
impl From<&OpenError> for Finding {
    fn from(error: &OpenError) -> Finding {
        Finding {
            file: "store".to_owned(),
            place: "open".to_owned(),
            what: error.to_string(),
        }
    }
}

fn check_blocks(opened: &Opened, name: &str, findings: &mut Findings) {
    match opened.part(name) {
        Ok(region) => {
            for block in region.damaged_blocks() {
                findings.add(name, format!("block {}", block.block), damage(block.damage));
            }
        }
        Err(error) => findings.add(name, "file", error.source.to_string()),
    }
}

fn damage(damage: memory::Damage) -> String {
    match damage {
        memory::Damage::Checksum => "the block does not match its checksum".to_owned(),
        other => other.to_string(),
    }
}

fn check_snapshot(snapshot: &Snapshot, limits: &IdLimits, findings: &mut Findings) -> sums::Sums {
    let mut sums = sums::Sums::default();
    segments::check_segments(snapshot, limits, &mut sums, findings);
    if !findings.is_full() {
        sums::check_signatures(snapshot, &mut sums, findings);
        sums::check_graph_index(snapshot, &mut sums, findings);
        sums.compare(snapshot.part_of().is_some(), findings);
    }
    sums
}

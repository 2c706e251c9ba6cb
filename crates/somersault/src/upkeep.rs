//! What an engineer does with a store directory: check it, look at its sizes, compact it.
//!
//! The first two need no database: a check must work on a store that no database would open, and reports
//! all it finds rather than the first; sizes come from statistics and cost what those cost, not what
//! the graph would. Terms are checked once the files are sound, because in a damaged dictionary
//! every one of them would be a finding.

use engine::change::open;
use engine::{Database, Kind, OpenError, QueryError};
use rdf::Lexicon;
use rdf::TermBuffer;
use rdf::dictionary::part::PartDictionary;
use rdf::dictionary::{Dictionary, DictionaryView, TermCounts};
use std::path::Path;
use std::time::Duration;
use store::check::{Finding, IdLimits, PartsCheck};
use store::cut::{is_part_name, open_part_dictionary};
use store::directory::{self, Opened};
use store::disk::{Disk, RealDisk};
use store::load::{BLANK_NODES_COUNT, open_dictionary};
use store::log::{self, LogError};
use store::statistics::SnapshotStatistics;

pub use store::log::Torn;

/// How often a look at the log begins again, where a live writer has trimmed it meanwhile.
const TRIES: u32 = 10;
/// Findings in a dictionary beyond which none are told.
const FINDINGS_MAX: usize = 1000;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong; nothing with a sound store.
    pub findings: Vec<Finding>,
    /// What the log adds to the files.
    pub tail: Tail,
    /// Whether it was one part of a graph: whether all parts make one graph is not said then.
    pub is_part: bool,
}

/// The part of a log that no file of the store holds yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Records.
    pub records: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Where a record was cut off that nobody was told of: what a crash leaves, and no damage.
    pub torn: Option<Torn>,
}

/// Verifies every checksum and every invariant of the store at `location`: files, graph,
/// dictionary, log. Reads every byte, and applies the log's records. What is no store at all, or
/// cannot be read, is an error. Of a directory of parts each part is checked, and then all together; a part is checked by itself.
pub fn check(location: &Path) -> Result<Checked, OpenError> {
    directory::refuse_unfinished(&RealDisk, location)?;
    check_on(&RealDisk, location)
}

/// [`check`] on another disk.
pub fn check_on(disk: &dyn Disk, location: &Path) -> Result<Checked, OpenError> {
    let parts = parts_at(disk, location);
    if !parts.is_empty() {
        return check_parts(disk, location, &parts);
    }
    let opened = match directory::open(disk, location) {
        Ok(opened) => opened,
        Err(error) => {
            let finding = Finding::from(&error);
            let error = OpenError::from(error);
            return if error.is_damage() {
                Ok(Checked {
                    findings: vec![finding],
                    ..Checked::default()
                })
            } else {
                Err(error)
            };
        }
    };
    if opened.manifest().is_part() {
        let findings = check_part(&opened, &mut PartsCheck::default(), &mut Vec::new());
        return Ok(Checked {
            findings,
            is_part: true,
            ..Checked::default()
        });
    }
    let mut findings = check_opened(&opened);
    let tail = match tail_on(disk, location) {
        Ok(tail) => tail,
        Err(OpenError::Log(error)) if error.is_damage() => {
            findings.push(of_log(location, error));
            Tail::default()
        }
        Err(error) => return Err(error),
    };
    if findings.is_empty() && tail.records > 0 {
        // Whole records may still say what makes no sense.
        match open::for_reading(disk, location) {
            Ok(_) => {}
            Err(OpenError::Replay(error)) => {
                findings.push(Finding {
                    file: log::LOG.to_owned(),
                    place: "records".to_owned(),
                    what: error.to_string(),
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Checked {
        findings,
        tail,
        is_part: false,
    })
}

/// Damage of the log as a finding, its file named as it is in the store.
fn of_log(location: &Path, error: LogError) -> Finding {
    let (file, place, what) = match error {
        LogError::Damaged { file, offset, what } => (file, format!("byte {offset}"), what),
        LogError::MissingFile { ref file, .. } => {
            (file.clone(), "file".to_owned(), error.to_string())
        }
        error => (
            location.join(log::LOG),
            "records".to_owned(),
            error.to_string(),
        ),
    };
    let file = file.strip_prefix(location).unwrap_or(&file);
    Finding {
        file: file.display().to_string(),
        place,
        what,
    }
}

/// What the log of the store at `location` adds to its files; damage is an error.
pub fn tail(location: &Path) -> Result<Tail, OpenError> {
    directory::refuse_unfinished(&RealDisk, location)?;
    tail_on(&RealDisk, location)
}

fn tail_on(disk: &dyn Disk, location: &Path) -> Result<Tail, OpenError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let opened = directory::open(disk, location)?;
        let manifest = opened.manifest();
        match log::examine(disk, location, manifest.snapshot() + 1) {
            Ok(recovery) => {
                return Ok(Tail {
                    records: recovery.records,
                    bytes: recovery.bytes,
                    torn: recovery.torn,
                });
            }
            Err(error) => {
                // A live writer may have trimmed the log behind a newer generation.
                let now = directory::open(disk, location)?.manifest().generation;
                if now == manifest.generation || tries == TRIES {
                    return Err(error.into());
                }
            }
        }
    }
}

/// The names of the parts in a directory of parts, which is no store itself; none in any other.
fn parts_at(disk: &dyn Disk, location: &Path) -> Vec<String> {
    let mut names = disk.list(location).unwrap_or_default();
    if names.iter().any(|name| name == directory::CURRENT) {
        return Vec::new();
    }
    names.retain(|name| is_part_name(name));
    names.sort_unstable();
    names
}

/// Checks parts, each by itself and all together.
fn check_parts(disk: &dyn Disk, location: &Path, parts: &[String]) -> Result<Checked, OpenError> {
    let mut together = PartsCheck::default();
    let (mut findings, mut dictionaries) = (Vec::new(), Vec::new());
    for part in parts {
        let found = match directory::open(disk, &location.join(part)) {
            Ok(opened) => check_part(&opened, &mut together, &mut dictionaries),
            Err(error) => {
                let finding = Finding::from(&error);
                let error = OpenError::from(error);
                if !error.is_damage() {
                    return Err(error);
                }
                vec![finding]
            }
        };
        findings.extend(found.into_iter().map(|finding| Finding {
            file: format!("{part}/{}", finding.file),
            ..finding
        }));
    }
    findings.extend(together.finish());
    if findings.is_empty() {
        // What is damaged would be found again.
        let all: Vec<&PartDictionary> = dictionaries.iter().collect();
        rdf::dictionary::part::check_parts(&all, |fault| {
            if findings.len() < FINDINGS_MAX {
                findings.push(of_dictionary("terms", &fault));
            }
        });
    }
    Ok(Checked {
        findings,
        ..Checked::default()
    })
}

/// Checks the files and the graph of a part; its dictionary is checked with those of the others.
fn check_part(
    opened: &Opened,
    together: &mut PartsCheck,
    dictionaries: &mut Vec<PartDictionary>,
) -> Vec<Finding> {
    match open_part_dictionary(opened) {
        Ok(dictionary) => {
            let findings = together.add(opened, &limits_of(dictionary.counts()));
            dictionaries.push(dictionary);
            findings
        }
        Err(error) => {
            let mut findings = together.add(opened, &IdLimits::NONE);
            findings.push(of_dictionary("open", &error));
            findings
        }
    }
}

fn of_dictionary(place: &str, what: &dyn std::fmt::Display) -> Finding {
    Finding {
        file: "dictionary".to_owned(),
        place: place.to_owned(),
        what: what.to_string(),
    }
}

fn limits_of(counts: TermCounts) -> IdLimits {
    IdLimits {
        iris: counts.iris,
        blanks: counts.blank_nodes,
        literals: counts.literals,
        triple_terms: counts.triple_terms,
    }
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
            let limits = limits_of(dictionary.counts());
            let mut findings = store::check::check(opened, &limits);
            if findings.is_empty() {
                findings = check_terms(&dictionary);
            }
            findings
        }
        Err(error) => {
            let mut findings = store::check::check(opened, &IdLimits::NONE);
            findings.push(of_dictionary("open", &error));
            findings
        }
    }
}

fn check_terms(dictionary: &Dictionary) -> Vec<Finding> {
    let mut findings = Vec::new();
    dictionary.check(|fault| {
        if findings.len() < FINDINGS_MAX {
            findings.push(of_dictionary("terms", &fault));
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
    /// The number of the last commit.
    pub snapshot: u64,
    /// What the log adds to the files; counted in all other numbers but `files`.
    pub tail: Tail,
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

/// The sizes of the store at `location`, as its last durable commit left it.
pub fn sizes(location: &Path) -> Result<Sizes, SizesError> {
    let disk = &RealDisk;
    directory::refuse_unfinished(disk, location).map_err(OpenError::from)?;
    let tail = tail_on(disk, location)?;
    let graph = open::for_reading(disk, location)?;
    let opened = directory::open(disk, location).map_err(OpenError::from)?;
    let statistics = graph.snapshot.statistics(usize::MAX);
    let statistics = statistics.map_err(OpenError::from)?;
    let counts = graph.dictionary.counts();
    let (predicates, classes) = named(&statistics, &graph.dictionary)?;
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
        snapshot: graph.snapshot.number(),
        tail,
        files: opened.sizes(),
        predicates,
        classes,
    })
}

type Named = (Vec<(String, [u64; 3])>, Vec<(String, u64)>);

/// Predicates and classes with their texts.
fn named(
    statistics: &SnapshotStatistics,
    dictionary: &DictionaryView,
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

/// Writes all changes into the files of a store, and waits where that is being done already.
pub fn compact(database: &Database) -> Result<(), QueryError> {
    const PAUSE: Duration = Duration::from_millis(50);
    loop {
        match database.compact() {
            Err(error) if error.kind == Kind::Conflict => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

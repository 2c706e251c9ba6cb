//! Prefixes that loaded documents declare: how the people who made a graph abbreviate its names. They are told
//! where a query lacks a declaration, and mean nothing by themselves.
//!
//! A part of its own, of a line for each (name, tab, IRI), ascending; a graph of which nothing is told has none.
//!
//! Invariant: what is kept does not depend on the order in which it is noted. Of two IRIs for a name the
//! smaller is kept, and of too many names the smallest.

use crate::parts::{PartError, PartFiles, PartSource, PartWriter};
use oxrdf::NamedNodeRef;
use std::collections::BTreeMap;

/// The part's name.
const PART: &str = "prefixes";
/// Names at most: a document may declare millions.
const NAMES_MAX: usize = 1000;
/// Bytes of a name with its IRI.
const BYTES_MAX: usize = 1 << 10;

/// Names without colons, and their IRIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes(BTreeMap<String, String>);

impl Prefixes {
    /// Keeps a prefix, if it is one that is kept; see the module.
    pub fn note(&mut self, name: &str, iri: &str) {
        if name.len() + iri.len() > BYTES_MAX || !is_prefix(name) || NamedNodeRef::new(iri).is_err()
        {
            return;
        }
        match self.0.get_mut(name) {
            Some(known) if iri < known.as_str() => iri.clone_into(known),
            Some(_) => {}
            None => {
                self.0.insert(name.to_owned(), iri.to_owned());
                if self.0.len() > NAMES_MAX {
                    self.0.pop_last();
                }
            }
        }
    }

    /// Keeps those of another.
    pub fn extend(&mut self, other: &Prefixes) {
        for (name, iri) in other.iter() {
            self.note(name, iri);
        }
    }

    /// Keeps those of another as far as there is room, of names that are not known yet.
    pub fn fill(&mut self, other: &Prefixes) {
        for (name, iri) in other.iter() {
            if self.0.len() < NAMES_MAX && self.iri(name).is_none() {
                self.note(name, iri);
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that they hold, about.
    pub fn bytes(&self) -> u64 {
        let held =
            |(name, iri): (&str, &str)| (2 * size_of::<String>() + name.len() + iri.len()) as u64;
        self.iter().map(held).sum()
    }

    /// What a name stands for.
    pub fn iri(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, iri)| (name.as_str(), iri.as_str()))
    }

    /// Writes their part, if there are any.
    pub(crate) fn write(&self, files: &dyn PartFiles) -> Result<(), PartError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut part = PartWriter::create_raw(files, PART)?;
        for (name, iri) in self.iter() {
            part.append(format!("{name}\t{iri}\n").as_bytes())?;
        }
        part.finish(files)?;
        Ok(())
    }

    /// Those of a graph. Where their part is damaged there are none, which decides no answer; `check` finds it.
    pub(crate) fn open(source: &dyn PartSource) -> Prefixes {
        let mut prefixes = Prefixes::default();
        if let Ok(region) = source.part(PART)
            && let Ok(bytes) = region.all()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            for (name, iri) in text.lines().filter_map(|line| line.split_once('\t')) {
                prefixes.note(name, iri);
            }
        }
        prefixes
    }
}

/// Whether a query can declare a prefix of this name as it is, without escapes (SPARQL 1.1 section 19.8, PN_PREFIX, but
/// for a few characters that nobody uses).
fn is_prefix(name: &str) -> bool {
    name.is_empty()
        || (name.starts_with(char::is_alphabetic)
            && !name.ends_with('.')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::MemoryParts;

    #[test]
    fn what_is_kept_does_not_depend_on_the_order() {
        let noted: Vec<(String, String)> = (0..3000)
            .map(|n| (format!("p{:04}", n % 1500), format!("http://e/{n}#")))
            .collect();
        let mut forth = Prefixes::default();
        let mut back = Prefixes::default();
        for (name, iri) in &noted {
            forth.note(name, iri);
        }
        for (name, iri) in noted.iter().rev() {
            back.note(name, iri);
        }
        assert_eq!(forth, back);
        assert_eq!(forth.iter().count(), NAMES_MAX);
        assert_eq!(forth.iri("p0007"), Some("http://e/1507#"));
        assert_eq!(forth.iri("p1499"), None);
    }

    #[test]
    fn they_are_found_again_and_no_part_is_written_of_none() {
        let mut prefixes = Prefixes::default();
        prefixes.note("", "http://e/");
        prefixes.note("é-1.a", "http://e/é#");
        prefixes.note("port", "http://localhost:8080/%C3%A9#");
        prefixes.note("tab\t", "http://e/");
        prefixes.note("my term", "http://e/");
        prefixes.note("end.", "http://e/");
        prefixes.note("open", "http://e/> INSERT");
        prefixes.note("long", &format!("http://e/{}", "x".repeat(BYTES_MAX)));
        let files = MemoryParts::new();
        prefixes.write(&files).unwrap();
        let found = Prefixes::open(&files.freeze().unwrap());
        assert_eq!(found, prefixes);
        assert_eq!(found.iter().count(), 3);

        let files = MemoryParts::new();
        Prefixes::default().write(&files).unwrap();
        assert!(files.summaries().is_empty());
        let found = Prefixes::open(&files.freeze().unwrap());
        assert_eq!(found, Prefixes::default());
    }
}

//! Prefixes of a session: declared by queries, by `.prefix`, or by completing a known one, which is one that a
//! loaded document declares or that is well known.
//!
//! A query gets those that it uses and does not declare, on one line before its own, so places in
//! its errors are off by that line and nothing else. Nothing is declared behind the user's back: a
//! known prefix that was typed without being completed is an error, with the command that
//! declares it.

use crate::text::{declared, used_prefixes};
use somersault::terms::prefix::{self, well_known};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Prefixes, without their colons, and their IRIs.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    declared: BTreeMap<String, String>,
    /// Those of the documents that the source was loaded from.
    loaded: BTreeMap<String, String>,
}

impl Prefixes {
    /// Declares one, or declares it anew.
    pub fn declare(&mut self, name: &str, iri: &str) {
        self.declared.insert(name.to_owned(), iri.to_owned());
    }

    /// Another source is asked, which was loaded from documents that declare these.
    pub fn load(&mut self, loaded: Vec<(String, String)>) {
        self.loaded = loaded.into_iter().collect();
    }

    /// What a loaded document declares a name as, or else what it is well known for.
    pub fn known(&self, name: &str) -> Option<&str> {
        let loaded = self.loaded.get(name).map(String::as_str);
        loaded.or_else(|| well_known(name))
    }

    /// Declares a known one, unless the name has a meaning already.
    pub fn declare_known(&mut self, name: &str) {
        if !self.declared.contains_key(name)
            && let Some(iri) = self.known(name).map(str::to_owned)
        {
            self.declare(name, &iri);
        }
    }

    /// Keeps what a query declares, as far as it means the same elsewhere: no relative IRIs.
    pub fn remember(&mut self, text: &str) {
        for (name, iri) in declared(text) {
            if iri.contains(':') {
                self.declare(&name, &iri);
            }
        }
    }

    /// The IRI of a declared prefix, or else of a known one.
    pub fn iri(&self, name: &str) -> Option<&str> {
        self.declared
            .get(name)
            .map(String::as_str)
            .or_else(|| self.known(name))
    }

    /// The declared ones, by name.
    pub fn declared(&self) -> impl Iterator<Item = (&str, &str)> {
        self.declared
            .iter()
            .map(|(name, iri)| (name.as_str(), iri.as_str()))
    }

    /// The declared ones and the known ones, by name.
    pub fn names(&self) -> Vec<&str> {
        let known = prefix::names().map(|name| name as &str);
        let loaded = self.loaded.keys().map(String::as_str);
        let declared = self.declared().map(|(name, _)| name);
        let mut names: Vec<&str> = declared.chain(loaded).chain(known).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A text with the declarations that it lacks, and the number of lines that they take.
    pub fn complete(&self, text: &str) -> (String, u64) {
        let own = declared(text);
        let mut line = String::new();
        for name in used_prefixes(text) {
            let is_own = own.iter().any(|(declared, _)| declared == name);
            if let Some(iri) = self.declared.get(name).filter(|_| !is_own) {
                write!(line, "PREFIX {name}: <{iri}> ").expect("a string takes everything");
            }
        }
        if line.is_empty() {
            return (text.to_owned(), 0);
        }
        (format!("{}\n{text}", line.trim_end()), 1)
    }

    /// The known prefixes that a text uses and nobody has declared.
    pub fn missing<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let own = declared(text);
        let is_missing = |name: &&str| {
            let is_own = own.iter().any(|(declared, _)| declared == name);
            !is_own && !self.declared.contains_key(*name) && self.known(name).is_some()
        };
        used_prefixes(text).into_iter().filter(is_missing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gets_what_it_lacks() {
        let mut prefixes = Prefixes::default();
        let text = "PREFIX a: <http://a/> PREFIX r: <r> SELECT * { a:x b:y foaf:z }";
        assert_eq!(prefixes.complete(text), (text.to_owned(), 0));
        prefixes.remember(text);
        prefixes.declare("b", "http://b/");
        prefixes.declare("c", "http://c/");
        let all: Vec<_> = prefixes
            .declared()
            .map(|(name, _)| name.to_owned())
            .collect();
        assert_eq!(all, ["a", "b", "c"]);
        let (completed, lines) = prefixes.complete(text);
        assert_eq!(lines, 1);
        assert_eq!(completed, format!("PREFIX b: <http://b/>\n{text}"));
        assert_eq!(prefixes.missing(text), ["foaf"]);
        prefixes.declare_known("foaf");
        assert_eq!(prefixes.missing(text), [""; 0]);
    }

    #[test]
    fn a_name_that_has_a_meaning_keeps_it() {
        let mut prefixes = Prefixes::default();
        prefixes.declare("dc", "http://other/");
        prefixes.declare_known("dc");
        assert_eq!(prefixes.iri("dc"), Some("http://other/"));
        assert_eq!(prefixes.iri("owl"), well_known("owl"));
        prefixes.load(vec![("owl".to_owned(), "http://loaded/".to_owned())]);
        assert_eq!(prefixes.iri("owl"), Some("http://loaded/"));
        assert_eq!(prefixes.missing("ASK { ?s owl:x ?o }"), ["owl"]);
        prefixes.load(Vec::new());
        assert_eq!(prefixes.iri("owl"), well_known("owl"));
        assert!(prefixes.names().is_sorted());
    }
}

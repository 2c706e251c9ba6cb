//! What prefixes stand for.

use crate::abstract_query::Once;
use crate::parse::ParseOptions;

/// The prefixes declared so far, without colons; the last declaration of each counts.
pub(super) struct Prefixes<'t> {
    names: Once<&'t str>,
    /// By place of the name.
    iris: Vec<String>,
}

impl<'t> Prefixes<'t> {
    pub(super) fn of(options: &'t ParseOptions) -> Prefixes<'t> {
        let mut prefixes = Prefixes {
            names: Once::default(),
            iris: Vec::new(),
        };
        for (name, iri) in &options.prefixes {
            prefixes.declare(name, iri.clone());
        }
        prefixes
    }

    pub(super) fn declare(&mut self, name: &'t str, iri: String) {
        let place = self.names.number(name) as usize;
        match self.iris.get_mut(place) {
            Some(declared) => *declared = iri,
            None => self.iris.push(iri),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let place = self.names.find(name)? as usize;
        self.iris.get(place).map(String::as_str)
    }

    pub(super) fn names(&self) -> &[&'t str] {
        self.names.list()
    }

    /// Names and IRIs, in the order of their first declaration.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        let names = self.names.into_list().into_iter().map(str::to_owned);
        names.zip(self.iris).collect()
    }
}

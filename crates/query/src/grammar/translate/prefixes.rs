//! What prefixes stand for.

use crate::grammar::abstract_query::Once;
use crate::options::ParseOptions;

/// The prefixes declared so far, without colons; the last declaration of each counts.
pub(super) struct Prefixes<'t> {
    names: Once<&'t str>,
    /// By place of the name.
    iris: Vec<DeclaredPrefixes>,
}

/// What a prefix stands for.
pub(super) struct DeclaredPrefixes {
    pub iri: String,
    /// It is an IRI, and one that stays one with any ASCII letters, digits, `_`, `-`, `.` and `:` behind it.
    pub is_open: bool,
}

impl DeclaredPrefixes {
    /// `is_iri`: an IRI for sure.
    fn new(iri: String, is_iri: bool) -> DeclaredPrefixes {
        // Behind `//` a name would be a host, behind other characters perhaps a port.
        let has_begun_path =
            iri.ends_with(['#', '?']) || (iri.ends_with('/') && !iri.ends_with("//"));
        DeclaredPrefixes {
            is_open: is_iri && has_begun_path,
            iri,
        }
    }
}

impl<'t> Prefixes<'t> {
    pub(super) fn of(options: &'t ParseOptions) -> Prefixes<'t> {
        let mut prefixes = Prefixes {
            names: Once::default(),
            iris: Vec::new(),
        };
        for (name, iri) in &options.prefixes {
            prefixes.insert(name, DeclaredPrefixes::new(iri.clone(), false));
        }
        prefixes
    }

    /// By a declaration of the text, which has an IRI.
    pub(super) fn declare(&mut self, name: &'t str, iri: String) {
        self.insert(name, DeclaredPrefixes::new(iri, true));
    }

    fn insert(&mut self, name: &'t str, iri: DeclaredPrefixes) {
        let place = self.names.number(name) as usize;
        match self.iris.get_mut(place) {
            Some(declared) => *declared = iri,
            None => self.iris.push(iri),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&DeclaredPrefixes> {
        let place = self.names.find(name)? as usize;
        self.iris.get(place)
    }

    pub(super) fn names(&self) -> &[&'t str] {
        self.names.list()
    }

    /// Names and IRIs, in the order of their first declaration.
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        let names = self.names.into_list().into_iter().map(str::to_owned);
        let iris = self.iris.into_iter().map(|declared| declared.iri);
        names.zip(iris).collect()
    }
}

//! Predicates and classes of the source, for completion, and the registered queries of a server.
//!
//! They are fetched by a thread of its own when a source is opened, so the prompt never waits: a
//! store says them from its statistics, anything else is asked two queries that are bounded in
//! rows and time. What has arrived when the time is over is used; what has not is simply not
//! offered.

use crate::format::AnswerFormat;
use crate::printer::Printer;
use crate::source::Source;
use crate::stop::Stop;
use crate::table::Style;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time of each of the two queries.
const TIMEOUT: Duration = Duration::from_secs(3);
const QUERIES: [&str; 2] = [
    "SELECT DISTINCT ?p WHERE { ?s ?p ?o } LIMIT 2000",
    "SELECT DISTINCT ?class WHERE { ?thing a ?class } LIMIT 2000",
];

/// IRIs, as they arrive.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    iris: Arc<Mutex<Vec<String>>>,
    queries: Arc<Mutex<Vec<String>>>,
}

impl Vocabulary {
    /// Begins to fetch those of a source.
    pub fn of(source: &Source) -> Vocabulary {
        let vocabulary = Vocabulary::default();
        let (filled, source) = (vocabulary.clone(), source.clone());
        let fetch = move || filled.fetch(&source);
        // Without a thread there is nothing to complete, and nothing else is missing.
        let _ = std::thread::Builder::new()
            .name("vocabulary".to_owned())
            .spawn(fetch);
        vocabulary
    }

    /// Those that begin like this.
    pub fn starting_with(&self, beginning: &str) -> Vec<String> {
        let iris = self.iris.lock().unwrap_or_else(PoisonError::into_inner);
        let found = iris.iter().filter(|iri| iri.starts_with(beginning));
        found.cloned().collect()
    }

    /// The names of registered queries.
    pub fn queries(&self) -> Vec<String> {
        let queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        queries.clone()
    }

    /// These queries are registered.
    pub fn set_queries(&self, names: Vec<String>) {
        *self.queries.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    fn add(&self, found: impl Iterator<Item = String>) {
        let mut iris = self.iris.lock().unwrap_or_else(PoisonError::into_inner);
        iris.extend(found);
        iris.sort_unstable();
        iris.dedup();
    }

    fn fetch(&self, source: &Source) {
        if let Source::Local {
            location: Some(location),
            ..
        } = source
            && let Ok(sizes) = somersault::upkeep::sizes(location)
        {
            let predicates = sizes.predicates.into_iter().map(|(name, _)| name);
            let classes = sizes.classes.into_iter().map(|(name, _)| name);
            self.add(predicates.chain(classes).map(|name| bare(&name).to_owned()));
            return;
        }
        for query in QUERIES {
            let mut answer = Vec::new();
            let output = Box::new(&mut answer);
            let mut printer = Printer::new(AnswerFormat::TSV, Style::default(), output);
            // An error ends the list where it is.
            let _ = source
                .within(TIMEOUT)
                .ask(query, &mut printer, &Stop::default());
            drop(printer);
            self.add(iris(&String::from_utf8_lossy(&answer)));
        }
        if let Source::Remote(endpoint) = source
            && let Ok(queries) = endpoint
                .clone()
                .within(TIMEOUT)
                .queries_if_any(&Stop::default())
        {
            self.set_queries(names(&queries));
        }
    }

    /// With these, for tests.
    #[cfg(test)]
    pub fn with(iris: &[&str]) -> Vocabulary {
        let vocabulary = Vocabulary::default();
        vocabulary.add(iris.iter().map(|iri| (*iri).to_owned()));
        vocabulary
    }
}

/// The names of queries, as a server describes them.
pub fn names(queries: &[Value]) -> Vec<String> {
    let names = queries.iter().filter_map(|query| query["name"].as_str());
    names.map(str::to_owned).collect()
}

fn bare(name: &str) -> &str {
    let inner = name
        .strip_prefix('<')
        .and_then(|name| name.strip_suffix('>'));
    inner.unwrap_or(name)
}

/// The IRIs of a TSV answer of one column, as far as it came.
fn iris(answer: &str) -> impl Iterator<Item = String> {
    let lines = answer.split_inclusive('\n').skip(1);
    let whole = lines.filter_map(|line| line.strip_suffix('\n'));
    whole
        .filter_map(|line| line.strip_prefix('<')?.strip_suffix('>'))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_iris_are_taken() {
        let found: Vec<_> = iris("?p\n<http://a>\n\"b\"\n<http://c>\n<http://d").collect();
        assert_eq!(found, ["http://a", "http://c"]);
        assert_eq!(iris("").count(), 0);
        let vocabulary = Vocabulary::with(&["http://b", "http://a", "http://b"]);
        assert_eq!(
            vocabulary.starting_with("http://"),
            ["http://a", "http://b"]
        );
    }
}

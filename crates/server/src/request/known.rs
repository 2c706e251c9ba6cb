//! The parameters that somebody knows: those of the protocols, and those that clients add of their own
//! accord.
//!
//! A parameter that is passed over is a wish that is not granted without a word: `timout=5` would run for
//! 30 s, `default-graph-url=` would ask the whole dataset. So a name that nobody knows is a 400 that names
//! the nearest. Clients that people use must not meet it: what these send without being asked has a meaning
//! here, or is accepted because leaving it out changes no answer.
//!
//! | parameter | sent by | here |
//! |---|---|---|
//! | `format`, `output`, `results`, `out`, `accept` | SPARQLWrapper, Virtuoso's and Fuseki's clients | the format, where `Accept` leaves it open ([`super::negotiate`]) |
//! | `force-accept` | Fuseki's pages | the format, whatever `Accept` says |
//! | `timeout` | many | the time, by [`super::protocol`] |
//! | `$name` | RDF4J | a term for the variable |
//! | `limit`, `offset` | RDF4J's interface | a part of the rows of a `SELECT` |
//! | `baseURI` | RDF4J | what relative IRIs are resolved against |
//! | `queryLn` | RDF4J | `SPARQL` only |
//! | `infer`, `includeInferred`, `sameAs` | RDF4J, GraphDB, Blazegraph | accepted: nothing is inferred, so nothing would be left out |
//! | `debug`, `should-sponge` | clients of Virtuoso | accepted: they change no answer about what is stored |
//! | `explain` | people | `plan` or `profile`: the plan as JSON instead of the answer |
//! | `snapshot` | people | the number of an older snapshot, which a query reads |
//! | `callback` | pages | refused, with what to do instead |

use crate::request::parameters::{Parameters, quoted};
use crate::response::problem::Problem;
use somersault::config::nearest;

/// Parameters that name a format.
pub(crate) const FORMATS: [&str; 6] = [
    "format",
    "output",
    "results",
    "out",
    "accept",
    FORCED_FORMAT,
];
/// The one that counts more than `Accept`.
pub(crate) const FORCED_FORMAT: &str = "force-accept";

/// What the SPARQL protocol has, and what else is known where it is spoken.
pub(crate) const PROTOCOL: [&str; 18] = [
    "query",
    "update",
    "default-graph-uri",
    "named-graph-uri",
    "using-graph-uri",
    "using-named-graph-uri",
    "timeout",
    "limit",
    "offset",
    "baseURI",
    "queryLn",
    "infer",
    "includeInferred",
    "sameAs",
    "explain",
    "snapshot",
    "debug",
    "should-sponge",
];

/// What the Graph Store Protocol has.
pub(crate) const STORE: [&str; 4] = ["default", "graph", "all", "timeout"];

/// Parameters that ask for what is not given, each with what to do instead.
const REFUSED: [(&str, &str); 4] = [
    ("graph", GRAPH),
    ("default", GRAPH),
    (
        "callback",
        "JSON is not wrapped for scripts (JSONP): a server that is started with --cors lets pages of other \
         origins read it as it is",
    ),
    (
        "snapshot",
        "only queries read older snapshots; the field `Somersault-Snapshot` of a request waits for one that is newer",
    ),
];

const GRAPH: &str = "it names a graph of the store, which is read and changed where no query and no update is \
                     sent; the dataset of a query is named by `default-graph-uri` and `named-graph-uri`, that of an \
                     update by `using-graph-uri`";

/// Where parameters stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// The SPARQL protocol.
    Protocol,
    /// The Graph Store Protocol.
    Store,
}

/// Refuses parameters that nobody knows.
pub(crate) fn check(parameters: &Parameters, language: Language) -> Result<(), Problem> {
    let own: &[&'static str] = match language {
        Language::Protocol => &PROTOCOL,
        Language::Store => &STORE,
    };
    let is_known = |name: &str| {
        own.contains(&name)
            || FORMATS.contains(&name)
            || (language == Language::Protocol && name.starts_with('$') && name.len() > 1)
    };
    match parameters.names().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(refusal(name, own)),
    }
}

/// Refuses parameters that an address of our own does not have.
pub(crate) fn only(parameters: &Parameters, own: &[&'static str]) -> Result<(), Problem> {
    let Some(name) = parameters.names().find(|name| !own.contains(name)) else {
        return Ok(());
    };
    let meant = match nearest(name, own.iter().copied()) {
        Some(near) => format!("is `{near}` meant?"),
        None if own.is_empty() => "this address has none".to_owned(),
        None => format!("there are {}", own.join(", ")),
    };
    let name = quoted(name);
    Err(Problem::bad_request(format!(
        "nobody knows the parameter {name}; {meant}"
    )))
}

fn refusal(name: &str, own: &[&'static str]) -> Problem {
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Problem::bad_request(format!("`{name}`: {why}"));
    }
    let known = own.iter().chain(&FORMATS).copied();
    let meant = nearest(name, known.clone()).map(|near| format!("is `{near}` meant?"));
    let meant = meant.unwrap_or_else(|| {
        let list: Vec<&str> = known.collect();
        format!("there are {}", list.join(", "))
    });
    Problem::bad_request(format!(
        "nobody knows the parameter {}; {meant}",
        quoted(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, language: Language) -> Option<String> {
        let mut parameters = Parameters::default();
        parameters.add(text.as_bytes()).unwrap();
        let problem = check(&parameters, language).err()?;
        Some(format!("{problem:?}"))
    }

    #[test]
    fn slips_are_answered_with_the_nearest_name() {
        for (text, near) in [
            ("quey=ASK+{}", "query"),
            ("query=ASK+{}&timout=5", "timeout"),
            ("default-graph-url=http://e/", "default-graph-uri"),
            ("baseUri=http://e/", "baseURI"),
            ("fromat=json", "format"),
        ] {
            let said = refused(text, Language::Protocol).unwrap();
            assert!(
                said.contains(&format!("is `{near}` meant")),
                "{text}: {said}"
            );
        }
        let said = refused("grph=http://e/", Language::Store).unwrap();
        assert!(said.contains("is `graph` meant"), "{said}");
        let said = refused("something-else-altogether=1", Language::Protocol).unwrap();
        assert!(said.contains("there are query, update"), "{said}");
    }

    #[test]
    fn each_language_has_its_own() {
        assert_eq!(
            refused("query=x&$x=1&infer=true&snapshot=7", Language::Protocol),
            None
        );
        assert_eq!(refused("graph=x&format=turtle", Language::Store), None);
        assert!(refused("graph=x&infer=true", Language::Store).is_some());
        assert!(refused("graph=x&$x=1", Language::Store).is_some());
        assert!(refused("$=1", Language::Protocol).is_some());
        for (name, _) in REFUSED {
            let (text, language) = match name {
                "snapshot" => ("graph=x&snapshot=1".to_owned(), Language::Store),
                _ => (format!("query=x&{name}=1"), Language::Protocol),
            };
            let said = refused(&text, language).unwrap();
            assert!(!said.contains("meant"), "{said}");
        }
    }
}

//! Service Description: the three tests of the W3C's suite, which names them in words only.
//!
//! | test | here |
//! |---|---|
//! | `returns-rdf` | GET of the endpoint, without a query, gives a graph in each format asked for |
//! | `has-endpoint-triple` | it has a triple `sd:endpoint` with the endpoint's own IRI |
//! | `conforms-to-schema` | properties and classes of `sd:` are those of the vocabulary, with domains and ranges as the W3C's recommendation has them (section 3) |

use crate::served::Served;
use crate::{client, engine};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef, Triple, vocab::rdf};
use testkit::suite::data::Input;
use testkit::suite::{CaseKind, Results, SuiteCase, Verdict, results};

const SD: &str = "http://www.w3.org/ns/sparql-service-description#";

/// Properties with the classes of their subjects and of their objects; an object without one is an
/// IRI or a node of any kind.
const PROPERTIES: [(&str, &str, &str); 15] = [
    ("endpoint", "Service", ""),
    ("feature", "Service", "Feature"),
    ("defaultEntailmentRegime", "Service", "EntailmentRegime"),
    ("entailmentRegime", "NamedGraph", "EntailmentRegime"),
    (
        "defaultSupportedEntailmentProfile",
        "Service",
        "EntailmentProfile",
    ),
    (
        "supportedEntailmentProfile",
        "NamedGraph",
        "EntailmentProfile",
    ),
    ("extensionFunction", "Service", "Function"),
    ("extensionAggregate", "Service", "Aggregate"),
    ("languageExtension", "Service", "Feature"),
    ("supportedLanguage", "Service", "Language"),
    ("propertyFeature", "Service", "Feature"),
    ("defaultDataset", "Service", "Dataset"),
    ("availableGraphs", "Service", "GraphCollection"),
    ("resultFormat", "Service", ""),
    ("inputFormat", "Service", ""),
];

/// Properties of datasets and graphs.
const GRAPH_PROPERTIES: [(&str, &str, &str); 4] = [
    ("defaultGraph", "Dataset", "Graph"),
    ("namedGraph", "GraphCollection", "NamedGraph"),
    ("name", "NamedGraph", ""),
    ("graph", "NamedGraph", "Graph"),
];

/// Classes of the vocabulary besides those above.
const CLASSES: [&str; 11] = [
    "Service",
    "Feature",
    "Language",
    "Function",
    "Aggregate",
    "EntailmentRegime",
    "EntailmentProfile",
    "GraphCollection",
    "Dataset",
    "Graph",
    "NamedGraph",
];

/// Individuals of the vocabulary: features and languages.
const INDIVIDUALS: [(&str, &str); 8] = [
    ("SPARQL10Query", "Language"),
    ("SPARQL11Query", "Language"),
    ("SPARQL11Update", "Language"),
    ("DereferencesURIs", "Feature"),
    ("UnionDefaultGraph", "Feature"),
    ("RequiresDataset", "Feature"),
    ("EmptyGraphs", "Feature"),
    ("BasicFederatedQuery", "Feature"),
];

const FORMATS: [&str; 3] = [
    "text/turtle",
    "application/n-triples",
    "application/rdf+xml",
];

#[test]
fn the_service_describes_itself() {
    let chosen = |case: &SuiteCase| case.kind == CaseKind::ServiceDescription;
    crate::run_suite("sparql11-service-description", "HTTP", 3, chosen, check);
}

fn check(case: &SuiteCase) -> Verdict {
    let input = Input {
        name: "data.nq".to_owned(),
        bytes: b"<http://e/s> <http://e/p> 'o' .\n<http://e/s> <http://e/p> 'o' <http://e/g> ."
            .map(|byte| if byte == b'\'' { b'"' } else { byte })
            .to_vec(),
        base: testkit::suite::ROOT.to_owned(),
    };
    let served = Served::new(engine::loaded(&input, &engine::options(None, None))?)?;
    match case.name.as_str() {
        "returns-rdf" => FORMATS
            .iter()
            .try_for_each(|format| described(&served, format).map(drop)),
        "has-endpoint-triple" => has_endpoint(&described(&served, FORMATS[0])?),
        "conforms-to-schema" => FORMATS
            .iter()
            .try_for_each(|format| conforms(&described(&served, format)?)),
        other => Err(format!("{other} is unknown here")),
    }
}

fn described(served: &Served, format: &str) -> Result<Graph, String> {
    let answer = client::send(
        served.address,
        "GET /sparql",
        &[&format!("Accept: {format}")],
        b"",
    );
    let media_type = answer.field("content-type");
    if answer.status != 200 || !media_type.starts_with(format) {
        let status = answer.status;
        return Err(format!("{status}, {media_type}: {}", crate::shown(&answer)));
    }
    match results::of_media_type(&answer.body, media_type, "http://localhost/sparql")? {
        Results::Graph(triples) if !triples.is_empty() => {
            Ok(triples.iter().map(Triple::as_ref).collect())
        }
        _ => Err("the description is empty".to_owned()),
    }
}

fn has_endpoint(graph: &Graph) -> Verdict {
    let property = format!("{SD}endpoint");
    let mut endpoints = graph.triples_for_predicate(NamedNodeRef::new_unchecked(&property));
    let ours = NamedNodeRef::new_unchecked("http://localhost/sparql");
    match endpoints.find(|triple| triple.object == TermRef::from(ours)) {
        Some(_) => Ok(()),
        None => Err(format!("no endpoint {ours} in {graph}")),
    }
}

fn conforms(graph: &Graph) -> Verdict {
    for triple in graph {
        if let Some(name) = triple.predicate.as_str().strip_prefix(SD) {
            let mut known = PROPERTIES.iter().chain(&GRAPH_PROPERTIES);
            let known = known.find(|(property, _, _)| *property == name);
            let (_, domain, range) = known.ok_or(format!("sd:{name} is no property"))?;
            let subject = TermRef::from(triple.subject);
            is_of(graph, subject, domain).map_err(|error| format!("sd:{name}: {error}"))?;
            is_of(graph, triple.object, range).map_err(|error| format!("sd:{name}: {error}"))?;
        }
        if let (rdf::TYPE, TermRef::NamedNode(class)) = (triple.predicate, triple.object)
            && let Some(class) = class.as_str().strip_prefix(SD)
            && !CLASSES.contains(&class)
        {
            return Err(format!("sd:{class} is no class"));
        }
    }
    let service = format!("{SD}Service");
    let service = NamedNodeRef::new_unchecked(&service);
    match graph.subject_for_predicate_object(rdf::TYPE, service) {
        Some(_) => Ok(()),
        None => Err("nothing is an sd:Service".to_owned()),
    }
}

/// Whether a term may be of a class: it says nothing else of itself, and is no literal.
fn is_of(graph: &Graph, term: TermRef<'_>, class: &str) -> Verdict {
    let node: NamedOrBlankNodeRef<'_> = match term {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        other => return Err(format!("{other} is no resource")),
    };
    if let TermRef::NamedNode(iri) = term
        && let Some(name) = iri.as_str().strip_prefix(SD)
    {
        return match INDIVIDUALS
            .iter()
            .find(|(individual, _)| *individual == name)
        {
            Some((_, of)) if *of == class => Ok(()),
            _ => Err(format!("sd:{name} is no {class}")),
        };
    }
    let classes: Vec<TermRef<'_>> = graph
        .objects_for_subject_predicate(node, rdf::TYPE)
        .collect();
    let is_sub = |given: &str| match class {
        "GraphCollection" => given == "Dataset" || given == class,
        _ => given == class,
    };
    let mut own = classes.iter().filter_map(|class| match class {
        TermRef::NamedNode(class) => class.as_str().strip_prefix(SD),
        _ => None,
    });
    match own.next() {
        Some(given) if !class.is_empty() && !is_sub(given) && !own.any(is_sub) => {
            Err(format!("{term} is of sd:{given}, not of sd:{class}"))
        }
        _ => Ok(()),
    }
}

//! The W3C parser tests, RDF 1.1 and 1.2, over our own readers and over the libraries'.
//!
//! Manifests are read with `oxttl`. Every suite prints one line (`cargo test -p somersault-rdf --test
//! conformance -- --nocapture`) and any failure that [`SKIPPED`] does not name with its reason fails
//! the test; so does a skipped test that has come to pass. Without `../shared/w3c` beside the
//! checkout the tests are skipped, which is reported.

use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::vocab::rdf as rdf_terms;
use oxrdf::{Dataset, Graph, GraphName, NamedNodeRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef};
use rdf::format::{Format, read_quads, split_turtle, writer};
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Tests that are known not to pass: reader, test (suite and name), reason.
const SKIPPED: &[(Reader, &str, &str)] = &[];

const MANIFEST: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const TEST: &str = "http://www.w3.org/ns/rdftest#";
/// Stands for the folder of the suites in the IRIs of manifests.
const ROOT: &str = "file:///w3c/";

/// What a suite is run over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// `read_quads`, which uses our own tokenizer for the line formats.
    Ours,
    /// `split_turtle`, three parts.
    Parts,
    /// `oxttl` directly, for the line formats.
    Library,
}

/// One entry of a manifest.
struct Case {
    name: String,
    kind: String,
    format: Format,
    /// The IRI that the document is read at.
    base: String,
    action: PathBuf,
    result: Option<PathBuf>,
}

#[test]
fn rdf_1_1() {
    run_all(
        "rdf",
        &[
            "rdf-n-triples",
            "rdf-n-quads",
            "rdf-turtle",
            "rdf-trig",
            "rdf-xml",
        ],
    );
}

#[test]
fn rdf_1_2() {
    run_all(
        "rdf12",
        &[
            "rdf-n-triples/syntax",
            "rdf-n-triples/c14n",
            "rdf-n-quads/syntax",
            "rdf-n-quads/c14n",
            "rdf-turtle/syntax",
            "rdf-turtle/eval",
            "rdf-trig/syntax",
            "rdf-trig/eval",
            "rdf-xml/eval",
        ],
    );
}

fn run_all(version: &str, suites: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/w3c");
    if !root.is_dir() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: {}",
            root.display()
        );
        return;
    }
    let mut failures = Vec::new();
    for suite in suites {
        let suite = format!("{version}/{suite}");
        let cases = cases(&root, &suite);
        assert!(!cases.is_empty(), "{suite} has no tests");
        for reader in readers(cases[0].format) {
            failures.extend(run_suite(&suite, *reader, &cases));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn readers(format: Format) -> &'static [Reader] {
    match format {
        Format::NTriples | Format::NQuads => &[Reader::Ours, Reader::Library],
        Format::Turtle => &[Reader::Ours, Reader::Parts],
        _ => &[Reader::Ours],
    }
}

fn run_suite(suite: &str, reader: Reader, cases: &[Case]) -> Vec<String> {
    let (mut passed, mut skipped, mut failures) = (0, 0, Vec::new());
    for case in cases {
        let name = format!("{suite} {}", case.name);
        let skip = SKIPPED
            .iter()
            .find(|(skipped, test, _)| (*skipped, *test) == (reader, &*name));
        match (run(case, reader), skip) {
            (Ok(()), None) => passed += 1,
            (Ok(()), Some(_)) => {
                failures.push(format!("{name} ({reader:?}): passes, so do not skip it"));
            }
            (Err(_), Some((_, _, reason))) => {
                println!("skipped: {name} ({reader:?}): {reason}");
                skipped += 1;
            }
            (Err(error), None) => failures.push(format!("{name} ({reader:?}): {error}")),
        }
    }
    println!(
        "{suite} ({reader:?}): {passed} passed, {} failed, {skipped} skipped",
        failures.len()
    );
    failures
}

fn run(case: &Case, reader: Reader) -> Result<(), String> {
    let bytes = fs::read(&case.action).map_err(|error| error.to_string())?;
    let quads = read(case.format, &bytes, &case.base, reader);
    if case.kind.contains("Negative") {
        return match quads {
            Ok(_) => Err("accepted".to_owned()),
            Err(_) => Ok(()),
        };
    }
    let quads = quads?;
    if case.kind.contains("PositiveSyntax") {
        return Ok(());
    }
    let expected = fs::read(case.result.as_ref().ok_or("no result named")?)
        .map_err(|error| error.to_string())?;
    if case.kind.contains("C14N") {
        let written = write(case.format, &quads)?;
        let expected = String::from_utf8_lossy(&expected);
        return if written == expected {
            Ok(())
        } else {
            Err(format!("wrote {written}"))
        };
    }
    let expected = read(Format::NQuads, &expected, &case.base, Reader::Library)?;
    let [got, expected] = [quads, expected].map(canonical);
    if got == expected {
        Ok(())
    } else {
        Err(format!("read {got}instead of {expected}"))
    }
}

fn read(format: Format, bytes: &[u8], base: &str, reader: Reader) -> Result<Vec<Quad>, String> {
    let mut quads = Vec::new();
    let mut keep = |quad: QuadRef<'_>| {
        quads.push(quad.into_owned());
        ControlFlow::Continue(())
    };
    match (reader, format) {
        (Reader::Library, Format::NTriples) => {
            return oxttl::NTriplesParser::new()
                .for_slice(bytes)
                .map(|triple| {
                    Ok(triple
                        .map_err(|error| error.to_string())?
                        .in_graph(GraphName::DefaultGraph))
                })
                .collect();
        }
        (Reader::Library, _) => {
            let quads = oxttl::NQuadsParser::new().for_slice(bytes);
            return quads
                .map(|quad| quad.map_err(|error| error.to_string()))
                .collect();
        }
        (Reader::Parts, _) => split_turtle(bytes, Some(base), 3)
            .and_then(|parts| parts.into_iter().try_for_each(|part| part.read(&mut keep))),
        (Reader::Ours, _) => read_quads(format, bytes, Some(base), &mut keep),
    }
    .map_err(|error| error.to_string())?;
    Ok(quads)
}

fn write(format: Format, quads: &[Quad]) -> Result<String, String> {
    let mut output = writer(format, Vec::new());
    for quad in quads {
        output
            .quad(quad.as_ref())
            .map_err(|error| error.to_string())?;
    }
    let bytes = output.finish().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn canonical(quads: Vec<Quad>) -> Dataset {
    let mut dataset: Dataset = quads.into_iter().collect();
    dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    dataset
}

/// The entries of a suite's manifest, in the order of its list.
fn cases(root: &Path, suite: &str) -> Vec<Case> {
    let text = fs::read(root.join(suite).join("manifest.ttl")).expect("the manifest is there");
    let folder = format!("{ROOT}{suite}/");
    let parser = oxttl::TurtleParser::new().with_base_iri(format!("{folder}manifest.ttl"));
    let triples = parser.expect("a valid base").for_slice(&text);
    let graph: Graph = triples
        .map(|triple| triple.expect("a valid manifest"))
        .collect();
    let test_base = graph
        .triples_for_predicate(NamedNodeRef::new_unchecked(&format!(
            "{MANIFEST}assumedTestBase"
        )))
        .map(|triple| local(triple.object))
        .next()
        .unwrap_or_else(|| folder.clone());
    let entries = NamedNodeRef::new_unchecked(
        "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#entries",
    );
    let lists = graph
        .triples_for_predicate(entries)
        .map(|triple| triple.object);
    let path = |iri: &str| root.join(iri.strip_prefix(ROOT).expect("within the suites"));
    let mut cases = Vec::new();
    for entry in lists.flat_map(|list| items(&graph, list)) {
        let value = |name: &str| object(&graph, entry, &format!("{MANIFEST}{name}")).map(local);
        let kind = object(&graph, entry, rdf_terms::TYPE.as_str())
            .map(local)
            .expect("a test has a type");
        let action = value("action").expect("a test has an action");
        let relative = action.strip_prefix(&folder).expect("within the suite");
        cases.push(Case {
            name: value("name").unwrap_or_else(|| relative.to_owned()),
            format: Format::from_file_name(&action).expect("the extension names a format"),
            base: format!("{test_base}{relative}"),
            action: path(&action),
            result: value("result").map(|result| path(&result)),
            kind: kind.strip_prefix(TEST).expect("a type of test").to_owned(),
        });
    }
    cases
}

/// The items of an RDF list.
fn items<'g>(graph: &'g Graph, list: TermRef<'g>) -> Vec<NamedOrBlankNodeRef<'g>> {
    let mut items = Vec::new();
    let mut rest = as_subject(list);
    while let Some(first) = object(graph, rest, rdf_terms::FIRST.as_str()) {
        items.push(as_subject(first));
        rest = as_subject(object(graph, rest, rdf_terms::REST.as_str()).expect("a list goes on"));
    }
    items
}

fn object<'g>(
    graph: &'g Graph,
    subject: NamedOrBlankNodeRef<'_>,
    predicate: &str,
) -> Option<TermRef<'g>> {
    graph.object_for_subject_predicate(subject, NamedNodeRef::new_unchecked(predicate))
}

fn as_subject(term: TermRef<'_>) -> NamedOrBlankNodeRef<'_> {
    match term {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        other => panic!("{other} where a node is expected"),
    }
}

/// An IRI or a literal's lexical form.
fn local(term: TermRef<'_>) -> String {
    match term {
        TermRef::NamedNode(iri) => iri.as_str().to_owned(),
        TermRef::Literal(literal) => literal.value().to_owned(),
        other => panic!("{other} where a name is expected"),
    }
}

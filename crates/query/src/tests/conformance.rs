//! The syntax tests of the W3C suites: which texts are queries or updates and which are
//! none. Skipped, and said so, where `../shared` is not there.

use crate::{ParseErrorKind, ParseOptions};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A test of a manifest: whether the text is to be accepted, and where it is. Updates are told by the
/// extension.
struct Case {
    is_accepted: bool,
    path: PathBuf,
}

fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            manifests(&path, found);
        } else if path.file_name().is_some_and(|name| name == "manifest.ttl") {
            found.push(path);
        }
    }
}

/// The syntax tests of a manifest: in all of them the type of a test stands before its action.
fn cases(manifest: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let mut cases = Vec::new();
    let mut kind = None;
    let mut words = text
        .split_whitespace()
        .flat_map(|word| word.split_inclusive(';'));
    while let Some(word) = words.next() {
        let word = word.trim_end_matches(';');
        match word {
            "mf:PositiveSyntaxTest"
            | "mf:PositiveSyntaxTest11"
            | "mf:PositiveUpdateSyntaxTest"
            | "mf:PositiveUpdateSyntaxTest11" => kind = Some(true),
            "mf:NegativeSyntaxTest"
            | "mf:NegativeSyntaxTest11"
            | "mf:NegativeUpdateSyntaxTest"
            | "mf:NegativeUpdateSyntaxTest11" => kind = Some(false),
            "mf:action" => {
                let name = words.next().unwrap_or_default();
                let name = name
                    .trim_start_matches('<')
                    .split('>')
                    .next()
                    .unwrap_or_default();
                if let Some(is_accepted) = kind.take() {
                    let path = manifest.with_file_name(name);
                    cases.push(Case { is_accepted, path });
                }
            }
            // A test of another kind has its own action.
            _ if word.starts_with("mf:") && word.contains("Test") => kind = None,
            _ => {}
        }
    }
    cases
}

#[test]
fn syntax_tests() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/w3c");
    let mut found = Vec::new();
    for suite in ["sparql10", "sparql11", "sparql12"] {
        manifests(&suites.join(suite), &mut found);
    }
    if found.is_empty() {
        eprintln!("SKIPPED: no W3C suites in {}", suites.display());
        return;
    }
    found.sort();
    let cases: Vec<Case> = found.iter().flat_map(|manifest| cases(manifest)).collect();
    assert!(cases.len() > 300, "{} syntax tests", cases.len());
    let mut differ = String::new();
    let mut updates = 0;
    for case in &cases {
        let Ok(text) = std::fs::read_to_string(&case.path) else {
            let _ = writeln!(differ, "{}: cannot be read", case.path.display());
            continue;
        };
        let options = ParseOptions {
            base: Some("http://example.org/".to_owned()),
            ..ParseOptions::default()
        };
        let is_update = case.path.extension().is_some_and(|end| end == "ru");
        updates += usize::from(is_update);
        let answer = if is_update {
            crate::parse_update(&text, &options).map(drop)
        } else {
            crate::parse(&text, &options).map(drop)
        };
        // A function that is named by an unknown IRI is refused by name, though its syntax is right.
        let is_accepted = match &answer {
            Ok(()) => true,
            Err(error) => error.kind == ParseErrorKind::Unsupported,
        };
        if is_accepted != case.is_accepted {
            let error = answer
                .err()
                .map_or("accepted".to_owned(), |error| error.to_string());
            let _ = writeln!(differ, "{}: {error}", case.path.display());
        }
    }
    assert!(updates > 50, "{updates} syntax tests of updates");
    assert!(
        differ.is_empty(),
        "of {} tests these differ:\n{differ}",
        cases.len()
    );
}

//! The generator against the original's output: hashes, counts, and independence of threads.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use oxttl::{NQuadsParser, NTriplesParser, TurtleParser};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;

fn hex(hash: Sha256) -> String {
    use std::fmt::Write;
    let digits = |mut text: String, byte: &u8| {
        write!(text, "{byte:02x}").unwrap();
        text
    };
    hash.finalize().iter().fold(String::new(), digits)
}

fn written(parameters: Parameters, syntax: Syntax, threads: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let lubm = Lubm::new(parameters, syntax).unwrap();
    let mut seen = Progress::default();
    let progress = lubm
        .write_to(&mut out, threads, &mut |now| seen = now)
        .unwrap();
    assert_eq!(progress, seen);
    assert_eq!(progress.bytes, out.len() as u64);
    out
}

fn ntriples(universities: u32) -> Vec<u8> {
    written(Parameters::standard(universities), Syntax::NTriples, 2)
}

fn sorted_set(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn sorted_set_hash(text: &[u8]) -> (usize, String) {
    let mut hash = Sha256::new();
    let lines = sorted_set(text);
    for line in &lines {
        hash.update(line);
    }
    (lines.len(), hex(hash))
}

fn line_count(text: &[u8]) -> usize {
    text.split_inclusive(|&byte| byte == b'\n').count()
}

/// `expected.json`, or a loud skip.
fn reference(test: &str) -> Option<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/lubm/expected.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: no {path}");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn one_university_is_the_originals() {
    let text = ntriples(1);
    assert_eq!(line_count(&text), 103_074);
    let expected = "d28d8017c82ff50164650690e2e1a600bd7cf07e223bf43b91f666e8545ae0bd";
    assert_eq!(sorted_set_hash(&text), (100_543, expected.to_owned()));
}

#[test]
fn five_universities_are_the_originals() {
    let text = ntriples(5);
    assert_eq!(line_count(&text), 645_649);
    let expected = "5b9f8ac02f6c671cfce3d9326573464c6e1660bde2aabf08c53d5a6211b86b84";
    assert_eq!(sorted_set_hash(&text), (624_532, expected.to_owned()));
}

#[test]
fn forty_universities_are_the_originals() {
    if std::env::var_os("SOMERSAULT_LONG").is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: forty_universities_are_the_originals: SOMERSAULT_LONG is not set"
        );
        return;
    }
    let text = ntriples(40);
    assert_eq!(line_count(&text), 5_494_144);
    let expected = "f7f5876f18c6907db9ebceece1b22fb0fd8ff58c0a4ed0399f116fcf2a75d011";
    assert_eq!(sorted_set_hash(&text), (5_307_458, expected.to_owned()));
}

#[test]
fn the_first_lines_are_the_originals() {
    let mut text = Vec::new();
    let lubm = Lubm::new(Parameters::standard(1), Syntax::NTriples).unwrap();
    lubm.append_university(UniversityIndex(0), &mut text);
    let text = String::from_utf8(text).unwrap();
    let short = text
        .replace("http://swat.cse.lehigh.edu/onto/univ-bench.owl", "")
        .replace("http://www.w3.org/1999/02/22-rdf-syntax-ns", "rdf")
        .replace("http://www.", "");
    let person = "<Department0.University0.edu/FullProfessor0>";
    let expected = [
        "<University0.edu> <rdf#type> <#University> .",
        "<University0.edu> <#name> \"University0\" .",
        "<Department0.University0.edu> <rdf#type> <#Department> .",
        "<Department0.University0.edu> <#name> \"Department0\" .",
        "<Department0.University0.edu> <#subOrganizationOf> <University0.edu> .",
        "<University0.edu> <rdf#type> <#University> .",
        &format!("{person} <rdf#type> <#FullProfessor> ."),
        &format!("{person} <#name> \"FullProfessor0\" ."),
        &format!("{person} <#teacherOf> <Department0.University0.edu/Course0> ."),
        &format!("{person} <#teacherOf> <Department0.University0.edu/GraduateCourse0> ."),
        &format!("{person} <#teacherOf> <Department0.University0.edu/GraduateCourse1> ."),
        &format!("{person} <#undergraduateDegreeFrom> <University84.edu> ."),
        "<University84.edu> <rdf#type> <#University> .",
        &format!("{person} <#mastersDegreeFrom> <University875.edu> ."),
        "<University875.edu> <rdf#type> <#University> .",
        &format!("{person} <#doctoralDegreeFrom> <University241.edu> ."),
        "<University241.edu> <rdf#type> <#University> .",
        &format!("{person} <#worksFor> <Department0.University0.edu> ."),
        &format!("{person} <#emailAddress> \"FullProfessor0@Department0.University0.edu\" ."),
        &format!("{person} <#telephone> \"xxx-xxx-xxxx\" ."),
        &format!("{person} <#researchInterest> \"Research20\" ."),
    ];
    assert_eq!(
        short.lines().take(expected.len()).collect::<Vec<_>>(),
        expected
    );
}

/// Occurrences of each predicate, and of each class among the types, by local name.
fn counts<'a>(lines: impl Iterator<Item = &'a [u8]>) -> [BTreeMap<String, u64>; 2] {
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for line in lines {
        let mut words = str::from_utf8(line).unwrap().split(' ').skip(1);
        let mut local = || {
            words
                .next()
                .unwrap()
                .rsplit_once('#')
                .unwrap()
                .1
                .trim_end_matches('>')
        };
        let predicate = local();
        if predicate == "type" {
            *counts[1].entry(local().to_owned()).or_default() += 1;
            *counts[0].entry("rdf:type".to_owned()).or_default() += 1;
        } else {
            *counts[0].entry(predicate.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn as_counts(value: &Value) -> BTreeMap<String, u64> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn predicates_and_classes_are_counted_as_in_the_reference() {
    let Some(expected) = reference("predicates_and_classes_are_counted_as_in_the_reference") else {
        return;
    };
    for universities in [1, 5] {
        let text = ntriples(universities);
        let expected = &expected[format!("lubm{universities}")];
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let [predicates, classes] = counts(lines);
        assert_eq!(predicates, as_counts(&expected["predicates_emitted"]));
        assert_eq!(classes, as_counts(&expected["classes_emitted"]));
        let [predicates, classes] = counts(sorted_set(&text).into_iter());
        assert_eq!(predicates, as_counts(&expected["predicates_distinct"]));
        assert_eq!(classes, as_counts(&expected["classes_distinct"]));
    }
}

#[test]
fn every_university_of_the_reference_is_written_byte_for_byte() {
    let Some(expected) = reference("every_university_of_the_reference_is_written_byte_for_byte")
    else {
        return;
    };
    let lists = ["per_university_seed0", "other_parameters"];
    let entries = lists
        .iter()
        .flat_map(|list| expected[*list].as_array().unwrap());
    for entry in entries {
        let parameters = Parameters {
            universities: 1,
            start_index: entry["university"].as_u64().unwrap() as u32,
            seed: entry["seed"].as_i64().unwrap() as i32,
            ontology: entry["onto"].as_str().unwrap().to_owned(),
        };
        check_departments(&parameters, entry);
        let text = written(parameters.clone(), Syntax::NTriples, 1);
        assert_eq!(
            text.len() as u64,
            entry["bytes"].as_u64().unwrap(),
            "{parameters:?}"
        );
        assert_eq!(
            line_count(&text) as u64,
            entry["triples_emitted"].as_u64().unwrap()
        );
        let hash = hex(Sha256::new_with_prefix(&text));
        assert_eq!(
            hash,
            entry["sha256_raw"].as_str().unwrap(),
            "{parameters:?}"
        );
    }
}

/// The drawn sizes and what came of them, without text.
fn check_departments(parameters: &Parameters, entry: &Value) {
    let university = UniversityIndex(parameters.start_index);
    let mut walk = UniversityWalk::new(parameters.seed, university);
    let first = walk.walk_next(&mut census::Ignore);
    let mut departments = 1;
    while walk.next_department().is_some() {
        walk.walk_next(&mut census::Ignore);
        departments += 1;
    }
    assert_eq!(departments, entry["departments"].as_u64().unwrap());
    let sizes = first.sizes;
    let ours = [
        ("full", sizes.full_professors),
        ("associate", sizes.associate_professors),
        ("assistant", sizes.assistant_professors),
        ("lecturers", sizes.lecturers),
        ("undergraduates", sizes.undergraduates),
        ("graduates", sizes.graduates),
        ("TA", sizes.teaching_assistants),
        ("RA", sizes.research_assistants),
        ("groups", sizes.groups),
        ("chair", sizes.chair),
        ("courses", first.courses),
        ("graduate_courses", first.graduate_courses),
        ("publications", first.publications),
    ];
    let ours = ours.map(|(name, size)| (name.to_owned(), u64::from(size)));
    assert_eq!(BTreeMap::from(ours), as_counts(&entry["dept0"]));
}

#[test]
fn the_number_of_departments_is_the_originals() {
    let expected = [
        15, 19, 16, 21, 22, 15, 24, 17, 18, 22, 20, 24, 25, 19, 16, 21, 19, 23, 21, 25, 15, 19, 17,
        21, 22, 16, 24, 18, 18, 23, 20, 25, 17, 22, 19, 24, 24, 18, 15, 20,
    ];
    for (university, departments) in expected.into_iter().enumerate() {
        let mut walk = UniversityWalk::new(0, UniversityIndex(university as u32));
        let mut walked = 0;
        while walk.next_department().is_some() {
            assert_eq!(
                walk.walk_next(&mut census::Ignore).last,
                walked + 1 == departments
            );
            walked += 1;
        }
        assert_eq!(walked, departments, "university {university}");
    }
}

#[test]
fn threads_change_nothing() {
    let parameters = Parameters {
        start_index: 7,
        seed: -3,
        ..Parameters::standard(5)
    };
    for syntax in [Syntax::NTriples, Syntax::Turtle] {
        let one = Sha256::digest(written(parameters.clone(), syntax.clone(), 1));
        for threads in [0, 2, 3, 64] {
            let many = Sha256::digest(written(parameters.clone(), syntax.clone(), threads));
            assert_eq!(one, many, "{threads} threads");
        }
    }
}

#[test]
fn a_run_is_its_universities_and_a_university_its_departments() {
    let lubm = Lubm::new(Parameters::standard(2), Syntax::NTriples).unwrap();
    let mut whole = Vec::new();
    let mut triples = 0;
    for university in lubm.parameters().indices() {
        triples += lubm.append_university(university, &mut whole);
    }
    assert_eq!(triples, 103_074 + 134_068);
    let mut parts = Vec::new();
    for (university, departments) in [(0, 15), (1, 19)] {
        for department in 0..departments {
            let [university, department] = [university, department];
            let (university, department) =
                (UniversityIndex(university), DepartmentIndex(department));
            assert!(
                lubm.append_department(university, department, &mut parts)
                    .is_some()
            );
        }
        let beyond = DepartmentIndex(departments);
        let none = lubm.append_department(UniversityIndex(university), beyond, &mut parts);
        assert_eq!(none, None);
    }
    assert!(parts == whole);
    let mut read = Vec::new();
    lubm.reader(2).unwrap().read_to_end(&mut read).unwrap();
    assert!(read == whole);
}

#[test]
fn turtle_and_quads_give_the_same_triples_in_the_same_order() {
    let parameters = Parameters::standard(1);
    let lines = written(parameters.clone(), Syntax::NTriples, 1);
    let triples = NTriplesParser::new().for_slice(&lines).map(Result::unwrap);
    let triples: Vec<_> = triples.collect();
    let turtle = written(parameters.clone(), Syntax::Turtle, 1);
    assert!(turtle.len() * 2 < lines.len());
    let parsed = TurtleParser::new().for_slice(&turtle).map(Result::unwrap);
    assert!(parsed.eq(triples.iter().cloned()));
    let graph = Some("http://example.org/g".to_owned());
    let named = written(
        parameters.clone(),
        Syntax::NQuads {
            graph: graph.clone(),
        },
        1,
    );
    let parsed = NQuadsParser::new().for_slice(&named).map(Result::unwrap);
    let graph = oxttl_graph(graph.as_deref().unwrap());
    assert!(
        parsed.eq(triples
            .iter()
            .map(|triple| triple.clone().in_graph(graph.clone())))
    );
    assert!(written(parameters, Syntax::NQuads { graph: None }, 1) == lines);
}

/// The graph name that a parser gives for this IRI.
fn oxttl_graph(iri: &str) -> oxrdf::GraphName {
    oxrdf::NamedNode::new_unchecked(iri).into()
}

#[test]
fn a_folder_has_one_document_per_university() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("made/where/missing");
    for syntax in [Syntax::NTriples, Syntax::Turtle] {
        let parameters = Parameters {
            start_index: 3,
            ..Parameters::standard(2)
        };
        let lubm = Lubm::new(parameters, syntax.clone()).unwrap();
        let progress = lubm.write_folder(&below, 2, &mut |_| ()).unwrap();
        assert_eq!(
            (progress.universities, progress.triples),
            (2, 145_696 + 151_947)
        );
        for university in [3, 4] {
            let name = format!("University{university}.{}", syntax.extension());
            let document = std::fs::read(below.join(name)).unwrap();
            let alone = Parameters {
                start_index: university,
                ..Parameters::standard(1)
            };
            assert!(document == written(alone, syntax.clone(), 1));
        }
    }
    assert_eq!(std::fs::read_dir(&below).unwrap().count(), 4);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lubm = Lubm::new(Parameters::standard(1), Syntax::NTriples).unwrap();
    let error = lubm
        .write_folder(&file.path().join("below"), 1, &mut |_| ())
        .unwrap_err();
    assert!(
        error.to_string().contains(file.path().to_str().unwrap()),
        "{error}"
    );
}

/// A pipe whose reader goes away after some bytes.
struct ClosingPipe {
    left_bytes: usize,
}

impl Write for ClosingPipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left_bytes == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.left_bytes);
        self.left_bytes -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_ends_the_run() {
    let lubm = Lubm::new(Parameters::standard(1_000_000), Syntax::NTriples).unwrap();
    for threads in [1, 3] {
        let mut pipe = ClosingPipe {
            left_bytes: 5_000_000,
        };
        let Err(Error::Write(error)) = lubm.write_to(&mut pipe, threads, &mut |_| ()) else {
            panic!("a closed pipe is an error");
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

#[test]
fn parameters_that_cannot_be_written_are_refused() {
    let new = |parameters, syntax| Lubm::new(parameters, syntax).map(|_| ());
    let beyond = Parameters {
        start_index: UNIVERSITY_INDEX_MAX,
        ..Parameters::standard(2)
    };
    assert!(matches!(
        new(beyond, Syntax::NTriples),
        Err(Error::IndexRange {
            last: 2_147_483_648
        })
    ));
    for iri in ["univ-bench.owl", "", "1a:b", ":x"] {
        let parameters = Parameters {
            ontology: iri.to_owned(),
            ..Parameters::default()
        };
        assert!(
            matches!(
                new(parameters, Syntax::Turtle),
                Err(Error::RelativeIri { .. })
            ),
            "{iri}"
        );
    }
    for iri in ["http://a b", "http://a>", "http://a\n", "urn:\\u0020"] {
        let graph = Some(iri.to_owned());
        let refused = new(Parameters::default(), Syntax::NQuads { graph });
        assert!(matches!(refused, Err(Error::IriCharacter { .. })), "{iri}");
    }
}

#[test]
fn no_university_is_an_empty_document() {
    assert!(written(Parameters::standard(0), Syntax::NTriples, 4).is_empty());
}

#[test]
fn the_census_counts_what_is_written() {
    let parameters = Parameters {
        start_index: 1,
        ..Parameters::standard(2)
    };
    let census = Census::take(&parameters).unwrap();
    let text = written(parameters, Syntax::NTriples, 1);
    let [_, classes] = counts(text.split_inclusive(|&byte| byte == b'\n'));
    for class in [
        Class::GraduateCourse,
        Class::AssistantProfessor,
        Class::Department,
    ] {
        assert_eq!(
            census.count(class).map(u64::from),
            classes.get(class.name()).copied()
        );
    }
    assert_eq!(census.count(Class::University), Some(2));
    assert_eq!(census.count(Class::Lecturer), None);
    let text = String::from_utf8(text).unwrap();
    let mut random = Random::new(0);
    for class in [
        Class::GraduateCourse,
        Class::AssistantProfessor,
        Class::Department,
    ] {
        for _ in 0..5 {
            let iri = census.draw(class, &mut random).unwrap();
            let line = format!("\n<{iri}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ");
            let place = text
                .find(&line)
                .unwrap_or_else(|| panic!("{iri} is not in the data"));
            assert!(
                text[place + line.len()..].starts_with(&format!("<{ONTOLOGY}#{}>", class.name()))
            );
        }
    }
}

//! Plain data read from tokens, compared with what the grammar makes of the same text.

use super::super::read::parse as read_with;
use super::*;
use std::path::{Path, PathBuf};
use testkit::random::Random;

/// Texts whose data are plain, with the number of their quads.
const PLAIN: [(&str, usize); 37] = [
    ("INSERT DATA {}", 0),
    ("DELETE DATA { <a:s> <a:p> <a:o> }", 1),
    ("INSERT DATA { <a:s> <a:p> <a:o> . } ;", 1),
    (
        "insert data { <a:s> a <a:o>, <a:o>; a <a:c> ; ; . <a:t> a <a:o> }",
        4,
    ),
    (
        "INSERT DATA { GRAPH <a:g> { <a:s> a 1 } . GRAPH <a:h> {} <a:s> a 2 . GRAPH ex:g { ex: a ex:x. } }",
        3,
    ),
    (
        "INSERT DATA { <a:s> a 1 GRAPH <a:g> { <a:s> a 1 . } <a:s> a 1 ; GRAPH <a:g> {} }",
        3,
    ),
    (
        "INSERT DATA { <a:s> a 1, 1.5, .5, 1.0e3, 1.e3, .5E-1, 1e0, -5, +.5, -1e+2, 007 }",
        11,
    ),
    ("INSERT DATA { <a:s> a 1.<a:s> a 2. }", 2),
    ("INSERT DATA { <a:s> a true, false, TRUE, False }", 4),
    (
        "INSERT DATA { <a:s> a \"x\", 'y', \"\"\"a\"b\nc\"\"\", '''''', \"\", '''a''b''' }",
        6,
    ),
    (
        "INSERT DATA { <a:s> a \"\\t\\b\\n\\r\\f\\\"\\'\\\\\", '''\\'''' , \"é\", \"\"\"\u{1F600}\\n\"\"\" }",
        4,
    ),
    (
        "INSERT DATA { <a:s> a \"x\"@en, \"x\" @en-GB, 'x'@DE-ch, \"x\"@zh-hant-tw, \"x\"@x-y, \"\"@sl-rozaj }",
        6,
    ),
    (
        "INSERT DATA { <a:s> a \"x\"^^<a:t>, \"x\" ^^ ex:t, \"x\"^^xsd:string, \"1\"^^xsd:integer # c\n, \"\"^^# <\n<a:t> }",
        5,
    ),
    ("INSERT DATA { _:a a _:b . _:b a _:a . _:0.x-y a _:_ }", 3),
    ("INSERT DATA { _:a a _:b } ; INSERT DATA { _:c a _:d }", 2),
    ("INSERT DATA { ex:a.b.c a ex:a.b.c:d, ex:\u{10000} }", 2),
    ("INSERT DATA { ex:a.b ex:c:d ex:1, ex:_, ex::, ex:a..b }", 4),
    ("INSERT DATA { ex:é ex:aé ex:a\u{B7}b }", 1),
    ("INSERT DATA { : a :x . :y : : }", 2),
    ("INSERT DATA { <a:s>a<a:o>.<a:s>a<a:p>;a<a:q>,<a:r>}", 4),
    ("#c\nINSERT#c\rDATA{#}\n<a:s>#.\n a #;\n1}#", 1),
    ("PREFIX q: <b:> INSERT DATA { q:s a ex:o }", 1),
    (
        "PREFIX ex: <b:> PREFIX ex: <c:> INSERT DATA { ex:s a ex:o } ; DELETE DATA { ex:s a 1 }",
        2,
    ),
    (
        "BASE <http://b/c/d> INSERT DATA { <x> a <../y>, <>, <#f>, <?q>, <//h/p>, <http://b/a/../c>, <a:./b> }",
        7,
    ),
    (
        "BASE <http://b/c/d> PREFIX r: <r/> BASE <e/f> INSERT DATA { r:s a <x> } ; INSERT DATA { <x> a r:y }",
        2,
    ),
    ("VERSION \"1.2\" INSERT DATA { <a:s> a 1 }", 1),
    (
        "INSERT DATA { <a:s> <a:p%41> <http://[::1]:80/a?b#c> , <http://é/ü> }",
        2,
    ),
    (
        "INSERT DATA { <a:s> a <http://u@h:8/>, <a:b/c/../d>, <a://>, <a:> }",
        4,
    ),
    ("CLEAR ALL ; INSERT DATA { <a:s> a 1 } ; DROP ALL", 1),
    ("INSERT DATA { a:b a a:c }", 1),
    ("INSERT DATA { GRAPH:x a GRAPH:y }", 1),
    ("INSERT DATA { ex:true a true:false, true }", 2),
    ("INSERT DATA { <a:s> <a:p> ex:a-b, ex:a:b.c }", 2),
    (
        "INSERT DATA { <a:s> a \"x\"@en.<a:s> a \"x\"^^ex:t.<a:s> a true . }",
        3,
    ),
    (
        "INSERT DATA { <a:s> a \"'\", '\"', \"#\", \"<\", \"{\", \"}\" }",
        6,
    ),
    (
        "DELETE DATA { GRAPH <a:g> { <a:s> a \"\\\\\" ; a 'x'@en . } }",
        2,
    ),
    (
        "INSERT DATA { GRAPH <a:g> {} . <a:s> a 1 . GRAPH <a:g> {} . }",
        1,
    ),
];

/// Texts that are left to the library, accepted or not.
const OTHERS: [&str; 59] = [
    "INSERT DATA { <s> a 1 }",
    "INSERT DATA { <a:s> a [] }",
    "INSERT DATA { <a:s> a [ a 1 ] }",
    "INSERT DATA { <a:s> a () }",
    "INSERT DATA { <a:s> a (1) }",
    "INSERT DATA { <a:s> a <<( <a:s> a 1 )>> }",
    "INSERT DATA { << <a:s> a 1 >> a 1 }",
    "INSERT DATA { <a:s> a 1 ~ <a:r> }",
    "INSERT DATA { <a:s> a 1 {| a 2 |} }",
    "INSERT DATA { <a:s> a \"x\"@en--ltr }",
    "INSERT DATA { <a:s> a \"x\"@en--up }",
    "INSERT DATA { <a:s> a \"\\u0041\" }",
    "INSERT DATA { <a:s> a \"\\x\" }",
    "INSERT DATA { <a:s> a <a:\\u0041> }",
    "INSERT DATA { <a:s> a <a: b> }",
    "INSERT DATA { <a:s> a <a:|> }",
    "INSERT DATA { <a:s> a <a:%4> }",
    "INSERT DATA { <a:s> a <a:#b#> }",
    "INSERT DATA { <a:s> a <http://[::1/> }",
    "INSERT DATA { <a:s> a <1:b> }",
    "INSERT DATA { <a:s> a no:x }",
    "INSERT DATA { <a:s> no:x 1 }",
    "INSERT DATA { <a:s> abc:x 1 }",
    "INSERT DATA { <a:s> a ex:%41 }",
    "INSERT DATA { <a:s> a ex:%4 }",
    "INSERT DATA { <a:s> a ex:a\\,b }",
    "INSERT DATA { <a:s> a ex:a\\x }",
    "INSERT DATA { <a:s> a ex:a.b.ex:c a 1 }",
    "INSERT DATA { <a:s> a ex:-a }",
    "INSERT DATA { <a:s> a ex:\u{B7}a }",
    "INSERT DATA { <a:s> a - 5 }",
    "INSERT DATA { <a:s> a --5 }",
    "INSERT DATA { <a:s> a 1.. }",
    "INSERT DATA { <a:s> a 1 . . }",
    "INSERT DATA { . }",
    "INSERT DATA { <a:s> a 1 , }",
    "INSERT DATA { <a:s> a , 1 }",
    "INSERT DATA { <a:s> ; a 1 }",
    "INSERT DATA { <a:s> a 1 <a:s> a 2 }",
    "INSERT DATA { GRAPH <a:g> { GRAPH <a:h> {} } }",
    "INSERT DATA { GRAPH <a:g> { <a:s> a 1 ; GRAPH <a:h> {} } }",
    "INSERT DATA { GRAPH _:g { <a:s> a 1 } }",
    "INSERT DATA { GRAPH <a:g> {} . . }",
    "INSERT DATA { { <a:s> a 1 } }",
    "INSERT DATA { ?s a 1 }",
    "INSERT DATA { 1 a 1 }",
    "INSERT DATA { \"x\" a 1 }",
    "INSERT DATA { <a:s> _:b 1 }",
    "INSERT DATA { <a:s> A 1 }",
    "INSERT DATA { <a:s> a1 }",
    "INSERT DATA { <a:s> a \"x\"@ }",
    "INSERT DATA { <a:s> a \"x\"@en- }",
    "INSERT DATA { <a:s> a \"x\"@a }",
    "INSERT DATA { <a:s> a \"x\"^^\"y\" }",
    "INSERT DATA { <a:s> a \"x\"^^rdf:langString }",
    "INSERT DATA { <a:s> a 1 } x",
    "INSERT DATA <a:s> { }",
    "DELETE DATA { _:a a 1 }",
    "PREFIX q <b:> INSERT DATA { q:s a 1 }",
];

fn options() -> ParseOptions {
    let prefixes = [
        ("ex", "http://e/"),
        ("", "http://e/#"),
        ("a", "a:a/"),
        ("bc", "a:bc/"),
        ("true", "a:true/"),
        ("GRAPH", "a:GRAPH/"),
        ("xsd", "http://www.w3.org/2001/XMLSchema#"),
        ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ];
    ParseOptions {
        prefixes: prefixes
            .map(|(name, iri)| (name.to_owned(), iri.to_owned()))
            .into(),
        ..ParseOptions::default()
    }
}

/// Reads a text both ways, which must not differ; gives the number of pieces that were plain, and of
/// quads of data, where it was accepted.
fn both(text: &str, options: &ParseOptions) -> Option<(usize, usize)> {
    let (read, plain) = read_with(text, options, true);
    let (expected, none) = read_with(text, options, false);
    assert_eq!(none, 0);
    assert_eq!(read, expected, "{text}");
    let quads = read
        .ok()?
        .operations
        .iter()
        .map(|operation| match operation {
            Operation::InsertData { data } | Operation::DeleteData { data } => data.len(),
            _ => 0,
        })
        .sum();
    Some((plain, quads))
}

#[test]
fn plain_data_are_read_from_tokens() {
    let mut failures = Vec::new();
    for (text, quads) in PLAIN {
        let expected = Some((text.to_uppercase().matches("DATA").count(), quads));
        let read = both(text, &options());
        if read != expected {
            let error = read_with(text, &options(), true).0.err();
            failures.push((text, read, expected, error));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn all_else_is_left_to_the_grammar() {
    for text in OTHERS {
        let plain = both(text, &options()).map(|(plain, _)| plain);
        assert!(plain.is_none_or(|plain| plain == 0), "{text}");
    }
}

#[test]
fn a_label_of_two_operations_is_refused_in_plain_data_too() {
    let text = "INSERT DATA { _:a a 1 } ; INSERT DATA { _:b a _:a }";
    assert_eq!(both(text, &options()), None);
}

#[test]
fn a_term_is_listed_once_while_it_is_remembered() {
    let (update, plain) = read_with(
        "INSERT DATA { <a:s> <a:p> <a:o> . <a:s> <a:p> <a:s> . <a:o> <a:p> \"x\"^^<a:o> }",
        &options(),
        true,
    );
    let update = update.unwrap();
    let [Operation::InsertData { data }] = &update.operations[..] else {
        panic!("{update:?}");
    };
    assert_eq!((plain, data.terms().len(), data.len()), (1, 4, 3));
}

/// A place between two characters.
fn place(random: &mut Random, text: &str) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A text with one or more things changed in it.
fn mutated(random: &mut Random, text: &str) -> String {
    const PIECES: [&str; 40] = [
        ".",
        ";",
        ",",
        "{",
        "}",
        " ",
        "\n",
        "#",
        "a",
        "true",
        "GRAPH ",
        "\\",
        "\"",
        "'",
        "\"\"\"",
        "%4",
        "_:",
        "_:x",
        "@en",
        "@",
        "^^",
        "<",
        ">",
        "-",
        "+",
        "1.",
        "e5",
        ":",
        "ex:",
        "ex:a",
        "é",
        "\u{10000}",
        "\u{B7}",
        "[]",
        "()",
        "~",
        "?x",
        "<a:b>",
        "a:",
        "\\n",
    ];
    let mut text = text.to_owned();
    for _ in 0..=random.below(2) {
        let (one, two) = (place(random, &text), place(random, &text));
        let (from, to) = (one.min(two), one.max(two));
        let near = from
            + text[from..to]
                .char_indices()
                .nth(3)
                .map_or(to - from, |(at, _)| at);
        match random.below(6) {
            0 => text.replace_range(from..near, ""),
            1 | 2 => {
                let part = text[from..near].to_owned();
                let at = place(random, &text);
                text.insert_str(at, &part);
            }
            _ => text.insert_str(from, PIECES[random.below(PIECES.len())]),
        }
    }
    text
}
/// How many of so many mutations were accepted, with plain data among them.
fn mutate(texts: &[String], count: usize) -> usize {
    let mut random = Random::new(1);
    let mut plain = 0;
    for _ in 0..count {
        let text = &texts[random.below(texts.len())];
        let text = mutated(&mut random, text);
        plain += usize::from(both(&text, &options()).is_some_and(|(plain, _)| plain > 0));
    }
    plain
}

#[test]
fn mutations_of_data_are_read_the_same_both_ways() {
    let texts = PLAIN.iter().map(|(text, _)| *text).chain(OTHERS);
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    let count = if std::env::var_os("SOMERSAULT_LONG").is_some() {
        3_000_000
    } else {
        20_000
    };
    let plain = mutate(&texts, count);
    assert!(plain > count / 100, "{plain}");
}

/// Files below a directory with one of these endings.
fn files(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            files(&path, endings, found);
        } else if ending.is_some_and(|ending| endings.contains(&ending)) {
            found.push(path);
        }
    }
}

/// A document as the data of an insertion; its directives go before it.
fn insertion(document: &str) -> String {
    let (mut prologue, mut body) = (String::new(), String::new());
    for line in document.lines() {
        let directive = line.trim_start().strip_prefix('@');
        if let Some(directive) = directive.filter(|line| line.starts_with(['p', 'b'])) {
            prologue += directive.trim_end().trim_end_matches('.');
            prologue.push('\n');
        } else if line.starts_with("PREFIX") || line.starts_with("BASE") {
            prologue += line;
            prologue.push('\n');
        } else {
            body += line;
            body.push('\n');
        }
    }
    format!("{prologue}INSERT DATA {{\n{body}}}")
}

/// Without `../shared/w3c` beside the repository there is nothing to compare, and that is said.
#[test]
fn the_suites_are_read_the_same_both_ways() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/w3c");
    let mut paths = Vec::new();
    files(&root, &["ru", "nt", "ttl", "trig"], &mut paths);
    if paths.is_empty() {
        eprintln!("not run: no suites at {}", root.display());
        return;
    }
    paths.sort();
    let options = ParseOptions {
        base: Some("http://example.org/base/".to_owned()),
        ..options()
    };
    let mut texts = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let is_update = path.extension().is_some_and(|ending| ending == "ru");
        let text = if is_update { text } else { insertion(&text) };
        if text.len() < 100_000 {
            texts.push(text);
        }
    }
    let plain = texts
        .iter()
        .filter(|text| both(text, &options).is_some_and(|(plain, _)| plain > 0));
    let plain = plain.count();
    eprintln!("{} texts, {plain} with plain data", texts.len());
    assert!(plain > 300, "{plain} of {}", texts.len());
    texts.retain(|text| text.len() < 2_000);
    assert!(mutate(&texts, 5_000) > 100);
}

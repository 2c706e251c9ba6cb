//! Bad input gets a clear error with the promised exit code, and nothing is lost: every row of the
//! table "no input ends the process" that the command line can meet.

use crate::common;

use common::{count, load, lubm, run, run_with_input, text, write};
use std::fs;
use std::io::Write as _;
use std::path::Path;

const GOOD: &str = "<http://e/s> <http://e/p> <http://e/o> .\n";

#[track_caller]
fn fails(arguments: &[&str], code: i32, said: &[&str]) {
    let run = run(arguments);
    assert_eq!(
        run.code,
        Some(code),
        "{arguments:?}: {}{}",
        run.output,
        run.errors
    );
    for part in said {
        assert!(
            run.errors.contains(part),
            "{part:?} is not in: {}",
            run.errors
        );
    }
    assert!(!run.errors.contains("panicked"), "{}", run.errors);
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn a_malformed_statement_is_named_and_stops_the_load() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&write(folder.path(), "good.nt", GOOD)]);
    let bad = write(
        folder.path(),
        "bad.nt",
        format!("{GOOD}<http://e/s> <http://e/p> oops .\n"),
    );
    fails(
        &["load", "-l", text(&store), text(&bad)],
        6,
        &["bad.nt:2:27"],
    );
    assert_eq!(count(&store), 1);
    let fresh = folder.path().join("fresh");
    fails(&["load", "-l", text(&fresh), text(&bad)], 6, &["bad.nt:2"]);
    assert!(!fresh.join("CURRENT").exists());
}

/// A store where files are wanted is named as one.
#[test]
fn a_directory_is_no_file_and_perhaps_a_store() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&write(folder.path(), "good.nt", GOOD)]);
    let store = text(&store);
    let said = &["it is a directory", "--location"];
    fails(&["serve", store], 2, said);
    fails(&["query", "--data", store, "-q", "ASK {}"], 2, said);
}

/// Nothing is loaded into parts that are there, so nothing takes their place unless that is said.
#[test]
fn parts_that_are_there_are_not_replaced_by_a_load() {
    let folder = folder();
    let (good, parts) = (
        write(folder.path(), "good.nt", GOOD),
        folder.path().join("parts"),
    );
    let flags = ["load", "--parts", "3", "-l", text(&parts), text(&good)];
    assert_eq!(run(flags).code, Some(0));
    fails(&flags, 2, &["has 3 parts already", "--replace"]);
    let checked = run(["check", "-l", text(&parts.join("part-0001"))]);
    assert_eq!(
        checked.code,
        Some(0),
        "{}{}",
        checked.output,
        checked.errors
    );
    assert!(checked.output.contains("sound") && checked.errors.contains("one part of a graph"));
    assert_eq!(run(["check", "-l", text(&parts)]).code, Some(0));
    assert_eq!(run([&flags[..], &["--replace"]].concat()).code, Some(0));
    let fewer = [
        "load",
        "--parts",
        "2",
        "-l",
        text(&parts),
        text(&good),
        "--replace",
    ];
    fails(&fewer, 2, &["part-0002, which is none of 2 parts"]);
    let store = folder.path().join("store");
    load(&store, &[&good]);
    let cut = [
        "cut",
        "-l",
        text(&store),
        "--parts",
        "2",
        "-o",
        text(&parts),
    ];
    fails(&cut, 2, &["part-0002, which is none of 2 parts"]);
    assert_eq!(run(["check", "-l", text(&parts)]).code, Some(0));
}

#[test]
fn malformed_statements_can_be_skipped_or_kept_aside() {
    let folder = folder();
    let bad = write(
        folder.path(),
        "bad.nt",
        format!("{GOOD}nonsense\n<a> <b> <c> .\n"),
    );
    let store = folder.path().join("skipped");
    fails(
        &["load", "-l", text(&store), "--on-error", "skip", text(&bad)],
        8,
        &["bad.nt:2"],
    );
    assert_eq!(count(&store), 1);
    let aside = folder.path().join("rejected.nt");
    let store = folder.path().join("aside");
    let policy = format!("quarantine={}", text(&aside));
    fails(
        &[
            "load",
            "-l",
            text(&store),
            "--on-error",
            &policy,
            text(&bad),
        ],
        8,
        &[],
    );
    let kept = fs::read_to_string(&aside).expect("the file was written");
    assert!(
        kept.contains("nonsense") && kept.contains("<a> <b> <c> ."),
        "{kept}"
    );
    fails(
        &["load", "-l", text(&store), "--on-error", "wish", text(&bad)],
        2,
        &["wish", "skip"],
    );
}

#[test]
fn unreadable_sources_are_named() {
    let folder = folder();
    let store = folder.path().join("store");
    let location = text(&store);
    fails(
        &["load", "-l", location, "/no/such/file.nt"],
        1,
        &["/no/such/file.nt"],
    );
    let unknown = write(folder.path(), "data.xyz", GOOD);
    fails(
        &["load", "-l", location, text(&unknown)],
        2,
        &["data.xyz", ".ttl"],
    );
    fails(
        &[
            "load",
            "-l",
            location,
            text(folder.path()),
            "--format",
            "nt",
        ],
        1,
        &["directory"],
    );
    assert!(!store.join("CURRENT").exists());
}

#[test]
fn a_truncated_gzip_file_is_an_error() {
    let folder = folder();
    let data = lubm(folder.path(), 0, 1);
    let packed = std::process::Command::new("gzip")
        .args(["-c", text(&data)])
        .output();
    let Ok(packed) = packed else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: there is no gzip on this machine"
        );
        return;
    };
    let whole = write(folder.path(), "whole.nt.gz", &packed.stdout);
    let store = folder.path().join("store");
    load(&store, &[&whole]);
    let before = count(&store);
    let half = &packed.stdout[..packed.stdout.len() / 2];
    let cut = write(folder.path(), "cut.nt.gz", half);
    fails(&["load", "-l", text(&store), text(&cut)], 1, &["cut.nt.gz"]);
    assert_eq!(count(&store), before);
}

#[test]
fn standard_input_needs_a_format_and_then_loads() {
    let folder = folder();
    let store = folder.path().join("store");
    let bare = run_with_input(&["load", "-l", text(&store), "-"], GOOD.as_bytes());
    assert_eq!(bare.code, Some(2), "{}", bare.errors);
    let arguments = ["load", "-l", text(&store), "--format", "nt", "-"];
    assert_eq!(run_with_input(&arguments, GOOD.as_bytes()).code, Some(0));
    assert_eq!(count(&store), 1);
}

#[test]
fn directories_that_are_no_store_are_refused() {
    let folder = folder();
    let query = ["--query", "ASK {}"];
    let ask = |location: &Path| {
        let mut arguments = vec!["query", "-l", text(location)];
        arguments.extend(query);
        run(arguments)
    };
    let missing = ask(&folder.path().join("missing"));
    assert_eq!(missing.code, Some(1));
    assert!(missing.errors.contains("missing"), "{}", missing.errors);
    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign).expect("writable");
    write(&foreign, "precious.txt", "do not touch");
    let run = ask(&foreign);
    assert_eq!(run.code, Some(1));
    assert!(run.errors.contains("foreign"), "{}", run.errors);
    let good = write(folder.path(), "good.nt", GOOD);
    fails(
        &["load", "-l", text(&foreign), text(&good)],
        1,
        &["foreign"],
    );
    assert_eq!(
        fs::read_to_string(foreign.join("precious.txt")).expect("kept"),
        "do not touch"
    );
}

#[test]
fn a_damaged_block_is_named_by_check_and_never_served() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    assert_eq!(run(["check", "-l", text(&store)]).code, Some(0));
    let everything = "SELECT * WHERE { ?s ?p ?o }";
    // Rows come in no order where none is asked for.
    let sorted = |answer: &str| {
        let mut lines: Vec<String> = answer.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let sound = run(["query", "-l", text(&store), "--query", everything]);
    let sound = sorted(&sound.output);
    let mut damaged_files = 0;
    for file in files_below(&store) {
        let bytes = fs::read(&file).expect("readable");
        if bytes.len() < 1024 {
            continue;
        }
        damaged_files += 1;
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 0x10;
        fs::write(&file, &damaged).expect("writable");
        let check = run(["check", "-l", text(&store)]);
        let name = file.file_name().expect("a file").to_string_lossy();
        assert_eq!(
            check.code,
            Some(9),
            "{name}: {}{}",
            check.output,
            check.errors
        );
        let said = format!("{}{}", check.output, check.errors);
        assert!(said.contains(&*name), "{name} is not named: {said}");
        let query = run(["query", "-l", text(&store), "--query", everything]);
        let honest = query.code != Some(0) || sorted(&query.output) == sound;
        assert!(honest, "{name}: an answer was made from damaged data");
        fs::write(&file, &bytes).expect("writable");
    }
    assert!(
        damaged_files >= 4,
        "only {damaged_files} files were damaged"
    );
    assert_eq!(run(["check", "-l", text(&store)]).code, Some(0));
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn a_port_in_use_is_an_error_of_its_own() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let folder = folder();
    let data = write(folder.path(), "good.nt", GOOD);
    fails(
        &["serve", "--bind", &address, text(&data)],
        4,
        &[&address, "in use"],
    );
}

#[test]
fn an_unknown_configuration_key_names_the_nearest() {
    let folder = folder();
    let config = write(folder.path(), "c.toml", "[query]\ntimeoutt = \"3s\"\n");
    let said = ["query.timeoutt", "did you mean `query.timeout`?"];
    fails(&["--config", text(&config), "config", "check"], 3, &said);
    let config = write(folder.path(), "d.toml", "[query]\ntimeout = \"3\"\n");
    fails(
        &["--config", text(&config), "config", "check"],
        3,
        &["query.timeout", "unit"],
    );
}

#[test]
fn a_gpu_that_must_be_there_and_is_not_is_said_before_anything_is_answered() {
    let folder = folder();
    let data = write(folder.path(), "good.nt", GOOD);
    // No machine has so many.
    let config = write(folder.path(), "c.toml", "[gpu]\ndevice = 1000\n");
    let ask = |when| {
        let asked = ["--gpu", when, "--query", "ASK { ?s ?p ?o }"];
        let source = ["--config", text(&config), "query", "--data", text(&data)];
        [&source[..], &asked].concat()
    };
    let said = ["gpu.use = always", "no device", "--gpu auto"];
    fails(&ask("always"), 3, &said);
    fails(&ask("often"), 2, &["--gpu", "auto, never, always"]);
    for when in ["auto", "never"] {
        let asked = run(ask(when));
        assert_eq!(asked.code, Some(0), "{when}: {}", asked.errors);
        assert_eq!(asked.errors, "", "{when}: nobody has to know");
    }
}

#[test]
fn bad_queries_end_with_their_place_or_their_limit() {
    let folder = folder();
    let data = write(folder.path(), "good.nt", GOOD);
    let ask = |query: &str| {
        let file = write(folder.path(), "query.rq", query);
        run(["query", "--data", text(&data), "--query-file", text(&file)])
    };
    let syntax = ask("SELECT *\nWHERE { ?s ?p }");
    assert_eq!(syntax.code, Some(6), "{}", syntax.errors);
    assert!(
        syntax.errors.contains("line 2, column"),
        "{}",
        syntax.errors
    );
    let several = ask("SELECT *\nWHERE { ?s ?p }\nLIMIT ten");
    for said in [
        "line 2, column 15: ",
        "2 | WHERE { ?s ?p }",
        "line 3, column 7: ",
        "3 | LIMIT ten",
    ] {
        assert!(several.errors.contains(said), "{}", several.errors);
    }
    let unsupported = ask("SELECT * WHERE { ?s ?p ?o\n FILTER(<http://e/f>(?o)) }");
    assert_eq!(unsupported.code, Some(6), "{}", unsupported.errors);
    assert!(
        unsupported.errors.contains("function <http://e/f>"),
        "{}",
        unsupported.errors
    );
    assert!(
        unsupported.errors.contains("line 2, column 9"),
        "{}",
        unsupported.errors
    );
    let nested = ask(&format!("ASK {}{}", "{".repeat(10_000), "}".repeat(10_000)));
    assert_eq!(nested.code, Some(7), "{}", nested.errors);
    let brackets = ["(".repeat(5000), ")".repeat(5000)];
    let nested = ask(&format!("ASK {{ FILTER{}1{} }}", brackets[0], brackets[1]));
    assert_eq!(nested.code, Some(7), "{}", nested.errors);
    let long = ask(&format!("ASK {{ }} # {}", "x".repeat(2 << 20)));
    assert_eq!(long.code, Some(7), "{}", long.errors);
}

#[test]
fn an_endless_cross_product_ends_at_its_limits() {
    let folder = folder();
    let data = lubm(folder.path(), 0, 1);
    let cross = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?c != ?i) }";
    let limits = ["--timeout", "500ms"];
    let mut arguments = vec!["query", "--data", text(&data), "--query", cross];
    arguments.extend(limits);
    fails(&arguments, 7, &["time"]);
    let sorted = "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f";
    let memory = [
        "query",
        "--data",
        text(&data),
        "--query",
        sorted,
        "--memory-limit",
        "32MiB",
    ];
    fails(&memory, 7, &["memory"]);
    let distinct = "SELECT DISTINCT ?a ?d WHERE { ?a ?b ?c . ?d ?e ?f }";
    let memory = [
        "query",
        "--data",
        text(&data),
        "--query",
        distinct,
        "--memory-limit",
        "32MiB",
    ];
    fails(&memory, 7, &["memory"]);
}

#[test]
fn usage_errors() {
    fails(&["fly"], 2, &["fly"]);
    fails(&["query", "--query", "ASK {}"], 2, &["--location"]);
    fails(
        &[
            "generate",
            "lubm",
            "--universities",
            "1",
            "--format",
            "docx",
            "-o",
            "-",
        ],
        2,
        &["docx"],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let folder = folder();
    let data = lubm(folder.path(), 0, 1);
    let everything = "SELECT * WHERE { ?s ?p ?o }";
    let query = ["query", "--data", text(&data), "--query", everything];
    let explain: Vec<&str> = query.iter().copied().chain(["--explain"]).collect();
    let lines: [&[&str]; 4] = [&query, &explain, &["version"], &["completions", "bash"]];
    for arguments in lines {
        let mut child = common::started(common::somersault().args(arguments));
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the child is ours");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_query_that_fails_before_its_first_row_prints_nothing() {
    let folder = folder();
    let data = write(folder.path(), "good.nt", GOOD);
    let query = "SELECT ?s WHERE { ?s ?p ?o SERVICE <http://e/> { ?o ?q ?r } }";
    for format in ["csv", "tsv", "json", "xml", "table"] {
        let run = run([
            "query",
            "--data",
            text(&data),
            "--results-format",
            format,
            "--query",
            query,
        ]);
        assert_eq!((run.code, &*run.output), (Some(7), ""), "{format}");
        assert!(run.errors.contains("http://e/"), "{}", run.errors);
    }
}

#[test]
fn plans_are_text_or_json_and_latencies_have_no_format() {
    for (flags, format) in [
        (&["--explain"][..], "csv"),
        (&["--profile"], "turtle"),
        (&["--repeat", "2"], "json"),
    ] {
        let mut arguments = vec!["query", "-l", "nowhere", "--query", "ASK {}"];
        arguments.extend(flags);
        arguments.extend(["--results-format", format]);
        fails(&arguments, 2, &["--results-format"]);
    }
    let folder = folder();
    let data = write(folder.path(), "good.nt", GOOD);
    // A graph's plan is JSON, too.
    let query = "CONSTRUCT WHERE { ?s ?p ?o }";
    let plan = |flag: &str| {
        let format = "--results-format=json";
        let run = run([
            "query",
            "--data",
            text(&data),
            "--query",
            query,
            flag,
            format,
        ]);
        assert_eq!(run.code, Some(0), "{}", run.errors);
        serde_json::from_str::<serde_json::Value>(&run.output).expect("a document")
    };
    assert!(plan("--explain")["steps"][0].get("found").is_none());
    assert!(plan("--profile")["steps"][0]["found"]["rows"].is_u64());
}

#[test]
fn warnings_go_to_standard_error() {
    let folder = folder();
    let quad = "<http://e/s> <http://e/name> \"x\" <http://e/g> .\n";
    let data = write(folder.path(), "graphs.nq", quad);
    let ask = |query: &str, flags: &[&str]| {
        let data = text(&data);
        let mut arguments = vec![
            "query",
            "--data",
            data,
            "--results-format",
            "tsv",
            "--query",
            query,
        ];
        arguments.extend(flags);
        let run = run(arguments);
        assert_eq!(run.code, Some(0), "{}", run.errors);
        (run.output, run.errors)
    };
    let query = "SELECT ?n { ?s <http://e/name> ?n }";
    let (output, errors) = ask(query, &[]);
    assert_eq!(output, "?n\n");
    assert!(errors.contains("--union-default-graph"), "{errors}");
    let (output, errors) = ask(query, &["--union-default-graph"]);
    assert_eq!((&*output, &*errors), ("?n\n\"x\"\n", ""));
    let slip = "SELECT ?n { GRAPH ?g { ?s <http://e/nmae> ?n } }";
    let (output, errors) = ask(slip, &[]);
    assert_eq!(output, "?n\n");
    let told = "warning: no statement has <http://e/nmae>; <http://e/name> has 1\n";
    assert_eq!(errors, told);
}

#[test]
fn every_verb_reads_the_configuration() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&write(folder.path(), "good.nt", GOOD)]);
    let config = write(folder.path(), "c.toml", "[query]\ntimeoutt = \"3s\"\n");
    for verb in ["check", "stats", "dump"] {
        fails(
            &["--config", text(&config), verb, "-l", text(&store)],
            3,
            &["query.timeoutt"],
        );
    }
}

#[test]
fn what_a_store_suffers_has_one_exit_code() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    let more = write(folder.path(), "more.nt", GOOD);
    let verbs = |store: &Path, code: i32| {
        let everything = "SELECT * WHERE { ?s ?p ?o }";
        fails(
            &["query", "-l", text(store), "--query", everything],
            code,
            &[],
        );
        fails(&["dump", "-l", text(store)], code, &[]);
        fails(&["check", "-l", text(store)], code, &[]);
        fails(&["load", "-l", text(store), text(&more)], code, &[]);
    };
    let largest = files_below(&store)
        .into_iter()
        .max_by_key(|file| fs::metadata(file).expect("it is there").len());
    let largest = largest.expect("a store has files");
    let bytes = fs::read(&largest).expect("readable");
    fs::write(&largest, &bytes[..bytes.len() / 2]).expect("writable");
    verbs(&store, 9);
    fs::write(&largest, &bytes).expect("writable");
    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign).expect("writable");
    write(&foreign, "precious.txt", "do not touch");
    verbs(&foreign, 1);
}

#[test]
fn a_dump_that_fails_leaves_the_old_file() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&write(folder.path(), "good.nt", GOOD)]);
    let old = write(folder.path(), "old.nq", "precious");
    let unknown = [
        "dump",
        "-l",
        text(&store),
        "--graph",
        "http://e/none",
        "-o",
        text(&old),
    ];
    fails(&unknown, 2, &["http://e/none"]);
    assert_eq!(fs::read_to_string(&old).expect("kept"), "precious");
    let run = run(["dump", "-l", text(&store), "-o", text(&old)]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(fs::read_to_string(&old).expect("written"), GOOD);
}

#[test]
fn a_store_that_lost_its_current_file_is_not_swept_away() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&lubm(folder.path(), 0, 1)]);
    let before = count(&store);
    fs::remove_file(store.join("CURRENT")).expect("it is there");
    load(&store, &[&write(folder.path(), "more.nt", GOOD)]);
    assert_eq!(count(&store), before + 1);
}

/// Ontologies in a syntax that is not RDF's are named by it, under whatever name they come.
#[test]
fn syntaxes_of_owl_are_named() {
    let folder = folder();
    let store = folder.path().join("store");
    let functional = "# made by hand\nPrefix(:=<http://e/>)\nOntology(<http://e/o>)\n";
    let manchester = "Prefix: : <http://e/>\nOntology: <http://e/o>\n";
    let xml = "<?xml version=\"1.0\"?>\n<Ontology xmlns=\"http://www.w3.org/2002/07/owl#\"\n \
               ontologyIRI=\"http://e/o\"></Ontology>\n";
    for (content, said) in [
        (functional, "the functional syntax of OWL"),
        (manchester, "the Manchester syntax of OWL"),
        (xml, "OWL/XML"),
    ] {
        for name in ["o.owl", "o.ttl", "o.nt", "o.jsonld"] {
            let file = write(folder.path(), name, content);
            let said = [name, said, "robot convert"];
            fails(&["load", "-l", text(&store), text(&file)], 6, &said);
            fails(
                &["query", "--data", text(&file), "--query", "ASK {}"],
                6,
                &said,
            );
        }
        let read = run_with_input(
            &["load", "-l", text(&store), "--format", "ttl", "-"],
            content.as_bytes(),
        );
        assert_eq!(read.code, Some(6), "{}", read.errors);
        assert!(read.errors.contains(said), "{}", read.errors);
    }
    assert!(!store.join("CURRENT").exists());
}

#[test]
fn formats_have_the_names_that_other_tools_use() {
    let folder = folder();
    let xml = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\
               <rdf:Description rdf:about=\"http://e/s\"><p xmlns=\"http://e/\">o</p>\
               </rdf:Description></rdf:RDF>";
    let file = write(folder.path(), "data", xml);
    for name in ["rdfxml", "rdf", "xml", "rdf-xml", "rdf/xml", "RDF/XML"] {
        let store = folder.path().join(name.replace('/', "_"));
        let loaded = run(["load", "-l", text(&store), "--format", name, text(&file)]);
        assert_eq!(loaded.code, Some(0), "{name}: {}", loaded.errors);
        let dumped = run(["dump", "-l", text(&store), "--format", name, "-o", "-"]);
        assert_eq!(dumped.code, Some(0), "{name}: {}", dumped.errors);
        assert!(
            dumped.output.contains("<rdf:RDF"),
            "{name}: {}",
            dumped.output
        );
    }
    for name in ["rdfxml", "rdf", "rdf-xml", "rdf/xml"] {
        let query = [
            "query",
            "--data",
            text(&file),
            "--format",
            "rdfxml",
            "--query",
        ];
        let construct = "CONSTRUCT WHERE { ?s ?p ?o }";
        let answer = run([&query[..], &[construct, "--results-format", name]].concat());
        assert_eq!(answer.code, Some(0), "{name}: {}", answer.errors);
        assert!(
            answer.output.contains("<rdf:RDF"),
            "{name}: {}",
            answer.output
        );
    }
}

/// Each file of a store begins with what it is; another beginning is damage, not another program's store.
#[test]
fn a_file_that_does_not_begin_as_it_should_is_damage() {
    let folder = folder();
    let store = folder.path().join("store");
    load(&store, &[&write(folder.path(), "good.nt", GOOD)]);
    let insert = "INSERT DATA { <http://e/a> <http://e/p> \"b\" }";
    let updated = run(["update", "-l", text(&store), "--update", insert]);
    assert_eq!(updated.code, Some(0), "{}", updated.errors);
    let mut folders = vec![store.clone()];
    let mut damaged = 0;
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("it is ours") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let whole = fs::read(&path).expect("readable");
            if whole.is_empty() {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[0] ^= 0x20;
            // The count beside the log has two beginnings.
            if path.ends_with("DURABLE") {
                bytes[512] ^= 0x20;
            }
            fs::write(&path, bytes).expect("writable");
            let check = run(["check", "-l", text(&store)]);
            let all = format!("{}: {}{}", path.display(), check.output, check.errors);
            assert_eq!(check.code, Some(9), "{all}");
            let query = "SELECT * { ?s ?p ?o FILTER(STR(?o) != \"\") }";
            let query = run(["query", "-l", text(&store), "--query", query]);
            let is_opened_by = ["CURRENT", "MANIFEST", "DURABLE"];
            if is_opened_by.iter().any(|name| path.ends_with(name)) {
                assert_eq!(query.code, Some(9), "{all}{}", query.errors);
            }
            assert!(matches!(query.code, Some(0 | 9)), "{all}{}", query.errors);
            fs::write(&path, whole).expect("writable");
            damaged += 1;
        }
    }
    assert!(damaged > 15, "{damaged}");
    assert_eq!(count(&store), 2);
}

#[test]
fn a_bad_constant_pattern_does_not_parse() {
    let folder = folder();
    let good = write(folder.path(), "good.nt", GOOD);
    let store = folder.path().join("store");
    load(&store, &[&good]);
    for (expression, said) in [
        (r#"REGEX(STR(?o), "a[")"#, "a class is not closed"),
        (r#"REGEX(STR(?o), "a", "k")"#, "the flags may be"),
        (r#"REPLACE(STR(?o), "*", "b") = "b""#, "nothing before it"),
    ] {
        let select = format!("SELECT * {{ ?s ?p ?o\nFILTER({expression}) }}");
        let said = ["line 2, column", said];
        fails(
            &["query", "--data", text(&good), "--query", &select],
            6,
            &said,
        );
        fails(&["query", "-l", text(&store), "--query", &select], 6, &said);
        let delete = format!("DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o\nFILTER({expression}) }}");
        fails(
            &["update", "-l", text(&store), "--update", &delete],
            6,
            &said,
        );
    }
    assert_eq!(count(&store), 1);
}

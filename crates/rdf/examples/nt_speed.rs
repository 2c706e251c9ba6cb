//! Speed of the N-Triples tokenizer on one core, beside `oxttl`'s strict parser.
//!
//! `cargo run --release -p rdf --example nt_speed [FILE]`: the file, or 100 MB of lines in the shape
//! of LUBM's (department IRIs, types, names and telephone numbers as literals). Prints the best of
//! five runs.

use rdf::nt::{Dialect, Parser};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read(path).expect("the file is readable"),
        None => lubm_like(100_000_000).into_bytes(),
    };
    let mut statements = 0;
    let ours = best_of(5, || {
        let mut parser = Parser::new(&text, Dialect::NTriples, 1);
        statements = 0;
        while let Some(statement) = parser.next() {
            black_box(statement.expect("the lines are valid"));
            statements += 1;
        }
    });
    report("tokenizer", text.len(), statements, ours);
    let theirs = best_of(2, || {
        for triple in oxttl::NTriplesParser::new().for_slice(&text) {
            black_box(triple.expect("the lines are valid"));
        }
    });
    report("oxttl", text.len(), statements, theirs);
}

fn best_of(runs: usize, mut run: impl FnMut()) -> Duration {
    let timed = (0..runs).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn report(name: &str, bytes: usize, statements: usize, time: Duration) {
    let seconds = time.as_secs_f64();
    let megabytes = bytes as f64 / 1e6 / seconds;
    let millions = statements as f64 / 1e6 / seconds;
    println!("{name}: {megabytes:.0} MB/s, {millions:.2} M triples/s");
}

fn lubm_like(bytes: usize) -> String {
    const ONTOLOGY: &str = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#";
    const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
    let mut text = String::with_capacity(bytes + 1000);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        let department = format!(
            "http://www.Department{}.University{}.edu",
            number % 20,
            number / 9999
        );
        let student = format!("{department}/GraduateStudent{number}");
        let university = number % 97;
        let _ = write!(
            text,
            "<{student}> <{TYPE}> <{ONTOLOGY}GraduateStudent> .\n\
             <{student}> <{ONTOLOGY}memberOf> <{department}> .\n\
             <{student}> <{ONTOLOGY}takesCourse> <{department}/GraduateCourse{university}> .\n\
             <{student}> <{ONTOLOGY}undergraduateDegreeFrom> <http://www.University{university}.edu> .\n\
             <{student}> <{ONTOLOGY}name> \"GraduateStudent{number}\" .\n\
             <{student}> <{ONTOLOGY}emailAddress> \"GraduateStudent{number}@Department.edu\" .\n"
        );
    }
    text
}

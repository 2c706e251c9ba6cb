//! How long reading a text takes: LUBM's q4 and q5 as texts that were not seen before.
//!
//! `cargo run --release -p query --example reading [WAY]`: nanoseconds a text, medians of rounds that take turns;
//! of one way alone (`tokens`, `query`, `library`) for a profiler. All of them with the binary's allocator.

use query::{ParseOptions, parse, scan};
use std::hint::black_box;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PREFIXES: &str = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\n\
    PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>\n";
const Q4: &str = "SELECT ?x ?y1 ?y2 ?y3 WHERE {\n\
    ?x rdf:type ub:FullProfessor .\n\
    ?x ub:worksFor <http://www.Department0.University0.edu> .\n\
    ?x ub:name ?y1 .\n?x ub:emailAddress ?y2 .\n?x ub:telephone ?y3\n}";
const Q5: &str = "SELECT ?x WHERE {\n?x rdf:type ub:UndergraduateStudent .\n\
    ?x ub:memberOf <http://www.Department0.University0.edu>\n}";
const ROUNDS: usize = 41;
const TEXTS_A_ROUND: u32 = 5_000;

fn main() {
    let texts = [("q4", Q4), ("q5", Q5)].map(|(name, text)| (name, format!("{PREFIXES}{text}")));
    let options = ParseOptions::default();
    let only = std::env::args().nth(1).unwrap_or_default();
    for (name, text) in &texts {
        let ways: [(&str, &dyn Fn()); 3] = [
            ("tokens", &|| {
                drop(black_box(scan(black_box(text), &options)));
            }),
            ("query", &|| {
                drop(black_box(parse(black_box(text), &options)));
            }),
            ("the library's tree", &|| {
                let parser = spargebra::SparqlParser::new();
                drop(black_box(parser.parse_query(black_box(text))));
            }),
        ];
        let mut times: [Vec<u64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for ((called, way), times) in ways.iter().zip(&mut times) {
                if !called.contains(&only) {
                    continue;
                }
                let start = Instant::now();
                for _ in 0..TEXTS_A_ROUND {
                    way();
                }
                times.push(start.elapsed().as_nanos() as u64 / u64::from(TEXTS_A_ROUND));
            }
        }
        for ((way, _), mut times) in ways.iter().zip(times) {
            times.sort_unstable();
            if let Some(median) = times.get(ROUNDS / 2) {
                println!("{name} {way}: {median} ns");
            }
        }
    }
}

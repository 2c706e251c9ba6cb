//! What writing and reading rows and a plan takes: `cargo run --release -p somersault-query --example wire_speed`.

#![allow(clippy::unwrap_used)] // a measurement may fail as a test does

use oxrdf::{Literal, Term};
use query::plan::Slot;
use query::statistics::Statistics;
use query::wire::{decode_plan, decode_rows, encode_plan, encode_rows};
use query::{ParseOptions, PlanOptions, Planner};
use rdf::{Tag, VertexId};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COLUMNS: u16 = 4;
const RUNS: usize = 31;

fn main() {
    for count in [1 << 10, 1 << 16, 1 << 20] {
        rows("stored ids", count, |_| false);
        rows("a local id in 16", count, |cell| cell % 16 == 0);
    }
    plan();
}

/// A column's cells, from a sequence that no cache knows.
fn column(count: usize, is_local: fn(u64) -> bool) -> Vec<VertexId> {
    let cell = |at: u64| {
        let bits = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if is_local(at) {
            VertexId::new(Tag::QueryLocal, bits >> 54)
        } else {
            VertexId::new(Tag::Iri, bits >> 34)
        }
    };
    (0..count as u64).map(cell).collect()
}

fn rows(name: &str, count: usize, is_local: fn(u64) -> bool) {
    let terms: Vec<Term> = (0..1024)
        .map(|number| Literal::new_simple_literal(format!("local {number}")).into())
        .collect();
    let columns: Vec<_> = (0..COLUMNS)
        .map(|at| (Slot(at), column(count, is_local)))
        .collect();
    let given: Vec<_> = columns
        .iter()
        .map(|(slot, cells)| (*slot, &cells[..]))
        .collect();
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    for _ in 0..RUNS {
        bytes.clear();
        let start = Instant::now();
        let term_of = |id: VertexId| Some(terms[id.payload() as usize].as_ref());
        encode_rows(count as u64, &given, term_of, &mut bytes).unwrap();
        writes.push(start.elapsed());
        let start = Instant::now();
        drop(std::hint::black_box(decode_rows(&bytes).unwrap()));
        reads.push(start.elapsed());
    }
    writes.sort();
    reads.sort();
    let cells = count as f64 * f64::from(COLUMNS);
    let [write, read] = [writes, reads].map(|times| times[RUNS / 2].as_nanos() as f64 / cells);
    println!("{count} rows, {name}: write {write:.2} ns, read {read:.2} ns a row and column");
}

fn plan() {
    let text = "SELECT ?x (COUNT(?y) AS ?n) { ?x a <http://e/Student> ; <http://e/advisor> ?y \
                OPTIONAL { ?y <http://e/teacherOf> ?z FILTER(?z != ?x && STRLEN(STR(?z)) > 3) } } \
                GROUP BY ?x ORDER BY ?n LIMIT 10";
    let query = query::parse(text, &ParseOptions::default()).unwrap();
    let ids = vec![None; query.constants().len()];
    let planner = Planner::new(Statistics::default());
    let plan = planner
        .plan(&query, &ids, &[], PlanOptions::DEFAULT)
        .unwrap();
    let mut bytes = Vec::new();
    let (mut write, mut read) = (u128::MAX, u128::MAX);
    for _ in 0..1000 {
        bytes.clear();
        let start = Instant::now();
        encode_plan(&plan, &ids, &mut bytes).unwrap();
        write = write.min(start.elapsed().as_nanos());
        let start = Instant::now();
        drop(std::hint::black_box(decode_plan(&bytes).unwrap()));
        read = read.min(start.elapsed().as_nanos());
    }
    println!(
        "a plan of {} bytes: write {write} ns, read {read} ns",
        bytes.len()
    );
}

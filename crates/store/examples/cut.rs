//! Measures a cut: `cut UNIVERSITIES STORE PARTS [SHIFT [NODES ...]]`.
//!
//! Makes LUBM of that many universities where there is no store yet, cuts it for each number of nodes (1, 2, 4, 8), checks
//! the parts together, and prints how even they are, what crosses, and the bytes of each kind of file by edge.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use store::check::{IdLimits, PartsCheck};
use store::cut::{CutSizes, Deal, PartOf, PartSizes, cut_store, part_name};
use store::directory::open;
use store::disk::RealDisk;
use store::load::{LoadOptions, LoadWatch, Source, Syntax, Unwatched, load_into};
use workload::lubm::{Lubm, Parameters};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [universities, store, parts, rest @ ..] = &arguments[..] else {
        eprintln!("usage: cut UNIVERSITIES STORE PARTS [SHIFT [NODES ...]]");
        std::process::exit(2);
    };
    let (store, parts) = (Path::new(store), Path::new(parts));
    if open(&RealDisk, store).is_err() {
        load(
            universities.parse().expect("a number of universities"),
            store,
        );
    }
    let mut rest = rest.iter();
    let shift = rest.next();
    let shift = shift.map(|shift| shift.parse().expect("a binary logarithm"));
    let mut nodes: Vec<u16> = rest
        .map(|nodes| nodes.parse().expect("a number of nodes"))
        .collect();
    if nodes.is_empty() {
        nodes.extend([1, 2, 4, 8]);
    }
    for nodes in nodes {
        let deal = Deal::Evenly { nodes, shift };
        let start = Instant::now();
        let sizes = cut_store(&RealDisk, store, parts, &deal).expect("it can be cut");
        let seconds = start.elapsed().as_secs_f64();
        let first = open(&RealDisk, &parts.join(part_name(0))).expect("a part");
        let mark = PartOf::open(&first).expect("a mark").expect("it is a part");
        let bits = mark.placement().shift();
        println!("{nodes} parts in blocks of 2^{bits}: {seconds:.1} s");
        print(&sizes);
        check(nodes, parts);
    }
}

fn load(universities: u32, store: &Path) {
    let lubm = Lubm::new(
        Parameters::standard(universities),
        workload::lubm::Syntax::NTriples,
    );
    let chunks = lubm.expect("a number of universities").chunks(1);
    let chunks = chunks.expect("a thread").map(|chunk| chunk.bytes);
    let source = Source::chunks("lubm", Syntax::NTriples, chunks);
    let options = LoadOptions::new(2, *b"a key of 16 byte");
    let start = Instant::now();
    let watch = LoadWatch {
        progress: &Unwatched,
        clock: &|| start.elapsed(),
    };
    let report = load_into(&RealDisk, store, vec![source], &options, watch).expect("it loads");
    println!("{} quads loaded", report.quads);
}

fn print(sizes: &CutSizes) {
    let (edges, links) = (sizes.sum(PartSizes::edges), sizes.sum(|part| part.links));
    println!(
        "  imbalance: edges {:.3} (out {:.3}, in {:.3}), keys {:.3}, bytes {:.3}; {:.1} % of {links} links cross; \
         {:.2} bytes an edge",
        sizes.imbalance(PartSizes::edges),
        sizes.imbalance(|part| part.out_edges),
        sizes.imbalance(|part| part.in_edges),
        sizes.imbalance(|part| part.keys),
        sizes.imbalance(|part| part.bytes),
        100.0 * sizes.crossing_share(),
        sizes.sum(|part| part.bytes) as f64 / edges as f64
    );
}

fn check(nodes: u16, parts: &Path) {
    let start = Instant::now();
    let mut together = PartsCheck::default();
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    let mut findings = Vec::new();
    for node in 0..nodes {
        let opened = open(&RealDisk, &parts.join(part_name(node))).expect("a part");
        findings.extend(together.add(&opened, &IdLimits::NONE));
        for (name, more) in opened.sizes() {
            *bytes.entry(name).or_default() += more;
        }
    }
    findings.extend(together.finish());
    println!(
        "  checked in {:.1} s: {findings:?}",
        start.elapsed().as_secs_f64()
    );
    for stem in ["keys", "offsets", "neighbours", "lists", "sets", "segments"] {
        let of = |side: &str| bytes.get(&format!("{stem}-{side}.bin")).copied();
        println!(
            "  {stem:<10} {:>12}",
            of("out").unwrap_or(0) + of("in").unwrap_or(0)
        );
    }
}

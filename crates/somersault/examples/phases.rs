//! Where the time of the LUBM queries goes: parsing, planning, walking; medians.
//!
//! `cargo run --release -p somersault --example phases -- STORE [RUNS] [q4,q5,...|all] [new]`
//!
//! With `new` no plan is kept, so every text is that of a new shape.

use somersault::{Database, Options, Request};
use std::path::Path;
use std::time::{Duration, Instant};
use workload::queries::QUERIES;

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1e3
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("a store of LUBM data");
    let runs: usize = arguments
        .next()
        .map_or(10_000, |text| text.parse().expect("a number"));
    let only = arguments.next().filter(|only| only != "all");
    let is_new = arguments.next().is_some();
    let options = Options {
        query_threads: 1,
        plan_cache_bytes: if is_new {
            0
        } else {
            Options::default().plan_cache_bytes
        },
        ..Options::default()
    };
    let database = Database::open(Path::new(&store), &options).expect("the store");
    println!("query   parse    plan    walk   whole, us");
    for query in QUERIES {
        if only
            .as_ref()
            .is_some_and(|only| !only.split(',').any(|name| name == query.name))
        {
            continue;
        }
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..runs {
            let begin = Instant::now();
            let mut asked = database.start(&Request::new(query.text)).expect("it plans");
            asked.run_folded().expect("it runs");
            let timings = asked.timings();
            drop(asked);
            let whole = begin.elapsed();
            times[0].push(timings.parse);
            times[1].push(timings.plan);
            times[2].push(whole.saturating_sub(timings.parse + timings.plan));
            times[3].push(whole);
        }
        let [parse, plan, walk, whole] = times.each_mut().map(|times| median(times));
        println!(
            "{:5} {parse:7.2} {plan:7.2} {walk:7.2} {whole:7.2}",
            query.name
        );
    }
}

//! The light queries of LUBM under an instruction counter: what `cargo xtask instructions` runs.
//!
//! Each query is asked a number of times within [`measured`], for which the counter is told to count
//! that function alone and to write a count whenever it returns; a line on standard output says for
//! each of them, in this order, what was counted. First with plans that are kept, then without.

use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::{Database, Options, Request};
use std::hint::black_box;
use workload::lubm::{Lubm, Parameters};
use workload::queries::{QUERIES, Query};

/// Times that a query is asked within a count.
const TIMES: u32 = 50;
/// Times that it is asked before: a shape is kept from its second text on.
const WARM_UP: u32 = 5;
/// The heavy ones are judged by time.
const HEAVY: [&str; 4] = ["q1", "q2", "q3", "q7"];

fn main() {
    let text = lubm();
    for (kind, plan_cache_bytes) in [("kept", 32 << 20), ("new", 0)] {
        let database = database(&text, plan_cache_bytes);
        let light = QUERIES.iter().filter(|query| !HEAVY.contains(&query.name));
        for query in light {
            for _ in 0..WARM_UP {
                ask(&database, query);
            }
            measured(&database, query);
            println!("{} {kind} {TIMES}", query.name);
        }
    }
}

#[inline(never)]
fn measured(database: &Database, query: &Query) {
    for _ in 0..TIMES {
        ask(database, query);
    }
}

fn ask(database: &Database, query: &Query) {
    let mut asked = database.start(&Request::new(query.text)).expect("it plans");
    black_box(asked.run_folded().expect("it runs"));
}

fn lubm() -> Vec<u8> {
    let parameters = Parameters::standard(1);
    let lubm = Lubm::new(parameters, workload::lubm::Syntax::NTriples).expect("a generator");
    let mut text = lubm.header().to_vec();
    for university in lubm.parameters().indices() {
        lubm.append_university(university, &mut text);
    }
    text
}

fn database(text: &[u8], plan_cache_bytes: u64) -> Database {
    let source = Source::reader("lubm.nt", text).with_syntax(Syntax::NTriples);
    let request = load::Request {
        threads: 1,
        ..load::Request::default()
    };
    let options = Options {
        query_threads: 1,
        plan_cache_bytes,
        ..Options::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("it loads").0
}

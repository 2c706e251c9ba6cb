//! All figures, a line each with its kind first, as `cargo xtask scale` reads them.

use super::costs::{ALL, Costs};
use super::drive::Cluster;
use super::graph::{Whole, microseconds};
use super::heavy::{self, MODES};
use super::light::{Lights, Where};
use super::{plans, tcp};
use std::rc::Rc;

/// Clients of a node.
const CLIENTS: usize = 4;

/// What is to be run: `UNIVERSITIES RUNS COSTS,COSTS NODES,NODES SHIFT`.
struct FigureSizes {
    universities: u32,
    runs: usize,
    costs: Vec<Costs>,
    nodes: Vec<u16>,
    shift: Option<u8>,
}

impl FigureSizes {
    fn of(text: &str) -> Option<FigureSizes> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [universities, runs, costs, nodes, shift] = words[..] else {
            return None;
        };
        let named = |name: &str| ALL.into_iter().find(|costs| costs.name == name);
        Some(FigureSizes {
            universities: universities.parse().ok()?,
            runs: runs.parse().ok()?,
            costs: costs.split(',').map(named).collect::<Option<_>>()?,
            nodes: nodes
                .split(',')
                .map(|node| node.parse().ok())
                .collect::<Option<_>>()?,
            shift: if shift == "usual" {
                None
            } else {
                Some(shift.parse().ok()?)
            },
        })
    }
}

/// Time in which light queries count.
const LIGHT_TIME: u64 = 40_000_000;

const HEAVY_HEAD: &str = "heavy,universities,costs,nodes,query,mode,us,messages,bytes,reads,read_bytes,rows,answer_rows,tables,busy_us,busiest_us";
const LIGHT_HEAD: &str =
    "light,universities,costs,nodes,asked_at,per_second,median_us,p99_us,messages,reads,bytes";

/// Runs what the variable wants and prints it.
pub fn print() {
    let text = std::env::var("SOMERSAULT_SCALE").unwrap_or("1 1 tcp,rdma 2 usual".to_owned());
    let wanted = FigureSizes::of(&text).expect("SOMERSAULT_SCALE is five words");
    println!("{:?}", tcp::measured());
    let whole = Whole::lubm(wanted.universities);
    println!("LUBM-{}: {} edges", whole.universities, whole.quads());
    println!("{HEAVY_HEAD}\n{LIGHT_HEAD}");
    for nodes in &wanted.nodes {
        for costs in &wanted.costs {
            let mut cluster = whole.cut(*nodes, *costs, wanted.shift);
            one_at_a_time(&mut cluster, &wanted, *costs);
            let lights = Rc::new(Lights::new(&whole, &mut cluster));
            lights.ask(&mut cluster, Where::AtRandom, CLIENTS, LIGHT_TIME / 4);
            for who in [Where::AtOwner, Where::AtRandom] {
                let fared = lights.ask(&mut cluster, who, CLIENTS, LIGHT_TIME);
                let us = |per_mille| microseconds(fared.latency(per_mille));
                println!(
                    "light,{},{},{nodes},{},{:.0},{:.1},{:.1},{:.2},{:.2},{:.0}",
                    whole.universities,
                    costs.name,
                    who.name(),
                    fared.throughput(),
                    us(500),
                    us(990),
                    fared.messages,
                    fared.reads,
                    fared.bytes
                );
            }
            let most = cluster.network.traffic().under_way_max;
            let known = cluster.nodes().map(|node| node.figures().locations);
            let known = known.max_by_key(|known| known.bytes).unwrap_or_default();
            println!(
                "{} nodes, {}: most under way from one node to another {most} bytes; of others' segments a node \
                 knows {} at most, in {} bytes",
                nodes, costs.name, known.segments, known.bytes
            );
        }
    }
}

fn one_at_a_time(cluster: &mut Cluster, wanted: &FigureSizes, costs: Costs) {
    let nodes = cluster.nodes().len();
    for (query, kept) in plans(cluster) {
        for (name, mode) in MODES {
            let took = heavy::median(cluster, &kept, mode, wanted.runs);
            if let Some(rows) = query.rows(wanted.universities) {
                assert_eq!(took.answer.rows, rows, "{} {name}", query.name);
            }
            println!(
                "heavy,{},{},{nodes},{},{name},{:.1},{},{},{},{},{},{},{},{:.1},{:.1}",
                wanted.universities,
                costs.name,
                query.name,
                microseconds(took.time),
                took.messages,
                took.bytes,
                took.reads,
                took.read_bytes,
                took.rows,
                took.answer_rows,
                took.tables,
                microseconds(took.busy),
                microseconds(took.busiest)
            );
        }
    }
}

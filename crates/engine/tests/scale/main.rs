//! How a cluster scales, in virtual time: real plans on real parts of a LUBM graph, on as many nodes as one likes, behind a
//! network of which the costs are given. `docs/scale.md` has the figures and says what is model and what is measured.
//!
//! The tests run small graphs and assert what must hold of any size. `cargo xtask scale` has the figures made, by the test that
//! prints few otherwise; what it wants is in the variable `SOMERSAULT_SCALE`:
//! `UNIVERSITIES RUNS COSTS,COSTS NODES,NODES SHIFT`.
//!
//! | module | about |
//! |---|---|
//! | `costs` | what messages and reads cost |
//! | `network` | virtual time, and whose processor's time it is |
//! | `drive` | pollers, walkers and clients |
//! | `graph` | LUBM, cut into parts |
//! | `asked` | one query |
//! | `heavy`, `light` | queries one at a time, and many clients |
//! | `figures` | all of it, printed |
//! | `tcp` | what messages of `fabric::tcp` cost here |

mod asked;
mod costs;
mod drive;
mod figures;
mod graph;
mod heavy;
mod light;
mod network;
mod tcp;

use asked::{Kept, kept};
use cluster::Mode;
use costs::{RDMA, TCP};
use drive::Cluster;
use graph::Whole;
use heavy::MODES;
use light::{Lights, Where};
use std::rc::Rc;
use workload::queries::{QUERIES, Query};

/// Queries that are asked one at a time.
const ASKED: [usize; 7] = [0, 1, 2, 3, 4, 5, 6];

fn query(place: usize) -> &'static Query {
    &QUERIES[place]
}

fn plans(cluster: &mut Cluster) -> Vec<(&'static Query, Kept)> {
    let plan = |place: &usize| {
        let query = query(*place);
        (query, kept(cluster, query.text, None))
    };
    ASKED.iter().map(plan).collect()
}

#[test]
fn answers_are_those_of_one_node_whatever_the_network() {
    let whole = Whole::lubm(1);
    let mut one = whole.cut(1, RDMA, None);
    let right: Vec<_> = plans(&mut one)
        .into_iter()
        .map(|(query, kept)| {
            let took = heavy::run(&mut one, &kept, Mode::Dynamic, 0);
            let rows = query.rows(1);
            assert_eq!(Some(took.answer.rows), rows, "{}", query.name);
            assert_eq!(took.messages, 0, "{}: one node is alone", query.name);
            took.answer
        })
        .collect();
    for (nodes, costs) in [(2, TCP), (4, TCP), (4, RDMA)] {
        let mut cluster = whole.cut(nodes, costs, None);
        let plans = plans(&mut cluster);
        for ((query, kept), right) in plans.iter().zip(&right) {
            for (name, mode) in MODES {
                let took = heavy::run(&mut cluster, kept, mode, nodes - 1);
                let found = (took.answer.rows, took.answer.checksum);
                let told = format!("{} {name} on {nodes} behind {}", query.name, costs.name);
                assert_eq!(found, (right.rows, right.checksum), "{told}");
                assert!(
                    took.time > 0 && took.busiest <= took.busy,
                    "{told}: {took:?}"
                );
                match mode {
                    Mode::InPlace => assert_eq!(took.rows, 0, "{told}"),
                    _ if costs.read.is_none() => assert_eq!(took.reads, 0, "{told}"),
                    _ => {}
                }
            }
        }
        let traffic = cluster.network.traffic();
        assert_eq!(traffic.messages, traffic.arrived, "what was sent came");
        assert_eq!(traffic.bytes, traffic.arrived_bytes, "and all of it");
        let sent = cluster.nodes().map(|node| node.ground().fabric().counts());
        let sent: u64 = sent.map(|counts| counts.bytes_sent).sum();
        assert_eq!(sent, traffic.bytes, "each byte is some node's");
        let is_read = traffic.read_bytes > 0;
        assert_eq!(is_read, costs.read.is_some(), "{}", costs.name);
    }
}

/// Messages of a query that one other node owns: a question and an answer each for the parameter's id, its degree and the terms
/// of the answer; and what begins, carries and ends the walk.
const LIGHT_MESSAGES: f64 = 14.0;

/// Blocks in which most departments lie whole: 4096 ids.
const BLOCK: u8 = 12;

#[test]
fn a_light_query_concerns_few_nodes_however_many_there_are() {
    let whole = Whole::lubm(4);
    let mut messages = Vec::new();
    for nodes in [2, 4, 8] {
        let mut cluster = whole.cut(nodes, RDMA.without_reads(), Some(BLOCK));
        let lights = Rc::new(Lights::new(&whole, &mut cluster));
        // What nodes keep for all queries is asked once by each.
        lights.ask(&mut cluster, Where::AtRandom, 2, 2_000_000);
        let fared = lights.ask(&mut cluster, Where::AtRandom, 2, 2_000_000);
        assert!(fared.count > 20 && fared.rows > 20, "{fared:?}");
        assert!(fared.latency(500) > 0, "{fared:?}");
        messages.push(fared.messages);
    }
    assert!(messages[0] > 1.0, "{messages:?}");
    assert!(
        messages.iter().all(|each| *each < LIGHT_MESSAGES),
        "{messages:?}"
    );
}

#[test]
fn figures_are_printed() {
    figures::print();
}

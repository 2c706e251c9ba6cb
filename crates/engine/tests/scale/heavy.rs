//! q1 to q7, one at a time, in each mode: how long, and what went where.

use super::asked::{Answer, Asked, Kept, once};
use super::drive::Cluster;
use super::network::Nanoseconds;
use cluster::Mode;

/// The modes with the names of figures.
pub const MODES: [(&str, Mode); 3] = [
    ("in-place", Mode::InPlace),
    ("fork-join", Mode::ForkJoin),
    ("dynamic", Mode::Dynamic),
];

/// What a run of a query took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    pub answer: Answer,
    pub time: Nanoseconds,
    pub messages: u64,
    pub bytes: u64,
    /// Batches of one-sided reads, and their bytes.
    pub reads: u64,
    pub read_bytes: u64,
    /// Rows that went to later sections elsewhere, and those of the answer.
    pub rows: u64,
    pub answer_rows: u64,
    pub tables: u64,
    /// Of all nodes' cores, and of the busiest node's.
    pub busy: Nanoseconds,
    pub busiest: Nanoseconds,
}

struct Before {
    busy: Vec<Nanoseconds>,
    traffic: super::network::Traffic,
    shipped: [u64; 3],
}

fn before(cluster: &Cluster) -> Before {
    let mut shipped = [0; 3];
    for node in cluster.nodes() {
        let figures = node.figures().shipped;
        let more = [figures.rows, figures.answer, figures.tables];
        shipped
            .iter_mut()
            .zip(more)
            .for_each(|(sum, more)| *sum += more);
    }
    let busy = cluster.busy().into_iter();
    Before {
        busy: busy.map(|node| node.walking + node.polling).collect(),
        traffic: cluster.network.traffic(),
        shipped,
    }
}

/// Asks a node a query once.
pub fn run(cluster: &mut Cluster, kept: &Kept, mode: Mode, home: u16) -> Took {
    let (client, answer) = once(Asked {
        kept: kept.clone(),
        parameter: None,
        mode,
        has_terms: false,
    });
    let was = before(cluster);
    cluster.comes(home, client);
    cluster.run();
    let is = before(cluster);
    let answer = *answer.borrow();
    let nodes = is.busy.iter().zip(&was.busy);
    let busy: Vec<Nanoseconds> = nodes.map(|(is, was)| is - was).collect();
    Took {
        time: answer.ended - answer.began,
        answer,
        messages: is.traffic.messages - was.traffic.messages,
        bytes: is.traffic.bytes - was.traffic.bytes,
        reads: is.traffic.reads - was.traffic.reads,
        read_bytes: is.traffic.read_bytes - was.traffic.read_bytes,
        rows: is.shipped[0] - was.shipped[0],
        answer_rows: is.shipped[1] - was.shipped[1],
        tables: is.shipped[2] - was.shipped[2],
        busy: busy.iter().sum(),
        busiest: busy.iter().copied().max().unwrap_or(0),
    }
}

/// What all nodes' cores may take for the runs of one query.
const PATIENCE: Nanoseconds = 1_500_000_000;

/// The run in the middle of so many, or fewer where they take long, after two that do not count: nodes ask each other what they keep
/// for all queries. Each is asked of another node.
pub fn median(cluster: &mut Cluster, kept: &Kept, mode: Mode, runs: usize) -> Took {
    let nodes = cluster.nodes().len();
    run(cluster, kept, mode, 0);
    let last = (nodes - 1) as u16;
    let second = run(cluster, kept, mode, last);
    let most = (PATIENCE / second.busy.max(1)) as usize;
    let mut took: Vec<Took> = (1..=runs.min(most.max(1)))
        .map(|number| run(cluster, kept, mode, (number * 7 % nodes) as u16))
        .collect();
    took.sort_by_key(|took| took.time);
    took[took.len() / 2]
}

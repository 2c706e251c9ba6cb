//! What a lookup of a list of another node takes: by message, and read out of its memory, between nodes of one process.
//!
//! ```text
//! cargo run --release -p somersault-cluster --example list_reads [KEYS [ROUNDS]]
//! ```
//!
//! Two nodes, each polled by a thread of its own; the calling thread looks up keys that the other node owns, in batches of 1,
//! 32 and 1024, one batch after the other, each in a query of its own. Both ways take turns, batch by batch; medians of the time
//! a key. A functional predicate, and one with eight neighbours a key, in ids that are dense, and in ids of which one in forty is
//! a key.

use cluster::{Fetched, Ground, Host, Node, PartTerms, ReadPolicy, Visit};
use explore::limits::Unlimited;
use explore::{MemoryBudget, Service, Stop};
use fabric::{Event, Fabric, Local};
use query::statistics::Statistics;
use rdf::{Direction, LexiconError, Placement, Tag, VertexId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use store::cut::{Cut, PartView};
use store::testing::snapshot_of;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};
use store::{Lists, Snapshot};

/// Predicates of the graph.
const ONE: VertexId = VertexId::new(Tag::Iri, 1 << 40);
const EIGHT: VertexId = VertexId::new(Tag::Iri, 1 + (1 << 40));

type ExampleNode = Node<PartView<Snapshot>, NoTerms>;

/// Nobody asks for terms here.
struct NoTerms;

impl PartTerms for NoTerms {
    fn keys_of(
        &self,
        ids: &[VertexId],
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), LexiconError> {
        for _ in ids {
            each(None);
        }
        Ok(())
    }

    fn ids_of(
        &self,
        _: Tag,
        keys: &[&[u8]],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        ids.resize(ids.len() + keys.len(), None);
        Ok(())
    }

    fn blank_label(&self, _: VertexId) -> Option<String> {
        None
    }

    fn blank_id(&self, _: &str) -> Option<VertexId> {
        None
    }
}

/// Gives memory, and has no workers: nothing is walked here.
struct Idle;

impl Host for Idle {
    fn memory(&self, _: u64) -> Arc<dyn MemoryBudget + Send> {
        Arc::new(Unlimited)
    }

    fn service(
        &self,
        _: Option<Duration>,
        _: Arc<dyn Stop + Send>,
    ) -> Option<Arc<dyn Service + Send>> {
        None
    }

    fn wake(&self) {}
}

/// Two nodes that read by a policy.
struct Pair {
    nodes: Vec<Arc<ExampleNode>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Pair {
    fn new(whole: &Snapshot, placement: &Placement, policy: ReadPolicy) -> Pair {
        let cut = Cut::new(whole, placement.clone(), 7).expect("a graph that can be cut");
        let parts = cut.in_memory().expect("memory").into_iter();
        let node = |(part, fabric): (Snapshot, Arc<Local>)| {
            let part = PartView::unchanged(part);
            let fabric: Arc<dyn Fabric> = fabric;
            let (terms, sizes) = (NoTerms, Statistics::default());
            let ground = Ground::new(fabric, placement.clone(), None, part, terms, sizes);
            Arc::new(Node::new(ground.reading(policy), Arc::new(Idle)))
        };
        let nodes: Vec<Arc<ExampleNode>> = parts.zip(Local::nodes(2)).map(node).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let poll = |node: &Arc<ExampleNode>| {
            let (node, is_over) = (Arc::clone(node), Arc::clone(&is_over));
            thread::spawn(move || {
                let mut events: Vec<Event> = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    let fabric = node.ground().fabric();
                    fabric.poll(&mut events, Duration::from_millis(50));
                    node.handle(events.drain(..));
                }
            })
        };
        let threads = nodes.iter().map(poll).collect();
        Pair {
            nodes,
            is_over,
            threads,
        }
    }

    /// Looks a batch up in a query of its own; how long that takes, and what it did.
    fn lists(&self, segment: SegmentKey, keys: &[VertexId]) -> (Duration, Fetched) {
        loop {
            if let Some(done) = self.try_lists(segment, keys) {
                return done;
            }
            // Its poll has not said yet that the other node is there.
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn try_lists(&self, segment: SegmentKey, keys: &[VertexId]) -> Option<(Duration, Fetched)> {
        let visit = Visit::new(self.nodes[0].ground(), Arc::new(Unlimited));
        let view = visit.view();
        let mut lists = Lists::new();
        let start = Instant::now();
        while let Progress::Pending(ticket) = view
            .lists(segment, keys, GraphScope::Default, &mut lists)
            .ok()?
        {
            view.wait(ticket, Duration::from_secs(1));
        }
        Some((start.elapsed(), visit.fetched()))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic there has been printed.
            drop(thread.join());
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| {
        let number = argument.parse::<u64>();
        number.expect("a number")
    });
    let keys = arguments.next().unwrap_or(200_000);
    let rounds = arguments.next().unwrap_or(400);
    println!("{keys} keys; medians of {rounds} batches, ns a key; reads and bytes a batch");
    println!(
        "{:8} {:10} {:>6} {:>10} {:>10} {:>8} {:>6} {:>9}",
        "ids", "neighbours", "batch", "message", "read", "ratio", "reads", "bytes"
    );
    for (name, step) in [("dense", 1), ("1 of 40", 40)] {
        measure(name, keys, step, rounds as usize);
    }
}

fn measure(name: &str, keys: u64, step: u64, rounds: usize) {
    let iri = |number: u64| VertexId::new(Tag::Iri, number);
    let placement = Placement::in_turn(2, 14, Placement::SLOTS).expect("a placement");
    let mut quads = Vec::new();
    for key in 0..keys {
        let subject = iri(key * step);
        for at in 0..9 {
            let number = (key * 9 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let object = iri(number % keys * step);
            let predicate = if at == 0 { ONE } else { EIGHT };
            quads.push((subject, predicate, object, GraphScope::DEFAULT_GRAPH));
        }
    }
    let whole = snapshot_of(&quads, None);
    drop(quads);
    let pairs = [ReadPolicy::Never, ReadPolicy::OneSided];
    let pairs = pairs.map(|policy| Pair::new(&whole, &placement, policy));
    let owned: Vec<VertexId> = (0..keys)
        .map(|key| iri(key * step))
        .filter(|key| placement.is_owned(*key, 1))
        .collect();
    for (predicate, neighbours) in [(ONE, 1), (EIGHT, 8)] {
        let part = pairs[0].nodes[0].ground().part();
        let predicate = part.predicate_id(predicate).expect("it has edges");
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        for batch in [1, 32, 1024] {
            let (times, last) = timed(&pairs, segment, &owned, (batch, rounds));
            let [message, read] = times;
            let reads = last.reads;
            let bytes = last.read_bytes;
            let ratio = message / read;
            println!(
                "{name:8} {neighbours:10} {batch:6} {message:10.0} {read:10.0} {ratio:8.1} {reads:6} {bytes:9}"
            );
        }
    }
}

/// Medians of the time a key (ns), by message and by reads; and what the last batch that was read did.
fn timed(
    pairs: &[Pair; 2],
    segment: SegmentKey,
    owned: &[VertexId],
    (batch, rounds): (usize, usize),
) -> ([f64; 2], Fetched) {
    let mut times = [Vec::new(), Vec::new()];
    let mut last = Fetched::default();
    let warm = 20;
    for round in 0..rounds + warm {
        // Keys of a batch lie apart, as those of a walk's rows do.
        let key = |place: usize| owned[(round * 7919 + place * 104_729) % owned.len()];
        let keys: Vec<VertexId> = (0..batch).map(key).collect();
        for (pair, times) in pairs.iter().zip(&mut times) {
            let (time, fetched) = pair.lists(segment, &keys);
            if round >= warm {
                times.push(time);
                last = fetched;
            }
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / batch as f64
    };
    let [message, read] = &mut times;
    ([median(message), median(read)], last)
}

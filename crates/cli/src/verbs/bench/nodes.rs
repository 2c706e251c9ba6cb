//! `bench nodes`: queries over nodes of this process, in turns with another way of doing the same.
//!
//! Times are those of `bench lubm`, from text to last row. Beside each stands what a run moved between the nodes, which the
//! fabrics count, and what that costs at the prices that the fabric measured: so a way can be cheaper and slower, where one
//! processor does the work of all nodes. A run is counted once no node has anything of it left.

use super::{count_universities, output, selected};
use crate::arguments::{BenchNodes, Compared, Nodes};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::verbs::{open, query as queries};
use bench::figure::{Figure, Session};
use bench::turns::{Traffic, Turns};
use somersault::nodes::{AskedAt, Mode, PartNodes};
use somersault::{Database, Request};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::queries::Query;

/// Runs of each way that are not counted: plans are kept from the second on, and where others' lists lie is asked once.
const WARM_UP: u32 = 5;

/// How long a node may take to forget a query that is over.
const FORGOTTEN_WITHIN: Duration = Duration::from_millis(200);

/// One way of asking.
struct Way<'w> {
    name: &'static str,
    database: &'w Database,
    mode: Option<Mode>,
    asked: Option<AskedAt>,
    threads: usize,
}

/// Runs the verb.
pub(super) fn run(flags: &BenchNodes, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_gpu(&mut layers, flags.gpu)?;
    let config = settings::check(&layers)?;
    // A device is for who asks for one: for the nodes, and for what they are compared with.
    let config = match flags.gpu.when {
        Some(_) => config,
        None => open::without_device(&config),
    };
    let spread = Nodes {
        nodes: Some(flags.nodes),
        between: flags.between,
        ..Nodes::default()
    };
    let nodes = open::store_in_nodes(&flags.location, spread, &config)?;
    let is_whole = flags.compare == Compared::Whole;
    let whole = is_whole.then(|| open::store(&flags.location, &config));
    let whole = whole.transpose()?;
    for database in std::iter::once(&nodes).chain(&whole) {
        database
            .wait_until_verified()
            .map_err(|error| Failure::new(Code::Integrity, error))?;
    }
    let universities = match flags.universities {
        Some(universities) => Some(universities),
        None => count_universities(&nodes)?,
    };
    let parts = nodes.parts().expect("it was opened over parts");
    let prices = parts.prices();
    say!(
        "{} nodes: a message {} ns, a KiB {} ns, a load {} ns",
        flags.nodes,
        prices.message_ns,
        prices.kib_ns,
        prices.load_ns
    );
    let session = Session {
        bench: "nodes".to_owned(),
        data: format!(
            "lubm-{}, {} nodes",
            universities.map_or("?".to_owned(), |count| count.to_string()),
            flags.nodes
        ),
        threads: 1,
    };
    let mut figures = Vec::new();
    for query in asked_queries(&flags.only)? {
        let ways = ways(flags, &nodes, whole.as_ref(), query)?;
        let Some(ways) = ways else {
            say!("{}: it starts at no vertex", query.name);
            continue;
        };
        let turns = measured(query, universities, &ways, &parts, flags.runs)?;
        figures.extend(figures_of(&session, query, &ways, &turns));
    }
    output::put(&flags.output, &figures)
}

fn asked_queries(names: &[String]) -> Result<Vec<&'static Query>, Failure> {
    let names: Vec<String> = match names {
        [] => (1..=7).map(|number| format!("q{number}")).collect(),
        names => names.to_vec(),
    };
    selected(&names)
}

/// What is compared; `None`: a query that starts nowhere cannot be asked elsewhere.
fn ways<'w>(
    flags: &BenchNodes,
    nodes: &'w Database,
    whole: Option<&'w Database>,
    query: &Query,
) -> Result<Option<Vec<Way<'w>>>, Failure> {
    let over_nodes = |name, mode, asked| Way {
        name,
        database: nodes,
        mode,
        asked,
        threads: 1,
    };
    Ok(match (flags.compare, whole) {
        (Compared::Modes, _) => Some(vec![
            over_nodes("in-place", Some(Mode::InPlace), None),
            over_nodes("fork-join", Some(Mode::ForkJoin), None),
            over_nodes("dynamic", Some(Mode::Dynamic), None),
        ]),
        (Compared::Asked, _) => {
            let started = nodes.start(&Request::new(query.text));
            let owner = started.map_err(queries::failure)?.starts_at();
            owner.map(|owner| {
                let far = (owner + flags.nodes / 2) % flags.nodes;
                vec![
                    over_nodes("at the owner", None, Some(AskedAt::Node(owner))),
                    over_nodes("elsewhere", None, Some(AskedAt::Node(far))),
                ]
            })
        }
        (Compared::Whole, whole) => whole.map(|whole| {
            let one = Way {
                name: "whole",
                database: whole,
                mode: None,
                asked: None,
                threads: flags.threads,
            };
            vec![one, over_nodes("nodes", None, None)]
        }),
    })
}

/// All turns of a query, each answer compared.
fn measured(
    query: &Query,
    universities: Option<u32>,
    ways: &[Way<'_>],
    parts: &Arc<PartNodes>,
    runs: u32,
) -> Result<Turns, Failure> {
    let mut first = None;
    let mut run = |way: usize| {
        let way = &ways[way];
        let before = moved(parts);
        let request = Request {
            threads: Some(way.threads),
            execution: way.mode,
            asked: way.asked,
            ..Request::new(query.text)
        };
        let begin = Instant::now();
        let folded = way
            .database
            .start(&request)
            .and_then(|mut started| started.run_folded());
        let time = begin.elapsed();
        let folded = folded.map_err(queries::failure)?;
        forgotten(parts);
        let found = (folded.rows, folded.checksum);
        let expected = *first.get_or_insert(found);
        let right = universities.and_then(|count| query.rows(count));
        if found != expected || right.is_some_and(|right| right != found.0) {
            let wrong = format!(
                "{} {}: {found:?}, and {expected:?} before; rows that are right: {right:?}",
                query.name, way.name
            );
            return Err(Failure::new(Code::Failed, wrong));
        }
        Ok((time, since(before, moved(parts), parts)))
    };
    Turns::take(ways.len(), WARM_UP, &mut run)?;
    Turns::take(ways.len(), runs, &mut run)
}

/// Waits until no node has anything of a query, but not for ever.
fn forgotten(parts: &PartNodes) {
    let begin = Instant::now();
    let is_idle = || parts.figures().iter().all(|node| node.queries == 0);
    while !is_idle() && begin.elapsed() < FORGOTTEN_WITHIN {
        std::thread::yield_now();
    }
}

/// Messages, their bytes, pieces that were read, their bytes, of all nodes so far.
fn moved(parts: &PartNodes) -> [u64; 4] {
    parts.figures().iter().fold([0; 4], |sum, node| {
        let counts = &node.counts;
        let one = [
            counts.messages_sent,
            counts.bytes_sent,
            counts.pieces_read,
            counts.bytes_read,
        ];
        std::array::from_fn(|place| sum[place] + one[place])
    })
}

fn since(before: [u64; 4], after: [u64; 4], parts: &PartNodes) -> Traffic {
    let prices = parts.prices();
    let [messages, message_bytes, pieces_read, bytes_read] =
        std::array::from_fn(|place| (after[place] - before[place]) as f64);
    let by_length = (message_bytes + bytes_read) / 1024.0 * prices.kib_ns as f64;
    let cost_ns =
        messages * prices.message_ns as f64 + pieces_read * prices.load_ns as f64 + by_length;
    Traffic {
        messages,
        message_bytes,
        pieces_read,
        bytes_read,
        cost_us: cost_ns / 1e3,
    }
}

/// A figure of each way, and how the last one stands to the best other.
fn figures_of(session: &Session, query: &Query, ways: &[Way<'_>], turns: &Turns) -> Vec<Figure> {
    let figure = |(way, of): (usize, &Way<'_>)| {
        let name = format!("{} {}", query.name, of.name);
        let session = Session {
            threads: of.threads,
            ..session.clone()
        };
        Figure {
            rows: None,
            traffic: Some(turns.traffic(way)),
            ..Figure::latency(&session, &name, 0, &turns.latencies(way))
        }
    };
    let mut figures: Vec<Figure> = ways.iter().enumerate().map(figure).collect();
    let last = ways.len() - 1;
    let best = turns.quickest(0..last);
    let costs = (0..last).map(|way| turns.traffic(way).cost_us);
    let cheapest = costs.min_by(f64::total_cmp).filter(|cost| *cost > 0.0);
    let name = format!("{} {} to {}", query.name, ways[last].name, ways[best].name);
    figures.push(Figure {
        cost_ratio: cheapest.map(|cheapest| turns.traffic(last).cost_us / cheapest),
        ..Figure::ratio(session, &name, &turns.ratios(last, best))
    });
    figures
}

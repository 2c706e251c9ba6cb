//! Windows as slices against a time beside every neighbour, on the same data and the same questions.
//!
//! ```sh
//! cargo run --release -p somersault-bench --example stream_index -- --users 1000 --seconds 60
//! ```
//!
//! Wukong+S measures its stream index so (SOSP'17, table 4): the same queries over a store that absorbs all streams with their
//! times, which is [`bench::timed`] here. Data are LSBench's: what is stored, and the five streams for so many
//! seconds, of which the last one and the last ten are the windows. Windows are made of slices as the engine makes them: of
//! one batch each, and of panes of eight batches in the longer window.
//!
//! | side | a window is found by |
//! |---|---|
//! | `slices` | [`store::Window`]: the lists of each slice, united |
//! | `united` | the same of one slice, which is what a key that is looked up once instead of in each slice would cost |
//! | `scanned` | lists in order of neighbours, with stamps, scanned |
//! | `searched` | lists in order of time, searched; and the keys of each predicate in order of time |
//! | `growing` | the same in a hash table of vectors, which appends cheaply |
//!
//! Questions are the walks of L1 to L6 ([`walks`]), from random start points and from those with answers, and a
//! user with a million old likes and ten new ones. What a walk asks of the stored data is answered by the same stored
//! segments on all sides. All sides hand lists over in `store::Lists`, as the seam wants them. **Every answer is compared** with that of the slices, and the run ends where one differs.
//!
//! *Warm* asks the same start points again and again; *cold* drives everything out of the caches before each question. A
//! round asks all sides in turn, so what else the machine does hits all of them alike.

mod data;
mod sides;
mod walks;

use bench::stats::Latencies;
use data::Data;
use sides::{Graph, Hub, Side, Sliced, Timed};
use std::hint::black_box;
use std::time::{Duration, Instant};
use walks::{Asked, Rows, Walk};

/// Rounds of warm questions, and of cold ones (count).
const ROUNDS: [usize; 2] = [15, 21];
/// Start points of a round of warm questions (count).
const STARTS: usize = 100;
/// More than the last cache of a server holds (bytes).
const CACHES_BYTES: usize = 64 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut users, mut seconds) = (1000, 60);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (&*flag, value) {
            ("--users", Some(value)) => users = value,
            ("--seconds", Some(value)) if value >= 20 => seconds = value,
            _ => {
                eprintln!("usage: stream_index [--users N] [--seconds N, 20 at least]");
                std::process::exit(2);
            }
        }
    }
    let data = Data::generated(users, seconds);
    println!(
        "{users} users, {} stored triples; {seconds} s of streams, {} distinct triples with times",
        data.stored.len(),
        data.items.len(),
    );
    let graph = Graph::of(&data);
    keeping(&data, &graph);
    hub(&data, &graph);
    for window_ms in [1000, 10_000] {
        questions(&data, &graph, window_ms);
    }
}

/// Times of a question on each side.
struct Timings {
    names: Vec<&'static str>,
    times: Vec<Latencies>,
}

impl Timings {
    fn new(sides: &[Box<dyn Side + '_>]) -> Timings {
        Timings {
            names: sides.iter().map(|side| side.name()).collect(),
            times: sides.iter().map(|_| Latencies::new()).collect(),
        }
    }

    fn print(&self, question: &str, rows: f64) {
        let micros = |time: Option<Duration>| time.unwrap_or_default().as_nanos() as f64 / 1e3;
        let medians: Vec<f64> = self.times.iter().map(|it| micros(it.median())).collect();
        print!("{question:24} {rows:8.1}");
        for (at, name) in self.names.iter().enumerate() {
            let least = micros(self.times[at].least());
            print!("  {name} {:.2} ({least:.2})", medians[at]);
            if at > 0 {
                print!(" x{:.2}", medians[at] / medians[0]);
            }
        }
        println!();
    }
}

/// What each side costs to make, to keep, to go on with and to clean up.
fn keeping(data: &Data, graph: &Graph) {
    let [scanned, searched, growing] = graph.bytes_a_row();
    println!(
        "bytes of a triple at a time, one direction: scanned {scanned:.1}, searched {searched:.1}, growing {growing:.1}"
    );
    let sliced = Sliced::new(data, data.end_ms().saturating_sub(10_000)..data.end_ms());
    let (bytes, triples) = sliced.bytes_and_triples();
    println!(
        "slices of 10 s, single batches: {:.1} bytes a triple, both directions",
        bytes as f64 / triples as f64
    );
    let costs = graph.costs(data);
    println!(
        "a batch of 100 ms, all five streams (us, median of {}): slices {:.0}, growing {:.0}, segments made anew {:.0} ({} rows); windows of 1 s united {:.0}",
        costs.batches,
        costs.slices_us,
        costs.growing_us,
        costs.merging_us,
        costs.rows,
        costs.uniting_us,
    );
    println!(
        "a batch's garbage (us): slices dropped {:.1}; times forgotten in all segments {:.0}",
        costs.dropping_us, costs.forgetting_us,
    );
}

/// L1 to L6 over one window.
fn questions(data: &Data, graph: &Graph, window_ms: u32) {
    let times = data.end_ms() - window_ms..data.end_ms();
    println!("window of {window_ms} ms: question, rows, median (least) us, times slices");
    let sliced = Sliced::new(data, times.clone());
    let united = sliced.united();
    let mut sides: Vec<Box<dyn Side + '_>> = vec![
        Box::new(sliced),
        Box::new(united),
        Box::new(Timed::new("scanned", &graph.scanned, times.clone())),
        Box::new(Timed::new("searched", &graph.searched, times.clone())),
        Box::new(Timed::new("growing", &graph.growing, times)),
    ];
    let asked = Asked::of(data, graph);
    for walk in Walk::ALL {
        for has_answers in [false, true] {
            // L4 of ten seconds has seventy times the rows of one, and says nothing new.
            let is_long = window_ms > 1000 && !walk.has_start();
            if is_long || has_answers && !walk.has_start() {
                continue;
            }
            let starts = walk.starts(&asked, &mut *sides[0], STARTS, has_answers);
            if starts.is_empty() {
                println!("{}: no start point with answers", walk.name());
                continue;
            }
            let ask = |side: &mut dyn Side, start: u64, rows: &mut Rows| {
                walk.run(&asked, side, start, rows);
            };
            let name = match (walk.has_start(), has_answers) {
                (false, _) => "",
                (_, false) => ", random",
                (_, true) => ", with answers",
            };
            measured(&format!("{}{name}", walk.name()), &mut sides, &starts, ask);
        }
    }
}

/// Compares and measures one question, warm and cold.
fn measured(
    question: &str,
    sides: &mut [Box<dyn Side + '_>],
    starts: &[u64],
    ask: impl Fn(&mut dyn Side, u64, &mut Rows),
) {
    let mut found = 0;
    let (mut expected, mut rows) = (Rows::new(), Rows::new());
    for &start in starts {
        for (at, side) in sides.iter_mut().enumerate() {
            rows.clear();
            ask(&mut **side, start, &mut rows);
            rows.sort_unstable();
            if at == 0 {
                found += rows.len();
                std::mem::swap(&mut rows, &mut expected);
            } else {
                assert!(
                    rows == expected,
                    "{question} from {start}: {} differs from slices",
                    side.name()
                );
            }
        }
    }
    let mean = found as f64 / starts.len() as f64;
    let mut warm = Timings::new(sides);
    for _ in 0..ROUNDS[0] {
        for (side, times) in sides.iter_mut().zip(&mut warm.times) {
            let begun = Instant::now();
            for &start in starts {
                rows.clear();
                ask(&mut **side, start, &mut rows);
                black_box(&rows);
            }
            times.record(begun.elapsed() / starts.len() as u32);
        }
    }
    warm.print(&format!("{question}, warm"), mean);
    let mut cold = Timings::new(sides);
    let mut others = vec![1_u8; CACHES_BYTES];
    for &start in starts.iter().cycle().take(ROUNDS[1]) {
        for (side, times) in sides.iter_mut().zip(&mut cold.times) {
            for byte in others.iter_mut().step_by(64) {
                *byte = byte.wrapping_add(1);
            }
            black_box(&others);
            rows.clear();
            let begun = Instant::now();
            ask(&mut **side, start, &mut rows);
            times.record(begun.elapsed());
            black_box(&rows);
        }
    }
    cold.print(&format!("{question}, cold"), mean);
}

/// A user with a million old likes and ten new ones, one in each batch of the last second, and one with the new ones alone.
fn hub(data: &Data, graph: &Graph) {
    println!("likes of one vertex in 1 s: question, rows, median (least) us, times slices");
    let times = data.end_ms() - 1000..data.end_ms();
    for old in [0, 1_000_000] {
        let hub = Hub::new(data, graph, old);
        let mut sides = hub.sides(data, times.clone());
        let ask = |side: &mut dyn Side, start: u64, rows: &mut Rows| {
            let mut posts = Vec::new();
            side.list(hub.like, data::POST_LIKES, start, &mut posts);
            rows.extend(posts.into_iter().map(|post| [post, 0, 0, 0]));
        };
        measured(
            &format!("{old} old likes"),
            &mut sides,
            &[hub.vertex; 100],
            ask,
        );
    }
}

//! What samples do for plans: each query planned by statistics alone and with samples, in turn.
//!
//! `cargo run --release -p somersault --example sampling -- PERSONS|STORE [ROUNDS] [SAMPLE_FROM] [QUERY]`
//!
//! With a number, the graph and the queries of [`testkit::correlated`], and as many random ones as QUERY
//! says if that is a number, too; with a store, those of LUBM.
//! Printed are medians over the rounds of parsing, planning and walking together, on one thread; the share
//! of samples in it; and the largest and the mean q-error of the steps. Of a single query both plans, too.

use somersault::load::{self, Source, Unwatched};
use somersault::{Database, Options, Request};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::correlated;
use testkit::random::Random;
use workload::queries::QUERIES;

/// What is known of one query, planned in one way.
#[derive(Default)]
struct Way {
    whole: Vec<Duration>,
    samples: Vec<Duration>,
    rows: u64,
    errors: Vec<f64>,
    plan: String,
}

impl Way {
    /// A run that takes longer counts as so long.
    const LONGEST: Duration = Duration::from_secs(5);

    fn run(&mut self, database: &Database, text: &str, sample_from: Duration) {
        let request = Request {
            threads: Some(1),
            sample_from: Some(sample_from),
            timeout: Some(Way::LONGEST),
            ..Request::new(text)
        };
        let begin = Instant::now();
        let mut query = database.start(&request).expect("it plans");
        let folded = query.run_folded();
        self.whole.push(begin.elapsed().min(Way::LONGEST));
        self.samples.push(query.timings().samples);
        let Ok(folded) = folded else {
            self.plan = query.explain();
            return;
        };
        self.rows = folded.rows;
        if self.errors.is_empty() {
            let mut query = database.start(&request).expect("it plans");
            query.enable_profile();
            if query.run_folded().is_ok() {
                self.errors = query.q_errors();
                self.plan = query.explain_profile();
            }
        }
    }

    fn largest(&self) -> f64 {
        self.errors.iter().copied().fold(1.0, f64::max)
    }

    fn mean(&self) -> f64 {
        let logs: f64 = self.errors.iter().map(|error| error.ln()).sum();
        (logs / self.errors.len().max(1) as f64).exp()
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().expect("a number of persons, or a store");
    let rounds: usize = arguments
        .next()
        .map_or(5, |text| text.parse().expect("a number"));
    let sample_from = arguments
        .next()
        .map_or(Options::default().sample_from, |text| {
            somersault::units::parse_sample_from(&text).expect("a duration")
        });
    let only = arguments.next();
    let (database, mut queries) = match data.parse::<usize>() {
        Ok(persons) => correlated_database(persons),
        Err(_) => lubm_database(&data),
    };
    println!(
        "query           rows        statistics ms  with samples  samples ms  q-error largest, mean"
    );
    match only.as_ref().map(|only| (only, only.parse::<u64>())) {
        Some((_, Ok(count))) => queries = random_queries(count),
        Some((only, _)) => queries.retain(|(name, _)| only == name),
        None => {}
    }
    let mut sums = [0.0; 2];
    let mut ratios = Vec::new();
    for (name, text) in queries {
        let mut ways = [Way::default(), Way::default()];
        for _ in 0..rounds {
            ways[0].run(&database, &text, Duration::MAX);
            ways[1].run(&database, &text, sample_from);
        }
        let [before, after] = &mut ways;
        let is_whole = !(before.errors.is_empty() || after.errors.is_empty());
        assert!(
            !is_whole || before.rows == after.rows,
            "{name}: the same rows"
        );
        let times = [median(&mut before.whole), median(&mut after.whole)];
        ratios.push(times[1] / times[0]);
        sums = [sums[0] + times[0], sums[1] + times[1]];
        println!(
            "{name:14} {:10} {:14.3} {:13.3} {:11.3}  {:.1} {:.1} -> {:.1} {:.1}",
            before.rows,
            times[0],
            times[1],
            median(&mut after.samples),
            before.largest(),
            before.mean(),
            after.largest(),
            after.mean(),
        );
        if only.as_ref().is_some_and(|only| *only == name) {
            println!("{}{}", before.plan, after.plan);
        }
    }
    println!("sum, ms: {:.1} and {:.1}", sums[0], sums[1]);
    ratios.sort_by(f64::total_cmp);
    let middle: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    println!(
        "with samples to without: geometric mean {:.3}, least {:.3}, most {:.3}",
        (middle / ratios.len() as f64).exp(),
        ratios[0],
        ratios[ratios.len() - 1]
    );
}

type Queries = Vec<(String, String)>;

fn random_queries(count: u64) -> Queries {
    let query = |seed| {
        let pattern = correlated::random_query(&mut Random::new(seed));
        (format!("random {seed}"), correlated::text(&pattern))
    };
    (1..=count).map(query).collect()
}

fn correlated_database(persons: usize) -> (Database, Queries) {
    let text = correlated::graph(persons, 1);
    let source = Source::reader("graph.nt", text.as_bytes());
    let request = load::Request::default();
    let options = Options::default();
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    let queries =
        correlated::QUERIES.map(|(name, pattern)| (name.to_owned(), correlated::text(pattern)));
    (loaded.expect("it loads").0, queries.into())
}

fn lubm_database(store: &str) -> (Database, Queries) {
    let database = Database::open(Path::new(store), &Options::default());
    let queries = QUERIES
        .iter()
        .map(|query| (query.name.to_owned(), query.text.to_owned()));
    (database.expect("the store"), queries.collect())
}

//! Oxigraph beside Somersault: `rival FILE [--universities N] [--json]`.
//!
//! Both load the same file into memory in one process, answer q1 to q12 in turn, and must give the
//! same numbers of rows (those that the data must give, where they are known); then come medians,
//! and how many times ours Oxigraph's is. One thread each.
//!
//! Invariant: what is compared does the same. Without terms: our rows are folded into a checksum of
//! ids, Oxigraph counts its solutions (`COUNT(*)` over the same pattern), which decodes none
//! either. With terms: every term of every row is decoded by both and nothing is printed.
//!
//! Oxigraph's store is the one in memory; the one on disk (RocksDB), which its server runs, is not
//! measured. Its allocator is ours.

use bench::figure::{Figure, Session, format_microseconds};
use bench::lubm::{Effort, Measured, RunOutcome, measure};
use oxigraph::io::RdfFormat;
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use somersault::load::{Source, Unwatched, load_in_memory};
use somersault::output::{Rows, Sink};
use somersault::{Database, Options, Request};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use workload::queries::{MEASURED, QUERIES, Query};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

/// Runs that count: Oxigraph takes seconds for some, which three of them tell well enough.
const EFFORT: Effort = Effort {
    warm_up_runs: 1,
    runs_min: 3,
    time_min: Duration::from_millis(500),
    runs_max: 100_000,
};

/// Which queries join much: means are given for them and for the others.
const HEAVY: [&str; 4] = ["q1", "q2", "q3", "q7"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to do about a standard error that is closed.
            let _ = writeln!(io::stderr(), "rival: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What is asked for on the command line.
struct Flags {
    file: String,
    universities: Option<u32>,
    json: bool,
}

impl Flags {
    fn read() -> Result<Flags, Failure> {
        const USAGE: &str = "usage: rival FILE.nt [--universities N] [--json]";
        let mut flags = Flags {
            file: String::new(),
            universities: None,
            json: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => flags.json = true,
                "--universities" => {
                    let count = arguments.next().ok_or(USAGE)?;
                    flags.universities = Some(count.parse().map_err(|_| USAGE)?);
                }
                _ if argument.starts_with('-') || !flags.file.is_empty() => {
                    return Err(USAGE.into());
                }
                _ => flags.file = argument,
            }
        }
        if flags.file.is_empty() {
            return Err(USAGE.into());
        }
        Ok(flags)
    }
}

fn run() -> Result<(), Failure> {
    let flags = Flags::read()?;
    let mut output = io::stdout().lock();
    let (ours, our_time, triples) = load_ours(&flags.file)?;
    let begin = Instant::now();
    let theirs = load_theirs(&flags.file)?;
    let their_time = begin.elapsed();
    if theirs.len()? as u64 != triples {
        return Err(format!("Oxigraph has {} triples, we have {triples}", theirs.len()?).into());
    }
    let universities = match flags.universities {
        Some(universities) => Some(universities),
        None => universities(&ours)?,
    };
    let mut compared = Vec::new();
    for query in &QUERIES {
        compared.push(compare(query, universities, &ours, &theirs)?);
    }
    let data = universities.map_or("lubm".to_owned(), |count| format!("lubm-{count}"));
    if flags.json {
        for figure in compared.iter().flat_map(|one| one.figures(&data)) {
            writeln!(output, "{}", figure.json_line())?;
        }
        return Ok(());
    }
    writeln!(
        output,
        "{triples} triples of {data}; both in memory (Oxigraph 0.5 without RocksDB), one thread\n\
         loaded by Somersault in {our_time:.1?} (all threads), by Oxigraph in {their_time:.1?} \
         (one)\n"
    )?;
    print(&mut output, &compared)?;
    Ok(())
}

/// The medians of one query.
struct Compared {
    query: &'static Query,
    rows: u64,
    /// Ours without terms, Oxigraph's, ours with terms, Oxigraph's.
    measured: [Measured; 4],
}

const WAYS: [&str; 4] = [
    "somersault-ids",
    "oxigraph-count",
    "somersault-terms",
    "oxigraph-terms",
];

impl Compared {
    fn microseconds(&self, way: usize) -> f64 {
        let median = self.measured[way].latencies.median();
        median.unwrap_or_default().as_nanos() as f64 / 1e3
    }

    /// How many times ours Oxigraph's is: without terms, or with them.
    fn ratio(&self, with_terms: bool) -> f64 {
        let ours = if with_terms { 2 } else { 0 };
        self.microseconds(ours + 1) / self.microseconds(ours).max(1e-3)
    }

    fn figures(&self, data: &str) -> impl Iterator<Item = Figure> {
        let figure = |(way, measured): (&str, &Measured)| {
            let session = Session {
                bench: format!("rival-{way}"),
                data: data.to_owned(),
                threads: 1,
            };
            measured.figure(&session, self.query)
        };
        let figures: Vec<_> = WAYS.into_iter().zip(&self.measured).map(figure).collect();
        figures.into_iter()
    }
}

fn compare(
    query: &'static Query,
    universities: Option<u32>,
    ours: &Database,
    theirs: &Store,
) -> Result<Compared, Failure> {
    let ids = measure(query, universities, &EFFORT, |text| ids(ours, text))?;
    let terms = measure(query, universities, &EFFORT, |text| terms(ours, text))?;
    let counted = |text: &str| their_count(theirs, text).map_err(io::Error::other);
    let counted = measure(query, universities, &EFFORT, counted)?;
    let solved = |text: &str| their_rows(theirs, text).map_err(io::Error::other);
    let solved = measure(query, universities, &EFFORT, solved)?;
    let measured = [ids, counted, terms, solved];
    let rows = measured[0].outcome.rows;
    if let Some(other) = measured.iter().find(|one| one.outcome.rows != rows) {
        let found = other.outcome.rows;
        return Err(format!("{}: {rows} rows and {found} rows", query.name).into());
    }
    Ok(Compared {
        query,
        rows,
        measured,
    })
}

fn print(output: &mut impl Write, compared: &[Compared]) -> io::Result<()> {
    writeln!(
        output,
        "{:5} {:>7}  {:>10} {:>10} {:>8}  {:>10} {:>10} {:>8}",
        "", "rows", "ids", "Oxigraph", "times", "terms", "Oxigraph", "times"
    )?;
    for one in compared {
        let [ids, counted, terms, solved] =
            [0, 1, 2, 3].map(|way| format_microseconds(one.microseconds(way)));
        writeln!(
            output,
            "{:5} {:>7}  {ids:>10} {counted:>10} {:>8.1}  {terms:>10} {solved:>10} {:>8.1}",
            one.query.name,
            one.rows,
            one.ratio(false),
            one.ratio(true)
        )?;
    }
    let is_heavy = |one: &&Compared| HEAVY.contains(&one.query.name);
    let heavy: Vec<_> = compared.iter().filter(is_heavy).collect();
    let light: Vec<_> = compared.iter().filter(|one| !is_heavy(one)).collect();
    for (name, group) in [("heavy", heavy), ("light", light)] {
        writeln!(
            output,
            "{name}: geometric mean {:.1} times without terms, {:.1} with; least {:.1}",
            mean(group.iter().map(|one| one.ratio(false))),
            mean(group.iter().map(|one| one.ratio(true))),
            group
                .iter()
                .map(|one| one.ratio(false).min(one.ratio(true)))
                .fold(f64::INFINITY, f64::min)
        )?;
    }
    Ok(())
}

/// The geometric mean.
fn mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len().max(1) as f64;
    (ratios.map(f64::ln).sum::<f64>() / count).exp()
}

/// Our database, the time that loading took, and its distinct triples.
fn load_ours(file: &str) -> Result<(Database, Duration, u64), Failure> {
    let request = somersault::load::Request::default();
    let sources = vec![Source::path(file)];
    let begin = Instant::now();
    let loaded = load_in_memory(sources, &request, &Options::default(), &Unwatched)?;
    Ok((loaded.0, begin.elapsed(), loaded.1.quads))
}

fn load_theirs(file: &str) -> Result<Store, Failure> {
    let store = Store::new()?;
    let reader = BufReader::with_capacity(1 << 20, File::open(file)?);
    let mut loader = store.bulk_loader();
    loader.load_from_reader(RdfFormat::NTriples, reader)?;
    loader.commit()?;
    Ok(store)
}

/// The size of the data, where departments tell one whose rows are known.
fn universities(database: &Database) -> Result<Option<u32>, Failure> {
    let text = workload::mix::listing(workload::lubm::Class::University);
    let rows = ids(database, &text)?.rows;
    Ok(MEASURED.into_iter().find(|known| u64::from(*known) == rows))
}

fn ids(database: &Database, text: &str) -> Result<RunOutcome, somersault::QueryError> {
    let folded = database.start(&one_thread(text))?.run_folded()?;
    Ok(RunOutcome {
        rows: folded.rows,
        checksum: folded.checksum,
    })
}

fn terms(database: &Database, text: &str) -> Result<RunOutcome, somersault::QueryError> {
    let mut counter = Counter::default();
    let finished = database.start(&one_thread(text))?.run(&mut counter)?;
    Ok(RunOutcome {
        rows: finished.rows,
        checksum: counter.terms,
    })
}

fn one_thread(text: &str) -> Request<'_> {
    Request {
        threads: Some(1),
        ..Request::new(text)
    }
}

/// Takes decoded rows and counts their terms.
#[derive(Default)]
struct Counter {
    terms: u64,
}

impl Sink for Counter {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        for row in 0..rows.len {
            self.terms += rows.row(row).flatten().count() as u64;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

fn their_rows(store: &Store, text: &str) -> Result<RunOutcome, Failure> {
    let query = SparqlEvaluator::new().parse_query(text)?;
    let QueryResults::Solutions(solutions) = query.on_store(store).execute()? else {
        return Err("Oxigraph gave no solutions".into());
    };
    let (mut rows, mut terms) = (0, 0);
    for solution in solutions {
        rows += 1;
        terms += solution?.iter().count() as u64;
    }
    Ok(RunOutcome {
        rows,
        checksum: terms,
    })
}

fn their_count(store: &Store, text: &str) -> Result<RunOutcome, Failure> {
    let query = SparqlEvaluator::new().parse_query(&counting(text)?)?;
    let QueryResults::Solutions(mut solutions) = query.on_store(store).execute()? else {
        return Err("Oxigraph gave no solutions".into());
    };
    let solution = solutions.next().ok_or("Oxigraph gave no count")??;
    let count = solution
        .get("n")
        .map(ToString::to_string)
        .unwrap_or_default();
    let digits = count.trim_start_matches('"').split('"').next();
    let rows = digits.unwrap_or_default().parse()?;
    Ok(RunOutcome { rows, checksum: 0 })
}

/// The same pattern, counted.
fn counting(text: &str) -> Result<String, Failure> {
    let select = text.find("SELECT").ok_or("the query has no SELECT")?;
    let pattern = text.find("WHERE").ok_or("the query has no WHERE")?;
    Ok(format!(
        "{}SELECT (COUNT(*) AS ?n) {}",
        &text[..select],
        &text[pattern..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_query_has_the_same_pattern() {
        for query in &QUERIES {
            let counted = counting(query.text).expect("it has both");
            let pattern = query.text.find("WHERE").expect("it has one");
            assert!(counted.ends_with(&query.text[pattern..]));
            assert!(counted.contains("SELECT (COUNT(*) AS ?n) WHERE"));
        }
        assert!(counting("ASK { ?s ?p ?o }").is_err());
    }

    #[test]
    fn the_mean_is_geometric() {
        assert!((mean([1.0, 100.0].into_iter()) - 10.0).abs() < 1e-9);
        assert!((mean([7.0].into_iter()) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn both_count_the_same_on_one_university() {
        let folder = std::env::temp_dir().join(format!("rival-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let file = folder.join("lubm1.nt");
        let parameters = workload::lubm::Parameters::standard(1);
        let syntax = workload::lubm::Syntax::NTriples;
        let lubm = workload::lubm::Lubm::new(parameters, syntax).expect("standard data");
        let mut written = File::create(&file).expect("a file");
        lubm.write_to(&mut written, 1, &mut |_| {})
            .expect("the disk has room");
        let path = file.to_str().expect("temporary paths are UTF-8");
        let (ours, _, triples) = load_ours(path).expect("it loads");
        let theirs = load_theirs(path).expect("it loads");
        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(theirs.len().expect("in memory") as u64, triples);
        assert_eq!(universities(&ours).expect("it answers"), Some(1));
        for query in &QUERIES {
            let known = query.rows(1).expect("it is known");
            let rows = [
                ids(&ours, query.text).expect("it answers").rows,
                terms(&ours, query.text).expect("it answers").rows,
                their_count(&theirs, query.text).expect("it answers").rows,
                their_rows(&theirs, query.text).expect("it answers").rows,
            ];
            assert_eq!(rows, [known; 4], "{}", query.name);
        }
    }
}

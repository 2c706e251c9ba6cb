//! `bench mix`: the papers' mixed workload, inside this process or over HTTP.
//!
//! Inside: so many threads, each of which starts a query and folds its rows, text to last row, no
//! term decoded. Over HTTP: so many connections kept alive, answers as TSV, which the server
//! decodes and writes and the client counts the lines of. The constants are drawn from the
//! instances that the store itself names. In the hybrid mix one more asks heavy queries, one behind
//! the other, all the time; its figures stand beside those of the light ones.

use super::output;
use crate::arguments::{BenchMix, MixKind};
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::{open, query};
use bench::figure::{Figure, Session};
use bench::flight::fly;
use bench::http::{Address, Client};
use bench::mix::{Error, FirstRows, Pace, Run, Tally, work};
use somersault::output::ResultWriter;
use somersault::units::parse_duration;
use somersault::{Database, Request, ResultFormat};
use std::path::Path;
use workload::lubm::Class;
use workload::mix::{HEAVY, Instances, Kind, Listed, listing};
use workload::queries::by_name;

/// Stack of a worker: queries are parsed on it.
const STACK_BYTES: usize = 4 << 20;
/// As long as a list of instances may be: LUBM-2560's courses take 0.3 GB.
const LIST_BYTES_MAX: usize = 2 << 30;

/// Who is asked.
enum Target {
    Store(Database),
    Server(Address),
}

/// What is measured: light or heavy queries by many, and heavy ones beside them.
struct Mixed {
    run: Run,
    beside: Option<Run>,
    threads: u16,
    in_flight: u16,
    query_threads: Option<usize>,
}

/// Runs the verb.
pub fn run(flags: &BenchMix, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_gpu(&mut layers, flags.gpu)?;
    let config = settings::check(&layers)?;
    let mixed = mixed(flags)?;
    let target = match (&flags.location, &flags.endpoint) {
        (Some(location), _) => {
            let database = open::store_in_nodes(location, flags.spread, &config)?;
            database
                .wait_until_verified()
                .map_err(|error| Failure::new(Code::Integrity, error))?;
            Target::Store(database)
        }
        (None, Some(url)) => Target::Server(
            Address::new(url).map_err(|error| Failure::new(Code::Connection, error))?,
        ),
        (None, None) => unreachable!("the parser asks for a store or an endpoint"),
    };
    let (listed, universities) = listed(&target, mixed.run.kind)?;
    let (tally, beside) = measure(&target, &mixed, &listed, universities)?;
    for path in &flags.cdf {
        let tallies: Vec<&Tally> = std::iter::once(&tally).chain(&beside).collect();
        output::write_distribution(path, &tallies)?;
    }
    let session = Session {
        bench: "mix".to_owned(),
        data: format!("lubm-{universities}"),
        threads: usize::from(mixed.threads),
    };
    output::put(
        &flags.output,
        &figures(&target, &mixed, &session, &tally, beside.as_ref()),
    )
}

fn mixed(flags: &BenchMix) -> Result<Mixed, Failure> {
    for path in &flags.cdf {
        output::check_distribution(path)?;
    }
    let duration = |name: &str, text: &str| {
        let parsed = parse_duration(text);
        parsed.map_err(|error| Failure::new(Code::Usage, format!("--{name} {text}: {error}")))
    };
    let pace = match flags.rate {
        None => Pace::Closed,
        Some(per_second) if per_second > 0.0 && per_second.is_finite() => Pace::Open { per_second },
        Some(other) => {
            let message = format!("--rate {other}: expected a number above 0");
            return Err(Failure::new(Code::Usage, message));
        }
    };
    let heavy = match &flags.heavy {
        None => Kind::Heavy,
        Some(name) => {
            let place = HEAVY.iter().position(|template| template.name == name);
            Kind::One(place.ok_or_else(|| {
                let message = format!("--heavy {name}: expected q1, q2, q3 or q7");
                Failure::new(Code::Usage, message)
            })?)
        }
    };
    let run = Run {
        kind: match flags.kind {
            MixKind::Light | MixKind::Hybrid => Kind::Light,
            MixKind::Heavy => heavy,
        },
        seed: flags.seed,
        pace,
        warm_up: duration("warm-up", &flags.warm_up)?,
        time: duration("time", &flags.time)?,
    };
    let heavy = Run {
        kind: heavy,
        pace: Pace::Closed,
        ..run
    };
    Ok(Mixed {
        run,
        beside: matches!(flags.kind, MixKind::Hybrid).then_some(heavy),
        threads: flags.threads,
        in_flight: flags.in_flight.unwrap_or(flags.threads).max(flags.threads),
        query_threads: flags.query_threads,
    })
}

/// The instances of a store that are drawn from, and how many universities there are.
pub(super) fn listed_in(database: &Database, kind: Kind) -> Result<(Listed, u32), Failure> {
    listed(&Target::Store(database.clone()), kind)
}

/// The instances that are drawn from, and how many universities there are.
fn listed(target: &Target, kind: Kind) -> Result<(Listed, u32), Failure> {
    let mut listed = Listed::default();
    let mut classes = kind.classes();
    if !classes.contains(&Class::University) {
        classes.push(Class::University);
    }
    for class in classes {
        let text = listing(class);
        let answer = match target {
            Target::Store(database) => answer(database, &text)?,
            Target::Server(address) => Client::new(address)
                .text(&text, LIST_BYTES_MAX)
                .map_err(|error| Failure::new(Code::Connection, error))?,
        };
        listed.add(class, iris(&answer));
    }
    let universities = listed.count(Class::University);
    Ok((listed, universities))
}

fn answer(database: &Database, text: &str) -> Result<Vec<u8>, Failure> {
    let mut writer = ResultWriter::new(ResultFormat::Tsv, Vec::new());
    let mut started = database
        .start(&Request::new(text))
        .map_err(query::failure)?;
    started.run(&mut writer).map_err(query::failure)?;
    Ok(writer.into_output().unwrap_or_default())
}

/// The IRIs of a TSV answer with one variable.
fn iris(answer: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(answer);
    let lines = text.lines().skip(1);
    lines
        .filter_map(|line| line.trim_end().strip_prefix('<')?.strip_suffix('>'))
        .map(str::to_owned)
        .collect()
}

/// All workers, until the time is over.
fn measure(
    target: &Target,
    mixed: &Mixed,
    listed: &Listed,
    universities: u32,
) -> Result<(Tally, Option<Tally>), Failure> {
    let first = FirstRows::new(mixed.run.kind, listed);
    let kind_beside = mixed.beside.map_or(Kind::Heavy, |run| run.kind);
    let first_heavy = FirstRows::new(kind_beside, listed);
    for known in [&first, &first_heavy] {
        known.expect(|name| by_name(name)?.rows(universities));
    }
    let (first, first_heavy) = (&first, &first_heavy);
    std::thread::scope(|scope| {
        let beside = mixed.beside.map(|run| {
            let threads = mixed.query_threads;
            thread().spawn_scoped(scope, move || {
                one_by_one(target, &run, (0, 1), (listed, first_heavy), threads)
            })
        });
        let beside = beside.transpose()?;
        let workers = u64::from(mixed.threads);
        let total = u64::from(mixed.in_flight);
        let of_number = |number: u64| total / workers + u64::from(number < total % workers);
        let shared: u64 = (0..workers).map(of_number).sum();
        assert_eq!(shared, total, "the workers share the connections");
        let worker = |number: u64| {
            let connections = of_number(number) as usize;
            let (run, share, threads) = (&mixed.run, (number, workers), mixed.query_threads);
            thread().spawn_scoped(scope, move || match target {
                Target::Store(_) => one_by_one(target, run, share, (listed, first), threads),
                Target::Server(address) => {
                    fly(run, share, connections, address, (listed, first)).map_err(failure)
                }
            })
        };
        let workers: Vec<_> = (0..workers).map(worker).collect::<Result<_, _>>()?;
        let mut tally = Tally::new(mixed.run.kind);
        for worker in workers {
            tally.merge(&joined(worker)?);
        }
        Ok((tally, beside.map(joined).transpose()?))
    })
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().stack_size(STACK_BYTES)
}

fn joined(
    worker: std::thread::ScopedJoinHandle<'_, Result<Tally, Failure>>,
) -> Result<Tally, Failure> {
    let broken = |_| Err(Failure::new(Code::Failed, "a worker met a bug"));
    worker.join().unwrap_or_else(broken)
}

/// A worker that waits for each answer.
fn one_by_one(
    target: &Target,
    run: &Run,
    share: (u64, u64),
    (listed, first): (&Listed, &FirstRows),
    threads: Option<usize>,
) -> Result<Tally, Failure> {
    match target {
        Target::Store(database) => {
            let ask = |text: &str| {
                let request = Request {
                    threads,
                    ..Request::new(text)
                };
                let folded = database.start(&request)?.run_folded()?;
                Ok::<_, somersault::QueryError>(folded.rows)
            };
            work(run, share, listed, first, ask).map_err(failure)
        }
        Target::Server(address) => {
            let mut client = Client::new(address);
            let ask = |text: &str| client.rows(text);
            work(run, share, listed, first, ask).map_err(failure)
        }
    }
}

/// Why there is no figure.
pub(super) fn failure<E: std::error::Error + 'static>(error: Error<E>) -> Failure {
    Failure::new(Code::Failed, error)
}

fn figures(
    target: &Target,
    mixed: &Mixed,
    session: &Session,
    tally: &Tally,
    beside: Option<&Tally>,
) -> Vec<Figure> {
    let name = match (mixed.run.kind, beside) {
        (Kind::Heavy | Kind::One(_), _) => "heavy",
        (_, None) => "light",
        (_, Some(_)) => "hybrid-light",
    };
    let in_flight = match target {
        Target::Store(_) => mixed.threads,
        Target::Server(_) => mixed.in_flight,
    };
    let mut figures = tally.figures(session, name);
    for figure in &mut figures {
        figure.in_flight = Some(usize::from(in_flight));
    }
    if let Pace::Open { per_second } = mixed.run.pace {
        figures[0].arrivals_per_second = Some(per_second);
    }
    if let Target::Server(_) = target {
        // What is measured there is the asking.
        figures[0].per_processor_second = None;
    }
    if let Some(beside) = beside {
        let session = Session {
            threads: 1,
            ..session.clone()
        };
        let heavy = beside.figures(&session, "hybrid-heavy").into_iter();
        figures.extend(heavy.map(|figure| Figure {
            in_flight: Some(1),
            per_processor_second: None,
            ..figure
        }));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::iris;

    #[test]
    fn the_iris_of_an_answer_are_its_lines() {
        let answer = b"?x\n<http://a/>\n\"text\"\n<http://b/>\r\n";
        assert_eq!(iris(answer), ["http://a/", "http://b/"]);
        assert!(iris(b"").is_empty());
    }
}

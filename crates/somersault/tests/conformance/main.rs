//! The W3C's SPARQL suites (1.0, 1.1 and 1.2, queries) through [`Database`].
//!
//! Data is loaded in memory by the product's own readers: a test's one file as it is, several files
//! as N-Quads. Endpoints that a test calls are databases too, called through a double of the seam.
//! A negative syntax test holds only if the text is refused as wrong, not as something that is not
//! evaluated. Updates change a store on a simulated disk, and what is compared is what is found when it
//! is opened again. Tests of the protocols are in the server's tests. Queries are asked a second time of databases beside a
//! device that takes all it can (the host twin, or a card where `SOMERSAULT_DEVICE=cuda`), and how much it did is printed; and a third time of
//! the same graph in parts, over nodes of this process. Without `../shared/w3c` beside the checkout the
//! tests are skipped, which is reported.

mod engine;
mod share;
#[path = "../support.rs"]
mod support;

use oxrdf::Dataset;
use share::Share;
use somersault::device::Accelerator;
use somersault::nodes::{Deal, Mode, NodeOptions, Placement};
use somersault::output::{Collected, ResultFormat};
use somersault::{
    Database, GraphTarget, GraphWrite, Kind as Failure, Query, QueryError, Request, UpdateRequest,
    WriteMode, dump,
};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use store::disk::{SimDisk, SimFaults};
use testkit::graph::{self, Format};
use testkit::suite::report::Skip;
use testkit::suite::{
    self, CaseKind, ExpectedResults, Report, Results, SuiteCase, Updates, Verdict, compare, results,
};

/// Tests that are in dispute: suite, test, reason.
const SKIPPED: &[Skip] = &[];

/// Stack of the thread that runs a version's suites.
const STACK_BYTES: usize = 16 << 20;

#[test]
fn sparql_1_0() {
    run("sparql10");
}

#[test]
fn sparql_1_1() {
    run("sparql11");
}

#[test]
fn sparql_1_2() {
    run("sparql12");
}

#[test]
fn sparql_1_0_beside_a_device() {
    run_beside_device("sparql10");
}

#[test]
fn sparql_1_1_beside_a_device() {
    run_beside_device("sparql11");
}

#[test]
fn sparql_1_2_beside_a_device() {
    run_beside_device("sparql12");
}

#[test]
fn sparql_1_0_over_nodes() {
    run_over_nodes("sparql10");
}

#[test]
fn sparql_1_1_over_nodes() {
    run_over_nodes("sparql11");
}

#[test]
fn sparql_1_2_over_nodes() {
    run_over_nodes("sparql12");
}

fn run(version: &'static str) {
    with_suites(version, move |suites| {
        let chosen = |case: &SuiteCase| case.kind.is_evaluation() || case.kind.is_syntax();
        let check = |case: &SuiteCase| check(case, &mut Asking::default());
        let reports = suites
            .iter()
            .filter_map(|suite| Report::of(suite, SKIPPED, chosen, check));
        let mut failed = shown_failures(reports);
        let chosen = |case: &SuiteCase| case.kind.is_update();
        let updates = suites.iter().filter_map(|suite| {
            Report::of(suite, SKIPPED, chosen, |case| {
                suite::update::check(case, &Changing)
            })
        });
        failed += shown_failures(updates);
        assert_eq!(failed, 0, "tests of {version} failed, see above");
    });
}

/// The queries of a version's suites, each asked of a database whose walks begin on a device wherever they can.
fn run_beside_device(version: &'static str) {
    with_suites(version, move |suites| {
        if support::accelerator(0).is_none() {
            return;
        }
        let mut asking = Asking {
            share: Some(Share::default()),
            ..Asking::default()
        };
        let chosen = |case: &SuiteCase| case.kind.is_evaluation();
        let reports = suites.iter().filter_map(|suite| {
            Report::of(suite, SKIPPED, chosen, |case| {
                asking.seed += 1;
                asking.accelerator = support::accelerator(asking.seed);
                check(case, &mut asking)
            })
        });
        let failed = shown_failures(reports);
        let share = asking.share.expect("it was put there");
        println!("{version}: {share}");
        assert_eq!(failed, 0, "tests of {version} failed, see above");
        assert!(share.on_device() > 0, "the device did nothing");
    });
}

/// The queries of a version's suites, each asked of nodes of this process in each mode: ids are dealt out in blocks of two,
/// so that hardly an edge has both ends with one node.
fn run_over_nodes(version: &'static str) {
    with_suites(version, move |suites| {
        let chosen = |case: &SuiteCase| case.kind.is_evaluation();
        let mut number = 0;
        let reports = suites.iter().filter_map(|suite| {
            Report::of(suite, SKIPPED, chosen, |case| {
                for mode in [Mode::InPlace, Mode::ForkJoin, Mode::Dynamic] {
                    number += 1;
                    let nodes = [3, 2, 8, 1][number % 4];
                    let mut asking = Asking {
                        nodes: Some((nodes, mode)),
                        ..Asking::default()
                    };
                    let checked = check(case, &mut asking);
                    checked.map_err(|what| format!("{nodes} nodes, {mode:?}: {what}"))?;
                }
                Ok(())
            })
        });
        let failed = shown_failures(reports);
        assert_eq!(failed, 0, "tests of {version} failed, see above");
    });
}

/// Shows each report; how many tests failed.
fn shown_failures(reports: impl Iterator<Item = Report>) -> usize {
    let shown = reports.map(|report| {
        println!("{}", report.text());
        report.failed.len()
    });
    shown.sum()
}

/// Gives `work` a version's suites, on a thread with room for deep queries.
fn with_suites(
    version: &'static str,
    work: impl FnOnce(&[suite::manifest::Suite]) + Send + 'static,
) {
    let Some(root) = suite::root() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: ../shared/w3c"
        );
        return;
    };
    let work = move || {
        let suites = suite::manifest::of_version(&root, version);
        work(&suites.unwrap_or_else(|error| panic!("{error}")));
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// How queries are asked: by the processors alone, or beside a device.
#[derive(Default)]
struct Asking {
    /// The device of the next test.
    accelerator: Option<Arc<Accelerator>>,
    /// Of the device's order of threads.
    seed: u64,
    /// What devices did so far, where it is counted.
    share: Option<Share>,
    /// Over so many nodes of this process, and how.
    nodes: Option<(u16, Mode)>,
}

impl Asking {
    /// Before a query is run.
    fn begin(&self, query: &mut Query) {
        if self.share.is_some() {
            query.enable_profile();
        }
    }

    /// After it was run.
    fn end(&mut self, query: &Query) -> Result<(), String> {
        if let Some(accelerator) = &self.accelerator
            && accelerator.figures().failures > 0
        {
            return Err("the device has failed".to_owned());
        }
        self.share
            .as_mut()
            .map_or(Ok(()), |share| share.note(query))
    }
}

fn check(case: &SuiteCase, asking: &mut Asking) -> Verdict {
    if case.kind.is_syntax() {
        return check_syntax(case);
    }
    let mut database = engine::database(case, asking.accelerator.clone())?;
    if let Some((nodes, mode)) = asking.nodes {
        let placement = Placement::in_turn(nodes, 1, 64).map_err(|error| error.to_string())?;
        let run = NodeOptions {
            mode,
            ..NodeOptions::default()
        };
        let parts = database.in_nodes(&Deal::By(placement), &run, &engine::options_of(case)?);
        database = parts.map_err(|error| error.to_string())?;
    }
    let text = case.text()?;
    let started = database.start(&request(case, &text));
    let mut query = started.map_err(|error| shown(&error))?;
    asking.begin(&mut query);
    let mut written = |format: ResultFormat| {
        let bytes = engine::written(&mut query, format).map_err(|error| shown(&error))?;
        results::of_media_type(&bytes, format.media_type(), case.base())
    };
    let given = match case.result.as_ref().map(suite::Document::extension) {
        Some("csv") => written(ResultFormat::Csv),
        Some("tsv") => written(ResultFormat::Tsv),
        _ => answer(&mut query),
    };
    let given = given?;
    asking.end(&query)?;
    compare::check(&ExpectedResults::of(case)?, &given)
}

/// Carries updates out on a store of its own each.
struct Changing;

impl Updates for Changing {
    fn update(&self, before: &Dataset, request: &str, base: &str) -> Result<Dataset, String> {
        let disk = SimDisk::new(0, Path::new("/disk"), SimFaults::default());
        let database = writable(&disk)?;
        let text = graph::write(before, Format::NQuads);
        let written = database.write_graph(GraphWrite {
            target: GraphTarget::Store,
            mode: WriteMode::Add,
            format: rdf::format::Format::NQuads,
            base: None,
            body: &mut text.as_bytes(),
            timeout: None,
        });
        written.map_err(|error| shown(&error))?;
        let request = UpdateRequest {
            text: request,
            base: Some(base),
            ..UpdateRequest::default()
        };
        database.update(&request).map_err(|error| shown(&error))?;
        drop(database);
        let mut left = Dataset::new();
        let database = writable(&disk)?;
        let dumped = dump::all(&database.graph(), &mut |quad| {
            left.insert(quad);
            Ok(())
        });
        dumped.map_err(|error| error.to_string())?;
        Ok(left)
    }

    fn accepts(&self, request: &str, base: &str) -> Result<bool, String> {
        let disk = SimDisk::new(0, Path::new("/disk"), SimFaults::default());
        let database = writable(&disk)?;
        let request = UpdateRequest {
            text: request,
            base: Some(base),
            ..UpdateRequest::default()
        };
        match database.start_update(&request).map(drop) {
            Ok(()) => Ok(true),
            Err(error) if error.kind == Failure::Syntax => Ok(false),
            Err(error) => Err(shown(&error)),
        }
    }
}

fn check_syntax(case: &SuiteCase) -> Verdict {
    let database = engine::database(case, None)?;
    let text = case.text()?;
    let started = database.start(&request(case, &text));
    match (case.kind, started.map(drop)) {
        (CaseKind::PositiveSyntax, Ok(())) => Ok(()),
        // It was read, and refused by name: it calls a function that only the test knows.
        (CaseKind::PositiveSyntax, Err(error))
            if error.kind == Failure::Unsupported && error.message.contains("function <") =>
        {
            Ok(())
        }
        (CaseKind::NegativeSyntax, Err(error)) if error.kind == Failure::Syntax => Ok(()),
        (_, Err(error)) => Err(shown(&error)),
        (_, Ok(())) => Err("accepted".to_owned()),
    }
}

fn request<'a>(case: &'a SuiteCase, text: &'a str) -> Request<'a> {
    Request {
        base: Some(case.base()),
        ..Request::new(text)
    }
}

fn answer(query: &mut Query) -> Result<Results, String> {
    let mut collected = Collected::default();
    query.run(&mut collected).map_err(|error| shown(&error))?;
    Ok(match (collected.boolean, collected.triples) {
        (Some(value), _) => Results::Boolean(value),
        (None, Some(triples)) => Results::Graph(triples),
        (None, None) => Results::Solutions {
            variables: collected.variables,
            rows: collected.rows,
        },
    })
}

fn shown(error: &QueryError) -> String {
    format!("{:?}: {error}", error.kind)
}

/// A store on a disk that can be changed; an empty one where there is none.
fn writable(disk: &SimDisk) -> Result<Database, String> {
    let (disk, home) = (Arc::new(disk.clone()), Path::new("/disk/store"));
    let database = Database::open_writable_on(disk, home, &engine::options(None, None));
    database.map_err(|error| error.to_string())
}

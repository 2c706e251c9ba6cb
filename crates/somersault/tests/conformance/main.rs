//! The W3C's SPARQL suites (1.0, 1.1 and 1.2, queries) through [`Database`].
//!
//! Data is loaded in memory by the product's own readers: a test's one file as it is, several files
//! as N-Quads. Endpoints that a test calls are databases too, called through a double of the seam.
//! A negative syntax test holds only if the text is refused as wrong, not as something that is not
//! evaluated. Updates change a store on a simulated disk, and what is compared is what is found when it
//! is opened again. Tests of the protocols are in the server's tests. Without `../shared/w3c` beside the checkout the
//! tests are skipped, which is reported.

mod engine;

use oxrdf::Dataset;
use somersault::output::{Collected, ResultFormat};
use somersault::{
    Database, GraphTarget, GraphWrite, Kind as Failure, QueryError, Request, UpdateRequest,
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

fn run(version: &'static str) {
    let Some(root) = suite::root() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: ../shared/w3c"
        );
        return;
    };
    let work = move || {
        let suites = suite::manifest::of_version(&root, version);
        let suites = suites.unwrap_or_else(|error| panic!("{error}"));
        let chosen = |case: &SuiteCase| case.kind.is_evaluation() || case.kind.is_syntax();
        let reports = suites
            .iter()
            .filter_map(|suite| Report::of(suite, SKIPPED, chosen, check));
        let mut failed = 0;
        for report in reports {
            println!("{}", report.text());
            failed += report.failed.len();
        }
        let chosen = |case: &SuiteCase| case.kind.is_update();
        let updates = suites.iter().filter_map(|suite| {
            Report::of(suite, SKIPPED, chosen, |case| {
                suite::update::check(case, &Changing)
            })
        });
        for report in updates {
            println!("{}", report.text());
            failed += report.failed.len();
        }
        assert_eq!(failed, 0, "tests of {version} failed, see above");
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn check(case: &SuiteCase) -> Verdict {
    if case.kind.is_syntax() {
        return check_syntax(case);
    }
    let database = engine::database(case)?;
    let text = case.text()?;
    let request = request(case, &text);
    let written = |format: ResultFormat| {
        let bytes = engine::written(&database, &request, format).map_err(|error| shown(&error))?;
        results::of_media_type(&bytes, format.media_type(), case.base())
    };
    let given = match case.result.as_ref().map(suite::Document::extension) {
        Some("csv") => written(ResultFormat::Csv),
        Some("tsv") => written(ResultFormat::Tsv),
        _ => answer(&database, &request),
    };
    compare::check(&ExpectedResults::of(case)?, &given?)
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
    let database = engine::database(case)?;
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

fn answer(database: &Database, request: &Request<'_>) -> Result<Results, String> {
    let mut collected = Collected::default();
    let started = database.start(request);
    let mut query = started.map_err(|error| shown(&error))?;
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
    let database = Database::open_writable_on(disk, home, &engine::options(None));
    database.map_err(|error| error.to_string())
}

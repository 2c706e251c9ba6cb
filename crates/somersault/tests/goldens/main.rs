//! Standing queries over recorded streams, in process: golden answers of others, and random cases against the naive
//! oracle, each in every dialect that can say it.
//!
//! Golden files lie in the folder of the streams beside the checkout; where it is not there, that is said and nothing of
//! them is checked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod snapshots;
#[path = "../support.rs"]
mod support;

use oxrdf::Dataset;
use somersault::load::{self, Source, Unwatched};
use somersault::{
    BlankScope, Database, Hub, HubStream, Options, QueryError, Recording, Replay, ReplaySpan,
    ReportKind, SnapshotInfo, StandingReport, TimedQuads, UpdateRequest, read_standing,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;
use testkit::compare::Blanks;
use testkit::naive::WORK_MAX;
use testkit::random::Random;
use testkit::standing::goldens::{self, GoldenRun};
use testkit::standing::{
    Absorbed, CommitEnds, Item, PlainExtent, PlainOrigin, PlainStream, ReportPace, Reported,
    StandingCase, Wanted, check, delayed, expected, expected_of, has_open_commits, random_standing,
    settled, shuffled, smaller,
};
use testkit::{Answer, TRIPLE_COLUMNS, seeds};

/// A database in memory that can be changed, with these quads.
fn stored(dataset: &Dataset) -> Database {
    let options = Options {
        memory_is_writable: true,
        keep_snapshots: Duration::from_hours(1),
        // For a machine that has other work.
        timeout: Duration::from_mins(10),
        ..Options::default()
    };
    with_options(dataset, &options)
}

/// A database in memory with these quads.
fn with_options(dataset: &Dataset, options: &Options) -> Database {
    let mut text = String::new();
    for quad in dataset {
        let _ = writeln!(text, "{quad} .");
    }
    let source = Source::reader("stored.nq", text.as_bytes());
    let request = load::Request {
        threads: 1,
        ..load::Request::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, options, &Unwatched);
    loaded.expect("the case's data are loaded").0
}

/// A stream of a case, as it is made.
fn hub_stream(stream: &PlainStream) -> HubStream {
    HubStream {
        grain_ms: stream.grain_ms,
        lateness_ms: stream.lateness_ms,
        absorb: match &stream.absorbed {
            Absorbed::All => None,
            Absorbed::Nothing => Some(Vec::new()),
            Absorbed::Only(predicates) => {
                Some(predicates.iter().map(|it| it.as_str().to_owned()).collect())
            }
        },
        into: match &stream.into {
            oxrdf::GraphName::NamedNode(graph) => Some(graph.as_str().to_owned()),
            _ => None,
        },
        ..HubStream::new(stream.iri.as_str())
    }
}

/// The recordings of a case: each stream's items in the order of their arrival.
fn recordings(case: &StandingCase) -> Vec<Recording<'_>> {
    let recording = |(place, stream): (usize, &PlainStream)| Recording {
        stream: hub_stream(stream),
        items: Box::new(
            case.items
                .iter()
                .filter(move |it| it.stream == place)
                .map(|item| {
                    Ok(TimedQuads {
                        time_ms: item.time_ms,
                        quads: item.quads.clone(),
                    })
                }),
        ),
    };
    case.streams.iter().enumerate().map(recording).collect()
}

/// What a text reports over the streams of a case up to a moment.
fn reports(case: &StandingCase, text: &str, until_ms: u64) -> Result<Vec<Reported>, String> {
    let database = stored(&case.stored);
    reports_beside(case, text, until_ms, &database, &mut || {})
}

/// The same in this database while somebody else changes it, before some items come.
fn reports_beside(
    case: &StandingCase,
    text: &str,
    until_ms: u64,
    database: &Database,
    beside: &mut dyn FnMut(),
) -> Result<Vec<Reported>, String> {
    let query = read_standing(database, text).map_err(|error| error.to_string())?;
    let span = ReplaySpan {
        from_ms: case.streams.iter().map(|stream| stream.begin_ms).min(),
        registered_ms: Some(case.question.registered_ms),
        until_ms: Some(until_ms),
    };
    let queries = vec![("q".to_owned(), query)];
    let replay = Replay::new(database.clone(), recordings(case), queries, span);
    let replay = replay.map_err(|error| error.to_string())?;
    let mut reports = Vec::new();
    let ran = replay.run(&mut |_| beside(), &mut |report| {
        reports.push(reported(report));
        ControlFlow::Continue(())
    });
    ran.map_err(|error| error.to_string())?;
    Ok(reports)
}

fn reported(report: StandingReport) -> Reported {
    let rows: Vec<testkit::Row> = report.rows.into_iter().map(|row| row.0).collect();
    Reported {
        close_ms: report.close_ms,
        answer: match report.kind {
            ReportKind::Boolean => Answer::Boolean(!rows.is_empty()),
            ReportKind::Solutions => Answer::Rows {
                variables: report.variables,
                rows,
            },
            ReportKind::Graph => Answer::Rows {
                variables: TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
                rows,
            },
        },
    }
}

/// Checks golden runs in every dialect; gives the number of reports compared.
fn check_golden(
    name: &str,
    runs: impl Iterator<Item = Result<GoldenRun, goldens::GoldenError>>,
) -> usize {
    let mut compared = 0;
    for run in runs {
        let run = run.unwrap();
        let texts = run.all_texts();
        assert!(!texts.is_empty(), "{} can be said", run.name);
        for (dialect, text) in &texts {
            let checked = goldens::check(std::iter::once(Ok(run.clone())), &mut |run| {
                reports(&run.case, text, run.until_ms)
            });
            compared += checked.unwrap_or_else(|why| panic!("{dialect:?}: {why}\n{text}"));
        }
    }
    eprintln!("{name}: {compared} reports");
    compared
}

/// The folder of the streams; where it is absent, says so.
fn streams(test: &str) -> Option<std::path::PathBuf> {
    let folder = goldens::folder();
    if folder.is_none() {
        eprintln!("SKIPPED {test}: no folder shared/streams beside the checkout");
    }
    folder
}

#[test]
fn boundary_vectors_are_reported() {
    let Some(folder) = streams("the boundary vectors") else {
        return;
    };
    let runs = goldens::boundary_vectors(&folder).unwrap();
    assert!(check_golden("boundary vectors", runs.into_iter().map(Ok)) > 150);
}

#[test]
fn csrbench_is_reported() {
    let Some(folder) = streams("CSRBench") else {
        return;
    };
    assert!(check_golden("CSRBench", goldens::csrbench(&folder)) > 100);
}

#[test]
fn citybench_is_reported() {
    let Some(folder) = streams("CityBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 60_000 } else { 8_000 };
    assert!(check_golden("CityBench", goldens::citybench(&folder, until_ms)) > 50);
}

#[test]
fn lsbench_is_reported() {
    let Some(folder) = streams("LSBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 6_000 } else { 1_200 };
    assert!(check_golden("LSBench", goldens::lsbench(&folder, until_ms)) > 30);
}

/// Stores what some item says, and takes it away again: no answer changes, but its terms are stored from now on, while
/// windows may have named them before.
fn stored_for_a_moment(database: &Database, case: &StandingCase, random: &mut Random) {
    if case.items.is_empty() || !random.chance(15) {
        return;
    }
    let mut data = String::new();
    for quad in &random.pick(&case.items).quads {
        let (subject, predicate, object) = (&quad.subject, &quad.predicate, &quad.object);
        let _ = write!(data, "{subject} {predicate} {object} . ");
    }
    for verb in ["INSERT", "DELETE"] {
        let text = format!("{verb} DATA {{ GRAPH <urn:aside> {{ {data} }} }}");
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&request).expect("the items are RDF");
    }
}

/// The commits that a database remembers, as far as they hold the streams of a case.
fn commits(database: &Database, case: &StandingCase) -> Vec<CommitEnds> {
    let of_commit = |snapshot: &SnapshotInfo| {
        let until_ms = |stream: &PlainStream| {
            let mut points = snapshot.vector.iter().flat_map(|vector| vector.iter());
            let point = points.find(|point| *point.stream == *stream.iri.as_str());
            // Before its first batch is decided, it holds nothing from its beginning on.
            let begin_ms = stream.begin_ms / stream.grain_ms * stream.grain_ms;
            point.map_or(begin_ms, |point| point.covered_ms)
        };
        case.streams.iter().map(until_ms).collect()
    };
    database.snapshots().iter().map(of_commit).collect()
}

/// Compares what was reported with what had to be, over the commits of the run where that depends on them.
fn compared(
    case: &StandingCase,
    until_ms: u64,
    wanted: &[Wanted],
    given: &[Reported],
    database: &Database,
) -> Result<(), String> {
    if !has_open_commits(case) {
        return check(wanted, given, &Blanks::Search);
    }
    match expected_of(case, until_ms, WORK_MAX, &commits(database, case))? {
        Some(wanted) => check(&wanted, given, &Blanks::Search),
        // Over these commits it is larger, or not determined.
        None => Ok(()),
    }
}

/// What is wrong with the reports of a case, in any dialect.
fn complaint(case: &StandingCase, until_ms: u64) -> Option<String> {
    let Ok(Some(wanted)) = expected(case, until_ms, WORK_MAX) else {
        return None;
    };
    for (dialect, text) in case.question.texts(&case.streams) {
        let mut random = Random::new(until_ms);
        let database = stored(&case.stored);
        let mut beside = || stored_for_a_moment(&database, case, &mut random);
        let complaint = match reports_beside(case, &text, until_ms, &database, &mut beside) {
            Ok(given) => compared(case, until_ms, &wanted, &given, &database).err(),
            Err(error) => Some(error),
        };
        if let Some(complaint) = complaint {
            return Some(format!("{dialect:?}: {complaint}\n{text}"));
        }
    }
    None
}

#[test]
fn random_cases_are_reported_as_by_definition() {
    let mut asked = 0;
    for seed in seeds::chosen(500, 200_000) {
        let mut random = Random::new(seed);
        let (case, until_ms) = random_standing(&mut random);
        if expected(&case, until_ms, WORK_MAX).is_ok_and(|wanted| wanted.is_some()) {
            asked += 1;
        }
        if complaint(&case, until_ms).is_some() {
            let small = smaller(&case, &mut |case| complaint(case, until_ms).is_some());
            let why = complaint(&small, until_ms).unwrap_or_default();
            panic!("seed {seed}: {why}\nuntil {until_ms}\n{small}");
        }
    }
    assert!(asked > 0, "no case was asked");
    eprintln!("{asked} random cases");
}

/// What a text reports when the items of a case are pushed one by one, late ones too.
fn pushed(
    case: &StandingCase,
    text: &str,
    until_ms: u64,
    database: &Database,
) -> Result<Vec<StandingReport>, QueryError> {
    let query = read_standing(database, text)?;
    let mut hub = Hub::new(database.clone());
    let is_made = |stream: &&PlainStream| stream.side_of.is_none();
    for stream in case.streams.iter().filter(is_made) {
        hub.create(&hub_stream(stream), stream.begin_ms)?;
    }
    hub.register(query, "q", case.question.registered_ms)?;
    let mut reports = Vec::new();
    let mut take = |somersault::Reported { report, .. }| {
        if let Some(failure) = report.failure {
            return Err(failure);
        }
        if report.close_ms <= until_ms {
            reports.push(report);
        }
        Ok(ControlFlow::Continue(()))
    };
    let mut scopes: Vec<BlankScope> = case.streams.iter().map(|_| BlankScope::default()).collect();
    for item in &case.items {
        let quads = TimedQuads {
            time_ms: item.time_ms,
            quads: item.quads.clone(),
        };
        let name = case.streams[item.stream].iri.as_str();
        hub.push(name, "", Some(&mut scopes[item.stream]), &[quads], None)?;
        let _ = hub.advance(&mut take)?;
    }
    for stream in case.streams.iter().filter(is_made) {
        hub.watermark(stream.iri.as_str(), "", until_ms + 100_000)?;
    }
    let _ = hub.advance(&mut take)?;
    Ok(reports)
}

/// What is wrong with the reports of a case with late items.
fn late_complaint(case: &StandingCase, until_ms: u64) -> Option<String> {
    let without = settled(case);
    let Ok(Some(wanted)) = expected(&without, until_ms, WORK_MAX) else {
        return None;
    };
    for (dialect, text) in case.question.texts(&case.streams) {
        let database = stored(&case.stored);
        let complaint = match pushed(case, &text, until_ms, &database) {
            Ok(given) => {
                let given: Vec<Reported> = given.into_iter().map(reported).collect();
                compared(&without, until_ms, &wanted, &given, &database).err()
            }
            Err(error) => Some(error.message),
        };
        if let Some(complaint) = complaint {
            return Some(format!("{dialect:?}: {complaint}\n{text}"));
        }
    }
    None
}

/// Late items are in no window, in the side stream that a query names, and in the graph from the next commit on.
#[test]
fn random_late_items_are_where_they_belong() {
    let (mut asked, mut late, mut sides) = (0, 0, 0);
    for seed in seeds::chosen(300, 50_000) {
        let mut random = Random::new(seed);
        let (case, until_ms) = random_standing(&mut random);
        let case = delayed(&case, &mut random);
        if case.question.texts(&case.streams).is_empty() {
            continue;
        }
        let without = settled(&case);
        if expected(&without, until_ms, WORK_MAX).is_ok_and(|wanted| wanted.is_some()) {
            asked += 1;
            let is_side = |it: &&Item| without.streams[it.stream].side_of.is_some();
            let of_sides = without.items.iter().filter(is_side).count();
            late += case.items.len() + of_sides - without.items.len();
            sides += of_sides;
        }
        if late_complaint(&case, until_ms).is_some() {
            let small = smaller(&case, &mut |case| late_complaint(case, until_ms).is_some());
            let why = late_complaint(&small, until_ms).unwrap_or_default();
            panic!("seed {seed}: {why}\nuntil {until_ms}\n{small}");
        }
    }
    assert!(asked > 0, "no case was asked");
    eprintln!("{asked} random cases, {late} late items, {sides} in side streams");
    assert!(
        asked < 100 || (late > asked / 4 && sides > 0),
        "too few are late"
    );
}

/// The reports of each close with all revisions added up. Those without rows are left out: a close that was left out itself
/// has none.
fn added_up(reports: Vec<StandingReport>) -> Result<Vec<Reported>, String> {
    let mut told: BTreeMap<u64, StandingReport> = BTreeMap::new();
    for report in reports {
        let close_ms = report.close_ms;
        let Some(before) = told.get_mut(&close_ms) else {
            if !report.removed.is_empty() {
                return Err(format!(
                    "{close_ms} ms: nothing was told that is taken back"
                ));
            }
            told.insert(close_ms, report);
            continue;
        };
        if report.revision <= before.revision {
            return Err(format!("{close_ms} ms: revisions do not ascend"));
        }
        before.revision = report.revision;
        if report.kind == ReportKind::Boolean {
            before.rows = report.rows;
            continue;
        }
        for row in report.removed {
            let place = before.rows.iter().position(|told| *told == row);
            let place = place.ok_or_else(|| format!("{close_ms} ms: {row:?} was not told"))?;
            before.rows.swap_remove(place);
        }
        before.rows.extend(report.rows);
    }
    let told = told.into_values().map(reported);
    Ok(told.filter(|report| !has_no_rows(&report.answer)).collect())
}

fn has_no_rows(answer: &Answer) -> bool {
    match answer {
        Answer::Boolean(is_so) => !is_so,
        Answer::Rows { rows, .. } => rows.is_empty(),
    }
}

/// What has to be told in the end, if that is determined: as if all items were in time.
fn wanted_in_time(case: &StandingCase, until_ms: u64) -> Option<Vec<Wanted>> {
    let mut in_time = case.clone();
    in_time.items.sort_by_key(|item| item.time_ms);
    let mut wanted = expected(&in_time, until_ms, WORK_MAX).ok().flatten()?;
    wanted.retain(|it| it.expected.boolean.unwrap_or(it.expected.given() > 0));
    let is_open = |wanted: &Wanted| {
        let Wanted { expected, .. } = wanted;
        expected.limit.is_some() || expected.offset > 0 || expected.is_reduced
    };
    for wanted in &mut wanted {
        if is_open(wanted) {
            return None;
        }
        wanted.expected.ordering = None;
    }
    Some(wanted)
}

fn revised_complaint(case: &StandingCase, until_ms: u64) -> Option<String> {
    let wanted = wanted_in_time(case, until_ms)?;
    for (dialect, text) in case.question.texts(&case.streams) {
        if dialect == query::standing::Dialect::RspQl && text.contains("CONSTRUCT") {
            // It writes a stream, which takes nothing back.
            continue;
        }
        let text = format!("#@ late=revise lateness=100h\n{text}");
        let complaint = match pushed(case, &text, until_ms, &stored(&case.stored)) {
            Ok(given) => added_up(given)
                .and_then(|given| check(&wanted, &given, &Blanks::Search))
                .err(),
            Err(error) => Some(error.message),
        };
        if let Some(complaint) = complaint {
            return Some(format!("{dialect:?}: {complaint}\n{text}"));
        }
    }
    None
}

/// A case whose closes do not depend on items, and whose graph does not.
fn is_revisable(case: &StandingCase) -> bool {
    let question = &case.question;
    let is_time = question.windows.iter().all(|window| match window.extent {
        PlainExtent::Time { .. } | PlainExtent::Past { .. } => true,
        PlainExtent::Sliding { .. } | PlainExtent::All => question.pace != ReportPace::Close,
        PlainExtent::Count { .. } | PlainExtent::Now => false,
    });
    is_time && question.pace != ReportPace::Change && question.origin != PlainOrigin::FirstItem
}

/// Reports and their revisions add up to what is reported of items that come in time.
#[test]
fn random_revisions_add_up() {
    let (mut asked, mut revised) = (0, 0);
    for seed in seeds::chosen(400, 50_000) {
        let mut random = Random::new(seed);
        let (mut case, until_ms) = random_standing(&mut random);
        for stream in &mut case.streams {
            stream.absorbed = Absorbed::Nothing;
        }
        let case = shuffled(&case, &mut random);
        if !is_revisable(&case) || wanted_in_time(&case, until_ms).is_none() {
            continue;
        }
        asked += 1;
        revised += usize::from(settled(&case).items.len() < case.items.len());
        if revised_complaint(&case, until_ms).is_some() {
            let small = smaller(&case, &mut |case| {
                revised_complaint(case, until_ms).is_some()
            });
            let why = revised_complaint(&small, until_ms).unwrap_or_default();
            panic!("seed {seed}: {why}\nuntil {until_ms}\n{small}");
        }
    }
    eprintln!("{asked} random cases, {revised} with late items");
    assert!(asked < 50 || revised > asked / 4, "too few are late");
}

/// A hub with a stream `urn:likes` of a second's batches, in which `likes` pushes: who likes what at which second.
fn liked(hub: &mut Hub, second: u64, who: &str) -> Vec<String> {
    let node = |name: &str| oxrdf::NamedNode::new_unchecked(format!("urn:{name}"));
    let graph = oxrdf::GraphName::DefaultGraph;
    let like = oxrdf::Quad::new(node(who), node("like"), node("t15"), graph);
    let item = TimedQuads {
        time_ms: second * 1000,
        quads: vec![like],
    };
    hub.push("urn:likes", "", None, &[item], None).unwrap();
    let mut lines = Vec::new();
    let advanced = hub.advance(&mut |somersault::Reported { report, .. }| {
        lines.push(report.json().unwrap());
        Ok(ControlFlow::Continue(()))
    });
    assert!(advanced.unwrap().is_continue());
    lines
}

fn hub_of(texts: &[&str]) -> Hub {
    let database = stored(&Dataset::new());
    let mut hub = Hub::new(database.clone());
    let likes = HubStream {
        grain_ms: 1000,
        ..HubStream::new("urn:likes")
    };
    hub.create(&likes, 0).unwrap();
    for (number, text) in texts.iter().enumerate() {
        let query = read_standing(&database, text).unwrap();
        hub.register(query, &format!("q{number}"), 0).unwrap();
    }
    hub
}

/// The stored side of a close is what all batches left that end by it, also where its windows were over before.
#[test]
fn what_is_stored_is_that_of_the_close() {
    let asked = "WHERE { WINDOW <urn:w> { ?some <urn:like> ?thing } ?who <urn:like> ?what }";
    let window = |extent: &str| {
        let declared = format!("FROM NAMED WINDOW <urn:w> ON <urn:likes> [{extent}]");
        format!("SELECT DISTINCT ?who {declared} {asked}")
    };
    let past = window("FROM NOW-PT4S TO NOW-PT2S STEP PT2S");
    let periodic = window("RANGE PT4S STEP PT4S");
    let mut hub = hub_of(&[&past, &format!("#@ report=periodic=6s\n{periodic}")]);
    let mut lines = Vec::new();
    for (second, who) in [(1, "erik"), (3, "logan"), (5, "steve"), (7, "clint")] {
        lines.extend(liked(&mut hub, second, who));
    }
    let told = |line: &String| {
        let of = line.split("\"head\"").next().unwrap_or_default().to_owned();
        (of, line.matches("urn:").count())
    };
    let told: Vec<(String, usize)> = lines.iter().map(told).collect();
    let expected = [(4000, 0, 2), (6000, 0, 3), (6000, 1, 3)];
    let expected = expected.map(|(close, query, count)| {
        (
            format!("{{\"close\":{close},\"query\":\"q{query}\","),
            count,
        )
    });
    assert_eq!(told, expected);
}

/// Between the commit that covers a close and the seal that its window waits for, another stream may have many commits.
#[test]
fn a_close_sees_its_commit_however_many_came_since() {
    let database = stored(&Dataset::new());
    let mut hub = Hub::new(database.clone());
    for (name, grain_ms) in [("urn:slow", 1000), ("urn:fast", 50)] {
        let settings = HubStream {
            grain_ms,
            ..HubStream::new(name)
        };
        hub.create(&settings, 0).unwrap();
    }
    let text = "#@ t0=500
        SELECT ?who FROM NAMED WINDOW <urn:s> ON <urn:slow> [RANGE PT1S STEP PT1S]
        FROM NAMED WINDOW <urn:f> ON <urn:fast> [RANGE PT1S STEP PT1S] WHERE { ?who <urn:like> ?what }";
    let query = read_standing(&database, text).unwrap();
    hub.register(query, "q", 0).unwrap();
    let mut told = Vec::new();
    for time_ms in (25..2000).step_by(50) {
        let node = |name: &str| oxrdf::NamedNode::new_unchecked(format!("urn:{name}"));
        let graph = oxrdf::GraphName::DefaultGraph;
        let like = oxrdf::Quad::new(node(&format!("u{time_ms}")), node("like"), node("t"), graph);
        let item = TimedQuads {
            time_ms,
            quads: vec![like],
        };
        hub.push("urn:fast", "", None, &[item], None).unwrap();
        for stream in ["urn:slow", "urn:fast"] {
            hub.watermark(stream, "", time_ms + 25).unwrap();
        }
        let advanced = hub.advance(&mut |somersault::Reported { report, .. }| {
            told.push((report.close_ms, report.rows.len()));
            Ok(ControlFlow::Continue(()))
        });
        assert!(advanced.unwrap().is_continue());
    }
    // The likes before each close, though its window is whole at 2000 ms alone.
    assert_eq!(told, [(1500, 30)]);
}

const LIKERS: &str = "SELECT ?who FROM NAMED WINDOW <urn:w> ON <urn:likes> [RANGE PT2S STEP PT2S]
    WHERE { WINDOW <urn:w> { ?who <urn:like> ?what } }";

#[test]
fn a_late_item_revises_its_report() {
    let mut hub = hub_of(&[&format!("#@ late=revise lateness=1m\n{LIKERS}")]);
    assert!(liked(&mut hub, 1, "erik").is_empty());
    let bindings =
        |who: &str| format!("[{{\"who\":{{\"type\":\"uri\",\"value\":\"urn:{who}\"}}}}]");
    let rows = |who: &str| {
        let bindings = bindings(who);
        format!("\"head\":{{\"vars\":[\"who\"]}},\"results\":{{\"bindings\":{bindings}}}}}")
    };
    let report = liked(&mut hub, 5, "logan");
    let first = format!("{{\"close\":2000,\"query\":\"q0\",{}", rows("erik"));
    assert_eq!(report, [first]);
    let report = liked(&mut hub, 1, "steve");
    let change = "{\"close\":2000,\"query\":\"q0\",\"revision\":1,\"removed\":[],";
    assert_eq!(report, [format!("{change}{}", rows("steve"))]);
    assert!(
        liked(&mut hub, 1, "steve").is_empty(),
        "a set has it already"
    );
    assert_eq!(hub.stream_info("urn:likes").unwrap().late, 2);
    assert!(!hub.has_stream("urn:likes/late"), "nobody asked for it");
    let unbounded = read_standing(
        &stored(&Dataset::new()),
        &format!("#@ late=revise\n{LIKERS}"),
    );
    let refused = hub.register(unbounded.unwrap(), "q1", 0).unwrap_err();
    assert!(
        refused.message.contains("needs lateness=SPAN"),
        "{}",
        refused.message
    );
}

#[test]
fn what_is_late_goes_to_the_side_stream() {
    let side = LIKERS.replace("urn:likes", "urn:likes/late");
    let mut hub = hub_of(&[LIKERS, &side]);
    let streams = hub.streams();
    let names: Vec<&str> = streams.iter().map(|it| &*it.settings.name).collect();
    assert_eq!(names, ["urn:likes", "urn:likes/late"]);
    liked(&mut hub, 1, "erik");
    let closes = |lines: Vec<String>| -> Vec<String> {
        let told = lines
            .into_iter()
            .map(|line| line[..line.find(",\"head").unwrap()].to_owned());
        told.collect()
    };
    let told = |close: u64, query: &str| format!("{{\"close\":{close},\"query\":\"{query}\"");
    assert_eq!(closes(liked(&mut hub, 5, "logan")), [told(2000, "q0")]);
    assert!(liked(&mut hub, 1, "steve").is_empty());
    // It came when all before the fifth second was decided, so that is its moment.
    let told_then = [told(6000, "q0"), told(6000, "q1")];
    assert_eq!(closes(liked(&mut hub, 7, "clint")), told_then);
    let refused = hub
        .create(&HubStream::new("urn:likes/late"), 0)
        .unwrap_err();
    assert!(
        refused
            .message
            .contains("what comes late in the stream <urn:likes>")
    );
    hub.unregister("q0").unwrap();
    let refused = hub.drop_stream("urn:likes").unwrap_err();
    assert!(
        refused.message.contains("<urn:likes/late> is named by"),
        "{}",
        refused.message
    );
    hub.unregister("q1").unwrap();
    hub.drop_stream("urn:likes").unwrap();
    assert!(hub.streams().is_empty());
}

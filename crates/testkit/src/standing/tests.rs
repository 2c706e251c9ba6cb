//! The definitions, on cases that are small enough to be answered by hand.

use super::*;
use crate::compare::Blanks;
use crate::graph;
use crate::naive::WORK_MAX;
use oxrdf::{Literal, Term};
use query::standing::Dialect;

const NAMES: &str = "PREFIX : <http://e/>\n";

fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/{name}"))
}

fn plain(name: &str, grain_ms: u64) -> PlainStream {
    PlainStream {
        iri: iri(name),
        begin_ms: 0,
        grain_ms,
        lateness_ms: 0,
        absorbed: Absorbed::All,
        into: GraphName::DefaultGraph,
        side_of: None,
    }
}

fn item(stream: usize, time_ms: u64, turtle: &str) -> Item {
    let quads = graph::parse(&format!("{NAMES}{turtle}")).unwrap();
    Item {
        stream,
        time_ms,
        quads: quads.iter().map(oxrdf::QuadRef::into_owned).collect(),
    }
}

fn question(head: &str, body: &str, windows: &[(usize, PlainExtent)]) -> Question {
    let window = |&(stream, extent): &(usize, PlainExtent)| PlainWindow { stream, extent };
    Question {
        registered_ms: 0,
        prologue: NAMES.to_owned(),
        head: head.to_owned(),
        from: Vec::new(),
        from_named: Vec::new(),
        body: body.to_owned(),
        windows: windows.iter().map(window).collect(),
        is_merged: false,
        bounds: Bounds::LeftClosed,
        origin: PlainOrigin::Epoch(0),
        partial_first: false,
        pace: ReportPace::Close,
        nonempty: false,
        rows: false,
        relation: Relation::Rows,
        difference: Difference::Multiset,
        is_multiset: false,
        is_compat: false,
    }
}

/// One stream of items `:sN :at N` at these times.
fn counted(times: &[u64], extent: PlainExtent) -> StandingCase {
    let items = times.iter().enumerate();
    let text = "{ GRAPH <urn:window:0> { ?s :at ?o } }";
    StandingCase {
        late: Vec::new(),
        stored: Dataset::new(),
        streams: vec![plain("s", 100)],
        items: items
            .map(|(place, &time)| item(0, time, &format!(":s{place} :at {time} .")))
            .collect(),
        question: question("SELECT ?s", text, &[(0, extent)]),
    }
}

/// Each report as `close: names of subjects`.
fn reports(case: &StandingCase, until_ms: u64) -> Vec<String> {
    let wanted = expected(case, until_ms, WORK_MAX).unwrap().unwrap();
    let shown = |wanted: Wanted| {
        let name = |term: &Term| term.to_string().replace("<http://e/", "").replace('>', "");
        let mut rows: Vec<String> = wanted
            .expected
            .rows
            .iter()
            .map(|row| row.iter().flatten().map(name).collect::<Vec<_>>().join("/"))
            .collect();
        rows.sort();
        format!("{}: {}", wanted.close_ms, rows.join(" "))
    };
    wanted.into_iter().map(shown).collect()
}

const HOPPING: PlainExtent = PlainExtent::Time {
    range_ms: 200,
    step_ms: 100,
};

#[test]
fn the_paper_s_example() {
    let seconds = |range: u64| PlainExtent::Time {
        range_ms: range * 1_000,
        step_ms: 1_000,
    };
    let body =
        "{ GRAPH <urn:window:0> { ?a :po ?t } GRAPH <urn:window:1> { ?b :li ?t } ?a :knows ?b }";
    let mut question = question(
        "SELECT ?a ?b ?t",
        body,
        &[(0, seconds(10)), (1, seconds(5))],
    );
    question.registered_ms = 809_000;
    let stream = |name| PlainStream {
        begin_ms: 800_000,
        ..plain(name, 100)
    };
    let text = format!(
        "{NAMES} :Logan :knows :Erik . :Erik :knows :Logan . :Logan :po :T12 , :T13 , :T14 ."
    );
    let mut case = StandingCase {
        late: Vec::new(),
        stored: graph::parse(&text).unwrap(),
        streams: vec![stream("Tweet"), stream("Like")],
        items: vec![
            item(0, 802_000, ":Logan :po :T15 ."),
            item(1, 806_000, ":Erik :li :T15 ."),
        ],
        question,
    };
    let found = "Logan/Erik/T15";
    let all = [
        format!("810000: {found}"),
        format!("811000: {found}"),
        "812000: ".to_owned(),
    ];
    assert_eq!(reports(&case, 812_000), all);
    let absorbed = |close| moment(&case, close).absorbed.len();
    assert_eq!([802_000, 802_100, 806_100].map(absorbed), [0, 1, 2]);
    case.question.bounds = Bounds::RightClosed;
    assert_eq!(
        reports(&case, 812_000),
        [all[0].clone(), "811000: ".to_owned(), "812000: ".to_owned()]
    );
}

#[test]
fn bounds_and_partial_windows() {
    let mut case = counted(&[0, 100, 150, 200], HOPPING);
    assert_eq!(
        reports(&case, 400),
        ["200: s0 s1 s2", "300: s1 s2 s3", "400: s3"]
    );
    case.question.partial_first = true;
    assert_eq!(reports(&case, 200), ["0: ", "100: s0", "200: s0 s1 s2"]);
    case.question.bounds = Bounds::RightClosed;
    assert_eq!(
        reports(&case, 400),
        [
            "0: s0",
            "100: s0 s1",
            "200: s1 s2 s3",
            "300: s2 s3",
            "400: "
        ]
    );
    case.question.nonempty = true;
    assert_eq!(reports(&case, 500).len(), 4);
    case.question.registered_ms = 201;
    assert_eq!(reports(&case, 500), ["300: s2 s3"]);
    case.question.origin = PlainOrigin::Epoch(30);
    assert_eq!(reports(&case, 500), ["230: s1 s2 s3", "330: s2 s3"]);
}

#[test]
fn the_first_item_begins_the_steps() {
    let mut case = counted(
        &[2_600, 3_000, 3_100],
        PlainExtent::Time {
            range_ms: 500,
            step_ms: 500,
        },
    );
    case.question.origin = PlainOrigin::FirstItem;
    case.question.partial_first = true;
    assert_eq!(reports(&case, 3_500), ["3000: s0", "3500: s1 s2"]);
    case.question.bounds = Bounds::RightClosed;
    assert_eq!(reports(&case, 3_500), ["3000: s0 s1", "3500: s2"]);
    case.items.clear();
    assert!(reports(&case, 3_500).is_empty());
}

/// At the close of another window nobody can know that an item of the same second will come, and begin the steps before it.
#[test]
fn a_window_is_not_whole_before_its_first_item() {
    let tumbling = PlainExtent::Time {
        range_ms: 200,
        step_ms: 200,
    };
    let mut case = counted(&[2_100, 2_500], tumbling);
    case.streams.push(plain("t", 100));
    case.items[1].stream = 1;
    case.question.windows.push(PlainWindow {
        stream: 1,
        extent: tumbling,
    });
    case.question.origin = PlainOrigin::FirstItem;
    assert_eq!(reports(&case, 2_800), ["2600: ", "2800: "]);
    case.question.partial_first = true;
    let all = ["2200: s0", "2400: ", "2600: ", "2800: "];
    assert_eq!(reports(&case, 2_800), all);
}

#[test]
fn a_content_is_a_set_of_the_latest_close() {
    let slow = PlainExtent::Time {
        range_ms: 200,
        step_ms: 200,
    };
    let mut case = counted(&[10, 110, 210], HOPPING);
    case.items.push(item(0, 120, ":s1 :at 110 ."));
    case.question.windows.push(PlainWindow {
        stream: 0,
        extent: slow,
    });
    case.question.head = "SELECT ?s".to_owned();
    case.question.body = "{ GRAPH <urn:window:1> { ?s :at ?o } }".to_owned();
    assert_eq!(reports(&case, 400), ["200: s0 s1", "300: s0 s1", "400: s2"]);
    case.question.pace = ReportPace::Periodic(150);
    assert_eq!(reports(&case, 450), ["300: s0 s1", "450: s2"]);
}

#[test]
fn changes_report_the_oldest_open_window() {
    let mut case = counted(&[10, 100, 250, 600], HOPPING);
    case.question.pace = ReportPace::Change;
    assert_eq!(
        reports(&case, 900),
        ["100: s0", "200: s0 s1", "300: s1 s2", "700: s3"]
    );
    case.question.bounds = Bounds::RightClosed;
    assert_eq!(
        reports(&case, 900),
        ["100: s0", "200: s0 s1", "300: s2", "700: s3"]
    );
    case.question.windows[0].extent = PlainExtent::Sliding { range_ms: 250 };
    assert_eq!(
        reports(&case, 900),
        ["100: s0", "200: s0 s1", "300: s1 s2", "700: s3"]
    );
    case.question.windows[0].extent = PlainExtent::Now;
    assert_eq!(
        reports(&case, 900),
        ["100: s0", "200: s1", "300: s2", "700: s3"]
    );
    case.question.windows[0].extent = PlainExtent::All;
    assert_eq!(
        reports(&case, 900),
        ["100: s0", "200: s0 s1", "300: s0 s1 s2", "700: s0 s1 s2 s3"]
    );
}

#[test]
fn counts_close_at_items() {
    let mut case = counted(
        &[10, 20, 130, 140, 150, 460],
        PlainExtent::Count { items: 3, step: 2 },
    );
    assert_eq!(reports(&case, 900), ["141: s1 s2 s3", "461: s3 s4 s5"]);
    case.items.reverse();
    assert_eq!(reports(&case, 900), ["141: s1 s2 s3", "461: s3 s4 s5"]);
    case.question.pace = ReportPace::Change;
    assert_eq!(reports(&case, 900)[1], "200: s2 s3 s4");
}

#[test]
fn a_window_of_the_past_ends_a_while_ago() {
    let case = counted(
        &[0, 150, 250],
        PlainExtent::Past {
            from_ms: 300,
            to_ms: 100,
            step_ms: 100,
        },
    );
    assert_eq!(reports(&case, 500), ["300: s0 s1", "400: s1 s2", "500: s2"]);
}

#[test]
fn differences_are_of_the_answer_before_be_it_reported_or_not() {
    let mut case = counted(&[10, 130, 250], HOPPING);
    case.question.relation = Relation::Insertions;
    assert_eq!(reports(&case, 400), ["200: s0 s1", "300: s2", "400: "]);
    case.question.relation = Relation::Deletions;
    assert_eq!(
        reports(&case, 500),
        ["200: ", "300: s0", "400: s1", "500: s2"]
    );
    case.question.rows = true;
    assert_eq!(reports(&case, 500), ["300: s0", "400: s1", "500: s2"]);
    case.question.nonempty = true;
    assert_eq!(reports(&case, 500), ["300: s0", "400: s1"]);
}

#[test]
fn an_empty_window_is_a_graph_that_no_variable_names() {
    let mut case = counted(&[10], HOPPING);
    case.stored = graph::parse(&format!("{NAMES} GRAPH :g {{ :a :at 1 }}")).unwrap();
    case.question.head = "SELECT ?n ?g".to_owned();
    case.question.body = "{ GRAPH <urn:window:0> { SELECT (COUNT(*) AS ?n) { ?s :at ?o } } \
                          OPTIONAL { GRAPH ?g { ?a :at ?b } } }"
        .to_owned();
    let number = |n: i64| Literal::from(n).to_string().replace('>', "");
    let report = |close, n| format!("{close}: {}/g", number(n));
    assert_eq!(reports(&case, 300), [report(200, 1), report(300, 0)]);
    case.question.from = vec![iri("none")];
    assert_eq!(reports(&case, 200), [format!("200: {}", number(1))]);
}

#[test]
fn one_default_graph_holds_windows_and_from_graphs() {
    let mut case = counted(&[10], HOPPING);
    case.streams[0].absorbed = Absorbed::Nothing;
    case.stored = graph::parse(&format!(
        "{NAMES} :x :at 1 . GRAPH :g {{ :a :at 1 }} GRAPH :h {{ :b :at 1 }}"
    ))
    .unwrap();
    case.question.is_merged = true;
    case.question.body = "{ ?s :at ?o }".to_owned();
    assert_eq!(reports(&case, 300), ["200: s0", "300: "]);
    case.question.from = vec![iri("g")];
    assert_eq!(reports(&case, 300), ["200: a s0", "300: a"]);
    assert_eq!(case.question.texts(&case.streams).len(), 1);
}

#[test]
fn a_window_that_is_written_twice_is_one_bag() {
    let mut case = counted(&[110, 120], HOPPING);
    case.streams[0].absorbed = Absorbed::Nothing;
    case.items[1] = item(0, 120, ":s0 :at 110 .");
    case.question.is_merged = true;
    case.question.is_multiset = true;
    case.question.body = "{ ?s :at ?o }".to_owned();
    assert_eq!(reports(&case, 200), ["200: s0 s0"]);
    let once = case.question.windows[0];
    case.question.windows.push(once);
    assert_eq!(reports(&case, 200), ["200: s0 s0"]);
    // Another window over the same items has each of them once more.
    case.question.windows[1].extent = PlainExtent::Time {
        range_ms: 100,
        step_ms: 100,
    };
    assert_eq!(reports(&case, 200), ["200: s0 s0 s0 s0"]);
}

#[test]
fn several_streams_are_stored_as_far_as_the_first_commit_that_covers_them() {
    let mut case = counted(&[50, 150, 250], HOPPING);
    assert!(!has_open_commits(&case));
    case.streams.push(plain("t", 200));
    case.question.windows.push(PlainWindow {
        stream: 1,
        extent: HOPPING,
    });
    assert!(has_open_commits(&case));
    case.question.body = "{ ?s :at ?o }".to_owned();
    assert_eq!(reports(&case, 200), ["200: s0 s1"]);
    let over = |commits: &[[u64; 2]]| {
        let commits: Vec<CommitEnds> = commits.iter().map(|commit| commit.to_vec()).collect();
        let wanted = expected_of(&case, 300, WORK_MAX, &commits)?.unwrap();
        let rows = wanted.iter().map(|it| it.expected.rows.len());
        Ok::<Vec<usize>, String>(rows.collect())
    };
    // Closes 200 and 300: the second needs no batch of the other stream beyond 200.
    assert_eq!(
        over(&[[0, 0], [200, 0], [200, 200], [300, 200]]),
        Ok(vec![2, 3])
    );
    assert_eq!(
        over(&[[0, 0], [300, 0], [300, 200], [400, 400]]),
        Ok(vec![3, 3])
    );
    assert!(
        over(&[[0, 0], [200, 200]])
            .unwrap_err()
            .contains("no commit covers 300 ms")
    );
    assert!(
        over(&[[0, 200], [300, 0]])
            .unwrap_err()
            .contains("goes back")
    );
}

#[test]
fn each_dialect_says_the_question() {
    let mut case = counted(
        &[],
        PlainExtent::Time {
            range_ms: 10_000,
            step_ms: 1_500,
        },
    );
    case.question.nonempty = true;
    case.question.from = vec![iri("g")];
    let text = |case: &StandingCase, dialect| case.question.text(dialect, &case.streams);
    let body = "{ ?s :at ?o } }";
    assert_eq!(
        text(&case, Dialect::RspQl).unwrap(),
        format!(
            "{NAMES}REGISTER RSTREAM <urn:question> AS\nSELECT ?s\n\
             FROM NAMED WINDOW <urn:window:0> ON <http://e/s> [RANGE PT10S STEP PT1.5S]\n \
             FROM <http://e/g> WHERE {{ WINDOW <urn:window:0> {body}"
        )
    );
    assert_eq!(
        text(&case, Dialect::CSparqlGraph).unwrap(),
        format!(
            "#@ report=close,nonempty\n{NAMES}REGISTER QUERY question AS\nSELECT ?s\n\
             FROM STREAM <http://e/s> [RANGE 10s STEP 1500ms]\n FROM <http://e/g> WHERE {{ GRAPH <http://e/s> {body}"
        )
    );
    assert_eq!(
        text(&case, Dialect::Cqels).unwrap(),
        format!(
            "#@ bounds=lcro report=close,nonempty r2s=rstream\n{NAMES}SELECT ?s FROM <http://e/g> \
             WHERE {{ STREAM <http://e/s> [RANGE 10s SLIDE 1500ms] {body}"
        )
    );
    assert_eq!(text(&case, Dialect::CSparql), None);
    case.question.windows[0].extent = PlainExtent::All;
    let dialects = case.question.texts(&case.streams);
    assert_eq!(
        dialects
            .iter()
            .map(|(dialect, _)| *dialect)
            .collect::<Vec<_>>(),
        [Dialect::Cqels]
    );
}

#[test]
fn reports_are_compared_one_by_one() {
    let case = counted(&[10, 130, 250], HOPPING);
    let wanted = expected(&case, 400, WORK_MAX).unwrap().unwrap();
    let given = reports_by_spareval(&case, 400).unwrap();
    let verdict = |given: &[Reported]| check(&wanted, given, &Blanks::Same);
    assert_eq!(verdict(&given), Ok(()));
    assert!(
        verdict(&given[1..])
            .unwrap_err()
            .contains("expected the report of 200 ms")
    );
    assert!(
        verdict(&given[..2])
            .unwrap_err()
            .contains("no report of 400 ms")
    );
    let mut other = given.clone();
    other[1].answer = given[0].answer.clone();
    assert!(
        verdict(&other)
            .unwrap_err()
            .contains("the report of 300 ms")
    );
    let more = [given.clone(), given].concat();
    assert!(verdict(&more).unwrap_err().contains("too many"));
}

#[test]
fn a_case_shrinks_to_what_fails() {
    let mut case = counted(&[10, 130, 250, 260, 390], HOPPING);
    case.stored = graph::parse(&format!("{NAMES} :a :b 1 , 2 , 3 .")).unwrap();
    case.question.windows.push(case.question.windows[0]);
    let small = smaller(&case, &mut |case| {
        let has = |name: &str| {
            case.items
                .iter()
                .any(|item| item.quads[0].to_string().contains(name))
        };
        has("s1>") && has("s3>") && !case.stored.is_empty()
    });
    let sizes = (
        small.items.len(),
        small.stored.len(),
        small.question.windows.len(),
    );
    assert_eq!(sizes, (2, 1, 1));
    let shown = small.to_string();
    assert!(
        shown.contains("0 130 <http://e/s1>") && shown.contains("---- RspQl"),
        "{shown}"
    );
}

//! Queries that make memory grow end with an error of their budget, and never take much more than it.
//!
//! What the engine says it holds is not asked: each query runs in a process of its own, this test
//! program again, which compares the kernel's figure of its largest resident memory before and after.
//! So what is on no budget is seen, whoever allocated it: the allocator's slack too, for which a
//! quarter of the budget and [`SLACK_BYTES`] are allowed.
//!
//! An ordinary run takes a sample. With `SOMERSAULT_LONG=1` each query runs, and a second time with
//! memory for everything and little time, and has to end soon after its deadline, what it held freed.

use somersault::load::{Request as Load, Source, Syntax, Unwatched, load_in_memory};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::{AnswerKind, Database, GraphFormat, GraphWriter, Kind, Options, Request};
use std::fmt::Write;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

/// Set in the processes that run one query each: its name.
const QUERY: &str = "SOMERSAULT_ABUSE";
/// Set besides where time is to run out, not memory.
const SHORT: &str = "SOMERSAULT_ABUSE_SHORT";

const BUDGET_BYTES: u64 = 128 << 20;
const SLACK_BYTES: u64 = 32 << 20;

const TIMEOUT: Duration = Duration::from_millis(800);
/// What a query may take beyond its deadline. Unoptimised code on a busy machine needs more.
const OVERSHOOT: Duration = if cfg!(debug_assertions) {
    Duration::from_secs(3)
} else {
    Duration::from_millis(100)
};

use End::{Any, Memory};

/// What becomes of a query whose memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It needs more than the budget.
    Memory,
    /// It may answer, or run out of time: what it holds is little.
    Any,
}

/// The queries by name. `{word:count}` stands for a part that [`part`] makes; `{cross}` for every two
/// statements.
const ABUSES: &[(&str, End, &str)] = &[
    (
        "concat",
        Memory,
        "SELECT (COUNT(DISTINCT ?c15) AS ?n) { ?s ?p ?o {doubled:15} }",
    ),
    (
        "concat-18",
        Memory,
        "SELECT (STRLEN(?c18) AS ?n) { {cross} {doubled:18} }",
    ),
    (
        "concat-many",
        Memory,
        "SELECT (SUM(STRLEN(CONCAT({c12:100}))) AS ?n) { ?s ?p ?o {doubled:12} }",
    ),
    (
        "replace",
        Any,
        "SELECT (COUNT(DISTINCT ?c4) AS ?n) { ?s ?p ?o {replaced:4} }",
    ),
    (
        "encode",
        Memory,
        "SELECT (COUNT(DISTINCT ?b) AS ?n) { {cross}
        BIND(ENCODE_FOR_URI(CONCAT(STR(?s), '  ', STR(?u))) AS ?a)
        BIND(UCASE(ENCODE_FOR_URI(ENCODE_FOR_URI(?a))) AS ?b) }",
    ),
    (
        "typed",
        Memory,
        "SELECT (COUNT(DISTINCT ?x) AS ?n) { {cross}
        BIND(STRDT(CONCAT(STR(?s), STR(?u)), <http://e/type>) AS ?x) }",
    ),
    (
        "triple",
        Memory,
        "SELECT (COUNT(DISTINCT ?x) AS ?n) { {cross} BIND(TRIPLE(?s, ?q, ?u) AS ?x) }",
    ),
    (
        "group-concat",
        Memory,
        "SELECT ?s (GROUP_CONCAT(STR(?t)) AS ?x) { {cross} } GROUP BY ?s",
    ),
    (
        "group-concat-all",
        Memory,
        "SELECT (GROUP_CONCAT(STR(?t)) AS ?x) { {cross} }",
    ),
    (
        "uuid",
        Memory,
        "SELECT DISTINCT ?x { {cross} BIND(STRUUID() AS ?x) } ORDER BY ?x",
    ),
    ("order", Memory, "SELECT * { {cross} } ORDER BY ?u ?s"),
    (
        "order-text",
        Memory,
        "SELECT ?s { {cross} } ORDER BY CONCAT(STR(?s), STR(?u), STR(?t))",
    ),
    (
        "order-long",
        Memory,
        "SELECT ?s { ?s ?p ?o {doubled:13} } ORDER BY UCASE(?c13)",
    ),
    (
        "distinct",
        Memory,
        "SELECT DISTINCT ?s ?o ?t ?u { {cross} }",
    ),
    (
        "group",
        Memory,
        "SELECT ?s ?t (COUNT(*) AS ?n) { {cross} } GROUP BY ?s ?t ?u",
    ),
    (
        "nested-groups",
        Memory,
        "SELECT * {
        { SELECT ?s ?t (COUNT(*) AS ?n) { {cross} } GROUP BY ?s ?t }
        { SELECT ?t (SUM(?k) AS ?m) {
            { SELECT ?s ?t ?u (COUNT(*) AS ?k) { {cross} } GROUP BY ?s ?t ?u } } GROUP BY ?t } }",
    ),
    (
        "count-distinct",
        Memory,
        "SELECT (COUNT(DISTINCT *) AS ?n) { {cross} }",
    ),
    (
        "optional",
        Memory,
        "SELECT * { ?a ?b ?c OPTIONAL { {cross} } } ORDER BY ?u",
    ),
    (
        "exists",
        Any,
        "SELECT * { {cross} FILTER EXISTS { ?s ?x ?u . ?y ?z ?w } } ORDER BY ?u",
    ),
    (
        "minus",
        Any,
        "SELECT * { {cross} MINUS { ?s ?x ?u . ?y ?z ?w } }",
    ),
    (
        "lateral",
        Any,
        "SELECT * { {cross} LATERAL { SELECT ?v { ?s ?x ?v } ORDER BY ?v LIMIT 2 } } ORDER BY ?v",
    ),
    ("union", Memory, "SELECT DISTINCT * { {union:100} }"),
    (
        "path",
        Any,
        "SELECT * { ?s (<http://e/p0>|^<http://e/p0>|<http://e/p1>)* ?o }",
    ),
    (
        "path-distinct",
        Any,
        "SELECT DISTINCT ?s ?o { ?s (<http://e/p0>|^<http://e/p0>|<http://e/p1>)* ?o }",
    ),
    (
        "path-nested",
        Any,
        "SELECT (COUNT(*) AS ?n) { ?s ((<http://e/p0>|^<http://e/p0>)*)* ?o }",
    ),
    (
        "in",
        Any,
        "SELECT * { ?s ?p ?o FILTER(?o IN ({list:100000})) }",
    ),
    (
        "values",
        Any,
        "SELECT * { VALUES ?s { {names:100000} } ?s ?p ?o }",
    ),
    (
        "values-cross",
        Any,
        "SELECT * { VALUES ?s { {names:100000} } VALUES ?t { {names:2000} } } ORDER BY ?t",
    ),
    (
        "construct",
        Any,
        "CONSTRUCT { ?s ?q ?u . _:b ?p ?u } { {cross} }",
    ),
    (
        "construct-long",
        Any,
        "CONSTRUCT { {template:900} } { {cross} {doubled:10} }",
    ),
    ("describe", Any, "DESCRIBE ?s ?o { ?s ?p ?o }"),
    ("chain", Any, "SELECT * { {chain:1000} }"),
    (
        "regex",
        Any,
        "SELECT * { {cross}
        FILTER REGEX(CONCAT(STR(?s), STR(?u)), CONCAT(STR(?u), '(a|b)*c{1,50}')) }",
    ),
    (
        "regexes",
        Any,
        "SELECT * { {cross} FILTER ({regexes:200}) }",
    ),
];

/// A part of a query.
fn part(word: &str, count: usize) -> String {
    let many = |part: &dyn Fn(usize) -> String, between: &str| {
        let parts: Vec<String> = (0..count).map(part).collect();
        parts.join(between)
    };
    let name = |at: usize| format!("<http://e/absent{at}>");
    let bound = |call: &str| {
        let call = |at: usize| {
            let value = call.replace('@', &format!("?c{at}"));
            format!("BIND({value} AS ?c{})", at + 1)
        };
        format!("BIND(STR(?s) AS ?c0) {}", many(&call, " "))
    };
    match word {
        "doubled" => bound("CONCAT(@, @)"),
        "replaced" => bound("REPLACE(@, \"[a-z]\", \"$0$0$0$0$0$0$0$0\")"),
        "names" => many(&name, " "),
        "list" => many(&name, ","),
        "c12" => many(&|_| "?c12".to_owned(), ","),
        "union" => many(
            &|at| format!("{{ ?s{at} ?p ?o . ?t ?q{at} ?u }}"),
            " UNION ",
        ),
        "chain" => many(
            &|at| format!("?v{at} <http://e/p{}> ?v{} .", at % 3, at + 1),
            " ",
        ),
        "template" => many(&|at| format!("?s <http://e/q{at}> ?c10 ."), " "),
        "regexes" => many(
            &|at| format!("REGEX(STR(?s), \"[a-z]{{{}}}é{at}\")", 500 + at % 7),
            " || ",
        ),
        _ => panic!("unknown part {word}"),
    }
}

/// The text of a query.
fn expanded(text: &str) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        expanded.push_str(before);
        let named = after.split_once('}').filter(|(name, _)| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == ':') && !name.is_empty()
        });
        rest = match named {
            Some(("cross", after)) => {
                expanded.push_str("?s ?p ?o . ?t ?q ?u");
                after
            }
            Some((name, after)) => {
                let (word, count) = name.split_once(':').expect("a word and a count");
                expanded.push_str(&part(word, count.parse().expect("a count")));
                after
            }
            None => {
                expanded.push('{');
                after
            }
        };
    }
    expanded + rest
}

/// Subjects with a successor, a hub and a name.
fn database() -> Database {
    let mut text = String::new();
    for subject in 0..3000 {
        let next = (subject + 1) % 3000;
        write!(
            text,
            "<http://e/subject{subject}> <http://e/p0> <http://e/subject{next}> .\n\
             <http://e/subject{subject}> <http://e/p1> <http://e/hub{}> .\n\
             <http://e/subject{subject}> <http://e/p2> \"the name of {subject}\" .\n",
            subject % 7
        )
        .expect("a string grows");
    }
    let source = Source::reader("data", io::Cursor::new(text)).with_syntax(Syntax::NTriples);
    let options = Options {
        memory_pool_bytes: 4 << 30,
        query_memory_bytes: 2 << 30,
        text_max_bytes: 16 << 20,
        ..Options::default()
    };
    let loaded = load_in_memory(vec![source], &Load::default(), &options, &Unwatched);
    loaded.expect("the data are sound").0
}

/// A figure of this process in `/proc/self/status`, in bytes.
fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next());
    let kib: u64 = figure.and_then(|figure| figure.parse().ok()).expect("kB");
    kib << 10
}

/// Runs a query and gives how it ended.
fn run(database: &Database, request: &Request<'_>) -> Option<Kind> {
    let mut query = match database.start(request) {
        Ok(query) => query,
        Err(error) => return Some(error.kind),
    };
    let ended = if query.kind() == AnswerKind::Graph {
        let mut writer = GraphWriter::new(GraphFormat::NTriples, io::sink());
        query.run(&mut writer)
    } else {
        query.run(&mut ResultWriter::new(ResultFormat::Json, io::sink()))
    };
    ended.err().map(|error| error.kind)
}

/// One query, where another process asks for it.
#[test]
fn one_abuse() {
    let Ok(name) = std::env::var(QUERY) else {
        return;
    };
    let is_short = std::env::var(SHORT).is_ok();
    let (_, end, text) = ABUSES
        .iter()
        .find(|(known, ..)| *known == name)
        .expect("known");
    let text = expanded(text);
    let database = database();
    let request = Request {
        memory_bytes: Some(if is_short { 2 << 30 } else { BUDGET_BYTES }),
        timeout: Some(match end {
            End::Memory if !is_short => 20 * TIMEOUT,
            _ => TIMEOUT,
        }),
        ..Request::new(&text)
    };
    // The largest resident memory is counted anew from here on.
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own figure");
    let before = status_bytes("VmRSS:");
    let begun = Instant::now();
    let kind = run(&database, &request);
    let taken = begun.elapsed();
    let grown = status_bytes("VmHWM:").saturating_sub(before);
    println!("{name}: {kind:?}, {} MiB more, {taken:.1?}", grown >> 20);
    assert_eq!(database.pool().used_bytes(), 0, "everything is given back");
    let timeout = request.timeout.expect("it is set");
    assert!(taken <= timeout + OVERSHOOT, "{name} took {taken:?}");
    if is_short {
        return;
    }
    let allowed = BUDGET_BYTES + BUDGET_BYTES / 4 + SLACK_BYTES;
    assert!(grown <= allowed, "{name} took {} MiB", grown >> 20);
    match end {
        End::Memory => assert_eq!(kind, Some(Kind::Memory), "{name}"),
        End::Any => assert!(
            matches!(kind, None | Some(Kind::Memory | Kind::Timeout)),
            "{name} ended with {kind:?}"
        ),
    }
}

/// The queries of an ordinary run: one for each thing that grows.
const SAMPLE: [&str; 10] = [
    "concat",
    "concat-18",
    "order-text",
    "distinct",
    "group",
    "union",
    "values",
    "construct-long",
    "describe",
    "regexes",
];

fn is_long() -> bool {
    std::env::var("SOMERSAULT_LONG").is_ok()
}

/// Runs each query in a process of its own; says what went wrong.
fn run_all(is_short: bool) -> Vec<String> {
    let program = std::env::current_exe().expect("this program has a file");
    let mut failed = Vec::new();
    for (name, ..) in ABUSES {
        if !is_long() && !SAMPLE.contains(name) {
            continue;
        }
        let mut command = Command::new(&program);
        command.args(["one_abuse", "--exact", "--nocapture"]);
        command.env(QUERY, name);
        if is_short {
            command.env(SHORT, "1");
        }
        let output = command.output().expect("this program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or(name);
        println!("{said}");
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            failed.push(format!("{said}: {why}"));
        }
    }
    failed
}

#[test]
fn no_abuse_takes_more_than_its_budget() {
    let failed = run_all(false);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_abuse_ends_soon_after_its_deadline() {
    if !is_long() {
        return;
    }
    let failed = run_all(true);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

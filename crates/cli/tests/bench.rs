//! `bench` through the binary: figures of every kind come out, with the rows that the data give,
//! and what cannot be measured is an error.

use crate::common;

use common::{run, started, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// The figures that a run prints.
fn figures(arguments: &[&str]) -> Vec<Value> {
    let ran = run([&["bench"], arguments, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.errors);
    let lines = ran.output.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn fails(arguments: &[&str], code: i32, part: &str) {
    let ran = run([&["bench"], arguments].concat());
    assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.errors);
    assert!(ran.errors.contains(part), "{arguments:?}: {}", ran.errors);
}

fn names(figures: &[Value]) -> Vec<&str> {
    let names = figures.iter().map(|figure| figure["name"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

/// A store of one university.
fn store(folder: &Path) -> PathBuf {
    let store = folder.join("store");
    common::load(&store, &[&common::lubm(folder, 0, 1)]);
    store
}

const SHORT: [&str; 4] = ["--time", "200ms", "--warm-up", "50ms"];
const LIGHT: [&str; 7] = ["light", "a1", "a2", "a3", "a4", "a5", "a6"];

#[test]
fn a_mix_is_measured_in_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    let mix = |more: &[&str]| figures(&[&["mix", "-l", text(&store)], &SHORT[..], more].concat());
    let cdf = folder.path().join("cdf.csv");
    let light = mix(&["--threads", "2", "--cdf", text(&cdf)]);
    assert_eq!(names(&light), LIGHT);
    let all = &light[0];
    assert_eq!(
        (&all["bench"], &all["data"]),
        (&"mix".into(), &"lubm-1".into())
    );
    assert_eq!(all["threads"], 2);
    for figure in &light[..] {
        let median = figure["median_us"].as_f64().expect("a median");
        assert!(median > 0.0 && median <= figure["p99_us"].as_f64().expect("a p99"));
        assert!(figure["per_second"].as_f64().expect("a rate") > 0.0);
        assert!(figure["rows"].as_u64().expect("rows") > 0, "{figure}");
    }
    let runs = |figure: &Value| figure["runs"].as_u64().expect("runs");
    assert_eq!(runs(all), light[1..].iter().map(runs).sum::<u64>());
    let csv = std::fs::read_to_string(&cdf).expect("it was written");
    assert!(csv.starts_with("name,share,microseconds\na1,"), "{csv}");
    assert!(
        csv.contains("\na6,1.000000,"),
        "the last run of the last class"
    );

    let open = mix(&["--rate", "300"]);
    assert_eq!(open[0]["arrivals_per_second"], 300.0);
    assert!((20..200).contains(&runs(&open[0])), "{}", open[0]);

    let heavy = mix(&["--kind", "heavy"]);
    assert_eq!(names(&heavy), ["heavy", "q1", "q2", "q3", "q7"]);
    let q2 = &heavy[2];
    assert_eq!(q2["rows"].as_u64(), Some(828 * runs(q2)));

    let hybrid = mix(&["--kind", "hybrid"]);
    assert_eq!(hybrid.len(), 12);
    assert_eq!(hybrid[0]["name"], "hybrid-light");
    assert_eq!(hybrid[7]["name"], "hybrid-heavy");
    assert!(runs(&hybrid[7]) > 0);
}

#[test]
fn a_mix_is_measured_over_http() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    let served = Served::start(&["-l", text(&store)]);
    let mix =
        |more: &[&str]| figures(&[&["mix", "--endpoint", &served.url], &SHORT[..], more].concat());
    let light = mix(&["--in-flight", "8"]);
    assert_eq!(names(&light), LIGHT);
    assert_eq!(light[0]["in_flight"], 8);
    assert_eq!(light[0]["data"], "lubm-1");
    assert!(light[0]["rows"].as_u64() > Some(0));
    let heavy = mix(&["--kind", "heavy"]);
    let runs = heavy[2]["runs"].as_u64().expect("runs");
    assert_eq!(heavy[2]["rows"].as_u64(), Some(828 * runs));
    let hybrid = mix(&["--kind", "hybrid", "--rate", "200", "--connections", "4"]);
    assert_eq!(hybrid.len(), 12);
}

#[test]
fn what_cannot_be_measured_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = common::write(
        folder.path(),
        "x.nt",
        "<http://s> <http://p> <http://o> .\n",
    );
    let store = folder.path().join("store");
    common::load(&store, &[&data]);
    let location = ["mix", "-l", text(&store)];
    fails(&location, 1, "no instance of a class");
    fails(&[&location[..], &["--rate", "0"]].concat(), 2, "--rate");
    fails(&[&location[..], &["--time", "3"]].concat(), 2, "--time");
    fails(&["mix"], 2, "--location");
    fails(
        &[&location[..], &["--cdf", "a.svg"]].concat(),
        2,
        "cargo xtask plot FILE.csv a.svg",
    );
    fails(&["mix", "--endpoint", "https://localhost/"], 4, "http://");
    fails(
        &["mix", "--endpoint", "http://127.0.0.1:1/"],
        4,
        "127.0.0.1:1",
    );
}

#[test]
fn loads_are_measured() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stores = folder.path().join("stores");
    std::fs::create_dir(&stores).expect("a new folder");
    let load = |more: &[&str]| figures(&[&["load", "--folder", text(&stores)], more].concat());
    let file = common::lubm(folder.path(), 0, 1);
    for loaded in [
        load(&[text(&file), "--runs", "2"]),
        load(&["--universities", "1", "--format", "ttl", "--threads", "1"]),
    ] {
        let whole = &loaded[0];
        assert_eq!(
            (&whole["bench"], &whole["name"]),
            (&"load".into(), &"load".into())
        );
        assert_eq!(whole["rows"], 103_074);
        let bytes = whole["bytes_per_triple"].as_f64().expect("bytes");
        assert!((5.0..100.0).contains(&bytes), "{bytes}");
        assert!(whole["per_second"].as_f64().expect("a rate") > 1000.0);
        assert!(names(&loaded).contains(&"parse"), "{loaded:?}");
    }
    let left = std::fs::read_dir(&stores).expect("it is there").count();
    assert_eq!(left, 0, "stores are deleted");
    fails(
        &["load", "--universities", "1", "--format", "rdf"],
        2,
        "--format",
    );
    fails(&["load"], 2, "FILE");
    fails(&["load", "nowhere.nt"], 1, "nowhere.nt");
}

#[test]
fn paths_and_cycles_are_measured() {
    let small = ["path", "--vertices", "500", "--edges", "2000"];
    let cliques = ["--clique-vertices", "100", "--clique-edges", "2000"];
    let found = figures(&[&small[..], &cliques].concat());
    let expected = [
        "closure",
        "closure-arrays",
        "triangles",
        "triangles-checks",
        "4-cliques",
        "4-cliques-checks",
    ];
    assert_eq!(names(&found), expected);
    for pair in found.chunks(2) {
        assert_eq!(pair[0]["rows"], pair[1]["rows"]);
        assert!(pair[0]["rows"].as_u64() > Some(0), "{pair:?}");
    }
}

/// A few users, and as little application time as fills a window.
const STREAMS: [&str; 7] = [
    "streams", "--users", "100", "--time", "300ms", "--only", "L1",
];

#[test]
fn streams_are_measured() {
    let measured = figures(&STREAMS);
    let names = names(&measured);
    for name in [
        "L1",
        "L1 terms",
        "executions",
        "PO inject",
        "inject",
        "step",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // Nothing was kept, and nothing waited for.
    for name in ["PO log", "log", "sync", "behind", "checkpoint"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
    let step = &measured[names
        .iter()
        .position(|name| *name == "step")
        .expect("steps")];
    assert_eq!((&step["runs"], &step["rows"]), (&3.into(), &40_050.into()));
}

#[test]
fn streams_that_are_kept_are_measured() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = |name: &str, more: &[&str]| {
        let store = folder.path().join(name);
        figures(&[&STREAMS, &["-l", text(&store), "--keep"][..], more].concat())
    };
    let paced = kept("paced", &["--paced", "--checkpoint", "200ms"]);
    let names_paced = names(&paced);
    for name in ["L1 terms", "PO log", "log", "sync", "behind", "checkpoint"] {
        assert!(names_paced.contains(&name), "{name}: {names_paced:?}");
    }
    let cost = kept("cost", &["--log-cost"]);
    let of = |name: &str| {
        let figure = cost.iter().find(|figure| figure["name"] == name);
        let figure = figure.unwrap_or_else(|| panic!("{name}: {:?}", names(&cost)));
        (
            figure["ratio"].as_f64().expect("a ratio"),
            figure["runs"].clone(),
        )
    };
    let (with_disk, runs) = of("step, log to none");
    assert_eq!(runs, 3);
    assert!(of("the same without the disk").0 <= with_disk);
    fails(&[&STREAMS[..], &["--keep"]].concat(), 2, "--location");
}

#[test]
fn who_asks_beside_streams_is_measured() {
    let short = ["--users", "100", "--pairs", "2", "--stretch", "200ms"];
    let measured = figures(&[&["streams", "--beside", "s"], &short[..]].concat());
    for name in ["S1", "S2", "S3", "S4", "S5", "S6", "all"] {
        let name = format!("{name} ratio");
        let figure = measured.iter().find(|figure| figure["name"] == *name);
        let figure = figure.unwrap_or_else(|| panic!("{name}: {:?}", names(&measured)));
        assert_eq!(figure["runs"], 2, "{figure}");
        let [low, high] = [0, 1].map(|end| figure["ratio_interval"][end].as_f64());
        let ratio = figure["ratio"].as_f64();
        assert!(low > Some(0.0) && low <= ratio && ratio <= high, "{figure}");
    }
    let light = [&["streams", "--beside", "light"], &short[..]].concat();
    fails(&light, 2, "LUBM data");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    let measured = figures(&[&light[..], &["-l", text(&store)]].concat());
    assert!(names(&measured).contains(&"a6 beside loops"));
}

#[test]
fn figures_are_recorded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    let history = folder.path().join("history.jsonl");
    let arguments = ["lubm", "-l", text(&store), "--only", "q4", "--runs", "3"];
    let record = ["--record", text(&history), "--note", "commit=1a2b"];
    for _ in 0..2 {
        figures(&[&arguments[..], &record].concat());
    }
    let lines = std::fs::read_to_string(&history).expect("it was written");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(names(&lines), ["read", "q4", "read", "q4"]);
    assert!(lines.iter().all(|line| line["commit"] == "1a2b"));
    let wrong = ["--record", text(&history), "--note", "commit"];
    fails(&[&arguments[..], &wrong].concat(), 2, "NAME=VALUE");
}

/// A server that is ended with its test.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let mut command = common::somersault();
        command.args(["serve", "-b", "127.0.0.1:0"]).args(arguments);
        let mut child = started(command.stdin(Stdio::null()));
        let errors = child.stderr.take().expect("a pipe was asked for");
        let mut lines = BufReader::new(errors).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, url) = line.split_once("listens on ")?;
            Some(url.to_owned())
        });
        // Whoever reads nothing would block it.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.expect("it says where it listens");
        Served { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

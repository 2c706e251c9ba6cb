//! LSBench through the binary: a folder that loads and whose one-shot queries have answers, the streams on standard
//! output, and what is refused.

use crate::common;

use common::{run, text};
use std::fs;
use std::path::PathBuf;
use workload::lsbench::{Dialect, Lsbench, Question, Stream};

#[test]
fn stored_and_streamed_data_answer_the_one_shot_queries() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let arguments = ["generate", "lsbench", "--users", "500", "--seconds", "1"];
    let generated = run(arguments.into_iter().chain(["-o", text(&data)]));
    assert_eq!(generated.code, Some(0), "{}", generated.errors);
    let mut files = vec![data.join("initial.nt")];
    for stream in Stream::ALL {
        let recorded = fs::read_to_string(data.join(stream.file_name())).expect("it was written");
        let statement = |line: &str| line.split_once('\t').expect("a time").1.to_owned() + "\n";
        let statements: String = recorded.lines().map(statement).collect();
        files.push(common::write(
            folder.path(),
            &format!("{}.nt", stream.short_name()),
            statements,
        ));
    }
    let store = folder.path().join("store");
    common::load(
        &store,
        &files.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
    );
    let points: Vec<_> = Lsbench::new(500, 0)
        .expect("a size")
        .start_points(1)
        .take(40)
        .collect();
    for question in Question::ONCE {
        let rows = |point| rows(&store, &question.text(Dialect::CSparql, point));
        // Not every person writes within a second.
        assert!(
            points.iter().any(|&point| rows(point) > 0),
            "{}",
            question.name()
        );
    }
}

fn rows(store: &std::path::Path, query: &str) -> usize {
    let answer = run([
        "query",
        "-l",
        text(store),
        "--results-format",
        "csv",
        "--query",
        query,
    ]);
    assert_eq!(answer.code, Some(0), "{query}: {}", answer.errors);
    answer.output.lines().count() - 1
}

#[test]
fn streams_go_to_standard_output_by_time() {
    let arguments = [
        "generate",
        "lsbench",
        "--users",
        "50",
        "--seconds",
        "1",
        "-o",
        "-",
    ];
    let generated = run(arguments
        .into_iter()
        .chain(["--rate", "0.01x", "--threads", "3"]));
    assert_eq!(generated.code, Some(0), "{}", generated.errors);
    let lines: Vec<&str> = generated.output.lines().collect();
    assert_eq!(lines.len(), 1335);
    let times: Vec<u64> = lines
        .iter()
        .map(|line| {
            line.split_once('\t')
                .expect("a time")
                .0
                .parse()
                .expect("a number")
        })
        .collect();
    assert!(times.is_sorted() && times[1334] < 1000);
    for stream in Stream::ALL {
        let end = format!(" <{}> .", stream.iri());
        let count = lines.iter().filter(|line| line.ends_with(&end)).count() as u64;
        assert_eq!(count, stream.lines_per_second() / 100);
    }
    assert!(
        generated.errors.contains("\"statements\":1335"),
        "{}",
        generated.errors
    );
}

#[test]
fn mistakes_are_usage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = common::write(folder.path(), "file", "");
    for (users, rate, output) in [
        ("10", "1x", "-"),
        ("100", "fast", "-"),
        ("100", "1x", text(&file)),
    ] {
        let arguments = ["generate", "lsbench", "--users", users, "--rate", rate];
        let refused = run(arguments
            .into_iter()
            .chain(["--seconds", "1", "-o", output]));
        assert_eq!(refused.code, Some(2), "{users} {rate} {output}");
        assert!(refused.output.is_empty());
    }
}

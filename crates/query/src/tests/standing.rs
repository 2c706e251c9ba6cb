//! Standing queries: `standing.txt` holds texts, each with what it comes to; `standing_mistakes.txt` what people write by
//! mistake and what they are told; the benchmark's texts in all dialects; and that a window changes nothing but sources.

mod lsbench;

use super::algebra_text::text_of;
use super::cases::{cases, check_all};
use super::lubm::{id, statistics};
use crate::grammar::lexer;
use crate::grammar::lexer::token::TokenKind;
use crate::plan::{ConstantId, Source};
use crate::planner::Planner;
use crate::standing::{
    Bounds, Dialect, Difference, Emit, Extent, Freshness, Late, Origin, Output, Relation,
    StandingQuery, Stored, When, WindowClause, further_errors, parse,
};
use crate::{ParseErrorKind, ParseOptions, PlanOptions};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query, random_wide_query};
use testkit::seeds;

fn options() -> ParseOptions {
    let prefix = |name: &str, iri: &str| (name.to_owned(), iri.to_owned());
    ParseOptions {
        prefixes: vec![
            prefix("s", "urn:s:"),
            prefix("w", "urn:w:"),
            prefix("g", "urn:g:"),
        ],
        ..ParseOptions::default()
    }
}

/// Line by line: the policy, the windows, the sources, the algebra. What every dialect has by default is left out.
fn shown(query: &StandingQuery) -> String {
    let mut text = format!("{}\n", policy(query));
    for (place, window) in query.windows.iter().enumerate() {
        let _ = writeln!(text, "w{place}: {}", window_text(window));
    }
    for (place, content) in query.sources.iter().enumerate() {
        let windows = content.windows.iter().map(|place| format!("w{place}"));
        let mut parts: Vec<String> = windows.collect();
        match &content.stored {
            Stored::Nothing => {}
            Stored::DefaultGraph => parts.push("stored".to_owned()),
            Stored::Graphs(graphs) => {
                parts.extend(graphs.iter().map(|graph| constant(query, *graph)));
            }
        }
        let _ = writeln!(text, "{}: {}", place + 1, parts.join(" + "));
    }
    if let Some((default, named)) = &query.query.dataset().graphs {
        let list = |graphs: &[ConstantId]| {
            let graphs = graphs.iter().map(|graph| constant(query, *graph));
            graphs.collect::<Vec<_>>().join(" ")
        };
        let _ = writeln!(text, "dataset: ({}) ({})", list(default), list(named));
    }
    text.push_str(&text_of(&query.query));
    text
}

fn constant(query: &StandingQuery, id: ConstantId) -> String {
    query.query.constants()[id.0 as usize].to_string()
}

fn policy(query: &StandingQuery) -> String {
    let mut words = vec![query.name.clone().unwrap_or("-".to_owned())];
    words.push(format!("{:?}", query.dialect));
    if let Output::Stream(stream) = &query.output {
        words.push(format!("into {stream}"));
    }
    words.push(format!("{:?}", query.relation));
    words.push(match query.report.when {
        When::Periodic { period_ms } => format!("every {period_ms}"),
        when => format!("{when:?}"),
    });
    let mut say = |is_said: bool, word: String| {
        if is_said {
            words.push(word);
        }
    };
    say(query.report.nonempty, "nonempty".to_owned());
    say(query.report.rows, "rows".to_owned());
    say(
        query.every_ms.is_some(),
        format!("computed {:?}", query.every_ms),
    );
    say(query.difference == Difference::Set, "set".to_owned());
    say(query.multiset, "multiset".to_owned());
    say(query.emit != Emit::ExactlyOnce, format!("{:?}", query.emit));
    say(query.freshness == Freshness::Latest, "latest".to_owned());
    say(query.late != Late::Side, format!("{:?}", query.late));
    say(
        query.lateness_ms.is_some(),
        format!("lateness {:?}", query.lateness_ms),
    );
    words.join(" ")
}

fn window_text(window: &WindowClause) -> String {
    let name = window
        .name
        .as_ref()
        .map_or(String::new(), |name| format!("{name} on "));
    let extent = match window.extent {
        Extent::Time {
            range_ms,
            step_ms,
            origin,
        } => {
            let origin = match origin {
                Origin::Epoch { offset_ms } => format!("+{offset_ms}"),
                Origin::FirstItem => "first".to_owned(),
            };
            format!("{range_ms}/{step_ms} {origin}")
        }
        Extent::Count { items, step } => format!("{items}/{step} items"),
        Extent::Past {
            from_ms,
            to_ms,
            step_ms,
            origin: Origin::Epoch { offset_ms: 0 },
        } => format!("-{from_ms}..-{to_ms}/{step_ms}"),
        other => format!("{other:?}"),
    };
    let bounds = match window.bounds {
        Bounds::LeftClosed => "[)",
        Bounds::RightClosed => "(]",
    };
    let partial = if window.partial_first { " partial" } else { "" };
    format!("{name}{} {extent} {bounds}{partial}", window.stream)
}

#[test]
fn texts() {
    check_all(include_str!("standing.txt"), |text| {
        match parse(text, &options()) {
            Ok(query) => shown(&query),
            Err(error) => error.to_string(),
        }
    });
}

/// What a query says of itself is what it means: said as pragmas of the same text it changes nothing.
#[test]
fn pragmas_of_a_query_mean_the_query() {
    let texts = cases(include_str!("standing.txt"));
    let mut seen = 0;
    for (text, _) in texts {
        let Ok(query) = parse(text, &options()) else {
            continue;
        };
        seen += 1;
        let plain = text.replace("#@", "# ");
        let again = format!("#@ {}\n{plain}", query.pragmas);
        let again = parse(&again, &options()).expect(&again);
        assert_eq!(shown(&again), shown(&query).replace("#@", "# "));
        assert_eq!(again.pragmas, query.pragmas);
    }
    assert!(seen > 20, "{seen} texts");
}

#[test]
fn mistakes() {
    check_all(include_str!("standing_mistakes.txt"), |text| {
        parse(text, &options()).expect_err(text).to_string()
    });
}

#[test]
fn an_ordinary_query_has_no_windows() {
    for text in [
        "REGISTER QUERY q AS SELECT * { ?s ?p ?o }",
        "SELECT * FROM STREAM <a:s> [RANGE 1s STEP 1s] { ?s ?p ?o }",
        "SELECT * FROM <a:s> [RANGE 1s STEP 1s] { ?s ?p ?o }",
        "SELECT * FROM NAMED STREAM <a:s> [RANGE 1s STEP 1s] { ?s ?p ?o }",
        "SELECT * FROM NAMED WINDOW <a:w> ON <a:s> [RANGE PT1S] { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o . WINDOW <a:w> { ?s ?p ?o } }",
        "SELECT * { STREAM <a:s> [NOW] { ?s ?p ?o } }",
        "SELECT ISTREAM * { ?s ?p ?o }",
        "CONSTRUCT ISTREAM { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ] {
        let error = crate::parse(text, &ParseOptions::default()).expect_err(text);
        assert_eq!(error.kind, ParseErrorKind::Standing, "{text}: {error}");
        let says = |words: &str| error.message.contains(words);
        assert!(
            says("standing query") && says("`cq register`") && says("/api/v1/continuous"),
            "{error}"
        );
        assert!(
            error.position.offset > 0 || text.starts_with("REGISTER"),
            "{error}"
        );
    }
    let update = "DELETE { ?s ?p ?o } WHERE { WINDOW <a:w> { ?s ?p ?o } }";
    let error = crate::parse_update(update, &ParseOptions::default()).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Standing, "{error}");
}

#[test]
fn a_query_that_asks_windows_alone_does_not_see_what_is_stored() {
    let sees_stored = |text: &str| {
        let query = parse(text, &options());
        query.expect(text).sees_stored
    };
    let window = "FROM NAMED WINDOW w:a ON s:a [RANGE PT1S STEP PT1S]";
    let within = "WINDOW w:a { ?s ?p ?o OPTIONAL { ?o s:p+ ?s } }";
    for (rest, expected) in [
        ("", false),
        ("VALUES ?s { s:x }", false),
        ("?s s:p ?o", true),
        ("FILTER(NOT EXISTS { ?s s:p* ?o })", true),
        ("OPTIONAL { GRAPH ?g {} }", true),
        ("{ SELECT ?s { ?s s:p ?o } }", true),
    ] {
        let text = format!("SELECT * {window} {{ {within} {rest} }}");
        assert_eq!(sees_stored(&text), expected, "{text}");
    }
    let classic = "FROM STREAM s:a [RANGE 1s STEP 1s]";
    let asks = "{ ?s ?p ?o }";
    assert!(!sees_stored(&format!("SELECT * {classic} {asks}")));
    assert!(sees_stored(&format!("SELECT * {classic} FROM g:a {asks}")));
}

#[test]
fn pragmas_are_comments_of_an_ordinary_query() {
    let text = "#@ bounds=nonsense\nSELECT * { ?s ?p ?o }";
    crate::parse(text, &ParseOptions::default()).unwrap();
}

#[test]
fn all_errors_of_a_text_are_told() {
    let text = "SELECT * FROM STREAM s:a [RANGE 10 STEP 1s]\nWHERE { GRAPH s:a { ?x ?y } ?a ?b ?c .\n  WINDW w:b { ?s ?p ?o } }";
    let first = parse(text, &options()).unwrap_err();
    let further = further_errors(text, &options(), &first);
    let lines: Vec<u32> = [&[first][..], &further]
        .concat()
        .iter()
        .map(|it| it.position.line)
        .collect();
    assert_eq!(lines, [1, 2, 3], "{further:?}");
}

#[test]
fn windows_are_bounded() {
    let text = |windows: usize| {
        let mut text = "SELECT *".to_owned();
        for window in 0..windows {
            let _ = write!(text, " FROM STREAM s:n{window} [RANGE 1s TUMBLING]");
        }
        text + " { ?s ?p ?o }"
    };
    let most = parse(&text(256), &options()).unwrap();
    assert_eq!(most.sources[0].windows.len(), 256);
    let error = parse(&text(257), &options()).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Unsupported, "{error}");
    let deep = format!(
        "SELECT * {}{}",
        "{ STREAM s:a [NOW] ".repeat(300),
        "}".repeat(300)
    );
    let error = parse(&deep, &options()).unwrap_err();
    assert!(
        matches!(error.kind, ParseErrorKind::Limit { .. }),
        "{error}"
    );
}

/// Texts with pieces that are missing, doubled or exchanged are read or refused, at a place that they have.
#[test]
fn whatever_a_text_is_it_is_read_or_refused() {
    let files = [
        include_str!("standing.txt"),
        include_str!("standing_mistakes.txt"),
    ];
    let texts: Vec<&str> = files
        .iter()
        .flat_map(|file| cases(file))
        .map(|case| case.0)
        .collect();
    let mut refused = 0;
    for seed in seeds::chosen(2_000, 100_000) {
        let mut random = Random::new(seed);
        let mut words: Vec<&str> = random.pick(&texts).split_inclusive(' ').collect();
        let other: Vec<&str> = random.pick(&texts).split_inclusive(' ').collect();
        for _ in 0..random.between(1, 3) {
            let at = random.below(words.len());
            match random.below(3) {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, *random.pick(&other)),
                _ => words[at] = *random.pick(&other),
            }
        }
        let text = words.concat();
        if let Err(error) = parse(&text, &options()) {
            refused += 1;
            assert!(
                error.position.offset as usize <= text.len(),
                "{error}: {text}"
            );
            for further in further_errors(&text, &options(), &error) {
                assert_ne!(further.position, error.position, "{text}");
            }
        }
    }
    assert!(refused > 500, "{refused} texts are refused");
}

/// The benchmark's texts; nothing where they are not there.
fn benchmark(extension: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/streams/queries");
    let mut found = Vec::new();
    for folder in ["lsbench", "citybench"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            println!("SKIPPED: no {}", root.join(folder).display());
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|found| found == extension) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, with_parameters(&text)));
            }
        }
    }
    found.sort();
    found
}

fn with_parameters(text: &str) -> String {
    text.replace("$USER", "u7").replace("$PERSON", "p7")
}

/// The sources of the patterns, in the order of the query, by the streams that they are of.
fn streams_of_patterns(query: &StandingQuery) -> Vec<String> {
    let mut found = Vec::new();
    query.query.clone().for_each_source_mut(&mut |source| {
        found.push(match query.content(*source) {
            None => String::new(),
            Some(content) => {
                let streams = content
                    .windows
                    .iter()
                    .map(|place| &*query.windows[*place].stream);
                streams.collect::<Vec<_>>().join(" ")
            }
        });
    });
    found
}

fn explained(query: &StandingQuery) -> String {
    let ids: Vec<_> = query.query.constants().iter().map(id).collect();
    let degrees = vec![20; query.query.degree_questions(&ids).len()];
    let plan = Planner::new(statistics(1)).plan(&query.query, &ids, &degrees, PlanOptions::DEFAULT);
    plan.unwrap().explain_with(query.query.prefixes(), None)
}

#[test]
fn the_benchmarks_say_the_same_in_both_dialects() {
    let (c_sparql, rsp_ql) = (benchmark("csparql"), benchmark("rspql"));
    assert_eq!(c_sparql.len(), rsp_ql.len(), "each text is there in both");
    for ((path, with_graphs), (_, with_windows)) in c_sparql.iter().zip(&rsp_ql) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let options = ParseOptions::default();
        let graphs = parse(with_graphs, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let windows =
            parse(with_windows, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(graphs.dialect, Dialect::CSparqlGraph, "{name}");
        assert_eq!(windows.dialect, Dialect::RspQl, "{name}");
        assert_eq!(graphs.name.as_deref(), Some(name));
        assert!(
            windows.name.as_ref().is_some_and(|it| it.ends_with(name)),
            "{name}"
        );
        assert!(!graphs.report.nonempty && windows.report.nonempty);
        assert_eq!(graphs.streams(), windows.streams(), "{name}");
        for (one, other) in graphs.windows.iter().zip(&windows.windows) {
            assert_eq!(one.extent, other.extent, "{name}");
            assert_eq!(
                (one.bounds, other.bounds),
                (Bounds::LeftClosed, Bounds::LeftClosed)
            );
        }
        let (mut one, mut other) = (streams_of_patterns(&graphs), streams_of_patterns(&windows));
        one.sort();
        other.sort();
        assert_eq!(one, other, "{name}");
        for query in [&graphs, &windows] {
            let plan = explained(query);
            for source in 1..=query.sources.len() {
                assert!(
                    plan.contains(&format!(" in source {source}")),
                    "{name}:\n{plan}"
                );
            }
        }
    }
}

#[test]
fn the_paths_of_the_benchmark_are_known_text_by_text() {
    let expected = [
        ("L1", "s:po s:gps", "s:po s:gps"),
        ("L2", "s:po", "- s:po"),
        ("L3", "s:po", "- - s:po"),
        ("L4", "s:po", "s:po s:po s:po s:po"),
        ("L5", "s:ph s:phl", "- s:ph s:phl"),
        ("L6", "s:po s:pol", "- - s:po s:pol"),
    ];
    let short = |iri: &str| match iri.strip_prefix("http://lsbench.example/stream/") {
        Some(name) => format!("s:{name}"),
        None => "-".to_owned(),
    };
    let texts = benchmark("csparql");
    let of_lsbench = texts
        .iter()
        .filter(|(path, _)| path.to_str().unwrap().contains("lsbench"));
    for ((path, text), (name, windows, patterns)) in of_lsbench.zip(expected) {
        assert!(path.to_str().unwrap().contains(name));
        let query = parse(text, &ParseOptions::default()).unwrap();
        let found: Vec<String> = query.streams().iter().map(|stream| short(stream)).collect();
        assert_eq!(found.join(" "), windows, "{name}");
        let found: Vec<String> = streams_of_patterns(&query)
            .iter()
            .map(|it| short(it))
            .collect();
        assert_eq!(found.join(" "), patterns, "{name}");
    }
}

/// L1 to L6 of classic C-SPARQL: `GRAPH` is left out, what it names stands in `FROM`.
fn classic(text: &str) -> String {
    let mut out = text.replace("FROM NAMED g:initial", "FROM g:initial");
    for graph in ["s:po ", "s:pol ", "s:gps ", "s:ph ", "s:phl ", "g:initial "] {
        out = out.replace(&format!("GRAPH {graph}"), "");
    }
    out
}

/// The same of CQELS-QL: windows stand where `GRAPH` names their streams.
fn in_pattern(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !line.starts_with("REGISTER") && !line.starts_with("FROM") {
            let line = line.replace("GRAPH s:", "STREAM s:");
            let mut line = line.replace("STREAM s:", "\u{1}");
            while let Some(at) = line.find('\u{1}') {
                let name = line[at + 1..].split(' ').next().unwrap().to_owned();
                let block = format!("STREAM s:{name} [RANGE 1s SLIDE 100ms]");
                line.replace_range(at..at + 1 + name.len(), &block);
            }
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

#[test]
fn lsbench_in_the_other_dialects() {
    let texts = benchmark("csparql");
    let of_lsbench = texts
        .iter()
        .filter(|(path, _)| path.to_str().unwrap().contains("lsbench"));
    for (path, text) in of_lsbench {
        let name = path.display();
        let with_graphs = parse(text, &ParseOptions::default()).unwrap();
        let classic = parse(&classic(text), &ParseOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(classic.dialect, Dialect::CSparql, "{name}");
        assert_eq!(classic.streams(), with_graphs.streams(), "{name}");
        assert_eq!(classic.sources.len(), 1, "all is of one source");
        let all: Vec<usize> = (0..classic.windows.len()).collect();
        assert_eq!(classic.sources[0].windows, all);
        let has_graph = text.contains("g:initial {");
        assert_eq!(
            matches!(classic.sources[0].stored, Stored::Graphs(_)),
            has_graph,
            "{name}"
        );
        classic
            .query
            .clone()
            .for_each_source_mut(&mut |source| assert_eq!(*source, Source(1)));

        let cqels = parse(&in_pattern(text), &ParseOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(cqels.dialect, Dialect::Cqels, "{name}");
        assert_eq!(
            (cqels.relation, cqels.report.when),
            (Relation::Insertions, When::Change)
        );
        let (mut one, mut other) = (
            streams_of_patterns(&with_graphs),
            streams_of_patterns(&cqels),
        );
        one.sort();
        other.sort();
        assert_eq!(one, other, "{name}");
    }
}

/// The bytes between the first brackets of a text, those of the pattern of a `SELECT` or an `ASK`.
fn pattern_of(text: &str) -> Option<std::ops::Range<usize>> {
    let tokens = lexer::scan(text, &ParseOptions::default().limits).ok()?;
    let mut open = 0;
    let mut start = None;
    for token in &tokens.tokens {
        if token.kind == TokenKind::Operator {
            let nesting = lexer::nesting(tokens.slice(*token));
            if tokens.slice(*token) == "{" && start.is_none() {
                start = Some(token.end as usize);
                open = 0;
            } else if start.is_some() {
                open += nesting;
            }
            if open < 0 {
                return Some(start?..token.start as usize);
            }
        }
    }
    None
}

/// Both readings of a query: in a group of its own, and in a window, whose sources are checked and taken away.
fn in_group_and_window(text: &str) -> Option<(String, String)> {
    let pattern = pattern_of(text).filter(|_| !text.contains("CONSTRUCT"))?;
    let (head, body, tail) = (
        &text[..pattern.start - 1],
        &text[pattern.clone()],
        &text[pattern.end..],
    );
    let head = head.trim_end();
    let head = head.strip_suffix("WHERE").unwrap_or(head);
    let ordinary = format!("{head} WHERE {{ {{ {body} }} {tail}");
    let window = format!(
        "{head} FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT1S] WHERE {{ WINDOW <urn:w> {{ {body} }} {tail}"
    );
    let ordinary = crate::parse(&ordinary, &ParseOptions::default()).ok()?;
    let mut standing = parse(&window, &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error}:\n{window}"))
        .query;
    standing.for_each_source_mut(&mut |source| {
        assert_eq!(*source, Source(1), "{window}");
        *source = Source::STORE;
    });
    Some((text_of(&ordinary), text_of(&standing)))
}

#[test]
fn a_window_changes_nothing_but_sources() {
    let mut compared = 0;
    for seed in seeds::chosen(60, 4_000) {
        let mut random = Random::new(seed);
        let dataset = random_dataset(&Shape::small(&mut random), &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        for text in [
            random_query(&vocabulary, &mut random),
            random_wide_query(&vocabulary, &mut random),
        ] {
            if let Some((ordinary, standing)) = in_group_and_window(&text) {
                assert_eq!(ordinary, standing, "seed {seed}: {text}");
                compared += 1;
            }
        }
    }
    assert!(compared > 60, "most texts are compared, not {compared}");
}

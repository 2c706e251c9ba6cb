//! The generator against the figures measured of the original's output, and against itself: seeds, threads, prefixes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;

use oxttl::{NQuadsParser, NTriplesParser};
use sha2::{Digest, Sha256};

use super::*;

mod counts;
mod rows;

/// One stream of a span, as text.
fn stream(lsbench: &Lsbench, stream: Stream, span: Span) -> Vec<u8> {
    let slices = lsbench.slices(stream, span, LineForm::Triples);
    slices.flat_map(|slice| slice.bytes).collect()
}

fn stored(lsbench: &Lsbench, threads: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let written = lsbench
        .write_stored(&mut out, threads, &mut |_| ())
        .unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    out
}

fn interleaved(lsbench: &Lsbench, span: Span, threads: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let written = lsbench
        .write_interleaved(&mut out, span, threads, &mut |_| ())
        .unwrap();
    assert_eq!(written.bytes, out.len() as u64);
    assert_eq!(written.lines, lines(&out).count() as u64);
    out
}

fn lines(text: &[u8]) -> impl Iterator<Item = &str> {
    std::str::from_utf8(text).unwrap().lines()
}

/// A line's time and the statement behind it.
fn timed(line: &str) -> (u64, &str) {
    let (ms, statement) = line.split_once('\t').unwrap();
    (ms.parse().unwrap(), statement)
}

/// Everything of a data set: the stored data, then the streams.
fn all_bytes(users: u32, seed: u64, span: Span) -> Vec<u8> {
    let lsbench = Lsbench::new(users, seed).unwrap();
    let streams = Stream::ALL.map(|name| stream(&lsbench, name, span));
    [stored(&lsbench, 1), streams.concat()].concat()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}

#[test]
fn a_seed_has_its_bytes() {
    let span = Span::seconds(1, Rate::PUBLISHED);
    let bytes = all_bytes(1000, 0, span);
    assert_eq!(hash(&bytes), GOLDEN_HASH);
    assert_ne!(hash(&all_bytes(1000, 1, span)), GOLDEN_HASH);
}

/// SHA-256 of the stored data and the five streams, one after the other.
const GOLDEN_HASH: &str = "689b80a1527486cbd70a09de2eeaa643d0791188c4505bea6441046625ce201e";

#[test]
fn threads_change_nothing() {
    let lsbench = Lsbench::new(700, 3).unwrap();
    let span = Span {
        milliseconds: 350,
        rate: Rate::PUBLISHED,
    };
    let one = (stored(&lsbench, 1), interleaved(&lsbench, span, 1));
    for threads in [0, 2, 3, 16] {
        let several = (
            stored(&lsbench, threads),
            interleaved(&lsbench, span, threads),
        );
        assert!(several == one, "{threads} threads");
    }
    let folder = tempfile::tempdir().unwrap();
    for threads in [1, 2, 9] {
        let written = lsbench
            .write_folder(folder.path(), span, threads, &mut |_| ())
            .unwrap();
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert!(read("initial.nt") == one.0);
        let mut bytes = one.0.len() as u64;
        for name in Stream::ALL {
            let file = read(name.file_name());
            assert!(file == stream(&lsbench, name, span));
            bytes += file.len() as u64;
        }
        assert_eq!(written.bytes, bytes);
        let constants = String::from_utf8(read("constants.json")).unwrap();
        assert_eq!(constants, lsbench.constants(span).json());
        assert!(serde_json::from_str::<serde_json::Value>(&constants).unwrap()["L1"].is_string());
    }
}

#[test]
fn a_shorter_span_is_a_prefix() {
    let lsbench = Lsbench::new(300, 8).unwrap();
    let span = |milliseconds| Span {
        milliseconds,
        rate: Rate::PUBLISHED,
    };
    for name in Stream::ALL {
        let whole = stream(&lsbench, name, span(2000));
        for milliseconds in [0, 1, 99, 100, 1000, 1450] {
            let part = stream(&lsbench, name, span(milliseconds));
            assert!(whole.starts_with(&part), "{name:?} {milliseconds}");
            let expected = name.lines_per_second() * milliseconds;
            assert_eq!(lines(&part).count() as u64, expected.div_ceil(1000));
        }
    }
}

#[test]
fn the_rate_moves_times_alone() {
    let lsbench = Lsbench::new(300, 8).unwrap();
    let span = |milliseconds, rate: &str| Span {
        milliseconds,
        rate: rate.parse().unwrap(),
    };
    for name in Stream::ALL {
        let published = stream(&lsbench, name, span(400, "1x"));
        for (factor, milliseconds) in [("4x", 100), ("0.25x", 1600), ("0.001x", 400_000)] {
            let other = stream(&lsbench, name, span(milliseconds, factor));
            let statements = |text| lines(text).map(|line| timed(line).1).collect::<Vec<_>>();
            assert!(
                statements(&other) == statements(&published),
                "{name:?} {factor}"
            );
            let last = timed(lines(&other).last().unwrap()).0;
            assert!(last < milliseconds && last + milliseconds / 100 + 2 > milliseconds);
        }
    }
}

#[test]
fn rates_are_factors() {
    for (text, thousandths) in [("1x", 1000), ("0.25x", 250), ("4x", 4000), ("0.001x", 1)] {
        assert_eq!(text.parse(), Ok(Rate(thousandths)));
    }
    for text in [
        "", "x", "1", "0x", "0.000x", "-1x", "1.x", ".5x", "1.0000x", "12345x", "1e3x",
    ] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

#[test]
fn sizes_have_bounds() {
    for users in [0, USERS_MIN - 1, USERS_MAX + 1] {
        let error = Lsbench::new(users, 0).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{users} users")));
    }
    let span = Span::seconds(1, Rate::PUBLISHED);
    for users in [USERS_MIN, USERS_MAX] {
        let lsbench = Lsbench::new(users, 0).unwrap();
        for name in Stream::ALL {
            let text = stream(&lsbench, name, span);
            assert_eq!(lines(&text).count() as u64, name.lines_per_second());
        }
    }
}

#[test]
fn lines_parse() {
    let lsbench = Lsbench::new(100, 0).unwrap();
    let text = stored(&lsbench, 1);
    let parsed = NTriplesParser::new().for_slice(&text);
    assert_eq!(parsed.map(Result::unwrap).count(), lines(&text).count());
    let text = interleaved(&lsbench, Span::seconds(1, "0.1x".parse().unwrap()), 1);
    let mut last = 0;
    let mut streams = BTreeSet::new();
    for line in lines(&text) {
        let (ms, statement) = timed(line);
        assert!(ms >= last);
        last = ms;
        for quad in NQuadsParser::new().for_slice(statement) {
            streams.insert(quad.unwrap().graph_name.to_string());
        }
    }
    let expected = Stream::ALL.map(|name| format!("<{}>", name.iri()));
    assert_eq!(streams, BTreeSet::from(expected));
}

#[test]
fn interleaving_keeps_each_stream() {
    let lsbench = Lsbench::new(100, 4).unwrap();
    let span = Span {
        milliseconds: 250,
        rate: "0.3x".parse().unwrap(),
    };
    let text = interleaved(&lsbench, span, 1);
    for name in Stream::ALL {
        let end = format!(" <{}> .", name.iri());
        let own = lines(&text).filter_map(|line| line.strip_suffix(end.as_str()));
        let mut joined = String::new();
        for line in own {
            writeln!(joined, "{line} .").unwrap();
        }
        assert!(joined.as_bytes() == stream(&lsbench, name, span));
    }
}

#[test]
fn a_failed_output_is_said_with_its_place() {
    let lsbench = Lsbench::new(100, 4).unwrap();
    let span = Span::seconds(1, Rate::PUBLISHED);
    let mut full: &mut [u8] = &mut [0; 1000];
    let error = lsbench
        .write_interleaved(&mut full, span, 3, &mut |_| ())
        .unwrap_err();
    assert!(matches!(error, RecordingError::Write(_)));
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("photostream.nt.ts");
    fs::create_dir(&blocked).unwrap();
    let error = lsbench
        .write_folder(folder.path(), span, 2, &mut |_| ())
        .unwrap_err();
    assert!(error.to_string().contains("photostream.nt.ts"), "{error}");
}

#[test]
fn start_points_are_of_the_data_set() {
    let lsbench = Lsbench::new(1000, 0).unwrap();
    let points: Vec<StartPoint> = lsbench.start_points(5).take(2000).collect();
    let again: Vec<StartPoint> = lsbench.start_points(5).take(2000).collect();
    assert_eq!(points, again);
    let groups: BTreeSet<u64> = points.iter().map(|point| point.group).collect();
    assert_eq!(groups, (1..=39).collect());
    let users: BTreeSet<u32> = points.iter().map(|point| point.user).collect();
    assert!(users.len() > 800 && users.iter().all(|&user| user < 1000));
    assert!(points.iter().all(|point| point.person < 1000));
    let other: Vec<StartPoint> = lsbench.start_points(6).take(2000).collect();
    assert_ne!(points, other);
}

#[test]
fn texts_are_filled() {
    let start = StartPoint {
        user: 7,
        person: 8,
        group: 9,
    };
    for question in Question::MIX_B.into_iter().chain(Question::ONCE) {
        for dialect in [Dialect::CSparql, Dialect::RspQl] {
            let text = question.text(dialect, start);
            assert!(!text.contains('%'), "{text}");
            let name = question.name();
            assert!(text.starts_with(&format!("# {name}. ")));
            let registers = [
                format!("REGISTER QUERY {name} AS"),
                format!("REGISTER RSTREAM :{name} AS"),
            ];
            let registered = registers.iter().any(|line| text.contains(line));
            assert_eq!(registered, name.starts_with('L'));
            let starts = [
                ("/user/u7>", ["L1", "S1", "S5"].as_slice()),
                ("/person/p8>", &["L2", "L3", "S2", "S3"]),
                ("/group/g9>", &["S4"]),
            ];
            for (part, names) in starts {
                assert_eq!(text.contains(part), names.contains(&name), "{text}");
            }
        }
    }
    assert!(Question::MIX_B.starts_with(&Question::MIX_A));
}

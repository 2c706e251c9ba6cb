//! Sources that flood: what passes by is forgotten, what counts is kept and has its bound, and nobody is mixed up.

use super::{PASSING_MAX, PASSING_SLACK, SOURCE_BYTES, Sources};
use crate::error::Kind;
use crate::standing::hub::Hub;
use crate::standing::items::Positions;
use crate::standing::{HubStream, TimedQuads, recorded};
use crate::{Database, Options, testing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use stream::{SourceId, StreamId};
use testkit::random::Random;
use testkit::seeds;

const STREAM: &str = "urn:s";

fn bench(pool_bytes: u64, idle_ms: Option<u64>) -> (Database, Hub) {
    let options = Options {
        memory_pool_bytes: pool_bytes,
        memory_is_writable: true,
        ..Options::default()
    };
    let database = testing::empty(&options);
    let mut hub = Hub::new(database.clone());
    let stream = HubStream {
        absorb: Some(Vec::new()),
        idle_ms,
        ..HubStream::new(STREAM)
    };
    hub.create(&stream, 0).unwrap();
    (database, hub)
}

fn item(time_ms: u64) -> Vec<TimedQuads> {
    let line = format!("{time_ms}\t<urn:a> <urn:p> <urn:b> .\n");
    recorded(Some("test"), line.as_bytes())
        .map(Result::unwrap)
        .collect()
}

fn at(first: u64) -> Positions<'static> {
    Positions {
        first,
        count: 1,
        rejected: &[],
    }
}

fn advance(hub: &mut Hub, now_ms: u64) {
    hub.tick(now_ms);
    let taken = hub.advance(&mut |_| Ok(ControlFlow::Continue(())));
    assert!(taken.unwrap().is_continue());
}

/// 50,000 names, each heard once: the account stays where it was after the first thousands, and all items were taken.
#[test]
fn what_passes_by_is_forgotten() {
    let (database, mut hub) = bench(64 << 20, Some(100));
    let mut most = 0;
    for name in 0..50_000 {
        let accepted = hub.push(STREAM, &format!("source-{name}"), None, &item(name), None);
        assert_eq!(accepted.unwrap().taken, 1);
        if name % 10 == 0 {
            advance(&mut hub, name);
            most = most.max(hub.sources.all_bytes());
        }
    }
    advance(&mut hub, 60_000);
    let info = hub.stream_info(STREAM).unwrap();
    assert_eq!(info.arrivals.items, 50_000);
    assert_eq!(info.late, 0);
    assert!(info.watermark_ms >= 49_990, "{}", info.watermark_ms);
    assert!(info.source_count as usize <= PASSING_MAX + PASSING_SLACK);
    let bound = (PASSING_MAX + PASSING_SLACK + 200) as u64 * (SOURCE_BYTES + 12);
    assert!(most <= bound, "{most} bytes");
    assert_eq!(database.pool().stream_bytes(), info.held_bytes);
    // The last ones are known, the first ones are not.
    let id = hub.stream(STREAM).unwrap();
    let names = hub.sources.of(id);
    assert_eq!(names.last().unwrap().0, "source-49999");
    assert!(names.iter().all(|(name, ..)| *name != "source-7"));
}

/// A stream that waits for each of its sources forgets none, however many there are; nor does one forget who counts.
#[test]
fn who_is_waited_for_or_counts_is_kept() {
    for (idle_ms, position) in [(None, None), (Some(10), Some(at(0)))] {
        let (_database, mut hub) = bench(64 << 20, idle_ms);
        for name in 0..3000 {
            hub.push(STREAM, &format!("{name}"), None, &item(name), position)
                .unwrap();
        }
        advance(&mut hub, 100_000);
        advance(&mut hub, 200_000);
        let info = hub.stream_info(STREAM).unwrap();
        assert_eq!(info.source_count, 3000, "{idle_ms:?}");
        let again = hub.push(STREAM, "0", None, &item(100_000), position);
        let taken = usize::from(position.is_none());
        assert_eq!(again.unwrap().taken, taken, "{idle_ms:?}");
    }
}

/// Where there is no room for another source that counts, it is refused and can come later; whoever is known goes on.
#[test]
fn a_source_without_room_is_refused_and_nothing_is_lost() {
    let (database, mut hub) = bench(2 << 20, Some(10));
    let mut count = 0;
    let refused = loop {
        let pushed = hub.push(
            STREAM,
            &format!("counts-{count}"),
            None,
            &item(count),
            Some(at(0)),
        );
        match pushed {
            Ok(accepted) => assert_eq!(accepted.taken, 1),
            Err(refused) => break refused,
        }
        count += 1;
        if count % 100 == 0 {
            advance(&mut hub, count);
        }
        assert!(count < 20_000, "it is never full");
    };
    assert_eq!(refused.kind, Kind::Memory, "{refused}");
    assert!(refused.hint.is_some() && refused.message.contains(STREAM));
    assert!(count > 2000, "{count} sources");
    assert!(database.pool().stream_bytes() <= 2 << 20);
    let name = format!("counts-{count}");
    assert_eq!(hub.position(STREAM, &name).unwrap(), None);
    assert!(hub.watermark(STREAM, "promises", count).is_err());
    // All that were taken are known, and go on.
    for known in (0..count).step_by(97) {
        let known = format!("counts-{known}");
        assert_eq!(hub.position(STREAM, &known).unwrap(), Some(1));
        let again = hub
            .push(STREAM, &known, None, &item(count), Some(at(0)))
            .unwrap();
        assert_eq!(again.taken, 0, "{known} was taken before");
    }
    advance(&mut hub, count + 1000);
    hub.create(&HubStream::new("urn:other"), 0).unwrap();
    hub.drop_stream(STREAM).unwrap();
    hub.push("urn:other", &name, None, &item(count), Some(at(0)))
        .unwrap();
}

/// One stream's sources may hold a part of its budget, whatever the account has.
#[test]
fn sources_hold_a_part_of_their_streams_budget() {
    let (_database, mut hub) = bench(64 << 20, Some(10));
    let small = HubStream {
        budget_bytes: 4 << 20,
        absorb: Some(Vec::new()),
        ..HubStream::new("urn:small")
    };
    hub.create(&small, 0).unwrap();
    let mut push = |name: u64| {
        hub.push(
            "urn:small",
            &format!("{name}"),
            None,
            &item(name),
            Some(at(0)),
        )
    };
    let refused = (0..20_000).find_map(|name| push(name).err()).unwrap();
    assert_eq!((refused.kind, refused.limit), (Kind::Memory, Some(1 << 20)));
    assert!(refused.message.contains("sources"), "{refused}");
    assert_eq!(push(3).unwrap().taken, 0, "it is known");
}

/// Whoever speaks and is forgotten at random has what a plain map says, and no number is given twice.
#[test]
fn sources_are_what_a_plain_map_says() {
    for seed in seeds::chosen(200, 10_000) {
        let mut random = Random::new(seed);
        let mut sources = Sources::default();
        let mut model: BTreeMap<(u32, String), (SourceId, Option<u64>)> = BTreeMap::new();
        let mut given = BTreeSet::new();
        for _ in 0..200 {
            let (stream, name) = (random.below(2) as u32, format!("{}", random.below(9)));
            let (id, key) = (StreamId(stream), (stream, name.clone()));
            if random.chance(20) {
                let gone = model.remove(&key).map(|it| it.0);
                assert_eq!(sources.forget(id, &name), gone, "seed {seed}");
                continue;
            }
            let position = random.chance(40).then(|| random.below(100) as u64);
            let upcoming = sources.number(id, &name);
            if random.chance(10) && !model.contains_key(&key) {
                sources.tried(upcoming);
                given.insert(upcoming);
                continue;
            }
            let number = sources.spoke(id, &name, position);
            assert_eq!(number, upcoming, "seed {seed}");
            let known = model.entry(key).or_insert_with(|| {
                assert!(
                    given.insert(number),
                    "seed {seed}: {number:?} is given twice"
                );
                (number, None)
            });
            known.1 = position.or(known.1);
            assert_eq!(*known, (number, sources.position(id, &name)));
        }
        for stream in 0..2 {
            let of = model.iter().filter(|((of, _), _)| *of == stream);
            let expected: BTreeSet<_> = of.map(|((_, name), it)| (&**name, it.0, it.1)).collect();
            let found = sources.of(StreamId(stream));
            let passing = expected.iter().filter(|it| it.2.is_none()).count();
            let bytes: u64 = expected
                .iter()
                .map(|it| SOURCE_BYTES + it.0.len() as u64)
                .sum();
            assert_eq!(sources.bytes(StreamId(stream)), bytes, "seed {seed}");
            assert_eq!(sources.crowded(0).contains(&StreamId(stream)), passing > 0);
            assert!(
                found
                    .iter()
                    .all(|it| sources.name(StreamId(stream), it.1) == Some(it.0))
            );
            assert_eq!(
                found.into_iter().collect::<BTreeSet<_>>(),
                expected,
                "seed {seed}"
            );
        }
    }
}

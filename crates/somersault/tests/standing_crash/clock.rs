//! Streams that the clock moves, over power cuts.

use super::*;
use std::time::Instant;

/// Waits until the clock has brought a stream so many batches further.
fn pass(live: &Live, stream: &str, batches: u64) {
    let covered = || live.stream(stream).expect("it is there").covered_ms;
    let (begun, from) = (Instant::now(), covered());
    while covered() < from + 100 * batches {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_mins(2), "its time stands still");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A stream that the clock moves writes nothing while nothing comes and nothing is to be reported. What is reported of it
/// outlives a power cut, and it goes on behind it.
#[test]
fn an_idle_stream_of_the_clock_writes_nothing() {
    let clock = HubStream {
        arrival_time: true,
        absorb: Some(Vec::new()),
        ..HubStream::new("urn:clock")
    };
    let push = |live: &Live, number| {
        let item = item(&mut Random::new(number), 0);
        live.feed("urn:clock", "", &[item], None, None)
            .expect("it is taken");
    };
    for (report, is_silent) in [("close,nonempty", true), ("close", false)] {
        let text = format!(
            "#@ report={report}\nSELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:clock> [RANGE PT0.2S STEP PT0.2S] \
             WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
        );
        let disk = disk(1, SimFaults::default());
        let (database, live) = open(&disk).expect("it opens");
        live.create(&clock, None).expect("it is made");
        live.register(&text, "asked").expect("it is registered");
        pass(&live, "urn:clock", 3);
        let before = database.snapshot_number();
        pass(&live, "urn:clock", 10);
        assert_eq!(database.snapshot_number() == before, is_silent, "{report}");
        push(&live, 1);
        let has_rows = |line: &str| line.contains("\"uri\"");
        let told = loop {
            let told = reports(&live).remove("asked").expect("it is registered");
            if told.iter().any(|(_, line)| has_rows(line)) {
                break told;
            }
            pass(&live, "urn:clock", 1);
        };
        let disk = disk.restart(SimFaults::default());
        drop((database, live));
        let (database, live) = open(&disk).expect("it opens again");
        // The last may have been shown before it was durable, and comes again.
        pass(&live, "urn:clock", 5);
        let again = reports(&live).remove("asked").expect("it is registered");
        assert!(again.starts_with(&told), "{again:?}, and before {told:?}");
        push(&live, 2);
        let mut seen = told.len() as u64;
        loop {
            let read = live.reports("asked", seen, 1, Duration::from_mins(2));
            let entry = read.expect("it is registered").entries.remove(0);
            assert_eq!(entry.number, seen + 1);
            if has_rows(&entry.line) {
                break;
            }
            seen = entry.number;
        }
        drop(database);
    }
}

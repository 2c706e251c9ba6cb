//! The graph that a close within a batch sees, whatever streams of a finer grain have stored meanwhile.

use crate::standing::hub::Hub;
use crate::standing::{HubStream, read_standing, recorded};
use crate::{Database, Options, testing};
use std::ops::ControlFlow;

/// A stream of 10 s that stores nothing, and one of 100 ms that stores all.
fn hub() -> (Database, Hub) {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let database = testing::empty(&options);
    let mut hub = Hub::new(database.clone());
    let coarse = HubStream {
        absorb: Some(Vec::new()),
        grain_ms: 10_000,
        ..HubStream::new("urn:coarse")
    };
    hub.create(&coarse, 0).unwrap();
    hub.create(&HubStream::new("urn:fine"), 0).unwrap();
    (database, hub)
}

fn push(hub: &mut Hub, stream: &str, time_ms: u64) {
    let line = format!("{time_ms}\t<urn:s> <urn:at> \"{time_ms}\" .");
    let items: Vec<_> = recorded(Some("test"), line.as_bytes())
        .map(Result::unwrap)
        .collect();
    hub.push(stream, "", None, &items, None).unwrap();
}

/// A stream has come so far. For each report its close and how much it found stored.
fn until(hub: &mut Hub, stream: &str, time_ms: u64) -> Vec<(u64, String)> {
    hub.watermark(stream, "", time_ms).unwrap();
    let mut told = Vec::new();
    let advanced = hub.advance(&mut |reported| {
        let report = reported.report;
        assert!(report.failure.is_none(), "{:?}", report.failure);
        // What is before the beginning of the streams is empty.
        for row in report.rows.iter().filter(|_| report.close_ms > 0) {
            let count = row.0[0].as_ref().expect("a count").to_string();
            let digits = count.chars().skip(1).take_while(char::is_ascii_digit);
            told.push((report.close_ms, digits.collect()));
        }
        Ok(ControlFlow::Continue(()))
    });
    assert!(advanced.unwrap().is_continue());
    told
}

#[test]
fn a_close_within_a_batch_sees_the_graph_before_it_however_many_commits_there_were() {
    let (database, mut hub) = hub();
    let text = "#@ report=close partial_first=yes\nSELECT (COUNT(?v) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:coarse> \
                [RANGE PT5S STEP PT5S] WHERE { WINDOW <urn:w> { ?s ?p ?o } ?s <urn:at> ?v }";
    let query = read_standing(&database, text).unwrap();
    hub.register(query, "q", 0).unwrap();
    let mut told = Vec::new();
    for batch in 0..2 {
        for second in [1, 6] {
            push(&mut hub, "urn:coarse", 10_000 * batch + 1000 * second);
        }
        for step in 1..=100 {
            let time_ms = 10_000 * batch + 100 * step;
            push(&mut hub, "urn:fine", time_ms - 50);
            told.extend(until(&mut hub, "urn:fine", time_ms));
        }
        assert!(told.is_empty(), "the coarse stream is waited for");
        told = until(&mut hub, "urn:coarse", 10_000 * (batch + 1));
        let stored = |close_ms, count: u64| (close_ms, count.to_string());
        let (within, end) = (10_000 * batch + 5000, 10_000 * (batch + 1));
        // Within the batch it is what was stored when the one before was sealed.
        let expected = [stored(within, 100 * batch), stored(end, 100 * (batch + 1))];
        assert_eq!(told, expected);
        told.clear();
    }
}

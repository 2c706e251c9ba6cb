//! Streams that catch up leave room for others between turns.

use super::*;
use crate::standing::instances::Binding;
use crate::testing;
use oxrdf::NamedNode;

const STREAM: &str = "urn:s";

/// Streams with a query that closes every millisecond.
fn bench() -> Live {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let live = Live::new(testing::empty(&options));
    let stream = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(STREAM)
    };
    live.create(&stream, Some(0)).unwrap();
    let text = format!(
        "#@ report=close\nSELECT ?s FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT0.001S STEP PT0.001S] \
         WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
    );
    live.register(&text, "q").unwrap();
    live
}

/// Whoever asks while a stream catches up is answered between two turns, and so is another source.
#[test]
fn others_are_served_while_a_stream_catches_up() {
    const CLOSES: u64 = 100_000;
    let live = bench();
    let other = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new("urn:other")
    };
    live.create(&other, Some(0)).unwrap();
    let catching_up = {
        let live = live.clone();
        std::thread::spawn(move || live.watermark(STREAM, "", CLOSES).unwrap())
    };
    let mut seen = Vec::new();
    while !catching_up.is_finished() {
        seen.push(live.queries()[0].evaluations);
        live.watermark("urn:other", "", seen.len() as u64).unwrap();
    }
    catching_up.join().unwrap();
    let all = live.queries()[0].evaluations;
    seen.retain(|evaluations| (1..all).contains(evaluations));
    assert!(all >= CLOSES - 1 && !seen.is_empty(), "{all}: {seen:?}");
    let last = live.queries()[0].reports;
    let read = live.reports("q", last - 1, 10, Duration::ZERO).unwrap();
    assert_eq!((last, read.entries.len()), (all, 1));
}

/// A table of instances is read while others have the streams; one that is refused adds nothing.
#[test]
fn instances_are_read_while_others_have_the_streams() {
    let live = bench();
    let text = format!(
        "#@ report=close,rows\nSELECT ?o FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT1S STEP PT1S] \
         WHERE {{ WINDOW <urn:w> {{ ?s <urn:p> ?o }} }}"
    );
    let row = |number: u64| {
        Ok(Binding {
            name: Some(format!("of {number}")),
            terms: vec![NamedNode::new_unchecked(format!("urn:{number}")).into()],
        })
    };
    let table = |rows: Vec<Result<Binding, QueryError>>| Bindings {
        parameters: vec!["s".to_owned()],
        rows: Box::new(rows.into_iter()),
    };
    // A row that comes when somebody else was told of so many queries.
    let served = |number: u64, queries: usize| {
        let asked = live.clone();
        let rows = std::iter::once_with(move || {
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || tell.send(asked.queries().len()));
            let served = told.recv_timeout(Duration::from_secs(5));
            assert_eq!(
                served,
                Ok(queries),
                "nobody is served while a table is read"
            );
            row(number)
        });
        Bindings {
            parameters: vec!["s".to_owned()],
            rows: Box::new(rows),
        }
    };
    let registered = live.register_table(&text, "many", served(0, 1));
    assert_eq!(registered.unwrap().1, 1);
    assert_eq!(live.add_instances("many", served(1, 2)), Ok(1));
    let mistake = || Err(QueryError::new(Kind::Syntax, "no row"));
    for (refused, kind) in [
        (vec![row(2), mistake()], Kind::Syntax),
        (vec![row(2), row(2)], Kind::Conflict),
        (vec![row(2), row(1)], Kind::Conflict),
    ] {
        let refused = live.add_instances("many", table(refused)).unwrap_err();
        assert_eq!(refused.kind, kind);
    }
    assert_eq!(
        live.add_instances("many", table(vec![row(2), row(3)])),
        Ok(2)
    );
    for number in 0..4 {
        live.need_instance("many", &format!("of {number}")).unwrap();
    }
    assert_eq!(live.queries()[0].template.as_ref().unwrap().instances, 4);
}

//! Pushes to a server that has no room, for now or at all, and to one that is not there: against a listener that says what a test needs.

use crate::common;
use crate::live::{LIKES, account, answer, line, listener, listener_after};

use common::{run, run_with_input};
use std::time::Duration;

/// Who follows a query of a server that is being started waits a second until somebody listens, as all others do.
#[test]
fn who_follows_waits_until_somebody_listens() {
    for asked in [
        &["subscribe", "likes"][..],
        &["subscribe", "-q", "SELECT * { ?s ?p ?o }"],
    ] {
        let said = answer("404 Not Found", "there is no such thing");
        let (url, _requests) = listener_after(Duration::from_millis(300), vec![said]);
        let run = run([asked, &["--endpoint", &url]].concat());
        assert_ne!(run.code, Some(0));
        assert!(run.errors.contains("404"), "{}", run.errors);
        assert!(!run.errors.contains("cannot connect"), "{}", run.errors);
    }
}

#[test]
fn what_has_no_room_is_sent_again_in_parts() {
    let taken = |count: u64| {
        answer(
            "200 OK\r\nContent-Type: application/json",
            &format!("{{\"taken\":{count}}}"),
        )
    };
    let (url, requests) = listener(vec![
        answer("503 Service Unavailable\r\nRetry-After: 0", ""),
        answer("429 Too Many Requests\r\nRetry-After: 0", ""),
        taken(1),
        taken(1),
    ]);
    let (first, second) = (line(1, "a"), line(2, "b"));
    let lines = first.clone() + &second;
    let arguments = [
        "stream",
        "push",
        LIKES,
        "--endpoint",
        &url,
        "--source",
        "s p",
    ];
    let run = run_with_input(&arguments, lines.as_bytes());
    assert_eq!(
        (run.code, &account(&run)["statements"]),
        (Some(0), &2.into()),
        "{}",
        run.errors
    );
    let requests: Vec<String> = requests.iter().take(4).collect();
    let bodies: Vec<&str> = requests
        .iter()
        .map(|request| request.split_once("\r\n\r\n").expect("a head").1)
        .collect();
    assert_eq!(bodies, [lines.as_str(), &lines, &first, &second]);
    assert!(
        requests[0].starts_with("POST /api/v1/streams/urn%3Alikes/items?source=s%20p "),
        "{}",
        requests[0]
    );
}

#[test]
fn a_disk_without_room_is_waited_for_where_items_are_counted() {
    let full = || answer("507 Insufficient Storage", "");
    let taken = answer(
        "200 OK\r\nContent-Type: application/json",
        "{\"taken\":1,\"position\":11,\"positions\":1,\"missing\":10}",
    );
    let push = |url: &str, more: &[&str]| {
        let arguments = [&["stream", "push", LIKES, "--endpoint", url], more].concat();
        run_with_input(&arguments, line(1, "a").as_bytes())
    };
    let (url, requests) = listener(vec![full(), taken]);
    let run = push(&url, &["--source", "s", "--position", "10"]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_eq!(requests.iter().count(), 2);
    let account = account(&run);
    assert_eq!(
        (&account["position"], &account["missing"]),
        (&11.into(), &10.into())
    );
    assert!(
        run.errors
            .contains("10 items of the source before these never came")
    );
    // Nobody knows what was taken of others: they are not sent twice.
    let (url, requests) = listener(vec![full()]);
    let run = push(&url, &[]);
    assert_ne!(run.code, Some(0), "{}", run.errors);
    assert!(
        run.errors.contains("was not taken, or nobody knows"),
        "{}",
        run.errors
    );
    assert_eq!(requests.iter().count(), 1);
}

#[test]
fn a_promise_apart_from_its_flag_is_explained() {
    let run = run([
        "stream",
        "push",
        LIKES,
        "--endpoint",
        "http://127.0.0.1:1",
        "--watermark",
        "12000",
    ]);
    assert_eq!(run.code, Some(2), "{}", run.errors);
    assert!(run.errors.contains("--watermark=MS"), "{}", run.errors);
}

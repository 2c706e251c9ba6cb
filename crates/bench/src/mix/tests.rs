//! Workers with answers that are right, wrong, late and missing.

use super::*;
use std::cell::Cell;
use std::io;
use workload::mix::Listed;

pub(crate) fn listed() -> Listed {
    let mut listed = Listed::default();
    for class in Kind::Light.classes() {
        let iris = (0..5).map(|number| format!("http://{}/{number}", class.name()));
        listed.add(class, iris.collect());
    }
    listed
}

pub(crate) fn run(pace: Pace) -> Run {
    Run {
        kind: Kind::Light,
        seed: 1,
        pace,
        warm_up: Duration::from_millis(20),
        time: Duration::from_millis(100),
    }
}

fn session() -> Session {
    Session {
        bench: "mix".to_owned(),
        data: "lubm-1".to_owned(),
        threads: 1,
    }
}

/// A number of rows that depends on the text alone.
pub(crate) fn rows_of(text: &str) -> u64 {
    text.bytes().map(u64::from).sum::<u64>() % 7
}

#[test]
fn what_was_answered_is_counted_by_class() {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let asked = Cell::new(0_u64);
    let ask = |text: &str| -> io::Result<u64> {
        asked.set(asked.get() + 1);
        Ok(rows_of(text))
    };
    let tally = work(&run(Pace::Closed), (0, 1), &listed, &first, ask).unwrap();
    assert!(tally.answers() > 100, "{}", tally.answers());
    assert!(
        tally.answers() < asked.get(),
        "what warms up does not count"
    );
    assert!(tally.elapsed >= Duration::from_millis(100));
    assert_eq!(tally.left(), 0);
    let figures = tally.figures(&session(), "light");
    let names: Vec<_> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["light", "a1", "a2", "a3", "a4", "a5", "a6"]);
    let runs: u64 = figures[1..].iter().map(|figure| figure.runs).sum();
    assert_eq!(figures[0].runs, runs);
    assert!(figures[0].per_second.unwrap() > 1000.0);
}

#[test]
fn another_number_of_rows_ends_the_run() {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let asked = Cell::new(0_u64);
    let ask = |_: &str| -> io::Result<u64> {
        asked.set(asked.get() + 1);
        Ok(u64::from(asked.get() > 1000))
    };
    let error = work(&run(Pace::Closed), (0, 1), &listed, &first, ask).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Rows {
                first: 0,
                later: 1,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("SELECT"), "{error}");
}

#[test]
fn what_is_known_is_compared_with_the_first_answer() {
    let listed = listed();
    let heavy = Run {
        kind: Kind::Heavy,
        ..run(Pace::Closed)
    };
    let first = FirstRows::new(Kind::Heavy, &listed);
    first.expect(|name| (name == "q7").then_some(5));
    let ask = |text: &str| -> io::Result<u64> { Ok(text.len() as u64) };
    let error = work(&heavy, (0, 1), &listed, &first, ask).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Rows {
                name: "q7",
                first: 5,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_failure_ends_the_run_with_its_query() {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let ask = |_: &str| -> io::Result<u64> { Err(io::Error::other("lost")) };
    let error = work(&run(Pace::Closed), (0, 1), &listed, &first, ask).unwrap_err();
    assert!(error.to_string().contains(": lost\nthe query was:\n"));
}

#[test]
fn without_instances_there_is_no_run() {
    let listed = Listed::default();
    let first = FirstRows::new(Kind::Light, &listed);
    let ask = |_: &str| -> io::Result<u64> { Ok(0) };
    let error = work(&run(Pace::Closed), (0, 1), &listed, &first, ask).unwrap_err();
    assert!(matches!(error, Error::NoInstances));
}

#[test]
fn a_stall_is_met_by_everything_that_arrived_meanwhile() {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let pace = Pace::Open { per_second: 1000.0 };
    let asked = Cell::new(0_u64);
    let ask = |text: &str| -> io::Result<u64> {
        asked.set(asked.get() + 1);
        if asked.get() == 60 {
            thread::sleep(Duration::from_millis(40));
        }
        Ok(rows_of(text))
    };
    let tally = work(&run(pace), (0, 1), &listed, &first, ask).unwrap();
    let all = tally.all();
    // Some 40 of 100 arrived during the stall, and waited 20 ms on average.
    assert!(all.quantile(0.8).unwrap() > Duration::from_millis(10));
    assert!(all.most().unwrap() >= Duration::from_millis(40));
    assert!(tally.processor.is_none());
}

#[test]
fn what_is_not_asked_in_time_counts_as_waiting() {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let ask = |text: &str| -> io::Result<u64> {
        thread::sleep(Duration::from_millis(10));
        Ok(rows_of(text))
    };
    let pace = Pace::Open { per_second: 2000.0 };
    let tally = work(&run(pace), (0, 1), &listed, &first, ask).unwrap();
    // About 200 arrive while they count, ten or so are asked.
    assert!((120..300).contains(&tally.left()), "{}", tally.left());
    assert!(tally.all().median().unwrap() > Duration::from_millis(20));
    let figures = tally.figures(&session(), "light");
    assert_eq!(figures[0].left, Some(tally.left()));
    assert!(
        figures[0].per_second.unwrap() < 300.0,
        "what was not asked is no throughput: {:?}",
        figures[0].per_second
    );
}

#[test]
fn workers_have_arrivals_of_their_own() {
    let gaps = |worker| -> Vec<Duration> {
        let moments: Vec<_> = Arrivals::new(1.0, own_seed(1, worker)).take(200).collect();
        moments
            .windows(2)
            .map(|pair| pair[1].abs_diff(pair[0]))
            .collect()
    };
    let (first, second) = (gaps(0), gaps(1));
    for ahead in [0, 1] {
        let pairs = first[ahead..].iter().zip(&second);
        let same = pairs.filter(|(one, other)| one.abs_diff(**other) < Duration::from_micros(1));
        assert!(same.count() < 3, "arrivals are the others', {ahead} later");
    }
}

#[test]
fn tallies_are_merged_by_name() {
    let mut light = Tally::new(Kind::Light);
    let drawn = Drawn {
        template: 1,
        instance: 0,
    };
    light.record(drawn, Duration::from_micros(5), 3);
    let mut heavy = Tally::new(Kind::Heavy);
    heavy.record(drawn, Duration::from_micros(9), 4);
    let other = light.clone();
    light.merge(&other);
    light.merge(&heavy);
    assert_eq!(light.classes.len(), 10);
    let find = |name| {
        let class = light.classes.iter().find(|class| class.name == name);
        class.map(|class| (class.answers(), class.rows)).unwrap()
    };
    assert_eq!((find("a2"), find("q2")), ((2, 6), (1, 4)));
}

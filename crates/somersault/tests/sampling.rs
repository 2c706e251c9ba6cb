//! Plans made by samples: the same answers, better estimates, within the query's limits.

use crate::support;

use somersault::load::{self, Source, Unwatched, load_in_memory};
use somersault::{Database, Kind, Options, Query, QueryError, Request, UpdateRequest};
use std::time::Duration;
use testkit::correlated;
use testkit::graph::Format;
use testkit::random::Random;

const PERSONS: usize = 1_500;

fn database() -> Database {
    support::loaded(&correlated::graph(PERSONS, 1), Format::NTriples, 1).expect("it loads")
}

fn request(text: &str, sample_from: Duration) -> Request<'_> {
    Request {
        sample_from: Some(sample_from),
        ..Request::new(text)
    }
}

fn start(database: &Database, text: &str, sample_from: Duration) -> Query {
    let query = database.start(&request(text, sample_from));
    query.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn is_sampled(query: &Query) -> bool {
    query.explain().contains("from samples (~)")
}

#[test]
fn answers_do_not_depend_on_samples() {
    let database = database();
    let mut random = Random::new(9);
    let random: Vec<String> = (0..40)
        .map(|_| correlated::random_query(&mut random))
        .collect();
    let named = correlated::QUERIES
        .iter()
        .map(|(_, pattern)| (*pattern).to_owned());
    let mut sampled = 0;
    for pattern in named.chain(random) {
        let text = format!(
            "PREFIX : <{}> SELECT (COUNT(*) AS ?n) {{ {pattern} }}",
            correlated::CORRELATED
        );
        let mut queries = [Duration::MAX, Duration::ZERO].map(|from| start(&database, &text, from));
        assert!(!is_sampled(&queries[0]));
        sampled += usize::from(is_sampled(&queries[1]));
        let [before, after] = queries
            .each_mut()
            .map(|query| query.run_folded().expect("it runs"));
        assert_eq!(before, after, "{pattern}");
    }
    assert!(sampled > 30, "{sampled} were sampled");
}

/// The same over what changes have put on a graph, and over named graphs.
#[test]
fn layers_and_named_graphs_are_sampled_too() {
    let source = Source::reader(
        "graph.nt",
        std::io::Cursor::new(correlated::graph(PERSONS, 1)),
    );
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let loaded = load_in_memory(
        vec![source],
        &load::Request::default(),
        &options,
        &Unwatched,
    );
    let (database, _) = loaded.expect("it loads");
    let prefix = format!("PREFIX : <{}>", correlated::CORRELATED);
    for change in [
        "DELETE { ?a :follows ?b } WHERE { ?a :follows ?b ; :badge :badge1 }",
        "INSERT { ?a :follows ?c } WHERE { ?a :mentors ?b . ?b :audits ?c }",
        "INSERT { GRAPH :g { ?a ?p ?b } } WHERE { ?a :city :city0 ; ?p ?b }",
    ] {
        let text = format!("{prefix} {change}");
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&request).expect("it changes");
    }
    let pattern = "?a :follows ?b . ?b :country :country0 . ?b :follows ?c . ?c :likes ?p";
    for (text, may_be_sampled) in [
        (format!("{prefix} SELECT * {{ {pattern} }}"), true),
        (
            format!("{prefix} SELECT * {{ GRAPH :g {{ {pattern} }} }}"),
            true,
        ),
        (format!("{prefix} SELECT * FROM :g {{ {pattern} }}"), true),
        (
            format!("{prefix} SELECT * {{ GRAPH ?g {{ {pattern} }} }}"),
            false,
        ),
    ] {
        let mut queries = [Duration::MAX, Duration::ZERO].map(|from| start(&database, &text, from));
        assert_eq!(is_sampled(&queries[1]), may_be_sampled, "{text}");
        let [before, after] = queries
            .each_mut()
            .map(|query| query.run_folded().expect("it runs"));
        assert_eq!(before, after, "{text}");
        assert!(before.rows > 0, "{text}");
    }
}

#[test]
fn estimates_of_what_is_correlated_are_better() {
    let database = database();
    let mut sums = [0.0; 2];
    for (_, pattern) in correlated::QUERIES {
        let text = correlated::text(pattern);
        for (sum, from) in sums.iter_mut().zip([Duration::MAX, Duration::ZERO]) {
            let mut query = start(&database, &text, from);
            query.enable_profile();
            query.run_folded().expect("it runs");
            let errors = query.q_errors();
            *sum += errors.iter().map(|error| error.ln()).sum::<f64>() / errors.len() as f64;
        }
    }
    assert!(sums[1] < 0.7 * sums[0], "{sums:?}");
}

#[test]
fn plans_are_the_same_every_time() {
    let database = database();
    for (_, pattern) in correlated::QUERIES {
        let text = correlated::text(pattern);
        let plans = [0; 3].map(|_| start(&database, &text, Duration::ZERO).explain());
        assert!(plans.iter().all(|plan| *plan == plans[0]));
    }
}

#[test]
fn light_and_forced_plans_are_not_sampled() {
    let database = database();
    let text = correlated::text(correlated::QUERIES[0].1);
    assert!(is_sampled(&start(&database, &text, Duration::ZERO)));
    assert!(!is_sampled(&start(
        &database,
        &text,
        Options::default().sample_from
    )));
    let forced = Request {
        keep_order: true,
        ..request(&text, Duration::ZERO)
    };
    assert!(!is_sampled(&database.start(&forced).expect("it plans")));
    let document = database.planner_statistics().expect("statistics");
    let foreign = database
        .read_planner_statistics(&document)
        .expect("its own");
    let foreign = Request {
        statistics: Some(&foreign),
        ..request(&text, Duration::ZERO)
    };
    assert!(!is_sampled(&database.start(&foreign).expect("it plans")));
}

#[test]
fn a_profile_says_what_samples_took() {
    let database = database();
    let text = correlated::text(correlated::QUERIES[0].1);
    for (from, is_said) in [(Duration::MAX, false), (Duration::ZERO, true)] {
        let mut query = start(&database, &text, from);
        query.enable_profile();
        query.run_folded().expect("it runs");
        let profile = query.explain_profile();
        assert!(profile.contains("planned in"), "{profile}");
        assert_eq!(
            profile.contains("of which samples took"),
            is_said,
            "{profile}"
        );
        assert_eq!(query.timings().samples > Duration::ZERO, is_said);
        assert!(query.timings().samples <= query.timings().plan);
    }
}

#[test]
fn the_deadline_holds_while_samples_are_walked() {
    let database = database();
    let text = correlated::text(correlated::QUERIES[0].1);
    let late = Request {
        timeout: Some(Duration::ZERO),
        ..request(&text, Duration::ZERO)
    };
    let kind = |request: &Request<'_>| {
        database
            .start(request)
            .err()
            .map(|error: QueryError| error.kind)
    };
    assert_eq!(kind(&late), Some(Kind::Timeout));
}

#[test]
fn without_memory_for_samples_statistics_decide() {
    let database = database();
    let text = correlated::text(correlated::QUERIES[0].1);
    let poor = Request {
        memory_bytes: Some(100),
        ..request(&text, Duration::ZERO)
    };
    assert!(!is_sampled(&database.start(&poor).expect("it plans")));
}

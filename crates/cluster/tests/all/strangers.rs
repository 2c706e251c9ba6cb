//! Messages that are none, or say what cannot be: an error on both sides, no panic, and nobody waits.

use super::conformance::answer_of;
use super::world::{Matter, World};
use cluster::{Mode, PartsQuery, Visit};
use explore::limits::Unlimited;
use explore::{Chunk, Status};
use fabric::{Event, Fabric, Limits, Local, NodeId};
use rdf::varint;
use std::sync::Arc;
use std::time::Duration;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::suite::hold::on_a_thread;
use testkit::{compare, oracles, seeds};

/// The kinds of messages that are written here.
const ASK: u8 = 0;
const PIECE: u8 = 1;
const BEGIN: u8 = 2;
const ROWS: u8 = 3;
const FAILED: u8 = 6;
const UNKNOWN: u8 = 8;
const NONSENSE: u8 = 9;

/// A node, and a peer that says what it likes.
struct Pair {
    matter: Matter,
    node: Arc<super::world::PlainNode>,
    peer: Arc<dyn Fabric>,
    /// Says nothing.
    _third: Arc<dyn Fabric>,
}

impl Pair {
    fn new() -> Pair {
        Pair::with_limits(Limits::DEFAULT)
    }

    fn with_limits(limits: Limits) -> Pair {
        let mut random = Random::new(1);
        let dataset = random_dataset(&Shape::small(&mut random), &mut random);
        let matter = Matter::new(&dataset, 3, None);
        let mut fabrics = Local::with_limits(3, limits).into_iter();
        let node = matter.node(fabrics.next().expect("a node"));
        let [peer, third] = [1, 2].map(|_| fabrics.next().expect("a peer"));
        let mut none = Vec::new();
        for fabric in [&peer, &third] {
            fabric.poll(&mut none, Duration::ZERO);
        }
        node.ground().fabric().poll(&mut none, Duration::ZERO);
        Pair {
            matter,
            node,
            peer,
            _third: third,
        }
    }

    /// What the node answers when the peer says this.
    fn answers(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let sent = self.peer.send(NodeId(0), bytes.to_vec());
        sent.expect("a message of a few bytes");
        let mut events = Vec::new();
        self.node
            .ground()
            .fabric()
            .poll(&mut events, Duration::ZERO);
        self.node.handle(events.drain(..));
        self.peer.poll(&mut events, Duration::ZERO);
        let messages = events.into_iter().filter_map(|event| match event {
            Event::Message { bytes, .. } => Some(bytes),
            _ => None,
        });
        messages.collect()
    }
}

/// A message of this kind about a query that a node was asked.
fn of_query(kind: u8, home: u16, number: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    for number in [home.into(), 1, number] {
        varint::write(&mut bytes, number);
    }
    bytes.extend(rest);
    bytes
}

#[test]
fn both_sides_learn_of_a_message_that_is_none() {
    let pair = Pair::new();
    let answers = pair.answers(&[77, 1, 2]);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0][0], NONSENSE);
    assert!(String::from_utf8_lossy(&answers[0]).contains("no kind"));
    // Two that cannot read each other say so once.
    assert_eq!(pair.answers(&[NONSENSE, 200]), Vec::<Vec<u8>>::new());
}

#[test]
fn a_predicate_that_there_is_not_is_an_error() {
    let pair = Pair::new();
    for question in [
        // The extent, lists and keys of a segment.
        &[1, 99, 0, 0][..],
        &[2, 99, 1, 3, 0],
        &[0, 0, 99, 0],
    ] {
        let ask = [&[ASK, 5], question].concat();
        let answers = pair.answers(&ask);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0][..4], [PIECE, 5, 1, 1]);
        let text = String::from_utf8_lossy(&answers[0]);
        assert!(text.contains("no predicate of number 99"), "{text}");
    }
}

/// Node 2, which the query was asked, is away before it could say what the query is: the peer that has sent rows is told, and
/// is told again when it sends more.
#[test]
fn rows_of_a_query_whose_home_is_away_are_refused() {
    let pair = Pair::new();
    let rows = of_query(ROWS, 2, 7, &[1, 0, 9]);
    assert_eq!(pair.answers(&rows), Vec::<Vec<u8>>::new());
    pair.node.handle(std::iter::once(Event::Down {
        node: NodeId(2),
        incarnation: incarnation(&pair),
        cause: fabric::Absence::Left,
    }));
    let told = pair.answers(&of_query(UNKNOWN, 2, 8, &[]));
    let is_refusal = |message: &Vec<u8>| {
        message.starts_with(&of_query(FAILED, 2, 7, &[2]))
            && String::from_utf8_lossy(message).contains("it has left")
    };
    assert!(told.iter().any(is_refusal), "{told:?}");
    let told = pair.answers(&rows);
    assert!(told.iter().any(is_refusal), "{told:?}");
}

/// What is said of a node that is not there, and of no other.
const IS_AWAY: &str = "does not answer";

fn is_out_of_memory(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).contains("memory")
}

/// What is told of a part to planners is an answer like any other.
#[test]
fn statistics_are_given_as_long_as_there_is_memory_for_them() {
    let pair = Pair::new();
    let statistics = [ASK, 5, 6];
    let refused = |answers: Vec<Vec<u8>>| answers.iter().any(|answer| is_out_of_memory(answer));
    assert!(!refused(pair.answers(&statistics)));
    pair.matter.limit(0, 200);
    assert!(refused(pair.answers(&statistics)));
    assert_eq!(pair.matter.held_bytes(0), 0);
}

/// Two releases may divide a plan into other sections, whose rows and words are then about other steps.
#[test]
fn who_divides_the_plan_in_another_way_takes_no_part() {
    let mut random = Random::new(1);
    let dataset = random_dataset(&Shape::small(&mut random), &mut random);
    let world = World::new(&dataset, 3, None);
    let planned = world.plan("SELECT * { ?a ?p ?b . ?b ?q ?c }", None);
    let (plan, ids) = planned.expect("a plan");
    let mut rest = vec![0];
    for number in [u64::MAX, 1 << 30, 64, 7] {
        varint::write(&mut rest, number);
    }
    // Neither profiled nor followed.
    rest.extend([0, 0]);
    varint::write(&mut rest, 77);
    let now = b"2020-01-01T00:00:00Z";
    varint::write(&mut rest, now.len() as u64);
    rest.extend(now);
    query::wire::encode_plan(&plan, &ids, &mut rest).expect("a plan of three steps");
    let told = Pair::new().answers(&of_query(BEGIN, 1, 1, &rest));
    let said = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains("the same release");
    assert!(told.iter().any(said), "{told:?}");
}

/// Rows of queries that nobody has told of are kept as long as there is memory for them.
#[test]
fn rows_before_their_query_are_bounded_by_their_bytes() {
    let pair = Pair::new();
    pair.matter.limit(0, 20_000);
    let rows = |query| of_query(ROWS, 2, query, &[&[1, 0], &[9; 4000][..]].concat());
    for query in 1..=4 {
        assert_eq!(pair.answers(&rows(query)), Vec::<Vec<u8>>::new());
    }
    let held = pair.matter.held_bytes(0);
    assert!((16_000..=20_000).contains(&held), "{held}");
    let told = pair.answers(&rows(5));
    assert!(told[0].starts_with(&of_query(FAILED, 2, 5, &[])));
    assert!(is_out_of_memory(&told[0]), "{told:?}");
    pair.node.handle(std::iter::once(Event::Down {
        node: NodeId(2),
        incarnation: incarnation(&pair),
        cause: fabric::Absence::Left,
    }));
    assert_eq!(pair.matter.held_bytes(0), 0);
}

/// A peer that asks and takes no answers is given errors in their place, once there is no memory for more.
#[test]
fn answers_that_wait_are_bounded_by_their_bytes() {
    const QUESTIONS: u64 = 2000;
    let pair = Pair::with_limits(Limits {
        message_bytes_max: 4096,
        queue_bytes_max: 4096,
        ..Limits::DEFAULT
    });
    pair.matter.limit(0, 10_000);
    let fabric = pair.node.ground().fabric();
    let (mut events, mut answers) = (Vec::new(), Vec::new());
    for request in 0..QUESTIONS {
        let mut ask = vec![ASK];
        varint::write(&mut ask, request);
        // All vertices with an edge.
        ask.extend([0, 1, 0]);
        pair.peer.send(NodeId(0), ask).expect("room for a question");
        fabric.poll(&mut events, Duration::ZERO);
        pair.node.handle(events.drain(..));
    }
    let waits = pair.matter.held_bytes(0);
    assert!(waits > 5_000, "{waits} bytes wait");
    loop {
        pair.peer.poll(&mut events, Duration::ZERO);
        if events.is_empty() {
            break;
        }
        answers.extend(events.drain(..).filter_map(|event| match event {
            Event::Message { bytes, .. } => Some(bytes),
            _ => None,
        }));
        fabric.poll(&mut events, Duration::ZERO);
        pair.node.handle(events.drain(..));
    }
    let refused = answers.iter().filter(|answer| is_out_of_memory(answer));
    let refused = refused.count();
    assert_eq!(answers.len() as u64, QUESTIONS, "each is answered");
    assert!(
        refused > 0 && refused < answers.len(),
        "{refused} are refused"
    );
    assert_eq!(pair.matter.held_bytes(0), 0);
}

/// With little memory on each node a query is answered as with much, or says that there is too little; and gives all back.
#[test]
fn too_little_memory_is_an_error_and_never_a_part_of_the_answer() {
    on_a_thread(|| {
        let (mut answered, mut refused) = (0, 0);
        for seed in seeds::chosen(60, 5_000) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let world = World::new(&dataset, 3, None);
            for number in 0..12 {
                let text = random_query(&vocabulary, &mut random);
                let Ok(Some(expected)) = oracles::expected_wide(&dataset, &text) else {
                    continue;
                };
                let mode = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic][number % 3];
                let bytes = random.between(100, 6_000) as u64;
                (0..3).for_each(|node| world.matter.limit(node, bytes));
                let answer = world.answer(&text, None, random.below(3), mode);
                while world.turn() {}
                match answer {
                    Ok(answer) => {
                        let answer = answer_of(answer);
                        let checked = compare::check(&expected, &answer, &compare::Blanks::Same);
                        checked.unwrap_or_else(|what| panic!("seed {seed}: {what}\n{text}"));
                        answered += 1;
                    }
                    Err(error) => {
                        assert!(
                            is_out_of_memory(error.as_bytes()),
                            "seed {seed}: {error}\n{text}"
                        );
                        // Nobody is away, whosever memory it was.
                        assert!(!error.contains(IS_AWAY), "seed {seed}: {error}\n{text}");
                        refused += 1;
                    }
                }
                for node in 0..3 {
                    // Terms are kept for the next query.
                    let kept = world.nodes[usize::from(node)].figures().term_bytes;
                    let held = world.matter.held_bytes(node) - kept;
                    assert_eq!(held, 0, "seed {seed}: held by node {node}\n{text}");
                }
            }
        }
        println!("{answered} answered, {refused} refused");
        assert!(answered > 100 && refused > 100);
    });
}

fn incarnation(pair: &Pair) -> fabric::Incarnation {
    match pair.node.ground().fabric().presence(NodeId(2)) {
        fabric::Presence::Up(incarnation) => incarnation,
        fabric::Presence::Down(absence) => panic!("{absence}"),
    }
}

/// What a helper found damaged is looked at before what it says is believed; queries that need nothing of it go on.
#[test]
fn a_damaged_helper_fails_the_queries_that_need_it() {
    on_a_thread(|| {
        let (mut failed, mut spared) = (0, 0);
        for seed in seeds::chosen(60, 2_000) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let world = World::new(&dataset, 3, None);
            let queries: Vec<String> = (0..6)
                .map(|_| random_query(&vocabulary, &mut random))
                .filter(|text| world.plan(text, None).is_ok())
                .collect();
            let said = || world.nodes[1].ground().fabric().counts().messages_sent;
            // The second time nothing is asked that holds for all queries.
            let needs = |text: &String| {
                [(), ()]
                    .map(|()| {
                        let before = said();
                        let answer = world.answer(text, None, 0, Mode::ForkJoin);
                        answer.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                        said() - before
                    })
                    .into_iter()
                    .next_back()
            };
            let needs: Vec<Option<u64>> = queries.iter().map(needs).collect();
            world.nodes[1].ground().part().damage_it();
            for (text, needs) in queries.iter().zip(needs) {
                let answer = world.answer(text, None, 0, Mode::ForkJoin);
                while world.turn() {}
                match answer {
                    Ok(_) => {
                        // With enough rows of others, nobody waits for what it says.
                        let is_early = ["LIMIT", "ASK"].iter().any(|word| text.contains(word));
                        assert!(
                            needs == Some(0) || is_early,
                            "seed {seed}: it was answered\n{text}"
                        );
                        spared += 1;
                    }
                    Err(error) => {
                        assert!(error.contains("it was damaged"), "seed {seed}: {error}");
                        assert!(!error.contains(IS_AWAY), "seed {seed}: {error}");
                        failed += 1;
                    }
                }
            }
        }
        assert!(
            failed > 20 && spared > 20,
            "{failed} failed, {spared} went on"
        );
    });
}

/// Changes some of the messages that a node is about to be given.
fn change(events: &mut [Event], random: &mut Random) {
    for event in events {
        let Event::Message { bytes, .. } = event else {
            continue;
        };
        if !random.chance(3) || bytes.is_empty() {
            continue;
        }
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.bits() as u8,
            _ => bytes.truncate(at),
        }
    }
}

/// Asks a query while messages change on their way; how it ended. After some time without an end it is given up, as its
/// deadline would.
fn asked(world: &World, text: &str, mode: Mode, random: &mut Random) -> Option<String> {
    let Ok((plan, ids)) = world.plan(text, None) else {
        return None;
    };
    let node = &world.nodes[0];
    let started = node.start(PartsQuery {
        plan: Arc::new(plan),
        ids,
        mode,
        now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
        seed: 7,
        chunk_rows: 3,
        memory: Arc::new(Unlimited),
        visit: Visit::new(node.ground(), Arc::new(Unlimited)),
        memory_bytes: 1 << 30,
        stop: Arc::new(Unlimited),
        time: None,
        is_profiled: false,
        trace: None,
    });
    let mut running = match started {
        Ok(running) => running,
        Err(error) => return Some(error.to_string()),
    };
    let mut chunk = Chunk::new();
    for _ in 0..2_000 {
        match running.next(&mut chunk) {
            Err(error) => return Some(error.to_string()),
            Ok(Status::Done) => return None,
            Ok(_) => {}
        }
        let mut events = Vec::new();
        for node in &world.nodes {
            node.ground().fabric().poll(&mut events, Duration::ZERO);
            change(&mut events, random);
            node.handle(events.drain(..));
            while node.work() {}
        }
    }
    Some("it waits".to_owned())
}

#[test]
fn no_message_makes_anybody_panic() {
    on_a_thread(|| {
        let (mut failed, mut waited, mut ended) = (0, 0, 0);
        for seed in seeds::chosen(150, 20_000) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let world = World::new(&dataset, 3, None);
            for number in 0..8 {
                let text = random_query(&vocabulary, &mut random);
                let mode = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic][number % 3];
                match asked(&world, &text, mode, &mut random) {
                    None => ended += 1,
                    Some(error) if error == "it waits" => waited += 1,
                    Some(error) => {
                        let is_panic = error.contains("a bug of ours");
                        assert!(
                            !is_panic,
                            "SOMERSAULT_SEED={seed}, {mode:?}: {error}\n{text}"
                        );
                        failed += 1;
                    }
                }
            }
        }
        println!("{ended} ended, {failed} failed, {waited} waited");
        assert!(failed > 0 && ended > 0);
    });
}

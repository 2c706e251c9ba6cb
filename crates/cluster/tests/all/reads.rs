//! Lists that are read out of the memory of their owner: the same as by message, in so many reads and bytes, and nobody there
//! is woken. What is not where it was said to be is asked for by message.

use super::part::{Form, HeldPart};
use super::world::{Matter, PlainNode};
use cluster::{Fetched, ReadPolicy, Visit};
use explore::limits::Unlimited;
use fabric::sim::{Fault, Sim, Step, Stop};
use fabric::{Counts, Event, Fabric, Local, NodeId};
use oxrdf::vocab::rdf::TYPE;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad, Term};
use rdf::{Direction, VertexId};
use std::sync::Arc;
use std::time::Duration;
use store::location::ListColumn;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};
use store::{ListCursor, Lists};
use testkit::random::Random;

/// Subjects of the graph.
const SUBJECTS: u64 = 4000;

fn iri(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/{name}"))
}

/// Each subject has one name, two to seven friends, of whom some in a named graph, and one of three classes.
fn dataset() -> Dataset {
    let mut dataset = Dataset::new();
    let mut random = Random::new(5);
    for number in 0..SUBJECTS {
        let subject = iri(&format!("s{number}"));
        let mut add = |predicate: NamedNode, object: Term, graph: GraphName| {
            dataset.insert(&Quad::new(subject.clone(), predicate, object, graph));
        };
        let name = Literal::new_simple_literal(format!("name {number}"));
        add(iri("name"), name.into(), GraphName::DefaultGraph);
        for friend in 0..random.between(2, 7) {
            let object = iri(&format!("s{}", random.below(SUBJECTS as usize)));
            let graph = match friend {
                0 => iri("some graph").into(),
                _ => GraphName::DefaultGraph,
            };
            add(iri("friend"), object.into(), graph);
        }
        let class = iri(&format!("c{}", random.below(3)));
        add(TYPE.into_owned(), class.into(), GraphName::DefaultGraph);
    }
    dataset
}

/// Two nodes: the first one asks, the second one owns.
struct Pair {
    matter: Matter,
    nodes: [Arc<PlainNode>; 2],
    sim: Option<Sim>,
    /// Messages that the owner has polled.
    owner_messages: u64,
}

impl Pair {
    fn local(form: Form, policy: ReadPolicy) -> Pair {
        let matter = Matter::new(&dataset(), 2, None).in_form(form, policy);
        let fabrics = Local::nodes(2);
        let node = |number: usize| matter.node(Arc::clone(&fabrics[number]) as Arc<dyn Fabric>);
        let nodes = [node(0), node(1)];
        let mut pair = Pair {
            matter,
            nodes,
            sim: None,
            owner_messages: 0,
        };
        pair.turn();
        pair
    }

    fn simulated(form: Form) -> Pair {
        let matter = Matter::new(&dataset(), 2, None).in_form(form, ReadPolicy::Always);
        let sim = Sim::new(2, 9);
        let node = |number: u16| {
            let fabric = sim.node(NodeId(number)).expect("it is there");
            fabric.poll(&mut Vec::new(), Duration::from_millis(20));
            matter.node(fabric)
        };
        let nodes = [node(0), node(1)];
        let mut pair = Pair {
            matter,
            nodes,
            sim: Some(sim),
            owner_messages: 0,
        };
        while pair.now() < Duration::from_secs(1) {
            pair.turn();
        }
        pair
    }

    fn now(&self) -> Duration {
        self.sim.as_ref().map_or(Duration::MAX, Sim::now)
    }

    fn handle(&mut self, node: usize, events: Vec<Event>) {
        if node == 1 {
            let is_message = |event: &&Event| matches!(event, Event::Message { .. });
            self.owner_messages += events.iter().filter(is_message).count() as u64;
        }
        self.nodes[node].handle(events.into_iter());
    }

    /// Something happens.
    fn turn(&mut self) {
        let Some(sim) = &self.sim else {
            for node in 0..2 {
                let mut events = Vec::new();
                let fabric = self.nodes[node].ground().fabric();
                fabric.poll(&mut events, Duration::ZERO);
                self.handle(node, events);
            }
            return;
        };
        match sim.step(sim.now() + Duration::from_secs(1)) {
            Some(Step::Events(node, events)) => {
                self.handle(node.index(), events);
                let fabric = self.nodes[node.index()].ground().fabric();
                let mut more = Vec::new();
                fabric.poll(&mut more, Duration::from_millis(20));
                self.handle(node.index(), more);
            }
            Some(Step::Started(node)) => {
                let fabric = sim.node(node).expect("it has started");
                fabric.poll(&mut Vec::new(), Duration::from_millis(20));
                self.nodes[node.index()] = self.matter.node(fabric);
            }
            Some(Step::Stopped(_)) | None => {}
        }
    }

    fn segment(&self, predicate: &NamedNode, direction: Direction) -> SegmentKey {
        let vertex = self.id(&Term::from(predicate.clone()));
        let predicate = self.nodes[0].ground().part().predicate_id(vertex);
        SegmentKey {
            predicate: predicate.expect("a predicate of the graph"),
            direction,
        }
    }

    fn id(&self, term: &Term) -> VertexId {
        let mut ids = Vec::new();
        let found = rdf::Lexicon::ids(&*self.matter.terms, &[term.as_ref()], &mut ids);
        found.expect("terms are here");
        ids[0].expect("a term of the graph")
    }

    /// Subjects that the second node owns, and some that are none of it.
    fn keys(&self) -> Vec<VertexId> {
        let mut keys = Vec::new();
        for number in 0..SUBJECTS {
            let key = self.id(&iri(&format!("s{number}")).into());
            if self.nodes[0].ground().placement().is_owned(key, 1) {
                keys.push(key);
            }
        }
        keys
    }

    /// The lists of keys as a query at the first node gets them, and what it did for that.
    fn lists(
        &mut self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> (Vec<Vec<u64>>, Fetched) {
        let visit = Visit::new(self.nodes[0].ground(), Arc::new(Unlimited));
        let view = visit.view();
        let mut lists = Lists::new();
        for _ in 0..10_000 {
            match view.lists(segment, keys, scope, &mut lists) {
                Ok(Progress::Ready) => return (of(&lists, keys.len(), scope), visit.fetched()),
                Ok(Progress::Pending(_)) => self.turn(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("lists never came");
    }

    /// What the part itself lists.
    fn expected(
        &self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Vec<Vec<u64>> {
        let part = self.nodes[1].ground().part();
        let mut lists = Lists::new();
        let listed = part.lists(segment, keys, scope, &mut lists);
        assert_eq!(listed, Ok(Progress::Ready));
        of(&lists, keys.len(), scope)
    }

    /// Lets the first node know where a segment lies, and ask all that is asked once.
    fn warm(&mut self, segment: SegmentKey, key: VertexId, scope: GraphScope<'_>) {
        self.lists(segment, &[key], scope);
        for _ in 0..200 {
            self.turn();
        }
    }

    fn counts(&self, node: usize) -> Counts {
        self.nodes[node].ground().fabric().counts()
    }
}

/// Neighbours, and graphs behind them where the scope binds them.
fn of(lists: &Lists<'_>, keys: usize, scope: GraphScope<'_>) -> Vec<Vec<u64>> {
    let (mut numbers, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
    let mut cursor = ListCursor::default();
    let bound = scope.binds_graph().then_some(&mut graphs);
    let all = lists.expand(
        &mut cursor,
        usize::MAX,
        &mut numbers,
        &mut neighbours,
        bound,
    );
    assert_eq!(all, Ok(true));
    let mut found = vec![Vec::new(); keys];
    for (row, (&number, neighbour)) in numbers.iter().zip(&neighbours).enumerate() {
        found[number as usize].push(neighbour.bits());
        found[number as usize].extend(graphs.get(row).map(|graph| graph.bits()));
    }
    found
}

const SCOPES: [GraphScope<'static>; 3] = [
    GraphScope::Default,
    GraphScope::Union,
    GraphScope::EachNamed,
];

/// Reads, bytes and journeys a lookup are the layout's; the owner gets no message, and is not polled at all.
#[test]
fn nobody_is_woken_by_a_load() {
    let mut pair = Pair::local(Form::Stored, ReadPolicy::OneSided);
    let keys = pair.keys();
    for (predicate, reads_of_one) in [("name", 2), ("friend", 3)] {
        let segment = pair.segment(&iri(predicate), Direction::Out);
        for scope in SCOPES {
            pair.warm(segment, keys[0], scope);
            let before = (pair.counts(1), pair.counts(0).messages_sent);
            // Nobody is polled: what is not answered at once fails.
            let visit = Visit::new(pair.nodes[0].ground(), Arc::new(Unlimited));
            let view = visit.view();
            let mut lists = Lists::new();
            for batch in keys.chunks(64) {
                let listed = view.lists(segment, batch, scope, &mut lists);
                assert_eq!(listed, Ok(Progress::Ready));
                let expected = pair.expected(segment, batch, scope);
                assert_eq!(of(&lists, batch.len(), scope), expected);
            }
            let fetched = visit.fetched();
            assert_eq!(fetched.lists_read, keys.len() as u64);
            assert_eq!(fetched.questions, 0);
            assert_eq!((pair.counts(1), pair.counts(0).messages_sent), before);
            let (_, one) = pair.lists(segment, &keys[7..8], scope);
            let is_empty = predicate == "name" && scope == GraphScope::EachNamed;
            assert_eq!(one.reads, if is_empty { 0 } else { reads_of_one });
            // A rank block; two offsets of at most 8 bytes; a row, or up to seven with their graphs.
            let bytes = match predicate {
                _ if is_empty => 0..=0,
                "name" => 68..=68,
                _ => 64 + 2 + 2 * 8..=64 + 16 + 7 * 8,
            };
            assert!(bytes.contains(&one.read_bytes), "{one:?}");
            println!(
                "{predicate}, {scope:?}: {} lists in {} reads of {} bytes; one alone: {} reads, {} bytes",
                fetched.lists_read, fetched.reads, fetched.read_bytes, one.reads, one.read_bytes
            );
        }
    }
    let kept = pair.nodes[0].figures().locations;
    assert_eq!(kept.segments, 2);
    assert!(kept.bytes > 0);
}

/// Over a fabric whose reads are completions it is the same, and what is read before the rows is copied in the end.
#[test]
fn nobody_is_told_of_a_read() {
    let mut pair = Pair::simulated(Form::Stored);
    let keys = pair.keys();
    for (predicate, first, last) in [("name", 2, 1), ("friend", 3, 1)] {
        let segment = pair.segment(&iri(predicate), Direction::Out);
        let scope = GraphScope::Default;
        pair.warm(segment, keys[0], scope);
        let messages = pair.owner_messages;
        let mut reads = Vec::new();
        for _ in 0..4 {
            for batch in keys.chunks(64) {
                let (found, fetched) = pair.lists(segment, batch, scope);
                assert_eq!(found, pair.expected(segment, batch, scope));
                assert_eq!(fetched.lists_read, batch.len() as u64);
                reads.push(fetched.reads);
            }
        }
        assert_eq!(
            (reads[0], reads.last()),
            (first, Some(&last)),
            "{predicate}: {reads:?}"
        );
        assert!(
            reads.is_sorted_by(|one, next| one >= next),
            "{predicate}: {reads:?}"
        );
        assert_eq!(pair.owner_messages, messages, "its owner was told");
    }
}

/// Classes have their members on all nodes: each one's piece is read, and put together with this node's.
#[test]
fn pieces_are_read_too() {
    let mut pair = Pair::local(Form::Stored, ReadPolicy::OneSided);
    let segment = pair.segment(&TYPE.into_owned(), Direction::In);
    let classes: Vec<VertexId> = (0..3)
        .map(|class| pair.id(&iri(&format!("c{class}")).into()))
        .collect();
    let (by_message, fetched) = pair.lists(segment, &classes, GraphScope::Default);
    assert_eq!(fetched.lists_read, 0, "nobody knew where they lie");
    pair.warm(segment, classes[0], GraphScope::Default);
    let (read, fetched) = pair.lists(segment, &classes, GraphScope::Default);
    assert_eq!((fetched.lists_read, fetched.questions), (3, 0));
    assert_eq!(read, by_message);
    assert_eq!(read.iter().map(Vec::len).sum::<usize>() as u64, SUBJECTS);
}

/// A policy is kept to, and what is no store's is asked for.
#[test]
fn what_cannot_be_read_is_asked_for() {
    for (form, policy) in [
        (Form::Stored, ReadPolicy::Never),
        (Form::Plain, ReadPolicy::Always),
    ] {
        let mut pair = Pair::local(form, policy);
        let keys = pair.keys();
        let segment = pair.segment(&iri("friend"), Direction::Out);
        pair.warm(segment, keys[0], GraphScope::Default);
        let (found, fetched) = pair.lists(segment, &keys, GraphScope::Default);
        assert_eq!(found, pair.expected(segment, &keys, GraphScope::Default));
        assert_eq!((fetched.lists_read, fetched.questions), (0, 1));
        assert_eq!(pair.nodes[0].figures().locations.segments, 0);
    }
}

/// Of one batch what layers may hold is asked for, and all else is read.
#[test]
fn keys_of_layers_are_asked_for() {
    // Quads come in no order that matters, so the layer has some of any subject, and few of all.
    let mut pair = Pair::local(Form::Layered(40), ReadPolicy::OneSided);
    let keys = pair.keys();
    let (mut read, mut asked) = (0, 0);
    for predicate in ["name", "friend"] {
        let segment = pair.segment(&iri(predicate), Direction::Out);
        for scope in SCOPES {
            pair.warm(segment, keys[0], scope);
            for batch in keys.chunks(20) {
                let (found, fetched) = pair.lists(segment, batch, scope);
                assert_eq!(found, pair.expected(segment, batch, scope));
                read += fetched.lists_read;
                asked += batch.len() as u64 - fetched.lists_read;
                assert_eq!(
                    fetched.questions > 0,
                    fetched.lists_read < batch.len() as u64
                );
            }
        }
    }
    assert!(read > 0 && asked > 0, "{read} {asked}");
}

/// Memory that is given back is read no more; lists come by message, and are read again once it is known where they lie.
#[test]
fn withdrawn_memory_is_not_read() {
    for mut pair in [
        Pair::local(Form::Stored, ReadPolicy::OneSided),
        Pair::simulated(Form::Stored),
    ] {
        let keys = pair.keys();
        let segment = pair.segment(&iri("friend"), Direction::Out);
        let scope = GraphScope::Union;
        pair.warm(segment, keys[0], scope);
        for _ in 0..2 {
            let (_, fetched) = pair.lists(segment, &keys[..50], scope);
            assert_eq!((fetched.lists_read, fetched.questions), (50, 0));
            pair.nodes[1].ground().withdraw();
            let (found, fetched) = pair.lists(segment, &keys[..50], scope);
            assert_eq!(found, pair.expected(segment, &keys[..50], scope));
            assert_eq!((fetched.lists_read, fetched.questions), (0, 1));
            assert_eq!(pair.nodes[0].figures().locations.segments, 0);
            pair.warm(segment, keys[0], scope);
        }
    }
}

/// Another life of the owner offers nothing under the names of the one before.
#[test]
fn another_life_is_asked_anew() {
    let mut pair = Pair::simulated(Form::Stored);
    let keys = pair.keys();
    let segment = pair.segment(&iri("friend"), Direction::Out);
    let scope = GraphScope::Default;
    pair.warm(segment, keys[0], scope);
    let expected = pair.expected(segment, &keys[..50], scope);
    assert_eq!(pair.lists(segment, &keys[..50], scope).1.lists_read, 50);
    if let Some(sim) = &pair.sim {
        let now = sim.now();
        sim.fault(now, Fault::Stop(NodeId(1), Stop::Killed));
        sim.fault(now + Duration::from_secs(2), Fault::Start(NodeId(1)));
    }
    let until = pair.now() + Duration::from_secs(6);
    while pair.now() < until {
        pair.turn();
    }
    assert_eq!(
        pair.nodes[0].figures().locations.segments,
        0,
        "they went with it"
    );
    let (found, fetched) = pair.lists(segment, &keys[..50], scope);
    assert_eq!((&found, fetched.lists_read), (&expected, 0));
    pair.warm(segment, keys[0], scope);
    let (found, fetched) = pair.lists(segment, &keys[..50], scope);
    assert_eq!((&found, fetched.lists_read), (&expected, 50));
}

/// Memory that is not what it was said to be gives no list: it is asked for by message.
#[test]
fn forged_memory_gives_no_wrong_list() {
    for (column, byte) in [
        (ListColumn::Keys, 0xff),
        (ListColumn::Offsets, 0xff),
        (ListColumn::Offsets, 0),
        (ListColumn::Neighbours, 0),
        (ListColumn::Graphs, 7),
    ] {
        let form = Form::Forged(column, byte);
        for mut pair in [
            Pair::local(form, ReadPolicy::OneSided),
            Pair::simulated(form),
        ] {
            let keys = pair.keys();
            let segment = pair.segment(&iri("friend"), Direction::Out);
            for scope in [GraphScope::Union, GraphScope::EachNamed] {
                pair.warm(segment, keys[0], scope);
                let (found, fetched) = pair.lists(segment, &keys[..50], scope);
                let expected = pair.expected(segment, &keys[..50], scope);
                assert_eq!(found, expected, "{column:?} {scope:?}");
                if column == ListColumn::Graphs && scope == GraphScope::Union {
                    // Every graph is in that scope.
                    continue;
                }
                assert_eq!(
                    (fetched.lists_read, fetched.questions),
                    (0, 1),
                    "{column:?} {scope:?}"
                );
            }
        }
    }
}

/// What is read counts to the query: with too little memory it ends, and nothing stays drawn.
#[test]
fn memory_is_asked_before_it_is_read() {
    use explore::{MemoryBudget, MemoryExceeded};
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Little(AtomicU64);
    impl MemoryBudget for Little {
        fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
            let used_bytes = self.0.fetch_add(bytes, Ordering::Relaxed);
            if used_bytes + bytes <= 2000 {
                return Ok(());
            }
            self.0.fetch_sub(bytes, Ordering::Relaxed);
            Err(MemoryExceeded {
                limit_bytes: 2000,
                used_bytes,
                of_all: false,
            })
        }

        fn release(&self, bytes: u64) {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    for mut pair in [
        Pair::local(Form::Stored, ReadPolicy::OneSided),
        Pair::simulated(Form::Stored),
    ] {
        let keys = pair.keys();
        let segment = pair.segment(&iri("friend"), Direction::Out);
        pair.warm(segment, keys[0], GraphScope::Default);
        let memory = Arc::new(Little(AtomicU64::new(0)));
        let visit: Visit<HeldPart, _> =
            Visit::new(pair.nodes[0].ground(), Arc::clone(&memory) as Arc<_>);
        let view = visit.view();
        let mut lists = Lists::new();
        let error = loop {
            match view.lists(segment, &keys, GraphScope::Default, &mut lists) {
                Ok(Progress::Pending(_)) => pair.turn(),
                Ok(Progress::Ready) => panic!("{} lists were read", keys.len()),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("2000 bytes"), "{error}");
        drop((view, visit));
        assert_eq!(memory.0.load(Ordering::Relaxed), 0);
    }
}

//! Links over TCP that are bad: late, slow, silent, reset; and nodes that start anew.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fabric::liveness::DOWN_WITHIN;
use fabric::tcp::Tcp;
use fabric::{Absence, Event, Fabric, FabricError, Incarnation, NodeId, Presence};

use crate::relay::{Passing, Relay};
use crate::world::{World, listeners, tcp_config};

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);

/// Two nodes with a relay between them.
fn over_relay() -> (World, Relay) {
    let (mut listeners, members) = listeners(2);
    let relay = Relay::to(&members[0]);
    let one = Tcp::start(
        listeners.pop().unwrap(),
        tcp_config(1, &[relay.address.clone(), members[1].clone()]),
    );
    let zero = Tcp::start(listeners.pop().unwrap(), tcp_config(0, &members));
    let mut world = World::polled(vec![zero.unwrap(), one.unwrap()]);
    world.join();
    (world, relay)
}

fn is_down(event: &Event) -> bool {
    matches!(event, Event::Down { .. })
}

fn is_up(event: &Event) -> bool {
    matches!(event, Event::Up { .. })
}

fn incarnation(world: &World, at: usize) -> Incarnation {
    match world.nodes[at].presence(NodeId(1 - at as u16)) {
        Presence::Up(incarnation) => incarnation,
        Presence::Down(absence) => panic!("{absence}"),
    }
}

/// Lets a time pass.
fn pass_time(world: &mut World, time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        world.advance();
    }
}

#[test]
fn a_silent_link_is_down_in_time_and_up_again_when_it_is_healed() {
    let (mut world, relay) = over_relay();
    let before = incarnation(&world, 0);
    relay.set(Passing::Never);
    let start = Instant::now();
    for at in [0, 1] {
        let event = world.wait_for(at, "it is down", is_down);
        assert!(
            matches!(
                event,
                Event::Down {
                    cause: Absence::Silent { .. },
                    ..
                }
            ),
            "{event:?}"
        );
        assert!(start.elapsed() < DOWN_WITHIN, "{:?}", start.elapsed());
    }
    let refused = world.nodes[0].send(ONE, vec![1]).unwrap_err();
    assert_eq!(refused.cause, FabricError::Down { node: ONE });
    relay.set(Passing::Well);
    let start = Instant::now();
    world.join();
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    let after = incarnation(&world, 0);
    assert_eq!(after.life, before.life, "nobody has started anew");
    assert!(after.link > before.link);
}

#[test]
fn a_late_link_is_up_and_measured() {
    let (mut world, relay) = over_relay();
    let is_measured = |world: &World, least: u64| world.nodes[1].facts().round_trip_ns >= least;
    relay.set(Passing::Late(Duration::from_millis(100)));
    pass_time(&mut world, Duration::from_secs(2));
    let start = Instant::now();
    world.nodes[0].send(ONE, b"late".to_vec()).unwrap();
    world.wait_for(1, "the message", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert!(
        !world.seen.iter().flatten().any(is_down),
        "{:?}",
        world.seen
    );
    assert!(
        !is_measured(&world, 100_000_000),
        "it was measured when it came up"
    );
    relay.set(Passing::Closed);
    world.wait_for(1, "it is down", is_down);
    relay.set(Passing::Late(Duration::from_millis(100)));
    world.until("it is measured anew", |world| {
        is_measured(world, 200_000_000)
    });
}

#[test]
fn a_slow_link_stays_up_under_a_long_message() {
    let (mut world, relay) = over_relay();
    relay.set(Passing::Slowly(400_000));
    let message = vec![5; 1_200_000];
    world.nodes[0].send(ONE, message.clone()).unwrap();
    let event = world.wait_for(1, "the message", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(matches!(event, Event::Message { bytes, .. } if bytes == message));
    assert!(
        !world.seen.iter().flatten().any(is_down),
        "{:?}",
        world.seen
    );
}

#[test]
fn what_a_reset_takes_away_is_told_and_what_is_delivered_is_a_prefix() {
    let (mut world, relay) = over_relay();
    for round in 0..5_u32 {
        let mut sent = 0_u32;
        // Until the reset is noticed.
        loop {
            let message = [round.to_le_bytes(), sent.to_le_bytes()].concat();
            match world.nodes[0].send(ONE, message) {
                Ok(()) => sent += 1,
                Err(refused) => match refused.cause {
                    FabricError::Down { .. } => break,
                    FabricError::Busy { .. } => {}
                    other => panic!("{other}"),
                },
            }
            if sent == 200 {
                relay.set(Passing::Closed);
            }
            if sent.is_multiple_of(50) {
                world.advance();
            }
        }
        relay.set(Passing::Well);
        world.until("it is down at the other", |world| {
            world.seen[1].iter().any(is_down)
        });
        let mut next = 0_u32;
        for event in std::mem::take(&mut world.seen[1]) {
            match event {
                Event::Message { bytes, .. } => {
                    assert_eq!(bytes, [round.to_le_bytes(), next.to_le_bytes()].concat());
                    next += 1;
                }
                Event::Down { .. } => break,
                _ => {}
            }
        }
        assert!(next <= sent);
        world.join();
    }
}

#[test]
fn messages_of_an_old_link_that_are_polled_late_give_no_credit_on_the_new_one() {
    const LONG: usize = 1 << 20;
    let (mut world, relay) = over_relay();
    let zero = world.nodes[0].clone();
    let poll = |is_it: fn(&Event) -> bool| {
        let start = Instant::now();
        let mut events = Vec::new();
        while !events.iter().any(is_it) {
            assert!(start.elapsed() < Duration::from_secs(20), "{events:?}");
            zero.poll(&mut events, Duration::from_millis(10));
        }
    };
    for _ in 0..20 {
        zero.send(ONE, vec![1; LONG]).unwrap();
    }
    // Node 1 does not poll: not what comes, not that the link is reset, and not that there is another.
    std::thread::sleep(Duration::from_millis(500));
    relay.set(Passing::Closed);
    poll(is_down);
    relay.set(Passing::Well);
    poll(is_up);
    world.until("the old messages, and the new link", |world| {
        let up = world.seen[1].iter().position(is_up);
        up.is_some_and(|up| up > 1 && is_down(&world.seen[1][up - 1]))
    });
    let old = world.take_messages(1, ZERO).len();
    assert!((1..=20).contains(&old), "{old}");
    world.seen[1].clear();
    for _ in 0..20 {
        zero.send(ONE, vec![2; LONG]).unwrap();
    }
    world.until("the new messages", |world| world.seen[1].len() >= 20);
    assert!(!world.seen.iter().flatten().any(is_down));
    assert!(
        world
            .take_messages(1, ZERO)
            .iter()
            .all(|message| message[0] == 2)
    );
}

#[test]
fn a_node_that_starts_anew_is_another_life_and_its_old_regions_are_gone() {
    let (listeners, members) = listeners(2);
    let mut listeners = listeners.into_iter();
    let zero = Tcp::start(listeners.next().unwrap(), tcp_config(0, &members)).unwrap();
    let one = Tcp::start(listeners.next().unwrap(), tcp_config(1, &members)).unwrap();
    let mut world = World::polled(vec![zero, one]);
    world.join();
    let old = incarnation(&world, 0);
    let gone = world.nodes.pop().unwrap();
    drop(gone);
    let mut alone = World::polled(vec![world.nodes[0].clone()]);
    let event = alone.wait_for(0, "it has left", is_down);
    assert!(
        matches!(
            event,
            Event::Down {
                cause: Absence::Left,
                ..
            }
        ),
        "{event:?}"
    );
    // The port is free at once.
    let listener = TcpListener::bind(&members[1]).unwrap();
    let again = Tcp::start(listener, tcp_config(1, &members)).unwrap();
    world.nodes.push(again as Arc<dyn Fabric>);
    world.join();
    let new = incarnation(&world, 0);
    assert_ne!(new.life, old.life);
    assert!(new.link > old.link);
}

#[test]
fn names_of_hosts_are_looked_up() {
    let (listeners, members) = listeners(2);
    let by_name: Vec<String> = members
        .iter()
        .map(|member| member.replace("127.0.0.1", "localhost"))
        .collect();
    let start = |(here, listener)| {
        Tcp::start(listener, tcp_config(here, &by_name)).unwrap() as Arc<dyn Fabric>
    };
    let nodes: Vec<Arc<dyn Fabric>> = (0..2).zip(listeners).map(start).collect();
    World::polled(nodes).join();

    let (mut listeners, mut members) = crate::world::listeners(2);
    members[0] = "no.such.host.invalid:1".to_owned();
    let one = Tcp::start(listeners.pop().unwrap(), tcp_config(1, &members)).unwrap();
    let mut world = World::polled(vec![one as Arc<dyn Fabric>]);
    world.until("the reason is known", |world| {
        match world.nodes[0].presence(ZERO) {
            Presence::Down(absence) => absence.to_string().contains("no.such.host.invalid"),
            Presence::Up(_) => false,
        }
    });
    assert!(!world.seen[0].iter().any(is_up));
}

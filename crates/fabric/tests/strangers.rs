//! Who does not belong to a cluster: refused, with the reason on both sides, and nobody else is disturbed.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use fabric::tcp::{Key, Tcp, TcpConfig, TcpError};
use fabric::{Event, Fabric, Limits, NodeId, Presence};

use crate::chance::Random;
use crate::world::{World, listeners, tcp_config};

/// Two nodes of which the second is another than it should be.
fn with_another(change: impl Fn(&mut TcpConfig)) -> World {
    let (listeners, members) = listeners(2);
    let start = |(here, listener)| {
        let mut config = tcp_config(here, &members);
        if here == 1 {
            change(&mut config);
        }
        Tcp::start(listener, config).unwrap() as Arc<dyn Fabric>
    };
    World::polled((0..2).zip(listeners).map(start).collect())
}

/// What a node is told of a refusal.
fn refusal(world: &mut World, at: usize) -> String {
    let event = world.wait_for(at, "a refusal", |event| {
        matches!(event, Event::Refused { .. })
    });
    match event {
        Event::Refused { who, reason } => format!("{who}: {reason}"),
        _ => unreachable!("a refusal was waited for"),
    }
}

#[test]
fn a_difference_is_told_on_both_sides() {
    type Change = fn(&mut TcpConfig);
    let cases: [(Change, &str); 5] = [
        (|config| config.cluster = [8; 16], "cluster is 0707"),
        (
            |config| config.epoch = 4,
            "placement epoch is 3 at node 0 and 4 at node 1",
        ),
        (
            |config| config.members.push("127.0.0.1:1".to_owned()),
            "number of members is 2 at node 0 and 3",
        ),
        (|config| config.limits.pieces_max = 9, "limits is ["),
        (
            |config| config.key = Key::new(&[43; 32]).unwrap(),
            "different keys: give both nodes the same key file",
        ),
    ];
    for (change, expected) in cases {
        let mut world = with_another(change);
        let told = [0, 1].map(|at| refusal(&mut world, at));
        for told in &told {
            assert!(told.contains(expected), "`{told}` has `{expected}`");
        }
        assert!(told[1].starts_with("node 0 at 127.0.0.1:"), "{}", told[1]);
        assert!(
            !world
                .seen
                .iter()
                .flatten()
                .any(|event| matches!(event, Event::Up { .. }))
        );
        let Presence::Down(absence) = world.nodes[1].presence(NodeId(0)) else {
            panic!("they are linked");
        };
        assert!(absence.to_string().contains(expected), "{absence}");
    }
}

#[test]
fn a_second_node_of_one_name_is_refused_and_the_first_goes_on() {
    let (mut listeners, members) = listeners(3);
    let mut start = |here| {
        let listener = listeners.remove(0);
        Tcp::start(listener, tcp_config(here, &members[..2])).unwrap() as Arc<dyn Fabric>
    };
    let mut world = World::polled(vec![start(0), start(1)]);
    world.join();
    let mut other = World::polled(vec![start(1)]);
    let told = refusal(&mut other, 0);
    assert!(
        told.contains("node 0 is linked with node 1 already"),
        "{told}"
    );
    let told = refusal(&mut world, 0);
    assert!(told.contains("give each its own position"), "{told}");
    world.nodes[0]
        .send(NodeId(1), b"still here".to_vec())
        .unwrap();
    world.wait_for(1, "the message", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(
        world
            .seen
            .iter()
            .flatten()
            .all(|event| !matches!(event, Event::Down { .. }))
    );
}

#[test]
fn an_address_of_another_node_is_told() {
    let (listeners, members) = listeners(3);
    let swapped = vec![members[1].clone(), members[0].clone(), members[2].clone()];
    let start = |(here, listener)| {
        let members = if here == 2 { &swapped } else { &members };
        Tcp::start(listener, tcp_config(here, members)).unwrap() as Arc<dyn Fabric>
    };
    let mut world = World::polled((0..3).zip(listeners).map(start).collect());
    let told = refusal(&mut world, 2);
    assert!(told.contains("answers where"), "{told}");
    assert!(
        told.contains("check the addresses in the list of members"),
        "{told}"
    );
}

#[test]
fn garbage_on_the_port_is_told_and_harms_nobody() {
    let (listeners, members) = listeners(2);
    let start = |(here, listener)| {
        Tcp::start(listener, tcp_config(here, &members)).unwrap() as Arc<dyn Fabric>
    };
    let mut world = World::polled((0..2).zip(listeners).map(start).collect());
    world.join();
    let mut socket = TcpStream::connect(&members[0]).unwrap();
    socket
        .write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        .unwrap();
    let told = refusal(&mut world, 0);
    assert!(told.contains("no Somersault node speaks here"), "{told}");
    assert!(told.contains("GET / HTTP/1.1"), "{told}");
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.starts_with(b"somersault node"), "{answer:?}");

    let mut newer = TcpStream::connect(&members[0]).unwrap();
    newer.write_all(b"somersault node \r\n\x09\x00").unwrap();
    let told = refusal(&mut world, 0);
    assert!(told.contains("the other node speaks version 9"), "{told}");

    let mut random = Random::new(11);
    let mut open = Vec::new();
    for case in 0..200 {
        let mut socket = TcpStream::connect(&members[case % 2]).unwrap();
        let mut bytes = if case % 4 < 3 {
            b"somersault node \r\n\x01\x00".to_vec()
        } else {
            Vec::new()
        };
        if case % 3 == 0 {
            // The head of a TLS record of a handshake, of the greatest length.
            bytes.extend_from_slice(&[0x16, 3, 1, 0xff, 0xff, 1, 0xff, 0xff, 0xff]);
        }
        let length = random.below(3000);
        bytes.extend((0..length).map(|_| random.below(256) as u8));
        let _ = socket.write_all(&bytes);
        if case % 2 == 0 {
            open.push(socket);
        }
        world.advance();
    }
    world.nodes[0]
        .send(NodeId(1), b"still here".to_vec())
        .unwrap();
    world.wait_for(1, "the message", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(
        world
            .seen
            .iter()
            .flatten()
            .all(|event| !matches!(event, Event::Down { .. }))
    );
}

#[test]
fn a_node_that_cannot_be_one_does_not_start() {
    let (mut listeners, members) = listeners(2);
    let no_member = Tcp::start(listeners.remove(0), tcp_config(5, &members)).err();
    let expected = "node 5 is not in the list of 2 members";
    assert_eq!(
        no_member
            .map(|error: TcpError| error.to_string())
            .as_deref(),
        Some(expected)
    );
    let mut config = tcp_config(0, &members);
    config.limits.queue_bytes_max = 100;
    let told = Tcp::start(listeners.remove(0), config)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        told,
        "limits between nodes: a queue of 100 bytes holds no message of 16777216"
    );
    let too_short = Key::new(b"secret").unwrap_err();
    assert!(
        too_short
            .to_string()
            .contains("a key of 6 bytes is too short"),
        "{too_short}"
    );
    assert_eq!(format!("{:?}", Key::new(&[1; 32]).unwrap()), "Key(..)");
    assert_eq!(Limits::default(), Limits::DEFAULT);
}

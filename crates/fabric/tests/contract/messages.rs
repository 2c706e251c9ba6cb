//! Messages, and who is there.

use std::time::{Duration, Instant};

use fabric::{Absence, Event, Fabric, FabricError, Limits, NodeId, Presence};

use super::Make;
use crate::world::SMALL;

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);
const TWO: NodeId = NodeId(2);

pub fn messages_of_a_pair_keep_their_order(make: Make) {
    let mut world = make(3, Limits::DEFAULT);
    world.join();
    for number in 0..200_u32 {
        for from in [0, 2] {
            let message = [&number.to_le_bytes()[..], &vec![7; number as usize]].concat();
            world.nodes[from].send(ONE, message).unwrap();
        }
    }
    let mut got = [Vec::new(), Vec::new()];
    for (index, from) in [ZERO, TWO].into_iter().enumerate() {
        while got[index].len() < 200 {
            world.advance();
            got[index].extend(world.take_messages(1, from));
        }
    }
    for messages in got {
        for (number, message) in messages.iter().enumerate() {
            assert_eq!(message[..4], (number as u32).to_le_bytes());
            assert_eq!(message.len(), 4 + number);
        }
    }
}

pub fn nobody_is_sent_to_before_poll_has_said_that_it_is_up(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    let start = Instant::now();
    // In that time TCP has its links; the node does not know of them.
    while start.elapsed() < Duration::from_millis(200) {
        let refused = world.nodes[1].send(ZERO, vec![7]).unwrap_err();
        assert_eq!(refused.cause, FabricError::Down { node: ZERO });
        assert_eq!(
            world.nodes[1].presence(ZERO),
            Presence::Down(Absence::NotYet)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    world.join();
    world.nodes[1].send(ZERO, vec![8]).unwrap();
    let event = world.wait_for(0, "the message", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(matches!(event, Event::Message { bytes, .. } if bytes == [8]));
}

pub fn several_threads_may_send_at_once(make: Make) {
    const EACH: u32 = 300;
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let node = world.nodes[0].clone();
    let senders: Vec<_> = (0..4_u32)
        .map(|thread| {
            let node = node.clone();
            std::thread::spawn(move || {
                for number in 0..EACH {
                    let length = if number % 50 == 0 { 100_000 } else { 0 };
                    let head = [thread.to_le_bytes(), number.to_le_bytes()].concat();
                    node.send(ONE, [head, vec![1; length]].concat()).unwrap();
                }
            })
        })
        .collect();
    let mut next = [0; 4];
    while next != [EACH; 4] {
        world.advance();
        for message in world.take_messages(1, ZERO) {
            let word = |at: usize| u32::from_le_bytes(message[at..at + 4].try_into().unwrap());
            let expected = &mut next[word(0) as usize];
            assert_eq!(
                word(4),
                *expected,
                "each thread's messages keep their order"
            );
            *expected += 1;
        }
    }
    for sender in senders {
        sender.join().unwrap();
    }
}

pub fn a_node_can_send_to_itself(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.nodes[0].send(ZERO, b"note".to_vec()).unwrap();
    let event = world.wait_for(0, "the note", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(matches!(event, Event::Message { from: ZERO, bytes } if bytes == b"note"));
}

pub fn what_cannot_be_sent_is_given_back(make: Make) {
    let mut world = make(2, SMALL);
    world.join();
    let refused = world.nodes[0].send(NodeId(9), vec![1, 2]).unwrap_err();
    assert_eq!(refused.given, [1, 2]);
    let nodes = 2;
    let node = NodeId(9);
    assert_eq!(refused.cause, FabricError::NoSuchNode { node, nodes });
    let refused = world.nodes[0].send(ONE, vec![0; 4097]).unwrap_err();
    assert_eq!(refused.given.len(), 4097);
    let (bytes, bytes_max) = (4097, 4096);
    assert_eq!(refused.cause, FabricError::TooLong { bytes, bytes_max });
    assert!(world.nodes[0].send(ONE, vec![0; 4096]).is_ok());
}

pub fn a_full_queue_is_busy_and_then_has_room(make: Make) {
    let mut world = make(2, SMALL);
    world.join();
    let mut sent = 0;
    // However much lies in buffers of the system: they end too.
    let busy = loop {
        match world.nodes[0].send(ONE, vec![3; 1000]) {
            Ok(()) => sent += 1,
            Err(refused) => break refused,
        }
        assert!(sent < 1_000_000, "the queue has no end");
    };
    assert!(
        matches!(busy.cause, FabricError::Busy { node: ONE, .. }),
        "{busy}"
    );
    assert_eq!(busy.given.len(), 1000);
    world.wait_for(0, "room", |event| matches!(event, Event::Room { to: ONE }));
    world.nodes[0].send(ONE, vec![4; 1000]).unwrap();
    let mut got = Vec::new();
    while got.len() <= sent {
        world.advance();
        got.extend(world.take_messages(1, ZERO));
    }
    assert_eq!(got.len(), sent + 1);
    assert!(got[..sent].iter().all(|message| *message == [3; 1000]));
    assert_eq!(got[sent], [4; 1000]);
}

pub fn who_leaves_is_down_after_its_last_message(make: Make) {
    let mut world = make(3, Limits::DEFAULT);
    world.join();
    for number in 0..50_u8 {
        world.nodes[1].send(ZERO, vec![number]).unwrap();
    }
    world.nodes[1].leave();
    for at in [0, 2] {
        world.until("it is down", |world| {
            world.seen[at]
                .iter()
                .any(|event| matches!(event, Event::Down { .. }))
        });
    }
    let mut messages = Vec::new();
    for event in &world.seen[0] {
        match event {
            Event::Message { from: ONE, bytes } => messages.push(bytes[0]),
            Event::Down { node, cause, .. } => {
                assert_eq!((*node, cause), (ONE, &Absence::Left));
                break;
            }
            _ => panic!("{event:?}"),
        }
    }
    assert_eq!(messages, (0..50).collect::<Vec<u8>>());
    assert_eq!(world.nodes[0].presence(ONE), Presence::Down(Absence::Left));
    let refused = world.nodes[0].send(ONE, Vec::new()).unwrap_err();
    assert_eq!(refused.cause, FabricError::Down { node: ONE });
    world.nodes[0].send(TWO, b"we two".to_vec()).unwrap();
    world.wait_for(2, "the others go on", |event| {
        matches!(event, Event::Message { from: ZERO, .. })
    });
}

pub fn who_has_left_is_refused(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    world.nodes[0].leave();
    let refused = world.nodes[0].send(ONE, Vec::new()).unwrap_err();
    assert_eq!(refused.cause, FabricError::Left);
    world.nodes[0].leave();
}

pub fn a_wake_ends_a_poll(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let start = Instant::now();
    world.nodes[0].wake();
    world.nodes[0].poll(&mut Vec::new(), Duration::from_mins(1));
    let node = world.nodes[0].clone();
    std::thread::scope(|scope| {
        scope.spawn(|| node.wake());
        node.poll(&mut Vec::new(), Duration::from_mins(1));
    });
    assert!(start.elapsed() < Duration::from_secs(30));
}

pub fn counts_are_of_what_was_sent(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    world.nodes[0].send(ONE, vec![0; 10]).unwrap();
    world.nodes[0].send(ONE, vec![0; 20]).unwrap();
    for _ in 0..2 {
        world.wait_for(1, "messages", |event| {
            matches!(event, Event::Message { .. })
        });
    }
    let counts = |node: &dyn Fabric| {
        let counts = node.counts();
        [
            counts.messages_sent,
            counts.bytes_sent,
            counts.messages_received,
            counts.bytes_received,
        ]
    };
    assert_eq!(counts(&*world.nodes[0]), [2, 30, 0, 0]);
    assert_eq!(counts(&*world.nodes[1]), [0, 0, 2, 30]);
}

pub fn long_messages_arrive(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let long: Vec<u8> = (0..Limits::DEFAULT.message_bytes_max)
        .map(|at| (at % 251) as u8)
        .collect();
    world.nodes[0].send(ONE, long.clone()).unwrap();
    world.nodes[0].send(ONE, Vec::new()).unwrap();
    let mut got = Vec::new();
    while got.len() < 2 {
        world.advance();
        got.extend(world.take_messages(1, ZERO));
    }
    assert!(got[0] == long, "every byte is there");
    assert!(got[1].is_empty());
}

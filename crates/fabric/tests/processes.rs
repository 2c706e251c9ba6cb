//! Nodes that are processes of their own: killed, frozen and thawed.
//!
//! The other process is this same program, told by a variable to be a node. It sends back every message that it gets.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use std::env;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fabric::liveness::DOWN_WITHIN;
use fabric::tcp::Tcp;
use fabric::{
    Absence, Call, Event, Fabric, FabricError, MemoryKind, NodeId, Piece, RegionKey, Token,
};

use crate::world::{World, listeners, tcp_config};

const MEMBERS: &str = "SOMERSAULT_FABRIC_TEST_MEMBERS";

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);

/// No test of its own: what the other process runs. It ends when its peer has gone.
#[test]
fn be_a_node() {
    let Ok(members) = env::var(MEMBERS) else {
        return;
    };
    let members: Vec<String> = members.split(',').map(str::to_owned).collect();
    let listener = TcpListener::bind(&members[1]).unwrap();
    let node = Tcp::start(listener, tcp_config(1, &members)).unwrap();
    let mut events = Vec::new();
    loop {
        node.poll(&mut events, Duration::from_secs(1));
        for event in events.drain(..) {
            match event {
                Event::Up { .. } => {
                    let buffer = node.allocate(64, MemoryKind::Host).unwrap();
                    let region = node.offer(buffer.freeze());
                    let words = [region.key.to_le_bytes(), region.generation.to_le_bytes()];
                    // The peer may be away again by now; so below.
                    let _ = node.send(ZERO, words.concat());
                }
                Event::Message { bytes, .. } => drop(node.send(ZERO, bytes)),
                Event::Down {
                    cause: Absence::Left,
                    ..
                } => return,
                _ => {}
            }
        }
    }
}

/// The other process. It is killed with its test.
struct Other {
    process: Child,
}

impl Other {
    fn start(members: &[String]) -> Other {
        let process = Command::new(env::current_exe().unwrap())
            .args(["--exact", "processes::be_a_node"])
            .env(MEMBERS, members.join(","))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Other { process }
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Freezes it, and comes back when it is.
    fn freeze(&self) {
        self.signal("-STOP");
        let id = self.process.id().to_string();
        let mut is_frozen = false;
        while !is_frozen {
            let state = Command::new("ps")
                .args(["-o", "stat=", "-p", &id])
                .output()
                .unwrap();
            is_frozen = state.stdout.starts_with(b"T");
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// This node and the other process, linked; and what that offers.
fn linked() -> (World, Other, Vec<String>, RegionKey) {
    let (mut listeners, members) = listeners(2);
    drop(listeners.pop());
    let other = Other::start(&members);
    let node = Tcp::start(listeners.pop().unwrap(), tcp_config(0, &members)).unwrap();
    let mut world = World::polled(vec![node as Arc<dyn Fabric>]);
    let region = greeted(&mut world);
    (world, other, members, region)
}

/// The first message of a link.
fn greeted(world: &mut World) -> RegionKey {
    let event = world.wait_for(0, "a greeting", |event| {
        matches!(event, Event::Message { .. })
    });
    let Event::Message { bytes, .. } = event else {
        unreachable!("a message was waited for");
    };
    world.seen[0].clear();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    RegionKey {
        node: ONE,
        key: word(0),
        generation: word(8),
    }
}

fn read(world: &World, region: RegionKey, within: Duration) {
    let node = &world.nodes[0];
    let into = node.allocate(64, MemoryKind::Host).unwrap();
    let deadline = node.now() + within;
    let call = Call {
        token: Token(1),
        deadline,
    };
    let piece = Piece {
        region,
        offset: 0,
        length: 64,
    };
    node.read(ONE, &[piece], into, call).unwrap();
}

fn read_result(world: &mut World) -> Result<(), FabricError> {
    match world.wait_for(0, "the read", |event| matches!(event, Event::Read { .. })) {
        Event::Read { result, .. } => result,
        _ => unreachable!("a read was waited for"),
    }
}

fn wait_down(world: &mut World) -> Absence {
    match world.wait_for(0, "it is down", |event| matches!(event, Event::Down { .. })) {
        Event::Down { cause, .. } => cause,
        _ => unreachable!("an absence was waited for"),
    }
}

#[test]
fn a_killed_process_is_down_at_once_and_its_next_life_has_none_of_its_regions() {
    let (mut world, other, members, old) = linked();
    read(&world, old, Duration::from_secs(10));
    assert_eq!(read_result(&mut world), Ok(()));
    let start = Instant::now();
    other.signal("-KILL");
    let cause = wait_down(&mut world);
    assert!(matches!(cause, Absence::Broken { .. }), "{cause}");
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
    drop(other);
    let _other = Other::start(&members);
    let new = greeted(&mut world);
    assert_ne!(new.generation, old.generation);
    read(&world, old, Duration::from_secs(10));
    assert_eq!(
        read_result(&mut world),
        Err(FabricError::NotOffered { region: old })
    );
    read(&world, new, Duration::from_secs(10));
    assert_eq!(read_result(&mut world), Ok(()));
}

#[test]
fn a_frozen_process_is_down_in_time_and_up_again_when_it_goes_on() {
    let (mut world, other, _, region) = linked();
    other.freeze();
    let start = Instant::now();
    read(&world, region, Duration::from_millis(300));
    let node = ONE;
    assert_eq!(read_result(&mut world), Err(FabricError::Late { node }));
    assert!(
        start.elapsed() < Duration::from_millis(800),
        "{:?}",
        start.elapsed()
    );
    read(&world, region, Duration::from_secs(10));
    world.nodes[0]
        .send(ONE, b"to a frozen one".to_vec())
        .unwrap();
    let cause = wait_down(&mut world);
    assert!(matches!(cause, Absence::Silent { .. }), "{cause}");
    assert!(start.elapsed() < DOWN_WITHIN, "{:?}", start.elapsed());
    assert_eq!(read_result(&mut world), Err(FabricError::Down { node }));
    other.signal("-CONT");
    let start = Instant::now();
    // The first message of the new link: what was sent over the old one is not sent back over this one.
    let again = greeted(&mut world);
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(
        again.generation, region.generation,
        "it has not started anew"
    );
    read(&world, region, Duration::from_secs(10));
    assert_eq!(read_result(&mut world), Ok(()));
    world.nodes[0].send(ONE, b"hello".to_vec()).unwrap();
    let event = world.wait_for(0, "it is sent back", |event| {
        matches!(event, Event::Message { .. })
    });
    assert!(matches!(event, Event::Message { bytes, .. } if bytes == b"hello"));
}

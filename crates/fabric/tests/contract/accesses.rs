//! Regions, and reads and writes of them.

use std::time::Duration;

use fabric::{
    Buffer, Call, Event, Fabric, FabricError, Limits, MemoryKind, NodeId, Offered, Piece,
    RegionKey, Token,
};

use super::Make;
use crate::world::{SMALL, World};

const ZERO: NodeId = NodeId(0);
const ONE: NodeId = NodeId(1);

fn buffer(node: &dyn Fabric, bytes: &[u8]) -> Buffer {
    let mut buffer = node.allocate(bytes.len(), MemoryKind::Host).unwrap();
    buffer.bytes_mut().copy_from_slice(bytes);
    buffer
}

fn piece(region: RegionKey, offset: u64, length: u64) -> Piece {
    Piece {
        region,
        offset,
        length,
    }
}

fn call(node: &dyn Fabric, token: u64) -> Call {
    Call {
        token: Token(token),
        deadline: node.now() + Duration::from_secs(30),
    }
}

/// Reads at node 0 and waits.
fn read(
    world: &mut World,
    from: NodeId,
    pieces: &[Piece],
    bytes: usize,
) -> (Buffer, Result<(), FabricError>) {
    let node = &world.nodes[0];
    let into = node.allocate(bytes, MemoryKind::Host).unwrap();
    node.read(from, pieces, into, call(&**node, 5)).unwrap();
    match world.wait_for(0, "the read", |event| matches!(event, Event::Read { .. })) {
        Event::Read { into, result, .. } => (into, result),
        _ => unreachable!("a read was waited for"),
    }
}

/// Writes at node 0 and waits.
fn write(
    world: &mut World,
    to: NodeId,
    pieces: &[Piece],
    bytes: &[u8],
) -> (Buffer, Result<(), FabricError>) {
    let node = &world.nodes[0];
    let from = buffer(&**node, bytes);
    node.write(to, pieces, from, call(&**node, 6)).unwrap();
    match world.wait_for(0, "the write", |event| {
        matches!(event, Event::Written { .. })
    }) {
        Event::Written { buffer, result, .. } => (buffer, result),
        _ => unreachable!("a write was waited for"),
    }
}

pub fn pieces_are_read_one_after_another(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    for owner in [1, 0] {
        let node = &world.nodes[owner];
        let first = node.offer(buffer(&**node, b"abcdefgh").freeze());
        let second = node.offer(buffer(&**node, &vec![9; 100_000]).freeze());
        let pieces = [
            piece(first, 6, 2),
            piece(second, 1, 99_999),
            piece(first, 0, 3),
            piece(first, 8, 0),
        ];
        let (into, result) = read(&mut world, NodeId(owner as u16), &pieces, 100_010);
        assert_eq!(result, Ok(()));
        let bytes = into.bytes();
        assert_eq!(
            (&bytes[..2], &bytes[100_001..100_004]),
            (&b"gh"[..], &b"abc"[..])
        );
        assert!(bytes[2..100_001].iter().all(|&byte| byte == 9));
        assert_eq!(bytes[100_004..], [0; 6]);
    }
    let counts = world.nodes[0].counts();
    assert_eq!(
        (counts.reads, counts.pieces_read, counts.bytes_read),
        (2, 8, 200_008)
    );
    assert_eq!(world.nodes[1].counts(), fabric::Counts::default());
    let seen = world.seen[1].len();
    assert_eq!(seen, 0, "the owner of what is read notices nothing");
}

pub fn pieces_are_written_one_after_another(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let node = &world.nodes[1];
    let region = node.offer_for_writing(buffer(&**node, b"........"));
    let (_, result) = write(
        &mut world,
        ONE,
        &[piece(region, 6, 2), piece(region, 0, 3)],
        b"ghabc",
    );
    assert_eq!(result, Ok(()));
    let (into, result) = read(&mut world, ONE, &[piece(region, 0, 8)], 8);
    assert_eq!((into.bytes(), result), (&b"abc...gh"[..], Ok(())));
    let Some(Offered::Write(back)) = world.nodes[1].withdraw(region) else {
        panic!("a buffer was offered");
    };
    assert_eq!(back.bytes(), b"abc...gh");
    assert_eq!(
        (
            world.nodes[0].counts().writes,
            world.nodes[0].counts().bytes_written
        ),
        (1, 5)
    );
}

pub fn each_access_comes_back_with_its_token(make: Make) {
    let mut world = make(2, SMALL);
    world.join();
    let region = {
        let node = &world.nodes[1];
        node.offer(buffer(&**node, &(0..=255).collect::<Vec<u8>>()).freeze())
    };
    let mut accepted = Vec::new();
    let mut busy = 0;
    for token in 0..100_u64 {
        let node = &world.nodes[0];
        let into = node.allocate(1, MemoryKind::Host).unwrap();
        match node.read(ONE, &[piece(region, token, 1)], into, call(&**node, token)) {
            Ok(()) => accepted.push(token),
            Err(refused) => {
                assert!(
                    matches!(refused.cause, FabricError::Busy { .. }),
                    "{refused}"
                );
                assert_eq!(refused.given.len(), 1);
                busy += 1;
                world.advance();
            }
        }
    }
    assert!(busy > 0, "the number of reads under way is bounded");
    let is_read = |event: &&Event| matches!(event, Event::Read { .. });
    world.until("all reads", |world| {
        world.seen[0].iter().filter(is_read).count() == accepted.len()
    });
    let mut tokens = Vec::new();
    for event in &world.seen[0] {
        if let Event::Read {
            token,
            into,
            result,
            ..
        } = event
        {
            assert_eq!((into.bytes(), result), (&[token.0 as u8][..], &Ok(())));
            tokens.push(token.0);
        }
    }
    tokens.sort_unstable();
    assert_eq!(tokens, accepted);
}

pub fn what_is_not_there_is_an_error(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let node = &world.nodes[1];
    let region = node.offer(buffer(&**node, b"abcdefgh").freeze());
    for (offset, length) in [(0, 9), (9, 0), (8, 1), (u64::MAX, 2), (u64::MAX - 3, 4)] {
        let (_, result) = read(&mut world, ONE, &[piece(region, offset, length)], 16);
        let region_bytes = 8;
        assert_eq!(
            result,
            Err(FabricError::Outside {
                region,
                offset,
                length,
                region_bytes
            })
        );
    }
    let never = RegionKey { key: 77, ..region };
    let (_, result) = read(&mut world, ONE, &[piece(never, 0, 1)], 16);
    assert_eq!(result, Err(FabricError::NotOffered { region: never }));
    let generation = region.generation + 1;
    let other_life = RegionKey {
        generation,
        ..region
    };
    let (_, result) = read(&mut world, ONE, &[piece(other_life, 0, 1)], 16);
    assert_eq!(result, Err(FabricError::NotOffered { region: other_life }));
    let (back, result) = write(&mut world, ONE, &[piece(region, 0, 2)], b"xy");
    assert_eq!(result, Err(FabricError::ReadOnly { region }));
    assert_eq!(back.bytes(), b"xy");
    let (_, result) = read(&mut world, ONE, &[piece(region, 0, 2)], 16);
    assert_eq!(result, Ok(()), "an error ends nothing but its read");
}

pub fn what_is_asked_wrongly_is_refused(make: Make) {
    let mut world = make(3, SMALL);
    world.join();
    let node = &world.nodes[1];
    let region = node.offer(buffer(&**node, &[1; 5000]).freeze());
    let ask = |asked: u16, pieces: &[Piece], bytes: usize| {
        let node = &world.nodes[0];
        let into = node.allocate(bytes, MemoryKind::Host).unwrap();
        let refused = node
            .read(NodeId(asked), pieces, into, call(&**node, 1))
            .unwrap_err();
        assert_eq!(refused.given.len(), bytes, "the buffer comes back");
        refused.cause
    };
    let (of, asked) = (ONE, NodeId(2));
    assert_eq!(
        ask(2, &[piece(region, 0, 1)], 1),
        FabricError::OtherNode { of, asked }
    );
    assert!(matches!(ask(7, &[], 1), FabricError::NoSuchNode { .. }));
    let (pieces, pieces_max) = (9, 8);
    assert_eq!(
        ask(1, &[piece(region, 0, 1); 9], 9),
        FabricError::TooManyPieces { pieces, pieces_max }
    );
    let (buffer_bytes, bytes) = (3, 4);
    assert_eq!(
        ask(1, &[piece(region, 0, 2); 2], 3),
        FabricError::BufferTooShort {
            buffer_bytes,
            bytes
        }
    );
    let too_long = [piece(region, 0, 4000), piece(region, 0, 97)];
    let (bytes, bytes_max) = (4097, 4096);
    assert_eq!(
        ask(1, &too_long, 5000),
        FabricError::TooLong { bytes, bytes_max }
    );
    let endless = [piece(region, 0, u64::MAX), piece(region, 0, u64::MAX)];
    assert!(matches!(
        ask(1, &endless, 5000),
        FabricError::TooLong { .. }
    ));
    let device = world.nodes[0]
        .allocate(1, MemoryKind::Device(3))
        .unwrap_err();
    assert_eq!(
        device,
        FabricError::NoSuchMemory {
            kind: MemoryKind::Device(3)
        }
    );
}

/// Where a read is a load, it gives at once what the read gives that is waited for; elsewhere there is none.
pub fn a_load_is_a_read_at_once(make: Make) {
    let mut world = make(2, SMALL);
    world.join();
    let node = &world.nodes[1];
    let first = node.offer(buffer(&**node, b"abcdefgh").freeze());
    let second = node.offer(buffer(&**node, &[9; 5000]).freeze());
    let never = RegionKey { key: 77, ..first };
    let asked: [&[Piece]; 6] = [
        &[],
        &[
            piece(first, 6, 2),
            piece(second, 1, 700),
            piece(first, 8, 0),
        ],
        &[piece(first, 0, 9)],
        &[piece(first, 0, 1), piece(never, 0, 1)],
        &[piece(second, u64::MAX, 2)],
        &[piece(first, 0, 8)],
    ];
    let is_local = world.nodes[0].facts().name == "local";
    for pieces in asked {
        let (into, result) = read(&mut world, ONE, pieces, 800);
        let before = world.nodes[0].counts();
        let mut loaded = vec![0; 800];
        let load = world.nodes[0].load(ONE, pieces, &mut loaded);
        assert_eq!(load, is_local.then(|| result.clone()));
        if is_local && result.is_ok() {
            assert_eq!(loaded, into.bytes());
            let after = world.nodes[0].counts();
            let pieces_read = after.pieces_read - before.pieces_read;
            assert_eq!(
                (after.reads - before.reads, pieces_read),
                (1, pieces.len() as u64)
            );
        }
    }
    let node = &world.nodes[0];
    if is_local {
        let refused = [
            node.load(NodeId(7), &[], &mut []),
            node.load(ONE, &[piece(first, 0, 2); 9], &mut [0; 18]),
            node.load(ONE, &[piece(first, 0, 2)], &mut [0; 1]),
            node.load(ZERO, &[piece(first, 0, 2)], &mut [0; 2]),
        ];
        assert!(matches!(
            refused[0],
            Some(Err(FabricError::NoSuchNode { .. }))
        ));
        assert!(matches!(
            refused[1],
            Some(Err(FabricError::TooManyPieces { .. }))
        ));
        assert!(matches!(
            refused[2],
            Some(Err(FabricError::BufferTooShort { .. }))
        ));
        assert!(matches!(
            refused[3],
            Some(Err(FabricError::OtherNode { .. }))
        ));
    }
    world.nodes[1].withdraw(first);
    let gone = world.nodes[0].load(ONE, &[piece(first, 0, 1)], &mut [0]);
    assert_eq!(
        gone,
        is_local.then_some(Err(FabricError::NotOffered { region: first }))
    );
    assert!(
        world.seen[1].is_empty(),
        "the owner of what is read notices nothing"
    );
}

pub fn what_was_withdrawn_is_gone(make: Make) {
    let mut world = make(2, Limits::DEFAULT);
    world.join();
    let node = &world.nodes[1];
    let region = node.offer(buffer(&**node, b"abc").freeze());
    assert!(
        world.nodes[0].withdraw(region).is_none(),
        "it is not this node's"
    );
    assert!(matches!(
        world.nodes[1].withdraw(region),
        Some(Offered::Read(_))
    ));
    assert!(world.nodes[1].withdraw(region).is_none());
    let (_, result) = read(&mut world, ONE, &[piece(region, 0, 1)], 1);
    assert_eq!(result, Err(FabricError::NotOffered { region }));
    let node = &world.nodes[1];
    let next = node.offer(buffer(&**node, b"xyz").freeze());
    assert_ne!(next, region, "no key is given twice");
    let (_, result) = read(&mut world, ZERO, &[], 1);
    assert_eq!(result, Ok(()), "nothing can be read everywhere");
}

//! Parts that contradict themselves or each other behind right checksums.

use super::graphs::{OUT, PREDICATE, edge, of_all_kinds, written};
use super::reader::walk;
use crate::common::Numbers;
use memory::{CheckedRegion, Region};
use rdf::Direction;
use store::format::{
    ChunkEntry, ChunkKind, HEADER_BYTES, ListEntry, PartKind, SegmentDescriptor, flags,
};
use store::parts::{FrozenParts, PartError, PartSource};
use store::{Snapshot, ViewError};

/// Parts of which one holds other bytes, with sums that are right for them.
struct Forged<'p> {
    parts: &'p FrozenParts,
    name: &'static str,
    bytes: Vec<u8>,
}

impl PartSource for Forged<'_> {
    fn part(&self, name: &str) -> Result<CheckedRegion, PartError> {
        if name != self.name {
            return self.parts.part(name);
        }
        let region = Region::heap(&self.bytes).unwrap();
        Ok(CheckedRegion::unchecked(name, region))
    }
}

impl<'p> Forged<'p> {
    fn new(parts: &'p FrozenParts, kind: PartKind) -> Forged<'p> {
        let name = kind.file_name(Some(Direction::Out));
        Forged {
            parts,
            name,
            bytes: parts.part(name).unwrap().all().unwrap().to_vec(),
        }
    }

    fn items<T: bytemuck::Pod>(&self, at: u64, count: u64) -> Vec<T> {
        let at = at as usize;
        bytemuck::pod_collect_to_vec(&self.bytes[at..at + count as usize * size_of::<T>()])
    }

    fn put<T: bytemuck::Pod>(&mut self, at: u64, item: T) {
        let bytes = bytemuck::bytes_of(&item);
        self.bytes[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

fn descriptor_of(parts: &FrozenParts) -> SegmentDescriptor {
    let at = HEADER_BYTES + 64 * u64::from(PREDICATE.0);
    Forged::new(parts, PartKind::Segments).items(at, 1)[0]
}

/// What is wrong with the segment after one of its parts was changed.
fn forged(parts: &FrozenParts, kind: PartKind, forge: impl FnOnce(&mut Forged<'_>)) -> String {
    let mut forged = Forged::new(parts, kind);
    let before = forged.bytes.clone();
    forge(&mut forged);
    assert_ne!(forged.bytes, before, "something is forged");
    let snapshot = Snapshot::open(&forged).unwrap();
    match snapshot.raw_segment(OUT).map(|_| ()) {
        Err(ViewError::Inconsistent { what, .. }) => what,
        other => panic!("a forged {kind:?} gave {other:?}"),
    }
}

/// The same with the segment's descriptor.
fn forged_descriptor(parts: &FrozenParts, forge: impl FnOnce(&mut SegmentDescriptor)) -> String {
    forged(parts, PartKind::Segments, |part| {
        let mut descriptor = descriptor_of(parts);
        forge(&mut descriptor);
        part.put(HEADER_BYTES + 64 * u64::from(PREDICATE.0), descriptor);
    })
}

/// The same with a chunk of this kind.
fn forged_chunk(
    parts: &FrozenParts,
    kind: ChunkKind,
    forge: impl FnOnce(&mut ChunkEntry, &mut Forged<'_>),
) -> String {
    let descriptor = descriptor_of(parts);
    forged(parts, PartKind::Keys, |part| {
        let entries = part.items::<ChunkEntry>(descriptor.directory_at, descriptor.chunks.into());
        let is_it = |entry: &ChunkEntry| entry.kind() == Some(kind);
        let place = entries.iter().position(is_it).unwrap();
        let mut entry = entries[place];
        forge(&mut entry, part);
        part.put(descriptor.directory_at + 32 * place as u64, entry);
    })
}

const OTHER_KEYS: &str = "keys do not ascend, or are not those that their chunk names";
const OTHER_COUNT: &str = "a chunk has another number of keys than its ordinals";
const NOT_FITTING: &str = "the ordinals of chunks do not fit the keys";
const OTHER_ENDS: &str = "the first or last key of a chunk is no member of its rank blocks";

#[test]
fn a_forged_descriptor_is_inconsistent() {
    let parts = of_all_kinds();
    let descriptor = descriptor_of(&parts);
    let whats = [
        forged_descriptor(&parts, |it| it.rows -= 1),
        forged_descriptor(&parts, |it| it.rows = u64::MAX / 4),
        forged_descriptor(&parts, |it| it.keys -= 1),
        forged_descriptor(&parts, |it| it.keys = u64::MAX),
        forged_descriptor(&parts, |it| it.chunks = 0),
        forged_descriptor(&parts, |it| it.flags |= flags::FUNCTIONAL),
        forged_descriptor(&parts, |it| it.flags ^= 1 << flags::OFFSET_WIDTH_SHIFT),
        forged_descriptor(&parts, |it| it.flags ^= 1 << flags::PLANE_BITS_SHIFT),
        forged_descriptor(&parts, |it| it.directory_at += 32),
        forged_descriptor(&parts, |it| it.lists_at = 8),
    ];
    assert!(whats.iter().all(|what| !what.is_empty()), "{whats:?}");
    assert_eq!(whats[0], "offsets do not ascend");
    assert_eq!(whats[4], NOT_FITTING);
    assert_eq!(
        whats[5],
        "a functional segment has another number of rows than keys"
    );
    assert!(descriptor.graphs_at != 0 && descriptor.lists_at != 0);
}

#[test]
fn forged_chunks_are_inconsistent() {
    use ChunkKind::{Dense, Far, Near, Sparse};
    let parts = of_all_kinds();
    let entry =
        |kind, forge: &dyn Fn(&mut ChunkEntry)| forged_chunk(&parts, kind, |entry, _| forge(entry));
    let beyond = "a reference beyond the end";
    assert_eq!(
        entry(Dense, &|it| (it.first, it.last) = (it.last, it.first)),
        "a chunk ends before it begins"
    );
    assert_eq!(entry(Dense, &|it| it.ordinal = 1), NOT_FITTING);
    assert_eq!(entry(Dense, &|it| it.last -= 448), OTHER_COUNT);
    assert_eq!(entry(Dense, &|it| it.last -= 1), OTHER_ENDS);
    assert_eq!(
        entry(Dense, &|it| it.last += 1 << 20),
        "chunks do not ascend"
    );
    assert_eq!(
        entry(Dense, &|it| it.at_and_kind += 8),
        "rank blocks begin within a line"
    );
    assert_eq!(
        entry(Dense, &|it| it.at_and_kind += 5),
        "a chunk of unknown kind"
    );
    for kind in [Dense, Sparse, Near, Far] {
        assert_eq!(entry(kind, &|it| it.at_and_kind |= 1 << 62), beyond);
    }
    for kind in [Sparse, Near, Far] {
        assert_eq!(entry(kind, &|it| it.first += 1), OTHER_KEYS);
        assert_eq!(entry(kind, &|it| it.last -= 1), OTHER_KEYS);
    }
    assert_eq!(entry(Sparse, &|it| it.ordinal = 0), "chunks do not ascend");
    assert_eq!(entry(Far, &|it| it.ordinal = u64::MAX), NOT_FITTING);
}

/// The keys in a chunk's data are looked at, too.
#[test]
fn forged_keys_are_inconsistent() {
    use ChunkKind::{Dense, Far, Near, Sparse};
    let parts = of_all_kinds();
    let word = |kind, word: u64, forge: &dyn Fn(u64) -> u64| {
        forged_chunk(&parts, kind, |entry, part| {
            let at = entry.at() + 8 * word;
            let [before] = part.items::<u64>(at, 1)[..] else {
                unreachable!("one was asked for")
            };
            part.put(at, forge(before));
        })
    };
    let other_members = "a rank block counts other members than it has";
    assert_eq!(word(Dense, 0, &|head| head + 1), other_members);
    assert_eq!(word(Dense, 3, &|members| members ^ 1 << 20), other_members);
    assert_eq!(
        word(Dense, 7, &|members| members & (members - 1)),
        other_members
    );
    // Of the last block, a member behind the last key; 4,993 keys are 11 blocks and 65 members of the next.
    assert_eq!(word(Dense, 88 + 2, &|members| members << 1), OTHER_ENDS);
    assert_eq!(word(Dense, 88 + 7, &|_| 1), OTHER_COUNT);
    for kind in [Sparse, Near, Far] {
        let swapped = forged_chunk(&parts, kind, |entry, part| {
            let keys = part.items::<[u8; 8]>(entry.at(), 3);
            part.put(entry.at() + 8, keys[2]);
            part.put(entry.at() + 16, keys[1]);
        });
        assert_eq!(swapped, OTHER_KEYS);
    }
}

fn with_jump_table() -> FrozenParts {
    let thin: Vec<_> = (0..4000).map(|id| edge(id * 1013, id % 3)).collect();
    written(&thin, 1 << 20)
}

#[test]
fn a_forged_jump_table_is_inconsistent() {
    let parts = with_jump_table();
    let descriptor = descriptor_of(&parts);
    assert!(descriptor.flags & flags::JUMP != 0);
    let table_at = descriptor.directory_at + 32 * u64::from(descriptor.chunks);
    for (entry, named) in [(0, 1), (5, 4), (7, u32::MAX)] {
        let what = forged(&parts, PartKind::Keys, |part| {
            part.put(table_at + 4 * entry, named);
        });
        assert_eq!(
            what,
            "a jump table names another chunk than that of the range"
        );
    }
}

#[test]
fn forged_columns_are_inconsistent() {
    let parts = of_all_kinds();
    let descriptor = descriptor_of(&parts);
    let offsets_at = descriptor.offsets_at;
    let last_at = offsets_at + 4 * descriptor.keys;
    for (at, offset) in [
        (offsets_at, 1),
        (offsets_at + 8, 2),
        (offsets_at + 8, u32::MAX),
        (last_at, 0),
    ] {
        let what = forged(&parts, PartKind::Offsets, |part| part.put(at, offset));
        assert_eq!(what, "offsets do not ascend");
    }
    let planes = descriptor.flags >> flags::PLANES_SHIFT;
    assert_eq!(planes, 3, "a code has room for a plane that does not exist");
    let neighbours_at = descriptor.neighbours_at;
    let what = forged(&parts, PartKind::Neighbours, |part| {
        part.put(neighbours_at, u64::MAX);
    });
    assert_eq!(what, "planes do not ascend");
    let last_at = neighbours_at + 8 * u64::from(planes) + 4 * (descriptor.rows - 1);
    let what = forged(&parts, PartKind::Neighbours, |part| {
        part.put(last_at, 3u32 << 30);
    });
    assert_eq!(what, "a code names a plane that does not exist");
    let what = forged(&parts, PartKind::EdgeGraphs, |part| {
        part.put(descriptor.graphs_at + 4 * (descriptor.rows - 1), 1u32);
    });
    assert_eq!(what, "a graph column names a graph beyond the table");
}

#[test]
fn forged_lists_are_inconsistent() {
    let parts = of_all_kinds();
    let descriptor = descriptor_of(&parts);
    let list = |forge: &dyn Fn(&mut ListEntry)| {
        forged(&parts, PartKind::Lists, |part| {
            let at = descriptor.lists_at + 8;
            let mut entry = part.items::<ListEntry>(at, 1)[0];
            forge(&mut entry);
            part.put(at, entry);
        })
    };
    let no_key = "a list of no key, or lists that do not ascend";
    let too_long = "a list's index has more members than its key has rows";
    assert_eq!(list(&|it| it.ordinal = descriptor.keys), no_key);
    assert_eq!(list(&|it| it.ordinal = u64::MAX), no_key);
    assert_eq!(list(&|it| it.ordinal += 1), too_long);
    assert_eq!(list(&|it| it.members += 1000), too_long);
    assert_eq!(list(&|it| it.members = 0), NOT_FITTING);
    // The last member is alone in its chunk.
    assert_eq!(list(&|it| it.members -= 1), NOT_FITTING);
}

/// Whatever stands in a part: an image is an error, or it can be walked.
#[test]
fn anything_forged_is_an_error_or_can_be_walked() {
    let kinds = [
        PartKind::Segments,
        PartKind::Keys,
        PartKind::Offsets,
        PartKind::Neighbours,
        PartKind::EdgeGraphs,
        PartKind::Lists,
        PartKind::Sets,
    ];
    let mut numbers = Numbers::new(8);
    let (mut errors, mut whole) = (0, 0);
    let graphs = [of_all_kinds(), with_jump_table()];
    for round in 0..2000 {
        let mut part = Forged::new(&graphs[round % 2], kinds[round % kinds.len()]);
        let words = part.bytes.len() as u64 / 8;
        if words == 8 {
            continue;
        }
        // Directories and tables are at the ends of what they describe, so every other place is near the end.
        let back = [words - 8, 40][numbers.below(2) as usize].min(words - 8);
        let at = 8 * (words - 1 - numbers.below(back));
        let old = part.items::<u64>(at, 1)[0];
        let new = match numbers.below(5) {
            0 => old ^ 1 << numbers.below(64),
            1 => old.wrapping_add(1 << numbers.below(40)),
            2 => old.wrapping_sub(1 << numbers.below(40)),
            3 => numbers.below(100),
            _ => u64::MAX - numbers.below(3),
        };
        part.put(at, new);
        let Ok(snapshot) = Snapshot::open(&part) else {
            errors += 1;
            continue;
        };
        for image in walk(&snapshot) {
            match image {
                Ok(_) => whole += 1,
                Err(ViewError::Inconsistent { .. }) => errors += 1,
                Err(other) => panic!("checksums are right, and {other}"),
            }
        }
    }
    assert!(
        errors > 300 && whole > 300,
        "{errors} errors, {whole} images"
    );
}

//! The table of characteristic sets, written once and read by number.
//!
//! A record is some bytes of variable-length numbers: with 100,000 predicates nearly every vertex
//! has a set of its own, and fixed columns of 4 bytes would cost a third more than the sets
//! themselves. Every sixteenth record's position is kept, so a set is found by skipping at most
//! fifteen lengths.
//!
//! ```text
//! record = bytes that follow, vertices * 4 + has edges * 2 + is unknown,
//!          number of predicates, first predicate, differences - 1 ...,
//!          number of types, first class, differences - 1 ... (numbers in the table of types),
//!          where it has edges: per predicate, edges - vertices
//! ```
//!
//! Edges are left out where each vertex has one edge of each predicate.

use crate::format::{HEADER_BYTES, SETS_HAVE_TYPES, SETS_OVERFLOW, SETS_PER_POSITION, SetsHead};
use crate::parts::{PartError, PartWriter};
use crate::source::{ByteSource, Fault, damaged, inconsistent, with_source};
use memory::CheckedRegion;
use rdf::{PredicateId, VertexId, varint};

/// One set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetRecord {
    /// Vertices that have exactly this set.
    pub vertices: u64,
    /// Ascending.
    pub predicates: Vec<PredicateId>,
    /// Per predicate, the (estimated) edges that its vertices have.
    pub edges: Vec<u64>,
    /// Ascending; empty where types are not recorded.
    pub types: Vec<VertexId>,
    /// Nothing is known about these vertices' predicates.
    pub is_unknown: bool,
}

impl SetRecord {
    /// Empties it, keeping memory.
    pub(crate) fn clear(&mut self) {
        self.vertices = 0;
        self.predicates.clear();
        self.edges.clear();
        self.types.clear();
        self.is_unknown = false;
    }
}

/// Writes the table: records first, then positions and classes, then the head, which is found from
/// the part's end.
pub(crate) struct SetsWriter {
    positions: Vec<u64>,
    sets: u64,
    flags: u64,
    /// Ascending, with the places in this order by vertex.
    classes: Vec<VertexId>,
    bytes: Vec<u8>,
    framed: Vec<u8>,
}

impl SetsWriter {
    /// A table of no sets over these classes.
    pub(crate) fn new(classes: &[VertexId], types_recorded: bool) -> SetsWriter {
        let mut classes = classes.to_vec();
        classes.sort_unstable();
        SetsWriter {
            positions: Vec::new(),
            sets: 0,
            flags: if types_recorded { SETS_HAVE_TYPES } else { 0 },
            classes,
            bytes: Vec::new(),
            framed: Vec::new(),
        }
    }

    /// Appends a set.
    pub(crate) fn push(&mut self, out: &mut PartWriter, set: &SetRecord) -> Result<(), PartError> {
        if self.sets.is_multiple_of(SETS_PER_POSITION) {
            self.positions.push(out.position());
        }
        assert!(
            set.edges.len() == set.predicates.len() && set.vertices > 0,
            "a set has vertices, and edges of each predicate"
        );
        self.sets += 1;
        let has_edges = set.edges.iter().any(|&edges| edges != set.vertices);
        let bytes = &mut self.bytes;
        bytes.clear();
        varint::write(
            bytes,
            set.vertices << 2 | u64::from(has_edges) << 1 | u64::from(set.is_unknown),
        );
        write_ascending(
            bytes,
            set.predicates
                .iter()
                .map(|predicate| u64::from(predicate.0)),
        );
        let classes = &self.classes;
        write_ascending(
            bytes,
            set.types.iter().map(|class| {
                classes
                    .binary_search(class)
                    .expect("every type is in the table") as u64
            }),
        );
        if has_edges {
            set.edges
                .iter()
                .for_each(|&edges| varint::write(bytes, edges - set.vertices));
        }
        if set.is_unknown {
            self.flags |= SETS_OVERFLOW;
        }
        self.framed.clear();
        varint::write(&mut self.framed, self.bytes.len() as u64);
        self.framed.extend_from_slice(&self.bytes);
        out.append(&self.framed)
    }

    /// Ends the table.
    pub(crate) fn finish(self, out: &mut PartWriter) -> Result<(), PartError> {
        assert_eq!(
            self.positions.len() as u64,
            self.sets.div_ceil(SETS_PER_POSITION),
            "a position for every sixteen sets"
        );
        out.align(8)?;
        let positions_at = out.position();
        out.append(bytemuck::cast_slice(&self.positions))?;
        let classes_at = out.position();
        out.append(bytemuck::cast_slice(&self.classes))?;
        out.append(bytemuck::bytes_of(&SetsHead {
            sets: self.sets,
            classes: self.classes.len() as u64,
            classes_at,
            positions_at,
            flags: self.flags,
        }))
    }
}

fn write_ascending(bytes: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u64>) {
    varint::write(bytes, numbers.len() as u64);
    let mut next = 0;
    for number in numbers {
        varint::write(bytes, number - next);
        next = number + 1;
    }
}

/// The table as it stands in its part.
#[derive(Clone, Copy)]
pub(crate) struct Sets<'v> {
    region: &'v CheckedRegion,
    head: SetsHead,
    positions: &'v [u64],
    classes: &'v [u64],
}

impl<'v> Sets<'v> {
    /// Opens the table; the classes and positions are verified.
    pub(crate) fn open(region: &'v CheckedRegion) -> Result<Sets<'v>, Fault> {
        let head_at = region.len().saturating_sub(size_of::<SetsHead>() as u64);
        with_source!(region, |source| {
            let head: &[SetsHead] = source.items(head_at, 1)?;
            let head = head[0];
            let positions = head.sets.div_ceil(SETS_PER_POSITION);
            Ok(Sets {
                region,
                head,
                positions: source.items(head.positions_at, positions)?,
                classes: source.items(head.classes_at, head.classes)?,
            })
        })
    }

    /// Number of sets.
    pub(crate) fn count(&self) -> u64 {
        self.head.sets
    }

    /// Whether sets name types.
    pub(crate) fn have_types(&self) -> bool {
        self.head.flags & SETS_HAVE_TYPES != 0
    }

    /// Reads the set with this number.
    pub(crate) fn read(&self, number: u64, record: &mut SetRecord) -> Result<(), Fault> {
        let mut rest = self.seek(number)?;
        self.take(&mut rest, record)
    }

    /// Reads all sets in order.
    pub(crate) fn each(&self, mut give: impl FnMut(&SetRecord)) -> Result<(), Fault> {
        let mut rest = self.records(HEADER_BYTES)?;
        let mut record = SetRecord::default();
        for _ in 0..self.head.sets {
            self.take(&mut rest, &mut record)?;
            give(&record);
        }
        Ok(())
    }

    fn records(&self, from: u64) -> Result<&'v [u8], Fault> {
        self.region
            .bytes(from..self.head.positions_at.max(from))
            .map_err(damaged)
    }

    /// The bytes from the record with this number on, verified up to the next recorded position.
    fn seek(&self, number: u64) -> Result<&'v [u8], Fault> {
        let place = (number / SETS_PER_POSITION) as usize;
        let from = *self.positions.get(place).ok_or_else(|| self.cut())?;
        let to = self
            .positions
            .get(place + 1)
            .copied()
            .unwrap_or(self.head.positions_at);
        let mut rest = self.region.bytes(from..to.max(from)).map_err(damaged)?;
        for _ in 0..number % SETS_PER_POSITION {
            self.frame(&mut rest)?;
        }
        Ok(rest)
    }

    #[allow(clippy::unnecessary_box_returns)] // see `Fault`
    fn cut(&self) -> Fault {
        inconsistent(self.region, "a set beyond the table")
    }

    fn frame(&self, rest: &mut &'v [u8]) -> Result<&'v [u8], Fault> {
        let length = varint::read(rest).ok_or_else(|| self.cut())?;
        let (frame, after) = rest
            .split_at_checked(length as usize)
            .ok_or_else(|| self.cut())?;
        *rest = after;
        Ok(frame)
    }

    fn take(&self, rest: &mut &'v [u8], record: &mut SetRecord) -> Result<(), Fault> {
        let mut frame = self.frame(rest)?;
        record.clear();
        self.decode(&mut frame, record)
            .ok_or_else(|| inconsistent(self.region, "a cut set"))
    }

    fn decode(&self, frame: &mut &[u8], record: &mut SetRecord) -> Option<()> {
        let head = varint::read(frame)?;
        record.vertices = head >> 2;
        record.is_unknown = head & 1 != 0;
        read_ascending(frame, |number| {
            record
                .predicates
                .push(PredicateId(u32::try_from(number).ok()?));
            Some(())
        })?;
        read_ascending(frame, |number| {
            let class = *self.classes.get(usize::try_from(number).ok()?)?;
            record.types.push(VertexId::from_bits(class));
            Some(())
        })?;
        for _ in 0..record.predicates.len() {
            let above = if head & 2 != 0 {
                varint::read(frame)?
            } else {
                0
            };
            record.edges.push(record.vertices.checked_add(above)?);
        }
        Some(())
    }
}

fn read_ascending(bytes: &mut &[u8], mut give: impl FnMut(u64) -> Option<()>) -> Option<()> {
    let count = varint::read(bytes)?;
    let mut next = 0u64;
    for _ in 0..count {
        let number = next.checked_add(varint::read(bytes)?)?;
        give(number)?;
        next = number.checked_add(1)?;
    }
    Some(())
}

//! The head of a node's part: whose it is, by which placement, and how many terms the whole cluster has.
//!
//! ```text
//! header | node (8 bytes) | IRIs (8) | blank nodes (8) | literals (8) | triple terms (8)
//!        | bytes of the placement (8) | the placement (see `rdf::placement`) | zeros up to a multiple of 8
//! ```
//!
//! A part says by itself which ids and hashes it has: a reader that knew another placement would take one term for
//! another. Invariant: the node is one of the placement's. Cost: some 8 KiB, read and verified when the part is opened.

use crate::dictionary::TermCounts;
use crate::dictionary::error::{FormatProblem, OpenError, WriteError};
use crate::dictionary::format::{
    FileKind, FileScope, HEADER_BYTES, Header, padding_after, read_u64,
};
use crate::id::{Tag, VertexId};
use crate::placement::Placement;
use memory::CheckedRegion;
use std::io::Write;
use std::sync::Arc;

/// Bytes between the header and the placement.
const NUMBERS_BYTES: usize = 6 * size_of::<u64>();

const HEADER: Header = Header {
    part: FileKind::Head,
    kind: Tag::Iri,
    scope: FileScope::Whole,
    parameter: 0,
    count: 0,
};

/// What a part's head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartHead {
    pub(super) node: u16,
    pub(super) counts: TermCounts,
    pub(super) placement: Placement,
}

impl PartHead {
    pub(super) fn write(&self, out: &mut impl Write) -> Result<(), WriteError> {
        let mut placement = Vec::new();
        self.placement.encode(&mut placement);
        let counts = self.counts;
        let mut bytes = HEADER.to_bytes().to_vec();
        let numbers = [
            self.node.into(),
            counts.iris,
            counts.blank_nodes,
            counts.literals,
            counts.triple_terms,
            placement.len() as u64,
        ];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend_from_slice(&placement);
        let padding = padding_after(bytes.len() as u64) as usize;
        bytes.resize(bytes.len() + padding, 0);
        Ok(out.write_all(&bytes)?)
    }

    /// Reads the whole file, which has at most 128 KiB and some.
    pub(super) fn read(file: &CheckedRegion) -> Result<PartHead, OpenError> {
        let problem = |problem| OpenError::format(file, problem);
        Header::read(file, FileKind::Head, HEADER.kind, HEADER.scope)?;
        let body = &file.all()?[HEADER_BYTES..];
        let Some((numbers, rest)) = body.split_first_chunk::<NUMBERS_BYTES>() else {
            return Err(problem(FormatProblem::Length));
        };
        let number = |at: usize| read_u64(&numbers[8 * at..]);
        let placement_bytes = number(5);
        let padding = padding_after(placement_bytes);
        if placement_bytes.checked_add(padding) != Some(rest.len() as u64) {
            return Err(problem(FormatProblem::Length));
        }
        let placement = Placement::decode(&rest[..placement_bytes as usize]);
        let placement = placement.map_err(|problem| OpenError::Placement {
            file: Arc::clone(file.name()),
            problem,
        })?;
        let counts = TermCounts {
            iris: number(1),
            blank_nodes: number(2),
            literals: number(3),
            triple_terms: number(4),
        };
        let are_counts = (1..5).all(|at| number(at) <= VertexId::PAYLOAD_MAX);
        let node = number(0);
        if node >= placement.nodes().into() || !are_counts {
            return Err(problem(FormatProblem::Header));
        }
        Ok(PartHead {
            node: node as u16,
            counts,
            placement,
        })
    }
}

//! Planes: ids of several kinds as 4-byte codes that order as the ids do.
//!
//! A segment's neighbours fall into few spans of ids: one kind of dictionary term, perhaps two,
//! perhaps a value type. A plane is a window of 2^shift ids from a base. With one plane an id is
//! `base + code`; with several the top bits of the code choose the plane. Planes ascend and do not
//! overlap, so comparing codes compares ids. Where the spans do not fit 2^32 codes, the column
//! holds ids.
//!
//! ```text
//!  31        shift shift-1                0
//! +---------------+------------------------+
//! | plane         | distance from its base |
//! +---------------+------------------------+
//! ```

use crate::format::flags;
use rdf::VertexId;

/// A code has at most this many bits for its plane.
const PLANE_BITS_MAX: u32 = 10;
const _: () = assert!(
    1 << PLANE_BITS_MAX < 1 << (u32::BITS - flags::PLANES_SHIFT),
    "a descriptor holds the number of planes"
);

/// The smallest and largest id of each kind that a column will hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// By tag number; empty where the first is above the second.
    by_tag: [(u64, u64); 16],
}

impl Default for Spans {
    fn default() -> Spans {
        Spans {
            by_tag: [(u64::MAX, 0); 16],
        }
    }
}

impl Spans {
    /// Widens the spans to hold the id. Order does not matter.
    #[inline]
    pub fn observe(&mut self, id: VertexId) {
        let span = &mut self.by_tag[id.tag_number() as usize];
        span.0 = span.0.min(id.bits());
        span.1 = span.1.max(id.bits());
    }

    /// Widens the spans to hold the other's.
    pub fn merge(&mut self, other: &Spans) {
        for (span, other) in self.by_tag.iter_mut().zip(&other.by_tag) {
            span.0 = span.0.min(other.0);
            span.1 = span.1.max(other.1);
        }
    }

    fn present(&self) -> impl Iterator<Item = (u64, u64)> {
        self.by_tag.iter().copied().filter(|span| span.0 <= span.1)
    }
}

/// How a writer encodes a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Codes of 4 bytes by these planes.
    Codes { bases: Vec<u64>, plane_bits: u32 },
    /// Ids of 8 bytes.
    Ids,
}

impl Encoding {
    /// The narrowest encoding for these spans.
    pub(crate) fn for_spans(spans: &Spans) -> Encoding {
        for plane_bits in 0..=PLANE_BITS_MAX {
            let size = 1u64 << (32 - plane_bits);
            let needed: u64 = spans
                .present()
                .map(|(min, max)| (max - min) / size + 1)
                .sum();
            if needed <= 1 << plane_bits {
                let bases = spans.present().flat_map(|(min, max)| {
                    (0..=(max - min) / size).map(move |plane| min + plane * size)
                });
                let bases: Vec<u64> = bases.collect();
                assert!(
                    bases.len() as u64 == needed && bases.is_sorted_by(|one, next| one < next),
                    "planes ascend, so that codes order as ids do"
                );
                return Encoding::Codes { bases, plane_bits };
            }
        }
        Encoding::Ids
    }

    /// The code of an id within the spans; asserts that it is within them.
    #[inline]
    pub(crate) fn code(bases: &[u64], plane_bits: u32, id: u64) -> u32 {
        if let [base] = bases {
            return u32::try_from(id.wrapping_sub(*base))
                .expect("neighbours lie within the observed spans");
        }
        let plane = bases.partition_point(|&base| base <= id).wrapping_sub(1);
        let shift = 32 - plane_bits;
        let distance = id
            - bases
                .get(plane)
                .expect("neighbours lie within the observed spans");
        assert!(
            distance < 1 << shift,
            "neighbours lie within the observed spans"
        );
        (plane as u32) << shift | distance as u32
    }
}

/// How a reader decodes a column: chosen once per batch, compiled into its loops.
pub(crate) trait Decode: Copy {
    /// What stands in the column. Orders as ids do.
    type Code: bytemuck::Pod + Ord;
    /// The id of a code.
    fn id(self, code: Self::Code) -> VertexId;
    /// The code of an id, if it has one.
    fn code(self, id: VertexId) -> Option<Self::Code>;
}

/// One plane: `base + code`.
#[derive(Clone, Copy)]
pub(crate) struct OnePlane(pub u64);

impl Decode for OnePlane {
    type Code = u32;

    #[inline]
    fn id(self, code: u32) -> VertexId {
        VertexId::from_bits(self.0.wrapping_add(u64::from(code)))
    }

    #[inline]
    fn code(self, id: VertexId) -> Option<u32> {
        u32::try_from(id.bits().wrapping_sub(self.0)).ok()
    }
}

/// Several planes. `plane_bits` is 1 to 31.
#[derive(Clone, Copy)]
pub(crate) struct ManyPlanes<'v> {
    pub bases: &'v [u64],
    pub plane_bits: u32,
}

impl Decode for ManyPlanes<'_> {
    type Code = u32;

    #[inline]
    fn id(self, code: u32) -> VertexId {
        let shift = 32 - self.plane_bits;
        // A plane that does not exist can only come from bytes that contradict each other; it
        // decodes to ids that are nobody's.
        let base = self
            .bases
            .get((code >> shift) as usize)
            .copied()
            .unwrap_or(u64::MAX << 60);
        VertexId::from_bits(base.wrapping_add(u64::from(code & ((1 << shift) - 1))))
    }

    #[inline]
    fn code(self, id: VertexId) -> Option<u32> {
        let shift = 32 - self.plane_bits;
        let plane = self
            .bases
            .partition_point(|&base| base <= id.bits())
            .checked_sub(1)?;
        let distance = id.bits() - self.bases[plane];
        (distance < 1 << shift).then(|| (plane as u32) << shift | distance as u32)
    }
}

/// Ids as they are.
#[derive(Clone, Copy)]
pub(crate) struct Ids;

impl Decode for Ids {
    type Code = u64;

    #[inline]
    fn id(self, code: u64) -> VertexId {
        VertexId::from_bits(code)
    }

    #[inline]
    fn code(self, id: VertexId) -> Option<u64> {
        Some(id.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    fn check(ids: &[VertexId], planes: Option<usize>) {
        let mut spans = Spans::default();
        for &id in ids {
            spans.observe(id);
        }
        let encoding = Encoding::for_spans(&spans);
        let Encoding::Codes { bases, plane_bits } = encoding else {
            assert_eq!(planes, None);
            return;
        };
        assert_eq!(planes, Some(bases.len()));
        let codes: Vec<u32> = ids
            .iter()
            .map(|id| Encoding::code(&bases, plane_bits, id.bits()))
            .collect();
        for (&id, &code) in ids.iter().zip(&codes) {
            if bases.len() == 1 {
                assert_eq!(OnePlane(bases[0]).id(code), id);
                assert_eq!(OnePlane(bases[0]).code(id), Some(code));
            } else {
                let many = ManyPlanes {
                    bases: &bases,
                    plane_bits,
                };
                assert_eq!(many.id(code), id);
                assert_eq!(many.code(id), Some(code));
            }
        }
        assert!(codes.is_sorted() == ids.is_sorted());
    }

    #[test]
    fn codes_come_back_and_order() {
        let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
        let literal = |ordinal| VertexId::new(Tag::Literal, ordinal);
        check(&[iri(7), iri(9), iri(7 + u64::from(u32::MAX))], Some(1));
        check(&[iri(7), iri(8 + u64::from(u32::MAX))], None);
        check(&[iri(7), literal(3), literal(4)], Some(2));
        check(&[iri(0), iri(5 << 29), literal(3), literal(4)], Some(4));
        let double = |bits| VertexId::new(Tag::Double, bits);
        check(
            &[iri(0), VertexId::new(Tag::Integer, 5), double(1 << 58)],
            Some(3),
        );
        check(&[iri(0), double(1), double(1 << 58)], None);
        check(&[], Some(0));
    }
}

//! A query that is followed across nodes: whose part of a trace each node's work is.
//!
//! ```text
//!  who asked: parent --+
//!                      +-- the node that was asked --+-- its sections
//!                                                    +-- another node -- its sections
//! ```
//!
//! A trace and a parent come with the query (W3C Trace Context), and go on to other nodes with the asked node's span as the parent. Each node
//! gives its own spans to its [`Host`](crate::Host) when the query ends there, and tells the others nothing. Ids of spans follow from
//! the trace, the query's name and the node, so nobody draws a number, and nobody has to be told one.
//!
//! A query that is not followed costs a comparison at its end.

use crate::bytes::{Malformed, Reader, Writer};
use std::fmt;

/// The place of a query in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Names the trace; not 0.
    pub trace: u128,
    /// Names the span that asked; not 0.
    pub parent: u64,
}

impl Trace {
    /// Reads a `traceparent` of W3C Trace Context, version 00 or a later one's beginning. `None`: it is none, or its sender does not
    /// follow the request.
    pub fn of_parent(text: &str) -> Option<Trace> {
        let mut fields = text.trim().splitn(4, '-');
        let (version, trace) = (fields.next()?, fields.next()?);
        let (parent, rest) = (fields.next()?, fields.next()?);
        let (flags, more) = rest.split_at_checked(2)?;
        let is_hex = |text: &str| {
            text.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_long = [version.len(), trace.len(), parent.len()] == [2, 32, 16];
        let is_known =
            version != "ff" && (more.is_empty() || version != "00" && more.starts_with('-'));
        if !is_long || !is_known || ![version, trace, parent, flags].into_iter().all(is_hex) {
            return None;
        }
        let trace = Trace {
            trace: u128::from_str_radix(trace, 16).ok()?,
            parent: u64::from_str_radix(parent, 16).ok()?,
        };
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(trace).filter(|trace| is_sampled && trace.trace != 0 && trace.parent != 0)
    }

    /// Names the span of a node's work for a query, which has a name of three numbers.
    pub(crate) fn span(self, query: [u64; 3], node: u16) -> u64 {
        let low = self.trace as u64;
        let high = (self.trace >> 64) as u64;
        let all = [low, high, self.parent].into_iter().chain(query);
        mixed(all.chain([u64::from(node) + 1]))
    }

    /// The same trace as it goes on from a span.
    pub(crate) fn below(self, span: u64) -> Trace {
        Trace {
            parent: span,
            ..self
        }
    }

    pub(crate) fn write(trace: Option<Trace>, out: &mut Writer) {
        out.byte(u8::from(trace.is_some()));
        if let Some(Trace { trace, parent }) = trace {
            out.0.extend(trace.to_le_bytes());
            out.0.extend(parent.to_le_bytes());
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Option<Trace>, Malformed> {
        if !from.truth()? {
            return Ok(None);
        }
        let (low, high) = (from.word()?, from.word()?);
        Ok(Some(Trace {
            trace: u128::from(high) << 64 | u128::from(low),
            parent: from.word()?,
        }))
    }
}

/// As a `traceparent`.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-01", self.trace, self.parent)
    }
}

/// Names the span of a section below that of its node.
pub(crate) fn section_span(node_span: u64, section: usize, in_place: bool) -> u64 {
    mixed([node_span, (section as u64) << 1 | u64::from(in_place)].into_iter())
}

/// A number that follows from all of these, and is not 0 (the finalizer of SplitMix64, folded).
fn mixed(numbers: impl Iterator<Item = u64>) -> u64 {
    let mix = |before: u64, number: u64| {
        let sum = (before ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        sum ^ (sum >> 31)
    };
    numbers.fold(0, mix).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_as_the_recommendation_has_it() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = Trace::of_parent(text).expect("it is one");
        assert_eq!(trace.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(trace.parent, 0x00f0_67aa_0ba9_02b7);
        assert_eq!(trace.to_string(), text);
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-more";
        assert_eq!(Trace::of_parent(later), Some(trace));
        for other in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-é1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        ] {
            assert_eq!(Trace::of_parent(other), None, "{other}");
        }
    }

    #[test]
    fn spans_of_a_query_have_names_of_their_own() {
        let trace = Trace {
            trace: 1 << 70,
            parent: 5,
        };
        let query = |number| [1, 9, number];
        let mut names = std::collections::BTreeSet::new();
        for number in 0..50 {
            for node in 0..8 {
                let span = trace.span(query(number), node);
                names.insert(span);
                for section in 0..4 {
                    names.extend([false, true].map(|way| section_span(span, section, way)));
                }
            }
        }
        assert_eq!(names.len(), 50 * 8 * 9);
    }
}

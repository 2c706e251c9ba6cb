//! The vector: how far each stream is sealed at every part, and so what may be seen.
//!
//! A stream's batches lie at one or several parts (nodes). Each part says how far it has sealed its share; up to the
//! minimum the stream is visible, everywhere and for every query (SOSP'17 section 4.3: local and stable vector
//! timestamps). Invariant: what is visible never shrinks, because no part takes back what it said.

use crate::time::SealPoint;

/// One of the parts (nodes) that a stream's batches lie at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub u16);

/// How far one stream is sealed at each part.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    parts: Vec<SealPoint>,
    visible: SealPoint,
}

impl Vector {
    /// Of so many parts, all of which are at `begin`.
    pub(crate) fn new(parts: u16, begin: SealPoint) -> Vector {
        assert!(parts > 0, "a stream lies somewhere");
        Vector {
            parts: vec![begin; usize::from(parts)],
            visible: begin,
        }
    }

    /// A part has sealed its share up to `until`. The answer is what is visible now, or `None` where there is no such part.
    pub(crate) fn seal(&mut self, part: PartId, until: SealPoint) -> Option<SealPoint> {
        let point = self.parts.get_mut(usize::from(part.0))?;
        let before = *point;
        *point = before.max(until);
        if before == self.visible {
            let least = self.parts.iter().min().copied();
            self.visible = least.expect("there is a part");
        }
        Some(self.visible)
    }

    /// Up to here every part has sealed.
    pub(crate) fn visible(&self) -> SealPoint {
        self.visible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_is_what_every_part_has() {
        let mut vector = Vector::new(2, SealPoint::whole(3));
        let edge = SealPoint {
            batches: 5,
            edge: true,
        };
        assert_eq!(vector.seal(PartId(0), edge), Some(SealPoint::whole(3)));
        assert_eq!(
            vector.seal(PartId(1), SealPoint::whole(5)),
            Some(SealPoint::whole(5))
        );
        assert_eq!(vector.seal(PartId(1), SealPoint::whole(6)), Some(edge));
        assert_eq!(
            vector.seal(PartId(0), SealPoint::whole(4)),
            Some(edge),
            "never back"
        );
        assert_eq!(vector.seal(PartId(2), SealPoint::whole(4)), None);
        assert_eq!(vector.visible(), edge);
    }
}

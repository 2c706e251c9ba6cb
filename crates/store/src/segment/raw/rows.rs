//! Where a key's rows are in an image: for constants, whose rows whoever walks the image is told beforehand.

use crate::error::ViewError;
use crate::segment::index::ABSENT;
use crate::snapshot::Snapshot;
use crate::view::SegmentKey;
use rdf::VertexId;
use std::ops::Range;

impl Snapshot {
    /// The ordinal and the rows of a key in its segment's [image](Snapshot::raw_segment); `None` for what is no key of
    /// it. O(1), for an index of many chunks O(log chunks).
    pub fn raw_rows(
        &self,
        segment: SegmentKey,
        key: VertexId,
    ) -> Result<Option<(u64, Range<u64>)>, ViewError> {
        let Some(found) = self.segment(segment).map_err(|fault| *fault)? else {
            return Ok(None);
        };
        let index = found.index().map_err(|fault| *fault)?;
        let ordinal = index.ordinal(key).map_err(|fault| *fault)?;
        if ordinal == ABSENT || ordinal >= found.descriptor.keys {
            return Ok(None);
        }
        let rows = found.rows_of_ordinal(ordinal).map_err(|fault| *fault)?;
        Ok(Some((ordinal, rows)))
    }
}

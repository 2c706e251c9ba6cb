//! Where a version's lists can be read from elsewhere: in its base, but for keys that its layers may hold.
//!
//! Which keys these are is told by the chunks of the layers' key indexes, two ids each: more keys than there are, and never
//! fewer.

use super::version::Version;
use crate::segment::location::Located;
use crate::source::Fault;
use crate::view::SegmentKey;

impl Version {
    /// As [`GraphView::located`](crate::GraphView::located) says it. O(chunks of the layers' segment).
    pub(crate) fn locate(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, Fault> {
        let mut here = match self.base().locate(segment, verify_bytes)? {
            Located::Here(here) => here,
            other => return Ok(other),
        };
        let mut changed = Vec::new();
        self.each_with(segment, |graph, segment, _| {
            if std::ptr::eq(graph, &raw const **self.base()) {
                return Ok(());
            }
            if let Some(layer) = graph.segment(segment)? {
                let (chunks, _) = layer.index()?.directory();
                changed.extend(chunks.iter().map(|chunk| (chunk.first, chunk.last)));
            }
            Ok(())
        })?;
        let Some(location) = here.location.with_changed(changed) else {
            return Ok(Located::Nowhere);
        };
        here.location = location;
        Ok(Located::Here(here))
    }
}

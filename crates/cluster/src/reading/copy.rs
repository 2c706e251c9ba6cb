//! A column of a peer's segment that is copied whole, since as much of it has been read already.
//!
//! It comes in as many reads as a fabric needs for it, and nobody waits: lookups that begin meanwhile read for themselves.

use super::pieces_of;
use crate::ground::Ground;
use crate::reading::reader::{CopyReading, Reading};
use crate::terms::PartTerms;
use std::sync::Arc;
use store::location::Wanted;
use store::view::GraphView;

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Ground<P, T> {
    /// Goes on copying a column.
    pub(super) fn copy_on(&self, mut reading: CopyReading) {
        let left = reading.length - reading.copy.len() as u64;
        if left == 0 {
            let copy = Arc::from(std::mem::take(&mut reading.copy));
            return self.is_copied(&reading, Some(copy));
        }
        let most = (self.fabric().facts().limits.message_bytes_max / 2).max(1) as u64;
        let wanted = Wanted {
            column: reading.column,
            offset: reading.copy.len() as u64,
            length: left.min(most),
        };
        reading.bytes = wanted.length as usize;
        let Some(pieces) = pieces_of(&[wanted], &reading.regions) else {
            return self.is_copied(&reading, None);
        };
        let (to, bytes) = (reading.to, reading.bytes);
        let refused = self.start_read(to, &pieces, bytes, Reading::Copy(Box::new(reading)));
        if let Some((Reading::Copy(reading), _)) = refused {
            self.is_copied(&reading, None);
        }
    }

    pub(super) fn is_copied(&self, reading: &CopyReading, copy: Option<Arc<[u8]>>) {
        let of = (&reading.regions, reading.column, reading.length);
        self.reader()
            .locations
            .copied(reading.to, reading.segment, of, copy);
    }
}

//! What a store keeps beside its graph: a part of its own in each generation, whose bytes mean nothing here.
//!
//! Streams and standing queries live in the log, and a generation takes the place of the log before it; so it has to hold
//! how they stood then. A store that keeps nothing beside its graph has no such part. A load that is not about it hands
//! it on.

use crate::parts::{PartError, PartFiles, PartSource, PartWriter};
use crate::view::ViewError;
use std::io;

/// The part's name.
const PART: &str = "streams";

/// Writes the part, if there is something to be kept.
pub fn write(files: &dyn PartFiles, bytes: &[u8]) -> Result<(), PartError> {
    let mut writer = BesideWriter::new(files);
    writer.append(bytes)?;
    writer.finish()
}

/// Writes the part in pieces; nothing in them is no part.
pub struct BesideWriter<'f> {
    files: &'f dyn PartFiles,
    part: Option<PartWriter>,
}

impl<'f> BesideWriter<'f> {
    /// Nothing is written yet.
    pub fn new(files: &'f dyn PartFiles) -> BesideWriter<'f> {
        BesideWriter { files, part: None }
    }

    /// Appends bytes. Errors: they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let part = match &mut self.part {
            Some(part) => part,
            none => none.insert(PartWriter::create_raw(self.files, PART)?),
        };
        part.append(bytes)
    }

    /// The end. Errors: what was appended cannot be written.
    pub fn finish(self) -> Result<(), PartError> {
        if let Some(part) = self.part {
            part.finish(self.files)?;
        }
        Ok(())
    }
}

/// What a generation keeps; empty where it keeps nothing. Errors: the part cannot be read, or is damaged.
pub fn read(source: &dyn PartSource) -> Result<Vec<u8>, ViewError> {
    let region = match source.part(PART) {
        Ok(region) => region,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(ViewError::Inconsistent {
                file: PART.to_owned(),
                what: error.to_string(),
            });
        }
    };
    let bytes = region.all().map_err(|damaged| ViewError::Damaged {
        file: damaged.file.to_string(),
        block: damaged.block,
    })?;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::MemoryParts;

    #[test]
    fn what_is_kept_comes_back_and_nothing_has_no_part() {
        for kept in [&b"kept"[..], &[]] {
            let files = MemoryParts::new();
            write(&files, kept).unwrap();
            assert_eq!(files.summaries().is_empty(), kept.is_empty());
            assert_eq!(read(&files.freeze().unwrap()).unwrap(), kept);
        }
    }
}

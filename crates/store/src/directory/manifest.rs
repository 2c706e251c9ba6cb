//! CURRENT and MANIFEST, their bytes.
//!
//! Both begin with a [`FileHead`] of 64 bytes, whose checksum covers the rest of it, so that a torn
//! or foreign file is told from a good one before anything in it is believed. What can differ
//! between versions (magic, version, id width, features) is looked at first and answered with what
//! to do about it.
//!
//! ```text
//! CURRENT   FileHead: generation, length of MANIFEST, checksum of MANIFEST
//! MANIFEST  FileHead: generation, length of the body, checksum of the body
//!           body: number of counts, then per count: name, number;
//!                 number of files, then per file: name, length of content, checksum of its table
//! ```
//!
//! Numbers in the body are of variable length, names are a length and UTF-8; counts and files
//! ascend by name.

use super::generation_name;
use crate::cut::part_of;
use crate::format::{FEATURE_PART, FEATURES, ID_BYTES, MAGIC, VERSION};
use crate::parts::PartSummary;
use rdf::varint;
use std::collections::BTreeMap;

/// The head of CURRENT and MANIFEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct FileHead {
    pub magic: [u8; 8],
    pub version: u16,
    pub id_bytes: u8,
    /// 2: of no direction, as in a part's header.
    pub direction: u8,
    /// `curr` or `mani`.
    pub kind: [u8; 4],
    pub features: u64,
    pub generation: u64,
    /// Length of what the head speaks of.
    pub length_bytes: u64,
    /// Checksum of what the head speaks of.
    pub sum: u64,
    pub reserved: u64,
    /// Checksum of the 56 bytes before.
    pub head_sum: u64,
}

const _: () = assert!(size_of::<FileHead>() == HEAD_BYTES);

/// Bytes of a head.
pub(crate) const HEAD_BYTES: usize = 64;
/// Name of the count that says which commit is the last that the generation holds; absent, 0. The
/// log's records behind it are what a generation lacks.
pub const SNAPSHOT_COUNT: &str = "snapshot";
/// Kind of CURRENT.
pub(crate) const KIND_CURRENT: [u8; 4] = *b"curr";
/// Kind of MANIFEST.
pub(crate) const KIND_MANIFEST: [u8; 4] = *b"mani";

/// Why the head of a file was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// The file is of some other program.
    #[error("it is not a file of a somersault store")]
    Foreign,
    /// The file is of another version of the layout.
    #[error(
        "it has version {found} of the layout and this program reads version {known}; load the \
         data again with this program, or use the program that wrote it"
    )]
    Version {
        /// What the file says.
        found: u16,
        /// What this program reads.
        known: u16,
    },
    /// The file's ids have another width.
    #[error("its ids have {found} bytes and this program's have {known}; load the data again")]
    IdWidth {
        /// What the file says.
        found: u8,
        /// What this program has.
        known: u8,
    },
    /// The file uses features that this version does not know.
    #[error(
        "it uses features ({found:#x}) that this program does not know; use the program that wrote it"
    )]
    Features {
        /// The unknown bits.
        found: u64,
    },
    /// The file is cut or its bytes do not match their checksum.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// Checks what stands at the beginning of every file of a store: magic, version, id width,
/// features.
pub(crate) fn check_identity(bytes: &[u8]) -> Result<(), HeadError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(HeadError::Foreign);
    }
    let Some(bytes) = bytes.get(..24) else {
        return Err(HeadError::Damaged("its head is cut"));
    };
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return Err(HeadError::Version {
            found: version,
            known: VERSION,
        });
    }
    if bytes[10] != ID_BYTES {
        return Err(HeadError::IdWidth {
            found: bytes[10],
            known: ID_BYTES,
        });
    }
    let features = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
    match features & !FEATURES {
        0 => Ok(()),
        found => Err(HeadError::Features { found }),
    }
}

impl FileHead {
    pub(crate) fn new(kind: [u8; 4], generation: u64, spoken_of: &[u8]) -> FileHead {
        let mut head = FileHead {
            magic: MAGIC,
            version: VERSION,
            id_bytes: ID_BYTES,
            direction: 2,
            kind,
            features: 0,
            generation,
            length_bytes: spoken_of.len() as u64,
            sum: memory::block_sum(spoken_of),
            reserved: 0,
            head_sum: 0,
        };
        head.head_sum = head.sum_of_head();
        head
    }

    /// The same, with these features.
    fn with_features(mut self, features: u64) -> FileHead {
        self.features = features;
        self.head_sum = self.sum_of_head();
        self
    }

    fn sum_of_head(&self) -> u64 {
        memory::block_sum(&bytemuck::bytes_of(self)[..HEAD_BYTES - 8])
    }

    /// Reads and checks the head of a file of this kind.
    pub(crate) fn read(bytes: &[u8], kind: [u8; 4]) -> Result<FileHead, HeadError> {
        check_identity(bytes)?;
        let bytes = bytes
            .get(..HEAD_BYTES)
            .ok_or(HeadError::Damaged("its head is cut"))?;
        let head: FileHead = bytemuck::pod_read_unaligned(bytes);
        if head.head_sum != head.sum_of_head() {
            return Err(HeadError::Damaged("its head does not match its checksum"));
        }
        if head.kind != kind {
            return Err(HeadError::Damaged("it is another file of the store"));
        }
        Ok(head)
    }

    /// Whether these are the bytes that the head speaks of.
    pub(crate) fn speaks_of(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.length_bytes && memory::block_sum(bytes) == self.sum
    }
}

/// What is in a generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Number of the generation.
    pub generation: u64,
    /// What the writer counted, by name: `quads`, `terms` and the like.
    pub counts: BTreeMap<String, u64>,
    /// Every file, ascending by name.
    pub files: Vec<PartSummary>,
}

impl Manifest {
    /// The bytes of the file. Asserts that the files ascend by name.
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(
            self.files.is_sorted_by(|one, next| one.name < next.name),
            "files ascend by name, each once"
        );
        let mut body = Vec::new();
        varint::write(&mut body, self.counts.len() as u64);
        for (name, &count) in &self.counts {
            write_name(&mut body, name);
            varint::write(&mut body, count);
        }
        varint::write(&mut body, self.files.len() as u64);
        for file in &self.files {
            write_name(&mut body, &file.name);
            varint::write(&mut body, file.length_bytes);
            varint::write(&mut body, file.sums_sum);
        }
        let head = FileHead::new(KIND_MANIFEST, self.generation, &body);
        let head = head.with_features(self.features());
        [bytemuck::bytes_of(&head), &body[..]].concat()
    }

    /// Reads the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Manifest, HeadError> {
        let head = FileHead::read(bytes, KIND_MANIFEST)?;
        let body = &bytes[HEAD_BYTES..];
        if !head.speaks_of(body) {
            return Err(HeadError::Damaged("its body does not match its checksum"));
        }
        let manifest = read_body(body, head.generation);
        let manifest = manifest.ok_or(HeadError::Damaged("its body is cut"))?;
        if manifest.features() != head.features {
            return Err(HeadError::Damaged(
                "whether it is a part of a graph is said in two ways",
            ));
        }
        Ok(manifest)
    }

    /// Whether it is of a part of a graph ([`cut`](crate::cut)), and so no store of its own.
    pub fn is_part(&self) -> bool {
        let mut names = self.files.iter().map(|file| &*file.name);
        names.any(|name| name == part_of::FILE)
    }

    /// What a reader must know.
    fn features(&self) -> u64 {
        if self.is_part() { FEATURE_PART } else { 0 }
    }

    /// The last commit that the generation holds; 0 where there was none.
    pub fn snapshot(&self) -> u64 {
        self.counts.get(SNAPSHOT_COUNT).copied().unwrap_or(0)
    }

    /// Name of the generation's directory.
    pub fn directory_name(&self) -> String {
        generation_name(self.generation)
    }
}

fn read_body(mut body: &[u8], generation: u64) -> Option<Manifest> {
    let mut manifest = Manifest {
        generation,
        ..Manifest::default()
    };
    for _ in 0..varint::read(&mut body)? {
        let name = read_name(&mut body)?;
        manifest.counts.insert(name, varint::read(&mut body)?);
    }
    for _ in 0..varint::read(&mut body)? {
        let name = read_name(&mut body)?;
        if manifest
            .files
            .last()
            .is_some_and(|last| *last.name >= *name)
        {
            return None;
        }
        manifest.files.push(PartSummary {
            name: name.into(),
            length_bytes: varint::read(&mut body)?,
            sums_sum: varint::read(&mut body)?,
        });
    }
    body.is_empty().then_some(manifest)
}

fn write_name(body: &mut Vec<u8>, name: &str) {
    varint::write(body, name.len() as u64);
    body.extend_from_slice(name.as_bytes());
}

fn read_name(body: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(varint::read(body)?).ok()?;
    let (name, rest) = body.split_at_checked(length)?;
    *body = rest;
    String::from_utf8(name.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            generation: 7,
            counts: [("quads".to_owned(), 300), ("terms".to_owned(), u64::MAX)].into(),
            files: vec![PartSummary {
                name: "keys-out.bin".into(),
                length_bytes: 1 << 40,
                sums_sum: 9,
            }],
        }
    }

    #[test]
    fn a_manifest_comes_back() {
        let manifest = manifest();
        assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest));
    }

    #[test]
    fn any_changed_byte_and_any_cut_is_noticed() {
        let bytes = manifest().to_bytes();
        for place in 0..bytes.len() {
            assert!(Manifest::from_bytes(&bytes[..place]).is_err());
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(Manifest::from_bytes(&changed).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_part_of_a_graph_says_so_to_programs_that_know_no_parts() {
        let mut part = manifest();
        part.files.push(PartSummary {
            name: part_of::FILE.into(),
            length_bytes: 40,
            sums_sum: 1,
        });
        let bytes = part.to_bytes();
        assert_eq!(bytes[16], 1);
        assert_eq!(manifest().to_bytes()[16], 0);
        assert_eq!(Manifest::from_bytes(&bytes), Ok(part));
        // A mark that is not listed, under a head that speaks of one.
        let whole = manifest().to_bytes();
        let head = FileHead::new(KIND_MANIFEST, 7, &whole[HEAD_BYTES..]).with_features(1);
        let forged = [bytemuck::bytes_of(&head), &whole[HEAD_BYTES..]].concat();
        assert!(matches!(
            Manifest::from_bytes(&forged),
            Err(HeadError::Damaged(_))
        ));
    }

    #[test]
    fn files_that_do_not_ascend_are_refused() {
        let mut body = Vec::new();
        varint::write(&mut body, 0);
        varint::write(&mut body, 2);
        for name in ["terms", "quads"] {
            write_name(&mut body, name);
            varint::write(&mut body, 8);
            varint::write(&mut body, 9);
        }
        assert_eq!(read_body(&body, 1), None);
    }

    #[test]
    fn other_versions_are_named_before_anything_is_believed() {
        let with = |place: usize, byte: u8| {
            let mut bytes = manifest().to_bytes();
            bytes[place] = byte;
            Manifest::from_bytes(&bytes).unwrap_err()
        };
        assert_eq!(with(0, b'X'), HeadError::Foreign);
        assert_eq!(
            with(8, 9),
            HeadError::Version {
                found: 9,
                known: VERSION
            }
        );
        assert_eq!(
            with(10, 4),
            HeadError::IdWidth {
                found: 4,
                known: ID_BYTES
            }
        );
        assert_eq!(with(16, 2), HeadError::Features { found: 2 });
    }
}

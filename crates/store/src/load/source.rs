//! Where a load's text comes from: files, readers, generators; compressed or not.
//!
//! A source is opened when its turn comes and read by whichever worker needs the next chunk, under
//! the input's lock: reading and decompressing then run beside the other workers' parsing without a
//! thread of their own.
//!
//! Compression is told by the name's extension or, for names without one (standard input), by
//! the first bytes, with which no RDF text begins. Compressed data that end early are an error:
//! what was decompressed until then may look complete.

use super::error::LoadError;
use super::formats::Syntax;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Buffer between a file and its decompressor.
const BUFFER_BYTES: usize = 256 << 10;

/// One input of a load.
pub struct Source<'s> {
    pub(super) name: String,
    pub(super) syntax: Option<Syntax>,
    pub(super) origin: Origin<'s>,
}

/// What a source is read from.
pub(super) enum Origin<'s> {
    Path(PathBuf),
    Mapped(&'s [u8]),
    Reader(Box<dyn Read + Send + 's>),
    Chunks(Box<dyn Iterator<Item = Vec<u8>> + Send + 's>),
}

impl<'s> Source<'s> {
    /// A file. Its extensions say what it holds, for instance `.nq.zst`.
    pub fn path(path: impl Into<PathBuf>) -> Source<'s> {
        let path = path.into();
        Source {
            name: path.display().to_string(),
            syntax: None,
            origin: Origin::Path(path),
        }
    }

    /// Anything that can be read, such as standard input; `name` stands in messages and, by its
    /// extensions, says what it holds unless [`Source::with_syntax`] does.
    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 's) -> Source<'s> {
        let origin = Origin::Reader(Box::new(reader));
        Source {
            name: name.into(),
            syntax: None,
            origin,
        }
    }

    /// Chunks of N-Triples or N-Quads, each of whole lines: a generator in this process.
    pub fn chunks(
        name: impl Into<String>,
        syntax: Syntax,
        chunks: impl Iterator<Item = Vec<u8>> + Send + 's,
    ) -> Source<'s> {
        let origin = Origin::Chunks(Box::new(chunks));
        Source {
            name: name.into(),
            syntax: Some(syntax),
            origin,
        }
    }

    /// Says what the source holds, whatever its name.
    #[must_use]
    pub fn with_syntax(mut self, syntax: Syntax) -> Source<'s> {
        self.syntax = Some(syntax);
        self
    }

    /// Bytes of the source as it lies in its file, if that is known.
    pub(super) fn total_bytes(&self) -> Option<u64> {
        match &self.origin {
            Origin::Path(path) => path
                .metadata()
                .ok()
                .filter(std::fs::Metadata::is_file)
                .map(|file| file.len()),
            _ => None,
        }
    }

    /// Whether the name says that the source is compressed.
    pub(super) fn is_compressed_by_name(&self) -> bool {
        Compression::of_name(&self.name).1.is_some()
    }

    /// The syntax, by what was said or by the name.
    pub(super) fn known_syntax(&self) -> Result<Syntax, LoadError> {
        let (stem, _) = Compression::of_name(&self.name);
        self.syntax
            .or_else(|| Syntax::of_name(stem))
            .ok_or_else(|| LoadError::UnknownFormat {
                name: self.name.clone(),
                known: Syntax::known_extensions(),
            })
    }
}

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Bzip2,
    Zstd,
    Xz,
}

impl Compression {
    const ALL: [(Compression, &'static str, &'static [u8]); 4] = [
        (Compression::Gzip, ".gz", &[0x1F, 0x8B]),
        (Compression::Bzip2, ".bz2", b"BZh"),
        (Compression::Zstd, ".zst", &[0x28, 0xB5, 0x2F, 0xFD]),
        (Compression::Xz, ".xz", &[0xFD, b'7', b'z', b'X', b'Z', 0]),
    ];

    /// The name without the extension of a compression, and which that is.
    fn of_name(name: &str) -> (&str, Option<Compression>) {
        let found = Compression::ALL
            .iter()
            .find_map(|(kind, extension, _)| Some((name.strip_suffix(extension)?, Some(*kind))));
        found.unwrap_or((name, None))
    }

    fn of_first_bytes(bytes: &[u8]) -> Option<Compression> {
        let found = Compression::ALL
            .iter()
            .find(|(_, _, magic)| bytes.starts_with(magic));
        found.map(|(kind, _, _)| *kind)
    }
}

/// Whether bytes begin as those of a compressed file do.
pub(super) fn looks_compressed(bytes: &[u8]) -> bool {
    Compression::of_first_bytes(bytes).is_some()
}

/// Opens the bytes of a file or reader, decompressed. `read_bytes` counts what is taken from it.
pub(super) fn open<'s>(
    name: &str,
    raw: Box<dyn Read + Send + 's>,
    read_bytes: Arc<AtomicU64>,
) -> io::Result<Box<dyn Read + Send + 's>> {
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, Counted { raw, read_bytes });
    let first = io::BufRead::fill_buf(&mut raw)?;
    let by_name = Compression::of_name(name).1;
    Ok(
        match by_name.or_else(|| Compression::of_first_bytes(first)) {
            None => Box::new(raw),
            Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Some(Compression::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(raw)),
            Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(raw)?),
            Some(Compression::Xz) => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(raw)),
        },
    )
}

/// The bytes of a file, decompressed where its name or its first bytes say that it is compressed.
pub fn read_decompressed(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let name = path.to_string_lossy();
    open(&name, open_path(path)?, Arc::default())
}

/// Opens a path for [`open`].
pub(super) fn open_path(path: &Path) -> io::Result<Box<dyn Read + Send + 'static>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Ok(Box::new(file))
}

/// Counts the bytes that pass.
struct Counted<R> {
    raw: R,
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(into)?;
        self.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_say_what_a_source_holds() {
        let syntax = |name: &str| Source::reader(name, io::empty()).known_syntax();
        assert_eq!(syntax("a.nt").unwrap(), Syntax::NTriples);
        assert_eq!(syntax("a.nq.zst").unwrap(), Syntax::NQuads);
        assert!(matches!(
            syntax("a.xyz"),
            Err(LoadError::UnknownFormat { .. })
        ));
        assert!(matches!(syntax("-"), Err(LoadError::UnknownFormat { .. })));
    }

    #[test]
    fn compression_is_known_by_the_first_bytes_too() {
        let mut packed = Vec::new();
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
        io::Write::write_all(&mut encoder, b"<a:b> <a:b> <a:b> .\n").unwrap();
        encoder.finish().unwrap();
        let counted = Arc::new(AtomicU64::new(0));
        let mut text = String::new();
        let bytes = packed.clone();
        let mut reader = open("-", Box::new(io::Cursor::new(bytes)), Arc::clone(&counted)).unwrap();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "<a:b> <a:b> <a:b> .\n");
        assert_eq!(counted.load(Ordering::Relaxed), packed.len() as u64);
        packed.truncate(packed.len() - 9);
        let mut reader = open("-", Box::new(io::Cursor::new(packed)), counted).unwrap();
        assert!(reader.read_to_string(&mut text).is_err());
    }
}

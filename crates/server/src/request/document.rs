//! Documents in a request's body: one of a media type, or several in a form, compressed or not.
//!
//! `multipart/form-data` (RFC 7578) is how the Graph Store Protocol's section 5.5 sends several
//! documents at once. Its parts are read one after the other from a stream, with a buffer of
//! [`BUFFER_BYTES`]; a delimiter may lie across two reads. Decompression is streaming too; the
//! configured limit counts what comes out of it, so that a small body cannot become a huge one.

use crate::request::negotiate::foreign_charset;
use crate::response::coding::Coding;
use crate::response::problem::Problem;
use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use somersault::terms::format::Format;
use somersault::{Documents, Kind, QueryError};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 32 << 10;
/// Bytes of a part's head at most.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// RFC 2046 section 5.1.1.
const BOUNDARY_BYTES_MAX: usize = 70;
const _: () = assert!(
    BOUNDARY_BYTES_MAX < BUFFER_BYTES,
    "a read brings more than a delimiter"
);

/// What a body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Its documents.
    pub shape: DocumentForm,
    coding: Option<Coding>,
}

/// How many documents there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DocumentForm {
    /// One.
    One(Format),
    /// Those of a form, between lines with this text.
    Parts(String),
}

/// The media types of documents.
pub(crate) fn offered() -> Vec<&'static str> {
    let formats = Format::ALL.iter().map(|format| format.media_type());
    formats.chain(["multipart/form-data"]).collect()
}

impl Content {
    /// What the fields say; 415 where it is nothing that is taken.
    pub fn of(headers: &HeaderMap) -> Result<Content, Problem> {
        let refuse = |why: String| Problem::unsupported_media_type(why, offered());
        let coding = coding(headers)?;
        let named = headers.get(CONTENT_TYPE);
        let named = named.ok_or_else(|| refuse("the body needs a `Content-Type`".to_owned()))?;
        let named = named.to_str().unwrap_or_default();
        let (essence, rest) = named.split_once(';').unwrap_or((named, ""));
        if essence.trim().eq_ignore_ascii_case("multipart/form-data") {
            let boundary = boundary(rest).ok_or_else(|| {
                Problem::bad_request("a multipart body needs a `boundary` in its `Content-Type`")
            })?;
            let shape = DocumentForm::Parts(boundary);
            return Ok(Content { shape, coding });
        }
        if let Some(charset) = foreign_charset(rest) {
            return Err(refuse(format!("a document is UTF-8, not `{charset}`")));
        }
        match Format::from_media_type(essence) {
            Some(format) => Ok(Content {
                shape: DocumentForm::One(format),
                coding,
            }),
            None => Err(refuse(format!("`{named}` is no type of an RDF document"))),
        }
    }

    /// What its decoder may hold (bytes).
    pub fn decoder_bytes(&self) -> u64 {
        self.coding.map_or(0, Coding::decoder_bytes)
    }

    /// Whether its documents may name graphs.
    pub fn has_graphs(&self) -> bool {
        match self.shape {
            DocumentForm::One(format) => format.has_graphs(),
            DocumentForm::Parts(_) => true,
        }
    }

    /// The documents of a body with this content. `is_too_large` is set when a limit is reached.
    pub fn documents<'b>(
        &self,
        body: Box<dyn Read + 'b>,
        bytes_max: Option<u64>,
        is_too_large: Arc<AtomicBool>,
    ) -> io::Result<Box<dyn Documents + 'b>> {
        let decoded: Box<dyn Read + 'b> = match self.coding {
            None => body,
            Some(coding) => coding.decoder(body)?,
        };
        let limited = Limited {
            reader: decoded,
            left: bytes_max.unwrap_or(u64::MAX),
            is_too_large,
        };
        Ok(match &self.shape {
            DocumentForm::One(format) => Box::new(Whole {
                format: Some(*format),
                body: limited,
            }),
            DocumentForm::Parts(boundary) => Box::new(Parts::new(limited, boundary)),
        })
    }
}

/// How a body is compressed; 415 where nobody here takes that.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Problem> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    let Some(first) = named.next() else {
        return Ok(None);
    };
    let name = first.to_str().unwrap_or_default().trim();
    if named.next().is_some() {
        return Err(Problem::unsupported_coding("more than one"));
    }
    match Coding::named(name) {
        None if name.eq_ignore_ascii_case("identity") => Ok(None),
        None => Err(Problem::unsupported_coding(name)),
        coding => Ok(coding),
    }
}

/// The `boundary` among the parameters of a media type.
fn boundary(parameters: &str) -> Option<String> {
    let mut parameters = parameters
        .split(';')
        .filter_map(|part| part.split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))?;
    let value = value.trim().trim_matches('"');
    let fits = (1..=BOUNDARY_BYTES_MAX).contains(&value.len());
    fits.then(|| value.to_owned())
}

/// Bytes up to a limit.
struct Limited<R> {
    reader: R,
    left: u64,
    is_too_large: Arc<AtomicBool>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        if let Some(left) = self.left.checked_sub(count as u64) {
            self.left = left;
            Ok(count)
        } else {
            self.is_too_large.store(true, Ordering::Relaxed);
            Err(io::Error::other("the document is too large"))
        }
    }
}

/// The only document.
struct Whole<R> {
    format: Option<Format>,
    body: R,
}

impl<R: Read> Documents for Whole<R> {
    fn next(&mut self) -> Result<Option<(Format, &mut dyn Read)>, QueryError> {
        let format = self.format.take();
        Ok(format.map(|format| (format, &mut self.body as &mut dyn Read)))
    }
}

/// The parts of a form.
pub(crate) struct Parts<R> {
    reader: R,
    /// A line's end and the delimiter.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    /// What of the buffer was given out.
    taken: usize,
    has_ended: bool,
}

impl<R: Read> Parts<R> {
    fn new(reader: R, boundary: &str) -> Parts<R> {
        Parts {
            reader,
            delimiter: format!("\n--{boundary}").into_bytes(),
            // The first delimiter begins a line, which nothing ends before it.
            buffer: b"\n".to_vec(),
            taken: 0,
            has_ended: false,
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + BUFFER_BYTES, 0);
        let read = self.reader.read(&mut self.buffer[before..]);
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        read
    }

    fn fill_or_fail(&mut self) -> io::Result<()> {
        match self.fill()? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the multipart body ends without its last delimiter",
            )),
            _ => Ok(()),
        }
    }

    /// Where the delimiter begins in what is buffered, with the `\r` before it; or how much of the
    /// buffer cannot be a part of one.
    fn before_delimiter(&self) -> Result<usize, usize> {
        let rest = &self.buffer[self.taken..];
        let mut windows = rest.windows(self.delimiter.len());
        let found = windows.position(|window| window == self.delimiter);
        match found {
            Some(at) if at > 0 && rest[at - 1] == b'\r' => Ok(at - 1),
            Some(at) => Ok(at),
            None => Err(rest.len().saturating_sub(self.delimiter.len())),
        }
    }

    /// Goes behind the next delimiter; false where it was the last one.
    fn pass_delimiter(&mut self) -> io::Result<bool> {
        loop {
            match self.before_delimiter() {
                Ok(at) => {
                    self.taken += at;
                    break;
                }
                Err(free) => {
                    self.taken += free;
                    self.fill_or_fail()?;
                }
            }
        }
        let has_return = usize::from(self.buffer[self.taken] == b'\r');
        self.taken += has_return + self.delimiter.len();
        while self.buffer.len() < self.taken + 2 {
            self.fill_or_fail()?;
        }
        Ok(!self.buffer[self.taken..].starts_with(b"--"))
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<String> {
        loop {
            let rest = &self.buffer[self.taken..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..end]).trim_end().to_owned();
                self.taken += end + 1;
                return Ok(line);
            }
            if rest.len() > HEAD_BYTES_MAX {
                return Err(io::Error::other("the head of a part is too long"));
            }
            self.fill_or_fail()?;
        }
    }

    /// The head of a part; its format, if it is named: by its type, or else by the name of its file, where
    /// the type says nothing (curl sends `application/octet-stream` for what it does not know).
    fn head(&mut self) -> io::Result<Result<Format, String>> {
        let mut by_type = None;
        let mut by_file = Err("has no `Content-Type`, and its file no name that tells".to_owned());
        let mut bytes = 0;
        // The rest of the delimiter's line.
        self.line()?;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(by_type.unwrap_or(by_file));
            }
            bytes += line.len();
            if bytes > HEAD_BYTES_MAX {
                return Err(io::Error::other("the head of a part is too long"));
            }
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let name = name.trim();
            if name.eq_ignore_ascii_case("content-type") && !says_nothing(value) {
                let named = Format::from_media_type(value);
                by_type =
                    Some(named.ok_or_else(|| format!("is `{}`, no type of RDF", value.trim())));
            } else if name.eq_ignore_ascii_case("content-disposition")
                && let Some(format) = format_of_file(value)
            {
                by_file = Ok(format);
            }
        }
    }
}

fn says_nothing(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/octet-stream")
}

/// The format that the name of a file tells, in a `Content-Disposition` (RFC 7578 section 4.2). A part is
/// not decompressed, so `data.ttl.gz` tells none.
fn format_of_file(disposition: &str) -> Option<Format> {
    let mut parameters = disposition
        .split(';')
        .filter_map(|part| part.split_once('='));
    let (_, name) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("filename"))?;
    let (_, extension) = name.trim().trim_matches('"').rsplit_once('.')?;
    Format::from_extension(extension)
}

impl<R: Read> Documents for Parts<R> {
    fn next(&mut self) -> Result<Option<(Format, &mut dyn Read)>, QueryError> {
        if self.has_ended {
            return Ok(None);
        }
        let broken = |error| QueryError::new(Kind::Syntax, error);
        if !self.pass_delimiter().map_err(broken)? {
            self.has_ended = true;
            return Ok(None);
        }
        match self.head().map_err(broken)? {
            Ok(format) => {
                // An empty part's delimiter follows its head at once.
                assert!(self.taken > 0, "the line that ends the head was taken");
                self.taken -= 1;
                self.buffer[self.taken] = b'\n';
                let is_empty = self.starts_with_delimiter().map_err(broken)?;
                if !is_empty {
                    self.taken += 1;
                }
                Ok(Some((format, self as &mut dyn Read)))
            }
            Err(why) => Err(QueryError::new(
                Kind::Syntax,
                format!("a part of the multipart body {why}"),
            )),
        }
    }
}

impl<R: Read> Parts<R> {
    fn starts_with_delimiter(&mut self) -> io::Result<bool> {
        while self.buffer.len() - self.taken < self.delimiter.len() {
            self.fill_or_fail()?;
        }
        Ok(self.buffer[self.taken..].starts_with(&self.delimiter))
    }
}

/// The part that was begun last, until the delimiter behind it.
impl<R: Read> Read for Parts<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let (free, is_last) = match self.before_delimiter() {
                Ok(at) => (at, true),
                Err(free) => (free, false),
            };
            if free > 0 || is_last || into.is_empty() {
                let count = free.min(into.len());
                into[..count].copy_from_slice(&self.buffer[self.taken..][..count]);
                self.taken += count;
                return Ok(count);
            }
            self.fill_or_fail()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives so many bytes at once.
    struct Slow<'t>(&'t [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn parts(text: &str, step: usize) -> Result<Vec<(Format, String)>, String> {
        let mut parts = Parts::new(Slow(text.as_bytes(), step), "b-b");
        let mut all = Vec::new();
        while let Some((format, body)) = parts.next().map_err(|error| error.to_string())? {
            let mut text = String::new();
            body.read_to_string(&mut text)
                .map_err(|error| error.to_string())?;
            all.push((format, text));
        }
        Ok(all)
    }

    #[test]
    fn parts_of_forms() {
        let text = "preamble\r\n--b-b\r\nContent-Disposition: x\r\ncontent-type: text/turtle; \
                    charset=utf-8\r\n\r\n<a> <b>\r\n--b <c> .\r\n\r\n--b-b  \r\n\
                    Content-Type: application/n-triples\r\n\r\n\r\n--b-b\nContent-Type: \
                    application/trig\n\n--b-b--\r\nepilogue";
        let expected = [
            (Format::Turtle, "<a> <b>\r\n--b <c> .\r\n".to_owned()),
            (Format::NTriples, String::new()),
            (Format::TriG, String::new()),
        ];
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(parts(text, step).unwrap(), expected, "{step}");
        }
        assert_eq!(parts("--b-b--", 5).unwrap(), []);
    }

    #[test]
    fn the_name_of_a_file_tells_the_format_where_its_type_does_not() {
        let one = |fields: &str| {
            let text = format!("--b-b\r\n{fields}\r\n\r\nx\r\n--b-b--");
            Ok::<_, String>(parts(&text, 1000)?.first().map(|(format, _)| *format))
        };
        let file =
            |name: &str| format!("Content-Disposition: form-data; name=\"f\"; filename=\"{name}\"");
        let unknown = "Content-Type: application/octet-stream";
        let table = [
            (file("x.ttl"), Some(Format::Turtle)),
            (
                format!("{}\r\n{unknown}", file("x.nq")),
                Some(Format::NQuads),
            ),
            (
                format!("{unknown}\r\n{}", file("a b.RDF")),
                Some(Format::RdfXml),
            ),
            (
                format!("{}\r\nContent-Type: text/turtle", file("x.nq")),
                Some(Format::Turtle),
            ),
        ];
        for (fields, expected) in table {
            assert_eq!(one(&fields).unwrap(), expected, "{fields}");
        }
        for bad in ["x.ttl.gz", "x", "x.png", ".", ""] {
            assert!(one(&file(bad)).is_err(), "{bad}");
        }
        assert!(one(&format!("{}\r\nContent-Type: image/png", file("x.ttl"))).is_err());
    }

    #[test]
    fn parts_that_are_none() {
        for bad in [
            "",
            "no delimiter",
            "--b-b\r\nContent-Type: text/turtle\r\n\r\n<a> <b> <c> .",
            "--b-b\r\nContent-Type: text/turtle\r\n\r\n<a> <b> <c> .\r\n--b-",
            "--b-b\r\n\r\n<a> <b> <c> .\r\n--b-b--",
            "--b-b\r\nContent-Type: image/png\r\n\r\nx\r\n--b-b--",
        ] {
            for step in [1, 1000] {
                assert!(parts(bad, step).is_err(), "{bad:?}");
            }
        }
        let endless = format!("--b-b\r\n{}", "x".repeat(1 << 20));
        assert!(parts(&endless, 1000).is_err());
    }

    #[test]
    fn what_comes_out_of_a_decompressor_is_limited() {
        let bomb = zstd::encode_all(&vec![b'x'; 1 << 20][..], 1).unwrap();
        let content = Content {
            shape: DocumentForm::One(Format::NTriples),
            coding: Some(Coding::Zstd),
        };
        let flag = Arc::new(AtomicBool::new(false));
        let body = Box::new(&bomb[..]);
        let mut documents = content
            .documents(body, Some(1000), Arc::clone(&flag))
            .unwrap();
        let (_, body) = documents.next().unwrap().unwrap();
        assert!(io::copy(body, &mut io::sink()).is_err());
        assert!(flag.load(Ordering::Relaxed));
    }
}

//! Items of a stream as they lie in files or come from standard input, cut into batches of whole lines.
//!
//! ```text
//! reader's thread: bytes -- bounded channel --> ItemsInput: whole lines, at most BATCH_BYTES at once, and which lines they are
//! ```
//!
//! A batch is whatever has come when the last one has been sent: one line of a slow source, a full batch of a fast one.
//! What lines say is the server's business; here only their times are looked for, for whoever sends them at the speed
//! of those. A document of RDF that is not of lines is one item and is read whole.
//!
//! Memory: one batch, [`CHUNKS_MAX`] chunks, and one line or document that is longer.

use crate::exit::{Code, Failure};
use crate::stop::Stop;
use crate::trouble::Trouble;
use serde_json::Value;
use somersault::load::read_decompressed;
use somersault::terms::format::Format;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// What is sent at once (bytes), unless a single line is longer.
const BATCH_BYTES: usize = 1 << 20;
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks between the reader and whoever sends.
const CHUNKS_MAX: usize = 8;
/// The longest line or document (bytes): what a server takes of an update's text unless it is configured otherwise.
const LINE_BYTES_MAX: usize = 64 << 20;
/// How often whoever waits for input looks whether to stop.
const LOOK: Duration = Duration::from_millis(25);

/// How items lie in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemsForm {
    /// Lines of `.nt.ts`, with their times.
    Lines,
    /// Lines of JSON, with their times or without.
    Objects,
    /// Statements, a line each, without times.
    Statements(Format),
    /// One item, without a time.
    Document(Format),
}

impl ItemsForm {
    /// The form of this name.
    pub fn named(name: &str) -> Result<ItemsForm, Failure> {
        match name.trim_start_matches('.') {
            "nt.ts" | "nq.ts" | "ts" => return Ok(ItemsForm::Lines),
            "ndjson" | "jsonl" => return Ok(ItemsForm::Objects),
            _ => {}
        }
        Format::from_name(name).map(of_format).ok_or_else(|| {
            let message = format!(
                "`--format {name}`: expected nt.ts, ndjson, nt, nq, ttl, trig, rdf or jsonld"
            );
            Failure::new(Code::Usage, message)
        })
    }

    /// The form that a file's name tells.
    pub fn of_file(file: &Path) -> Option<ItemsForm> {
        let name = file.file_name()?.to_str()?.to_ascii_lowercase();
        let packed = [".gz", ".bz2", ".zst", ".xz"];
        let plain = packed.iter().find_map(|end| name.strip_suffix(end));
        let plain = plain.unwrap_or(&name);
        match plain.rsplit_once('.')?.1 {
            "ts" => Some(ItemsForm::Lines),
            "ndjson" | "jsonl" => Some(ItemsForm::Objects),
            _ => Format::from_file_name(plain).map(of_format),
        }
    }

    /// The media type that a server knows it by.
    pub fn media_type(self) -> &'static str {
        match self {
            ItemsForm::Lines => "application/x-nt-ts",
            ItemsForm::Objects => "application/x-ndjson",
            ItemsForm::Statements(format) | ItemsForm::Document(format) => format.media_type(),
        }
    }

    /// Whether items may bring their times.
    pub fn has_times(self) -> bool {
        matches!(self, ItemsForm::Lines | ItemsForm::Objects)
    }

    /// How many positions of a source lines take of which nothing was taken.
    pub fn items_in(self, lines: &ItemLines) -> u64 {
        match self {
            ItemsForm::Lines => lines.items(),
            ItemsForm::Objects => {
                let lines = lines.lines().filter(|line| !line.trim_ascii().is_empty());
                lines.count() as u64
            }
            ItemsForm::Statements(_) | ItemsForm::Document(_) => 1,
        }
    }

    /// The time that a line brings (milliseconds).
    pub fn time_of(self, line: &[u8]) -> Option<u64> {
        match self {
            ItemsForm::Lines => {
                let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
                std::str::from_utf8(&line[..digits]).ok()?.parse().ok()
            }
            ItemsForm::Objects => {
                let object: Value = serde_json::from_slice(line).ok()?;
                let time = object.get("t").or_else(|| object.get("watermark"));
                time.and_then(Value::as_u64)
            }
            ItemsForm::Statements(_) | ItemsForm::Document(_) => None,
        }
    }
}

fn of_format(format: Format) -> ItemsForm {
    match format {
        Format::NTriples | Format::NQuads => ItemsForm::Statements(format),
        _ => ItemsForm::Document(format),
    }
}

/// Whole lines of an input, in their order; or one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemLines {
    /// The number of the first line, from 1.
    pub first_line: u64,
    bytes: Vec<u8>,
    /// Where each line ends in `bytes`.
    ends: Vec<usize>,
}

impl ItemLines {
    fn of(first_line: u64, bytes: Vec<u8>, is_document: bool) -> ItemLines {
        let mut ends: Vec<usize> = Vec::new();
        if !is_document {
            let ended = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.extend(ended.map(|(place, _)| place + 1));
        }
        if ends.last().copied().unwrap_or(0) < bytes.len() {
            ends.push(bytes.len());
        }
        ItemLines {
            first_line,
            bytes,
            ends,
        }
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many lines are neither blank nor a comment.
    pub fn items(&self) -> u64 {
        let is_item = |line: &&[u8]| {
            let line = line.trim_ascii();
            !line.is_empty() && line[0] != b'#'
        };
        self.lines().filter(is_item).count() as u64
    }

    /// The lines, with their ends.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.bytes[start..*end])
    }

    /// What is sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first so many lines, and the others.
    pub fn split(mut self, len: usize) -> (ItemLines, ItemLines) {
        assert!(len <= self.len(), "no more lines than there are");
        let at = len.checked_sub(1).map_or(0, |last| self.ends[last]);
        let bytes = self.bytes.split_off(at);
        let ends = self.ends.split_off(len);
        let behind = ItemLines {
            first_line: self.first_line + len as u64,
            bytes,
            ends: ends.into_iter().map(|end| end - at).collect(),
        };
        (self, behind)
    }
}

/// A file or standard input that is read while items of it are sent.
pub struct ItemsInput {
    name: String,
    form: ItemsForm,
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What has come and was not given yet.
    rest: Vec<u8>,
    /// The number of the first line of `rest`.
    line: u64,
    is_ended: bool,
}

impl ItemsInput {
    /// Begins to read a file, or standard input for `-`.
    pub fn open(file: &Path, form: ItemsForm) -> Result<ItemsInput, Failure> {
        let name = file.display().to_string();
        let failed = |error: io::Error| Failure::new(Code::Failed, format!("{name}: {error}"));
        let bytes: Box<dyn Read + Send> = if file == Path::new("-") {
            Box::new(io::stdin())
        } else {
            read_decompressed(file).map_err(failed)?
        };
        ItemsInput::read(name.clone(), form, bytes).map_err(failed)
    }

    /// Begins to read these bytes, on a thread of its own.
    fn read(name: String, form: ItemsForm, bytes: Box<dyn Read + Send>) -> io::Result<ItemsInput> {
        let (sender, chunks) = sync_channel(CHUNKS_MAX);
        let thread = std::thread::Builder::new().name("items".to_owned());
        thread.spawn(move || send_chunks(bytes, &sender))?;
        Ok(ItemsInput {
            name,
            form,
            chunks,
            rest: Vec::new(),
            line: 1,
            is_ended: false,
        })
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How items lie in it.
    pub fn form(&self) -> ItemsForm {
        self.form
    }

    /// The next lines; waits for them. `None` at the end.
    pub fn next_lines(&mut self, stop: &Stop) -> Result<Option<ItemLines>, Trouble> {
        let is_document = matches!(self.form, ItemsForm::Document(_));
        loop {
            let ready = if is_document {
                self.is_ended.then_some(self.rest.len())
            } else {
                self.whole_lines()
            };
            if let Some(len) = ready {
                if len == 0 {
                    return Ok(None);
                }
                let behind = self.rest.split_off(len);
                let bytes = std::mem::replace(&mut self.rest, behind);
                let lines = ItemLines::of(self.line, bytes, is_document);
                self.line += lines.len() as u64;
                return Ok(Some(lines));
            }
            if self.rest.len() > LINE_BYTES_MAX {
                let what = if is_document { "it" } else { "the line" };
                let (name, line) = (&self.name, self.line);
                let message =
                    format!("{name}, line {line}: {what} is longer than {LINE_BYTES_MAX} bytes");
                return Err(Trouble::new(Code::Limit, message));
            }
            self.gather(is_document, stop)?;
        }
    }

    /// How many bytes of whole lines can be given now; 0 at the end; `None` where more has to come.
    fn whole_lines(&self) -> Option<usize> {
        let ends = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
        let within = &self.rest[..self.rest.len().min(BATCH_BYTES)];
        if let Some(last) = ends(within) {
            return Some(last + 1);
        }
        let first = self.rest.iter().position(|byte| *byte == b'\n');
        first
            .map(|end| end + 1)
            .or(self.is_ended.then_some(self.rest.len()))
    }

    /// Waits for a chunk, and takes what else has come.
    fn gather(&mut self, is_whole: bool, stop: &Stop) -> Result<(), Trouble> {
        let mut next = Some(self.wait(stop)?);
        while let Some(chunk) = next.take() {
            let Some(chunk) = chunk else {
                self.is_ended = true;
                break;
            };
            let chunk = chunk.map_err(|error| {
                let message = format!("{}, line {}: {error}", self.name, self.line);
                Trouble::new(Code::Failed, message)
            })?;
            self.rest.extend_from_slice(&chunk);
            if self.rest.len() < BATCH_BYTES || is_whole && self.rest.len() <= LINE_BYTES_MAX {
                next = match self.chunks.try_recv() {
                    Ok(chunk) => Some(Some(chunk)),
                    Err(TryRecvError::Disconnected) => Some(None),
                    Err(TryRecvError::Empty) => None,
                };
            }
        }
        Ok(())
    }

    fn wait(&self, stop: &Stop) -> Result<Option<io::Result<Vec<u8>>>, Trouble> {
        loop {
            if stop.is_raised() {
                return Err(Trouble::new(Code::Interrupted, "cancelled"));
            }
            match self.chunks.recv_timeout(LOOK) {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}

/// Sends bytes in chunks until their end, an error, or nobody takes them.
fn send_chunks(mut bytes: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match bytes.read(&mut chunk) {
            Ok(0) => return,
            Ok(len) => {
                chunk.truncate(len);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_error = read.is_err();
        if sender.send(read).is_err() || is_error {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(form: ItemsForm, text: Vec<u8>) -> Vec<ItemLines> {
        let bytes = Box::new(io::Cursor::new(text));
        let mut input = ItemsInput::read("it".to_owned(), form, bytes).expect("a thread");
        let mut batches = Vec::new();
        while let Some(lines) = input.next_lines(&Stop::default()).expect("it is short") {
            batches.push(lines);
        }
        batches
    }

    #[test]
    fn batches_are_whole_lines_with_their_numbers() {
        let line = |number: u64| format!("{number}\t<http://e/{number}> <http://e/p> 1 .\n");
        let text: String = (0..60_000).map(line).collect();
        let text = text.trim_end();
        let batches = all(ItemsForm::Lines, text.as_bytes().to_vec());
        assert!(batches.len() > 1, "more than a batch");
        let mut number = 1;
        let mut joined = Vec::new();
        for batch in &batches {
            assert_eq!(batch.first_line, number);
            assert!(batch.bytes().len() <= BATCH_BYTES);
            assert_eq!(batch.lines().count(), batch.len());
            let first = batch.lines().next().expect("a line");
            assert_eq!(ItemsForm::Lines.time_of(first), Some(number - 1));
            number += batch.len() as u64;
            joined.extend_from_slice(batch.bytes());
        }
        assert!(joined == text.as_bytes() && number == 60_001);
    }

    #[test]
    fn a_long_line_and_a_document_are_whole() {
        let long = format!("1\t{}\n2\tx\n", "x".repeat(3 * BATCH_BYTES));
        let batches = all(ItemsForm::Lines, long.clone().into_bytes());
        let lens: Vec<usize> = batches.iter().map(ItemLines::len).collect();
        assert_eq!((lens, batches[1].first_line), (vec![1, 1], 2));
        let document = all(ItemsForm::Document(Format::Turtle), long.into_bytes());
        assert_eq!((document.len(), document[0].len()), (1, 1));
        assert_eq!(all(ItemsForm::Lines, Vec::new()), []);
    }

    #[test]
    fn lines_are_split_with_their_numbers() {
        let lines = ItemLines::of(5, b"1\ta\n\n# no\n22\tb".to_vec(), false);
        assert_eq!((lines.len(), lines.items()), (4, 2));
        for at in 0..=4 {
            let (before, behind) = lines.clone().split(at);
            assert_eq!((before.len(), behind.len()), (at, 4 - at));
            assert_eq!((before.first_line, behind.first_line), (5, 5 + at as u64));
            assert_eq!([before.bytes(), behind.bytes()].concat(), lines.bytes());
            let parts: Vec<&[u8]> = before.lines().chain(behind.lines()).collect();
            assert_eq!(parts, lines.lines().collect::<Vec<_>>());
        }
    }

    #[test]
    fn forms_are_told_by_names() {
        let of = |name: &str| ItemsForm::of_file(Path::new(name));
        assert_eq!(of("a/likes.nt.ts"), Some(ItemsForm::Lines));
        assert_eq!(of("likes.nt.ts.gz"), Some(ItemsForm::Lines));
        assert_eq!(of("likes.NDJSON"), Some(ItemsForm::Objects));
        assert_eq!(of("a.nq.zst"), Some(ItemsForm::Statements(Format::NQuads)));
        assert_eq!(of("a.trig"), Some(ItemsForm::Document(Format::TriG)));
        assert_eq!((of("-"), of("a.txt")), (None, None));
        assert_eq!(ItemsForm::named("nt.ts").ok(), Some(ItemsForm::Lines));
        assert!(ItemsForm::named("csv").is_err());
    }

    #[test]
    fn times_are_found() {
        let objects = |line: &str| ItemsForm::Objects.time_of(line.as_bytes());
        assert_eq!(objects(r#"{"t": 5, "nquads": ""}"#), Some(5));
        assert_eq!(objects(r#"{"watermark": 7}"#), Some(7));
        assert_eq!((objects("{"), objects(r#"{"t": "5"}"#)), (None, None));
        assert_eq!(ItemsForm::Lines.time_of(b"x\t"), None);
        assert_eq!(ItemsForm::Lines.time_of(b"99999999999999999999\t"), None);
    }
}

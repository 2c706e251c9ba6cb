//! Server-Sent Events out of bytes, however they are cut (WHATWG HTML, section 9.2.6).
//!
//! Lines end with LF, CR LF or CR. An empty line gives what has been collected; a comment (`:`) shows that the server is
//! there. Fields other than `event`, `data` and `id` are left out: the pause before a new connection is ours.
//!
//! Cost: a byte is looked at once and copied once.

use std::collections::VecDeque;

/// What one event may hold (bytes): a report larger than this is none that a person or a pipe was waiting for.
pub const EVENT_BYTES_MAX: usize = 64 << 20;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its data, lines joined by LF.
    pub data: String,
    /// Its own `id`.
    pub id: Option<String>,
}

/// Takes bytes and gives events.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    event: ServerEvent,
    has_data: bool,
    /// The last byte was a CR, and an LF after it ends no line.
    is_after_return: bool,
    events: VecDeque<ServerEvent>,
}

/// An event that is larger than any that is taken.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl EventReader {
    /// Takes bytes.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), TooLarge> {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (piece, rest) = bytes.split_at(end);
            let is_rest_of_end =
                self.is_after_return && piece.is_empty() && rest.first() == Some(&b'\n');
            if !is_rest_of_end {
                self.line.extend_from_slice(piece);
                self.end_line();
            }
            self.is_after_return = rest.first() == Some(&b'\r');
            bytes = &rest[1..];
        }
        if !bytes.is_empty() {
            self.is_after_return = false;
            self.line.extend_from_slice(bytes);
        }
        if self.line.len() + self.event.data.len() > EVENT_BYTES_MAX {
            return Err(TooLarge);
        }
        Ok(())
    }

    /// The next event that is whole.
    pub fn pop(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            // What brings no data is no event.
            if std::mem::take(&mut self.has_data) {
                self.events.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ":\n\nid: 7\ndata: {\"a\":1}\n\nevent: gone\r\ndata: x\r\ndata:y\r\n\r\nid: 8\n\ndata\r\rretry: 5\n\
                        data: ü: z\n\ndata: no end\n";

    fn read(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<(String, String, Option<String>)> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            reader.take(&piece).expect("they are small");
            while let Some(event) = reader.pop() {
                events.push((event.name, event.data, event.id));
            }
        }
        events
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let event = |name: &str, data: &str, id: Option<&str>| {
            (name.to_owned(), data.to_owned(), id.map(str::to_owned))
        };
        let expected = [
            event("", "{\"a\":1}", Some("7")),
            event("gone", "x\ny", None),
            event("", "", None),
            event("", "ü: z", None),
        ];
        for len in 1..TEXT.len() {
            let pieces = TEXT.as_bytes().chunks(len).map(<[u8]>::to_vec);
            assert_eq!(read(pieces), expected, "pieces of {len}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; 16 << 20];
        let mut taken = (0..5).map(|_| reader.take(&piece));
        assert!(taken.any(|taken| taken == Err(TooLarge)));
    }
}

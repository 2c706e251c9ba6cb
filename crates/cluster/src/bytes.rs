//! Values as bytes, for what nodes send each other besides plans and rows (`query::wire`).
//!
//! Numbers are LEB128, texts and lists have their length in front. A column of ids is a base with 4 bytes each where all lie
//! within 2^32 of it, as neighbours of one kind mostly do, else 8 bytes each.
//!
//! Invariant of reading: bytes may come from anybody. A length is held against the bytes that are left before anything is
//! allocated, so memory is in proportion to the message: twice for ids, eight times for numbers, and at the very worst 24 times,
//! for keys that are not there, of which each is a byte.

use rdf::{NodeCause, NodeError, VertexId, varint};

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of a message: {what}")]
pub struct Malformed {
    /// Where.
    pub at: usize,
    /// What was found there.
    pub what: &'static str,
}

/// Appends values.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn number(&mut self, number: u64) {
        varint::write(&mut self.0, number);
    }

    pub(crate) fn id(&mut self, id: VertexId) {
        self.0.extend(id.bits().to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) {
        self.number(numbers.len() as u64);
        numbers.for_each(|number| self.number(number));
    }

    pub(crate) fn ids(&mut self, ids: &[VertexId]) {
        self.number(ids.len() as u64);
        let Some(least) = ids.iter().map(|id| id.bits()).min() else {
            return;
        };
        let is_near = |id: &VertexId| u32::try_from(id.bits() - least).is_ok();
        self.byte(u8::from(ids.iter().all(is_near)));
        if self.0.last() == Some(&1) {
            self.0.extend(least.to_le_bytes());
            let codes = ids.iter().map(|id| (id.bits() - least) as u32);
            self.0.extend(codes.flat_map(u32::to_le_bytes));
        } else {
            self.0
                .extend(ids.iter().flat_map(|id| id.bits().to_le_bytes()));
        }
    }
}

/// Reads values.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, bytes: usize) -> Result<&'b [u8], Malformed> {
        if bytes > self.left() {
            return Err(self.malformed("it ends too early"));
        }
        let taken = &self.bytes[self.at..self.at + bytes];
        self.at += bytes;
        Ok(taken)
    }

    pub(crate) fn word(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("8 were taken")))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut rest = &self.bytes[self.at..];
        let number = varint::read(&mut rest);
        let number = number.ok_or_else(|| self.malformed("a number that is none"))?;
        self.at = self.bytes.len() - rest.len();
        Ok(number)
    }

    pub(crate) fn number32(&mut self) -> Result<u32, Malformed> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.malformed("a number that is too large"))
    }

    pub(crate) fn number16(&mut self) -> Result<u16, Malformed> {
        let number = self.number()?;
        u16::try_from(number).map_err(|_| self.malformed("a number that is too large"))
    }

    pub(crate) fn truth(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("neither yes nor no")),
        }
    }

    pub(crate) fn id(&mut self) -> Result<VertexId, Malformed> {
        Ok(VertexId::from_bits(self.word()?))
    }

    /// A number of things of at least so many bytes each.
    pub(crate) fn count(&mut self, bytes_min: usize) -> Result<usize, Malformed> {
        let number = self.number()?;
        let most = (self.left() / bytes_min.max(1)) as u64;
        if number > most {
            return Err(self.malformed("more than there are bytes for"));
        }
        Ok(number as usize)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], Malformed> {
        let length = self.count(1)?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, Malformed> {
        let at = self.at;
        let what = "a text that is not UTF-8";
        str::from_utf8(self.bytes()?).map_err(|_| Malformed { at, what })
    }

    pub(crate) fn numbers(&mut self) -> Result<Vec<u64>, Malformed> {
        let count = self.count(1)?;
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn ids(&mut self) -> Result<Vec<VertexId>, Malformed> {
        let count = self.count(4)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        if !self.truth()? {
            let bytes = self.take(count.saturating_mul(8))?;
            let words = bytes.as_chunks::<8>().0.iter();
            return Ok(words
                .map(|word| VertexId::from_bits(u64::from_le_bytes(*word)))
                .collect());
        }
        let least = self.word()?;
        let codes = self.take(count * 4)?.as_chunks::<4>().0;
        let most = codes.iter().map(|code| u32::from_le_bytes(*code)).max();
        if least.checked_add(most.unwrap_or(0).into()).is_none() {
            return Err(self.malformed("an id beyond the last one"));
        }
        let id = |code: &[u8; 4]| VertexId::from_bits(least + u64::from(u32::from_le_bytes(*code)));
        Ok(codes.iter().map(id).collect())
    }

    pub(crate) fn rest(&mut self) -> &'b [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.left() > 0 {
            return Err(self.malformed("more bytes than it has"));
        }
        Ok(())
    }
}

/// As [`read_node_error`] reads it.
pub(crate) fn write_node_error(error: &NodeError, out: &mut Writer) {
    out.number(error.node.into());
    let code = match error.cause {
        NodeCause::Away => 0,
        NodeCause::Memory { .. } => 1,
        NodeCause::TooMuch => 2,
        NodeCause::Damaged => 3,
        NodeCause::Unsupported => 4,
        NodeCause::Policy => 5,
        NodeCause::Remote => 6,
        NodeCause::Fault => 7,
        NodeCause::Device => 8,
    };
    out.byte(code);
    if let NodeCause::Memory {
        limit_bytes,
        used_bytes,
        of_all,
    } = error.cause
    {
        out.number(limit_bytes);
        out.number(used_bytes);
        out.byte(of_all.into());
    }
    out.bytes(error.what.as_bytes());
}

/// Which node did not do its share, and why.
pub(crate) fn read_node_error(from: &mut Reader<'_>) -> Result<NodeError, Malformed> {
    let node = from.number16()?;
    let cause = match from.byte()? {
        0 => NodeCause::Away,
        1 => NodeCause::Memory {
            limit_bytes: from.number()?,
            used_bytes: from.number()?,
            of_all: from.truth()?,
        },
        2 => NodeCause::TooMuch,
        3 => NodeCause::Damaged,
        4 => NodeCause::Unsupported,
        5 => NodeCause::Policy,
        6 => NodeCause::Remote,
        7 => NodeCause::Fault,
        8 => NodeCause::Device,
        _ => return Err(from.malformed("a failure of no kind")),
    };
    Ok(NodeError {
        node,
        cause,
        what: from.text()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back() {
        let columns: [&[u64]; 5] = [
            &[],
            &[7],
            &[5, 1 << 33, 9],
            &[u64::MAX, 3],
            &[u64::MAX - 9, u64::MAX],
        ];
        for column in columns {
            let ids: Vec<VertexId> = column
                .iter()
                .map(|bits| VertexId::from_bits(*bits))
                .collect();
            let mut writer = Writer::default();
            writer.ids(&ids);
            let mut reader = Reader::new(&writer.0);
            assert_eq!(reader.ids().as_ref(), Ok(&ids));
            assert_eq!(reader.end(), Ok(()));
            for end in 0..writer.0.len() {
                assert!(
                    Reader::new(&writer.0[..end]).ids().is_err(),
                    "{column:?}, {end}"
                );
            }
        }
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut writer = Writer::default();
        writer.number(1 << 40);
        assert!(Reader::new(&writer.0).bytes().is_err());
        assert!(Reader::new(&writer.0).ids().is_err());
        assert!(Reader::new(&writer.0).numbers().is_err());
    }
}

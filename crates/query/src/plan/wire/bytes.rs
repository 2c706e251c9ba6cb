//! Bytes, one value after the other: what is written by [`Encoder`] is read by [`Decoder`].
//!
//! Every value has one encoding: a number as short as it can be, a truth value 0 or 1. So decoding and encoding give
//! the bytes back, equal plans have equal bytes, and an encoding may be hashed or compared in place of its value.
//!
//! Invariants of reading: an allocation is at most [`GROWTH_MAX`] times the bytes that are left, because a list of
//! things of at least so many bytes each is cut against these first; recursion is counted by [`Decoder::nested`].

use super::error::{DecodeError, DecodeFault};
use crate::plan::{BLOCKS_MAX, DEPTH_MAX};
use rdf::varint;

/// The most bytes in memory for each byte of an encoding.
pub(super) const GROWTH_MAX: usize = 40;

/// What nests, how deep at most, and which of the decoder's counters counts it.
#[derive(Clone, Copy)]
pub(super) struct Nesting {
    counter: usize,
    what: &'static str,
    max: usize,
}

impl Nesting {
    /// Steps within steps.
    pub(super) const BLOCKS: Nesting = Nesting {
        counter: 0,
        what: "blocks",
        // The plan's own steps lie in no block.
        max: BLOCKS_MAX + 1,
    };
    /// What nests within a step.
    pub(super) const EXPRESSIONS: Nesting = Nesting::within_step("expressions");
    /// The same.
    pub(super) const PATHS: Nesting = Nesting::within_step("paths");
    /// The same.
    pub(super) const TEMPLATES: Nesting = Nesting::within_step("triples of templates");

    const fn within_step(what: &'static str) -> Nesting {
        Nesting {
            counter: 1,
            what,
            max: DEPTH_MAX,
        }
    }
}

/// What has an encoding.
pub(super) trait Wire: Sized {
    /// The fewest bytes that one takes.
    const BYTES_MIN: usize = 1;

    /// Appends it.
    fn write(&self, out: &mut Encoder<'_>);

    /// Reads one.
    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError>;
}

/// Appends values to bytes.
pub(super) struct Encoder<'o> {
    bytes: &'o mut Vec<u8>,
    /// The forms that were written, for the test that knows all of them.
    #[cfg(test)]
    pub(super) forms: std::collections::BTreeSet<(&'static str, u8)>,
}

impl<'o> Encoder<'o> {
    pub(super) fn new(bytes: &'o mut Vec<u8>) -> Encoder<'o> {
        Encoder {
            bytes,
            #[cfg(test)]
            forms: std::collections::BTreeSet::new(),
        }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        varint::write(self.bytes, number);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.raw(text.as_bytes());
    }

    /// The number of a type's form.
    #[cfg_attr(
        not(test),
        expect(unused_variables, reason = "tests ask which forms were written")
    )]
    pub(super) fn form(&mut self, of: &'static str, number: u8) {
        self.bytes.push(number);
        #[cfg(test)]
        self.forms.insert((of, number));
    }
}

/// Reads values from bytes.
#[derive(Clone)]
pub(super) struct Decoder<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Levels of steps within steps, and of what nests within a step.
    depth: [usize; 2],
}

impl<'b> Decoder<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Decoder<'b> {
        let (at, depth) = (0, [0; 2]);
        Decoder { bytes, at, depth }
    }

    /// The place of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[cold]
    pub(super) fn fault_at(at: usize, fault: DecodeFault) -> DecodeError {
        DecodeError { at, fault }
    }

    /// An error at the next byte.
    #[cold]
    pub(super) fn fault(&self, fault: DecodeFault) -> DecodeError {
        Decoder::fault_at(self.at, fault)
    }

    /// The mark and version that something begins with.
    pub(super) fn begin(
        &mut self,
        of: &'static str,
        mark: &'static str,
        known: u64,
    ) -> Result<(), DecodeError> {
        let begins = &self.bytes[..self.left().min(mark.len())];
        if begins != &mark.as_bytes()[..begins.len()] {
            return Err(self.fault(DecodeFault::Mark { of, mark }));
        }
        self.take(mark.len() as u64)?;
        let at = self.at;
        let found = self.number()?;
        if found != known {
            let fault = DecodeFault::Version { of, found, known };
            return Err(Decoder::fault_at(at, fault));
        }
        Ok(())
    }

    /// Says that nothing follows.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.fault(DecodeFault::Trailing(left as u64))),
        }
    }

    /// The next bytes.
    pub(super) fn take(&mut self, length: u64) -> Result<&'b [u8], DecodeError> {
        let left = self.left() as u64;
        if length > left {
            let missing = length - left;
            return Err(self.fault(DecodeFault::Cut { missing }));
        }
        let start = self.at;
        self.at += length as usize;
        Ok(&self.bytes[start..self.at])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.take(N as u64)?;
        Ok(bytes.try_into().expect("it took so many"))
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    /// A number, in its shortest form.
    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut rest = &self.bytes[self.at..];
        let (before, start) = (rest.len(), self.at);
        let Some(number) = varint::read(&mut rest) else {
            let is_cut = before < 10 && self.bytes[start..].iter().all(|byte| *byte >= 0x80);
            return Err(self.fault(if is_cut {
                DecodeFault::Cut { missing: 1 }
            } else {
                DecodeFault::Number
            }));
        };
        let length = before - rest.len();
        if length > 1 && self.bytes[start + length - 1] == 0 {
            return Err(self.fault(DecodeFault::Number));
        }
        self.at += length;
        Ok(number)
    }

    /// A number up to `max`.
    pub(super) fn number_within(
        &mut self,
        what: &'static str,
        max: u64,
    ) -> Result<u64, DecodeError> {
        let at = self.at;
        let found = self.number()?;
        if found > max {
            let fault = DecodeFault::Large { what, found, max };
            return Err(Decoder::fault_at(at, fault));
        }
        Ok(found)
    }

    /// The number of things that follow, each of at least so many bytes.
    pub(super) fn count(&mut self, bytes_min: usize) -> Result<usize, DecodeError> {
        let at = self.at;
        let count = self.number()?;
        let needed = count.saturating_mul(bytes_min as u64);
        let left = self.left() as u64;
        if needed > left {
            let missing = needed - left;
            return Err(Decoder::fault_at(at, DecodeFault::Cut { missing }));
        }
        Ok(count as usize)
    }

    pub(super) fn text(&mut self) -> Result<&'b str, DecodeError> {
        let length = self.number()?;
        let at = self.at;
        let bytes = self.take(length)?;
        str::from_utf8(bytes)
            .map_err(|error| Decoder::fault_at(at + error.valid_up_to(), DecodeFault::NotUtf8))
    }

    /// Reads something that may hold others of its kind, one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        nesting: Nesting,
        read: impl FnOnce(&mut Decoder<'b>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let Nesting { counter, what, max } = nesting;
        if self.depth[counter] >= max {
            return Err(self.fault(DecodeFault::Deep { what, max }));
        }
        self.depth[counter] += 1;
        let found = read(self);
        self.depth[counter] -= 1;
        found
    }
}

/// Implements [`Wire`] of integers, as numbers.
macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Wire for $type {
            fn write(&self, out: &mut Encoder<'_>) {
                out.number(u64::from(*self));
            }

            fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let number = bytes.number_within("a number", u64::from($type::MAX))?;
                Ok(number as $type)
            }
        }
    )*};
}

integers! { u16 u32 u64 }

impl Wire for bool {
    fn write(&self, out: &mut Encoder<'_>) {
        out.raw(&[u8::from(*self)]);
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let at = bytes.at();
        match bytes.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            number => {
                let of = "a truth value";
                Err(Decoder::fault_at(at, DecodeFault::Form { of, number }))
            }
        }
    }
}

/// Its bits: infinities and each NaN are themselves again.
impl Wire for f64 {
    const BYTES_MIN: usize = 8;

    fn write(&self, out: &mut Encoder<'_>) {
        out.raw(&self.to_bits().to_le_bytes());
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bytes
            .array()
            .map(|bits| f64::from_bits(u64::from_le_bytes(bits)))
    }
}

impl Wire for String {
    fn write(&self, out: &mut Encoder<'_>) {
        out.text(self);
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bytes.text().map(str::to_owned)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, out: &mut Encoder<'_>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        bool::read(bytes)?.then(|| T::read(bytes)).transpose()
    }
}

impl<T: Wire> Wire for Box<T> {
    const BYTES_MIN: usize = T::BYTES_MIN;

    fn write(&self, out: &mut Encoder<'_>) {
        T::write(self, out);
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::read(bytes).map(Box::new)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, out: &mut Encoder<'_>) {
        out.number(self.len() as u64);
        for item in self {
            item.write(out);
        }
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        const {
            assert!(
                size_of::<T>() <= GROWTH_MAX * T::BYTES_MIN,
                "a list in memory is not much larger than its encoding"
            );
        }
        let count = bytes.count(T::BYTES_MIN)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(T::read(bytes)?);
        }
        Ok(items)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    fn write(&self, out: &mut Encoder<'_>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok((A::read(bytes)?, B::read(bytes)?))
    }
}

impl<T: Wire> Wire for [T; 2] {
    const BYTES_MIN: usize = 2 * T::BYTES_MIN;

    fn write(&self, out: &mut Encoder<'_>) {
        for item in self {
            item.write(out);
        }
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok([T::read(bytes)?, T::read(bytes)?])
    }
}

impl<T: Wire> Wire for [T; 3] {
    const BYTES_MIN: usize = 3 * T::BYTES_MIN;

    fn write(&self, out: &mut Encoder<'_>) {
        for item in self {
            item.write(out);
        }
    }

    fn read(bytes: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok([T::read(bytes)?, T::read(bytes)?, T::read(bytes)?])
    }
}

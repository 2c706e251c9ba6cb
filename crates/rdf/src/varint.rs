//! Numbers of variable length: seven bits a byte, least significant first (LEB128).
//!
//! All files of a store write their small numbers so: the dictionary's keys, characteristic sets, the
//! graph index, manifests, records of the log. Reading is total: bytes that end too early, or a number
//! of too many bits, give `None`. A number with needless zeros at its end is read as what it says.
//!
//! Written here and not taken from the crate `unsigned-varint`, which refuses such zeros: what readers
//! of a layout accept is a part of it.
//!
//! Cost: one comparison for a number below 128, which most are; a loop over the bytes of others.

/// Bytes of a number of 64 bits.
const NUMBER_BYTES: usize = 10;
/// Bytes of a length, which has 63 bits.
const LENGTH_BYTES: usize = 9;

/// Appends a number: one byte below 128, at most ten.
pub fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front of `bytes`; `None` where they end or it exceeds 64 bits.
#[inline]
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    take::<NUMBER_BYTES>(bytes)
}

/// Takes a length off the front of `bytes`; `None` where they end or it exceeds 63 bits.
#[inline]
pub fn read_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take::<LENGTH_BYTES>(bytes)?).ok()
}

#[inline]
fn take<const BYTES_MAX: usize>(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long::<BYTES_MAX>(bytes)
}

fn take_long<const BYTES_MAX: usize>(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate().take(BYTES_MAX) {
        let bits = u64::from(byte & 0x7f);
        // Nine bytes leave room for one bit more.
        if place == LENGTH_BYTES && bits > 1 {
            return None;
        }
        number |= bits << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [
            0,
            1,
            127,
            128,
            300,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ];
        let mut bytes = Vec::new();
        for number in numbers {
            write(&mut bytes, number);
        }
        let mut rest = &bytes[..];
        for number in numbers {
            assert_eq!(read(&mut rest), Some(number));
        }
        assert!(rest.is_empty() && read(&mut rest).is_none());
    }

    #[test]
    fn lengths_come_back_and_cut_ones_are_refused() {
        for length in [0, 1, 127, 128, 16383, 16384, 1 << 40, (1 << 63) - 1] {
            let mut bytes = Vec::new();
            write(&mut bytes, length as u64);
            let mut rest = &bytes[..];
            assert_eq!(read_length(&mut rest), Some(length));
            assert!(rest.is_empty());
            assert_eq!(read_length(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn endless_and_excessive_numbers_are_refused() {
        assert_eq!(read(&mut &[0x80u8; 20][..]), None);
        assert_eq!(read_length(&mut &[0xff; 12][..]), None);
        let mut above = [0xffu8; 10];
        above[9] = 2;
        assert_eq!(read(&mut &above[..]), None);
        above[9] = 1;
        assert_eq!(read(&mut &above[..]), Some(u64::MAX));
        assert_eq!(read_length(&mut &above[..]), None);
    }

    #[test]
    fn needless_zeros_are_read_past() {
        let mut padded = [0x80u8; 10];
        padded[9] = 0;
        assert_eq!(read(&mut &padded[..]), Some(0));
        assert_eq!(read_length(&mut &padded[..]), None);
        assert_eq!(read_length(&mut &[0x81, 0x80, 0][..]), Some(1));
    }
}

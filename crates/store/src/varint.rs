//! Numbers of variable length: seven bits a byte, least significant first (LEB128).
//!
//! Used where numbers are small and read one after the other: characteristic sets and the graph
//! index. Never in a hot loop over neighbours. Reading is total: bytes that end too early or a
//! number above 64 bits give `None`.

/// Appends a number: one byte below 128, at most ten.
pub fn write(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the front of `bytes`.
#[inline]
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * index);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
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
    fn endless_and_excessive_numbers_are_refused() {
        assert_eq!(read(&mut &[0x80u8; 20][..]), None);
        let mut above = [0xffu8; 10];
        above[9] = 2;
        assert_eq!(read(&mut &above[..]), None);
    }
}

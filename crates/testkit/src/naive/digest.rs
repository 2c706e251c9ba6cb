//! The message digests of SPARQL 1.1 Query section 17.4.6: MD5 from RFC 1321, SHA-1 from RFC 3174,
//! and the SHA-2 family from its library.
//!
//! Both old ones pad alike: a one bit, zeros, the length in bits in the last eight bytes of a block
//! of 64, least byte first in MD5, last in SHA-1.

use sha2::{Digest as _, Sha256, Sha384, Sha512};
use spargebra::algebra::Function;
use std::fmt::Write as _;

/// The digest of a text in lower-case hexadecimal digits; `None` where the function is none.
pub(super) fn digest(function: &Function, text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    Some(match function {
        Function::Md5 => hexadecimal(&md5(bytes)),
        Function::Sha1 => hexadecimal(&sha1(bytes)),
        Function::Sha256 => hexadecimal(&Sha256::digest(bytes)),
        Function::Sha384 => hexadecimal(&Sha384::digest(bytes)),
        Function::Sha512 => hexadecimal(&Sha512::digest(bytes)),
        _ => return None,
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn padded(bytes: &[u8], length: [u8; 8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend(length);
    padded
}

fn md5(bytes: &[u8]) -> Vec<u8> {
    const SHIFTS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let bits = (bytes.len() as u64).wrapping_mul(8);
    for block in padded(bytes, bits.to_le_bytes()).chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let sine = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a
                .wrapping_add(mixed)
                .wrapping_add(sine)
                .wrapping_add(words[word]);
            let turned = sum.rotate_left(SHIFTS[step / 16][step % 4]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(turned));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[expect(clippy::many_single_char_names, reason = "the names of the standard")]
fn sha1(bytes: &[u8]) -> Vec<u8> {
    let mut state = [
        0x6745_2301_u32,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let bits = (bytes.len() as u64).wrapping_mul(8);
    for block in padded(bytes, bits.to_be_bytes()).chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        for index in 16..80 {
            let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
            words.push(mixed.rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (index, word) in words.iter().enumerate() {
            let (mixed, constant) = match index / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999_u32),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mixed)
                .wrapping_add(e)
                .wrapping_add(constant)
                .wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_digests() {
        let of = |function: Function, text: &str| digest(&function, text).unwrap();
        assert_eq!(of(Function::Md5, ""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(of(Function::Md5, "abc"), "900150983cd24fb0d6963f7d28e17f72");
        let digits = "1234567890".repeat(8);
        assert_eq!(
            of(Function::Md5, &digits),
            "57edf4a22be3c955ac49da2e2107b67a"
        );
        assert_eq!(
            of(Function::Sha1, "abc"),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(
            of(Function::Sha1, long),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        );
        assert!(of(Function::Sha256, "abc").starts_with("ba7816bf8f01cfea"));
        assert_eq!(digest(&Function::Str, "abc"), None);
    }
}

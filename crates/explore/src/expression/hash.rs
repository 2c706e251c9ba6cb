//! `MD5` and the SHA family (SPARQL 1.1 Query section 17.4.6): the digest of a string's UTF-8 bytes, as
//! hexadecimal digits in lower case. A tagged string has none: the functions take `xsd:string` only.

use md5::Md5;
use query::expression::Function;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The hexadecimal digits.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends the digest of `text`.
pub(crate) fn write_digest(function: Function, text: &str, into: &mut String) {
    let bytes = text.as_bytes();
    match function {
        Function::Md5 => write_hex(&Md5::digest(bytes), into),
        Function::Sha1 => write_hex(&Sha1::digest(bytes), into),
        Function::Sha256 => write_hex(&Sha256::digest(bytes), into),
        Function::Sha384 => write_hex(&Sha384::digest(bytes), into),
        _ => write_hex(&Sha512::digest(bytes), into),
    }
}

/// Appends two digits for each byte.
pub(crate) fn write_hex(bytes: &[u8], into: &mut String) {
    for byte in bytes {
        into.push(char::from(HEX[usize::from(byte >> 4)]));
        into.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// 128 bits of the SHA-256 digest of these parts, each told apart from its neighbours by its length.
pub(crate) fn digest_of_parts(parts: &[&[u8]]) -> [u8; 16] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let all = digest.finalize();
    std::array::from_fn(|at| all[at])
}

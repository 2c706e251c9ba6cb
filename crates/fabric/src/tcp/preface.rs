//! The first bytes of a connection, before it is encrypted: what this is, and which version.
//!
//! In the clear, so that whoever speaks something else, or another version, is told so and not that a handshake failed. A person
//! who tries the port sees the words.

use crate::event::Absence;
use crate::hello::PROTOCOL_VERSION;

/// What each side sends first, without the version.
const WORDS: &[u8; 18] = b"somersault node \r\n";

/// Length of a preface.
pub(super) const PREFACE_BYTES: usize = WORDS.len() + 2;

/// This node's.
pub(super) fn preface() -> Vec<u8> {
    preface_of(PROTOCOL_VERSION)
}

fn preface_of(version: u16) -> Vec<u8> {
    [&WORDS[..], &version.to_le_bytes()].concat()
}

/// Whether what came so far is the beginning of a preface, and if it is all of one, of this version.
pub(super) fn check(came: &[u8]) -> Result<(), Absence> {
    let words = &came[..came.len().min(WORDS.len())];
    if words != &WORDS[..words.len()] {
        let begin = words.escape_ascii();
        let reason = format!(
            "no Somersault node speaks here: the first bytes are `{begin}`: check address and port"
        );
        return Err(Absence::Refused { reason });
    }
    let version = came.get(WORDS.len()..PREFACE_BYTES);
    let version = version
        .and_then(|bytes| bytes.try_into().ok())
        .map(u16::from_le_bytes);
    match version {
        Some(version) if version != PROTOCOL_VERSION => {
            let reason = format!(
                "the other node speaks version {version} of the protocol, this one {PROTOCOL_VERSION}: run the same release \
                 on both"
            );
            Err(Absence::Refused { reason })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_taken_and_others_are_named() {
        let whole = preface();
        for end in 0..=whole.len() {
            assert_eq!(check(&whole[..end]), Ok(()));
        }
        let other = check(b"GET / HTTP/1.1\r\n").unwrap_err();
        assert!(
            other.to_string().contains("`GET / HTTP/1.1\\r\\n`"),
            "{other}"
        );
        let newer = check(&preface_of(PROTOCOL_VERSION + 1)).unwrap_err();
        let said = format!("speaks version {} of", PROTOCOL_VERSION + 1);
        assert!(newer.to_string().contains(&said), "{newer}");
    }
}

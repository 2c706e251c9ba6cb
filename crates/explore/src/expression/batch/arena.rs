//! Text and triple terms that a batch computes, kept until the batch is forgotten.
//!
//! A [column](super::super::column) of computed text keeps whole buffers here, and its values borrow from them. Buffers
//! are used again for the next batch.
//!
//! What is kept stays where it is while others are added ([`boxcar::Vec`]), which is what lets values
//! borrow from a shared arena.

use oxrdf::Triple;
use std::cell::RefCell;

/// Bytes after which a buffer is kept and another one begun, so that little is copied when one grows.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// What a batch computed.
#[derive(Default)]
pub(crate) struct Arena {
    texts: boxcar::Vec<String>,
    triples: boxcar::Vec<Triple>,
    spare: RefCell<Vec<String>>,
}

impl Arena {
    /// Forgets everything, keeps the buffers whose bytes `fits` admits.
    pub(crate) fn clear(&mut self, fits: &mut dyn FnMut(usize) -> bool) {
        let spare = self.spare.get_mut();
        spare.retain(|text| fits(text.capacity()));
        if self.texts.count() > 0 {
            for mut text in std::mem::take(&mut self.texts) {
                if text.capacity() > 0 && fits(text.capacity()) {
                    text.clear();
                    spare.push(text);
                }
            }
        }
        if self.triples.count() > 0 {
            self.triples = boxcar::Vec::new();
        }
    }

    /// Keeps a text.
    pub(crate) fn keep_text(&self, text: String) -> &str {
        let at = self.texts.push(text);
        self.texts.get(at).expect("it was pushed")
    }

    /// Keeps a triple term.
    pub(crate) fn keep_triple(&self, triple: Triple) -> &Triple {
        let at = self.triples.push(triple);
        self.triples.get(at).expect("it was pushed")
    }

    /// An empty buffer.
    pub(crate) fn buffer(&self) -> String {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer back that nothing borrows from.
    pub(crate) fn give_back(&self, mut buffer: String) {
        if buffer.capacity() > 0 && buffer.capacity() <= 2 * BUFFER_BYTES {
            buffer.clear();
            self.spare.borrow_mut().push(buffer);
        }
    }
}

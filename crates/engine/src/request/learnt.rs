//! What was learnt of a text by who did not answer it, for whoever is asked next.
//!
//! A server asks [`Database::start_light`](crate::Database::start_light) on the thread that read the request, and where that says
//! `None` [`Database::start`](crate::Database::start) on another. By then the text is cut into tokens and its shape is
//! known; of a short text, as nearly all are, both are handed on, so that it is cut once.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Learnt` | the thread that did not answer, with its lock | whoever is asked next, with the lock: it takes what is there |

use query::parse::ParseOptions;
use query::shape::Shape;
use query::{Cut, Scanned};
use std::sync::{Mutex, PoisonError};

/// Bytes of a text of which something is kept; some 16 are for each.
const KEPT_BYTES_MAX: usize = 2 << 10;

/// Handed to both with [`Request::learnt`](crate::Request::learnt). Of no effect on answers: what was learnt of another text, or
/// with other options, is not used.
#[derive(Debug, Default)]
pub struct Learnt(Mutex<Option<Box<Read>>>);

#[derive(Debug)]
struct Read {
    cut: Cut,
    shape: Shape,
    options: ParseOptions,
}

impl Learnt {
    /// Keeps what a short text was read as. Until it is taken nobody counts it.
    pub(crate) fn keep(
        &self,
        text: &str,
        scanned: Scanned<'_>,
        shape: Shape,
        options: ParseOptions,
    ) {
        if text.len() > KEPT_BYTES_MAX {
            return;
        }
        let read = Read {
            cut: scanned.into_cut(),
            shape,
            options,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(read));
    }

    /// The tokens and the shape of this text, if these are what was kept; nothing is kept any longer.
    pub(crate) fn take<'t>(
        &self,
        text: &'t str,
        options: &ParseOptions,
    ) -> Option<(Scanned<'t>, Shape)> {
        let read = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        let is_same = read.options == *options;
        Some((read.cut.of(text).filter(|_| is_same)?, read.shape))
    }
}

/// Nothing is learnt of the copy.
impl Clone for Learnt {
    fn clone(&self) -> Learnt {
        Learnt::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "SELECT ?x { ?x <http://e/p> <http://e/o> }";

    fn learnt(options: &ParseOptions) -> Learnt {
        let learnt = Learnt::default();
        let scanned = query::scan(TEXT, options).unwrap();
        let shape = Shape::of(&scanned, options).unwrap();
        learnt.keep(TEXT, scanned, shape, options.clone());
        learnt
    }

    #[test]
    fn what_was_learnt_is_of_one_text_with_its_options_and_used_once() {
        let options = ParseOptions::default();
        let kept = learnt(&options);
        let text = TEXT.to_owned();
        let (scanned, shape) = kept.take(&text, &options).unwrap();
        assert_eq!(shape.parameters.len(), 1);
        assert_eq!(
            scanned.parse(&options).unwrap(),
            query::parse(TEXT, &options).unwrap()
        );
        assert!(kept.take(TEXT, &options).is_none());

        let other = TEXT.replace("/o>", "/O>");
        assert!(learnt(&options).take(&other, &options).is_none());
        let union = ParseOptions {
            union_default_graph: true,
            ..ParseOptions::default()
        };
        assert!(learnt(&options).take(TEXT, &union).is_none());
    }
}

//! Prefixes that are known of a graph: those of its files, and those of documents that `LOAD` and the Graph Store
//! Protocol have brought since.
//!
//! They are hints where a query lacks a declaration, and decide no answer. So they have no record in the log: those
//! of documents get into the files with the next checkpoint that begins after them and has changes to write, and a
//! process that ends before it has lost them. What the files have stays as it is: whoever may write
//! fills places that are free. All versions of a graph that was opened share what was noted, and a version shows
//! what was noted after it, too.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Noted` | changes that brought documents, with its lock | queries that lack a declaration, with its lock |

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Prefixes;

/// Prefixes of documents that were written since a database was opened.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Prefixes>>);

impl Noted {
    /// Keeps those of documents that were written.
    pub(crate) fn note<'p>(&self, documents: impl IntoIterator<Item = &'p Prefixes>) {
        for prefixes in documents {
            if !prefixes.is_empty() {
                self.lock().extend(prefixes);
            }
        }
    }

    /// What was noted, locked.
    pub(super) fn lock(&self) -> MutexGuard<'_, Prefixes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The views of a walk: one for each source that a plan may name.
//!
//! A walk of one view is given that view; it is the store, the only source of most plans. A walk over windows besides is
//! given a slice, the store first, each at a moment that does not change while the walk goes on. They are of one type:
//! who has several kinds makes one of them that tells them apart, once a batch.
//!
//! **Whose number?** Predicates are numbered by each view for itself, so a segment is named together with its source, and
//! ids of terms are the same in all. **Whose ticket?** One numbering of tickets goes through all views of a walk, as
//! through a view and the lexicon beside it: whoever lets wait, the first view waits for it
//! ([`GraphView::wait`](store::GraphView::wait)).

use query::plan::Source;

/// See the head of this file.
#[derive(Debug)]
pub struct Views<'a, V>(&'a [V]);

impl<V> Clone for Views<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Views<'_, V> {}

impl<'a, V> From<&'a V> for Views<'a, V> {
    fn from(view: &'a V) -> Self {
        Views(std::slice::from_ref(view))
    }
}

impl<'a, V> From<&'a [V]> for Views<'a, V> {
    fn from(views: &'a [V]) -> Self {
        Views(views)
    }
}

impl<'a, V> Views<'a, V> {
    /// The view of a source. Asserts that there is one, which [`prepare`](crate::prepare()) has looked at for all of a plan.
    #[inline]
    pub fn of(self, source: Source) -> &'a V {
        match self.0.get(usize::from(source.0)) {
            Some(view) => view,
            None => absent(source, self.0.len()),
        }
    }

    /// The store's.
    pub fn store(self) -> &'a V {
        self.of(Source::STORE)
    }
}

#[cold]
fn absent(source: Source, views: usize) -> ! {
    panic!(
        "a plan names source {}, and its walk has {views} views",
        source.0
    )
}

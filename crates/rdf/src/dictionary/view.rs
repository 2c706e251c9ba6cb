//! What one reader sees of a dictionary that grows: the terms that there were at one moment.
//!
//! A view is two words and four counts, cloned freely; it keeps the dictionary's memory. Where it
//! sees exactly the files, it costs what they cost and one comparison a batch.

use super::grown::Grown;
use super::live::LiveDictionary;
use super::lookup::Scope;
use super::table::KeyBatch;
use super::{Dictionary, KeyScan, TermCounts};
use crate::id::{Tag, VertexId};
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use oxrdf::TermRef;
use std::sync::Arc;

/// The terms that there were at one moment; made by [`LiveDictionary::view`].
#[derive(Clone, Debug)]
pub struct DictionaryView {
    live: Arc<LiveDictionary>,
    counts: TermCounts,
}

impl LiveDictionary {
    /// What a reader sees who knows these terms and no later ones. The counts come from
    /// [`LiveDictionary::counts`], of this dictionary or one that it was rebased from (asserted not
    /// to exceed what there is).
    pub fn view(self: &Arc<Self>, counts: TermCounts) -> DictionaryView {
        DictionaryView::new(Arc::clone(self), counts)
    }
}

impl DictionaryView {
    fn new(live: Arc<LiveDictionary>, counts: TermCounts) -> DictionaryView {
        let now = live.counts();
        assert!(
            counts.iris <= now.iris
                && counts.blank_nodes <= now.blank_nodes
                && counts.literals <= now.literals
                && counts.triple_terms <= now.triple_terms,
            "a reader sees terms that there are"
        );
        DictionaryView { live, counts }
    }

    /// Number of terms of each kind that are seen.
    pub fn counts(&self) -> TermCounts {
        self.counts
    }

    /// The files under the new terms.
    pub fn base(&self) -> &Arc<Dictionary> {
        self.live.base()
    }

    /// The dictionary that this is a view of.
    pub fn live(&self) -> &Arc<LiveDictionary> {
        &self.live
    }

    /// The keys of one kind from an ordinal on, in order, as [`Dictionary::keys`] gives them.
    pub fn keys(&self, kind: Tag, from_ordinal: u64) -> ViewScan<'_> {
        let terms = self.live.grown();
        ViewScan {
            base: self.base().keys(kind, from_ordinal),
            base_count: terms.start.of(kind),
            grown: terms.of(kind),
            next: from_ordinal,
            count: self.counts.of(kind),
            key: Vec::new(),
        }
    }

    /// Appends to `ordinals` what [`Dictionary::find`] would, of the terms that are seen.
    pub fn find(
        &self,
        kind: Tag,
        keys: &KeyBatch,
        ordinals: &mut Vec<Option<u64>>,
    ) -> Result<(), LexiconError> {
        let first = ordinals.len();
        ordinals.resize(first + keys.len(), None);
        self.scope().find(kind, keys, |position, ordinal| {
            ordinals[first + position] = Some(ordinal);
        })
    }

    #[inline]
    fn scope(&self) -> Scope<'_> {
        let terms = self.live.grown();
        Scope {
            base: self.live.base(),
            grown: (self.counts != terms.start).then_some(terms),
            counts: self.counts,
        }
    }
}

impl Lexicon for DictionaryView {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        self.scope().append_ids(terms, ids, 0)
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        self.terms_within(ids, usize::MAX, terms).map(|_| ())
    }

    fn terms_within(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, LexiconError> {
        self.scope().append_terms(ids, text_bytes_max, terms, 0)
    }
}

/// Keys one after another; made by [`DictionaryView::keys`]. It lends each key.
pub struct ViewScan<'a> {
    base: KeyScan<'a>,
    base_count: u64,
    grown: Option<&'a Grown>,
    next: u64,
    count: u64,
    key: Vec<u8>,
}

impl ViewScan<'_> {
    /// The ordinal of the key that [`ViewScan::next_key`] gives next.
    pub fn ordinal(&self) -> u64 {
        self.next
    }

    /// The next key, or `None` after the last one. After an error it goes on behind the key that
    /// could not be read.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>, LexiconError> {
        let Some(grown) = self.grown.filter(|_| self.next < self.count) else {
            return Ok(None);
        };
        let ordinal = self.next;
        self.next += 1;
        match ordinal.checked_sub(self.base_count) {
            None => self.base.next_key(),
            Some(new) => {
                grown.key(new, &mut self.key);
                Ok(Some(&self.key))
            }
        }
    }
}

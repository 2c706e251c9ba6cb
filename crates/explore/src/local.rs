//! Terms that exist in one query only: constants of its text that the store does not hold, and terms
//! that it computes.
//!
//! Such a term matches no pattern, but expressions see it and it may travel to the result. Its id
//! carries [`Tag::QueryLocal`] and says where in this table it is. Invariant: equal terms have one id,
//! so that equality of ids stays equality of terms within the query. So a computed term gets an inline
//! id where [`rdf::inline`] has one, else the dictionary's, which is the caller's to ask first, else an
//! id of this table.
//!
//! ```text
//!  id 3:1     pages     page 3: the new terms of one call          index, by some bits of the hash
//!             +-----+   +--------------------------------+         +---------------------------+
//!             |  3 -|-->| "ab" | "cd"@en | "ef"^^xsd:int |         | hash -> id 3:1 | ...      |
//! ```
//!
//! Shared by the workers of a query: appending takes a lock, reading takes none, and a term stays
//! where it is until the query ends. The terms of one call lie in pages of at most [`PAGE_BYTES`] of
//! text, so that millions of terms are freed with thousands of blocks: freeing a block each took
//! longer than a cancelled query may. The index is cut into shards that grow one by one and keep
//! hashes, so that growing never reads a term.
//!
//! Memory, drawn on the query's budget before it is taken: a page's text, 40 bytes a term, and 20 to 60
//! bytes a term for the index.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `pages` | the worker that has the lock of `index` | any worker, without a lock: a page whose number is in an id does not change |
//! | `index` | workers with its lock | the same |

use crate::error::WalkError;
use crate::limits::{Limits, MemoryBudget, Reservation};
use hashbrown::HashTable;
use oxrdf::vocab::xsd;
use oxrdf::{Term, TermRef};
use rdf::{Tag, TermBuffer, VertexId};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Bytes of text after which another page is begun.
const PAGE_BYTES: usize = 1 << 18;

/// Bits of an id that number a term within its page.
const PLACE_BITS: u32 = 28;

/// Tables of the index. A power of two.
const SHARDS: usize = 64;

/// The least number of bytes that are drawn on the budget at once, as a share of those in use: a draw
/// for each term would be two operations on a counter that all workers share.
const DRAWN_SHARE: u64 = 16;

/// Bytes of a triple term's parts besides their text.
const PARTS_BYTES: u64 = 128;
const _: () = assert!(
    PLACE_BITS < VertexId::PAYLOAD_BITS,
    "an id has room for its page"
);
const _: () = assert!(SHARDS.is_power_of_two(), "a shard is some bits of a hash");

/// The table; see the module's documentation.
pub struct LocalTerms<'a> {
    pages: boxcar::Vec<TermBuffer>,
    index: Mutex<Index>,
    memory: &'a dyn MemoryBudget,
}

#[derive(Default)]
struct Index {
    shards: Vec<HashTable<Entry>>,
    /// Bytes in use, and how many were drawn for them.
    used: u64,
    drawn: u64,
}

/// A term that is known.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    id: VertexId,
}

/// A page in the making, and its number once it is kept.
struct Page {
    terms: TermBuffer,
    number: u64,
    /// What was drawn for it.
    bytes: u64,
}

impl<'a> LocalTerms<'a> {
    /// An empty table that draws on this budget.
    pub(crate) fn new(limits: Limits<'a>) -> LocalTerms<'a> {
        LocalTerms {
            pages: boxcar::Vec::new(),
            index: Mutex::default(),
            memory: limits.memory,
        }
    }

    /// Appends the id of each of these terms, new or known, under one lock. Expected O(terms). The caller has found
    /// that neither an inline id nor the dictionary has them, or looks later.
    pub fn ids_of<'t>(
        &self,
        terms: impl Iterator<Item = TermRef<'t>>,
        ids: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let hashed: Vec<(u64, TermRef<'t>)> = terms.map(|term| (hash(term), term)).collect();
        if hashed.is_empty() {
            return Ok(());
        }
        // A thread that panicked here has ended the query; what is in the table is whole.
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = None;
        for (at, &(hash, term)) in hashed.iter().enumerate() {
            ids.push(self.add(&mut index, &mut page, hash, &hashed[at..], term)?);
        }
        self.keep(&mut index, page);
        Ok(())
    }

    /// Draws bytes on the budget for a while: until what is given is dropped.
    pub(crate) fn borrow(&self, bytes: u64) -> Result<Reservation<'_>, WalkError> {
        let mut reservation = Reservation::of(self.memory);
        reservation.cover(bytes)?;
        Ok(reservation)
    }

    /// The id of a term; `rest` are the terms of the call that are not added yet, this one first.
    fn add(
        &self,
        index: &mut Index,
        page: &mut Option<Page>,
        hash: u64,
        rest: &[(u64, TermRef<'_>)],
        term: TermRef<'_>,
    ) -> Result<VertexId, WalkError> {
        let is_same =
            |entry: &Entry| entry.hash == hash && self.at(page.as_ref(), entry.id) == Some(term);
        index.shards.resize_with(SHARDS, HashTable::new);
        let shard = &index.shards[shard_of(hash)];
        if let Some(entry) = shard.find(hash, is_same) {
            return Ok(entry.id);
        }
        let bytes = text_bytes(term);
        let is_full = |page: &Page| page.terms.text_bytes() + bytes as usize > PAGE_BYTES;
        if page.as_ref().is_some_and(is_full) {
            self.keep(index, page.take());
        }
        if let TermRef::Triple(_) = term {
            index.draw(bytes + PARTS_BYTES, self.memory)?;
        }
        let page = match page {
            Some(page) => page,
            None => page.insert(self.begin(index, rest)?),
        };
        index.make_room(hash, self.memory)?;
        let place = page.terms.terms_len() as u64;
        assert!(place < 1 << PLACE_BITS, "a call has few terms");
        let number = page.number;
        if number >> (VertexId::PAYLOAD_BITS - PLACE_BITS) > 0 {
            return Err(WalkError::TooManyRows);
        }
        page.terms.push(term);
        let id = VertexId::new(Tag::QueryLocal, number << PLACE_BITS | place);
        let shard = &mut index.shards[shard_of(hash)];
        shard.insert_unique(hash, Entry { hash, id }, |entry| entry.hash);
        Ok(id)
    }

    /// A page with room for the first of these terms and as many more as it may hold.
    fn begin(&self, index: &mut Index, rest: &[(u64, TermRef<'_>)]) -> Result<Page, WalkError> {
        let (mut terms, mut text) = (0, 0);
        for (_, term) in rest {
            let bytes = text_bytes(*term) as usize;
            if terms > 0 && text + bytes > PAGE_BYTES {
                break;
            }
            (terms, text) = (terms + 1, text + bytes);
        }
        let bytes = (TermBuffer::capacity_bytes(terms, text) + size_of::<TermBuffer>()) as u64;
        index.draw(bytes, self.memory)?;
        Ok(Page {
            terms: TermBuffer::with_capacity(terms, text),
            // Pages are pushed under the index's lock only.
            number: self.pages.count() as u64,
            bytes,
        })
    }

    /// Lets all readers see a page.
    fn keep(&self, index: &mut Index, page: Option<Page>) {
        if let Some(mut page) = page {
            page.terms.shrink_to_fit();
            let held = (page.terms.bytes() + size_of::<TermBuffer>()) as u64;
            assert!(page.bytes <= index.used, "what a page holds was drawn");
            index.used -= page.bytes.saturating_sub(held);
            let number = self.pages.push(page.terms) as u64;
            assert_eq!(number, page.number, "pages are pushed one by one");
        }
    }

    /// A known term, which may lie in the page that is being made.
    fn at<'s>(&'s self, page: Option<&'s Page>, id: VertexId) -> Option<TermRef<'s>> {
        match page {
            Some(page) if id.payload() >> PLACE_BITS == page.number => page.terms.get(place_of(id)),
            _ => self.get(id),
        }
    }

    /// The term of an id of this table; `None` for any other id.
    pub fn get(&self, id: VertexId) -> Option<TermRef<'_>> {
        if !id.has_tag(Tag::QueryLocal) {
            return None;
        }
        let page = usize::try_from(id.payload() >> PLACE_BITS).ok()?;
        let terms = self.pages.get(page)?;
        (place_of(id) < terms.terms_len()).then(|| terms.get(place_of(id)))?
    }

    /// All terms with their ids, in the order in which they were added.
    pub fn terms(&self) -> impl Iterator<Item = (VertexId, TermRef<'_>)> {
        self.pages.iter().flat_map(|(number, page)| {
            let id = move |place: usize| {
                VertexId::new(Tag::QueryLocal, (number << PLACE_BITS | place) as u64)
            };
            let terms = (0..page.terms_len()).map(move |place| (id(place), page.get(place)));
            terms.filter_map(|(id, term)| Some((id, term?)))
        })
    }

    /// The same as a term of its own.
    pub fn term(&self, id: VertexId) -> Option<Term> {
        self.get(id).map(TermRef::into_owned)
    }
}

impl Index {
    /// Says that so many bytes more are about to be used.
    fn draw(&mut self, bytes: u64, memory: &dyn MemoryBudget) -> Result<(), WalkError> {
        let used = self.used + bytes;
        if used > self.drawn {
            let wanted = (used - self.drawn).max(used / DRAWN_SHARE);
            let least = used - self.drawn;
            // Near the limit what is needed may still be there.
            let granted = match memory.try_reserve(wanted) {
                Ok(()) => wanted,
                Err(_) => memory
                    .try_reserve(least)
                    .map(|()| least)
                    .map_err(WalkError::from)?,
            };
            self.drawn += granted;
        }
        assert!(used <= self.drawn, "what is used was drawn");
        self.used = used;
        Ok(())
    }

    /// Doubles a shard that is full; the old one is there until the new one is.
    fn make_room(&mut self, hash: u64, memory: &dyn MemoryBudget) -> Result<(), WalkError> {
        let shard = &self.shards[shard_of(hash)];
        let held = shard.capacity();
        if shard.len() < held {
            return Ok(());
        }
        let wanted = (2 * held).max(3);
        let bytes = crate::limits::table_bytes::<Entry>(wanted);
        self.draw(bytes, memory)?;
        let shard = &mut self.shards[shard_of(hash)];
        shard.reserve(wanted - held, |entry| entry.hash);
        self.used -= crate::limits::table_bytes::<Entry>(held);
        Ok(())
    }
}

impl Drop for LocalTerms<'_> {
    fn drop(&mut self) {
        let index = self.index.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.memory.release(index.drawn);
    }
}

fn place_of(id: VertexId) -> usize {
    (id.payload() & ((1 << PLACE_BITS) - 1)) as usize
}

/// Bits that choose neither the bucket nor the tag within a table.
fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// Bytes of a term's text.
pub(crate) fn text_bytes(term: TermRef<'_>) -> u64 {
    match term {
        TermRef::NamedNode(iri) => iri.as_str().len() as u64,
        TermRef::BlankNode(blank) => blank.as_str().len() as u64,
        TermRef::Literal(literal) => {
            let second = match literal.language() {
                Some(language) => language.len(),
                None if literal.datatype() == xsd::STRING => 0,
                None => literal.datatype().as_str().len(),
            };
            (literal.value().len() + second) as u64
        }
        TermRef::Triple(triple) => {
            let ends = [triple.subject.as_ref().into(), triple.object.as_ref()];
            let nested: u64 = ends.into_iter().map(text_bytes).sum();
            nested + triple.predicate.as_str().len() as u64 + PARTS_BYTES
        }
    }
}

fn hash(term: TermRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}

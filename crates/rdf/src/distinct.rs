//! The distinct terms of a batch, by first appearance.
//!
//! Quads of a batch name the same terms again and again: ten times each in a stream of likes. Finding the id of a term
//! costs some 2,000 instructions in a dictionary (a hash, a block of its files, the new terms); finding that it was
//! named before costs a hash and a comparison. So a batch is laid out here first, and each of its terms looked up once.
//!
//! Terms are borrowed from the batch. Those that were made for it, as blank nodes with labels of their own are, are
//! kept as they come: nobody else has their text.
//!
//! Cost: 5 to 10 bytes of the table and 32 of the list for each distinct term; some 100 instructions for each that is
//! named.

use hashbrown::HashTable;
use oxrdf::{LiteralRef, Term, TermRef};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A term, or a text that only this has.
#[derive(Debug)]
enum Held<'t> {
    Borrowed(TermRef<'t>),
    Own(Term),
}

/// The distinct terms of a batch; see the module's documentation.
#[derive(Debug)]
pub struct DistinctTerms<'t> {
    terms: Vec<Held<'t>>,
    places: HashTable<u32>,
    seed: u64,
}

impl<'t> DistinctTerms<'t> {
    /// None yet. `seed`: what whoever wrote the terms cannot know, for the hash table.
    pub fn new(seed: u64) -> DistinctTerms<'t> {
        DistinctTerms {
            terms: Vec::new(),
            places: HashTable::new(),
            seed,
        }
    }

    /// How many there are (count).
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The place of a term among them; it is added if it is new. Blank nodes and triple terms always are: what they are
    /// called says too little. Asserts that there are fewer than 2^32.
    #[inline]
    pub fn place(&mut self, term: TermRef<'t>) -> u32 {
        let DistinctTerms {
            terms,
            places,
            seed,
        } = self;
        let Some(hash) = hash(term, *seed) else {
            return self.add(Held::Borrowed(term));
        };
        let is_same = |place: &u32| match &terms[*place as usize] {
            Held::Borrowed(known) => *known == term,
            Held::Own(_) => false,
        };
        if let Some(place) = places.find(hash, is_same) {
            return *place;
        }
        let place = next_place(terms.len());
        places.insert_unique(hash, place, |place| match &terms[*place as usize] {
            Held::Borrowed(known) => self::hash(*known, *seed).unwrap_or_default(),
            Held::Own(_) => 0,
        });
        terms.push(Held::Borrowed(term));
        place
    }

    /// Adds a term that was made for this batch, whether or not it is there.
    pub fn own(&mut self, term: Term) -> u32 {
        self.add(Held::Own(term))
    }

    /// The term of a place. Asserts that there is one.
    pub fn get(&self, place: u32) -> TermRef<'_> {
        self.terms[place as usize].term()
    }

    /// All of them, by place.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TermRef<'_>> {
        self.terms.iter().map(Held::term)
    }

    fn add(&mut self, held: Held<'t>) -> u32 {
        let place = next_place(self.terms.len());
        self.terms.push(held);
        place
    }
}

impl Held<'_> {
    fn term(&self) -> TermRef<'_> {
        match self {
            Held::Borrowed(term) => *term,
            Held::Own(term) => term.as_ref(),
        }
    }
}

fn next_place(terms: usize) -> u32 {
    u32::try_from(terms).expect("a batch has fewer than 2^32 terms")
}

/// The hash of a term that is named by its text; literals of one value share it.
#[inline]
fn hash(term: TermRef<'_>, seed: u64) -> Option<u64> {
    match term {
        TermRef::NamedNode(iri) => Some(xxh3_64_with_seed(iri.as_str().as_bytes(), seed)),
        TermRef::Literal(literal) => Some(hash_of_literal(literal, seed)),
        TermRef::BlankNode(_) | TermRef::Triple(_) => None,
    }
}

fn hash_of_literal(literal: LiteralRef<'_>, seed: u64) -> u64 {
    // Apart from the IRI of the same text.
    xxh3_64_with_seed(literal.value().as_bytes(), !seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::vocab::xsd;
    use oxrdf::{BlankNode, Literal, NamedNode};

    #[test]
    fn terms_have_places_by_first_appearance() {
        let iri: Term = NamedNode::new_unchecked("urn:a").into();
        let same: Term = NamedNode::new_unchecked(String::from("urn:a")).into();
        let text: Term = Literal::new_simple_literal("urn:a").into();
        let typed: Term = Literal::new_typed_literal("urn:a", xsd::TOKEN).into();
        let tagged: Term = Literal::new_language_tagged_literal_unchecked("urn:a", "en").into();
        let blank: Term = BlankNode::new_unchecked("b1").into();
        let mut distinct = DistinctTerms::new(7);
        let mut place = |term| distinct.place(term);
        assert_eq!(place(iri.as_ref()), 0);
        assert_eq!(place(text.as_ref()), 1);
        assert_eq!(place(typed.as_ref()), 2);
        assert_eq!(place(tagged.as_ref()), 3);
        assert_eq!(place(same.as_ref()), 0);
        assert_eq!(place(tagged.as_ref()), 3);
        assert_eq!(place(typed.as_ref()), 2);
        assert_eq!(place(text.as_ref()), 1);
        assert_eq!(place(blank.as_ref()), 4);
        assert_eq!(place(blank.as_ref()), 5);
        assert_eq!(distinct.own(iri.clone()), 6);
        assert_eq!(distinct.place(iri.as_ref()), 0);
        assert_eq!((distinct.len(), distinct.get(6)), (7, iri.as_ref()));
        assert!(
            distinct
                .iter()
                .eq([&iri, &text, &typed, &tagged, &blank, &blank, &iri].map(Term::as_ref))
        );
    }

    #[test]
    fn many_terms_keep_their_places_while_the_table_grows() {
        let terms: Vec<Term> = (0..5000)
            .map(|number| NamedNode::new_unchecked(format!("urn:{number}")).into())
            .collect();
        let mut distinct = DistinctTerms::new(0);
        for _ in 0..2 {
            for (place, term) in (0..).zip(&terms) {
                assert_eq!(distinct.place(term.as_ref()), place);
            }
        }
        assert!(distinct.len() == 5000 && !distinct.is_empty());
    }
}

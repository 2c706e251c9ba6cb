//! Quads of data, compactly: each term once in an arena, or nearly, and 16 bytes a quad.
//!
//! A request may hold a million quads, most of whose subjects and predicates repeat. As owned terms
//! they take some 700 bytes each; here a quad is four places in a list of terms, which is also how
//! whoever carries the request out wants them: a term that is listed once is looked up once. Terms
//! may be listed more than once; equality of places says nothing, equality of terms does.

use oxrdf::vocab::{rdf as rdf_vocabulary, xsd};
use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term, TermRef};
use rdf::TermBuffer;

/// The quads of `INSERT DATA` or `DELETE DATA`, in the order of the text.
///
/// A blank node is a number: the order in which the labels stand in the text, one new node for each,
/// in this operation only. Within triple terms, and in [`Data::iter`], its label is `b` and the number.
#[derive(Clone, Debug, Default)]
pub struct Data {
    terms: TermBuffer,
    quads: Vec<[TermIndex; 4]>,
    blanks: u32,
}

/// Where a term of a quad stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TermIndex(u32);

/// The bit of a blank node's number.
const BLANK: u32 = 1 << 31;
const _: () = assert!(
    TermIndex::NONE.0 == BLANK | (BLANK - 1),
    "numbers end below that of none"
);

impl TermIndex {
    /// No term: the default graph.
    pub(crate) const NONE: TermIndex = TermIndex(u32::MAX);

    fn new(number: usize, kind: u32) -> TermIndex {
        let number = u32::try_from(number)
            .ok()
            .filter(|number| number < &(BLANK - 1));
        TermIndex(number.expect("a text has fewer terms than bytes") | kind)
    }

    /// The number of a blank node.
    pub(crate) fn blank(self) -> Option<u32> {
        match self.part() {
            Some(DataTerm::Blank(number)) => Some(number),
            _ => None,
        }
    }

    fn part(self) -> Option<DataTerm> {
        if self == TermIndex::NONE {
            None
        } else if self.0 & BLANK == 0 {
            Some(DataTerm::Term(self.0 as usize))
        } else {
            Some(DataTerm::Blank(self.0 & !BLANK))
        }
    }
}

/// A term of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTerm {
    /// A cell of [`Data::terms`], which is bound.
    Term(usize),
    /// The blank node of this number, below [`Data::blanks`].
    Blank(u32),
}

impl Data {
    /// Number of quads; the same one may be there twice.
    pub fn len(&self) -> usize {
        self.quads.len()
    }

    /// Whether there is no quad.
    pub fn is_empty(&self) -> bool {
        self.quads.is_empty()
    }

    /// The terms; those within a triple term are part of it, with blank nodes labelled `b0`, `b1`, ...
    pub fn terms(&self) -> &TermBuffer {
        &self.terms
    }

    /// Number of blank nodes.
    pub fn blanks(&self) -> u32 {
        self.blanks
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.terms.bytes() + self.quads.capacity() * size_of::<[TermIndex; 4]>()
    }

    /// Subject, predicate and object of each quad, and its graph unless it is the default graph.
    pub fn quads(&self) -> impl ExactSizeIterator<Item = ([DataTerm; 3], Option<DataTerm>)> {
        self.quads
            .iter()
            .map(|&[subject, predicate, object, graph]| {
                let part = |place: TermIndex| place.part().expect("a term of a triple");
                ([subject, predicate, object].map(part), graph.part())
            })
    }

    /// The quads as owned terms.
    pub fn iter(&self) -> impl Iterator<Item = Quad> {
        self.quads().map(|(triple, graph)| {
            let [subject, predicate, object] = triple.map(|term| self.owned(term));
            let subject: NamedOrBlankNode = match subject {
                Term::NamedNode(iri) => iri.into(),
                Term::BlankNode(blank) => blank.into(),
                other => unreachable!("{other} is no subject"),
            };
            let Term::NamedNode(predicate) = predicate else {
                unreachable!("{predicate} is no predicate");
            };
            let graph = match graph.map(|term| self.owned(term)) {
                None => GraphName::DefaultGraph,
                Some(Term::NamedNode(iri)) => iri.into(),
                Some(other) => unreachable!("{other} is no graph of data"),
            };
            Quad::new(subject, predicate, object, graph)
        })
    }

    fn owned(&self, term: DataTerm) -> Term {
        match term {
            DataTerm::Term(cell) => {
                let term = self.terms.get(cell).expect("the terms of data are bound");
                term.into_owned()
            }
            DataTerm::Blank(number) => BlankNode::new_unchecked(format!("b{number}")).into(),
        }
    }

    /// Appends a quad of places in this list.
    pub(crate) fn push(&mut self, quad: [TermIndex; 4]) {
        self.quads.push(quad);
    }

    /// A further blank node.
    pub(crate) fn push_blank(&mut self) -> TermIndex {
        self.blanks += 1;
        TermIndex::new(self.blanks as usize - 1, BLANK)
    }

    /// The term that `push` appends to the list.
    pub(crate) fn push_term(&mut self, push: impl FnOnce(&mut TermBuffer)) -> TermIndex {
        push(&mut self.terms);
        TermIndex::new(self.terms.len() - 1, 0)
    }

    /// A literal whose datatype is the IRI at a place in this list; `None` for the types of literals
    /// with a language.
    pub(super) fn push_typed(&mut self, lexical: &str, datatype: TermIndex) -> Option<TermIndex> {
        let Some(DataTerm::Term(cell)) = datatype.part() else {
            return None;
        };
        let Some(TermRef::NamedNode(iri)) = self.terms.get(cell) else {
            return None;
        };
        if iri == xsd::STRING {
            return Some(self.push_term(|terms| terms.push_simple(lexical)));
        }
        let has_language =
            iri == rdf_vocabulary::LANG_STRING || iri == rdf_vocabulary::DIR_LANG_STRING;
        (!has_language).then(|| self.push_term(|terms| terms.push_typed_by(lexical, cell)))
    }
}

/// The same quads in the same order; blank nodes are the same when their numbers are.
impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        let same = |one: DataTerm, two: DataTerm| match (one, two) {
            (DataTerm::Term(one), DataTerm::Term(two)) => {
                self.terms.get(one) == other.terms.get(two)
            }
            _ => one == two,
        };
        let same_graph = |one: Option<DataTerm>, two: Option<DataTerm>| match (one, two) {
            (Some(one), Some(two)) => same(one, two),
            _ => one == two,
        };
        let mut pairs = self.quads().zip(other.quads());
        self.blanks == other.blanks
            && self.len() == other.len()
            && pairs.all(|((one, graph), (two, other))| {
                let mut terms = one.into_iter().zip(two);
                terms.all(|(one, two)| same(one, two)) && same_graph(graph, other)
            })
    }
}

//! A batch of decoded terms in one arena: no allocation per term.
//!
//! ```text
//! texts:   http://e/a|http://e/b|x|en            terms:  | IRI 0..10 | IRI 10..20 | "x"@en |
//! cells:   0 0 0 1 2 0 0                         the term of each cell; none where cell i has term i
//! ```
//!
//! Shape: one cell per id asked for, in order, each unbound or a term. Cells are read back as
//! borrowed `oxrdf::TermRef`s, which is what result writers and expressions take. Terms that recur
//! may be kept once and [spread](TermBuffer::spread) over their cells: a column of results often has
//! few different ones, and whoever writes it may then [write](TermBuffer::number) each of them once.

use crate::language;
use oxrdf::{BaseDirection, BlankNodeRef, LiteralRef, NamedNodeRef, TermRef, Triple};

/// A growing batch of terms; see the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct TermBuffer {
    text: String,
    triples: Vec<Triple>,
    terms: Vec<TermSpan>,
    /// The term of each cell; empty where they are the same.
    cells: Vec<u32>,
    /// Whether language tags are written as people expect to read them.
    is_output: bool,
}

/// What a term is, and where its two texts begin and end; a term of one text has an empty second.
#[derive(Clone, Copy, Debug)]
struct TermSpan {
    first: (usize, usize),
    second: (usize, usize),
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Unbound,
    Iri,
    Blank,
    Simple,
    /// Lexical form, then datatype IRI.
    Typed,
    /// Lexical form, then language tag.
    Language,
    /// Lexical form, language tag, base direction.
    Directed(BaseDirection),
    /// One of the triples.
    Triple(u32),
}

impl TermBuffer {
    /// An empty batch.
    pub fn new() -> TermBuffer {
        TermBuffer::default()
    }

    /// An empty batch of terms that go out: their language tags are written by the conventions of BCP 47
    /// ([`crate::language`]), where they are in lower case inside.
    pub fn for_output() -> TermBuffer {
        TermBuffer {
            is_output: true,
            ..TermBuffer::default()
        }
    }

    /// An empty batch with room for so many terms of so much text together.
    pub fn with_capacity(terms: usize, text_bytes: usize) -> TermBuffer {
        TermBuffer {
            text: String::with_capacity(text_bytes),
            terms: Vec::with_capacity(terms),
            ..TermBuffer::default()
        }
    }

    /// Bytes of a batch made with [`TermBuffer::with_capacity`].
    pub const fn capacity_bytes(terms: usize, text_bytes: usize) -> usize {
        terms * size_of::<TermSpan>() + text_bytes
    }

    /// Gives memory back that no term takes.
    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.terms.shrink_to_fit();
    }

    /// Forgets the terms and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.triples.clear();
        self.terms.clear();
        self.cells.clear();
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        if self.cells.is_empty() {
            self.terms.len()
        } else {
            self.cells.len()
        }
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Bytes held, for the accounting of a query's memory.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.terms.capacity() * size_of::<TermSpan>()
            + self.triples.capacity() * size_of::<Triple>()
            + self.cells.capacity() * size_of::<u32>()
    }

    /// Bytes of the texts in it now.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Number of terms that are kept: at most as many as there are cells.
    pub fn terms_len(&self) -> usize {
        self.terms.len()
    }

    /// The number of the term in cell `index`, below [`TermBuffer::terms_len`]: cells with the same
    /// number hold the same term.
    #[inline]
    pub fn number(&self, index: usize) -> usize {
        self.cells.get(index).map_or(index, |term| *term as usize)
    }

    /// Bytes of the text of term `number`.
    #[inline]
    pub fn term_bytes(&self, number: usize) -> usize {
        let TermSpan { first, second, .. } = &self.terms[number];
        (first.1 - first.0) + (second.1 - second.0)
    }

    /// Gives the terms pushed so far, which are numbered in order, to as many cells as there are
    /// `numbers`: cell `i` has term `numbers[i]`. A number of no term panics when its cell is read.
    pub fn spread(&mut self, numbers: &[u32]) {
        if numbers.is_empty() {
            self.clear();
        }
        self.cells.clear();
        self.cells.extend_from_slice(numbers);
    }

    /// Appends an unbound cell.
    pub fn push_unbound(&mut self) {
        self.push_text("", "", Kind::Unbound);
    }

    /// Appends an IRI.
    #[inline]
    pub fn push_iri(&mut self, iri: &str) {
        self.push_text(iri, "", Kind::Iri);
    }

    /// Appends a blank node with this label (without `_:`).
    pub fn push_blank(&mut self, label: &str) {
        self.push_text(label, "", Kind::Blank);
    }

    /// Appends an `xsd:string` literal.
    #[inline]
    pub fn push_simple(&mut self, lexical: &str) {
        self.push_text(lexical, "", Kind::Simple);
    }

    /// Appends a literal with a datatype other than `xsd:string` and the language types.
    pub fn push_typed(&mut self, lexical: &str, datatype: &str) {
        self.push_text(lexical, datatype, Kind::Typed);
    }

    /// Appends a literal whose datatype's IRI is `namespace` followed by `local`.
    pub fn push_typed_in(&mut self, lexical: &str, namespace: &str, local: &str) {
        self.push_text(lexical, namespace, Kind::Typed);
        self.text.push_str(local);
        if let Some(place) = self.terms.last_mut() {
            place.second.1 = self.text.len();
        }
    }

    /// Appends a literal whose datatype is the IRI of cell `datatype`, which keeps its text for both.
    /// Panics if that cell is no IRI.
    pub fn push_typed_by(&mut self, lexical: &str, datatype: usize) {
        let place = self.terms[self.number(datatype)];
        assert!(matches!(place.kind, Kind::Iri), "cell {datatype} is no IRI");
        self.push_text(lexical, "", Kind::Typed);
        if let Some(typed) = self.terms.last_mut() {
            typed.second = place.first;
        }
    }

    /// Appends a language-tagged literal.
    pub fn push_language(
        &mut self,
        lexical: &str,
        language: &str,
        direction: Option<BaseDirection>,
    ) {
        let kind = direction.map_or(Kind::Language, Kind::Directed);
        self.push_text(lexical, language, kind);
        if self.is_output {
            let tag = self.text.len() - language.len();
            language::make_conventional(&mut self.text[tag..]);
        }
    }

    /// Appends a triple term.
    pub fn push_triple(&mut self, mut triple: Triple) {
        if self.is_output {
            language::make_triple_conventional(&mut triple);
        }
        let index = u32::try_from(self.triples.len()).expect("a batch has far fewer triple terms");
        self.triples.push(triple);
        self.push_text("", "", Kind::Triple(index));
    }

    /// Appends any term.
    pub fn push(&mut self, term: TermRef<'_>) {
        match term {
            TermRef::NamedNode(iri) => self.push_iri(iri.as_str()),
            TermRef::BlankNode(blank) => self.push_blank(blank.as_str()),
            TermRef::Literal(literal) => self.push_literal(literal),
            TermRef::Triple(triple) => self.push_triple(triple.clone()),
        }
    }

    fn push_literal(&mut self, literal: LiteralRef<'_>) {
        if let Some(language) = literal.language() {
            self.push_language(literal.value(), language, literal.direction());
        } else if literal.datatype() == oxrdf::vocab::xsd::STRING {
            self.push_simple(literal.value());
        } else {
            self.push_typed(literal.value(), literal.datatype().as_str());
        }
    }

    /// The term of cell `index`; `None` where it is unbound.
    #[inline]
    pub fn get(&self, index: usize) -> Option<TermRef<'_>> {
        self.term(self.number(index))
    }

    /// Term `number`; `None` where it is none.
    #[inline]
    pub fn term(&self, number: usize) -> Option<TermRef<'_>> {
        let place = &self.terms[number];
        let first = &self.text[place.first.0..place.first.1];
        Some(match place.kind {
            Kind::Unbound => return None,
            Kind::Iri => NamedNodeRef::new_unchecked(first).into(),
            Kind::Blank => BlankNodeRef::new_unchecked(first).into(),
            Kind::Simple => LiteralRef::new_simple_literal(first).into(),
            Kind::Typed => {
                let datatype = NamedNodeRef::new_unchecked(self.second(place));
                LiteralRef::new_typed_literal(first, datatype).into()
            }
            Kind::Language => {
                let language = self.second(place);
                LiteralRef::new_language_tagged_literal_unchecked(first, language).into()
            }
            Kind::Directed(direction) => {
                LiteralRef::new_directional_language_tagged_literal_unchecked(
                    first,
                    self.second(place),
                    direction,
                )
                .into()
            }
            Kind::Triple(index) => TermRef::Triple(&self.triples[index as usize]),
        })
    }

    /// The cells in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<TermRef<'_>>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Appends a term with two texts, and a cell that holds it.
    #[inline]
    fn push_text(&mut self, first: &str, second: &str, kind: Kind) {
        if !self.cells.is_empty() {
            self.add_cell();
        }
        let start = self.text.len();
        self.text.push_str(first);
        let middle = self.text.len();
        self.text.push_str(second);
        self.terms.push(TermSpan {
            first: (start, middle),
            second: (middle, self.text.len()),
            kind,
        });
    }

    /// A cell for the term that comes next, where terms were spread before.
    #[cold]
    fn add_cell(&mut self) {
        let number = u32::try_from(self.terms.len()).expect("a batch has far fewer terms");
        self.cells.push(number);
    }

    fn second(&self, place: &TermSpan) -> &str {
        &self.text[place.second.0..place.second.1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(buffer: &TermBuffer) -> Vec<String> {
        let cells = buffer.iter();
        let text =
            |cell: Option<TermRef<'_>>| cell.map_or_else(String::new, |term| term.to_string());
        cells.map(text).collect()
    }

    #[test]
    fn tags_are_rewritten_where_terms_go_out() {
        for (mut buffer, tag) in [
            (TermBuffer::new(), "zh-hant-tw"),
            (TermBuffer::for_output(), "zh-Hant-TW"),
        ] {
            buffer.push_language("a", "zh-hant-tw", None);
            buffer.push_language("b", "zh-hant-tw", Some(BaseDirection::Ltr));
            buffer.push_language("c", "en", None);
            let expected = [
                format!("\"a\"@{tag}"),
                format!("\"b\"@{tag}--ltr"),
                "\"c\"@en".to_owned(),
            ];
            assert_eq!(texts(&buffer), expected);
            buffer.clear();
            buffer.push_language("a", "zh-hant-tw", None);
            assert_eq!(texts(&buffer), [format!("\"a\"@{tag}")]);
        }
    }

    #[test]
    fn terms_are_spread_over_cells() {
        let mut buffer = TermBuffer::new();
        buffer.push_iri("http://e/a");
        buffer.push_typed_in("1", "http://e/", "d");
        buffer.push_unbound();
        assert_eq!((buffer.len(), buffer.number(1)), (3, 1));
        buffer.spread(&[1, 0, 1, 2]);
        let expected = [
            "\"1\"^^<http://e/d>",
            "<http://e/a>",
            "\"1\"^^<http://e/d>",
            "",
        ];
        assert_eq!(texts(&buffer), expected);
        assert_eq!((buffer.len(), buffer.terms_len()), (4, 3));
        assert_eq!(buffer.number(0), buffer.number(2));
        assert_eq!(buffer.term_bytes(1), "1http://e/d".len());
        buffer.push_language("x", "ar", Some(BaseDirection::Rtl));
        assert_eq!(buffer.len(), 5);
        assert_eq!(texts(&buffer)[4], "\"x\"@ar--rtl");
        buffer.push_typed_by("2", 1);
        assert_eq!(texts(&buffer)[5], "\"2\"^^<http://e/a>");
        buffer.push_simple("z");
        assert_eq!(texts(&buffer)[6], "\"z\"");
        buffer.spread(&[]);
        assert!(buffer.is_empty() && buffer.iter().next().is_none());
        buffer.push_simple("y");
        assert_eq!(texts(&buffer), ["\"y\""]);
    }
}

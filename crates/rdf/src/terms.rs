//! A batch of decoded terms in one arena: no allocation per term.
//!
//! Shape: one cell per id asked for, in order, each unbound or a term. Cells are read back as
//! borrowed `oxrdf::TermRef`s, which is what result writers and expressions take.

use oxrdf::{BaseDirection, BlankNodeRef, LiteralRef, NamedNodeRef, TermRef, Triple};

/// A growing batch of terms; see the module's documentation.
#[derive(Debug, Default)]
pub struct TermBuffer {
    text: String,
    triples: Vec<Triple>,
    cells: Vec<Cell>,
}

/// One cell: offsets into the text (or the list of triples).
#[derive(Clone, Copy, Debug)]
enum Cell {
    Unbound,
    Iri(Span),
    Blank(Span),
    Simple(Span),
    /// Lexical form, then datatype IRI.
    Typed(Span, Span),
    /// Lexical form, then language tag.
    Language(Span, Span),
    /// Lexical form, language tag, base direction.
    Directed(Span, Span, BaseDirection),
    Triple(u32),
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
}

impl TermBuffer {
    /// An empty batch.
    pub fn new() -> TermBuffer {
        TermBuffer::default()
    }

    /// Forgets the terms and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.triples.clear();
        self.cells.clear();
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bytes held, for the accounting of a query's memory.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.cells.capacity() * size_of::<Cell>()
            + self.triples.capacity() * size_of::<Triple>()
    }

    /// Bytes of the texts in it now.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Appends an unbound cell.
    pub fn push_unbound(&mut self) {
        self.cells.push(Cell::Unbound);
    }

    /// Appends an IRI.
    pub fn push_iri(&mut self, iri: &str) {
        let span = self.keep(iri);
        self.cells.push(Cell::Iri(span));
    }

    /// Appends a blank node with this label (without `_:`).
    pub fn push_blank(&mut self, label: &str) {
        let span = self.keep(label);
        self.cells.push(Cell::Blank(span));
    }

    /// Appends an `xsd:string` literal.
    pub fn push_simple(&mut self, lexical: &str) {
        let span = self.keep(lexical);
        self.cells.push(Cell::Simple(span));
    }

    /// Appends a literal with a datatype other than `xsd:string` and the language types.
    pub fn push_typed(&mut self, lexical: &str, datatype: &str) {
        let lexical = self.keep(lexical);
        let datatype = self.keep(datatype);
        self.cells.push(Cell::Typed(lexical, datatype));
    }

    /// Appends a literal whose datatype's IRI is `namespace` followed by `local`.
    pub fn push_typed_in(&mut self, lexical: &str, namespace: &str, local: &str) {
        let lexical = self.keep(lexical);
        let mut datatype = self.keep(namespace);
        datatype.end = self.keep(local).end;
        self.cells.push(Cell::Typed(lexical, datatype));
    }

    /// Appends a language-tagged literal.
    pub fn push_language(
        &mut self,
        lexical: &str,
        language: &str,
        direction: Option<BaseDirection>,
    ) {
        let lexical = self.keep(lexical);
        let language = self.keep(language);
        self.cells.push(match direction {
            None => Cell::Language(lexical, language),
            Some(direction) => Cell::Directed(lexical, language, direction),
        });
    }

    /// Appends a triple term.
    pub fn push_triple(&mut self, triple: Triple) {
        let index = u32::try_from(self.triples.len()).expect("a batch has far fewer triple terms");
        self.triples.push(triple);
        self.cells.push(Cell::Triple(index));
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
    pub fn get(&self, index: usize) -> Option<TermRef<'_>> {
        Some(match self.cells[index] {
            Cell::Unbound => return None,
            Cell::Iri(iri) => NamedNodeRef::new_unchecked(self.text(iri)).into(),
            Cell::Blank(label) => BlankNodeRef::new_unchecked(self.text(label)).into(),
            Cell::Simple(lexical) => LiteralRef::new_simple_literal(self.text(lexical)).into(),
            Cell::Typed(lexical, datatype) => LiteralRef::new_typed_literal(
                self.text(lexical),
                NamedNodeRef::new_unchecked(self.text(datatype)),
            )
            .into(),
            Cell::Language(lexical, language) => LiteralRef::new_language_tagged_literal_unchecked(
                self.text(lexical),
                self.text(language),
            )
            .into(),
            Cell::Directed(lexical, language, direction) => {
                LiteralRef::new_directional_language_tagged_literal_unchecked(
                    self.text(lexical),
                    self.text(language),
                    direction,
                )
                .into()
            }
            Cell::Triple(index) => TermRef::Triple(&self.triples[index as usize]),
        })
    }

    /// The cells in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<TermRef<'_>>> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn keep(&mut self, text: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(text);
        Span {
            start,
            end: self.text.len(),
        }
    }

    fn text(&self, span: Span) -> &str {
        &self.text[span.start..span.end]
    }
}

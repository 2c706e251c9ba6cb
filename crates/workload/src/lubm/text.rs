//! The pieces of text that all syntaxes share: decimal numbers and the IRIs of a department.
//!
//! Invariant: an IRI is written without its closing bracket, so that a writer's terminator
//! (`> .`, `> <graph> .`, `>`) is one append. The prefixes of a department's members are built
//! once a department, some 7,000 triples; a node is then two or three appends. Everything is
//! ASCII without a character that needs an escape.

use super::names::{Class, Member, Node};
use super::parameters::{DepartmentIndex, UniversityIndex};

const DECIMAL_DIGITS_MAX: usize = 10;

/// Appends `number` in decimal, without padding.
#[inline]
pub(super) fn push_decimal(out: &mut Vec<u8>, number: u32) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut first = DECIMAL_DIGITS_MAX;
    let mut rest = number;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// The text of a department that its triples repeat.
#[derive(Debug)]
pub(super) struct PlaceText {
    /// `Department0.University0.edu`.
    pub(super) host: Vec<u8>,
    university: UniversityIndex,
    department: DepartmentIndex,
    /// `<http://www.Department0.University0.edu`.
    department_iri: Vec<u8>,
    /// By class: `<http://www.Department0.University0.edu/Course`.
    members: [Vec<u8>; Class::ALL.len()],
}

impl PlaceText {
    pub(super) fn new(university: UniversityIndex, department: DepartmentIndex) -> Self {
        let host = format!("Department{}.University{}.edu", department.0, university.0);
        let members = Class::ALL.map(|class| format!("<http://www.{host}/{}", class.name()));
        Self {
            department_iri: format!("<http://www.{host}").into_bytes(),
            members: members.map(String::into_bytes),
            host: host.into_bytes(),
            university,
            department,
        }
    }

    /// Appends the node's IRI with the opening bracket and without the closing one.
    #[inline]
    pub(super) fn push_node(&self, out: &mut Vec<u8>, node: Node) {
        match node {
            Node::University(index) => push_university(out, index),
            Node::Department => out.extend_from_slice(&self.department_iri),
            Node::Member(member) => self.push_member(out, member),
            Node::Publication { author, ordinal } => {
                self.push_member(out, author);
                out.extend_from_slice(b"/Publication");
                push_decimal(out, ordinal);
            }
        }
    }

    /// Appends the last part of the node's name, which is its `name` literal.
    #[inline]
    pub(super) fn push_label(&self, out: &mut Vec<u8>, node: Node) {
        let (class, index) = match node {
            Node::University(index) => {
                debug_assert_eq!(
                    index, self.university.0,
                    "only the university itself is a subject"
                );
                (Class::University, index)
            }
            Node::Department => (Class::Department, self.department.0),
            Node::Member(Member { class, index }) => (class, index),
            Node::Publication { ordinal, .. } => (Class::Publication, ordinal),
        };
        out.extend_from_slice(class.name().as_bytes());
        push_decimal(out, index);
    }

    #[inline]
    fn push_member(&self, out: &mut Vec<u8>, member: Member) {
        out.extend_from_slice(&self.members[member.class as usize]);
        push_decimal(out, member.index);
    }
}

/// Appends a university's IRI with the opening bracket and without the closing one.
#[inline]
pub(super) fn push_university(out: &mut Vec<u8>, index: u32) {
    out.extend_from_slice(b"<http://www.University");
    push_decimal(out, index);
    out.extend_from_slice(b".edu");
}

#[cfg(test)]
mod tests {
    use super::push_decimal;

    #[test]
    fn decimals_are_those_of_the_standard_library() {
        for number in [
            0,
            1,
            9,
            10,
            99,
            100,
            590,
            999,
            1000,
            65_536,
            2_147_483_647,
            u32::MAX,
        ] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}

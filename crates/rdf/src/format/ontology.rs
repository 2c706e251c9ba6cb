//! OWL's own syntaxes, which are not RDF, by how their documents begin.
//!
//! An ontology is published as RDF (RDF/XML, Turtle), or in the functional syntax, OWL/XML or the Manchester
//! syntax (OWL 2 Structural Specification section 3.7; W3C Notes of 2012-12-11), often under the same file names.
//! A parser of RDF says of the latter three that some character is wrong, which tells nobody what to do.
//!
//! Invariant: no document of RDF is refused. `Prefix(` and `Ontology:` begin none in any of the formats, and an
//! element `Ontology` without a prefix in OWL's namespace does not stand for a node: in RDF/XML all OWL documents
//! have `rdf:RDF` at the top. Cost: one look at the first bytes that a read gives.

use super::ReadError;
use std::io::{self, Cursor, Read};

/// Bytes of a document that are looked at.
const HEAD_BYTES: usize = 4096;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const NAMESPACE: &[u8] = b"http://www.w3.org/2002/07/owl#";

/// The OWL syntax that a document with this beginning is in, if it is in one.
pub fn ontology_syntax(head: &[u8]) -> Option<&'static str> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if head.trim_ascii_start().starts_with(b"<") {
        return is_owl_xml(head).then_some("OWL/XML");
    }
    let text = after_comments(head);
    let mut words = [&b"Prefix"[..], b"Ontology"].into_iter();
    let after = words.find_map(|word| text.strip_prefix(word))?;
    // `Prefix :a` is how a Turtle may begin.
    if after.starts_with(b":") {
        return Some("the Manchester syntax of OWL");
    }
    let is_call = after.trim_ascii_start().starts_with(b"(");
    is_call.then_some("the functional syntax of OWL")
}

/// The text behind blanks and comments to the end of their lines.
fn after_comments(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii_start();
    while text.starts_with(b"#") {
        let line = text.iter().position(|&byte| byte == b'\n');
        text = text[line.unwrap_or(text.len())..].trim_ascii_start();
    }
    text
}

/// Whether the first element is `Ontology`, without a prefix, in OWL's namespace.
fn is_owl_xml(text: &[u8]) -> bool {
    let mut text = text.trim_ascii_start();
    loop {
        let end: &[u8] = match text {
            [b'<', b'?', ..] => b"?>",
            [b'<', b'!', b'-', b'-', ..] => b"-->",
            // Entities that are declared within it end with `>`, too, and with `]` the last.
            [b'<', b'!', ..] if is_subset(text) => b"]>",
            [b'<', b'!', ..] => b">",
            _ => break,
        };
        let Some(place) = find(text, end) else {
            return false;
        };
        text = text[place + end.len()..].trim_ascii_start();
    }
    let Some(attributes) = text.strip_prefix(b"<Ontology") else {
        return false;
    };
    let is_name_over = attributes.first().is_some_and(u8::is_ascii_whitespace);
    let end = attributes.iter().position(|&byte| byte == b'>');
    let attributes = &attributes[..end.unwrap_or(attributes.len())];
    let declared = find(attributes, b"xmlns=").and_then(|place| {
        // Behind the quote.
        attributes.get(place + b"xmlns=".len() + 1..)
    });
    is_name_over && declared.is_some_and(|value| value.starts_with(NAMESPACE))
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

/// Whether a document type declaration has declarations of its own.
fn is_subset(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| matches!(byte, b'[' | b'>'));
    end.is_some_and(|end| text[end] == b'[')
}

/// The input from its beginning on, or an error that names the syntax of OWL that it is in.
pub fn refuse_ontology<R: Read>(mut input: R) -> Result<impl Read + use<R>, ReadError> {
    let mut head = vec![0; HEAD_BYTES];
    let length = loop {
        match input.read(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    head.truncate(length);
    refuse_ontology_text(&head)?;
    Ok(Cursor::new(head).chain(input))
}

/// [`refuse_ontology`] for a document in memory.
pub fn refuse_ontology_text(text: &[u8]) -> Result<(), ReadError> {
    match ontology_syntax(&text[..text.len().min(HEAD_BYTES)]) {
        None => Ok(()),
        Some(syntax) => Err(ReadError::Syntax {
            line: Some(1),
            column: Some(1),
            message: format!(
                "this is {syntax}, which is no format of RDF; convert it to Turtle or RDF/XML first, \
                 with `robot convert` or Protégé for instance"
            ),
            is_unusual: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ontologies_are_told_by_their_beginning() {
        let functional = Some("the functional syntax of OWL");
        let manchester = Some("the Manchester syntax of OWL");
        let xml = Some("OWL/XML");
        for (text, expected) in [
            ("Prefix(:=<http://e/>)\nOntology(<http://e/o>)", functional),
            (
                "\u{feff}# made by hand\n\n  Ontology (<http://e/o>",
                functional,
            ),
            ("Prefix: : <http://e/>\nOntology: <http://e/o>", manchester),
            ("Ontology: <http://e/o>", manchester),
            (
                "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<!DOCTYPE Ontology [ <!ENTITY a \"b\" > ]>\n\
                 <Ontology xml:base=\"x\" xmlns='http://www.w3.org/2002/07/owl#'>",
                xml,
            ),
            ("<Ontology xmlns=\"http://www.w3.org/2002/07/owl#\"", xml),
            // What begins alike.
            ("PREFIX : <http://e/>\n:a :b :c .", None),
            ("Prefix : <http://e/>\n:a :b :c .", None),
            ("prefix owl: <http://e/>", None),
            ("<Ontology xmlns=\"http://e/\">", None),
            ("<Ontology> <a> <b> .", None),
            ("<rdf:RDF xmlns=\"http://www.w3.org/2002/07/owl#\">", None),
            (
                "<owl:Ontology xmlns:owl=\"http://www.w3.org/2002/07/owl#\">",
                None,
            ),
            ("<http://e/a> <http://e/b> \"Ontology(\" .", None),
            ("# Ontology(", None),
            ("", None),
            ("Prefix", None),
        ] {
            assert_eq!(ontology_syntax(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_refused_is_read_from_its_beginning() {
        let text = "<a:> <b:> \"c\" .\n".repeat(1000);
        let mut read = String::new();
        let mut input = refuse_ontology(text.as_bytes()).expect("it is RDF");
        input.read_to_string(&mut read).expect("it is in memory");
        assert_eq!(read, text);
        let error = refuse_ontology(&b"Ontology(<http://e/>)"[..]).err();
        let error = error.expect("it is OWL").to_string();
        assert!(
            error.starts_with("line 1, column 1: this is the functional syntax"),
            "{error}"
        );
    }
}

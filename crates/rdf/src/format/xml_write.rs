//! Writing RDF/XML (RDF 1.2 XML Syntax), in the plainest of its forms.
//!
//! ```text
//! <rdf:Description rdf:about="http://e/s">
//!   <p:name xmlns:p="http://e/" xml:lang="en">text</p:name>
//! </rdf:Description>
//! ```
//!
//! One element for each run of triples with one subject, one within it for each triple. A predicate is
//! cut where its last XML name begins; its namespace is declared on the root where it is one of the
//! known prefixes, else where it is used. What RDF/XML cannot say is refused before anything of
//! the triple is written: a predicate without an XML name at its end, one of the syntax's own names
//! (section 5.1), a character that XML has not.

use super::xml_text::write_xml_text;
use crate::name;
use oxrdf::vocab::xsd;
use oxrdf::{
    BaseDirection, LiteralRef, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef,
    TripleRef,
};
use std::io::{self, Write};

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// Names of the syntax, which are no properties there.
const RESERVED: [&str; 14] = [
    "RDF",
    "ID",
    "about",
    "parseType",
    "resource",
    "nodeID",
    "datatype",
    "Description",
    "li",
    "aboutEach",
    "aboutEachPrefix",
    "bagID",
    "annotation",
    "annotationNodeID",
];
/// Prefixes that elements bind for themselves, to other namespaces than the root might.
const OWN_PREFIXES: [&str; 2] = ["p", "its"];
/// Before the label of a blank node that is no XML name, or that begins so.
const RENAMED: &str = "_n";

/// Writes triples; [`XmlWriter::finish`] must be called at the end.
pub(super) struct XmlWriter<W> {
    output: W,
    /// IRI and prefix.
    prefixes: Vec<(String, String)>,
    subject: Option<NamedOrBlankNode>,
    is_begun: bool,
    /// What is written of a triple.
    text: Vec<u8>,
}

impl<W: Write> XmlWriter<W> {
    /// A writer that uses those of the prefixes that XML has, too.
    pub(super) fn new(output: W, prefixes: &[(&str, &str)]) -> XmlWriter<W> {
        let is_usable = |prefix: &str| {
            let is_ours = OWN_PREFIXES.contains(&prefix);
            name::is_name(prefix) && !is_ours && !prefix.to_lowercase().starts_with("xml")
        };
        let mut known = vec![(RDF.to_owned(), "rdf".to_owned())];
        for (prefix, iri) in prefixes {
            let is_new = known
                .iter()
                .all(|(known, name)| known != iri && name != prefix);
            if is_new && is_usable(prefix) && !iri.is_empty() {
                known.push(((*iri).to_owned(), (*prefix).to_owned()));
            }
        }
        XmlWriter {
            output,
            prefixes: known,
            subject: None,
            is_begun: false,
            text: Vec::new(),
        }
    }

    /// Writes one triple.
    pub(super) fn triple(&mut self, triple: TripleRef<'_>) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let written = self.append(triple, &mut text);
        let written = written.and_then(|()| self.output.write_all(&text));
        self.text = text;
        written
    }

    fn append(&mut self, triple: TripleRef<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        if !self.is_begun {
            self.begin(text)?;
        }
        let is_other = self
            .subject
            .as_ref()
            .is_none_or(|subject| subject.as_ref() != triple.subject);
        if is_other {
            if self.subject.is_some() {
                text.extend_from_slice(b"</rdf:Description>\n");
            }
            description(text, triple.subject)?;
            text.push(b'\n');
        }
        self.property(text, triple.predicate, triple.object)?;
        text.push(b'\n');
        self.is_begun = true;
        if is_other {
            self.subject = Some(triple.subject.into_owned());
        }
        Ok(())
    }

    /// Writes what is still open and gives the output back, unflushed.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let mut text = Vec::new();
        if !self.is_begun {
            self.begin(&mut text)?;
        }
        if self.subject.is_some() {
            text.extend_from_slice(b"</rdf:Description>\n");
        }
        text.extend_from_slice(b"</rdf:RDF>\n");
        self.output.write_all(&text)?;
        Ok(self.output)
    }

    fn begin(&self, text: &mut Vec<u8>) -> io::Result<()> {
        text.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rdf:RDF");
        for (iri, prefix) in &self.prefixes {
            attribute(text, &format!("xmlns:{prefix}"), iri)?;
        }
        text.extend_from_slice(b">\n");
        Ok(())
    }

    fn property(
        &self,
        text: &mut Vec<u8>,
        predicate: NamedNodeRef<'_>,
        object: TermRef<'_>,
    ) -> io::Result<()> {
        let (namespace, local) = name_of(predicate.as_str())?;
        let known = self.prefixes.iter().find(|(iri, _)| iri == namespace);
        let name = match known {
            Some((_, prefix)) => format!("{prefix}:{local}"),
            // Each use declares its own, so it may stand within another.
            None => format!("p:{local}"),
        };
        text.push(b'<');
        text.extend_from_slice(name.as_bytes());
        if known.is_none() {
            attribute(text, "xmlns:p", namespace)?;
        }
        match object {
            TermRef::NamedNode(iri) => {
                attribute(text, "rdf:resource", iri.as_str())?;
                text.extend_from_slice(b"/>");
                return Ok(());
            }
            TermRef::BlankNode(blank) => {
                attribute(text, "rdf:nodeID", &node_id(blank.as_str()))?;
                text.extend_from_slice(b"/>");
                return Ok(());
            }
            TermRef::Literal(literal) => {
                kind(text, literal)?;
                text.push(b'>');
                write_xml_text(text, literal.value())?;
            }
            TermRef::Triple(triple) => {
                text.extend_from_slice(b" rdf:version=\"1.2\" rdf:parseType=\"Triple\">");
                description(text, triple.subject.as_ref())?;
                self.property(text, triple.predicate.as_ref(), triple.object.as_ref())?;
                text.extend_from_slice(b"</rdf:Description>");
            }
        }
        text.extend_from_slice(b"</");
        text.extend_from_slice(name.as_bytes());
        text.push(b'>');
        Ok(())
    }
}

/// The element of a subject.
fn description(text: &mut Vec<u8>, subject: NamedOrBlankNodeRef<'_>) -> io::Result<()> {
    text.extend_from_slice(b"<rdf:Description");
    match subject {
        NamedOrBlankNodeRef::NamedNode(iri) => attribute(text, "rdf:about", iri.as_str())?,
        NamedOrBlankNodeRef::BlankNode(blank) => {
            attribute(text, "rdf:nodeID", &node_id(blank.as_str()))?;
        }
    }
    text.push(b'>');
    Ok(())
}

/// Language and direction, or datatype.
fn kind(text: &mut Vec<u8>, literal: LiteralRef<'_>) -> io::Result<()> {
    if let Some(language) = literal.language() {
        attribute(text, "xml:lang", language)?;
        let direction = match literal.direction() {
            None => return Ok(()),
            Some(BaseDirection::Ltr) => "ltr",
            Some(BaseDirection::Rtl) => "rtl",
        };
        attribute(text, "rdf:version", "1.2-basic")?;
        attribute(text, "xmlns:its", "http://www.w3.org/2005/11/its")?;
        attribute(text, "its:version", "2.0")?;
        return attribute(text, "its:dir", direction);
    }
    if literal.datatype() != xsd::STRING {
        attribute(text, "rdf:datatype", literal.datatype().as_str())?;
    }
    Ok(())
}

fn attribute(text: &mut Vec<u8>, name: &str, value: &str) -> io::Result<()> {
    text.push(b' ');
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"=\"");
    write_xml_text(text, value)?;
    text.push(b'"');
    Ok(())
}

/// Namespace and name of a property's element.
fn name_of(iri: &str) -> io::Result<(&str, &str)> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let tail = iri.rfind(|character| !name::is_character(character));
    let tail = tail.map_or(0, |at| {
        at + iri[at..].chars().next().map_or(0, char::len_utf8)
    });
    let Some(at) = iri[tail..].find(name::is_start) else {
        return refused(format!(
            "RDF/XML cannot carry the predicate <{iri}>: it does not end with an XML name; \
             other formats can"
        ));
    };
    let (namespace, local) = iri.split_at(tail + at);
    if namespace.is_empty() {
        return refused(format!(
            "RDF/XML cannot carry the predicate <{iri}>: it has no namespace"
        ));
    }
    if namespace == RDF && RESERVED.contains(&local) {
        return refused(format!(
            "RDF/XML cannot carry the predicate <{iri}>, which is a name of its syntax; other formats can"
        ));
    }
    Ok((namespace, local))
}

/// The name of a blank node: its label where XML has it as a name.
fn node_id(label: &str) -> String {
    if name::is_name(label) && !label.starts_with(RENAMED) {
        label.to_owned()
    } else {
        format!("{RENAMED}{label}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, read_quads};
    use oxrdf::{BlankNode, GraphName, Literal, NamedNode, Quad, Term, Triple};
    use std::ops::ControlFlow;

    fn iri(text: &str) -> NamedNode {
        NamedNode::new_unchecked(text)
    }

    fn written(triples: &[Triple]) -> io::Result<String> {
        let prefixes = [
            ("e", "http://e/"),
            ("xmlns", "http://x/"),
            ("0", "http://y/"),
            // Elements bind these to other namespaces.
            ("p", "http://w/"),
            ("its", "http://its/"),
        ];
        let mut writer = XmlWriter::new(Vec::new(), &prefixes);
        for triple in triples {
            writer.triple(triple.as_ref())?;
        }
        writer
            .finish()
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_is_written_reads_back() {
        let texts = [
            "",
            "\r",
            "a\r\nb",
            " \t x \n",
            "<&>\"']]>",
            "\u{7f}\u{FF01}\u{1F600}",
        ];
        let mut objects: Vec<Term> = texts
            .iter()
            .map(|text| Literal::new_simple_literal(*text).into())
            .collect();
        objects.push(iri("http://e/o?a=1&b=\u{e4}").into());
        objects.push(Literal::new_language_tagged_literal_unchecked("x", "en").into());
        objects.push(Literal::new_typed_literal("1", xsd::INTEGER).into());
        let right = BaseDirection::Rtl;
        objects.push(
            Literal::new_directional_language_tagged_literal_unchecked("x", "ar", right).into(),
        );
        let inner = Triple::new(iri("http://e/a"), iri("http://z/q"), Literal::from("\r"));
        objects.push(inner.into());
        let inner = Triple::new(iri("http://e/a"), iri("http://w/q"), iri("http://e/b"));
        objects.push(inner.into());
        let predicates = [
            "http://e/p",
            "http://e/x#a.b-c",
            "urn:p:0name",
            "http://e/\u{e4}",
            "http://its/p",
        ];
        let mut triples = Vec::new();
        for predicate in predicates {
            for object in &objects {
                triples.push(Triple::new(
                    iri("http://e/s"),
                    iri(predicate),
                    object.clone(),
                ));
            }
        }
        let text = written(&triples).unwrap();
        let mut read = Vec::new();
        read_quads(Format::RdfXml, text.as_bytes(), None, &mut |quad| {
            read.push(quad.into_owned());
            ControlFlow::Continue(())
        })
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let wanted: Vec<Quad> = triples
            .iter()
            .map(|triple| triple.clone().in_graph(GraphName::DefaultGraph))
            .collect();
        assert_eq!(read, wanted, "{text}");
    }

    #[test]
    fn blank_nodes_have_xml_names() {
        let blank = |label: &str| BlankNode::new_unchecked(label);
        let triples = ["b1", "0b", "_n0b"]
            .map(|label| Triple::new(blank(label), iri("http://e/p"), blank(label)));
        let text = written(&triples).unwrap();
        for name in ["\"b1\"", "\"_n0b\"", "\"_n_n0b\""] {
            assert_eq!(text.matches(name).count(), 2, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused_whole() {
        let literal = Literal::new_simple_literal("x");
        for predicate in [
            "http://e/1",
            "http://e/",
            "urn:1",
            "name",
            &format!("{RDF}li"),
        ] {
            let triple = Triple::new(iri("http://e/s"), iri(predicate), literal.clone());
            let error = written(&[triple]).unwrap_err();
            assert!(error.to_string().contains(predicate), "{error}");
        }
        let mut writer = XmlWriter::new(Vec::new(), &[]);
        let bad = Triple::new(iri("http://e/s"), iri("http://e/p"), Literal::from("\u{1}"));
        assert!(writer.triple(bad.as_ref()).is_err());
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        assert!(!text.contains("Description") && text.ends_with("</rdf:RDF>\n"));
    }
}

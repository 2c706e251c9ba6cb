//! Namespace declarations of XML literals, as Exclusive XML Canonicalization wants them.
//!
//! RDF/XML (section 7.2.17) asks for the exclusive canonical form of `rdf:parseType="Literal"`:
//! a declaration stands only where its prefix is visibly used and not already declared outside.
//! The library declares every prefix in scope on the outermost elements instead, so that the same
//! content gives another literal under another header. Here the declarations are moved to where
//! they belong and the attributes put in canonical order; the rest of the text is the library's.
//!
//! A literal that was given its datatype by name instead is treated alike: the two cannot be told
//! apart any more. Text that is not well-formed is left as it is.
//!
//! Cost: one pass over the literal. Nesting costs no stack.

use memchr::memmem;
use oxrdf::vocab::rdf;
use oxrdf::{Literal, Term};

/// Rewrites the XML literal in `term`, or in the innermost triple of a triple term.
pub(super) fn mend(mut term: &mut Term) {
    while let Term::Triple(triple) = term {
        term = &mut triple.object;
    }
    if let Term::Literal(literal) = term
        && literal.datatype() == rdf::XML_LITERAL
        && let Some(text) = exclusive(literal.value())
    {
        *literal = Literal::new_typed_literal(text, rdf::XML_LITERAL);
    }
}

/// A declaration of a prefix (empty: the default namespace).
#[derive(Clone, Copy)]
struct Declaration<'t> {
    prefix: &'t str,
    iri: &'t str,
}

/// What an element adds to the declarations around it.
struct Scope {
    declared: usize,
    written: usize,
}

/// The declarations in force: those in the text, and those written out.
#[derive(Default)]
struct Scopes<'t> {
    declared: Vec<Declaration<'t>>,
    written: Vec<Declaration<'t>>,
    open: Vec<Scope>,
}

/// A prefixed name, taken apart.
struct Attribute<'t> {
    name: &'t str,
    /// With its quotes.
    value: &'t str,
}

fn exclusive(text: &str) -> Option<String> {
    let mut scopes = Scopes::default();
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('<') {
        output.push_str(&rest[..place]);
        rest = &rest[place..];
        let close = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<![CDATA[") {
            "]]>"
        } else if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("</") {
            scopes.close()?;
            ">"
        } else {
            rest = scopes.start_tag(&rest[1..], &mut output)?;
            continue;
        };
        let length = memmem::find(rest.as_bytes(), close.as_bytes())? + close.len();
        output.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    output.push_str(rest);
    scopes.open.is_empty().then_some(output)
}

impl<'t> Scopes<'t> {
    /// Rewrites the start tag whose `<` is already taken; returns what follows it.
    fn start_tag(&mut self, text: &'t str, output: &mut String) -> Option<&'t str> {
        let name_end = text.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'))?;
        let (name, mut rest) = text.split_at(name_end);
        self.open.push(Scope {
            declared: self.declared.len(),
            written: self.written.len(),
        });
        let mut attributes = Vec::new();
        let is_empty = loop {
            rest = rest.trim_ascii_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break true;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break false;
            }
            let (attribute, after) = attribute(rest)?;
            rest = after;
            match declared_prefix(attribute.name) {
                Some(prefix) => {
                    let iri = &attribute.value[1..attribute.value.len() - 1];
                    self.declared.push(Declaration { prefix, iri });
                }
                None => attributes.push(attribute),
            }
        };
        self.write_tag(name, attributes, output);
        output.push_str(if is_empty { "/>" } else { ">" });
        if is_empty {
            self.close()?;
        }
        Some(rest)
    }

    fn write_tag(
        &mut self,
        name: &'t str,
        mut attributes: Vec<Attribute<'t>>,
        output: &mut String,
    ) {
        output.push('<');
        output.push_str(name);
        let element = Some(prefix_of(name).unwrap_or_default());
        let mut used: Vec<&str> = attributes
            .iter()
            .filter_map(|it| prefix_of(it.name))
            .chain(element)
            .collect();
        used.sort_unstable();
        used.dedup();
        for prefix in used {
            let iri = find(&self.declared, prefix);
            if prefix != "xml" && iri != find(&self.written, prefix) {
                self.written.push(Declaration { prefix, iri });
                let colon = if prefix.is_empty() { "" } else { ":" };
                output.extend([" xmlns", colon, prefix, "=\"", iri, "\""]);
            }
        }
        attributes.sort_by_key(|attribute| {
            let namespace = prefix_of(attribute.name).map_or("", |it| find(&self.declared, it));
            (namespace, attribute.name)
        });
        for Attribute { name, value } in attributes {
            output.extend([" ", name, "=", value]);
        }
    }

    fn close(&mut self) -> Option<()> {
        let scope = self.open.pop()?;
        self.declared.truncate(scope.declared);
        self.written.truncate(scope.written);
        Some(())
    }
}

/// The namespace of a prefix by the innermost declaration; empty if there is none.
fn find<'t>(declarations: &[Declaration<'t>], prefix: &str) -> &'t str {
    let declaration = declarations
        .iter()
        .rev()
        .find(|declaration| declaration.prefix == prefix);
    declaration.map_or("", |declaration| declaration.iri)
}

fn prefix_of(name: &str) -> Option<&str> {
    name.split_once(':').map(|(prefix, _)| prefix)
}

/// The prefix that an attribute of this name declares, if it declares one.
fn declared_prefix(name: &str) -> Option<&str> {
    match name.strip_prefix("xmlns")? {
        "" => Some(""),
        rest => rest.strip_prefix(':'),
    }
}

/// Takes `name="value"` off the front.
fn attribute(text: &str) -> Option<(Attribute<'_>, &str)> {
    let (name, rest) = text.split_once('=')?;
    let rest = rest.trim_ascii_start();
    let quote = rest
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let end = rest[1..].find(quote)? + 2;
    Some((
        Attribute {
            name: name.trim_ascii_end(),
            value: &rest[..end],
        },
        &rest[end..],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_stand_where_they_are_used() {
        for (given, expected) in [
            ("plain &lt; text", "plain &lt; text"),
            ("<br xmlns:a=\"x:a\" xmlns=\"\"></br>", "<br></br>"),
            (
                "<h:p xmlns=\"x:d\" xmlns:h=\"x:h\" xmlns:r=\"x:r\"> <b></b><b></b></h:p>",
                "<h:p xmlns:h=\"x:h\"> <b xmlns=\"x:d\"></b><b xmlns=\"x:d\"></b></h:p>",
            ),
            (
                "<a xmlns=\"x:d\"><b xmlns=\"\"/></a>",
                "<a xmlns=\"x:d\"><b xmlns=\"\"/></a>",
            ),
            ("<a xmlns:p='x:p' p:z='1' y='2' xml:lang='en' b = '>' >", ""),
            (
                "<a xmlns:p='x:p' p:z='1' y='2' b = '>' ></a>",
                "<a xmlns:p=\"x:p\" b='>' y='2' p:z='1'></a>",
            ),
            (
                "<!-- <a> --><![CDATA[<b>]]><?c <d>?>",
                "<!-- <a> --><![CDATA[<b>]]><?c <d>?>",
            ),
        ] {
            let is_refused = expected.is_empty();
            assert_eq!(
                exclusive(given).as_deref(),
                (!is_refused).then_some(expected),
                "{given}"
            );
        }
    }

    #[test]
    fn malformed_text_is_left_alone() {
        for text in [
            "<a",
            "<a b>",
            "</a>",
            "<a>",
            "<a b=c></a>",
            "<!-- ",
            "<a b=\"></a>",
        ] {
            assert_eq!(exclusive(text), None, "{text}");
        }
    }
}

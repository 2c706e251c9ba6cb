//! Which IRIs and language tags a reader takes: those of the specifications, or all that can be kept.
//!
//! Published data holds IRIs that RFC 3987 has no room for (`http://a/b#c#d`, `http://a/{b}|c`, `%zz`) and
//! language tags that BCP 47 does not know. Other stores load them, so a reader may be told to.
//!
//! Invariant: whatever a lenient reader takes can be written as a line of N-Quads and read back by a lenient
//! reader as the same term. So an IRI has a scheme (a reference without one would mean something else beside
//! another base), and holds none of the characters that end an IRI, a line or an escape; a tag has the
//! characters that the grammar gives it.
//!
//! Why checked here: the libraries' lenient parsers check nothing, so that an IRI may come out of them with a
//! line end in it. Cost: nothing in a strict reader, a pass over each IRI in a lenient one.

use oxrdf::vocab::rdf;
use oxrdf::{
    BlankNodeRef, GraphNameRef, LiteralRef, NamedOrBlankNodeRef, QuadRef, TermRef, Triple,
};

/// Which IRIs and language tags a reader takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Those of RFC 3987 and BCP 47.
    #[default]
    Strict,
    /// Also others, as they are, that survive being written and read.
    Lenient,
}

impl Strictness {
    /// Whether more is taken than the specifications allow.
    pub fn is_lenient(self) -> bool {
        self == Strictness::Lenient
    }
}

/// Whether a lenient reader takes this text as an IRI: a scheme and a colon, and then nothing that a line of
/// N-Quads could not hold. Every IRI of RFC 3987 is one.
pub fn is_loadable_iri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme && !text.contains(is_breaking)
}

/// The characters that end an IRI, a line or an escape in the formats of lines: they are never taken.
fn is_breaking(character: char) -> bool {
    matches!(character, '<' | '>' | '"' | '\\' | ' ') || character.is_control()
}

/// Whether a lenient reader takes this text as a language tag: letters, then parts of letters and digits behind
/// hyphens (`LANG_DIR` of RDF 1.2 N-Triples).
pub fn is_loadable_tag(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let is_of =
        |part: &str, is_in: fn(&u8) -> bool| !part.is_empty() && part.bytes().all(|b| is_in(&b));
    parts
        .next()
        .is_some_and(|first| is_of(first, u8::is_ascii_alphabetic))
        && parts.all(|part| is_of(part, u8::is_ascii_alphanumeric))
}

/// What is wrong with a quad of a library's lenient parser, if it cannot be written and read back.
pub fn check(quad: QuadRef<'_>) -> Result<(), String> {
    check_node(quad.subject)?;
    check_iri(quad.predicate.as_str())?;
    check_term(quad.object)?;
    match quad.graph_name {
        GraphNameRef::DefaultGraph => Ok(()),
        GraphNameRef::NamedNode(iri) => check_iri(iri.as_str()),
        GraphNameRef::BlankNode(blank) => check_node(blank.into()),
    }
}

fn check_term(mut term: TermRef<'_>) -> Result<(), String> {
    while let TermRef::Triple(triple) = term {
        let Triple {
            subject,
            predicate,
            object,
        } = triple;
        check_node(subject.as_ref())?;
        check_iri(predicate.as_str())?;
        term = object.as_ref();
    }
    match term {
        TermRef::NamedNode(iri) => check_iri(iri.as_str()),
        TermRef::BlankNode(blank) => check_node(blank.into()),
        TermRef::Literal(literal) => check_literal(literal),
        TermRef::Triple(_) => unreachable!("triple terms were unwrapped"),
    }
}

fn check_node(node: NamedOrBlankNodeRef<'_>) -> Result<(), String> {
    match node {
        NamedOrBlankNodeRef::NamedNode(iri) => check_iri(iri.as_str()),
        NamedOrBlankNodeRef::BlankNode(blank) => match BlankNodeRef::new(blank.as_str()) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("blank node '{}': {error}", blank.as_str())),
        },
    }
}

fn check_iri(iri: &str) -> Result<(), String> {
    if is_loadable_iri(iri) {
        return Ok(());
    }
    Err(
        match iri.chars().find(|&character| is_breaking(character)) {
            Some(character) => format!("invalid IRI '{iri}': it holds {character:?}"),
            None => format!("invalid IRI '{iri}': it has no scheme"),
        },
    )
}

fn check_literal(literal: LiteralRef<'_>) -> Result<(), String> {
    if let Some(tag) = literal.language() {
        if is_loadable_tag(tag) {
            return Ok(());
        }
        return Err(format!("invalid language tag '{tag}'"));
    }
    let datatype = literal.datatype();
    if datatype == rdf::LANG_STRING || datatype == rdf::DIR_LANG_STRING {
        return Err(format!("a literal of type {datatype} needs a language tag"));
    }
    check_iri(datatype.as_str())
}

/// Whether a library's strict parser has refused what a lenient reader takes, by the words of `oxiri` and
/// `oxilangtag`, whose errors the parsers give as text. It decides about a hint only.
pub(crate) fn is_of_strictness(message: &str) -> bool {
    const IRI: [&str; 6] = [
        "Invalid IRI code point '",
        "Invalid IRI percent encoding '",
        "Invalid host IP (",
        "Invalid character '",
        "An IRI path is not allowed to start with //",
        "invalid IRI",
    ];
    const TAG: [&str; 6] = [
        "If an extension subtag is present",
        "If the `x` subtag is present",
        "A subtag fails to parse",
        "The given language subtag is invalid",
        "A subtag may be eight characters",
        "At maximum three extlangs",
    ];
    if TAG.iter().any(|words| message.contains(words)) {
        // Where the message names the tag, it must be one that is taken.
        return between(message, "language tag '", "'").is_none_or(is_loadable_tag);
    }
    // Of a prefixed name the lenient parsers, too, take what is an IRI only.
    let is_prefixed = message.starts_with("The prefixed name ");
    !is_prefixed
        && IRI.iter().any(|words| match message.find(words) {
            None => false,
            Some(place) => {
                let named = &message[place + words.len()..];
                let named = named.strip_suffix("' in host").unwrap_or(named);
                let named = named.strip_suffix('\'').unwrap_or(named);
                let is_named = words.ends_with('\'');
                // A colon is wrong only where there is no scheme before it.
                (!is_named || named != ":" && !named.contains(is_breaking))
                    && between(message, "IRI '", "': ").is_none_or(|iri| !iri.contains(is_breaking))
            }
        })
}

fn between<'m>(message: &'m str, before: &str, after: &str) -> Option<&'m str> {
    let rest = &message[message.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::NamedNodeRef;
    use proptest::prelude::*;

    #[test]
    fn what_can_be_written_and_read_is_taken() {
        for iri in [
            "http://a/b#c#d",
            "http://a/{b}|c^d`e",
            "http://a/%zz",
            "http://a:port/",
            "urn:[x]",
            "a:",
            "http://a/\u{e000}\u{2028}",
        ] {
            assert!(is_loadable_iri(iri), "{iri}");
        }
        for iri in [
            "", "a", "/a:b", "1a:b", "é:b", ":b", "a:<b", "a:b>", "a:\"", "a: b", "a:\\b", "a:\n",
            "a:\t", "a:\u{7f}", "a:\u{85}", "a:\0",
        ] {
            assert!(!is_loadable_iri(iri), "{iri:?}");
        }
        for tag in ["en", "abcdefghij", "en-x", "a-1"] {
            assert!(is_loadable_tag(tag), "{tag}");
        }
        for tag in ["", "en_US", "-en", "en-", "1", "en--ltr", "é", "e n"] {
            assert!(!is_loadable_tag(tag), "{tag:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_valid_is_loadable(iri in "[a-z]{0,3}:?(//)?[a-zA-Z0-9:/?#%@.~!é\\[\\]|^{} <>\"\\\\-]{0,12}") {
            prop_assert!(NamedNodeRef::new(&iri).is_err() || is_loadable_iri(&iri));
        }
    }
}

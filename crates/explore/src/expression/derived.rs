//! Datatypes derived from `xsd:string`, and `xsd:anyURI` (XML Schema part 2, sections 3.3.1 to 3.3.8 and
//! 3.2.17): which texts they have, and what a cast makes of white space.
//!
//! Their values are strings, so operators compare them as such (a derived value is a value of its base
//! type; XPath promotes `xsd:anyURI` to `xsd:string`), and functions on strings take them and give an
//! `xsd:string`. A text that the datatype does not have makes the literal ill-typed: of unknown value.
//! Terms stay what they are: `sameTerm`, joins, `DISTINCT` and `GROUP BY` tell `"a"^^xsd:token` from
//! `"a"`. Costs time linear in the text.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use rdf::name;

/// The datatypes.
pub(super) const DERIVED: [NamedNodeRef<'static>; 7] = [
    xsd::NORMALIZED_STRING,
    xsd::TOKEN,
    xsd::LANGUAGE,
    xsd::NMTOKEN,
    xsd::NAME,
    xsd::NC_NAME,
    xsd::ANY_URI,
];

/// Whether a text is one of the datatype with this local name, which is a derived one.
pub(super) fn has(local_name: &str, text: &str) -> bool {
    match local_name {
        "normalizedString" => !text.contains(['\t', '\n', '\r']),
        "token" => is_token(text),
        "language" => is_language(text),
        "NMTOKEN" => !text.is_empty() && text.chars().all(is_name_character),
        "Name" => is_name(text),
        "NCName" => is_name(text) && !text.contains(':'),
        // Any text is one (XML Schema 1.1).
        "anyURI" => true,
        _ => false,
    }
}

/// Appends the text that a cast to this datatype reads: `normalizedString` replaces white space, all others
/// collapse it (XML Schema part 2, section 4.3.6). It is no longer than what it is made of.
pub(super) fn normalize(local_name: &str, text: &str, into: &mut String) {
    let mut words = text.split(['\t', '\n', '\r', ' ']);
    let keeps_all = local_name == "normalizedString";
    let first = words.by_ref().find(|word| keeps_all || !word.is_empty());
    into.push_str(first.unwrap_or_default());
    for word in words.filter(|word| keeps_all || !word.is_empty()) {
        into.push(' ');
        into.push_str(word);
    }
}

fn is_token(text: &str) -> bool {
    let is_spaced = text.starts_with(' ') || text.ends_with(' ') || text.contains("  ");
    !is_spaced && !text.contains(['\t', '\n', '\r'])
}

/// `[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*`
fn is_language(text: &str) -> bool {
    let (first, rest) = text
        .split_once('-')
        .map_or((text, None), |(a, b)| (a, Some(b)));
    let is_part = |part: &str| (1..=8).contains(&part.len());
    let is_alphanumeric =
        |part: &str| is_part(part) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_part(first)
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && rest.is_none_or(|rest| rest.split('-').all(is_alphanumeric))
}

/// XML 1.0, production 5.
fn is_name(text: &str) -> bool {
    let is_start = |character| character == ':' || name::is_start(character);
    text.starts_with(is_start) && text.chars().all(is_name_character)
}

/// Production 4a.
fn is_name_character(character: char) -> bool {
    character == ':' || name::is_character(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_datatypes() {
        for (local_name, text, expected) in [
            ("normalizedString", " a  b ", true),
            ("normalizedString", "a\tb", false),
            ("token", "a b", true),
            ("token", "", true),
            ("token", " a", false),
            ("token", "a  b", false),
            ("token", "a\nb", false),
            ("language", "en-GB-x-abcdefgh", true),
            ("language", "english", true),
            ("language", "englishes", false),
            ("language", "1n", false),
            ("language", "en-", false),
            ("language", "", false),
            ("NMTOKEN", "1-a:b.é", true),
            ("NMTOKEN", "", false),
            ("NMTOKEN", "a b", false),
            ("Name", "a:b-1", true),
            ("Name", "1a", false),
            ("NCName", "a-1", true),
            ("NCName", "a:b", false),
            ("anyURI", "http://e/ a", true),
            ("string", "a", false),
        ] {
            assert_eq!(has(local_name, text), expected, "{local_name} {text:?}");
        }
    }

    #[test]
    fn casts_read_white_space() {
        let read = |local_name, text| {
            let mut read = String::new();
            normalize(local_name, text, &mut read);
            read
        };
        assert_eq!(read("normalizedString", "\ta  b\n"), " a  b ");
        assert_eq!(read("token", "\ta \r\n b\n"), "a b");
        assert_eq!(read("token", " \n"), "");
    }
}

//! Which characters names have: prefixes, variables and blank nodes of SPARQL and Turtle, elements of XML.
//!
//! The specifications write the same ranges down under names of their own:
//!
//! | here | SPARQL 1.1, clause 19.8 | XML 1.0, clause 2.3, and Namespaces in XML 1.0, clause 3 |
//! |---|---|---|
//! | [`is_base`] | `PN_CHARS_BASE` | `NameStartChar` without `:` and `_` |
//! | [`is_start`] | `PN_CHARS_U` | the beginning of an `NCName` |
//! | [`is_character`] | `PN_CHARS` and `.` | the rest of an `NCName` |
//!
//! Readers of much text look ASCII up in tables of their own and ask here for the rest.

/// A letter, in the wide sense of Unicode's blocks: `PN_CHARS_BASE`.
#[inline]
pub fn is_base(character: char) -> bool {
    matches!(character,
        'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}'
        | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// What a name may begin with: a letter or `_`.
#[inline]
pub fn is_start(character: char) -> bool {
    character == '_' || is_base(character)
}

/// What follows in a variable besides letters and `_`: digits and marks that combine.
#[inline]
pub fn is_tail(character: char) -> bool {
    matches!(character, '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// What a name of XML goes on with.
#[inline]
pub fn is_character(character: char) -> bool {
    is_start(character) || is_tail(character) || matches!(character, '-' | '.')
}

/// Whether a text is a name of XML without a colon (`NCName`).
pub fn is_name(text: &str) -> bool {
    text.starts_with(is_start) && text.chars().all(is_character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_texts() {
        for name in ["a", "_", "a-1.b", "\u{E9}t\u{E9}", "a\u{301}", "\u{10000}"] {
            assert!(is_name(name), "{name}");
        }
        for text in [
            "",
            "1a",
            "-a",
            ".a",
            "a:b",
            "a b",
            "\u{D7}",
            "a\u{F7}",
            "\u{301}a",
            "a\u{2041}",
        ] {
            assert!(!is_name(text), "{text}");
        }
    }

    #[test]
    fn the_ranges_hold_as_many_as_the_specification_says() {
        let count = |is: fn(char) -> bool| ('\0'..=char::MAX).filter(|c| is(*c)).count();
        // Summed up from the productions.
        let base =
            26 + 26 + 23 + 31 + 520 + 14 + 7297 + 2 + 288 + 1008 + 43_007 + 1232 + 526 + 917_504;
        assert_eq!(count(is_base), base);
        assert_eq!(count(is_start), base + 1);
        assert_eq!(count(is_tail), 10 + 1 + 112 + 2);
    }
}

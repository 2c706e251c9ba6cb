//! IRIs, literals, labels.

use super::Translation;
use crate::error::{ParseErrorKind, undeclared};
use crate::grammar::abstract_query::{Blank, Constant, Name};
use crate::grammar::lexer::token::TokenKind;
use crate::grammar::parser::tree::{Id, NodeKind};
use crate::grammar::parser::{GrammarError, Parsed, quoted};
use oxiri::Iri;
use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, Literal, NamedNode, NamedNodeRef};
use rdf::nt::is_plain_iri;

impl<'t> Translation<'t> {
    pub(super) fn variable(&mut self, id: Id) -> Name {
        self.terms.name(&self.tree.slice(id)[1..])
    }

    /// An IRI of a pattern or an expression.
    pub(super) fn name(&mut self, id: Id) -> Parsed<Constant> {
        let iri = self.iri(id)?;
        Ok(self.constant(iri))
    }

    /// A literal of a pattern or an expression.
    pub(super) fn value(&mut self, id: Id) -> Parsed<Constant> {
        let literal = self.literal(id)?;
        Ok(self.constant(literal))
    }

    /// The prologue's declaration.
    pub(super) fn declare(&mut self, id: Id) -> Parsed {
        let value = id.only();
        match self.kind(id) {
            NodeKind::Prefix => {
                let iri = self.iri(value)?;
                let name = self.declared_name(id);
                self.prefixes.declare(name, iri.into_string());
            }
            NodeKind::Base => {
                let iri = self.iri(value)?;
                self.base = Iri::parse(iri.into_string()).ok();
            }
            _ => {}
        }
        Ok(())
    }

    /// The prefix that is declared, without its colon.
    pub(super) fn declared_name(&self, id: Id) -> &'t str {
        let name = self.tree.tokens.tokens[self.tree.range(id).start + 1];
        let name = self.tree.tokens.slice(name);
        assert!(name.ends_with(':'), "a prefix is declared with its colon");
        &name[..name.len() - 1]
    }

    /// An IRI in angle brackets, or as a prefixed name.
    pub(super) fn iri(&mut self, id: Id) -> Parsed<NamedNode> {
        self.iri_of(self.tree.range(id).start)
    }

    fn iri_of(&mut self, token: usize) -> Parsed<NamedNode> {
        let slice = self.tree.tokens.slice(self.tree.tokens.tokens[token]);
        if self.tree.tokens.tokens[token].kind == TokenKind::PrefixedName {
            return self.prefixed(token, slice);
        }
        assert!(
            slice.starts_with('<') && slice.ends_with('>'),
            "an IRI stands in its brackets"
        );
        let inner = &slice[1..slice.len() - 1];
        let invalid = || {
            GrammarError::at(
                token,
                format!("{} is not a valid absolute IRI", quoted(slice)),
            )
        };
        let unescaped;
        let text = if memchr::memchr(b'\\', inner.as_bytes()).is_some() {
            unescaped =
                unescape(inner, false).map_err(|message| GrammarError::at(token, message))?;
            unescaped.as_str()
        } else {
            inner
        };
        match &self.base {
            // Resolving takes segments of dots away, of absolute IRIs too (RFC 3986 section 5.2.2).
            Some(base) if !is_plain_iri(text) || text.contains("/.") || text.contains(":.") => {
                let taken = if is_relative(text) { base.len() } else { 0 };
                self.made.count_at(token, text.len() + taken)?;
                let iri = base.resolve(text).map_err(|_| invalid())?;
                Ok(NamedNode::new_unchecked(iri.into_inner()))
            }
            None if !is_plain_iri(text) => {
                if !text.contains(':') {
                    let message = format!(
                        "{} is not a valid absolute IRI: it is relative, and there is no BASE",
                        quoted(slice)
                    );
                    return Err(GrammarError::at(token, message));
                }
                Iri::parse(text).map_err(|_| invalid())?;
                Ok(NamedNode::new_unchecked(text))
            }
            _ => Ok(NamedNode::new_unchecked(text)),
        }
    }

    fn prefixed(&mut self, token: usize, slice: &'t str) -> Parsed<NamedNode> {
        let colon = memchr::memchr(b':', slice.as_bytes());
        let (prefix, local) = colon.map_or((slice, ""), |at| (&slice[..at], &slice[at + 1..]));
        let Some(declared) = self.prefixes.get(prefix) else {
            let message = self.undeclared(prefix);
            return Err(GrammarError::of(ParseErrorKind::Undeclared, token, message));
        };
        let start = declared.iri.as_str();
        self.made.count_at(token, start.len() + local.len())?;
        let mut iri = String::with_capacity(start.len() + local.len());
        iri.push_str(start);
        if declared.is_open && local.bytes().all(is_plain) {
            iri.push_str(local);
            return Ok(NamedNode::new_unchecked(iri));
        }
        // Whatever is escaped stands for itself.
        local.split('\\').for_each(|part| iri.push_str(part));
        if has_bad_percent(local) {
            return Err(GrammarError::at(
                token,
                format!(
                    "in {} two hexadecimal digits have to follow each `%`",
                    quoted(slice)
                ),
            ));
        }
        if !is_plain_iri(&iri) && Iri::parse(iri.as_str()).is_err() {
            return Err(GrammarError::at(
                token,
                format!(
                    "{} stands for <{iri}>, which is not a valid absolute IRI",
                    quoted(slice)
                ),
            ));
        }
        Ok(NamedNode::new_unchecked(iri))
    }

    /// That a prefix is not declared, and what to declare.
    #[cold]
    fn undeclared(&self, prefix: &str) -> String {
        if let Some(iri) = rdf::prefix::well_known(prefix) {
            return undeclared(prefix, iri);
        }
        let message = format!("prefix `{prefix}:` is not declared");
        let is_near = |known: &&&str| strsim::osa_distance(known, prefix) == 1 && !known.is_empty();
        match self.prefixes.names().iter().filter(is_near).min() {
            Some(near) => format!("{message}; did you mean `{near}:`?"),
            None => message,
        }
    }

    /// A string, a number or a boolean.
    pub(super) fn literal(&mut self, id: Id) -> Parsed<Literal> {
        let slice = self.tree.slice(id);
        match self.kind(id) {
            NodeKind::Boolean => Ok(Literal::from(slice.eq_ignore_ascii_case("true"))),
            NodeKind::Number => Ok(self.number(id)),
            _ => self.string(id),
        }
    }

    fn number(&self, id: Id) -> Literal {
        let range = self.tree.range(id);
        let tokens = &self.tree.tokens.tokens;
        let place = tokens[range.start].start as usize..tokens[range.end - 1].end as usize;
        let digits = &self.tree.tokens.text[place];
        Literal::new_typed_literal(digits, number_type(digits))
    }

    fn string(&mut self, id: Id) -> Parsed<Literal> {
        let range = self.tree.range(id);
        let value = self.quoted(range.start)?;
        let Some(&next) = self.tree.tokens.tokens[range.clone()].get(1) else {
            return Ok(Literal::new_simple_literal(value));
        };
        if next.kind == TokenKind::Language {
            return self.tagged(range.start + 1, value);
        }
        let datatype = self.iri_of(range.start + 2)?;
        Ok(Literal::new_typed_literal(value, datatype))
    }

    /// A text with a language, and perhaps a direction.
    fn tagged(&self, token: usize, value: String) -> Parsed<Literal> {
        let written = self.tree.tokens.slice(self.tree.tokens.tokens[token]);
        let tag = language(written).map_err(|message| GrammarError::at(token, message))?;
        Ok(match tag {
            (tag, None) => Literal::new_language_tagged_literal_unchecked(value, tag),
            (tag, Some(direction)) => {
                Literal::new_directional_language_tagged_literal_unchecked(value, tag, direction)
            }
        })
    }

    /// What stands in the quotes of a token.
    pub(super) fn quoted(&self, token: usize) -> Parsed<String> {
        let quoted = self.tree.tokens.slice(self.tree.tokens.tokens[token]);
        let is_long = quoted.starts_with("\"\"\"") || quoted.starts_with("'''");
        let quotes = if is_long { 3 } else { 1 };
        let inner = &quoted[quotes..quoted.len() - quotes];
        if !inner.contains('\\') {
            return Ok(inner.to_owned());
        }
        unescape(inner, true).map_err(|message| GrammarError::at(token, message))
    }

    /// A blank node, whose label stands in this basic graph pattern alone.
    pub(super) fn label(&mut self, id: Id) -> Parsed<Blank> {
        let label = self.tree.slice(id);
        if self.labels.elsewhere.contains(label) {
            return self.fault(
                id,
                format!(
                    "the label {label} stands in another part of the pattern already: \
                     a blank node belongs to one, so use a variable"
                ),
            );
        }
        self.labels.here.insert(label);
        Ok(self.terms.blank(&label[2..]))
    }
}

/// The language of a tag, in lower case, and its direction (SPARQL 1.2 section 19.8, LANG_DIR). `written`: with `@`.
pub(crate) fn language(written: &str) -> Result<(String, Option<BaseDirection>), String> {
    let tag = written[1..].to_ascii_lowercase();
    let (language, direction) = match tag.split_once("--") {
        Some((language, direction)) => (language, Some(direction)),
        None => (tag.as_str(), None),
    };
    if Literal::new_language_tagged_literal("", language).is_err() {
        return Err(format!("{} is not a language tag", quoted(written)));
    }
    // As written: keywords have no case, directions do.
    let is_exact = written.ends_with("--ltr") || written.ends_with("--rtl");
    let direction = match direction {
        None => None,
        Some("ltr") if is_exact => Some(BaseDirection::Ltr),
        Some("rtl") if is_exact => Some(BaseDirection::Rtl),
        Some(_) => return Err("the direction of a text is `--ltr` or `--rtl`".to_owned()),
    };
    Ok((language.to_owned(), direction))
}

/// The datatype of a number, with or without a sign.
#[inline]
pub(crate) fn number_type(digits: &str) -> NamedNodeRef<'static> {
    if digits.contains(['e', 'E']) {
        xsd::DOUBLE
    } else if digits.contains('.') {
        xsd::DECIMAL
    } else {
        xsd::INTEGER
    }
}

/// Whether an IRI has no scheme.
pub(crate) fn is_relative(iri: &str) -> bool {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let end = iri.bytes().position(|byte| !is_scheme(byte));
    end.is_none_or(|end| end == 0 || iri.as_bytes()[end] != b':')
}

/// What stands for itself in a local name and in every part of an IRI that follows its host.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
}

/// Whether a percent sign has not two digits behind it, and is not escaped.
fn has_bad_percent(local: &str) -> bool {
    let bytes = local.as_bytes();
    let is_bad = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        let is_escaped = at > 0 && bytes[at - 1] == b'\\';
        !is_escaped && !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    memchr::memchr_iter(b'%', bytes).any(is_bad)
}

/// Takes escapes back: those of characters (ECHAR) only in texts, those of code points (UCHAR) everywhere.
pub(crate) fn unescape(mut text: &str, is_text: bool) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    while let Some((before, after)) = text.split_once('\\') {
        plain.push_str(before);
        let mut rest = after.chars();
        let digits = match rest.next() {
            Some('u') => 4,
            Some('U') => 8,
            Some(escaped) if is_text => {
                let character = match escaped {
                    't' => '\t',
                    'b' => '\u{8}',
                    'n' => '\n',
                    'r' => '\r',
                    'f' => '\u{c}',
                    '"' | '\'' | '\\' => escaped,
                    _ => {
                        return Err(format!(
                            "`\\{escaped}` is no escape: there are \\t, \\b, \\n, \\r, \\f, \\\", \\', \
                             \\\\, \\uXXXX and \\UXXXXXXXX; write \\\\{escaped} for a backslash"
                        ));
                    }
                };
                plain.push(character);
                text = rest.as_str();
                continue;
            }
            _ => return Err("only \\uXXXX and \\UXXXXXXXX are escapes of an IRI".to_owned()),
        };
        let code = rest.as_str().get(..digits);
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let character = code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32)
            .ok_or_else(|| {
                format!("{digits} hexadecimal digits of a code point have to follow this \\u")
            })?;
        plain.push(character);
        text = &rest.as_str()[digits..];
    }
    plain.push_str(text);
    Ok(plain)
}

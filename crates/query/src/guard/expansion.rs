//! How long a text becomes when everything that it abbreviates is written out.
//!
//! A parser copies terms: a relative IRI takes its base along, a prefixed name the IRI of its prefix;
//! each object after a `,` its subject and predicate, each quad its graph, and each reifier (`~`,
//! `{| |}`) a triple. So a megabyte of text can mean gigabytes: one IRI of 500 kB and 100,000 short
//! names. What is counted here is the bytes of all those copies; it is an upper bound for data and
//! templates, and for patterns but for what repeats within paths, which have a limit of their own.
//! One pass over the tokens, and a stack of open brackets; none for a short text, which cannot mean much: each
//! token stands for its bytes and those of one prefix or base, is in the term of each bracket around it, and such
//! a term is repeated by each token at most.

use super::limits::{Limit, Limits};
use super::token::{Token, TokenKind, Tokens};
use super::{GuardError, Problem};
use crate::position::Position;
use hashbrown::HashMap;

/// What a term counts that the text does not write, as a blank node, besides its bytes.
const UNWRITTEN: u64 = 40;

/// Which term of a statement comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Subject,
    Verb,
    Object,
}

/// One open bracket.
#[derive(Clone, Copy, Debug)]
struct Frame {
    next: Next,
    subject: u64,
    verb: u64,
    object: u64,
    /// Of the graph around it, and of the one that is named for the next bracket.
    graph: u64,
    named: u64,
    /// All terms in it.
    sum: u64,
    opened: &'static str,
}

impl Frame {
    fn new(opened: &'static str, next: Next, subject: u64, graph: u64) -> Frame {
        Frame {
            next,
            subject,
            verb: 0,
            object: 0,
            graph,
            named: 0,
            sum: 0,
            opened,
        }
    }

    /// A quad of what was read last.
    fn quad(&self) -> u64 {
        self.subject + self.verb + self.object + self.graph
    }
}

/// Checks the copies that a text means. `base` and `prefixes` are those that it is read with.
pub(crate) fn check<'t>(
    tokens: &'t Tokens<'t>,
    limits: &Limits,
    base: Option<&str>,
    prefixes: &'t [(String, String)],
) -> Result<(), GuardError> {
    let given = prefixes.iter().map(|(_, iri)| iri.len()).max();
    let longest = tokens.text.len() + given.unwrap_or(0).max(base.map_or(0, str::len));
    let count = tokens.tokens.len() as u64;
    // Four terms a quad, and two quads an item of a list.
    let most = (8 * count)
        .saturating_mul(count)
        .saturating_mul(longest as u64 + UNWRITTEN);
    if most <= limits.expanded_bytes {
        return Ok(());
    }
    let prefixes = prefixes.iter();
    let mut counter = Counter {
        tokens,
        base: base.map_or(0, str::len) as u64,
        prefixes: prefixes
            .map(|(prefix, iri)| (prefix.as_str(), iri.len() as u64))
            .collect(),
        frames: vec![Frame::new("", Next::Subject, 0, 0)],
        used: 0,
    };
    for (at, &token) in tokens.tokens.iter().enumerate() {
        counter.take(at, token);
        if counter.used > limits.expanded_bytes {
            return Err(GuardError {
                position: Position::of_offset(tokens.text, token.start as usize),
                problem: Problem::Limit {
                    limit: Limit::ExpandedBytes,
                    used: counter.used,
                    max: limits.expanded_bytes,
                },
            });
        }
    }
    Ok(())
}

struct Counter<'t> {
    tokens: &'t Tokens<'t>,
    base: u64,
    prefixes: HashMap<&'t str, u64>,
    frames: Vec<Frame>,
    used: u64,
}

impl Counter<'_> {
    fn take(&mut self, at: usize, token: Token) {
        let slice = self.tokens.slice(token);
        match token.kind {
            TokenKind::Operator => self.operator(slice),
            TokenKind::Word if !matches!(slice, "a" | "true" | "false") => {
                self.top().next = Next::Subject;
            }
            _ => {
                let bytes = self.bytes(token);
                self.used = self.used.saturating_add(bytes);
                if self.frames.len() == 1 {
                    self.declare(at, bytes);
                } else if self.follows(at, &["GRAPH"]) {
                    self.top().named = bytes;
                } else {
                    self.term(bytes);
                }
            }
        }
    }

    /// What a term is when it is written out.
    fn bytes(&self, token: Token) -> u64 {
        let slice = self.tokens.slice(token);
        let own = token.end - token.start;
        u64::from(own)
            + match token.kind {
                TokenKind::Iri if is_relative(&slice[1..]) => self.base,
                TokenKind::PrefixedName => {
                    let prefix = slice.split(':').next().unwrap_or_default();
                    self.prefixes.get(prefix).copied().unwrap_or(0)
                }
                _ => 0,
            }
    }

    /// Whether one of these keywords stands before a token.
    fn follows(&self, at: usize, keywords: &[&str]) -> bool {
        let before = at.checked_sub(1).map(|before| self.tokens.tokens[before]);
        before.is_some_and(|before| {
            let slice = self.tokens.slice(before);
            before.kind == TokenKind::Word
                && keywords.iter().any(|word| word.eq_ignore_ascii_case(slice))
        })
    }

    /// What stands outside of brackets: a declaration, or the graph of `WITH`.
    fn declare(&mut self, at: usize, bytes: u64) {
        if self.follows(at, &["BASE"]) {
            self.base = bytes;
        } else if self.follows(at, &["WITH"]) {
            self.top().graph = bytes;
        } else if at >= 2 && self.follows(at - 1, &["PREFIX"]) {
            let name = self.tokens.slice(self.tokens.tokens[at - 1]);
            let name = name.trim_end_matches(':');
            self.prefixes.insert(name, bytes);
        }
    }

    /// A term of a statement, or of a list.
    fn term(&mut self, bytes: u64) {
        let frame = self.top();
        frame.sum = frame.sum.saturating_add(bytes);
        let mut copied = 0;
        match frame.next {
            // Items of a list: a node and its two quads.
            _ if matches!(frame.opened, "(" | "<<" | "<<(") => copied = UNWRITTEN,
            Next::Subject => {
                frame.subject = bytes;
                frame.next = Next::Verb;
                frame.verb = 0;
            }
            Next::Verb => {
                frame.verb = frame.verb.saturating_add(bytes);
                frame.next = Next::Object;
            }
            Next::Object => {
                frame.object = bytes;
                copied = frame.quad();
            }
        }
        self.used = self.used.saturating_add(copied);
    }

    fn operator(&mut self, slice: &str) {
        let top = *self.top();
        match slice {
            "{" => {
                let graph = top.graph.max(top.named);
                self.top().named = 0;
                self.frames.push(Frame::new("{", Next::Subject, 0, graph));
            }
            "[" => {
                let frame = Frame::new("[", Next::Verb, UNWRITTEN, top.graph);
                self.frames.push(frame);
            }
            "(" => self
                .frames
                .push(Frame::new("(", Next::Subject, 0, top.graph)),
            "<<" => self
                .frames
                .push(Frame::new("<<", Next::Subject, 0, top.graph)),
            "<<(" => self
                .frames
                .push(Frame::new("<<(", Next::Subject, 0, top.graph)),
            "{|" | "~" => {
                self.used = self.used.saturating_add(top.quad() + UNWRITTEN);
                if slice == "{|" {
                    // The reifier may be named by the term before.
                    let subject = UNWRITTEN + top.object;
                    self.frames
                        .push(Frame::new("{|", Next::Verb, subject, top.graph));
                }
            }
            ")" | "}" | "]" | "|}" | ">>" | ")>>" if self.frames.len() > 1 => self.close(top),
            ";" if self.frames.len() == 1 => {
                // Each operation has the base.
                self.used = self.used.saturating_add(4 * self.base);
                self.top().graph = 0;
            }
            ";" => {
                self.top().next = Next::Verb;
                self.top().verb = 0;
            }
            "." => self.top().next = Next::Subject,
            "/" | "|" | "^" | "!" if top.next == Next::Object => self.top().next = Next::Verb,
            _ => {}
        }
    }

    /// What a bracket is for the statement around it.
    fn close(&mut self, closed: Frame) {
        self.frames.pop();
        match closed.opened {
            "(" | "<<(" => {
                let sum = closed.sum.saturating_add(UNWRITTEN);
                self.used = self.used.saturating_add(sum);
                self.term(sum);
            }
            "<<" => {
                let copied = closed.sum.saturating_add(UNWRITTEN + closed.graph);
                self.used = self.used.saturating_add(copied);
                self.term(UNWRITTEN);
            }
            "[" => self.term(UNWRITTEN),
            "{" => self.top().next = Next::Subject,
            _ => {}
        }
    }

    fn top(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("the root frame is never closed")
    }
}

/// Whether an IRI, without its opening bracket, has no scheme.
fn is_relative(iri: &str) -> bool {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let end = iri.bytes().position(|byte| !is_scheme(byte));
    end.is_none_or(|end| end == 0 || iri.as_bytes()[end] != b':')
}

//! `SELECT (COUNT(?v) AS ?n) (?n + 1 AS ?m)`: a variable of the clause used further on in it, after
//! grouping.
//!
//! SPARQL 1.2 allows it (grammar note on SelectClause; the suite's test `select-variable-reuse`), the
//! library takes it for a variable that the grouping has hidden. So a text that it refused is tried
//! once more with each such variable written out: `((COUNT(?v)) + 1 AS ?m)`. That means the same for
//! all functions but those that draw something new at each call; a clause with one of them is left
//! alone. What is written out may not grow beyond [`BYTES_MAX`].

use crate::guard::token::{Token, TokenKind, Tokens};
use std::collections::HashMap;

/// The longest text that is made.
const BYTES_MAX: usize = 1 << 16;

/// Functions whose calls differ.
const VOLATILE: [&str; 4] = ["RAND", "UUID", "STRUUID", "BNODE"];

/// The text with the variables written out; `None` where there is none, or it cannot be done.
pub(crate) fn written_out(tokens: &Tokens<'_>) -> Option<String> {
    let is_volatile = |word: &str| VOLATILE.iter().any(|v| v.eq_ignore_ascii_case(word));
    if tokens.text.len() > BYTES_MAX || tokens.find(|_, word| is_volatile(word)).is_some() {
        return None;
    }
    let list = &tokens.tokens;
    let is_word = |token: Token, word: &str| {
        token.kind == TokenKind::Word && tokens.slice(token).eq_ignore_ascii_case(word)
    };
    let mut text = String::with_capacity(2 * tokens.text.len());
    let (mut copied, mut changed) = (0, false);
    let mut at = 0;
    while at < list.len() {
        if !is_word(list[at], "SELECT") {
            at += 1;
            continue;
        }
        at += 1;
        let mut known: HashMap<&str, String> = HashMap::new();
        loop {
            let is_plain = |token: &Token| {
                let is_modifier = is_word(*token, "DISTINCT") || is_word(*token, "REDUCED");
                token.kind == TokenKind::Variable || is_modifier
            };
            while list.get(at).is_some_and(is_plain) {
                at += 1;
            }
            let Some(item) = item(tokens, at) else { break };
            let mut expression = String::new();
            let mut from = list[at].end as usize;
            for &token in &list[at + 1..item.as_word] {
                let used = known.get(tokens.slice(token));
                if let (TokenKind::Variable, Some(used)) = (token.kind, used) {
                    expression.push_str(&tokens.text[from..token.start as usize]);
                    expression.push_str(used);
                    from = token.end as usize;
                    changed = true;
                }
            }
            let end = list[item.as_word].start as usize;
            expression.push_str(&tokens.text[from..end]);
            text.push_str(&tokens.text[copied..list[at].end as usize]);
            text.push_str(&expression);
            copied = end;
            let expression = format!("({})", expression.trim());
            if text.len() + expression.len() > BYTES_MAX {
                return None;
            }
            known.insert(tokens.slice(list[item.as_word + 1]), expression);
            at = item.end;
        }
    }
    text.push_str(&tokens.text[copied..]);
    changed.then_some(text)
}

/// `( expression AS ?variable )` among the tokens.
struct Item {
    /// The number of its `AS`.
    as_word: usize,
    /// The number of the token after it.
    end: usize,
}

/// The item that begins at a token, if one does.
fn item(tokens: &Tokens<'_>, at: usize) -> Option<Item> {
    let list = &tokens.tokens;
    if tokens.slice(*list.get(at)?) != "(" {
        return None;
    }
    let mut depth = 0_u32;
    let mut as_word = None;
    for (number, &token) in list.iter().enumerate().skip(at) {
        match tokens.slice(token) {
            "(" => depth += 1,
            ")" if depth == 1 => {
                let as_word = as_word.filter(|&word| word + 2 == number)?;
                let end = number + 1;
                return Some(Item { as_word, end });
            }
            ")" => depth -= 1,
            word if depth == 1 && word.eq_ignore_ascii_case("AS") => as_word = Some(number),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{limits::Limits, scan};

    fn made(text: &str) -> Option<String> {
        written_out(&scan(text, &Limits::default()).unwrap())
    }

    #[test]
    fn variables_of_the_clause_are_written_out() {
        assert_eq!(
            made("SELECT DISTINCT ?x (COUNT(?v) AS ?n) (?n + 1 AS ?m) (?m*?n AS ?k) { ?n ?m ?v }")
                .as_deref(),
            Some(
                "SELECT DISTINCT ?x (COUNT(?v) AS ?n) ((COUNT(?v)) + 1 AS ?m) \
                 (((COUNT(?v)) + 1)*(COUNT(?v)) AS ?k) { ?n ?m ?v }"
            )
        );
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "SELECT (COUNT(?v) AS ?n) { ?n ?m ?v }",
            "SELECT (RAND() AS ?n) (?n + 1 AS ?m) {}",
            "SELECT ?n ?m { ?n ?m ?v }",
            "ASK {}",
        ] {
            assert_eq!(made(text), None, "{text}");
        }
    }
}

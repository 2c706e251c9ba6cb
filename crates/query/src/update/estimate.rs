//! How much memory reading an update takes, told from its text before it is read.
//!
//! Nearly all of it are the tokens, of 12 bytes, in a list that doubles, and afterwards the data: the terms'
//! text, and 16 bytes a quad. Tokens are counted roughly and rather too high: a token begins at each byte
//! that does not go on a word, a number or a name, outside of angle brackets and quotes. (Comparisons that
//! stand between `<` and `>` are missed; bulk has none.) One pass over the bytes, of about a nanosecond each.

use crate::grammar::lexer::token::Token;

/// Bytes of the list of tokens for one token: what is there, and the copy that it grows into.
const TOKEN_BYTES: u64 = 3 * size_of::<Token>() as u64;

/// Bytes of memory that [`super::parse_update`] takes for a text at most, about; its result included.
pub fn reading_bytes(text: &str) -> u64 {
    tokens(text.as_bytes()) * TOKEN_BYTES + text.len() as u64
}

/// About how many tokens a text has.
fn tokens(text: &[u8]) -> u64 {
    let mut count = 0;
    // What ends what has begun: a quote, or the bracket of an IRI.
    let mut until = None;
    let mut is_within = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if let Some(end) = until {
            at += usize::from(byte == b'\\');
            if byte == end || byte == b'\n' {
                until = None;
            }
            continue;
        }
        until = match byte {
            b'<' if text.get(at).copied().is_some_and(begins_iri) => Some(b'>'),
            b'"' | b'\'' => Some(byte),
            _ => None,
        };
        let goes_on =
            byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_:-.%?$@".contains(&byte);
        let is_more = byte.is_ascii_whitespace() || goes_on && is_within;
        count += u64::from(!is_more);
        is_within = goes_on;
    }
    count
}

/// Whether an angle bracket before this byte is that of an IRI, and no operator.
fn begins_iri(next: u8) -> bool {
    !next.is_ascii_whitespace() && !b"=<(".contains(&next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::lexer::scan;
    use crate::limits::Limits;

    #[test]
    fn no_text_has_many_more_tokens_than_are_counted() {
        let quad = |n| format!("<http://e/s{n}> e:p \"a b \\\" {n}\"@en , {n}.5 , _:b{n} . ");
        let data = (0..500).map(quad).collect::<Vec<_>>().concat();
        for text in [
            format!("INSERT DATA {{ {data} }}"),
            "DELETE { ?s ?p ?o } INSERT { ?s ?p [] } WHERE { ?s ?p ?o FILTER(?o < 3 && ?o>-1) }"
                .to_owned(),
            "PREFIX : <http://e/> INSERT DATA { :a :b 1,2,3,4,5,6;:c 7,8.:d :e 9 }".to_owned(),
            "INSERT DATA { <a> <b> 'x\\'y', \"\"\"a\nb \" c\"\"\" , <<( <a> <b> <c> )>> }"
                .to_owned(),
        ] {
            let exact = scan(&text, &Limits::default()).expect("it is well formed");
            let exact = exact.tokens.len() as u64;
            let counted = tokens(text.as_bytes());
            assert!(
                counted + 4 >= exact && counted <= 2 * exact + 8,
                "{counted} {exact}: {text}"
            );
        }
    }
}

//! Parameters of a request: `application/x-www-form-urlencoded`, in an address or in a body.
//!
//! Decoded strictly: bytes that are no UTF-8 are an error, because a query with a replacement
//! character in a literal would be answered, wrongly. A `%` that is not followed by two digits
//! stands for itself, as the URL standard has it.
//!
//! The crate `form_urlencoded` decodes lossily and gives text only: `%FF` and `%EF%BF%BD` are the same to its
//! callers, so the refusal would go. It would take the place of some fifteen lines here.

use crate::response::problem::Problem;
use percent_encoding::percent_decode;

/// Parameters of a request at most: each costs some eighty bytes, and a look from whoever reads one.
const PARAMETERS_MAX: usize = 4096;

/// Names and values in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    pairs: Vec<(String, String)>,
}

impl Parameters {
    /// Adds the pairs of a text. Names and values are UTF-8 or it is a 400.
    pub fn add(&mut self, encoded: &[u8]) -> Result<(), Problem> {
        for pair in encoded
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty())
        {
            if self.pairs.len() == PARAMETERS_MAX {
                let why = format!("the request has more than {PARAMETERS_MAX} parameters");
                return Err(Problem::bad_request(why));
            }
            let end = pair
                .iter()
                .position(|byte| *byte == b'=')
                .unwrap_or(pair.len());
            let name = decode(&pair[..end])?;
            let value = decode(pair.get(end + 1..).unwrap_or_default())?;
            self.pairs.push((name, value));
        }
        Ok(())
    }

    /// The value of a parameter that may stand there once at most.
    pub fn single(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.values(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(Problem::bad_request(format!(
                "more than one `{name}` parameter"
            )));
        }
        Ok(first)
    }

    /// All values of a parameter.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = move |pair: &&(String, String)| pair.0 == name;
        self.pairs
            .iter()
            .filter(named)
            .map(|(_, value)| value.as_str())
    }

    /// All names, in the order sent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }

    /// Names that begin like this, without that beginning, with their values.
    pub fn beginning<'p>(&'p self, with: &'p str) -> impl Iterator<Item = (&'p str, &'p str)> {
        let pairs = self.pairs.iter();
        pairs.filter_map(move |(name, value)| Some((name.strip_prefix(with)?, value.as_str())))
    }

    /// Whether there is such a parameter.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|pair| pair.0 == name)
    }
}

/// A text of a client as a message has it, which is not longer for it.
pub(crate) fn quoted(text: &str) -> String {
    const CHARACTERS: usize = 64;
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

fn decode(encoded: &[u8]) -> Result<String, Problem> {
    let spaced: Vec<u8> = encoded
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    let decoded: Vec<u8> = percent_decode(&spaced).collect();
    String::from_utf8(decoded)
        .map_err(|_| Problem::bad_request("the parameters of the request are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add(text.as_bytes()).unwrap();
        parameters
    }

    #[test]
    fn values_are_decoded() {
        let found =
            parameters("query=ASK+%7B%7D&a=1&&a=2&empty&percent=100%&plus=%2B&umlaut=%C3%A4");
        assert_eq!(found.single("query").unwrap(), Some("ASK {}"));
        assert_eq!(found.values("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(found.single("empty").unwrap(), Some(""));
        assert_eq!(found.single("percent").unwrap(), Some("100%"));
        assert_eq!(found.single("plus").unwrap(), Some("+"));
        assert_eq!(found.single("umlaut").unwrap(), Some("ä"));
        assert_eq!(found.single("absent").unwrap(), None);
        assert!(found.single("a").is_err());
    }

    #[test]
    fn there_are_not_too_many() {
        let many = "a&".repeat(PARAMETERS_MAX);
        let mut found = parameters(&many);
        assert!(found.add(b"b").is_err());
        assert_eq!(quoted("é"), "`é`");
        assert_eq!(quoted(&"é".repeat(65)), format!("`{}...`", "é".repeat(64)));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_refused() {
        assert!(Parameters::default().add(b"query=%FF").is_err());
        assert!(Parameters::default().add(b"%C3%28=x").is_err());
    }
}

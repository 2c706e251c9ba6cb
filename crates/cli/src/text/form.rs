//! What a statement asks for, told by its first keyword after the prologue.
//!
//! That is all the grammar needs too (`Query ::= Prologue ( SelectQuery | ConstructQuery | ... )`),
//! so it is exact for every text that parses.

use somersault::text::{Piece, PieceKind, TokenKind, pieces};

/// The forms of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `SELECT`: solutions.
    Select,
    /// `ASK`: a boolean.
    Ask,
    /// `CONSTRUCT`: a graph.
    Construct,
    /// `DESCRIBE`: a graph.
    Describe,
    /// An update.
    Update,
}

impl Form {
    /// Whether its answer is a graph.
    pub fn is_graph(self) -> bool {
        matches!(self, Form::Construct | Form::Describe)
    }

    /// The keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            Form::Select => "SELECT",
            Form::Ask => "ASK",
            Form::Construct => "CONSTRUCT",
            Form::Describe => "DESCRIBE",
            Form::Update => "an update",
        }
    }
}

const UPDATES: [&str; 10] = [
    "INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD",
];

/// The form of a statement; `None` where there is only a prologue, or no SPARQL.
pub fn form(text: &str) -> Option<Form> {
    let significant = pieces(text).filter(Piece::is_significant);
    significant.take_while(in_prologue).find_map(of_word)
}

/// The words of which a query that reads windows of streams has one, in whatever dialect, and no other query has any.
const OF_STREAMS: [&str; 3] = ["STREAM", "WINDOW", "REGISTER"];

/// Whether a query reads windows of streams.
pub fn reads_windows(text: &str) -> bool {
    let is_of_streams = |piece: Piece<'_>| OF_STREAMS.iter().any(|word| piece.is_word(word));
    pieces(text).any(is_of_streams)
}

/// Whether the answer of a query has an order: `ORDER BY` stands behind its pattern, in no group.
pub fn is_ordered(text: &str) -> bool {
    let mut depth = 0_u32;
    pieces(text).any(|piece| {
        depth = depth.saturating_add_signed(piece.nesting());
        depth == 0 && piece.is_word("ORDER")
    })
}

/// The form that a token begins.
pub(super) fn of_word(token: Piece<'_>) -> Option<Form> {
    let is = |word| token.is_word(word);
    Some(match () {
        () if is("SELECT") => Form::Select,
        () if is("ASK") => Form::Ask,
        () if is("CONSTRUCT") => Form::Construct,
        () if is("DESCRIBE") => Form::Describe,
        () if UPDATES.iter().any(|word| is(word)) => Form::Update,
        () => return None,
    })
}

/// Whether a token may stand in a prologue.
pub(super) fn in_prologue(token: &Piece<'_>) -> bool {
    matches!(
        token.kind,
        PieceKind::Token(
            TokenKind::Word | TokenKind::PrefixedName | TokenKind::Iri | TokenKind::String
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_the_prologue() {
        let text = "# ASK\nVERSION '1.2' BASE <http://e/> PREFIX select: <x> construct where {}";
        assert_eq!(form(text), Some(Form::Construct));
        assert_eq!(form("describe <http://e/>"), Some(Form::Describe));
        assert_eq!(form("PREFIX a: <b>"), None);
        assert_eq!(form("{ SELECT * {} }"), None);
        assert_eq!(form("INSERT DATA {}"), Some(Form::Update));
    }

    #[test]
    fn an_order_is_that_of_the_whole_answer() {
        let plain = "# ORDER BY ?x\nSELECT ?order { { SELECT ?x { ?x a 'ORDER' } ORDER BY ?x LIMIT 3 } } LIMIT 2";
        assert!(!is_ordered(plain));
        let text = "SELECT ?x (COUNT(*) AS ?n) { ?x ?p ?y } GROUP BY ?x HAVING (?n > 2) order\nby DESC(?n)";
        assert!(is_ordered(text));
    }

    #[test]
    fn windows_are_words_and_no_names() {
        let plain =
            "# STREAM\nSELECT ?stream { ?stream window:stream <STREAM> , 'WINDOW', stream: }";
        assert!(!reads_windows(plain));
        for text in [
            "SELECT * FROM NAMED window <w> ON <s> [RANGE PT1S STEP PT1S] {}",
            "SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] {}",
            "SELECT * { STREAM <s> [NOW] {} }",
            "REGISTER QUERY q AS SELECT * {}",
        ] {
            assert!(reads_windows(text), "{text}");
        }
    }
}

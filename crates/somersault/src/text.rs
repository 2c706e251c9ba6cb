//! A query as text, for tools that show, complete and split it: the pieces of the grammar's own lexer.

pub use query::grammar::lexer::cover::{Piece, PieceKind, pieces};
pub use query::grammar::lexer::token::TokenKind;
pub use query::words;

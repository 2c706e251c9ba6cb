//! From the bytes of a text to what it says, by the grammar of SPARQL 1.1 and 1.2.
//!
//! ```text
//! text --lexer--> tokens --parser--> Tree --translate--> abstract_query
//! ```
//!
//! Everything here speaks of the text: tokens have places, the tree has the grammar's productions, and every error has
//! line and column. Behind it nothing knows how a query was written.
//!
//! | module | holds |
//! |---|---|
//! | [`lexer`] | text to tokens; and text as pieces, for tools |
//! | `parser` | tokens to a syntax tree, and all errors of a text at once |
//! | `span` | spans of time, as standing queries have them |
//! | `abstract_query` | what a text says: the algebra of the specification |
//! | `translate` | the tree to that algebra |

pub(crate) mod abstract_query;
pub mod lexer;
pub(crate) mod parser;
pub(crate) mod span;
pub(crate) mod translate;

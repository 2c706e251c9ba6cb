//! A query as text: what an editor needs to know of it without parsing it.
//!
//! Nesting is not recursion here, and nothing is judged: wrong text is made of pieces, too
//! ([`somersault::text`]), and gets its error from the engine, which knows better. So the shell can colour,
//! complete and split what is not finished yet, and an endpoint can be asked for the right media types
//! before it has seen the query. Cost: one pass over the text.

mod form;
mod prologue;
mod statement;

pub use form::{Form, form, is_ordered, reads_windows};
pub use prologue::{declared, used_prefixes};
pub use statement::{Progress, ScriptStatement, Statements, progress};

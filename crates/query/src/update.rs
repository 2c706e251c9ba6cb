//! Updates (SPARQL 1.1 Update): operations as data, whose patterns are ordinary queries.
//!
//! ```text
//!  text --lexer--> tokens --at each `;`--> pieces --parser, translate--> operation --lower--> Operation
//! ```
//!
//! Plain data, which are nearly all of bulk insertion, go another way: the lexer's tokens become quads
//! without the grammar (`plain`). An RDF Patch is an update of data alone, with lines for its grammar (`patch`).
//!
//! What decides rows is planned and run as any `SELECT` ([`Operation::Modify`] holds a [`Query`]), so
//! nothing here knows how solutions are found; and what is made of the rows are templates over its
//! columns, as `CONSTRUCT` has them. Everything else (what is deleted before what is inserted, which
//! snapshot an operation sees) is the business of whoever carries the operations out, one after the
//! other (section 4.3).
//!
//! **Blank nodes.** In data and in templates they stand for new nodes: of the data once, of a template
//! for each row (sections 3.1.1 and 3.1.3). The same label means the same node within one operation
//! only: two `INSERT DATA` of a request must not share one (grammar note 19.6), and that is refused.
//!
//! **Graphs** that hold nothing are not asked about here: whether `CREATE` of a graph that is there,
//! or `CLEAR` of one that is not, is a failure depends on the store; `silent` says whether it counts.

mod data;
mod estimate;
mod patch;
mod plain;
mod read;

#[cfg(test)]
mod tests;

pub(crate) use data::TermIndex;
pub use data::{Data, DataTerm};
pub use estimate::reading_bytes;
pub use patch::{PatchTarget, parse_patch};
pub use read::{further_errors, parse_update, parse_update_by_grammar};

use crate::algebra::Query;
use crate::error::{ParseError, ParseErrorKind};
use crate::plan::{Node, TemplateTerm};
use crate::position::Position;
use oxrdf::{NamedNode, Term};

/// A request: operations that are carried out in this order, all of them or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The operations; a text may have none.
    pub operations: Vec<Operation>,
    /// Where each operation begins in the text.
    pub positions: Vec<Position>,
    /// Prefixes (without colon) of the text and the options with their IRIs, for printing.
    pub prefixes: Vec<(String, String)>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `INSERT DATA`.
    InsertData {
        /// The quads.
        data: Data,
    },
    /// `DELETE DATA`.
    DeleteData {
        /// The quads, without blank nodes.
        data: Data,
    },
    /// `DELETE ... INSERT ... WHERE`, `DELETE WHERE`.
    Modify(Box<Modify>),
    /// `LOAD`.
    Load {
        /// A failure does not count.
        silent: bool,
        /// What is read.
        source: NamedNode,
        /// Where it goes to; `None` is the default graph.
        graph: Option<NamedNode>,
    },
    /// `CLEAR`.
    Clear {
        /// A failure does not count.
        silent: bool,
        /// What is emptied.
        target: Target,
    },
    /// `DROP`.
    Drop {
        /// A failure does not count.
        silent: bool,
        /// What is removed.
        target: Target,
    },
    /// `CREATE`.
    Create {
        /// A failure does not count.
        silent: bool,
        /// The new graph.
        graph: NamedNode,
    },
    /// `ADD`, `COPY`, `MOVE`. Nothing happens where both graphs are the same (sections 3.2.3 to 3.2.5).
    Transfer {
        /// Which of the three.
        kind: Transfer,
        /// A failure does not count.
        silent: bool,
        /// The graph that is read; `None` is the default graph.
        from: Option<NamedNode>,
        /// The graph that is changed; `None` is the default graph.
        to: Option<NamedNode>,
    },
}

/// `DELETE ... INSERT ... WHERE`: a query, and what is made of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Modify {
    /// A `SELECT` of the variables that the templates name, each once; duplicates among its rows change
    /// nothing but the number of blank nodes. Its constants hold those of the templates.
    pub query: Query,
    /// What is deleted for each row: first, and before anything is inserted (section 4.2.4). Without
    /// blank nodes.
    pub delete: Vec<QuadTemplate>,
    /// What is inserted for each row.
    pub insert: Vec<QuadTemplate>,
    /// `USING`, `USING NAMED` or `WITH` was given.
    pub names_dataset: bool,
}

/// A quad that is made of a row. Nothing is made where a column is unbound, or holds what RDF does not
/// allow in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadTemplate {
    /// Subject, predicate and object. Slots are columns of [`Modify::query`], constants are its
    /// constants; [`TemplateTerm::Blank`] numbers blank nodes through all templates of the operation.
    pub triple: [TemplateTerm; 3],
    /// The graph; `None` is the default graph.
    pub graph: Option<Node>,
}

/// Which graphs `CLEAR` and `DROP` mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The default graph.
    Default,
    /// All named graphs.
    Named,
    /// All graphs.
    All,
    /// This graph.
    Graph(NamedNode),
}

/// What is done with the triples of one graph and another graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// They are inserted into it.
    Add,
    /// The same, and it is emptied before.
    Copy,
    /// The same as [`Transfer::Copy`], and afterwards the graph that they come from is removed.
    Move,
}

impl Operation {
    /// The keywords that it begins with, for messages.
    pub const fn verb(&self) -> &'static str {
        match self {
            Operation::InsertData { .. } => "INSERT DATA",
            Operation::DeleteData { .. } => "DELETE DATA",
            Operation::Modify(_) => "DELETE/INSERT",
            Operation::Load { .. } => "LOAD",
            Operation::Clear { .. } => "CLEAR",
            Operation::Drop { .. } => "DROP",
            Operation::Create { .. } => "CREATE",
            Operation::Transfer { kind, .. } => match kind {
                Transfer::Add => "ADD",
                Transfer::Copy => "COPY",
                Transfer::Move => "MOVE",
            },
        }
    }
}

impl Update {
    /// Gives every pattern this dataset, as the protocol's `using-graph-uri` and
    /// `using-named-graph-uri` do; both empty change nothing. An error if the text says `USING`,
    /// `USING NAMED` or `WITH` (SPARQL 1.1 Protocol section 2.2.3). Graphs are added to the constants
    /// of the queries, so call it before these are resolved.
    pub fn set_using(&mut self, default: &[Term], named: &[Term]) -> Result<(), ParseError> {
        if default.is_empty() && named.is_empty() {
            return Ok(());
        }
        for (operation, position) in self.operations.iter_mut().zip(&self.positions) {
            let Operation::Modify(modify) = operation else {
                continue;
            };
            if modify.names_dataset {
                return Err(ParseError {
                    kind: ParseErrorKind::Option,
                    position: *position,
                    message: "an operation with USING or WITH cannot be sent with using-graph-uri \
                              or using-named-graph-uri"
                        .to_owned(),
                });
            }
            modify.query.set_dataset(default, named);
        }
        Ok(())
    }
}

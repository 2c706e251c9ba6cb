//! What is run and printed: a file a row.

mod abuse;
mod deadlines;
mod fairness;
mod writers;

use std::io;

use crate::Wanted;
use crate::server::Server;

pub use abuse::abuse;
pub use deadlines::deadlines;
pub use fairness::fairness;
pub use writers::writers;

fn start(wanted: &Wanted) -> io::Result<Server> {
    Server::start(
        &wanted.binary,
        &wanted.store,
        &wanted.folder,
        wanted.group_mib,
    )
}

//! What the process asks of the system before it does anything else.
//!
//! - **Descriptors.** A server needs one for each connection, and a store one for each of its files. Systems
//!   start a process with 1,024, for the sake of programs that keep sets of them in an array, and
//!   let it have the hard limit when it asks. This one asks; whoever wants fewer lowers the hard
//!   limit (`ulimit -Hn`).
//! - **Bus errors.** A file of a store that is cut under a reader ends a process; from here on it ends the
//!   query instead.
//!
//! What is refused is said in the log and is no failure: less is possible without it, nothing is wrong.

/// Asks for both.
pub fn prepare() {
    if let Err(error) = raise_descriptors() {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    match somersault::survive_bus_errors() {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
        Err(error) => {
            tracing::warn!("a file that is cut under its reader ends the process: {error}");
        }
        Ok(()) => {}
    }
}

/// Raises the soft limit of open files to the hard one.
#[cfg(unix)]
fn raise_descriptors() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return Ok(());
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised)?;
    Ok(())
}

/// There is no such limit.
#[cfg(not(unix))]
fn raise_descriptors() -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::process::{Resource, getrlimit};

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        prepare();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        prepare();
    }
}

//! How a run ends: an exit code that scripts can rely on, and a message for people.
//!
//! The codes are a contract: 0 done, 1 failed at run time, 2 usage, 3 configuration, 4 cannot bind
//! or connect, 5 not authorised, 6 does not parse, 7 a limit was reached, 8 loaded with rejected statements, 9
//! integrity check failed, 130, 143 and 129 interrupted.

use std::fmt;

/// Why a run did not end with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// It failed at run time.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The configuration makes no sense.
    Configuration = 3,
    /// An address could not be bound, or an endpoint not be reached.
    Connection = 4,
    /// An endpoint does not know us, or does not let us.
    Unauthorised = 5,
    /// A query or data does not parse.
    Syntax = 6,
    /// A limit of time, memory or shape was reached.
    Limit = 7,
    /// Loaded, but statements were left out.
    Rejected = 8,
    /// The store is damaged.
    Integrity = 9,
    /// The terminal was closed.
    HungUp = 129,
    /// Interrupted from the keyboard.
    Interrupted = 130,
    /// Told to end by the system.
    Terminated = 143,
}

/// The end of a run that did not go well.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// What to say; empty where everything has been said.
    pub message: String,
}

impl Failure {
    /// A failure with a message.
    pub fn new(code: Code, message: impl fmt::Display) -> Failure {
        Failure {
            code,
            message: message.to_string(),
        }
    }

    /// Somebody else changes the store.
    pub fn locked(error: &dyn fmt::Display) -> Failure {
        let message = format!("{error}; end it first, or let the server do it: --endpoint URL");
        Failure::new(Code::Failed, message)
    }
}

impl From<std::io::Error> for Failure {
    /// A reader of our output that has gone away (`| head`) is no failure worth a message.
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure {
                code: Code::Failed,
                message: String::new(),
            };
        }
        Failure::new(Code::Failed, error)
    }
}

/// What a verb gives back.
pub type Outcome = Result<(), Failure>;

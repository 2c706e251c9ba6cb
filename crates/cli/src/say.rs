//! Words for people and logs, on standard error.
//!
//! Unlike `eprintln!` it does not panic when nobody reads them any more (`2>&1 | head`): what the
//! verb does matters more than what it says about it.

use std::fmt;
use std::io::Write;

/// Writes a line to standard error, if anybody takes it.
pub fn line(words: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{words}");
}

/// [`line`], with the arguments of `format!`.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::line(format_args!($($words)*))
    };
}
pub(crate) use say;

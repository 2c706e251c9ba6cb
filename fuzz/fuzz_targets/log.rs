//! The files of a log; what is asked of them is said at `bodies::changes::log`.

#![no_main]

fuzz::target!("log");

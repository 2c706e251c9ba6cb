//! A record of changes; what is asked of it is said at `bodies::changes::record`.

#![no_main]

fuzz::target!("record");

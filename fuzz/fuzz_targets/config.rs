//! The configuration's text; what is asked of it is said at `bodies::config::config`.
//! Words: `dictionaries/config.dict`.

#![no_main]

fuzz::target!("config");

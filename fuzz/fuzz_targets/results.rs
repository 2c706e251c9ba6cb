//! Results of other endpoints; what is asked of it is said at `bodies::results::results`.
//! Words: `dictionaries/results.dict`.

#![no_main]

fuzz::target!("results");

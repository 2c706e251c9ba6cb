//! Update text through the engine; what is asked of it is said at `bodies::changes::update`.
//! Words: `dictionaries/sparql.dict`.

#![no_main]

fuzz::target!("update");

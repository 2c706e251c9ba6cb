//! Query text through the engine; what is asked of it is said at `bodies::query::run`.
//! Words: `dictionaries/sparql.dict`.

#![no_main]

fuzz::target!("query_run");

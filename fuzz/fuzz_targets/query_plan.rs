//! Query text to a plan; what is asked of it is said at `bodies::query::plan`.
//! Words: `dictionaries/sparql.dict`.

#![no_main]

fuzz::target!("query_plan");

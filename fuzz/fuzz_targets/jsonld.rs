//! JSON-LD; what is asked of it is said at `bodies::rdf_text::jsonld`.
//! Words: `dictionaries/json.dict`.

#![no_main]

fuzz::target!("jsonld");

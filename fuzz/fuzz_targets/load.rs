//! Every text format through the loader; what is asked of it is said at `bodies::rdf_text::load`.
//! Words: `dictionaries/turtle.dict`.

#![no_main]

fuzz::target!("load");

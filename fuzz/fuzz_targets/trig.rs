//! TriG; what is asked of it is said at `bodies::rdf_text::trig`.
//! Words: `dictionaries/turtle.dict`.

#![no_main]

fuzz::target!("trig");

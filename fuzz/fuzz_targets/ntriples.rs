//! N-Triples and N-Quads; what is asked of it is said at `bodies::rdf_text::ntriples`.
//! Words: `dictionaries/turtle.dict`.

#![no_main]

fuzz::target!("ntriples");

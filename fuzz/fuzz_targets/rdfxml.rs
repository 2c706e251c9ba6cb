//! RDF/XML; what is asked of it is said at `bodies::rdf_text::rdfxml`.
//! Words: `dictionaries/xml.dict`.

#![no_main]

fuzz::target!("rdfxml");

//! Turtle; what is asked of it is said at `bodies::rdf_text::turtle`.
//! Words: `dictionaries/turtle.dict`.

#![no_main]

fuzz::target!("turtle");

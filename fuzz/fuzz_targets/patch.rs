//! An RDF Patch as an update; what is asked of it is said at `bodies::changes::patch`.
//! Words: `dictionaries/patch.dict`.

#![no_main]

fuzz::target!("patch");

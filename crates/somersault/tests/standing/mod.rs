//! Streams and standing queries of a store, from opening to opening: what is forgotten, what is lost, what a copy holds.

mod backup;
mod lost;
mod sources;

//! The database: composes store, query and exploration behind one façade.

//! One node's graph: predicate segments, index vertices, bulk load, check.

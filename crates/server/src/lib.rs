//! HTTP: the SPARQL protocol, metrics and the page at the root.

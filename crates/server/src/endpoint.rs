//! What lives at the addresses of a server, one module a kind of address.

pub(crate) mod api;
pub(crate) mod asking;
pub(crate) mod call;
pub(crate) mod change;
pub(crate) mod chunked;
pub(crate) mod cluster;
pub(crate) mod conditional;
pub(crate) mod continuous;
pub(crate) mod description;
pub(crate) mod documents;
pub(crate) mod exposition;
pub(crate) mod graph_store;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod pushing;
pub(crate) mod query;
pub(crate) mod reports;
pub(crate) mod routes;
pub(crate) mod snapshots;
pub(crate) mod socket;
pub(crate) mod streams;
pub(crate) mod subscribe;
pub(crate) mod taking;
pub(crate) mod templates;

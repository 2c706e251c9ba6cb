//! What the keys of the sections `node` and `cluster` mean: this process as one node of many.
//!
//! A path in a file is relative to that file's folder, so that a node's file, its key and its part can be moved together.

use super::Origin;
use std::path::{Path, PathBuf};

/// A node, as it is configured. Only the verbs of a cluster look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The directory of its part.
    pub part: Option<PathBuf>,
    /// Its number, to be compared with the part's; `None`: whatever the part says.
    pub number: Option<u16>,
    /// Where it listens for the others; `None`: where they reach it.
    pub listen: Option<String>,
    /// Where the others reach it, as it is registered in etcd; `None`: where it listens.
    pub address: Option<String>,
    /// Where each node is reached, at its number.
    pub nodes: Vec<String>,
    /// The endpoints of the etcd where nodes are registered instead.
    pub etcd: Vec<String>,
    /// Below which key they are there.
    pub prefix: String,
    /// The file of the secret that all nodes have.
    pub key: Option<PathBuf>,
}

impl NodeConfig {
    /// A list of nodes as `cluster.nodes` takes it; the error says what is wrong with it.
    pub fn checked_nodes(list: &[String]) -> Result<Vec<String>, String> {
        for (number, node) in list.iter().enumerate() {
            reached(node)?;
            if let Some(other) = list[..number].iter().position(|other| other == node) {
                return Err(format!(
                    "`{node}` is there twice, as node {other} and as node {number}: each node has an address of its own"
                ));
            }
        }
        Ok(list.to_vec())
    }
}

/// A path, which is beside the file that it stands in; `None` for none.
pub(super) fn path(text: &str, origin: &Origin) -> Option<PathBuf> {
    let beside = match origin {
        Origin::File(name) => Path::new(name).parent(),
        Origin::Default | Origin::Environment(_) | Origin::Flag(_) => None,
    };
    let given = Path::new(text);
    (!text.is_empty()).then(|| beside.map_or_else(|| given.to_owned(), |beside| beside.join(given)))
}

pub(super) fn number(text: &str) -> Result<Option<u16>, String> {
    match text {
        "auto" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| "expected auto, or the number of a part, as in 0".to_owned()),
    }
}

/// A key below which nodes are registered: something, without slashes at its end.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    match text.trim_end_matches('/') {
        "" => Err("expected a key below which nodes are registered, as in somersault".to_owned()),
        prefix => Ok(prefix.to_owned()),
    }
}

pub(super) fn listen(text: &str) -> Result<Option<String>, String> {
    match text {
        "auto" => Ok(None),
        text => reached(text).map(Some),
    }
}

/// A host and a port.
fn reached(text: &str) -> Result<String, String> {
    let is_one = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_one {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is no host and port, as in 10.0.0.1:7373 or node-1.example:7373"
    ))
}

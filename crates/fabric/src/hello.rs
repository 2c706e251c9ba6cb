//! What two nodes tell each other before anything else, and whether they belong together by it.
//!
//! Both compare, and whoever finds a difference says it to the other, so that the reason stands in the logs of both.

use crate::frame::{Draft, Fields, Frame, FrameError, Kind};
use crate::limits::Limits;
use crate::node::NodeId;

/// Version of what is said after the greeting. Counted up with every change of a frame, and of a message that nodes of two
/// releases would read differently: there is no other number that tells them apart.
pub(crate) const PROTOCOL_VERSION: u16 = 6;

/// Who a node is, and what it takes its cluster to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Version of the protocol.
    pub(crate) version: u16,
    /// Which cluster.
    pub(crate) cluster: [u8; 16],
    /// Which state of the cluster's list and placement.
    pub(crate) epoch: u64,
    /// How many members.
    pub(crate) nodes: u16,
    /// Who speaks.
    pub(crate) from: NodeId,
    /// Who is meant.
    pub(crate) to: NodeId,
    /// Which life of the speaker.
    pub(crate) life: u64,
    /// The speaker's limits.
    pub(crate) limits: Limits,
}

impl Hello {
    /// The same, said to somebody.
    pub(crate) fn to(&self, to: NodeId) -> Hello {
        Hello { to, ..self.clone() }
    }

    pub(crate) fn draft(&self) -> Draft {
        let mut body = Vec::with_capacity(72);
        body.extend_from_slice(&self.version.to_le_bytes());
        body.extend_from_slice(&self.cluster);
        body.extend_from_slice(&self.epoch.to_le_bytes());
        for small in [self.nodes, self.from.0, self.to.0] {
            body.extend_from_slice(&small.to_le_bytes());
        }
        body.extend_from_slice(&self.life.to_le_bytes());
        for limit in self.limits.as_array() {
            body.extend_from_slice(&(limit as u64).to_le_bytes());
        }
        Draft::short(Kind::Hello, body)
    }

    pub(crate) fn parse(frame: &Frame) -> Result<Hello, FrameError> {
        let mut fields = Fields::of(frame);
        let hello = Hello {
            version: fields.u16()?,
            cluster: fields.bytes()?,
            epoch: fields.u64()?,
            nodes: fields.u16()?,
            from: NodeId(fields.u16()?),
            to: NodeId(fields.u16()?),
            life: fields.u64()?,
            limits: Limits::of_array([
                fields.u64()? as usize,
                fields.u64()? as usize,
                fields.u64()? as usize,
                fields.u64()? as usize,
            ]),
        };
        fields.end()?;
        Ok(hello)
    }

    /// Whether two nodes belong together; if not, what differs and what to do, as it is told to both.
    pub(crate) fn compare(&self, other: &Hello) -> Result<(), String> {
        if self.version != other.version {
            return Err(differ("protocol version", self, other, |hello| {
                hello.version.to_string()
            }) + ": run the same release on both");
        }
        if self.cluster != other.cluster {
            return Err(differ("cluster", self, other, |hello| hex(&hello.cluster))
                + ": their parts are of different graphs; check the addresses, and where the parts come from");
        }
        if self.nodes != other.nodes {
            return Err(differ("number of members", self, other, |hello| {
                hello.nodes.to_string()
            }) + ": give both the same list of members");
        }
        if self.epoch != other.epoch {
            return Err(differ("placement epoch", self, other, |hello| {
                hello.epoch.to_string()
            }) + ": give both parts of the same cut, with the same placement");
        }
        if self.limits != other.limits {
            return Err(differ("limits", self, other, |hello| {
                format!("{:?}", hello.limits.as_array())
            }) + ": give both the same limits");
        }
        self.compare_names(other)
    }

    fn compare_names(&self, other: &Hello) -> Result<(), String> {
        if self.from == other.from {
            return Err(format!(
                "there are two nodes with the name {}: give each node its own position in the list of members",
                self.from
            ));
        }
        if other.from.0 >= self.nodes {
            return Err(format!(
                "{} is no member, the list has {}: check its name and the list",
                other.from, self.nodes
            ));
        }
        if other.to != self.from {
            return Err(format!(
                "{} answers where {} was looked for: check the addresses in the list of members",
                self.from, other.to
            ));
        }
        Ok(())
    }
}

/// How two nodes differ in something.
fn differ(what: &str, one: &Hello, other: &Hello, value: impl Fn(&Hello) -> String) -> String {
    let (first, second) = (value(one), value(other));
    format!(
        "{what} is {first} at {} and {second} at {}",
        one.from, other.from
    )
}

fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

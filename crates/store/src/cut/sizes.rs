//! How even the parts of a graph are, and what crosses between them.
//!
//! A walk over a *link* (an edge from one IRI to another, but for `rdf:type`, which lies with the member) goes to another node
//! where the link crosses. So the share that crosses is what a placement is measured by; how uneven parts are is what the
//! slowest node has more than the mean.

/// Sizes of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSizes {
    /// Whose part it is.
    pub node: u16,
    /// Out-edges: the quads whose subjects are owned.
    pub out_edges: u64,
    /// In-edges.
    pub in_edges: u64,
    /// Keys over all segments of both directions.
    pub keys: u64,
    /// Vertices with an out-edge.
    pub subjects: u64,
    /// Vertices with an in-edge here; classes among them that are owned elsewhere.
    pub objects: u64,
    /// Bytes of its files without the dictionary's.
    pub bytes: u64,
    /// Out-edges from IRI to IRI, without those of `rdf:type`.
    pub links: u64,
    /// Links whose object is owned elsewhere.
    pub crossing: u64,
}

impl PartSizes {
    /// Half quads.
    pub fn edges(&self) -> u64 {
        self.out_edges + self.in_edges
    }
}

/// Sizes of all parts of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutSizes {
    /// By node.
    pub parts: Vec<PartSizes>,
}

impl CutSizes {
    /// The largest part by the mean of all, 1 where all are alike.
    pub fn imbalance(&self, of: impl Fn(&PartSizes) -> u64) -> f64 {
        let most = self.parts.iter().map(&of).max().unwrap_or(0);
        match self.sum(of) {
            0 => 1.0,
            sum => most as f64 * self.parts.len() as f64 / sum as f64,
        }
    }

    /// The sum over all parts.
    pub fn sum(&self, of: impl Fn(&PartSizes) -> u64) -> u64 {
        self.parts.iter().map(of).sum()
    }

    /// The share of links that cross, 0 to 1.
    pub fn crossing_share(&self) -> f64 {
        match self.sum(|part| part.links) {
            0 => 0.0,
            links => self.sum(|part| part.crossing) as f64 / links as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_compared_with_their_mean() {
        let part = |out_edges, crossing| PartSizes {
            out_edges,
            links: 10,
            crossing,
            ..PartSizes::default()
        };
        let sizes = CutSizes {
            parts: vec![part(10, 2), part(20, 4), part(30, 0)],
        };
        assert!((sizes.imbalance(PartSizes::edges) - 1.5).abs() < 1e-9);
        assert!((sizes.crossing_share() - 0.2).abs() < 1e-9);
        let none = CutSizes::default();
        assert!((none.imbalance(PartSizes::edges) - 1.0).abs() < 1e-9);
        assert!(none.crossing_share().abs() < 1e-9);
    }
}

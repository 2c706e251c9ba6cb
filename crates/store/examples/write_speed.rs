//! Measures the segment writer: `write_speed [MILLIONS]`. Rows a second on one thread, into memory
//! that is thrown away, for keys with one row, with four, and with long lists.

use rdf::{Direction, PredicateId, Tag, VertexId};
use std::io;
use std::sync::Arc;
use std::time::Instant;
use store::parts::{AppendFile, PartFiles, PartName, PartSummary};
use store::{Edge, GraphScope, GraphWriter, SegmentShape, Spans};

/// Files that keep nothing.
struct Nowhere;

impl PartFiles for Nowhere {
    fn create(&self, _: &PartName) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(Nowhere))
    }

    fn completed(&self, _: PartSummary) {}
}

impl AppendFile for Nowhere {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() {
    let millions: u64 = std::env::args()
        .nth(1)
        .map_or(10, |count| count.parse().expect("a number"));
    let count = millions * 1_000_000;
    for rows_per_key in [1, 4, 3000] {
        let edge = |row: u64| Edge {
            key: VertexId::new(Tag::Iri, row / rows_per_key * 3),
            neighbour: VertexId::new(Tag::Iri, 1000 + row * 7 % 5000 + row % rows_per_key * 5000),
            graph: GraphScope::DEFAULT_GRAPH,
        };
        let edges: Vec<Edge> = (0..count).map(edge).collect();
        let mut neighbours = Spans::default();
        for edge in &edges {
            neighbours.observe(edge.neighbour);
        }
        let start = Instant::now();
        let mut writer = GraphWriter::create(&Nowhere, Direction::In, Arc::new([])).expect("parts");
        let shape = SegmentShape {
            rows_max: count,
            neighbours,
        };
        writer.begin(PredicateId(2), &shape).expect("a segment");
        for batch in edges.chunks(4096) {
            writer.push(batch).expect("rows");
        }
        let pushed = start.elapsed();
        let summary = writer.finish(&Nowhere).expect("the parts");
        println!(
            "{rows_per_key:>5} rows a key: {:.1} M rows/s, {:.1} with signatures ({} vertices)",
            count as f64 / pushed.as_secs_f64() / 1e6,
            count as f64 / start.elapsed().as_secs_f64() / 1e6,
            summary.vertices,
        );
    }
}

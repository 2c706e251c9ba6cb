//! A random graph of skewed degrees, as edges, as N-Triples, and as plain arrays to search.
//!
//! Both ends of an edge are drawn as `vertices * u^2`, `u` uniform: the degree of vertex `i` falls as
//! `i^(-1/2)`, so a few have thousands of neighbours and most a handful. The same seed gives the
//! same edges. The search over the arrays is what a path cannot be faster than with the same
//! memory layout: two arrays, a bitmap, a queue.

use std::io::{self, Read};
use workload::lubm::Random;

/// Numbers of a vertex are below this.
pub const VERTICES_MAX: u32 = 1 << 30;

/// Distinct directed edges, sorted, without loops.
#[derive(Clone, Debug)]
pub struct Graph {
    vertices: u32,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    /// Draws so many edges among vertices 0 to `vertices` (at most [`VERTICES_MAX`]); those that
    /// come again and loops are left out.
    pub fn skewed(vertices: u32, edges: u32, seed: u64) -> Self {
        assert!(
            (1..=VERTICES_MAX).contains(&vertices),
            "{vertices} vertices"
        );
        let mut random = Random::new(seed.cast_signed());
        let mut draw = || {
            let uniform = f64::from(random.below(i32::MAX as u32)) / f64::from(i32::MAX);
            ((uniform * uniform * f64::from(vertices)) as u32).min(vertices - 1)
        };
        let mut edges: Vec<_> = (0..edges).map(|_| (draw(), draw())).collect();
        edges.retain(|(from, to)| from != to);
        edges.sort_unstable();
        edges.dedup();
        Self { vertices, edges }
    }

    /// The edges, sorted.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// The edges as N-Triples with this predicate; vertices are named by [`vertex`].
    pub fn reader<'g>(&'g self, predicate: &'g str) -> impl Read + Send + 'g {
        Lines {
            edges: self.edges.iter(),
            predicate,
            text: String::new(),
            at: 0,
        }
    }

    /// The neighbours of every vertex as two arrays.
    pub fn arrays(&self) -> Arrays {
        let mut offsets = vec![0_u32; self.vertices as usize + 1];
        for &(from, _) in &self.edges {
            offsets[from as usize + 1] += 1;
        }
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        assert_eq!(
            offsets.last(),
            Some(&(self.edges.len() as u32)),
            "each edge leaves a vertex"
        );
        assert!(
            self.edges.is_sorted(),
            "the edges of a vertex are neighbours"
        );
        Arrays {
            offsets,
            neighbours: self.edges.iter().map(|&(_, to)| to).collect(),
        }
    }
}

/// The name of a vertex, without angle brackets.
pub fn vertex(number: u32) -> String {
    format!("urn:vertex:{number}")
}

/// A graph as offsets and neighbours.
#[derive(Clone, Debug)]
pub struct Arrays {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Arrays {
    /// How many vertices are reached from one by at least one edge: a breadth-first search.
    pub fn reached(&self, from: u32) -> u64 {
        assert!(
            (from as usize) < self.offsets.len() - 1,
            "{from} is a vertex"
        );
        let mut visited = vec![0_u64; self.offsets.len() / 64 + 1];
        let mut queue = vec![from];
        let mut at = 0;
        while let Some(&vertex) = queue.get(at) {
            at += 1;
            // The start was expanded as the first; an edge that leads back only makes it count.
            if at > 1 && vertex == from {
                continue;
            }
            let [begin, end] = [0, 1].map(|after| self.offsets[vertex as usize + after] as usize);
            for &next in &self.neighbours[begin..end] {
                let (word, bit) = (next as usize / 64, 1_u64 << (next % 64));
                if visited[word] & bit == 0 {
                    visited[word] |= bit;
                    queue.push(next);
                }
            }
        }
        queue.len() as u64 - 1
    }
}

/// N-Triples as they are read.
struct Lines<'g> {
    edges: std::slice::Iter<'g, (u32, u32)>,
    predicate: &'g str,
    text: String,
    at: usize,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const BATCH: usize = 1000;
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            for (from, to) in self.edges.by_ref().take(BATCH) {
                let (from, to, predicate) = (vertex(*from), vertex(*to), self.predicate);
                for part in ["<", &from, "> <", predicate, "> <", &to, "> .\n"] {
                    self.text.push_str(part);
                }
            }
        }
        let left = &self.text.as_bytes()[self.at..];
        let read = left.len().min(buffer.len());
        buffer[..read].copy_from_slice(&left[..read]);
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn degrees_are_skewed_and_edges_distinct() {
        let graph = Graph::skewed(10_000, 50_000, 1);
        assert_eq!(graph.edges(), Graph::skewed(10_000, 50_000, 1).edges());
        assert_ne!(graph.edges(), Graph::skewed(10_000, 50_000, 2).edges());
        assert!(graph.edges().len() > 49_000, "{}", graph.edges().len());
        assert!(graph.edges().is_sorted_by(|one, next| one < next));
        let arrays = graph.arrays();
        let degree = |at: usize| arrays.offsets[at + 1] - arrays.offsets[at];
        // 50,000 / 100 are expected of the first vertex, 2.5 of the last.
        assert!((400..600).contains(&degree(0)), "{}", degree(0));
        assert!(degree(9_999) < 20);
    }

    #[test]
    fn what_is_read_are_the_edges() {
        let graph = Graph::skewed(100, 3000, 1);
        let mut text = String::new();
        let read = graph.reader("urn:knows").read_to_string(&mut text).unwrap();
        assert_eq!(read, text.len());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), graph.edges().len());
        let (from, to) = graph.edges()[0];
        let expected = format!("<urn:vertex:{from}> <urn:knows> <urn:vertex:{to}> .");
        assert_eq!(lines[0], expected);
    }

    #[test]
    fn a_search_reaches_what_a_closure_holds() {
        for seed in 0..20 {
            let graph = Graph::skewed(60, 80, seed);
            let arrays = graph.arrays();
            for from in [0, 1, 59] {
                let mut reached = BTreeSet::new();
                loop {
                    let edges = graph.edges().iter();
                    let more: BTreeSet<u32> = edges
                        .filter(|(one, _)| *one == from || reached.contains(one))
                        .map(|(_, next)| *next)
                        .collect();
                    if more == reached {
                        break;
                    }
                    reached = more;
                }
                assert_eq!(arrays.reached(from), reached.len() as u64, "{seed} {from}");
            }
        }
    }
}

//! Every quad of a selection of a graph in parts, as ids, batch by batch, in the order in which they lie in a whole graph.
//!
//! A key's list of out-edges lies with the key's owner. So each node gives the keys that it has in pages, which are merged:
//!
//! ```text
//!  node 0:  1  2  9 | ..         up to 4, the least of the pages' last keys: 1 2 3 4;
//!  node 1:  3  4    | ..         then a page of node 1 is asked for
//! ```
//!
//! Memory is that of a page of each node and of the lists of one batch of keys; of a named graph also its keys of one
//! predicate, as in a whole graph. A batch of lists that there is no memory for is halved.

use super::reading::{Reading, Take};
use crate::dump::error::DumpError;
use crate::error::Kind;
use crate::moment::scan::{Batch, Expansion, QuadSelection};
use rdf::{Direction, PredicateId, VertexId};
use store::Lists;
use store::view::{GraphView, Need, SegmentKey};

/// Keys of a page.
const PAGE: u64 = 4096;

/// Keys whose lists are asked for together.
const LISTS: usize = 512;

/// Gives every quad of the selection to `take`, whose error ends the scan.
pub(super) fn scan(
    reading: &Reading<'_>,
    selection: QuadSelection,
    take: &mut Take<'_>,
) -> Result<(), DumpError> {
    let mut scan = Scan {
        reading,
        selection,
        take,
        expansion: Expansion::default(),
    };
    let predicates = reading.part().predicates();
    predicates
        .into_iter()
        .try_for_each(|predicate| scan.predicate(predicate))
}

struct Scan<'s> {
    reading: &'s Reading<'s>,
    selection: QuadSelection,
    take: &'s mut Take<'s>,
    expansion: Expansion,
}

impl Scan<'_> {
    fn predicate(&mut self, predicate: PredicateId) -> Result<(), DumpError> {
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        let reading = self.reading;
        if let QuadSelection::Named(graph) = self.selection {
            let visit = reading.visit();
            let view = visit.view();
            reading.ready(&visit, || view.fetch(&[Need::KeysOfGraph(segment, graph)]))?;
            let mut keys = Vec::new();
            view.keys_of_graph(segment, graph, &mut keys)?;
            return self.batches(segment, &keys);
        }
        let mut keys = Keys::new(segment, reading.nodes());
        while let Some(some) = keys.next(reading)? {
            self.batches(segment, &some)?;
        }
        Ok(())
    }

    fn batches(&mut self, segment: SegmentKey, keys: &[VertexId]) -> Result<(), DumpError> {
        keys.chunks(LISTS)
            .try_for_each(|keys| self.lists(segment, keys))
    }

    /// Gives the rows of these keys' lists.
    fn lists(&mut self, segment: SegmentKey, keys: &[VertexId]) -> Result<(), DumpError> {
        let reading = self.reading;
        let visit = reading.visit_at(keys[0]);
        let view = visit.view();
        let mut lists = Lists::new();
        let scope = self.selection.scope();
        let fetched = reading.ready(&visit, || view.lists(segment, keys, scope, &mut lists));
        match fetched {
            Ok(()) => {}
            Err(DumpError::Nodes(error)) if error.kind == Kind::Memory && keys.len() > 1 => {
                drop(lists);
                drop(view);
                drop(visit);
                let (first, second) = keys.split_at(keys.len() / 2);
                self.lists(segment, first)?;
                return self.lists(segment, second);
            }
            Err(error) => return Err(error),
        }
        let take = &mut *self.take;
        let mut of_predicate = |batch: &Batch| take(segment.predicate, batch);
        self.expansion
            .give(&lists, keys, self.selection, &mut of_predicate)
    }
}

/// The keys of a segment, of all nodes, ascending.
struct Keys {
    segment: SegmentKey,
    /// By node.
    pages: Vec<Page>,
}

/// Keys of a node that were not given yet.
#[derive(Clone, Default)]
struct Page {
    /// Where its next page begins.
    next: u64,
    keys: Vec<VertexId>,
    /// Keys of this page that were given.
    given: usize,
    is_last: bool,
}

impl Keys {
    fn new(segment: SegmentKey, nodes: u16) -> Keys {
        Keys {
            segment,
            pages: vec![Page::default(); nodes.into()],
        }
    }

    /// The next keys; `None`: all were given.
    fn next(&mut self, reading: &Reading<'_>) -> Result<Option<Vec<VertexId>>, DumpError> {
        self.fetch(reading)?;
        let open = self.pages.iter().filter(|page| !page.is_last);
        let border = open.filter_map(|page| page.keys.last()).min().copied();
        let mut keys = Vec::new();
        for page in &mut self.pages {
            let left = &page.keys[page.given..];
            let given = border.map_or(left.len(), |border| {
                left.partition_point(|key| *key <= border)
            });
            keys.extend_from_slice(&left[..given]);
            page.given += given;
        }
        keys.sort_unstable();
        Ok(Some(keys).filter(|keys| !keys.is_empty()))
    }

    /// Asks for the next page of each node of which all were given.
    fn fetch(&mut self, reading: &Reading<'_>) -> Result<(), DumpError> {
        let is_used = |page: &Page| page.given == page.keys.len() && !page.is_last;
        let used = (0..).zip(&self.pages).filter(|(_, page)| is_used(page));
        let wanted: Vec<(u16, u64)> = used.map(|(node, page)| (node, page.next)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let visit = reading.visit();
        let pages = reading.answered(&visit, || visit.key_pages(self.segment, &wanted, PAGE))?;
        for ((node, _), keys) in wanted.iter().zip(pages) {
            let page = &mut self.pages[usize::from(*node)];
            page.next += keys.len() as u64;
            page.is_last = (keys.len() as u64) < PAGE;
            page.keys.clear();
            page.keys.extend_from_slice(&keys);
            page.given = 0;
        }
        Ok(())
    }
}

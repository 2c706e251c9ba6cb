//! Which rows of a segment a scope admits, in codes of graphs.

use crate::format::DEFAULT_GRAPH_CODE;
use crate::view::GraphScope;
use rdf::VertexId;

/// Which rows of a segment a scope admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All; neighbours are distinct already.
    Every,
    /// None.
    Nothing,
    /// Those of one graph.
    One(u32),
    /// Those of any of these graphs, ascending; a neighbour comes once.
    Union(Vec<u32>),
    /// Those of any graph; a neighbour comes once.
    Any,
    /// Those of every named graph, with the graph.
    EachNamed,
    /// Those of these graphs, ascending, with the graph.
    Each(Vec<u32>),
}

impl Filter {
    /// What a scope admits of a segment all of whose edges are in the default graph.
    pub(crate) fn of_default_graph(scope: GraphScope<'_>) -> Filter {
        let is_default = match scope {
            GraphScope::Default | GraphScope::Union => true,
            GraphScope::Named(graph) => graph == GraphScope::DEFAULT_GRAPH,
            GraphScope::Merge(graphs) => graphs.contains(&GraphScope::DEFAULT_GRAPH),
            GraphScope::EachNamed | GraphScope::EachOf(_) => false,
        };
        if is_default {
            Filter::Every
        } else {
            Filter::Nothing
        }
    }

    /// What a scope admits of a segment with a graph column; `named`: the code of a named graph that holds an edge.
    pub(crate) fn of_scope(
        scope: GraphScope<'_>,
        named: impl Fn(VertexId) -> Option<u32>,
    ) -> Filter {
        let code = |graph: VertexId| match graph {
            GraphScope::DEFAULT_GRAPH => Some(DEFAULT_GRAPH_CODE),
            graph => named(graph),
        };
        match scope {
            GraphScope::Default => Filter::One(DEFAULT_GRAPH_CODE),
            GraphScope::Named(graph) => code(graph).map_or(Filter::Nothing, Filter::One),
            GraphScope::Merge(graphs) => {
                union(graphs.iter().filter_map(|&graph| code(graph)).collect())
            }
            GraphScope::Union => Filter::Any,
            GraphScope::EachNamed => Filter::EachNamed,
            GraphScope::EachOf(graphs) => {
                match union(graphs.iter().filter_map(|&graph| named(graph)).collect()) {
                    Filter::Nothing => Filter::Nothing,
                    Filter::One(code) => Filter::Each(vec![code]),
                    Filter::Union(codes) => Filter::Each(codes),
                    _ => unreachable!("a union is of none, one or several"),
                }
            }
        }
    }

    /// Whether a row of this graph passes.
    #[inline]
    pub(crate) fn admits(&self, graph: u32) -> bool {
        match self {
            Filter::Every | Filter::Any => true,
            Filter::Nothing => false,
            Filter::One(one) => graph == *one,
            Filter::Union(graphs) | Filter::Each(graphs) => graphs.binary_search(&graph).is_ok(),
            Filter::EachNamed => graph != DEFAULT_GRAPH_CODE,
        }
    }

    pub(crate) fn binds_graph(&self) -> bool {
        matches!(self, Filter::EachNamed | Filter::Each(_))
    }
}

/// The filter for any of these graphs.
fn union(mut codes: Vec<u32>) -> Filter {
    codes.sort_unstable();
    codes.dedup();
    match codes[..] {
        [] => Filter::Nothing,
        [code] => Filter::One(code),
        _ => Filter::Union(codes),
    }
}

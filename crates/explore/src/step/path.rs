//! Property paths: breadth-first search on the graph.

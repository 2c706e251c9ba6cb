//! Naive oracle evaluator, graph fixtures, random graphs and queries, case files.

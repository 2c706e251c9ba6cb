//! Benchmark data generators and query mixes.

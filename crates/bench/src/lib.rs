//! Measured runs and their records.

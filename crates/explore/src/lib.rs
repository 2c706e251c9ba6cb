//! Runs a plan over any graph view, growing columnar binding tables.

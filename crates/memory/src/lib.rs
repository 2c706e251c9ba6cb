//! Slabs of memory: mapped files, aligned heap regions, prefetch. The one home of unsafe code.

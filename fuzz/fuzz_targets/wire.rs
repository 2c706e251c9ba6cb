//! Bytes as a plan or rows; what is asked of them is said at `bodies::wire`.

#![no_main]

fuzz::target!("wire");

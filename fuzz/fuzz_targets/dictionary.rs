//! The dictionary's files behind right checksums; what is asked of it is said at `bodies::stored::dictionary`.

#![no_main]

fuzz::target!("dictionary");

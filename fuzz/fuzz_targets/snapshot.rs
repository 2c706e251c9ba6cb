//! A graph's parts behind right checksums; what is asked of it is said at `bodies::stored::snapshot`.

#![no_main]

fuzz::target!("snapshot");

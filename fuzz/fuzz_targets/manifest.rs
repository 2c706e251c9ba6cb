//! A store's manifest behind a right checksum; what is asked of it is said at `bodies::stored::manifest`.

#![no_main]

fuzz::target!("manifest");

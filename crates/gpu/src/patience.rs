//! Whether to wait on for a device.

/// Asked again and again while the device works; may sleep. A device that hangs is not to hold who waits for it.
pub type Patience<'p> = dyn FnMut() -> bool + 'p;

//! The configuration's text, and the sizes and durations in it.
//!
//! What `config show` prints as a value is what was written, so a configuration that was accepted
//! is accepted again when its values come as flags, and means the same.

use somersault::config::{Layers, Machine};
use somersault::units::{format_duration, format_size, parse_duration, parse_size};

const MACHINE: Machine = Machine {
    cores: 2,
    free_memory_bytes: 1 << 33,
};

/// A text as a configuration file, as a size and as a duration.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(bytes) = parse_size(text) {
        assert!(!format_size(bytes).is_empty());
    }
    if let Ok(duration) = parse_duration(text) {
        assert!(!format_duration(duration).is_empty());
    }
    let mut file = Layers::new();
    if let Err(error) = file.add_file("fuzz.toml", text) {
        assert!(!error.to_string().is_empty());
        return;
    }
    let checked = match file.check(MACHINE) {
        Ok(checked) => checked,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut flags = Layers::new();
    for (key, value, _) in file.show() {
        flags
            .add_flag("--set", key, value)
            .expect("a key that is shown is known");
    }
    let again = flags.check(MACHINE).expect("values that were accepted");
    assert_eq!(checked, again);
}

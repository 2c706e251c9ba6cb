//! What the keys of the section `gpu` mean.

use engine::accelerator::Offload;
use engine::units::{format_size, parse_size};

/// With less of a device's memory a query has no room for its first step.
const BYTES_MIN: u64 = 1 << 20;

/// The GPU, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuConfig {
    /// Which queries begin there.
    pub offload: Offload,
    /// Numbers of the cards, each by itself or with others that have the graph's data together; one that stands there twice is two devices, with half of
    /// the memory each.
    pub devices: Vec<Vec<usize>>,
    /// Bytes of a device's memory for images of segments; `None`: three fifths of what is free.
    pub images_bytes: Option<u64>,
    /// Bytes of this machine's memory, of all devices together, for data that have no room on a device; they are taken when they
    /// are needed. `None`: a third of the pool of queries.
    pub host_bytes: Option<u64>,
    /// Bytes of a device's memory for tables of all queries together; `None`: a fifth of what is free.
    pub tables_bytes: Option<u64>,
}

impl Default for GpuConfig {
    fn default() -> GpuConfig {
        GpuConfig {
            offload: Offload::Auto,
            devices: vec![vec![0]],
            images_bytes: None,
            host_bytes: None,
            tables_bytes: None,
        }
    }
}

pub(super) fn offload(text: &str) -> Result<Offload, String> {
    match text {
        "auto" => Ok(Offload::Auto),
        "never" => Ok(Offload::Never),
        "always" => Ok(Offload::Always),
        _ => Err("expected auto, never or always".to_owned()),
    }
}

/// Cards and, joined by a plus, those that have data together.
pub(super) fn devices(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let together = |cards: &str| {
        let numbers = cards.split('+').map(|it| it.trim().parse());
        numbers.collect::<Result<Vec<usize>, _>>()
    };
    let all: Result<_, _> = text.split(',').map(together).collect();
    all.map_err(|_| "expected numbers of cards, as in 0 or 0,1 or 0+1".to_owned())
}

/// A size; `None` for one that follows from a device's memory.
pub(super) fn bytes(text: &str) -> Result<Option<u64>, String> {
    match text {
        "auto" => Ok(None),
        text => match parse_size(text) {
            Ok(bytes) if bytes < BYTES_MIN => {
                Err(format!("expected at least {}", format_size(BYTES_MIN)))
            }
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(error.to_string()),
        },
    }
}

//! How a configuration becomes the limits of a database.
//!
//! The engine knows no configuration: its [`Options`] are what it is opened with, whoever read them from where. A key
//! of the configuration that the engine is to obey has its line here, and its meaning there. Fields that no key sets
//! are named, too, so the compiler asks of each new one which it is.

use crate::config::Config;
use engine::Options;

impl From<&Config> for Options {
    fn from(config: &Config) -> Options {
        let Options {
            update_slice,
            update_turn_quads,
            service,
            spans,
            accelerator,
            checkpoint_log_bytes,
            log,
            memory_is_writable,
            ..
        } = Options::default();
        Options {
            memory_pool_bytes: config.memory_pool_bytes,
            query_memory_bytes: config.query_memory_bytes,
            query_threads: config.query_threads,
            timeout: config.timeout,
            max_snapshot_age: config.max_snapshot_age,
            keep_snapshots: config.keep_snapshots,
            union_default_graph: config.union_default_graph,
            text_max_bytes: config.text_max_bytes,
            update_text_max_bytes: config.update_text_max_bytes,
            update_timeout: config.update_timeout,
            plan_cache_bytes: config.plan_cache_bytes,
            sample_from: config.sample_from,
            update_slice,
            update_turn_quads,
            service,
            spans,
            accelerator,
            checkpoint_log_bytes,
            log,
            memory_is_writable,
        }
    }
}

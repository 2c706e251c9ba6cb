//! Configuration as a checked value: read once at the edge, never looked up later.
//!
//! Layers, each over the next: flags, environment (`SOMERSAULT_SECTION__KEY`), file
//! (`somersault.toml`), defaults. Every value remembers where it came from, for `config show`. An
//! unknown key is an error that names the nearest known one; a value that does not parse is an
//! error that names its origin. This module reads neither files nor the environment: the edge
//! hands over what it read.

mod gpu;
mod keys;
mod node;
mod values;

pub use gpu::GpuConfig;
pub use keys::KEYS;
pub use node::NodeConfig;

use engine::units::{UnitError, format_size, parse_duration, parse_sample_from, parse_size};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use values::{address, addresses, count, given, host, joined, list, size_or_none, yes_or_no};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The configuration file of this name.
    File(String),
    /// The environment variable of this name.
    Environment(String),
    /// The command line flag of this name.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::File(name) => write!(f, "file {name}"),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not TOML.
    #[error("{file}: {message}")]
    Syntax {
        /// The file's name.
        file: String,
        /// What the TOML parser says, with its line and column.
        message: String,
    },
    /// A key that nobody knows.
    #[error("{origin}: unknown key `{key}`{}", nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey {
        /// Where it stands.
        origin: Origin,
        /// The key, as `section.key`.
        key: String,
        /// The known key that is most like it.
        nearest: Option<&'static str>,
    },
    /// A value that does not parse.
    #[error("{origin}: `{key}` = `{value}`: {reason}")]
    BadValue {
        /// Where it stands.
        origin: Origin,
        /// The key, as `section.key`.
        key: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// One query may take more than all of them together.
    #[error(
        "{origin}: `query.memory_limit` = {} is more than `query.memory_pool` = {} ({pool_origin})",
        format_size(*limit_bytes),
        format_size(*pool_bytes)
    )]
    LimitAbovePool {
        /// Where the limit stands.
        origin: Origin,
        /// The limit of one query.
        limit_bytes: u64,
        /// Where the pool stands.
        pool_origin: Origin,
        /// The pool of all queries.
        pool_bytes: u64,
    },
}

/// OpenTelemetry's name of a collector's address; ours is over it.
const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

const TOKENS: &str = "auth.tokens";
const ANONYMOUS: &str = "auth.anonymous";
const ALLOW_UPDATE: &str = "server.allow_update";
/// Shorter secrets are guessed.
const TOKEN_CHARS_MIN: usize = 16;
const POOL: &str = "query.memory_pool";
const LIMIT: &str = "query.memory_limit";
const AUTOMATIC: &str = "auto";

/// The pool, where nobody said how large.
fn automatic_pool_bytes(free_memory_bytes: u64) -> u64 {
    free_memory_bytes / 10 * 6
}

/// Raw values in layers, before they are checked.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Layers {
    /// Nothing but defaults.
    pub fn new() -> Layers {
        Layers::default()
    }

    /// Adds a configuration file's text. Layers are added lowest first: file, environment, flags.
    pub fn add_file(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        let table: toml::Table =
            text.parse()
                .map_err(|error: toml::de::Error| ConfigError::Syntax {
                    file: name.to_owned(),
                    message: error.to_string(),
                })?;
        let origin = Origin::File(name.to_owned());
        for (section, entries) in table {
            let toml::Value::Table(entries) = entries else {
                return Err(unknown(&origin, &section));
            };
            for (key, value) in entries {
                let text = match value {
                    toml::Value::String(text) => text,
                    toml::Value::Array(list) => joined(list),
                    other => other.to_string(),
                };
                self.set(&format!("{section}.{key}"), text, origin.clone())?;
            }
        }
        Ok(())
    }

    /// Adds environment variables; those that do not begin with `SOMERSAULT_` or have no `__` are
    /// not ours.
    pub fn add_environment<I>(&mut self, variables: I) -> Result<(), ConfigError>
    where
        I: IntoIterator<Item = (String, String)>,
    {
        for (name, value) in variables {
            if name == OTLP_ENDPOINT && !value.is_empty() {
                let key = "trace.otlp_endpoint";
                let is_given = matches!(self.values.get(key), Some((_, Origin::Environment(_))));
                if !is_given {
                    self.set(key, value, Origin::Environment(name))?;
                }
                continue;
            }
            let Some(rest) = name.strip_prefix("SOMERSAULT_") else {
                continue;
            };
            let Some((section, key)) = rest.split_once("__") else {
                continue;
            };
            let key = format!("{}.{}", section.to_lowercase(), key.to_lowercase());
            self.set(&key, value, Origin::Environment(name.clone()))?;
        }
        Ok(())
    }

    /// Adds one flag of the command line.
    pub fn add_flag(&mut self, flag: &str, key: &str, value: String) -> Result<(), ConfigError> {
        self.set(key, value, Origin::Flag(flag.to_owned()))
    }

    fn set(&mut self, key: &str, value: String, origin: Origin) -> Result<(), ConfigError> {
        let known = KEYS.iter().find(|(name, _, _)| *name == key);
        let Some((name, _, _)) = known else {
            return Err(unknown(&origin, key));
        };
        self.values.insert(name, (value, origin));
        Ok(())
    }

    fn get(&self, key: &'static str) -> (String, Origin) {
        if let Some(found) = self.values.get(key) {
            return found.clone();
        }
        let (_, default, _) = KEYS
            .iter()
            .find(|(name, _, _)| *name == key)
            .expect("a known key");
        ((*default).to_owned(), Origin::Default)
    }

    /// All keys in order with their values and origins, for `config show`.
    pub fn show(&self) -> Vec<(&'static str, String, Origin)> {
        KEYS.iter()
            .map(|(key, _, _)| {
                let (value, origin) = self.get(key);
                (*key, shown(key, value), origin)
            })
            .collect()
    }

    /// Checks every value. `machine` resolves `auto`.
    pub fn check(&self, machine: Machine) -> Result<Config, ConfigError> {
        assert!(machine.cores > 0, "somebody computes");
        let pool = self.size(POOL, automatic_pool_bytes(machine.free_memory_bytes))?;
        let limit = self.size(LIMIT, pool / 4)?;
        if limit > pool {
            return Err(ConfigError::LimitAbovePool {
                origin: self.get(LIMIT).1,
                limit_bytes: limit,
                pool_origin: self.get(POOL).1,
                pool_bytes: pool,
            });
        }
        let tokens = self.read(TOKENS, |text| list(text).iter().map(|t| token(t)).collect())?;
        Ok(Config {
            allow_update: self.read(ALLOW_UPDATE, yes_or_no)?,
            body_max_bytes: self.read("server.body_max", size_or_none)?,
            update_text_max_bytes: self.size("update.text_max", 64 << 20)?,
            update_timeout: self.duration("update.timeout")?,
            anonymous: self.anonymous()?,
            tokens,
            upkeep: self.read("api.open", |text| {
                Ok(if yes_or_no(text)? {
                    Upkeep::OfAll
                } else {
                    Upkeep::OfAdmins
                })
            })?,
            bind: self.read("server.bind", address)?,
            connections: self.read("server.connections", count)?,
            proxies: self.read("server.proxies", addresses)?,
            spool_limit_bytes: self.size("server.spool_limit", 4 << 30)?,
            spool_folder: self.read("server.spool_folder", |text| match text {
                "auto" => Ok(None),
                "" => Err("it names no folder".to_owned()),
                text => Ok(Some(PathBuf::from(text))),
            })?,
            hosts: self.read("server.hosts", |text| {
                list(text).iter().map(|t| host(t)).collect()
            })?,
            shutdown_delay: self.duration("server.shutdown_delay")?,
            drain: self.duration("server.drain")?,
            timeout: self.duration("query.timeout")?,
            keep_snapshots: self.duration("store.keep_snapshots")?,
            max_snapshot_age: self.duration("store.max_snapshot_age")?,
            memory_pool_bytes: pool,
            is_pool_automatic: self.is_automatic(POOL),
            query_memory_bytes: limit,
            is_limit_automatic: self.is_automatic(LIMIT),
            query_threads: self.count_or("query.threads", machine.cores)?,
            plan_cache_bytes: self.size("query.plan_cache", 32 << 20)?,
            sample_from: self.read("query.sample_from", |text| {
                parse_sample_from(text).map_err(|e| e.to_string())
            })?,
            text_max_bytes: self.size("query.text_max", 1 << 20)?,
            live_queries: self.read("live.queries", count)?,
            live_answer_bytes: self.size("live.answer_memory", 64 << 20)?,
            union_default_graph: self.read("query.union_default_graph", yes_or_no)?,
            services: self.read("service.allow", |text| Ok(list(text)))?,
            otlp_endpoint: self.read("trace.otlp_endpoint", |text| Ok(given(text)))?,
            load_memory_bytes: self.size("load.memory_limit", 2 << 30)?,
            load_threads: self.count_or("load.threads", machine.cores)?,
            gpu: self.gpu()?,
            node: self.node()?,
        })
    }

    /// What may be done without a token.
    fn anonymous(&self) -> Result<Option<Right>, ConfigError> {
        let allow_update = self.read(ALLOW_UPDATE, yes_or_no)?;
        self.read(ANONYMOUS, |text| match (text, allow_update) {
            ("read", true) => Ok(Some(Right::Write)),
            ("read", false) => Ok(Some(Right::Read)),
            ("none", false) => Ok(None),
            ("none", true) => Err(format!(
                "nobody may read, but `{ALLOW_UPDATE}` lets all write"
            )),
            _ => Err("expected read or none".to_owned()),
        })
    }

    fn is_automatic(&self, key: &'static str) -> bool {
        self.get(key).0 == AUTOMATIC
    }

    fn size(&self, key: &'static str, automatic: u64) -> Result<u64, ConfigError> {
        self.read(key, |text| match text {
            AUTOMATIC => Ok(automatic),
            text => parse_size(text).map_err(|error: UnitError| error.to_string()),
        })
    }

    fn gpu(&self) -> Result<GpuConfig, ConfigError> {
        Ok(GpuConfig {
            offload: self.read("gpu.use", gpu::offload)?,
            devices: self.read("gpu.device", gpu::devices)?,
            images_bytes: self.read("gpu.images", gpu::bytes)?,
            host_bytes: self.read("gpu.host", gpu::bytes)?,
            tables_bytes: self.read("gpu.tables", gpu::bytes)?,
        })
    }

    fn node(&self) -> Result<NodeConfig, ConfigError> {
        let path = |key: &'static str| {
            let (text, origin) = self.get(key);
            node::path(&text, &origin)
        };
        Ok(NodeConfig {
            part: path("node.part"),
            number: self.read("node.number", node::number)?,
            listen: self.read("node.listen", node::listen)?,
            address: self.read("node.address", node::listen)?,
            nodes: self.read("cluster.nodes", |text| {
                NodeConfig::checked_nodes(&list(text))
            })?,
            etcd: self.read("cluster.etcd", |text| Ok(list(text)))?,
            prefix: self.read("cluster.prefix", node::prefix)?,
            key: path("cluster.key"),
        })
    }

    fn duration(&self, key: &'static str) -> Result<Duration, ConfigError> {
        self.read(key, |text| parse_duration(text).map_err(|e| e.to_string()))
    }

    fn count_or(&self, key: &'static str, automatic: usize) -> Result<usize, ConfigError> {
        self.read(key, |text| {
            if text == AUTOMATIC {
                Ok(automatic)
            } else {
                count(text)
            }
        })
    }

    fn read<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        let (value, origin) = self.get(key);
        parse(&value).map_err(|reason| ConfigError::BadValue {
            origin,
            key,
            value: shown(key, value),
            reason,
        })
    }
}

/// What `auto` is measured against.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Processor cores that may be used.
    pub cores: usize,
    /// Memory that the machine or its control group has left.
    pub free_memory_bytes: u64,
}

/// What somebody may do; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Queries, and reading graphs.
    Read,
    /// Changes.
    Write,
    /// Seeing and cancelling what others run, and upkeep.
    Admin,
}

/// Who sees and cancels what others run, and compacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Bearers of a token with the right.
    OfAdmins,
    /// Everybody who reaches the server.
    OfAll,
}

/// A secret that gives a right to whoever knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is good for.
    pub right: Right,
    /// The secret: of RFC 6750's characters.
    pub secret: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:?}, not shown)", self.right)
    }
}

/// A checked configuration.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own, or says whether one was left open"
)]
pub struct Config {
    /// Address to listen on.
    pub bind: SocketAddr,
    /// Connections at once; for more, the idlest are closed.
    pub connections: usize,
    /// Proxies that are believed when they say for whom they speak.
    pub proxies: Vec<IpAddr>,
    /// What answers may take of the disk that are finished before they are sent, together.
    pub spool_limit_bytes: u64,
    /// Where they lie; `None`: the folder for temporary files, or that of the store.
    pub spool_folder: Option<PathBuf>,
    /// Names under which a server is asked besides those of its machine: in lower case, without ports.
    pub hosts: Vec<String>,
    /// Between the request to end and the end of listening: readiness says 503, so that whoever shares
    /// out requests sends no more; those that come are answered.
    pub shutdown_delay: Duration,
    /// After that: how long running requests may go on before they are cancelled.
    pub drain: Duration,
    /// Whether everybody who reaches the server may change the graph.
    pub allow_update: bool,
    /// Largest document for a graph, in bytes, decompressed; `None`: no limit.
    pub body_max_bytes: Option<u64>,
    /// Longest update text.
    pub update_text_max_bytes: u64,
    /// Time of a change.
    pub update_timeout: Duration,
    /// What may be done without a token; `None`: nothing.
    pub anonymous: Option<Right>,
    /// Who else may what.
    pub tokens: Vec<Token>,
    /// Whose upkeep is.
    pub upkeep: Upkeep,
    /// Time of a query.
    pub timeout: Duration,
    /// How long a snapshot can be read by its number when there is a newer one.
    pub keep_snapshots: Duration,
    /// How old what a query reads may become.
    pub max_snapshot_age: Duration,
    /// Memory of all queries together.
    pub memory_pool_bytes: u64,
    /// Whether that follows from the memory that is free.
    pub is_pool_automatic: bool,
    /// Memory of one query.
    pub query_memory_bytes: u64,
    /// Whether that follows from the pool.
    pub is_limit_automatic: bool,
    /// Threads of one heavy query.
    pub query_threads: usize,
    /// Memory for plans of query shapes.
    pub plan_cache_bytes: u64,
    /// Expected time of a query from which samples help to plan it; [`Duration::MAX`]: never.
    pub sample_from: Duration,
    /// Longest query text.
    pub text_max_bytes: u64,
    /// Live queries at once.
    pub live_queries: usize,
    /// What the answer of a live query may take.
    pub live_answer_bytes: u64,
    /// Whether the default graph that queries see is the union of all graphs.
    pub union_default_graph: bool,
    /// Prefixes of addresses that `SERVICE` may call and `LOAD` may read.
    pub services: Vec<String>,
    /// The address of the collector that is told what nodes did of queries that are followed.
    pub otlp_endpoint: Option<String>,
    /// Memory of a load before it spills.
    pub load_memory_bytes: u64,
    /// Threads of a load.
    pub load_threads: usize,
    /// The GPU.
    pub gpu: GpuConfig,
    /// This process as one node of many.
    pub node: NodeConfig,
}

impl Config {
    /// The same on a machine that has less memory left, as after a graph was loaded in it. What was
    /// configured stays; what was automatic is computed again, and shrinks at most. A configured
    /// limit of one query does not pass a pool that shrank.
    #[must_use]
    pub fn with_free_memory(&self, free_memory_bytes: u64) -> Config {
        let mut config = self.clone();
        if self.is_pool_automatic {
            let pool = automatic_pool_bytes(free_memory_bytes).min(self.memory_pool_bytes);
            config.memory_pool_bytes = pool;
            let asked = if self.is_limit_automatic {
                pool / 4
            } else {
                self.query_memory_bytes
            };
            config.query_memory_bytes = asked.min(pool);
        }
        config
    }

    /// Whether somebody may change the graph over the network.
    pub fn may_be_changed(&self) -> bool {
        self.allow_update || self.tokens.iter().any(|token| token.right >= Right::Write)
    }

    /// A summary for a log line at start.
    pub fn summary(&self) -> String {
        format!(
            "queries: {} each, {} together, {:?}, {} threads",
            format_size(self.query_memory_bytes),
            format_size(self.memory_pool_bytes),
            self.timeout,
            self.query_threads
        )
    }
}

/// A value as people may see it: secrets stay where they are.
fn shown(key: &str, value: String) -> String {
    if key != TOKENS || value.is_empty() {
        return value;
    }
    let rights = list(&value)
        .into_iter()
        .map(|entry| match entry.split_once(':') {
            Some((right, _)) if parse_right(right).is_some() => format!("{right}:..."),
            _ => "...".to_owned(),
        });
    rights.collect::<Vec<_>>().join(", ")
}

fn parse_right(name: &str) -> Option<Right> {
    match name {
        "read" => Some(Right::Read),
        "write" => Some(Right::Write),
        "admin" => Some(Right::Admin),
        _ => None,
    }
}

/// `RIGHT:TOKEN`, the token as `Authorization: Bearer` has it (RFC 6750 section 2.1).
fn token(text: &str) -> Result<Token, String> {
    let (name, secret) = text
        .split_once(':')
        .ok_or("expected RIGHT:TOKEN, as in read:0123456789abcdef")?;
    let right = parse_right(name).ok_or("expected a right: read, write or admin")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if secret.len() < TOKEN_CHARS_MIN || !secret.bytes().all(is_plain) {
        return Err(format!(
            "a token has at least {TOKEN_CHARS_MIN} letters, digits or characters of -._~+/="
        ));
    }
    Ok(Token {
        right,
        secret: secret.to_owned(),
    })
}

/// The one of these names that is most like a name, if one is like it at all.
pub fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    /// No name is half as long, and the comparison takes time and memory by the length.
    const BYTES_MAX: usize = 96;
    if name.len() > BYTES_MAX {
        return None;
    }
    let distances = known.map(|known| (strsim::levenshtein(known, name), known));
    let near = |&(distance, known): &(usize, &str)| distance <= known.len().min(name.len()) / 2 + 1;
    distances.min().filter(near).map(|(_, known)| known)
}

fn unknown(origin: &Origin, key: &str) -> ConfigError {
    let nearest = nearest(key, KEYS.iter().map(|(name, _, _)| *name));
    ConfigError::UnknownKey {
        origin: origin.clone(),
        key: key.to_owned(),
        nearest,
    }
}

#[cfg(test)]
mod tests;

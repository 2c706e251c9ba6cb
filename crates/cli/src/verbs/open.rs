//! Opening what a verb works on: a store, files in memory, or the demonstration's data.
//!
//! One place, so that the same trouble has the same message and exit code under every verb.

use crate::arguments::{Execution, Nodes};
use crate::exit::{Code, Failure};
use crate::say::say;
use crate::settings;
use crate::verbs::input::{self, Input};
use server::otlp::SpanExporter;
use server::outbound::{AllowList, HttpServices};
use somersault::config::Config;
use somersault::device::{self, Accelerator, Offload};
use somersault::load::{MemoryError, Request, Source, StoreError, Syntax, load_in_memory_then};
use somersault::nodes::{Deal, Member, NodeOptions};
use somersault::parts::part_name;
use somersault::{Database, Live, OpenError, Options, upkeep};
use std::path::Path;
use std::sync::Arc;

/// A store directory.
pub fn store(location: &Path, config: &Config) -> Result<Database, Failure> {
    Database::open(location, &options(config, config)?).map_err(failure)
}

/// A store directory; or all parts of a directory, or a store that is cut in memory, each with a node of this process.
pub fn store_in_nodes(
    location: &Path,
    spread: Nodes,
    config: &Config,
) -> Result<Database, Failure> {
    let first = location.join(part_name(0));
    match spread.nodes.filter(|_| first.is_dir()) {
        None => in_nodes(store(location, &of_whole(spread, config))?, spread, config),
        Some(nodes) => {
            let options = options_of_nodes(config)?;
            let run = node_options(spread);
            Database::open_in_nodes(location, nodes, &run, &options).map_err(failure)
        }
    }
}

/// The graph of which this process has one part, once all nodes are there.
pub fn member(
    member: &Member,
    execution: Option<Execution>,
    config: &Config,
) -> Result<Database, Failure> {
    let options = options_of_nodes(config)?;
    let run = NodeOptions {
        mode: execution.map(Into::into).unwrap_or_default(),
        workers: config.query_threads,
        ..NodeOptions::default()
    };
    member.join(&run, &options).map_err(failure)
}

fn node_options(spread: Nodes) -> NodeOptions {
    NodeOptions {
        mode: spread.execution.map(Into::into).unwrap_or_default(),
        between: spread.between.map(Into::into).unwrap_or_default(),
        asked: spread.asked.map(Into::into).unwrap_or_default(),
        ..NodeOptions::default()
    }
}

/// The same graph in parts, where that is wanted, each with a node of this process.
pub fn in_nodes(whole: Database, spread: Nodes, config: &Config) -> Result<Database, Failure> {
    let Some(nodes) = spread.nodes else {
        return Ok(whole);
    };
    let deal = Deal::Evenly { nodes, shift: None };
    deal.check()
        .map_err(|error| Failure::new(Code::Usage, format!("--nodes: {error}")))?;
    let options = options_of_nodes(config)?;
    let run = node_options(spread);
    whole.in_nodes(&deal, &run, &options).map_err(failure)
}

/// As [`store_in_nodes`], where no query is asked that a device could help with.
pub fn unasked(location: &Path, nodes: Option<u16>, config: &Config) -> Result<Database, Failure> {
    let spread = Nodes {
        nodes,
        ..Nodes::default()
    };
    store_in_nodes(location, spread, &without_device(config))
}

/// A store directory whose heavy queries may begin on this device.
pub fn store_with(
    location: &Path,
    config: &Config,
    device: Accelerator,
) -> Result<Database, Failure> {
    let mut options = options(&without_device(config), config)?;
    options.accelerator = Some(Arc::new(device));
    Database::open(location, &options).map_err(failure)
}

/// A store directory that somebody else may change, to be shown as it is at any time.
pub fn followed(location: &Path, config: &Config) -> Result<Database, Failure> {
    let told = Box::new(|what: &str| say!("somersault: {what}"));
    Database::open_following(location, &options(config, config)?, told).map_err(failure)
}

/// A store directory whose changes nobody keeps.
pub fn unkept(location: &Path, config: &Config) -> Result<Database, Failure> {
    Database::open_unkept(location, &options(config, config)?).map_err(failure)
}

/// A store directory for changing; an empty store is made where there is none.
pub fn writable(location: &Path, config: &Config) -> Result<Database, Failure> {
    let mut is_new = false;
    let opened = open_writable(location, config, &mut is_new)?;
    if is_new {
        say!("somersault: {}: made an empty store", location.display());
    }
    Ok(opened)
}

/// A store directory for changing, with its streams and standing queries; an empty store is made where there is none.
pub fn living(location: &Path, config: &Config) -> Result<Database, Failure> {
    let is_new = !location.exists();
    let opened = Live::open(location, &options(config, config)?).map_err(failure)?;
    if is_new {
        say!("somersault: {}: made an empty store", location.display());
    }
    Ok(opened)
}

/// The store of a directory for changing, which must be there, with its streams. With `accept_damage` a damaged log is
/// opened up to the damage.
pub fn existing(
    location: &Path,
    config: &Config,
    accept_damage: bool,
) -> Result<Database, Failure> {
    match upkeep::tail(location) {
        Err(OpenError::Log(_)) if accept_damage => {}
        Err(error) => return Err(failure(error)),
        Ok(_) => {}
    }
    let mut options = options(&without_device(config), config)?;
    options.log.accept_damage = accept_damage;
    Live::open(location, &options).map_err(failure)
}

fn open_writable(location: &Path, config: &Config, is_new: &mut bool) -> Result<Database, Failure> {
    let options = options(config, config)?;
    *is_new = !location.exists();
    Database::open_writable(location, &options).map_err(failure)
}

/// Why a store was not opened.
pub fn failure(error: OpenError) -> Failure {
    if error.is_locked() {
        return Failure::locked(&error);
    }
    let code = if error.is_damage() {
        Code::Integrity
    } else {
        Code::Failed
    };
    Failure::new(code, error)
}

/// The limits of queries by `limits`, and whom they may call and which device they use by `config`.
fn options(config: &Config, limits: &Config) -> Result<Options, Failure> {
    let mut options = Options::from(limits);
    let prefixes = config.services.iter().map(String::as_str);
    let allowed = AllowList::new(prefixes)
        .map_err(|error| Failure::new(Code::Configuration, format!("service.allow: {error}")))?;
    if !allowed.is_empty() {
        options.service = Some(Arc::new(HttpServices::new(allowed)));
    }
    options.accelerator = accelerator(config)?;
    Ok(options)
}

/// The same for nodes, which tell what they did of queries that are followed.
fn options_of_nodes(config: &Config) -> Result<Options, Failure> {
    let mut options = options(config, config)?;
    if let Some(collector) = &config.otlp_endpoint {
        let exporter = SpanExporter::start(collector).map_err(|error| {
            Failure::new(Code::Configuration, format!("trace.otlp_endpoint: {error}"))
        })?;
        options.spans = Some(Arc::new(exporter));
    }
    Ok(options)
}

/// The settings of a graph that may be cut into parts: then devices are their nodes'.
pub fn of_whole(spread: Nodes, config: &Config) -> Config {
    match spread.nodes {
        Some(_) => without_device(config),
        None => config.clone(),
    }
}

/// The same settings for a database that uses no device.
pub fn without_device(config: &Config) -> Config {
    let mut config = config.clone();
    config.gpu.offload = Offload::Never;
    config
}

/// The device that the configuration asks for.
fn accelerator(config: &Config) -> Result<Option<Arc<Accelerator>>, Failure> {
    let teller = Box::new(|what: &str| tracing::warn!("gpu: {what}"));
    device::configured(config, teller).map_err(|error| {
        let message = format!("gpu.use = always: {error}; with --gpu auto the processors serve");
        Failure::new(Code::Configuration, message)
    })
}

/// Files loaded in memory; to be changed if `is_writable`.
pub fn files(input: Input<'_>, config: &Config, is_writable: bool) -> Result<Database, Failure> {
    let request = input.request(config);
    memory(input.sources()?, &request, config, is_writable)
}

/// Files loaded in memory to be changed, into the default graph or into this one.
pub fn files_into(
    input: Input<'_>,
    graph: Option<&str>,
    config: &Config,
) -> Result<Database, Failure> {
    let request = Request {
        graph: graph.map(str::to_owned),
        ..input.request(config)
    };
    memory(input.sources()?, &request, config, true)
}

/// One university in memory; to be changed if `is_writable`.
pub fn demo(config: &Config, is_writable: bool) -> Result<Database, Failure> {
    use workload::lubm::{Lubm, Parameters, Syntax as LubmSyntax};
    let generator = Lubm::new(Parameters::default(), LubmSyntax::NTriples)
        .and_then(|lubm| lubm.reader(1))
        .map_err(|error| Failure::new(Code::Failed, error))?;
    memory(
        vec![Source::reader("demo", generator).with_syntax(Syntax::NTriples)],
        &input::request(config),
        config,
        is_writable,
    )
}

fn memory(
    sources: Vec<Source<'_>>,
    request: &Request,
    config: &Config,
    is_writable: bool,
) -> Result<Database, Failure> {
    // What is free for queries is what the graph leaves.
    let Options {
        service,
        accelerator,
        ..
    } = options(config, config)?;
    let options = || {
        let free = settings::machine().free_memory_bytes;
        Options {
            service,
            accelerator,
            memory_is_writable: is_writable,
            ..Options::from(&config.with_free_memory(free))
        }
    };
    let mut database = None;
    let has_sources = !sources.is_empty();
    let report = input::run_watched("load", true, |watch| {
        let loaded = load_in_memory_then(sources, request, options, watch);
        let (opened, report) = loaded.map_err(|error| match error {
            MemoryError::Load(error) => input::failure(StoreError::Load(error)),
            MemoryError::Open(error) => Failure::new(Code::Failed, error),
        })?;
        database = Some(opened);
        Ok(report)
    })?;
    if has_sources {
        input::say_empty(&report);
    }
    Ok(database.expect("a load that succeeds gives a database"))
}

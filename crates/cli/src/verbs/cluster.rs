//! `cluster`: the files of its nodes, what one of them sees, and whether a node would be taken.

use crate::arguments::{ClusterCheck, ClusterFormat, ClusterInit, ClusterStatus, ClusterVerb};
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::live;
use crate::say::say;
use crate::settings;
use crate::table::{Style, Table};
use crate::verbs::query::stoppable;
use crate::verbs::{node, open};
use serde_json::Value;
use server::etcd::Etcd;
use somersault::config::{Config, NodeConfig};
use somersault::nodes::{ClusterState, Seen, node_at};
use somersault::parts::part_name;
use somersault::units::parse_duration;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The secret's file, beside the nodes'.
const KEY: &str = "cluster.key";

/// Bytes of a secret that is made here.
const KEY_BYTES: usize = 32;

/// How often `check` looks who has come.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the verb.
pub fn run(verb: &ClusterVerb, file: Option<&Path>) -> Outcome {
    match verb {
        ClusterVerb::Init(flags) => init(flags),
        ClusterVerb::Status(flags) => status(flags, file),
        ClusterVerb::Check(flags) => check(flags, file),
    }
}

/// `cluster init`: all files, or an error before the first.
fn init(flags: &ClusterInit) -> Outcome {
    let usage = |message: String| Failure::new(Code::Usage, message);
    let first: SocketAddr = flags.bind.parse().map_err(|_| {
        usage(format!(
            "--bind {}: expected an IP address and a port, as in 127.0.0.1:7272",
            flags.bind
        ))
    })?;
    let nodes = NodeConfig::checked_nodes(&flags.nodes);
    let nodes = nodes.map_err(|reason| usage(format!("--nodes: {reason}")))?;
    if !flags.etcd.is_empty() {
        let etcd = Etcd::new(&flags.etcd);
        etcd.map_err(|error| usage(format!("--etcd: {error}")))?;
    }
    let found = found(&nodes, &flags.etcd, &flags.prefix);
    let texts = (0..nodes.len()).map(|number| node_file(number, &nodes, &found, first));
    let texts = texts.collect::<Result<Vec<String>, Failure>>()?;
    let directory = &flags.directory;
    fs::create_dir_all(directory).map_err(|error| at(directory, &error))?;
    let key = directory.join(KEY);
    let places: Vec<PathBuf> = (0..nodes.len())
        .map(|number| directory.join(format!("node-{number}.toml")))
        .collect();
    let mut all = std::iter::once(&key).chain(&places);
    if let Some(there) = all.find(|path| path.exists()) {
        let message = format!(
            "{}: it is there already, and what nodes use is not written over: remove it first, or name another directory",
            there.display()
        );
        return Err(Failure::new(Code::Failed, message));
    }
    write_new(&key, &new_key()?, 0o600)?;
    for (place, text) in places.iter().zip(&texts) {
        write_new(place, text.as_bytes(), 0o644)?;
    }
    let mut output = io::stdout().lock();
    writeln!(output, "{}", key.display())?;
    for place in &places {
        writeln!(output, "{}", place.display())?;
    }
    Ok(())
}

/// What files say of how nodes find each other.
struct Found {
    /// Whether each node says where it listens.
    is_told: bool,
    text: String,
}

fn found(nodes: &[String], etcd: &[String], prefix: &str) -> Found {
    if etcd.is_empty() {
        let list: Vec<String> = nodes.iter().map(|node| format!("  {node:?},\n")).collect();
        let list = list.concat();
        let text = format!(
            "# Where the nodes are reached by each other, in the order of the parts; the same in each file.\nnodes = [\n{list}]\n"
        );
        return Found {
            is_told: false,
            text,
        };
    }
    let text = format!(
        "# Where the nodes register themselves; the same in each file.\netcd = {etcd:?}\nprefix = {prefix:?}\n"
    );
    Found {
        is_told: true,
        text,
    }
}

/// The file of a node. `first`: where one listens for HTTP; those of one host count its port up.
fn node_file(
    number: usize,
    nodes: &[String],
    found: &Found,
    first: SocketAddr,
) -> Result<String, Failure> {
    let host = |node: &String| node.rsplit_once(':').map(|(host, _)| host.to_owned());
    let before = nodes[..number].iter();
    let beside = before.filter(|other| host(other) == host(&nodes[number]));
    let port = usize::from(first.port()) + beside.count();
    let port = u16::try_from(port)
        .map_err(|_| Failure::new(Code::Usage, "--bind: there are not so many ports above it"))?;
    let bind = SocketAddr::new(first.ip(), port);
    let (text, count) = (&found.text, nodes.len());
    let listen = if found.is_told {
        format!("listen = {:?}\n", nodes[number])
    } else {
        String::new()
    };
    let part = part_name(u16::try_from(number).map_err(|_| too_many())?);
    Ok(format!(
        "# Node {number} of {count}: somersault node --config node-{number}.toml\n\
         # Paths are beside this file.\n\
         [node]\n\
         part = {part:?}\n\
         number = {number}\n\
         {listen}\
         \n\
         [cluster]\n\
         {text}\
         key = {KEY:?}\n\
         \n\
         [server]\n\
         bind = \"{bind}\"\n"
    ))
}

fn too_many() -> Failure {
    Failure::new(Code::Usage, "--nodes: there are too many")
}

fn at(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Failed, format!("{}: {error}", path.display()))
}

/// Random bytes of the system.
fn new_key() -> Result<[u8; KEY_BYTES], Failure> {
    let source = Path::new("/dev/urandom");
    let mut key = [0; KEY_BYTES];
    let read = fs::File::open(source).and_then(|mut file| file.read_exact(&mut key));
    read.map_err(|error| at(source, &error))?;
    Ok(key)
}

/// A file that was not there, with these rights.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Outcome {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| at(path, &error))
}

/// `cluster status`
fn status(flags: &ClusterStatus, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    let url = flags.url.clone().unwrap_or_else(|| own_url(&config));
    let headers = settings::headers_of_query(&[], flags.token.as_deref());
    let document = asked(&url, &headers, config.timeout)?;
    print_state(&document, flags.format)?;
    match document["missing"].as_str() {
        None => Ok(()),
        Some(missing) => Err(Failure::new(Code::Connection, missing)),
    }
}

/// Where the configured node listens, as this machine reaches it.
fn own_url(config: &Config) -> String {
    let mut bind = config.bind;
    if bind.ip().is_unspecified() {
        bind.set_ip(match bind.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{bind}")
}

fn asked(url: &str, headers: &[String], timeout: Duration) -> Result<Value, Failure> {
    let endpoint = Endpoint::new(url, headers, timeout)?;
    let mut document = Value::Null;
    stoppable(|stop| {
        let answer = endpoint.cluster(stop);
        document = answer.map_err(|trouble| trouble.into_failure(""))?;
        Ok(())
    })?;
    Ok(document)
}

fn print_state(document: &Value, format: ClusterFormat) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if format == ClusterFormat::Json {
        return writeln!(output, "{document}");
    }
    let word = |member: &Value| match member {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let nodes = document["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |node: &Value| -> Vec<String> {
        let since = node["since"].as_u64().map(live::moment).unwrap_or_default();
        let [number, part, address, state, cause] =
            ["node", "part", "address", "state", "cause"].map(|name| word(&node[name]));
        vec![number, part, address, state, since, cause]
    };
    let rows: Vec<Vec<String>> = nodes.iter().map(row).collect();
    let names = ["node", "part", "address", "state", "since", "cause"];
    Table::words(&mut output, Style::default(), &names, &rows)?;
    let ready = match document["ready"].as_bool() {
        Some(true) => "queries are answered",
        _ => "queries are not answered yet",
    };
    let (graph, here) = (word(&document["graph"]), word(&document["here"]));
    let generation = word(&document["generation"]);
    writeln!(
        output,
        "as node {here} sees it: graph {graph}, generation {generation} of its part; {ready}"
    )
}

/// `cluster check`: joins the others as the node would, answers them meanwhile, and leaves.
fn check(flags: &ClusterCheck, file: Option<&Path>) -> Outcome {
    let wait = parse_duration(&flags.wait)
        .map_err(|error| Failure::new(Code::Usage, format!("--wait {}: {error}", flags.wait)))?;
    let config = settings::check(&settings::layers(file)?)?;
    let prepared = node::prepared(&config.node);
    let (member, registration) = prepared.map_err(|failure| running(failure, &config))?;
    let (here, nodes) = (member.here(), member.nodes());
    let joining = Arc::clone(&member);
    let thread = std::thread::Builder::new().name("joining".to_owned());
    let joined = thread.spawn(move || open::member(&joining, None, &config).map(drop))?;
    let until = Instant::now() + wait;
    while !joined.is_finished() && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
    let state = member.state();
    let is_through = joined.is_finished();
    drop(registration);
    member.leave();
    if is_through {
        match joined.join() {
            Ok(outcome) => outcome?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    verdict(&state, is_through)?;
    writeln!(
        io::stdout().lock(),
        "sound: node {here} of {nodes}, with {}, of graph {:032x}; the others have the other parts of it",
        part_name(here),
        state.graph
    )?;
    Ok(())
}

/// A port that is taken is perhaps the node's own, which runs.
fn running(failure: Failure, config: &Config) -> Failure {
    if failure.code != Code::Connection {
        return failure;
    }
    let hint = format!(
        "{}; where the node runs already, ask it: somersault cluster status {}",
        failure.message,
        own_url(config)
    );
    Failure::new(failure.code, hint)
}

/// Whether all nodes are there and have told what they have.
fn verdict(state: &ClusterState, is_through: bool) -> Outcome {
    for refused in &state.refused {
        say!("somersault: {}: {}", refused.who, refused.reason);
    }
    for member in &state.members {
        let words = match &member.seen {
            Seen::Here => "is this one".to_owned(),
            Seen::Up => "is there".to_owned(),
            Seen::Down(cause) => format!("is away: {cause}"),
        };
        say!("{} {words}", node_at(member.number, &member.address));
    }
    match state.missing() {
        Some(missing) => Err(Failure::new(Code::Connection, missing)),
        None if !is_through => {
            let message = "all nodes are there, and have not told yet what they have: try again with a longer --wait";
            Err(Failure::new(Code::Connection, message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::config::{Layers, Machine};

    #[test]
    fn a_node_s_file_is_a_configuration() {
        let nodes = ["a:1", "b:1", "a:2"].map(str::to_owned);
        let first = "127.0.0.1:7272".parse().expect("an address");
        let checked = |found: &Found| {
            let text = node_file(2, &nodes, found, first).expect("ports are there");
            let mut layers = Layers::new();
            layers.add_file("d/node-2.toml", &text).expect("known keys");
            let machine = Machine {
                cores: 1,
                free_memory_bytes: 1 << 30,
            };
            layers.check(machine).expect("sound values")
        };
        let config = checked(&found(&nodes, &[], "x"));
        let listed = NodeConfig {
            part: Some(PathBuf::from("d/part-0002")),
            number: Some(2),
            listen: None,
            address: None,
            nodes: nodes.to_vec(),
            etcd: Vec::new(),
            prefix: "somersault".to_owned(),
            key: Some(PathBuf::from("d/cluster.key")),
        };
        assert_eq!(config.node, listed);
        assert_eq!(config.bind.port(), 7273);
        let etcd = ["http://e:2379".to_owned()];
        let registered = NodeConfig {
            listen: Some("a:2".to_owned()),
            nodes: Vec::new(),
            etcd: etcd.to_vec(),
            prefix: "x".to_owned(),
            ..listed
        };
        assert_eq!(checked(&found(&nodes, &etcd, "x")).node, registered);
    }
}

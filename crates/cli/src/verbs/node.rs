//! `node`: this process as one node of many, over HTTP until somebody interrupts it.
//!
//! It serves from the beginning: whoever asks before all nodes are there is told which are missing. At the end the others are
//! told that it leaves, so that they need not wait for its silence.

use crate::arguments::Node;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::verbs::open;
use crate::verbs::serve::{Flags, bound, reading, until_ended};
use server::etcd::Etcd;
use server::registration::Registration;
use server::{Reload, ServerOptions};
use somersault::config::{Config, NodeConfig};
use somersault::nodes::{Member, MemberError, MemberOptions};
use somersault::parts::part_name;
use std::io::ErrorKind;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::Arc;

/// Runs the verb.
pub fn run(flags: &Node, file: Option<&Path>) -> Outcome {
    let read = reading(
        Flags {
            limits: flags.limits.clone(),
            bind: flags.bind.clone(),
            hosts: flags.allow_host.clone(),
            allow_update: false,
        },
        file,
    );
    // At each reload too.
    let read = move || read().and_then(unchanging);
    let config = read()?;
    let (member, registration) = prepared(&config.node)?;
    let cors = flags.cors;
    let options = move |config: &Config| ServerOptions {
        cross_origin: cors,
        ..ServerOptions::from_config(config)
    };
    let now = options(&config);
    let reload: Reload = Box::new(move || match read() {
        Ok(config) => Ok(options(&config)),
        Err(failure) => Err(failure.message),
    });
    let server = bound(now, Some(reload))?.of_member(Arc::clone(&member));
    introduce(&member, &server.address().to_string());
    let joining = Arc::clone(&member);
    let execution = flags.execution;
    let ended = until_ended(
        server,
        move || open::member(&joining, execution, &config),
        || say!("somersault: all nodes are there: queries are answered"),
    );
    // Nobody is to look for it from now on.
    drop(registration);
    member.leave();
    ended
}

fn unchanging(config: Config) -> Result<Config, Failure> {
    if config.may_be_changed() {
        let message = "a cluster takes no changes yet: leave server.allow_update and tokens with the rights write and admin \
                       out of the configuration";
        return Err(Failure::new(Code::Configuration, message));
    }
    Ok(config)
}

fn introduce(member: &Member, address: &str) {
    let (here, nodes) = (member.here(), member.nodes());
    say!(
        "somersault {}: node {here} of {nodes}, with {}, listens on http://{address}",
        env!("CARGO_PKG_VERSION"),
        part_name(here)
    );
}

/// The node that is configured, which has asked no other node yet; and its registration in etcd, where that is configured.
pub fn prepared(config: &NodeConfig) -> Result<(Arc<Member>, Option<Registration>), Failure> {
    let options = options(config)?;
    let etcd = etcd(config)?;
    let tell = Box::new(|line: &str| say!("somersault: {line}"));
    let member = Member::prepare(options, tell).map_err(failure)?;
    let Some(etcd) = etcd else {
        return Ok((member, None));
    };
    let address = reached(&member, config);
    let registration = Registration::start(Arc::clone(&member), etcd, &config.prefix, address)?;
    Ok((member, Some(registration)))
}

/// The etcd where nodes are registered, where one is configured.
fn etcd(config: &NodeConfig) -> Result<Option<Etcd>, Failure> {
    let failed = |message: String| Failure::new(Code::Configuration, message);
    if config.etcd.is_empty() {
        return Ok(None);
    }
    let etcd = Etcd::new(&config.etcd);
    let etcd = etcd.map_err(|error| failed(format!("`cluster.etcd`: {error}")))?;
    let Some(listen) = &config.listen else {
        return Err(failed(
            "`node.listen` is not configured: say where the node listens for the others; with cluster.etcd there is no list \
             that does"
                .to_owned(),
        ));
    };
    let everywhere = |at: &String| {
        at.to_socket_addrs()
            .is_ok_and(|mut all| all.any(|it| it.ip().is_unspecified()))
    };
    if config.address.is_none() && everywhere(listen) {
        return Err(failed(format!(
            "`node.address` is not configured, and nobody reaches the node at {listen}, which is all addresses of its machine: \
             name the one by which others do"
        )));
    }
    Ok(Some(etcd))
}

/// Where others reach a node that is registered: as configured, or where it listens, with the port that it got.
fn reached(member: &Member, config: &NodeConfig) -> String {
    let at = member.listens_at();
    let listen = config.listen.as_deref().unwrap_or_default();
    let host = listen.rsplit_once(':').map(|(host, _)| host);
    match (&config.address, host) {
        (Some(address), _) => address.clone(),
        (None, Some(host)) => format!("{host}:{}", at.port()),
        (None, None) => at.to_string(),
    }
}

fn options(config: &NodeConfig) -> Result<MemberOptions, Failure> {
    let missing = |key: &str, what: &str| {
        let message = format!(
            "`{key}` is not configured: {what}, in the file that --config names; `somersault cluster init` writes such files"
        );
        Failure::new(Code::Configuration, message)
    };
    if !config.nodes.is_empty() && !config.etcd.is_empty() {
        let message = "`cluster.nodes` and `cluster.etcd` are both configured: either a list says where nodes are, or etcd does";
        return Err(Failure::new(Code::Configuration, message));
    }
    if config.nodes.is_empty() && config.etcd.is_empty() {
        return Err(missing(
            "cluster.nodes",
            "say where each node is reached, in the order of the parts, or name an etcd (`cluster.etcd`)",
        ));
    }
    let part = config.part.clone();
    let part = part.ok_or_else(|| {
        missing(
            "node.part",
            "name the directory of a part, as `somersault cut` made it",
        )
    })?;
    let key = config.key.as_ref();
    let key = key.ok_or_else(|| missing("cluster.key", "name the file of the cluster's key"))?;
    Ok(MemberOptions {
        part,
        number: config.number,
        members: config.etcd.is_empty().then(|| config.nodes.clone()),
        listen: config.listen.clone(),
        key: read_key(key)?,
    })
}

/// The secret, which nobody else should read.
fn read_key(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => {
                "; copy it from another node, or make one: somersault cluster init"
            }
            _ => "",
        };
        let message = format!("`cluster.key` = {}: {error}{hint}", path.display());
        Failure::new(Code::Configuration, message)
    };
    let bytes = std::fs::read(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path)
            .map_err(failed)?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            say!(
                "warning: {}: others on this machine can read the cluster's key (mode {:03o}): chmod 600",
                path.display(),
                mode & 0o777
            );
        }
    }
    Ok(bytes)
}

/// Why a node does not begin.
fn failure(error: MemberError) -> Failure {
    match error {
        MemberError::Open(error) => open::failure(error),
        MemberError::Listen { .. } => Failure::new(Code::Connection, error),
        MemberError::Whole { .. }
        | MemberError::Number { .. }
        | MemberError::Count { .. }
        | MemberError::Key(_) => Failure::new(Code::Configuration, error),
    }
}

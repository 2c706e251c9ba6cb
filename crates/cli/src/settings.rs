//! The edge of the process: what the configuration file, the environment and the machine say.
//!
//! Everything below gets checked values; this is the only place that reads these sources.

use crate::arguments::{Gpu, GpuUse, Limits, LoadLimits, Remote, Update};
use crate::exit::{Code, Failure};
use somersault::config::{Config, ConfigError, Layers, Machine};
use somersault::control_group::{self, Free};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

const FILE: &str = "somersault.toml";

/// Configuration file and environment, without flags.
pub fn layers(file: Option<&Path>) -> Result<Layers, Failure> {
    let mut layers = Layers::new();
    let path = file.unwrap_or(Path::new(FILE));
    match fs::read_to_string(path) {
        Ok(text) => {
            layers
                .add_file(&path.display().to_string(), &text)
                .map_err(configuration)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound && file.is_none() => {}
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            return Err(Failure::new(Code::Configuration, message));
        }
    }
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    layers.add_environment(variables).map_err(configuration)?;
    Ok(layers)
}

/// Adds the flags that verbs share.
pub fn add_limits(layers: &mut Layers, limits: &Limits) -> Result<(), Failure> {
    let flags = [
        ("--timeout", "query.timeout", limits.timeout.clone()),
        (
            "--memory-limit",
            "query.memory_limit",
            limits.memory_limit.clone(),
        ),
        (
            "--threads",
            "query.threads",
            limits.threads.map(|threads| threads.to_string()),
        ),
        (
            "--allow-service",
            "service.allow",
            (!limits.allow_service.is_empty()).then(|| limits.allow_service.join(",")),
        ),
        union_default_graph(limits.union_default_graph),
    ];
    add(layers, flags)?;
    add_gpu(layers, limits.gpu)
}

/// Adds `--gpu`.
pub fn add_gpu(layers: &mut Layers, gpu: Gpu) -> Result<(), Failure> {
    let name = |when| match when {
        GpuUse::Auto => "auto",
        GpuUse::Never => "never",
        GpuUse::Always => "always",
    };
    let value = gpu.when.map(|when| name(when).to_owned());
    add(layers, [("--gpu", "gpu.use", value)])
}

/// Adds the flags of a load.
pub fn add_load_limits(layers: &mut Layers, limits: &LoadLimits) -> Result<(), Failure> {
    let flags = [
        (
            "--memory-limit",
            "load.memory_limit",
            limits.memory_limit.clone(),
        ),
        (
            "--threads",
            "load.threads",
            limits.threads.map(|threads| threads.to_string()),
        ),
    ];
    add(layers, flags)
}

/// Adds the flags of an update.
pub fn add_update_limits(layers: &mut Layers, flags: &Update) -> Result<(), Failure> {
    let flags = [
        ("--timeout", "update.timeout", flags.timeout.clone()),
        (
            "--memory-limit",
            "query.memory_limit",
            flags.memory_limit.clone(),
        ),
        (
            "--allow-service",
            "service.allow",
            (!flags.allow_service.is_empty()).then(|| flags.allow_service.join(",")),
        ),
        union_default_graph(flags.union_default_graph),
    ];
    add(layers, flags)
}

fn union_default_graph(is_given: bool) -> (&'static str, &'static str, Option<String>) {
    let value = is_given.then(|| "true".to_owned());
    ("--union-default-graph", "query.union_default_graph", value)
}

/// Adds `--allow-update`.
pub fn add_allow_update(layers: &mut Layers, is_given: bool) -> Result<(), Failure> {
    let value = is_given.then(|| "true".to_owned());
    add(layers, [("--allow-update", "server.allow_update", value)])
}

/// Adds `--allow-host`.
pub fn add_hosts(layers: &mut Layers, hosts: &[String]) -> Result<(), Failure> {
    let value = (!hosts.is_empty()).then(|| hosts.join(","));
    add(layers, [("--allow-host", "server.hosts", value)])
}

/// The headers for an endpoint that is changed: those that are named, and the token of the flag or
/// of the environment, unless there is an `Authorization` among them.
pub fn headers(remote: &Remote) -> Vec<String> {
    authorized(&remote.header, remote.token.as_deref().unwrap_or_default())
}

/// The headers for an endpoint that is asked. It may be anybody's, so the token of the environment is sent
/// only where `--token` asks for that.
pub fn headers_of_query(header: &[String], token: Option<&str>) -> Vec<String> {
    token.map_or_else(|| header.to_vec(), |token| authorized(header, token))
}

/// Headers with the token, or that of the environment for an empty one, unless there is an `Authorization` among them.
pub fn authorized(header: &[String], token: &str) -> Vec<String> {
    let mut headers = header.to_vec();
    let is_authorization = |header: &String| {
        let name = header.split(':').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("authorization")
    };
    let token = match token {
        "" => std::env::var("SOMERSAULT_TOKEN").unwrap_or_default(),
        token => token.to_owned(),
    };
    if !token.is_empty() && !headers.iter().any(is_authorization) {
        headers.push(format!("Authorization: Bearer {token}"));
    }
    headers
}

/// Adds `--bind`.
pub fn add_bind(layers: &mut Layers, bind: Option<&str>) -> Result<(), Failure> {
    add(layers, [("--bind", "server.bind", bind.map(str::to_owned))])
}

/// The checked configuration on this machine.
pub fn check(layers: &Layers) -> Result<Config, Failure> {
    layers.check(machine()).map_err(configuration)
}

/// The machine, or the part of it that this process may use.
pub fn machine() -> Machine {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Machine {
        cores,
        free_memory_bytes: free_memory_bytes(),
    }
}

fn add<const N: usize>(
    layers: &mut Layers,
    flags: [(&str, &str, Option<String>); N],
) -> Result<(), Failure> {
    for (flag, key, value) in flags {
        if let Some(value) = value {
            layers.add_flag(flag, key, value).map_err(configuration)?;
        }
    }
    Ok(())
}

fn configuration(error: ConfigError) -> Failure {
    Failure::new(Code::Configuration, error)
}

/// Memory that is free. 2 GiB where nothing says how much.
fn free_memory_bytes() -> u64 {
    const UNKNOWN: u64 = 2 << 30;
    free_memory().map_or(UNKNOWN, |free| free.bytes)
}

/// Memory that is free, and what bounds it: the machine, a control group or a limit of the process.
pub fn free_memory() -> Option<Free> {
    control_group::free(|file| fs::read_to_string(file).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_how_much_memory_is_free() {
        let free = free_memory().expect("Linux has /proc/meminfo");
        assert!(free.bytes > 0, "{free:?}");
    }
}

//! How values of the configuration are read that are no plain sizes and times. An error says what was expected.

use engine::units::parse_size;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

pub(super) fn size_or_none(text: &str) -> Result<Option<u64>, String> {
    match text {
        "none" => Ok(None),
        text => parse_size(text).map(Some).map_err(|e| e.to_string()),
    }
}

pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// A list of a file in the form that a flag has.
pub(super) fn joined(list: Vec<toml::Value>) -> String {
    let text = |value| match value {
        toml::Value::String(text) => text,
        toml::Value::Table(mut entry) if entry.len() == 2 => {
            match (entry.remove("rights"), entry.remove("token")) {
                (Some(toml::Value::String(rights)), Some(toml::Value::String(token))) => {
                    format!("{rights}:{token}")
                }
                _ => "an entry is { token = \"...\" rights = \"read\" }".to_owned(),
            }
        }
        other => other.to_string(),
    };
    list.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// An IP address or `localhost`, and a port. Other names are not resolved: they may be several
/// addresses, and a server should listen where it was told to.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| {
        "expected an IP address (or localhost) and a port, as in 127.0.0.1:7272".to_owned()
    })
}

/// The name of a host: without scheme, port and path, which make no difference, and whoever writes them
/// expects that they do.
pub(super) fn host(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_ipv6 = || {
        let bare = name.strip_prefix('[')?.strip_suffix(']')?;
        bare.parse::<Ipv6Addr>().ok()
    };
    if (!name.is_empty() && name.bytes().all(is_plain)) || is_ipv6().is_some() {
        return Ok(name.to_ascii_lowercase());
    }
    Err(format!(
        "`{text}` is no name of a host, as in kg.example: without scheme, port and path"
    ))
}

pub(super) fn list(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// IP addresses.
pub(super) fn addresses(text: &str) -> Result<Vec<IpAddr>, String> {
    let address = |text: &String| {
        let address = text.parse();
        address.map_err(|_| format!("`{text}` is no IP address"))
    };
    list(text).iter().map(address).collect()
}

/// A text, where there is one.
pub(super) fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a number above zero".to_owned()),
    }
}

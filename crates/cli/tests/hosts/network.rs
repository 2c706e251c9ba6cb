//! Hosts as network namespaces: each with a cable to a switch for nodes, and another to this machine for HTTP.
//!
//! ```text
//!            switch (a bridge here)  .1
//!           /          |          \            198.18.N.0/24, for nodes: a cable of these can be pulled
//!        .10          .11         .12
//!       host 0       host 1      host 2
//!        .2           .6          .10
//!           \          |          /            198.19.N.0/24, cable by cable: HTTP, never pulled
//!        .1           .5           .9          this machine
//! ```
//!
//! The addresses are those that RFC 2544 keeps for measuring networks. N and all names come from the number of this process, so two
//! runs are in nobody's way. Needs root and iproute2.

use std::process::Command;

/// See the head of this file. Its namespaces end with it; what runs in them should have ended before.
pub struct Network {
    name: String,
    third: u32,
    hosts: u16,
}

impl Network {
    /// So many hosts, at most 60. An error says why there can be none here.
    pub fn of(hosts: u16) -> Result<Network, String> {
        let process = std::process::id();
        let network = Network {
            name: format!("smr{process}"),
            third: process % 256,
            hosts,
        };
        let switch = network.switch();
        ip(&format!("link add {switch} type bridge"))?;
        let third = network.third;
        ip(&format!("addr add 198.18.{third}.1/24 dev {switch}"))?;
        ip(&format!("link set {switch} up"))?;
        for host in 0..hosts {
            network.connect(host)?;
        }
        Ok(network)
    }

    fn connect(&self, host: u16) -> Result<(), String> {
        let (space, switch, third) = (self.space(host), self.switch(), self.third);
        let (cable, outlet) = (self.cable(host), format!("{}h{host}", self.name));
        let first = 4 * host + 1;
        ip(&format!("netns add {space}"))?;
        for line in [
            format!("link add {cable} type veth peer name nodes netns {space}"),
            format!("link set {cable} master {switch} up"),
            format!("link add {outlet} type veth peer name http netns {space}"),
            format!("addr add 198.19.{third}.{first}/30 dev {outlet}"),
            format!("link set {outlet} up"),
        ] {
            ip(&line)?;
        }
        let (nodes, http) = (self.on_switch(host), self.for_http(host));
        for line in [
            "link set lo up".to_owned(),
            format!("addr add {nodes}/24 dev nodes"),
            "link set nodes up".to_owned(),
            format!("addr add {http}/30 dev http"),
            "link set http up".to_owned(),
        ] {
            ip(&format!("-n {space} {line}"))?;
        }
        ip(&format!("netns exec {space} true"))
    }

    fn switch(&self) -> String {
        format!("{}b", self.name)
    }

    fn space(&self, host: u16) -> String {
        format!("{}n{host}", self.name)
    }

    /// The end of a host's cable that is at the switch.
    fn cable(&self, host: u16) -> String {
        format!("{}f{host}", self.name)
    }

    /// Where this machine is on the switch.
    pub fn here(&self) -> String {
        format!("198.18.{}.1", self.third)
    }

    /// Where a host is on the switch.
    pub fn on_switch(&self, host: u16) -> String {
        format!("198.18.{}.{}", self.third, 10 + host)
    }

    /// Where a host is for HTTP.
    pub fn for_http(&self, host: u16) -> String {
        format!("198.19.{}.{}", self.third, 4 * host + 2)
    }

    /// What runs a program on a host.
    pub fn command(&self, host: u16, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(host), program]);
        command
    }

    /// Pulls the cable between a host and the switch, or plugs it in again.
    pub fn plug(&self, host: u16, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        ip(&format!("link set {} {state}", self.cable(host))).expect("it is there");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // What was not made cannot be removed; a namespace takes its ends of cables with it, and those the others.
        for host in 0..self.hosts {
            let _ = ip(&format!("netns del {}", self.space(host)));
        }
        let _ = ip(&format!("link del {}", self.switch()));
    }
}

fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(line.split(' '))
        .output()
        .map_err(|error| format!("`ip` (iproute2) does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {line}: {}", said.trim()))
}

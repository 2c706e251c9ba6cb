//! Nodes that find each other through etcd: Debian's `etcd-server`, started here; skipped, and said so, where there is none.

#![cfg(unix)]

use crate::nodes;

use crate::common::{run, text, write};
use nodes::{Data, PATIENCE, QUESTIONS, Served, TRIANGLES, ready, served, soon};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// An etcd of one member, which keeps its data when it is started anew.
struct Etcd {
    child: Option<Child>,
    folder: PathBuf,
    /// Where it answers, and where it would be answered by other members.
    ports: [u16; 2],
}

impl Etcd {
    /// One that does not run yet; nothing where the program is not installed.
    fn new(folder: &Path) -> Option<Etcd> {
        let mut version = Command::new("etcd");
        let version = version
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !version.status().is_ok_and(|it| it.success()) {
            // Not by a macro: what those print of a test that passes is kept from everybody.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: membership through etcd: there is no `etcd` (Debian's etcd-server)"
            );
            return None;
        }
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port is free"));
        Some(Etcd {
            child: None,
            folder: folder.join("etcd"),
            ports: listeners.map(|it| it.local_addr().expect("it is bound").port()),
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    fn start(&mut self) {
        let (clients, peers) = (self.url(), format!("http://127.0.0.1:{}", self.ports[1]));
        let child = Command::new("etcd")
            .args(["--data-dir", text(&self.folder), "--name", "one"])
            .args([
                "--listen-client-urls",
                &clients,
                "--advertise-client-urls",
                &clients,
            ])
            .args([
                "--listen-peer-urls",
                &peers,
                "--initial-advertise-peer-urls",
                &peers,
            ])
            .args(["--initial-cluster", &format!("one={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("etcd starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.ports[0])).is_err() {
            assert!(begun.elapsed() < PATIENCE, "etcd does not listen");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The file of a node of these parts that is registered, and listens at a port that the system chooses.
fn file(data: &Data, etcd: &Etcd, name: &str, part: &str) -> PathBuf {
    let text = format!(
        "[node]\npart = {part:?}\nlisten = \"127.0.0.1:0\"\n[cluster]\netcd = [{:?}]\nprefix = \"campus\"\nkey = \"cluster.key\"\n",
        etcd.url()
    );
    write(&data.path("cluster"), name, text)
}

fn said_soon(node: &Served, what: &str) {
    soon(what, || node.said().contains(what));
}

#[test]
fn nodes_find_each_other_again_through_etcd() {
    let data = Data::new();
    let Some(mut etcd) = Etcd::new(data.folder.path()) else {
        return;
    };
    let files = [0, 1, 2].map(|it| {
        file(
            &data,
            &etcd,
            &format!("found-{it}.toml"),
            &format!("part-{it:04}"),
        )
    });
    let mut nodes: Vec<Served> = files.iter().map(|file| served(file, &[])).collect();
    let waiting = || nodes[0].got("/health/ready", "*/*", "");
    soon("a node says that etcd is away", || {
        waiting().body.contains("etcd is asked in vain")
    });
    assert_eq!(waiting().status, 503);
    etcd.start();
    nodes.iter().for_each(ready);
    let expected: Vec<String> = QUESTIONS[..6]
        .iter()
        .map(|it| nodes[0].query(it).body)
        .collect();
    assert!(
        expected.iter().all(|it| it.lines().count() > 1),
        "{expected:?}"
    );

    // All others dial node 0, so it is the one that they have to find anew.
    let before = nodes[0].cluster()["nodes"][0]["address"].clone();
    nodes[0].end("KILL");
    nodes[0] = served(&files[0], &[]);
    nodes.iter().for_each(ready);
    let after = nodes[2].cluster()["nodes"][0]["address"].clone();
    assert_ne!(before, after, "it listens at another port");
    for node in &nodes {
        soon("all are linked again", || {
            node.query(TRIANGLES).body == expected[0]
        });
        let found: Vec<String> = QUESTIONS[..6]
            .iter()
            .map(|it| node.query(it).body)
            .collect();
        assert_eq!(found, expected);
    }

    // Without etcd those that are linked go on; when it is there again, so are they.
    etcd.stop();
    let url = format!("http://{}", nodes[1].address);
    soon("the node says that etcd is away again", || {
        let status = run(["cluster", "status", &url]);
        status.code == Some(4) && status.errors.contains("etcd is asked in vain")
    });
    assert_eq!(nodes[1].query(TRIANGLES).body, expected[0]);
    etcd.start();
    soon("nothing is missing", || {
        run(["cluster", "status", &url]).code == Some(0)
    });

    nodes[2].end("TERM");
    let check = run([
        "cluster",
        "check",
        "--wait",
        "60s",
        "--config",
        text(&files[2]),
    ]);
    assert_eq!(check.code, Some(0), "{}", check.errors);
}

#[test]
fn who_is_registered_wrongly_is_told_so_and_the_others_too() {
    let data = Data::new();
    let Some(mut etcd) = Etcd::new(data.folder.path()) else {
        return;
    };
    etcd.start();
    let first = served(&file(&data, &etcd, "first.toml", "part-0000"), &[]);
    said_soon(&first, "this node is registered");
    let twice = served(&file(&data, &etcd, "twice.toml", "part-0000"), &[]);
    said_soon(
        &twice,
        "another node with part-0000 is registered, at 127.0.0.1:",
    );
    data.cut("whole", "other-cut", "5");
    let other = served(
        &file(&data, &etcd, "other.toml", "../other-cut/part-0001"),
        &[],
    );
    for node in [&first, &other] {
        said_soon(
            node,
            "its part is of another cut of the same graph; give each cluster a prefix of its own",
        );
    }
    let refused = first.cluster()["refused"].to_string();
    assert!(
        refused.contains("campus/nodes/part-0001 in etcd"),
        "{refused}"
    );
}

#[test]
fn a_configuration_that_finds_nobody_is_refused() {
    let data = Data::new();
    let with = |node: &str, cluster: &str| {
        let text = format!(
            "[node]\npart = \"part-0000\"\n{node}[cluster]\nkey = \"cluster.key\"\n{cluster}"
        );
        let file = write(&data.path("cluster"), "wrong.toml", text);
        let run = run(["node", "--config", crate::common::text(&file)]);
        (run.code, run.errors)
    };
    let etcd = "etcd = [\"http://127.0.0.1:1\"]\n";
    for (node, cluster, reason) in [
        ("", etcd, "`node.listen` is not configured"),
        (
            "listen = \"0.0.0.0:0\"\n",
            etcd,
            "`node.address` is not configured",
        ),
        (
            "listen = \"127.0.0.1:0\"\n",
            "etcd = [\"127.0.0.1:2379\"]\n",
            "is no address of an etcd",
        ),
        (
            "",
            "etcd = [\"http://a:1\"]\nnodes = [\"a:1\"]\n",
            "are both configured",
        ),
    ] {
        let (code, errors) = with(node, cluster);
        assert!(
            code == Some(3) && errors.contains(reason),
            "{reason}: {errors}"
        );
    }
}

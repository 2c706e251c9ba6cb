//! The server under attack, in a memory group of its own, and what it holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use crate::http::{Connection, From, get};

pub struct Server {
    child: Child,
    pub port: u16,
    group: Option<PathBuf>,
}

impl Server {
    /// Serves a copy of the store, so that each run begins with the same.
    pub fn start(binary: &Path, store: &Path, folder: &Path, group_mib: u64) -> io::Result<Self> {
        let copy = folder.join("store");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        let copied = Command::new("cp")
            .arg("-r")
            .arg(store)
            .arg(&copy)
            .status()?;
        if !copied.success() {
            return Err(io::Error::other("the store could not be copied"));
        }
        let group = (group_mib > 0).then(|| make_group(group_mib)).transpose()?;
        let mut command = Command::new("sh");
        let enter = group.as_ref().map_or(String::new(), |group| {
            format!("echo $$ > {}/cgroup.procs && ", group.display())
        });
        let port = 7300 + (std::process::id() % 1000) as u16;
        command
            .arg("-c")
            .arg(format!("{enter}exec \"$@\""))
            .arg("sh")
            .arg(binary)
            .args(["serve", "--allow-update", "-l"])
            .arg(&copy)
            .args(["-b", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(fs::File::create(folder.join("server.out"))?)
            .stderr(fs::File::create(folder.join("server.err"))?);
        let mut server = Self {
            child: command.spawn()?,
            port,
            group,
        };
        let begin = Instant::now();
        while !server.ready() {
            if !server.lives() || begin.elapsed() > Duration::from_secs(120) {
                return Err(io::Error::other(
                    "the server did not come up: see server.err",
                ));
            }
            sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    pub fn ready(&self) -> bool {
        let asked = Connection::open(self.port, From::Probe)
            .and_then(|mut open| open.ask(&get("/health/ready")));
        asked.is_ok_and(|answer| answer.status == 200)
    }

    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn watch(&self) -> Watch {
        let most = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (most_too, stop_too, pid) = (Arc::clone(&most), Arc::clone(&stop), self.child.id());
        let thread = spawn(move || {
            while !stop_too.load(Ordering::Relaxed) {
                most_too.fetch_max(anonymous_kib(pid), Ordering::Relaxed);
                sleep(Duration::from_millis(10));
            }
        });
        Watch { most, stop, thread }
    }

    pub fn anonymous_mib(&self) -> u64 {
        anonymous_kib(self.child.id()) >> 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        if let Some(group) = &self.group {
            sleep(Duration::from_millis(200));
            let _gone = fs::remove_dir(group);
        }
    }
}

/// The most anonymous memory, looked at each 10 ms.
pub struct Watch {
    most: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub fn end_mib(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let _panicked = self.thread.join();
        self.most.load(Ordering::Relaxed) >> 10
    }
}

/// Resident memory less what files are mapped for, in KiB; 0 of a process that is gone.
fn anonymous_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: Vec<u64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    pages
        .get(1)
        .zip(pages.get(2))
        .map_or(0, |(all, shared)| all.saturating_sub(*shared) * 4)
}

/// A memory group of version 1 or 2.
fn make_group(mib: u64) -> io::Result<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let name = format!("soak-{}", std::process::id());
    let (group, limit) = if root.join("memory").is_dir() {
        (root.join("memory").join(name), "memory.limit_in_bytes")
    } else {
        (root.join(name), "memory.max")
    };
    fs::create_dir(&group)?;
    fs::write(group.join(limit), (mib << 20).to_string())?;
    Ok(group)
}

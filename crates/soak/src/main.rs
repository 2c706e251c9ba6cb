//! Minutes of abuse against a served store: `soak ROW --binary FILE --store DIR [options]`.
//!
//! Rows: `abuse` (every abuse at once in a memory group, beside innocent clients), `deadlines` (how late
//! queries end), `fairness` (one client's join beside two hundred heavy queries of another), `writers`.
//! The store holds LUBM data (`somersault generate lubm`), forty universities for the recorded figures.
//!
//! Whoever attacks and whoever is measured are processes of their own; nothing of the server's code
//! is shared. Figures are printed, none is judged: what is right for a machine is for its reader to say.

mod attack;
mod figures;
mod http;
mod probe;
mod rows;
mod server;
mod texts;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: soak ROW --binary FILE --store DIR [--folder DIR] [--seconds N] [--group MIB] [--phase 1|2] [--only KIND]...

  abuse      every abuse at once for N seconds (600), then again with heavy queries and idle sockets,
             in a memory group of MIB (2048; needs the right to make one; 0 for none)
  deadlines  each class of texts that outlast `timeout=2`, by one client and by eight
  fairness   a join each second beside 200 heavy queries
  writers    32,000 operations in a request; 16 writers beside a long WHERE and a PUT of ten million
";

/// What the words ask for.
pub struct Wanted {
    pub binary: PathBuf,
    pub store: PathBuf,
    /// Where the copy of the store, the server's output and large bodies lie.
    pub folder: PathBuf,
    pub seconds: u64,
    /// 0: no group.
    pub group_mib: u64,
    pub phase: Option<u32>,
    pub only: Vec<String>,
}

impl Wanted {
    fn of_words(words: &[&str], grouped: bool) -> Option<Self> {
        let mut wanted = Self {
            binary: PathBuf::from("target/release/somersault"),
            store: PathBuf::new(),
            folder: std::env::temp_dir().join("soak"),
            seconds: 600,
            group_mib: if grouped { 2048 } else { 0 },
            phase: None,
            only: Vec::new(),
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return None };
            match *name {
                "--binary" => wanted.binary = PathBuf::from(value),
                "--store" => wanted.store = PathBuf::from(value),
                "--folder" => wanted.folder = PathBuf::from(value),
                "--seconds" => wanted.seconds = value.parse().ok()?,
                "--group" => wanted.group_mib = value.parse().ok()?,
                "--phase" => wanted.phase = Some(value.parse().ok()?),
                "--only" => wanted.only.push((*value).to_owned()),
                _ => return None,
            }
        }
        (!wanted.store.as_os_str().is_empty()).then_some(wanted)
    }

    pub fn seconds(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["attack", kind, clients, port, seconds, folder] => {
            child(clients, port, seconds, |clients, port, lasts| {
                attack::run(kind, clients, port, lasts, Path::new(folder));
            })
        }
        ["probe", kind, port, seconds] => child("1", port, seconds, |_, port, lasts| {
            probe::run(kind, port, lasts)
        }),
        [row, ref rest @ ..] => ask(row, rest),
        [] => None,
    };
    match done {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn ask(row: &str, rest: &[&str]) -> Option<io::Result<()>> {
    let wanted = Wanted::of_words(rest, row == "abuse")?;
    if let Err(error) = std::fs::create_dir_all(&wanted.folder) {
        return Some(Err(error));
    }
    Some(match row {
        "abuse" => rows::abuse(&wanted),
        "deadlines" => rows::deadlines(&wanted),
        "fairness" => rows::fairness(&wanted),
        "writers" => rows::writers(&wanted),
        _ => return None,
    })
}

/// A process that this program started of itself.
fn child(
    clients: &str,
    port: &str,
    seconds: &str,
    run: impl FnOnce(usize, u16, Duration),
) -> Option<io::Result<()>> {
    let (clients, port) = (clients.parse().ok()?, port.parse().ok()?);
    let lasts = Duration::from_secs(seconds.parse().ok()?);
    run(clients, port, lasts);
    Some(Ok(()))
}

//! Answers that are longer than the screen go to a pager.
//!
//! The first screenful is held back; if no more comes it is printed, else the pager is started and
//! fed by a thread of its own, through a queue that is bounded in bytes. So a query can run ahead
//! of a reader who takes minutes for the first page, as far as the queue reaches, and its deadline
//! does not end what has been answered long ago. Leaving the pager ends the query.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

const CHUNK_BYTES: usize = 64 << 10;
/// Chunks between the query and the pager: 16 MiB.
const CHUNKS_MAX: usize = 256;

/// The screen, as far as paging depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Lines.
    pub lines: usize,
    /// Cells in a line.
    pub columns: usize,
}

/// Takes an answer.
pub struct Pager {
    screen: Screen,
    command: String,
    held: Vec<u8>,
    fed: Option<Fed>,
}

struct Fed {
    child: Child,
    sender: SyncSender<Vec<u8>>,
    feeder: JoinHandle<()>,
}

impl Pager {
    /// A pager for this screen; `command` is run by the system's shell.
    pub fn new(screen: Screen, command: String) -> Pager {
        Pager {
            screen,
            command,
            held: Vec::new(),
            fed: None,
        }
    }

    /// Prints what is left, and waits until the reader has left the pager.
    pub fn close(mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let Some(Fed {
            mut child,
            sender,
            feeder,
        }) = self.fed
        else {
            let mut output = io::stdout().lock();
            output.write_all(&held)?;
            return output.flush();
        };
        // Whether the reader took it or has left already makes no difference any more.
        let _ = sender.send(held);
        drop(sender);
        let _ = feeder.join();
        // The codes by which the system's shell says that there was nothing to run.
        match child.wait()?.code() {
            Some(126 | 127) => {
                let message = format!("the pager {:?} cannot be run; .pager off", self.command);
                Err(io::Error::other(message))
            }
            _ => Ok(()),
        }
    }

    fn is_more_than_a_screen(&self) -> bool {
        let cells = self.screen.columns.max(1);
        let lines = self.held.split_inclusive(|byte| *byte == b'\n');
        let shown = lines.map(|line| line.len().div_ceil(cells).max(1));
        // A table's line takes more bytes than cells; being early by that does no harm, since a
        // pager that has less than a screen leaves by itself. The prompt needs a line too.
        shown.sum::<usize>() >= self.screen.lines
    }

    fn start(&mut self) -> io::Result<()> {
        assert!(self.fed.is_none(), "a pager is started once");
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(&self.command)
            .stdin(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().expect("a pipe was asked for");
        let (sender, receiver) = sync_channel(CHUNKS_MAX);
        let feeder = std::thread::Builder::new()
            .name("pager".to_owned())
            .spawn(move || feed(&receiver, input))?;
        self.fed = Some(Fed {
            child,
            sender,
            feeder,
        });
        Ok(())
    }
}

fn feed(receiver: &Receiver<Vec<u8>>, mut input: ChildStdin) {
    for chunk in receiver {
        if input
            .write_all(&chunk)
            .and_then(|()| input.flush())
            .is_err()
        {
            return;
        }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.fed.is_none() && self.is_more_than_a_screen() {
            self.start()?;
        }
        if let Some(fed) = &self.fed
            && self.held.len() >= CHUNK_BYTES
        {
            let chunk = std::mem::take(&mut self.held);
            fed.sender
                .send(chunk)
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(fed) = &self.fed
            && !self.held.is_empty()
        {
            let chunk = std::mem::take(&mut self.held);
            fed.sender
                .send(chunk)
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen {
        lines: 5,
        columns: 10,
    };

    #[test]
    fn more_than_a_screen_goes_to_the_pager_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("paged");
        let mut pager = Pager::new(SCREEN, format!("cat > '{}'", file.display()));
        let line = "0123456789\n";
        for _ in 0..50_000 {
            pager.write_all(line.as_bytes()).unwrap();
        }
        pager.close().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), line.repeat(50_000));
    }

    #[test]
    fn less_than_a_screen_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("paged");
        let mut pager = Pager::new(SCREEN, format!("cat > '{}'", file.display()));
        pager.write_all(b"1\n2\n3\n").unwrap();
        assert!(pager.fed.is_none());
        pager.close().unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn a_reader_who_leaves_ends_the_answer() {
        let mut pager = Pager::new(SCREEN, "head -c 1 > /dev/null".to_owned());
        let chunk = vec![b'\n'; CHUNK_BYTES];
        let failed = (0..10 * CHUNKS_MAX).find_map(|_| pager.write_all(&chunk).err());
        let error = failed.expect("nobody reads any more");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        pager.close().unwrap();
    }

    #[test]
    fn a_pager_that_is_not_there_is_said() {
        let mut pager = Pager::new(SCREEN, "no-such-pager 2> /dev/null".to_owned());
        // It may be gone before or after this.
        let _ = pager.write_all(&[b'\n'; 10]);
        let error = pager.close().expect_err("it cannot be run");
        assert!(error.to_string().contains("no-such-pager"), "{error}");
    }
}

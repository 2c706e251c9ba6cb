//! Progress of long work on standard error: a bar on a terminal, JSON lines otherwise.
//!
//! Standard output is for data. A line every two seconds keeps a log readable and shows that work
//! goes on; the last line has the figures of the whole.

use crate::say::say;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows bytes and statements as they come.
pub struct Meter {
    verb: &'static str,
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
    total_bytes: Option<u64>,
    is_quiet: bool,
}

impl Meter {
    /// A meter for a verb; with the total where it is known.
    pub fn new(verb: &'static str, total_bytes: Option<u64>) -> Meter {
        let now = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| bar(total_bytes));
        Meter {
            verb,
            bar,
            started: now,
            last_line: now,
            total_bytes,
            is_quiet: false,
        }
    }

    /// Shows nothing but the bar on a terminal: the work is only the beginning of another one.
    #[must_use]
    pub fn quiet(mut self) -> Meter {
        self.is_quiet = true;
        self
    }

    /// Whether people read along.
    pub fn is_for_people(&self) -> bool {
        self.bar.is_some()
    }

    /// So much is done.
    pub fn update(&mut self, bytes: u64, statements: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
            bar.set_message(rate(statements, self.started.elapsed()));
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.line(bytes, statements, "running", &Value::Null);
        }
    }

    /// Names the phase of the work.
    pub fn phase(&mut self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(name.to_owned());
        }
    }

    /// The end, with what else is known of the work.
    pub fn finish(self, bytes: u64, statements: u64, details: &Value) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            let elapsed = self.started.elapsed();
            say!(
                "{}: {statements} statements in {:.1} s, {}",
                self.verb,
                elapsed.as_secs_f64(),
                rate(statements, elapsed)
            );
        } else {
            self.line(bytes, statements, "done", details);
        }
    }

    fn line(&self, bytes: u64, statements: u64, state: &str, details: &Value) {
        if self.is_quiet {
            return;
        }
        let mut line = serde_json::json!({
            "verb": self.verb,
            "state": state,
            "seconds": (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            "bytes": bytes,
            "total_bytes": self.total_bytes,
            "statements": statements,
        });
        if let (Some(line), Some(details)) = (line.as_object_mut(), details.as_object()) {
            line.extend(details.clone());
        }
        say!("{line}");
    }
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    const KNOWN: &str =
        "{prefix:10} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {msg} {eta} left";
    const UNKNOWN: &str = "{prefix:10} {spinner} {bytes} {bytes_per_sec} {msg}";
    let (bar, template) = match total_bytes {
        Some(total) => (ProgressBar::new(total), KNOWN),
        None => (ProgressBar::new_spinner(), UNKNOWN),
    };
    let style = ProgressStyle::with_template(template).expect("the templates are ours");
    bar.with_style(style.progress_chars("=> "))
}

fn rate(statements: u64, elapsed: Duration) -> String {
    format!(
        "{:.0} statements/s",
        statements as f64 / elapsed.as_secs_f64().max(1e-3)
    )
}

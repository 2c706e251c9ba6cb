//! An engine whose queries say what happens: `rows 3; sleep 100; fail memory`.
//!
//! | step | does |
//! |---|---|
//! | `rows N` | a batch of so many short rows |
//! | `kilobytes N` | so many rows of 1 KiB, each in a batch of its own |
//! | `flood` | rows of 1 KiB until somebody stops it |
//! | `sleep N` | nothing for so many milliseconds, unless it is stopped |
//! | `spin` | nothing until it is stopped |
//! | `ask` | answers `true`, instead of rows |
//! | `fail KIND` | fails |
//! | `panic` | panics |
//! | `echo` | one row with what was asked |
//!
//! Texts that begin with `!` fail before they start: `!syntax`, `!panic`.

use crate::engine::{Contents, Done, Engine, Job, Memory, Started};
use crate::protocol::{Asked, What};
use somersault::rdf::TermBuffer;
use somersault::results::{Rows, Sink};
use somersault::running::{Entry, Running};
use somersault::stop::{StopReason, StopToken};
use somersault::{AnswerKind, Kind, Position, QueryError, Unit};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct ScriptedEngine {
    running: Running,
    /// Rows that all queries have got rid of so far.
    pub rows: Arc<AtomicU64>,
}

impl Engine for ScriptedEngine {
    fn start(&self, asked: &Asked, timeout: Duration) -> Result<Box<dyn Job>, QueryError> {
        let text = match &asked.what {
            What::Query(text) => text.clone(),
            What::Graph(name) => format!("rows 1; graph {name:?}"),
        };
        match text.strip_prefix('!') {
            Some("panic") => panic!("the planner met something"),
            Some(name) => return Err(failure(name)),
            None => {}
        }
        let token = StopToken::starting_now(Some(timeout));
        let entry = self.running.enter(&text, token.clone());
        let rows = Arc::clone(&self.rows);
        Ok(Box::new(Script {
            asked: asked.clone(),
            text,
            entry,
            token,
            rows,
            timeout,
        }))
    }

    fn running(&self) -> &Running {
        &self.running
    }

    fn snapshot(&self) -> u64 {
        7
    }

    fn memory(&self) -> Memory {
        Memory {
            used_bytes: 11,
            limit_bytes: 1000,
        }
    }

    fn contents(&self) -> Contents {
        Contents {
            quads: 42,
            named_graphs: 0,
            terms: 23,
            predicates: 5,
            bytes: 999,
        }
    }

    fn graphs(&self, _max: u64) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}

struct Script {
    asked: Asked,
    text: String,
    entry: Entry,
    token: StopToken,
    timeout: Duration,
    rows: Arc<AtomicU64>,
}

impl Job for Script {
    fn started(&self) -> Started {
        Started {
            id: self.entry.id(),
            token: self.token.clone(),
            parse: Duration::from_micros(5),
            plan: Duration::from_micros(7),
            kind: if self.text.contains("ask") {
                AnswerKind::Boolean
            } else {
                AnswerKind::Solutions
            },
        }
    }

    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError> {
        let begun = Instant::now();
        let asking = self.text.contains("ask");
        if !asking {
            output(sink.head(&["a".to_owned()]))?;
        }
        let text = self.text.clone();
        for step in text.split(';') {
            self.step(step.trim(), sink)?;
        }
        if !asking {
            output(sink.finish())?;
        }
        Ok(Done {
            rows: 1,
            exec: begun.elapsed(),
        })
    }
}

impl Script {
    fn step(&mut self, step: &str, sink: &mut dyn Sink) -> Result<(), QueryError> {
        let (verb, argument) = step.split_once(' ').unwrap_or((step, ""));
        let number = argument.parse().unwrap_or(0);
        match verb {
            "rows" => self.send(sink, "x", number),
            "kilobytes" => (0..number).try_for_each(|_| self.send(sink, &"x".repeat(1000), 1)),
            "flood" => loop {
                self.look()?;
                self.send(sink, &"x".repeat(1000), 1)?;
            },
            "sleep" => self.wait(Some(Duration::from_millis(number as u64))),
            "spin" => self.wait(None),
            "ask" => output(sink.boolean(true)),
            "fail" => Err(failure(argument)),
            "panic" => panic!("an operator met something"),
            "echo" => {
                let Asked {
                    default_graphs,
                    named_graphs,
                    ..
                } = &self.asked;
                let echo = format!("{default_graphs:?} {named_graphs:?} {:?}", self.timeout);
                self.send(sink, &echo, 1)
            }
            _ => Ok(()),
        }
    }

    fn send(&self, sink: &mut dyn Sink, cell: &str, count: usize) -> Result<(), QueryError> {
        let mut column = TermBuffer::new();
        for _ in 0..count {
            column.push_simple(cell);
        }
        output(sink.rows(&Rows {
            columns: vec![column],
            len: count,
        }))?;
        self.rows.fetch_add(count as u64, Ordering::Relaxed);
        Ok(())
    }

    fn wait(&self, time: Option<Duration>) -> Result<(), QueryError> {
        let begun = Instant::now();
        while time.is_none_or(|time| begun.elapsed() < time) {
            self.look()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn look(&self) -> Result<(), QueryError> {
        match self.token.reason() {
            None => Ok(()),
            Some(StopReason::Deadline) => Err(failure("timeout")),
            Some(StopReason::Cancelled) => Err(failure("cancelled")),
        }
    }
}

fn output(result: io::Result<()>) -> Result<(), QueryError> {
    result.map_err(|error| QueryError::new(Kind::Output, error))
}

fn failure(name: &str) -> QueryError {
    let kind = match name {
        "syntax" => {
            let mut error = QueryError::new(Kind::Syntax, "expected a pattern");
            error.position = Some(Position { line: 2, column: 5 });
            return error;
        }
        "unsupported" => Kind::Unsupported,
        "too_long" => Kind::TooLong,
        "shape" => {
            return QueryError::new(Kind::Shape, "too deep").with_limit(Unit::Count, 256, 300);
        }
        "timeout" => {
            return QueryError::new(Kind::Timeout, "out of time").with_hint("ask for less");
        }
        "cancelled" => Kind::Cancelled,
        "memory" => {
            return QueryError::new(Kind::Memory, "out of memory").with_limit(
                Unit::Bytes,
                100,
                120,
            );
        }
        "damaged" => Kind::Damaged,
        "output" => Kind::Output,
        "internal" => Kind::Internal,
        _ => panic!("no such failure: {name}"),
    };
    QueryError::new(kind, format!("failed on purpose -- {name}"))
}

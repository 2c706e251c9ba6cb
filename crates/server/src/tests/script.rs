//! An engine whose queries say what happens: `rows 3; sleep 100; fail memory`.
//!
//! | step | does |
//! |---|---|
//! | `rows N` | a batch of so many short rows |
//! | `kilobytes N` | so many rows of 1 KiB, each in a batch of its own |
//! | `flood` | rows of 1 KiB until somebody stops it |
//! | `sleep N` | nothing for so many milliseconds, unless it is stopped |
//! | `spin` | nothing until it is stopped |
//! | `heavy` | expects to take long, and waits for a share |
//! | `ask` | answers `true`, instead of rows |
//! | `fail KIND` | fails |
//! | `panic` | panics |
//! | `echo` | one row with what was asked |
//!
//! An update's text is such a script too; what it sends as rows counts as inserted. A document that is
//! written is counted in bytes.
//!
//! Texts that begin with `!` fail before they start: `!syntax`, `!panic`.

use crate::request::{Change, ChangeRequest};
use crate::request::{QueryRequest, Read};
use crate::run::job::{ChangeJob, Changed, Contents, Done, Engine, Job, Started};
use somersault::budget::Pool;
use somersault::output::{Rows, Sink};
use somersault::running::{Entry, QueryId, Running};
use somersault::stop::{Pace, StopReason, StopToken};
use somersault::terms::TermBuffer;
use somersault::{
    AnswerKind, ChangeFigures, ChangeHealth, Documents, FollowHealth, Graph, GraphTarget, Health,
    Kind, Position, QueryError, SnapshotInfo, Unit,
};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Memory of all queries.
pub const POOL_BYTES: u64 = 1 << 28;

pub struct ScriptedEngine {
    /// What requests draw on.
    pub pool: Arc<Pool>,
    /// Why changes are refused for good, once one was.
    pub refused: Arc<Mutex<Option<String>>>,
    running: Running,
    /// Rows that all queries have got rid of so far.
    pub rows: Arc<AtomicU64>,
    /// It takes no changes.
    pub is_closed: AtomicBool,
    /// Commits besides the first seven.
    pub commits: Arc<AtomicU64>,
    /// A script has come to its `commit`.
    pub is_committing: Arc<AtomicBool>,
}

impl Default for ScriptedEngine {
    fn default() -> ScriptedEngine {
        ScriptedEngine {
            pool: Pool::new(POOL_BYTES),
            refused: Arc::default(),
            running: Running::default(),
            rows: Arc::default(),
            is_closed: AtomicBool::default(),
            commits: Arc::default(),
            is_committing: Arc::default(),
        }
    }
}

impl Engine for ScriptedEngine {
    fn start(
        &self,
        asked: &QueryRequest,
        timeout: Duration,
        pace: Arc<dyn Pace>,
    ) -> Result<Box<dyn Job>, QueryError> {
        let text = match &asked.what {
            Read::Query(text) => text.clone(),
            Read::Graph(name) => format!("rows 1; graph {name:?}"),
            Read::Store => "rows 1".to_owned(),
        };
        match text.strip_prefix('!') {
            Some("panic") => panic!("the planner met something"),
            Some(name) => return Err(failure(name)),
            None => {}
        }
        let token = StopToken::starting_now(Some(timeout)).with_pace(Some(pace));
        Ok(Box::new(self.script(asked, text, timeout, token)))
    }

    fn graph_at(&self, number: u64) -> Result<Arc<Graph>, QueryError> {
        Err(QueryError::new(Kind::Gone, format!("no snapshot {number}")))
    }

    fn snapshots(&self) -> Vec<SnapshotInfo> {
        Vec::new()
    }

    fn snapshot_info(&self, number: u64) -> Result<SnapshotInfo, QueryError> {
        Err(QueryError::new(Kind::Gone, format!("no snapshot {number}")))
    }

    fn start_light(&self, asked: &QueryRequest, timeout: Duration) -> Option<Box<dyn Job>> {
        match &asked.what {
            Read::Query(text) if text == "light panic" => panic!("a light operator met something"),
            Read::Query(text) if text == "light ask" => {
                let token = StopToken::starting_now(Some(timeout));
                let script = self.script(asked, "ask".to_owned(), timeout, token);
                Some(Box::new(script))
            }
            _ => None,
        }
    }

    fn running(&self) -> &Running {
        &self.running
    }

    fn snapshot(&self) -> u64 {
        7 + self.commits.load(Ordering::SeqCst)
    }

    fn health(&self) -> Health {
        let refused = self.refused.lock().unwrap();
        let changes = match &*refused {
            Some(why) => ChangeHealth::Refused(why.clone()),
            None if !self.is_writable() => ChangeHealth::NotOffered,
            None => ChangeHealth::Taken,
        };
        Health {
            changes,
            following: FollowHealth::NotOffered,
            damage: None,
        }
    }

    fn is_writable(&self) -> bool {
        !self.is_closed.load(Ordering::SeqCst)
    }

    fn start_change(
        &self,
        wanted: &ChangeRequest,
        timeout: Duration,
    ) -> Result<Box<dyn ChangeJob>, QueryError> {
        let text = match &wanted.change {
            Change::Update { text, .. } => text.clone(),
            Change::Patch { target, .. } => format!("patch {target:?}"),
            Change::Write { target, .. } => format!("write {target:?}"),
            Change::Delete(target) => format!("delete {target:?}"),
        };
        if let Some(name) = text.strip_prefix('!') {
            return Err(failure(name));
        }
        let token = StopToken::starting_now(Some(timeout));
        Ok(Box::new(ScriptedChange {
            wanted: wanted.clone(),
            entry: self.running.enter(&text, token.clone()),
            text,
            token,
            commits: Arc::clone(&self.commits),
            is_committing: Arc::clone(&self.is_committing),
            refused: Arc::clone(&self.refused),
        }))
    }

    fn last_change(&self, _target: &GraphTarget) -> Result<Option<u64>, QueryError> {
        Ok(Some(self.snapshot()))
    }

    fn change_figures(&self) -> Option<ChangeFigures> {
        Some(ChangeFigures {
            layers: 3,
            ..ChangeFigures::default()
        })
    }

    fn compact(&self) -> Result<(), QueryError> {
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.pool
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

struct ScriptedChange {
    wanted: ChangeRequest,
    text: String,
    entry: Entry,
    token: StopToken,
    commits: Arc<AtomicU64>,
    is_committing: Arc<AtomicBool>,
    refused: Arc<Mutex<Option<String>>>,
}

impl ChangeJob for ScriptedChange {
    fn id(&self) -> QueryId {
        self.entry.id()
    }

    fn token(&self) -> StopToken {
        self.token.clone()
    }

    fn run(self: Box<Self>, documents: &mut dyn Documents) -> Result<Changed, QueryError> {
        let mut inserted = 0;
        while let Some((_, body)) = documents.next()? {
            let copied = io::copy(body, &mut io::sink());
            let unread = |error| match self.token.reason() {
                Some(_) => failure("cancelled"),
                None => QueryError::new(Kind::Syntax, error),
            };
            inserted += copied.map_err(unread)?;
        }
        for step in self.text.split(';') {
            let (verb, argument) = step.trim().split_once(' ').unwrap_or((step, ""));
            match verb {
                "rows" => inserted += argument.parse::<u64>().unwrap_or(0),
                "sleep" => sleep(
                    &self.token,
                    argument.parse().ok().map(Duration::from_millis),
                )?,
                "spin" => sleep(&self.token, None)?,
                // Heeds nothing, and commits if it still may.
                "stall" => {
                    let time = Duration::from_millis(argument.parse().unwrap_or(0));
                    std::thread::sleep(time);
                    if !self.token.begin_commit() {
                        return Err(failure("cancelled"));
                    }
                }
                // The same once it cannot be stopped any more.
                "commit" => {
                    assert!(self.token.begin_commit(), "nobody gave it up");
                    self.is_committing.store(true, Ordering::SeqCst);
                    let time = Duration::from_millis(argument.parse().unwrap_or(0));
                    std::thread::sleep(time);
                }
                "fail" => {
                    let error = failure(argument);
                    if error.kind == Kind::ReadOnly {
                        *self.refused.lock().unwrap() = Some(error.message.clone());
                    }
                    return Err(error);
                }
                "panic" => panic!("an operation met something"),
                _ => {}
            }
        }
        let snapshot = 8 + self.commits.fetch_add(1, Ordering::SeqCst);
        let absent = Change::Delete(GraphTarget::Named("http://e/none".to_owned()));
        Ok(Changed {
            snapshot,
            inserted,
            deleted: 2,
            is_new: matches!(self.wanted.change, Change::Write { .. }),
            was_there: format!("{:?}", self.wanted.change) != format!("{absent:?}"),
            ..Changed::default()
        })
    }
}

fn sleep(token: &StopToken, time: Option<Duration>) -> Result<(), QueryError> {
    let begun = Instant::now();
    while time.is_none_or(|time| begun.elapsed() < time) {
        match token.reason() {
            None => std::thread::sleep(Duration::from_millis(1)),
            Some(StopReason::Deadline | StopReason::Outdated) => return Err(failure("timeout")),
            Some(StopReason::Cancelled) => return Err(failure("cancelled")),
        }
    }
    Ok(())
}

struct Script {
    asked: QueryRequest,
    text: String,
    entry: Entry,
    token: StopToken,
    timeout: Duration,
    rows: Arc<AtomicU64>,
}

impl ScriptedEngine {
    fn script(
        &self,
        asked: &QueryRequest,
        text: String,
        timeout: Duration,
        token: StopToken,
    ) -> Script {
        Script {
            asked: asked.clone(),
            entry: self.running.enter(&text, token.clone()),
            text,
            token,
            rows: Arc::clone(&self.rows),
            timeout,
        }
    }
}

impl Job for Script {
    fn started(&self) -> Started {
        Started {
            id: self.entry.id(),
            token: self.token.clone(),
            parse: Duration::from_micros(5),
            plan: Duration::from_micros(7),
            snapshot: 7,
            warnings: 0,
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
            // Heeds nothing.
            "stall" => {
                std::thread::sleep(Duration::from_millis(number as u64));
                Ok(())
            }
            "heavy" => {
                self.token.expect_heavy(1);
                Ok(())
            }
            "ask" => output(sink.boolean(true)),
            "fail" => Err(failure(argument)),
            "panic" => panic!("an operator met something"),
            "given" => {
                let QueryRequest { given, base, .. } = &self.asked;
                let (terms, offset, limit) = (&given.terms, given.offset, given.limit);
                self.send(sink, &format!("{terms:?} {offset} {limit:?} {base:?}"), 1)
            }
            "echo" => {
                let QueryRequest {
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
        match self.token.look() {
            None => Ok(()),
            Some(StopReason::Deadline | StopReason::Outdated) => Err(failure("timeout")),
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
        "conflict" => Kind::Conflict,
        "read_only" => Kind::ReadOnly,
        "output" => Kind::Output,
        "internal" => Kind::Internal,
        _ => panic!("no such failure: {name}"),
    };
    QueryError::new(kind, format!("failed on purpose -- {name}"))
}

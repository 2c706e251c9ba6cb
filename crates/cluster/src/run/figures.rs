//! What a query's sections did on each node, for whoever looks inside: counted where a query is profiled, and nowhere else.
//!
//! A node that was not asked says it in words of its own ([`Did`]), each before the word about what was worked off that it belongs
//! to. No message of a pair overtakes another, so whoever has counted a section to its end has its figures too, and nobody
//! waits for them. Of a query that ends before its rows do they are those of each node's last word.
//!
//! Rows between two sections agree: `rows_in` of a section over all nodes is `rows_out` of the one before it, times the nodes
//! where each row goes to every one.

use super::{At, Shipped, nanoseconds};
use crate::bytes::{Malformed, Reader, Writer};
use crate::session::{Fetched, Session};
use explore::StepProfile;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a section did on a node, walked one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionFigures {
    /// Rows that it has taken; the row that a plan begins with is not counted.
    pub rows_in: u64,
    /// Rows that its last step gave.
    pub rows_out: u64,
    /// What it sent to the next section, and what it kept of it.
    pub shipped: Shipped,
    /// What it asked other nodes.
    pub fetched: Fetched,
    /// Words about tables that were worked off, to who sent them and to who counts.
    pub words: u64,
    /// Nanoseconds that it was worked on.
    pub nanoseconds: u64,
    /// Times that a device was set to work for it.
    pub strips: u64,
    /// Of its steps, first to last; none before it is prepared.
    pub steps: Vec<StepProfile>,
}

impl SectionFigures {
    /// Messages that were sent for it, but for answers to its questions.
    pub fn messages(&self) -> u64 {
        self.shipped.tables + self.fetched.questions + self.words
    }

    /// Adds what another section did, but for its steps.
    pub(crate) fn add(&mut self, other: &SectionFigures) {
        self.rows_in += other.rows_in;
        self.rows_out += other.rows_out;
        self.shipped.add(other.shipped);
        self.fetched.add(other.fetched);
        self.words += other.words;
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.strips += other.strips;
    }

    fn write(&self, out: &mut Writer) {
        let (shipped, fetched) = (self.shipped, self.fetched);
        let numbers = [
            self.rows_in,
            self.rows_out,
            shipped.tables,
            shipped.rows,
            shipped.answer,
            shipped.bytes,
            shipped.kept,
            fetched.questions,
            fetched.lists,
            fetched.prepared,
            fetched.bytes,
            fetched.lists_read,
            fetched.reads,
            fetched.read_bytes,
            self.words,
            self.nanoseconds,
            self.strips,
        ];
        for number in numbers {
            out.number(number);
        }
        out.number(self.steps.len() as u64);
        for step in &self.steps {
            out.number(step.runs);
            out.number(step.rows);
            out.number(step.nanoseconds);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<SectionFigures, Malformed> {
        let (rows_in, rows_out) = (from.number()?, from.number()?);
        let shipped = Shipped {
            tables: from.number()?,
            rows: from.number()?,
            answer: from.number()?,
            bytes: from.number()?,
            kept: from.number()?,
        };
        let fetched = Fetched {
            questions: from.number()?,
            lists: from.number()?,
            prepared: from.number()?,
            bytes: from.number()?,
            lists_read: from.number()?,
            reads: from.number()?,
            read_bytes: from.number()?,
        };
        let (words, nanoseconds) = (from.number()?, from.number()?);
        let strips = from.number()?;
        let mut steps = Vec::new();
        for _ in 0..from.count(3)? {
            steps.push(StepProfile {
                runs: from.number()?,
                rows: from.number()?,
                nanoseconds: from.number()?,
            });
        }
        Ok(SectionFigures {
            rows_in,
            rows_out,
            shipped,
            fetched,
            words,
            nanoseconds,
            strips,
            steps,
        })
    }
}

/// What a section did on a node of a query that was profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionOfNode {
    /// The node.
    pub node: u16,
    /// Which section of the plan.
    pub section: usize,
    /// Whether it had rows of anybody and fetched; else it had those that are at home there.
    pub in_place: bool,
    /// What it did.
    pub figures: SectionFigures,
}

/// A node's word about one of its sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Did {
    pub(crate) at: At,
    pub(crate) figures: SectionFigures,
}

impl Did {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.number(self.at.section as u64);
        out.byte(u8::from(self.at.in_place));
        self.figures.write(out);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Did, Malformed> {
        Ok(Did {
            at: At {
                section: from.number32()? as usize,
                in_place: from.truth()?,
            },
            figures: SectionFigures::read(from)?,
        })
    }
}

/// The counters of a query on this node and, where it was asked, what the others said.
pub(crate) struct Meter {
    own: Vec<[Gauge; 2]>,
    others: Mutex<BTreeMap<(usize, u16, bool), SectionFigures>>,
    saying: Mutex<()>,
}

/// The counters of a section, walked one way.
struct Gauge {
    figures: Mutex<SectionFigures>,
    /// When it was first worked on, and until when.
    time: Mutex<Option<(Duration, Duration)>>,
    session: Arc<Session>,
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    /// Of so many sections, which ask beside this session.
    pub(crate) fn new(sections: usize, session: &Session) -> Meter {
        let gauge = || Gauge {
            figures: Mutex::default(),
            time: Mutex::default(),
            session: Arc::new(session.beside()),
        };
        Meter {
            own: (0..sections).map(|_| [gauge(), gauge()]).collect(),
            others: Mutex::default(),
            saying: Mutex::default(),
        }
    }

    /// Held by who says what was done.
    pub(crate) fn saying(&self) -> MutexGuard<'_, ()> {
        lock(&self.saying)
    }

    fn gauge(&self, at: At) -> &Gauge {
        &self.own[at.section][usize::from(at.in_place)]
    }

    /// By which a section asks.
    pub(crate) fn session(&self, at: At) -> &Arc<Session> {
        &self.gauge(at).session
    }

    /// Counts something of a section.
    pub(crate) fn count(&self, at: At, count: impl FnOnce(&mut SectionFigures)) {
        count(&mut lock(&self.gauge(at).figures));
    }

    /// Notes that a section was worked on from one moment to another, and what its steps have done so far.
    pub(crate) fn worked(
        &self,
        at: At,
        (since, until): (Duration, Duration),
        strips: u64,
        steps: Vec<StepProfile>,
    ) {
        let mut time = lock(&self.gauge(at).time);
        *time = Some((time.map_or(since, |(first, _)| first), until));
        drop(time);
        let worked = nanoseconds(until.saturating_sub(since));
        self.count(at, |figures| {
            figures.nanoseconds = figures.nanoseconds.saturating_add(worked);
            if !steps.is_empty() {
                figures.strips = strips;
                figures.steps = steps;
            }
        });
    }

    /// When a section of this node was first worked on, and until when; `None`: it was not.
    pub(crate) fn time(&self, at: At) -> Option<(Duration, Duration)> {
        *lock(&self.gauge(at).time)
    }

    /// What a section of this node has done so far.
    pub(crate) fn own(&self, at: At) -> SectionFigures {
        let gauge = self.gauge(at);
        SectionFigures {
            fetched: gauge.session.own(),
            ..lock(&gauge.figures).clone()
        }
    }

    /// Takes another node's word. One about a section that there is not is dropped, and so are steps that there are not.
    pub(crate) fn said(&self, node: u16, did: Did, steps_max: usize) {
        if did.at.section < self.own.len() && did.figures.steps.len() <= steps_max {
            let name = (did.at.section, node, did.at.in_place);
            lock(&self.others).insert(name, did.figures);
        }
    }

    /// What is known of all nodes, by section, node and way: of each section that did something.
    pub(crate) fn all(&self, here: u16) -> Vec<SectionOfNode> {
        let mut all = lock(&self.others).clone();
        for section in 0..self.own.len() {
            for in_place in [false, true] {
                let figures = self.own(At { section, in_place });
                if figures != SectionFigures::default() {
                    all.insert((section, here, in_place), figures);
                }
            }
        }
        let all = all.into_iter();
        all.map(|((section, node, in_place), figures)| SectionOfNode {
            node,
            section,
            in_place,
            figures,
        })
        .collect()
    }
}

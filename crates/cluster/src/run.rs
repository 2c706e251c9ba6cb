//! A query on one node: its sections, what has come for each, and what is under way to others.
//!
//! ```text
//!  tables --> inbox of section k --[walk of its steps]--> outbox per owner --> section k + 1
//!             (bounded: 8 of a sender)               (32 to 256 KiB)
//! ```
//!
//! There is no tree of forks to join and no barrier: a section works off whatever has come, on every node at once
//! (OSDI'16 section 5.3, fork-join, between sections). A sender may have [`WINDOW`] tables under way to a section of a node;
//! one more is sent when one has been worked off. Rows only go to later sections, and the last one's leave with the answer,
//! so somebody can always go on: memory is bounded and nothing waits in a circle.
//!
//! Each section can be walked in two ways. At its home it asks for what is owned here; in place it has rows of anybody, and
//! fetches. Which way a table goes is its sender's choice (`route`).

pub(crate) mod figures;
pub(crate) mod halt;
mod noted;
mod outbox;
pub(crate) mod queue;
mod route;
pub mod span;
pub(crate) mod stage;
mod table;
mod tally;
mod told;
pub(crate) mod work;

use crate::error::Failure;
use crate::ground::Ground;
use crate::held::{Held, Memory, rows_bytes};
use crate::home::at_data::{AtData, divided, division};
use crate::home::share::Share;
use crate::home::{Home, Homes, Place, Section};
use crate::host::HomeSection;
use crate::lexicon::RemoteLexicon;
use crate::message::{Begin, Message, Mode, QueryId, Took};
use crate::session::Session;
use crate::terms::PartTerms;
use crate::trace::Trace;
use crate::view::RemoteView;
use explore::{Execution, MemoryBudget, Offloader, Options, Origin, Service, Stop};
use figures::Meter;
use halt::Halt;
use hashbrown::HashMap;
use oxsdatatypes::DateTime;
use query::plan::Plan;
use query::wire::Rows;
use queue::Scheduler;
use rdf::{NodeCause, NodeError, Ticket, VertexId};
use stage::{Came, Stage};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::view::GraphView;
use tally::Tally;

/// Tables that may be under way from one node to one section of another.
pub(crate) const WINDOW: usize = 8;

/// A section of a query on this node, walked one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) section: usize,
    pub(crate) in_place: bool,
}

/// What a walk of a query is made of.
pub(crate) struct Materials {
    pub(crate) plan: Arc<Plan>,
    pub(crate) ids: Vec<Option<VertexId>>,
    pub(crate) now: DateTime,
    pub(crate) seed: u64,
    pub(crate) chunk_rows: usize,
    /// Bytes that it may have on each other node.
    pub(crate) memory_bytes: u64,
    pub(crate) memory: Arc<dyn MemoryBudget + Send>,
    pub(crate) service: Option<Arc<dyn Service + Send>>,
    /// Whether it is told what each section did.
    pub(crate) is_profiled: bool,
    /// What it is part of, where it is followed.
    pub(crate) trace: Option<Trace>,
}

/// Rows that went from one section of a query to the next, on the nodes that say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Tables that left their node.
    pub tables: u64,
    /// Rows in them, but those of the answer on their way to whoever asked.
    pub rows: u64,
    /// Those.
    pub answer: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Rows that stayed, to have what they need fetched.
    pub kept: u64,
}

impl Shipped {
    /// Adds what another query has shipped.
    pub(crate) fn add(&mut self, other: Shipped) {
        self.tables += other.tables;
        self.rows += other.rows;
        self.answer += other.answer;
        self.bytes += other.bytes;
        self.kept += other.kept;
    }
}

/// Tables under way, by the section and node that they go to.
#[derive(Default)]
struct Traffic {
    under_way: HashMap<(usize, u16), usize>,
    /// Nodes that were sent a table.
    touched: BTreeSet<u16>,
    /// Who waits for room to send to a section.
    blocked: BTreeSet<At>,
    shipped: Shipped,
}

/// What only the node knows that was asked.
pub(crate) struct AtHome {
    pub(crate) tally: Tally,
    pub(crate) failure: Option<Failure>,
    /// Completes when the last section has something to do.
    pub(crate) news: Option<Ticket>,
    /// Who was told of it.
    pub(crate) nodes: Vec<u16>,
    /// What they are told.
    pub(crate) begin: Option<Arc<Begin>>,
}

/// See the module's documentation.
pub(crate) struct Run<P, T> {
    pub(crate) id: QueryId,
    pub(crate) ground: Arc<Ground<P, T>>,
    pub(crate) mode: Mode,
    pub(crate) sections: Vec<Section>,
    pub(crate) stages: Vec<[Stage; 2]>,
    pub(crate) halt: Arc<Halt>,
    pub(crate) session: Arc<Session>,
    materials: Materials,
    /// The plan as others are told it, who do at the data what is done here.
    told: Arc<Plan>,
    /// What of it is.
    pub(crate) at_data: AtData,
    pub(crate) scheduler: Arc<Scheduler<P, T>>,
    traffic: Mutex<Traffic>,
    /// Of its sections on this node, those that wait for their turn.
    queued: AtomicUsize,
    /// What was worked off here and has not been said.
    untold: Mutex<Vec<Took>>,
    home: Option<Mutex<AtHome>>,
    /// Whether this node walks all of it.
    is_alone: bool,
    meter: Option<Meter>,
    /// What it is part of and when it began here, where it is followed.
    followed: Option<(Trace, Duration)>,
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Run<P, T> {
    /// A query that begins here.
    pub(crate) fn new(
        id: QueryId,
        ground: &Arc<Ground<P, T>>,
        scheduler: &Arc<Scheduler<P, T>>,
        mode: Mode,
        (mut materials, session): (Materials, Arc<Session>),
        halt: Arc<Halt>,
    ) -> Run<P, T> {
        let told = Arc::clone(&materials.plan);
        let homes = Homes {
            plan: &told,
            ids: &materials.ids,
            kind: ground.kind(),
        };
        let is_alone = id.home == ground.here() && ground.walks_alone(mode, &homes);
        let (at_data, sections) = divided(&told, &homes, ground.placement().nodes(), is_alone);
        materials.plan = Arc::clone(&at_data.plan);
        let stages = sections.iter().map(|_| <[Stage; 2]>::default()).collect();
        let followed = materials.trace.map(|trace| (trace, ground.fabric().now()));
        let meter = materials.is_profiled || followed.is_some();
        let meter = meter.then(|| Meter::new(sections.len(), &session));
        let mut run = Run {
            id,
            ground: Arc::clone(ground),
            mode,
            stages,
            halt,
            session,
            materials,
            told,
            at_data,
            scheduler: Arc::clone(scheduler),
            traffic: Mutex::default(),
            queued: AtomicUsize::new(0),
            untold: Mutex::default(),
            home: None,
            is_alone,
            meter,
            followed,
            sections,
        };
        if id.home == ground.here() {
            let starts = run.starts();
            let sections = run.sections.iter().map(|section| {
                let is_met = section.place == Place::Together;
                (section.gathers, is_met.then_some(id.home))
            });
            run.home = Some(Mutex::new(AtHome {
                tally: Tally::new(starts.len() as u64, sections),
                failure: None,
                news: None,
                nodes: Vec::new(),
                begin: None,
            }));
        }
        run
    }

    /// Who grants it memory here.
    pub(crate) fn memory(&self) -> &Memory {
        &self.materials.memory
    }

    /// The plan as it is told.
    pub(crate) fn told(&self) -> &Arc<Plan> {
        &self.told
    }

    /// The plan as it is walked.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.materials.plan
    }

    pub(crate) fn width(&self) -> usize {
        self.materials.plan.variables.len()
    }

    pub(crate) fn chunk_rows(&self) -> u64 {
        self.materials.chunk_rows as u64
    }

    /// Who makes the first row.
    pub(crate) fn starts(&self) -> Vec<u16> {
        match self.sections[0].place {
            Place::Home(Home::All) => (0..self.ground.placement().nodes()).collect(),
            Place::Home(Home::Vertex(vertex)) => vec![self.ground.placement().owner(vertex)],
            Place::Home(Home::Column(_)) => unreachable!("the first row has no columns"),
            Place::Here | Place::Together => vec![self.id.home],
        }
    }

    /// Whether this node walks a section by itself: the last one is walked by whoever asked.
    pub(crate) fn is_last(&self, section: usize) -> bool {
        section + 1 == self.sections.len()
    }

    /// Whether a section gives rows when it is told that its input has ended; the first one has none.
    pub(crate) fn gathers(&self, section: usize) -> bool {
        section > 0 && self.sections[section].gathers
    }

    pub(crate) fn stage(&self, at: At) -> &Stage {
        &self.stages[at.section][usize::from(at.in_place)]
    }

    /// A walk of a section, and what is to be set when it is prepared.
    pub(crate) fn execution(&self, at: At) -> (Execution, Arc<AtomicBool>) {
        let section = &self.sections[at.section];
        let share = if at.in_place {
            Share::Whole
        } else {
            section.share
        };
        let session = match &self.meter {
            Some(meter) => meter.session(at),
            None => &self.session,
        };
        let view = RemoteView::new(&self.ground, session, share);
        // What is fetched by choice is fetched for few rows.
        let is_few = self.is_alone || at.in_place && self.mode == Mode::Dynamic;
        let view = if is_few { view.of_few_rows() } else { view };
        let lexicon = RemoteLexicon::new(&self.ground, session);
        let now = self.materials.now;
        // Walks with one seed would draw the same numbers for different rows.
        let walk =
            u64::from(self.ground.here()) << 17 | (at.section as u64) << 1 | u64::from(at.in_place);
        let is_walked = view.is_walked();
        let execution = Execution::new(Origin {
            ground: (Arc::new(view), Arc::new(lexicon)),
            plan: Arc::clone(&self.materials.plan),
            constants: self.materials.ids.clone(),
            steps: Some(section.steps.clone()),
            clock: Arc::new(move || now),
            seed: self.materials.seed ^ walk << 24,
            service: self.materials.service.clone(),
            memory: Arc::clone(&self.materials.memory),
            stop: Arc::clone(&self.halt) as Arc<dyn Stop + Send>,
            options: Options {
                chunk_rows: self.materials.chunk_rows,
                runs_per_call: RUNS_PER_CALL,
                ..Options::default()
            },
            ticks: self.meter.as_ref().map(|_| self.ticks()),
            offloader: self.offloader(at),
        });
        (execution, is_walked)
    }

    /// Who may do the first steps of a section that looks at nothing but what this node owns: of one node any.
    fn offloader(&self, at: At) -> Option<Box<dyn Offloader>> {
        let section = &self.sections[at.section];
        let is_only = self.ground.placement().nodes() == 1;
        let looks_elsewhere =
            at.in_place || self.is_last(at.section) || section.share == Share::Whole;
        if looks_elsewhere && !is_only {
            return None;
        }
        let column = match section.place {
            Place::Home(Home::Column(slot)) => Some(slot),
            Place::Home(Home::Vertex(_) | Home::All) => None,
            _ if is_only => None,
            _ => return None,
        };
        let section = HomeSection {
            column,
            takes_members: section.share == Share::Members,
        };
        let memory = &self.materials.memory;
        let plan = &self.materials.plan;
        self.scheduler.host().offloader(plan, section, memory)
    }

    /// Notes that a table goes to a section of a node; `false`: there is no room, and `blocked` will be told when there is.
    pub(crate) fn sends(&self, section: usize, to: u16, blocked: At) -> bool {
        let mut traffic = lock(&self.traffic);
        let under_way = traffic.under_way.entry((section, to)).or_default();
        if *under_way >= WINDOW {
            traffic.blocked.insert(blocked);
            return false;
        }
        *under_way += 1;
        traffic.touched.insert(to);
        true
    }

    /// Counts a table on its way from a section.
    pub(crate) fn ships(&self, at: At, count: impl Fn(&mut Shipped)) {
        count(&mut lock(&self.traffic).shipped);
        self.notes(at, |figures| count(&mut figures.shipped));
    }

    /// What this node has shipped so far.
    pub(crate) fn shipped(&self) -> Shipped {
        lock(&self.traffic).shipped
    }

    /// Tables were worked off by a section of a node; who waited for room.
    pub(crate) fn has_room(&self, section: usize, of: u16, tables: usize) -> Vec<At> {
        let mut traffic = lock(&self.traffic);
        if let Some(under_way) = traffic.under_way.get_mut(&(section, of)) {
            *under_way = under_way.saturating_sub(tables);
        }
        let waits = |at: &At| at.section + 1 == section;
        traffic.blocked.extract_if(.., waits).collect()
    }

    /// Whether rows went to a node, or it was told of the query: then others may have sent it rows.
    pub(crate) fn needs(&self, node: u16) -> bool {
        let is_touched = lock(&self.traffic).touched.contains(&node);
        let was_told = || {
            self.at_home()
                .is_some_and(|home| home.nodes.contains(&node))
        };
        is_touched || self.id.home == node || was_told()
    }

    pub(crate) fn at_home(&self) -> Option<MutexGuard<'_, AtHome>> {
        self.home.as_ref().map(lock)
    }

    /// Says that the last section has something to do.
    pub(crate) fn news(&self) {
        let ticket = self.at_home().and_then(|mut home| home.news.take());
        if let Some(ticket) = ticket {
            self.ground.desk().done(ticket);
        }
    }

    /// The query cannot go on; told to whoever asked.
    pub(crate) fn fail(&self, failure: Failure) {
        if let Some(mut home) = self.at_home() {
            // Before anything stops: whoever finds it stopped asks why, and would take what it has for the whole answer.
            home.failure.get_or_insert(failure);
            drop(home);
            self.halt.end();
            self.news();
            return;
        }
        self.halt.end();
        let (query, error) = (self.id, failure.told_by(self.ground.here()));
        // Where that does not arrive the one that asked is away, and wants to know nothing.
        let failed = Message::Failed { query, error };
        let _ = self.ground.send(self.id.home, &failed);
    }

    /// Checks and keeps rows for a section. The error says why they are none.
    pub(crate) fn accept(self: &Arc<Self>, from: u16, at: At, rows: Rows) -> Result<(), Failure> {
        let refused = |what: String| Failure::from(NodeError::fault(from, what));
        if at.section == 0 || at.section >= self.sections.len() {
            let (section, sections) = (at.section, self.sections.len());
            let what = format!("it sent rows for section {section} of a plan that has {sections}");
            return Err(refused(what));
        }
        if self.is_last(at.section) && (self.home.is_none() || at.in_place) {
            let what = "it sent rows for the last section, which whoever asked walks".to_owned();
            return Err(refused(what));
        }
        let held = Held::of(&self.materials.memory, rows_bytes(&rows))?;
        self.stage(at).arrive(Came::new(from, rows, held));
        self.schedule(at);
        Ok(())
    }

    /// The same with the time that is left now.
    pub(crate) fn with_time_left(&self, begin: &Begin) -> Begin {
        Begin {
            time_ns: self.halt.left().map_or(u64::MAX, nanoseconds),
            ..begin.clone()
        }
    }

    /// Has a section walked on, by whoever works next.
    pub(crate) fn schedule_quietly(self: &Arc<Self>, at: At) {
        if !self.is_last(at.section) && self.stage(at).is_to_be_queued() {
            self.scheduler.push_quietly(Arc::clone(self), at);
        }
    }

    /// Has a section walked on.
    pub(crate) fn schedule(self: &Arc<Self>, at: At) {
        if self.is_last(at.section) {
            self.news();
        } else if self.stage(at).is_to_be_queued() {
            self.scheduler.push(Arc::clone(self), at);
        }
    }

    /// How the plan is divided, as a number: nodes that divide it in two ways must not walk it together.
    pub(crate) fn division(&self) -> u64 {
        division(&self.at_data, &self.sections)
    }

    /// What other nodes are told of it.
    pub(crate) fn begin(&self) -> Result<Begin, Failure> {
        let mut plan = Vec::new();
        let materials = &self.materials;
        let encoded = query::wire::encode_plan(&self.told, &materials.ids, &mut plan);
        encoded.map_err(|error| NodeError {
            node: self.ground.here(),
            cause: NodeCause::Unsupported,
            what: error.to_string(),
        })?;
        Ok(Begin {
            mode: self.mode,
            time_ns: u64::MAX,
            memory_bytes: materials.memory_bytes,
            chunk_rows: materials.chunk_rows as u64,
            seed: materials.seed,
            is_profiled: materials.is_profiled,
            trace: self.trace_below(),
            division: self.division(),
            now: materials.now.to_string(),
            plan,
        })
    }
}

/// Nanoseconds of a time, for a message.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Calls of steps in one call of a walk: about a millisecond.
const RUNS_PER_CALL: u32 = 64;

//! Sections of plans on a device: over a node's part of a graph, or over rows that the processors made.
//!
//! A node's device walks the first steps of sections whose lists are all in the node's part:
//!
//! ```text
//!  section 0     the part's own keys, or members of a class --> strips on the device --> rows --> walked on, then to their owners
//!  section k     tables that have come, whose column is owned here --> the same
//! ```
//!
//! So tables go from card to card by way of their nodes, as in Wukong+G (ATC'18, section 4.3, fork-join), and each card has the images of
//! one part (section 5: a process a card). A section that is walked in place, or looks at what others have, stays on the processors, and so
//! does one that is not worth it.
//!
//! A worker of the node waits for its device: for a strip, two milliseconds or so. Between two of them others have their turn, as between two calls of
//! a walk.
//!
//! Over a whole graph a query whose first steps no device does comes to it so later (`run::late`).

use super::{Accelerator, Begun, NAP, PATIENCE, STRIP_NS, SectionOf, SectionRows, Stays};
use crate::run::chunk_of;
use cluster::host::HomeSection;
use explore::{
    Came, Chunk, Limits, MemoryBudget, Offloaded, Offloader, Prepared, Unfinished, WalkError,
};
use gpu::{GpuError, NotCovered, OwnPart, Ran};
use query::plan::Plan;
use rdf::{NodeCause, NodeError, Placement, VertexId};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use store::delta::Version;
use store::view::ViewError;

/// Nanoseconds that a strip is to take at a node: the worker that waits for it works for all queries, and for whoever asked them.
const STRIP_OF_NODE_NS: f64 = 2e6;

/// Who grants memory.
type Memory = Arc<dyn MemoryBudget + Send>;

/// See the head of this file.
pub(crate) struct SectionDevice {
    accelerator: Arc<Accelerator>,
    /// Which of its devices.
    number: usize,
    /// The whole graph, or the node's part, of which there are no changes.
    graph: Version,
    part: Option<PartOf>,
}

/// Whose part of a graph it is.
struct PartOf {
    node: u16,
    placement: Placement,
    kind: Option<VertexId>,
}

impl SectionDevice {
    /// One of these devices for a node; `None`: there are not as many.
    pub(crate) fn of_part(
        (accelerator, number): (&Arc<Accelerator>, usize),
        part: Version,
        (node, placement): (u16, &Placement),
        kind: Option<VertexId>,
    ) -> Option<SectionDevice> {
        (number < accelerator.devices()).then(|| SectionDevice {
            accelerator: Arc::clone(accelerator),
            number,
            graph: part,
            part: Some(PartOf {
                node,
                placement: placement.clone(),
                kind,
            }),
        })
    }

    /// The one whose turn it was when a query asked, over a whole graph; where that is not open, the next one that is.
    pub(crate) fn of_graph(accelerator: &Arc<Accelerator>, graph: Version) -> SectionDevice {
        SectionDevice {
            accelerator: Arc::clone(accelerator),
            number: accelerator.open_one(),
            graph,
            part: None,
        }
    }

    /// It, for a section of a plan that may be worth it.
    pub(crate) fn offloader(
        self: &Arc<Self>,
        plan: &Plan,
        section: HomeSection,
        memory: &Memory,
    ) -> Option<Box<dyn Offloader>> {
        let is_wanted = self.accelerator.is_for_sections_of(plan);
        is_wanted.then(|| Box::new(self.for_section(section, memory)) as Box<dyn Offloader>)
    }

    /// It, for a section.
    pub(crate) fn for_section(
        self: &Arc<Self>,
        section: HomeSection,
        memory: &Memory,
    ) -> OfSection {
        OfSection {
            device: Arc::clone(self),
            section,
            memory: Arc::clone(memory),
            here_ns: f64::INFINITY,
            so_far: Arc::default(),
        }
    }
}

/// A device and a section.
pub(crate) struct OfSection {
    device: Arc<SectionDevice>,
    section: HomeSection,
    memory: Memory,
    /// What the processors would take for all of a query, in nanoseconds.
    here_ns: f64,
    so_far: Arc<SoFar>,
}

impl OfSection {
    /// It, if that is sooner than processors that take so many nanoseconds for all of the query.
    pub(crate) fn beside(self, here_ns: f64) -> OfSection {
        OfSection { here_ns, ..self }
    }

    /// Why it was not begun, where it was not, the last time.
    pub(crate) fn stays(&self) -> Option<Stays> {
        self.so_far.said().stays.take()
    }

    /// Whether the device has failed at it.
    pub(crate) fn has_failed(&self) -> bool {
        self.so_far.has_failed.load(Ordering::Relaxed)
    }

    /// Why it ended where it did.
    pub(crate) fn why(&self) -> NotCovered {
        self.so_far.said().why
    }
}

/// What is known of a section from its tables before.
#[derive(Default)]
struct SoFar {
    said: Mutex<Said>,
    /// Whether somebody has tried to begin it.
    is_tried: AtomicBool,
    /// Whether a strip of it was walked.
    is_counted: AtomicBool,
    /// Whether the device has failed at it: it would again.
    has_failed: AtomicBool,
    /// Rows that a strip may have; 0: not known.
    strip: AtomicU64,
}

/// What is to be told of it.
struct Said {
    /// Why the device did not begin it.
    stays: Option<Stays>,
    /// Why it did no further step.
    why: NotCovered,
}

impl Default for Said {
    fn default() -> Said {
        Said {
            stays: None,
            why: NotCovered::End,
        }
    }
}

impl SoFar {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Offloader for OfSection {
    fn begin(
        &self,
        prepared: &Prepared<'_>,
        steps: Range<usize>,
        seed: Option<u64>,
        _: Limits<'_>,
    ) -> Option<Box<dyn Offloaded>> {
        let (device, so_far) = (&self.device, &self.so_far);
        if so_far.has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let goes_on = so_far.is_tried.swap(true, Ordering::Relaxed);
        let of = device.part.as_ref();
        let nodes = of.map_or(1, |of| of.placement.nodes());
        let owns = |vertex: VertexId| of.is_none_or(|of| of.placement.owner(vertex) == of.node);
        let part = (nodes > 1).then_some(OwnPart {
            owns: &owns,
            in_pieces: of.and_then(|of| of.kind),
            takes_pieces: self.section.takes_members,
            at: self.section.column,
        });
        let asked = (device.number, &device.graph);
        let rows = match device.part {
            Some(_) => SectionRows::OfNodes(nodes),
            None => SectionRows::Own {
                here_ns: self.here_ns,
            },
        };
        let of = SectionOf {
            steps,
            part,
            rows,
            goes_on,
        };
        let begun = device.accelerator.begin_section(asked, prepared, of);
        let mut begun = match begun {
            Ok(begun) => begun,
            Err(why) => {
                so_far.said().stays = Some(why);
                return None;
            }
        };
        so_far.said().why = begun.section.why();
        let is_seed = |seed| begun.section.arranged().is_none() && begun.section.seeds() == seed;
        if !seed.is_none_or(is_seed) {
            return None;
        }
        // A piece that is read, and one that is walked over.
        let bytes = 2 * begun.section.piece_bytes();
        self.memory.try_reserve(bytes).ok()?;
        let strip = so_far.strip.load(Ordering::Relaxed);
        if strip > 0 {
            begun.section.limit(strip);
        }
        Some(Box::new(OnDevice {
            width: prepared.plan().variables.len(),
            elements: seed.unwrap_or(0),
            begun,
            device: Arc::clone(device),
            so_far: Arc::clone(so_far),
            memory: Arc::clone(&self.memory),
            bytes,
            from: 0,
            strip: None,
            walked: 0,
        }))
    }
}

/// A strip whose rows are read.
struct Strip {
    ran: Ran,
    /// Its first element.
    start: u64,
    /// Rows of it that were given.
    given: u64,
}

/// A section's first steps under way.
struct OnDevice {
    begun: Begun,
    device: Arc<SectionDevice>,
    so_far: Arc<SoFar>,
    memory: Memory,
    bytes: u64,
    width: usize,
    /// Elements of the seed, or rows that were loaded.
    elements: u64,
    /// The first of them that no strip had yet.
    from: u64,
    strip: Option<Strip>,
    /// Rows that its last step gave so far.
    walked: u64,
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

/// Whether a device is still waited for, from now on.
fn patience(limits: Limits<'_>) -> impl FnMut() -> bool {
    let since = Instant::now();
    move || {
        std::thread::sleep(NAP);
        !limits.stop.is_stopped() && since.elapsed() < PATIENCE
    }
}

impl OnDevice {
    /// The next rows of a strip; `None`: it has no more.
    fn piece(&mut self, limits: Limits<'_>) -> Result<Option<Chunk>, Unfinished> {
        let Some(strip) = &mut self.strip else {
            return Ok(None);
        };
        let section = &self.begun.section;
        match section.piece(strip.ran, strip.given, &mut patience(limits)) {
            Ok(Some(piece)) => {
                strip.given += piece.rows;
                Ok(Some(chunk_of(self.width, piece)))
            }
            Ok(None) => {
                self.strip = None;
                Ok(None)
            }
            Err(error) => {
                let (start, given) = (strip.start, strip.given);
                self.failed(&error, limits, (given == 0).then_some(start))
            }
        }
    }

    /// The device has failed, and nothing was given out from this element on; `None`: some of a strip was.
    fn failed<T>(
        &self,
        error: &GpuError,
        limits: Limits<'_>,
        from: Option<u64>,
    ) -> Result<T, Unfinished> {
        if let GpuError::GivenUp = error {
            limits.check().map_err(Unfinished::Ended)?;
        }
        self.so_far.has_failed.store(true, Ordering::Relaxed);
        self.device.accelerator.note(&self.begun, error);
        Err(match from {
            Some(element) => Unfinished::From(element),
            None => Unfinished::Ended(self.lost(error)),
        })
    }

    fn lost(&self, error: &GpuError) -> WalkError {
        let part = self.device.part.as_ref();
        let error = NodeError {
            node: part.map_or(0, |of| of.node),
            cause: NodeCause::Device,
            what: format!("its device failed while its rows were read: {error}"),
        };
        ViewError::Elsewhere(Box::new(error)).into()
    }
}

impl Offloaded for OnDevice {
    fn covered(&self) -> usize {
        self.begun.section.covered()
    }

    fn rows_max(&self) -> u64 {
        self.begun.section.loads().unwrap_or(1).max(1)
    }

    fn load(&mut self, rows: u64, columns: &[&[VertexId]]) -> Result<(), Unfinished> {
        (self.elements, self.from, self.strip) = (rows, 0, None);
        let loaded = self.begun.section.load(rows, columns);
        loaded.map_err(|error| {
            self.so_far.has_failed.store(true, Ordering::Relaxed);
            self.device.accelerator.note(&self.begun, &error);
            Unfinished::From(0)
        })
    }

    fn next(&mut self, limits: Limits<'_>) -> Result<Came, Unfinished> {
        if let Some(rows) = self.piece(limits)? {
            return Ok(Came::Rows(rows));
        }
        if self.from == self.elements {
            return Ok(Came::Done);
        }
        limits.check().map_err(Unfinished::Ended)?;
        let (start, since) = (self.from, Instant::now());
        let within = start..self.elements;
        match self.begun.section.next(within, &mut patience(limits)) {
            Ok((ran, to)) => {
                (self.from, self.walked) = (to, self.walked + ran.walked);
                self.strip = Some(Strip {
                    ran,
                    start,
                    given: 0,
                });
                let took = since.elapsed().as_nanos().max(1) as f64;
                let strip_ns = match self.device.part {
                    Some(_) => STRIP_OF_NODE_NS,
                    None => STRIP_NS,
                };
                let fair = ((to - start) as f64 * strip_ns / took) as u64;
                self.begun.section.limit(fair);
                self.so_far.strip.store(fair.max(1), Ordering::Relaxed);
                if !self.so_far.is_counted.swap(true, Ordering::Relaxed) {
                    self.device.accelerator.count(false);
                }
                Ok(Came::Nothing)
            }
            Err(error) => self.failed(&error, limits, Some(start)),
        }
    }

    fn did(&self) -> (u64, u64) {
        (self.begun.section.launches(), self.walked)
    }
}

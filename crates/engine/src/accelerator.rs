//! Devices beside the processors: which queries begin on them, and with which images.
//!
//! A device's [`Gpu`] has the images of one base, and what layers have made of its segments. A version over another base takes its place;
//! where layers have changed more than is brought, the processors walk. So does whatever the device does not cover, has no room for or
//! fails at: a query is never refused because of it. A device is opened when a query is worth it, and data are brought to it, beside that query,
//! and it is tried again a while after it was lost (`door`).
//!
//! Several devices have the same images each, or some that see each other have them together: these are behind one door. A query begins on the next
//! one in turn that has room, and a very heavy one on all of them: each takes parts of its seed, as the processors do (`run::beside_devices`).

mod door;
mod report;
mod sections;

pub use door::{Opened, Opener, Teller};
pub(crate) use report::{DeviceReport, Lately, Stays, Took};
pub(crate) use sections::{OfSection, SectionDevice};

use crate::budget::{Budget, Pool};
use door::{Closed, Door, OpenDevice};
use explore::Prepared;
pub use gpu::Memory;
use gpu::device::DeviceError;
use gpu::{
    CacheOptions, Expected, Gives, Gpu, GpuError, NotCovered, Outlook, Over, OwnPart, Section,
};
use query::plan::{Action, Plan, Slot, Step};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::delta::Version;

/// Which queries begin on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// None.
    Never,
    /// Those that are expected to gain.
    #[default]
    Auto,
    /// All that it can begin.
    Always,
}

/// Nanoseconds that a strip is to take on the device.
pub(crate) const STRIP_NS: f64 = 2e7;

/// The same of a first strip, which only estimates tell of: they may be a thousand times too low before it is taken for a hang.
const FIRST_STRIP_NS: f64 = 2e6;

/// Rows of a table that are walked at once, whatever is expected of them.
const TABLE_MIN: u64 = 256;

/// How long a strip may take, which is made to take some milliseconds. A device that needs longer is taken for lost.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The part of the pool of queries, one in so many, that pages and changes in this machine's memory may have, whatever they are configured to: they stay.
const POOL_SHARE: u64 = 2;

/// Where a plan is tried to come to a device later, at most.
const LATE_MAX: usize = 4;

/// How long a query waits until another one leaves its room, at most, and between two looks.
const WAIT_MAX: Duration = Duration::from_millis(20);
pub(crate) const NAP: Duration = Duration::from_micros(20);

/// What devices have done for queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// Queries that began on one.
    pub queries: u64,
    /// Those of them that several devices, or threads of the processors too, began.
    pub shared: u64,
    /// Failures; the processors made each good that came before any row of its strip had gone on.
    pub failures: u64,
    /// Whether one does not answer any more, or could not be opened.
    pub is_lost: bool,
    /// Bytes of images that were on the one on which a query last began.
    pub image_bytes: u64,
}

/// A query's beginning on the device.
pub(crate) struct Begun {
    pub(crate) section: Section,
    held: Arc<OpenDevice>,
    /// Behind which door it is.
    number: usize,
}

/// See the head of this file.
pub struct Accelerator {
    doors: Vec<Door>,
    /// Whose turn it is.
    turn: AtomicUsize,
    offload: Offload,
    shares_all: bool,
    queries: AtomicU64,
    shared: AtomicU64,
    failures: AtomicU64,
    image_bytes: AtomicU64,
    has_told: AtomicBool,
    /// What memory of this machine is drawn on.
    pool: OnceLock<Arc<Pool>>,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |held: Arc<OpenDevice>| {
            let devices = held.devices.iter();
            devices
                .map(|device| device.facts().name.clone())
                .collect::<Vec<_>>()
        };
        let name = |door: &Door| door.look().ok().map(names);
        formatter
            .debug_struct("Accelerator")
            .field("devices", &self.doors.iter().map(name).collect::<Vec<_>>())
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

impl Accelerator {
    /// Devices, how the memory of each is divided, and what they are for. Nothing is put on them before a query needs it. Once lost, one is
    /// not asked again.
    pub fn new(devices: Vec<Opened>, offload: Offload) -> Accelerator {
        Accelerator::behind(devices.into_iter().map(Door::open).collect(), offload)
    }

    /// Devices that these open when a query is worth it, on threads of their own; that query and those that come
    /// meanwhile stay on the processors. One that is lost is opened again after 1, 10, then every 60 seconds. `teller` is told
    /// of failures.
    pub fn lazy(openers: Vec<Opener>, teller: Teller, offload: Offload) -> Accelerator {
        let teller: Arc<Teller> = Arc::new(teller);
        let door = |opener| Door::closed(opener, Arc::clone(&teller));
        Accelerator::behind(openers.into_iter().map(door).collect(), offload)
    }

    fn behind(doors: Vec<Door>, offload: Offload) -> Accelerator {
        Accelerator {
            doors,
            turn: AtomicUsize::new(0),
            offload,
            shares_all: false,
            queries: AtomicU64::new(0),
            shared: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            image_bytes: AtomicU64::new(0),
            has_told: AtomicBool::new(false),
            pool: OnceLock::new(),
        }
    }

    /// Shares all queries among all devices and threads, whether that is worth it or not: for tests.
    #[must_use]
    pub fn sharing_all(mut self) -> Accelerator {
        self.shares_all = true;
        self
    }

    /// Draws what it needs of this machine's memory on a pool; of several databases it is the first one's.
    pub(crate) fn draw_on(&self, pool: &Arc<Pool>) {
        let _ = self.pool.set(Arc::clone(pool));
    }

    /// See [`Accelerator::sharing_all`].
    pub(crate) fn shares_all(&self) -> bool {
        self.shares_all
    }

    /// Opens the devices now, on the calling thread: half a second each. An error says why there is one too few.
    pub fn open(&self) -> Result<(), DeviceError> {
        self.doors.iter().try_for_each(Door::open_now)
    }

    /// What they have done so far.
    pub fn figures(&self) -> DeviceFigures {
        let is_shut = |door: &Door| matches!(door.look(), Err(Closed::Shut));
        DeviceFigures {
            queries: self.queries.load(Ordering::Relaxed),
            shared: self.shared.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            is_lost: self.doors.iter().any(is_shut),
            image_bytes: self.image_bytes.load(Ordering::Relaxed),
        }
    }

    /// What would become of a plan, in words; `None`: there is nothing to say, for no query is for the device.
    pub(crate) fn outlook(&self, plan: &Plan) -> Option<String> {
        if let Err(stays) = self.wants(plan) {
            let is_off = matches!(stays, Stays::Never);
            return (!is_off).then(|| format!("not asked: {stays}"));
        }
        let looks = self.doors.iter().map(Door::look);
        let best = looks.reduce(|one, other| if one.is_ok() { one } else { other })?;
        Some(match best {
            Ok(_) => "would be asked".to_owned(),
            Err(Closed::Unasked) => "would be opened, for the queries after this one".to_owned(),
            Err(Closed::Opening) => format!("not asked: {}", Stays::Opening),
            Err(Closed::Shut) => format!("not asked: {}", Stays::Lost),
        })
    }

    /// Whether a plan is for a device, and one is open.
    pub(crate) fn can_tell(&self, plan: &Plan) -> bool {
        self.wants(plan).is_ok() && self.doors.iter().any(|door| door.look().is_ok())
    }

    /// What would become of a query whose plan is prepared; so many threads would walk it else, and take so many nanoseconds.
    pub(crate) fn foresight(
        &self,
        version: &Version,
        prepared: &Prepared<'_>,
        (workers, here_ns): (usize, f64),
    ) -> DeviceReport {
        match self.foreseen(version, prepared, (workers, here_ns)) {
            Ok((steps, why)) => DeviceReport::would(steps, why),
            Err(stays) => DeviceReport::stayed(&stays, true),
        }
    }

    /// The steps that would be a device's, and why not more.
    fn foreseen(
        &self,
        version: &Version,
        prepared: &Prepared<'_>,
        (workers, here_ns): (usize, f64),
    ) -> Result<(Range<usize>, NotCovered), Stays> {
        let plan = prepared.plan();
        self.wants(plan)?;
        if self.offload == Offload::Auto && prepared.chooses_rows() {
            return Err(Stays::ChoosesRows);
        }
        let held = self.doors.iter().find_map(|door| door.look().ok());
        let held = held.ok_or(Stays::Lost)?;
        let gpu = self.gpu_of(&held, version).map_err(Stays::Gpu)?;
        let over = Over {
            version: Some(version),
            ..Over::ALL
        };
        let gains = |(outlook, why): (Outlook, NotCovered), rows| {
            let gains = self.gains(&outlook, plan, rows);
            let steps = outlook.first..outlook.covered;
            gains.then_some((steps, why)).ok_or(Stays::Unworthy)
        };
        let begun = gpu.outlook(prepared, &over).map_err(Stays::Gpu);
        let stays =
            match begun.and_then(|begun| gains(begun, SectionRows::Seed { threads: workers })) {
                Err(stays) if stays.is_of_first_steps() => stays,
                others => return others,
            };
        let mut late = self
            .late(prepared, here_ns)
            .into_iter()
            .filter_map(|first| {
                let over = Over {
                    steps: first..usize::MAX,
                    ..over.clone()
                };
                let late = gpu.outlook(prepared, &over).ok()?;
                gains(late, SectionRows::Own { here_ns }).ok()
            });
        late.next().ok_or(stays)
    }

    /// Where a plan may come to a device that does not do its first steps, the step before which most is done there first: each where one thread with a device
    /// for as much as there may be is expected to be sooner than the processors, which take so many nanoseconds.
    pub(crate) fn late(&self, prepared: &Prepared<'_>, here_ns: f64) -> Vec<usize> {
        let plan = prepared.plan();
        let mut stretches = gpu::stretches(prepared);
        stretches.retain(|stretch| {
            let most = Outlook::of(stretch.clone(), plan.steps[stretch.end - 1].keep.len());
            self.gains(&most, plan, SectionRows::Own { here_ns })
        });
        let cost = |stretch: &Range<usize>| sum_ns(&plan.steps[stretch.clone()]);
        stretches.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
        stretches.truncate(LATE_MAX);
        stretches.into_iter().map(|stretch| stretch.start).collect()
    }

    fn wants(&self, plan: &Plan) -> Result<(), Stays> {
        match self.offload {
            Offload::Never => Err(Stays::Never),
            Offload::Auto if !is_worth(plan) => Err(Stays::Light),
            Offload::Auto | Offload::Always => Ok(()),
        }
    }

    /// The beginning of a query for a device, or why it is to begin on the processors, so many threads of them.
    pub(crate) fn begin(
        &self,
        version: &Version,
        prepared: &Prepared<'_>,
        workers: usize,
    ) -> Result<Begun, Stays> {
        self.wants(prepared.plan())?;
        if self.offload == Offload::Auto && prepared.chooses_rows() {
            return Err(Stays::ChoosesRows);
        }
        let turn = self.next_turn();
        let most = longest_wait(&prepared.plan().steps, workers);
        let over = Over {
            version: Some(version),
            ..Over::ALL
        };
        let asked = (turn % self.doors.len(), version);
        self.patiently(most, asked, prepared, &over, || {
            self.begin_on_any(turn, version, prepared, workers)
        })
    }

    /// Whose turn it is: a number that grows.
    fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the one whose turn it was last, or of the next one that is open.
    fn open_one(&self) -> usize {
        let last = self.turn.load(Ordering::Relaxed).saturating_sub(1);
        let numbers = (0..self.doors.len()).map(|at| (last + at) % self.doors.len());
        let is_open = |number: &usize| self.doors[*number].look().is_ok();
        numbers
            .clone()
            .find(is_open)
            .unwrap_or(last % self.doors.len())
    }

    /// How many there are that have images of their own.
    pub(crate) fn devices(&self) -> usize {
        self.doors.len()
    }

    /// Whether sections of a plan may be for a device: it may be worth it, and does not choose among its rows.
    pub(crate) fn is_for_sections_of(&self, plan: &Plan) -> bool {
        let chooses = |step: &Step| match &step.action {
            Action::Slice { .. } => true,
            Action::Order { limit, .. } => limit.is_some(),
            _ => false,
        };
        let is_always = self.offload == Offload::Always;
        self.wants(plan).is_ok() && (is_always || !plan.steps.iter().any(chooses))
    }

    /// The beginning of some steps for one of the devices, or why the processors are to walk them.
    pub(crate) fn begin_section(
        &self,
        (number, version): (usize, &Version),
        prepared: &Prepared<'_>,
        of: SectionOf<'_>,
    ) -> Result<Begun, Stays> {
        let SectionOf {
            steps,
            part,
            rows,
            goes_on,
        } = of;
        let plan = prepared.plan();
        let gains = |outlook: &Outlook| self.gains(outlook, plan, rows);
        let waits = match rows {
            // Others would wait with it, for it is a node's worker; and later tables are many.
            SectionRows::OfNodes(_) => self.brings() && !goes_on,
            SectionRows::Own { .. } | SectionRows::Seed { .. } => !goes_on,
        };
        let most = if waits {
            longest_wait(&plan.steps[steps.clone()], 1)
        } else {
            Duration::ZERO
        };
        let over = Over {
            version: Some(version),
            steps,
            part,
            is_worth: &gains,
            goes_on,
            ..Over::ALL
        };
        self.patiently(most, (number, version), prepared, &over, || {
            self.begin_on((number, true), version, prepared, &over)
        })
    }

    /// Tries to begin again and again while the device is full, for so long at most.
    fn patiently(
        &self,
        most: Duration,
        (number, version): (usize, &Version),
        prepared: &Prepared<'_>,
        over: &Over<'_>,
        begin: impl Fn() -> Result<Begun, Stays>,
    ) -> Result<Begun, Stays> {
        let since = Instant::now();
        // What it needs is kept there while it waits, rather than what was used last.
        let mut expected = None;
        loop {
            let begun = begin();
            let is_full = matches!(begun, Err(Stays::Gpu(GpuError::Busy)));
            if !is_full || since.elapsed() > most {
                return begun;
            }
            if expected.is_none() {
                expected = self.expect(number, version, prepared, over);
            }
            std::thread::sleep(NAP);
        }
    }

    /// Tells a device that a query waits.
    fn expect(
        &self,
        number: usize,
        version: &Version,
        prepared: &Prepared<'_>,
        over: &Over<'_>,
    ) -> Option<Expected> {
        let held = self.doors[number].look().ok()?;
        let gpu = self.gpu_of(&held, version).ok()?;
        // Who waits brings nothing.
        let over = Over {
            misses: Some(&drop),
            ..over.clone()
        };
        gpu.expect(prepared, &over).ok()
    }

    /// The same on the first device that has room, beginning with the one whose turn it is.
    fn begin_on_any(
        &self,
        turn: usize,
        version: &Version,
        prepared: &Prepared<'_>,
        workers: usize,
    ) -> Result<Begun, Stays> {
        let mut stays = Stays::Never;
        for at in 0..self.doors.len() {
            let number = (turn + at) % self.doors.len();
            let rows = SectionRows::Seed { threads: workers };
            let gains = |outlook: &Outlook| self.gains(outlook, prepared.plan(), rows);
            let over = Over {
                version: Some(version),
                is_worth: &gains,
                ..Over::ALL
            };
            // What is missed is brought to one, as it is without others.
            match self.begin_on((number, at == 0), version, prepared, &over) {
                Ok(begun) => return Ok(begun),
                // What one does not begin the others do not, either; one that is not there, is full or too small says nothing of others.
                Err(
                    why @ (Stays::Opening
                    | Stays::Bringing
                    | Stays::Lost
                    | Stays::Gpu(
                        GpuError::Busy
                        | GpuError::Device(_)
                        | GpuError::Apart { .. }
                        | GpuError::NoRoom { .. }
                        | GpuError::NoPage { .. },
                    )),
                ) => {
                    // One that is full is worth waiting for, whatever the others are.
                    if !matches!(stays, Stays::Gpu(GpuError::Busy)) {
                        stays = why;
                    }
                }
                Err(why) => return Err(why),
            }
        }
        Err(stays)
    }

    /// The same query's beginning on all other devices that have room.
    pub(crate) fn begin_elsewhere(
        &self,
        begun: &Begun,
        version: &Version,
        prepared: &Prepared<'_>,
    ) -> Vec<Begun> {
        let own = (begun.number, begun.section.device());
        let behind = |number: usize| {
            let held = self.doors[number].look();
            let count = held.map_or(1, |held| held.devices.len());
            (0..count).map(move |device| (number, device))
        };
        let others = (0..self.doors.len()).flat_map(behind);
        let others = others.filter(|other| *other != own);
        let same = |other: &Begun| {
            let (one, other) = (&begun.section, &other.section);
            other.covered() == one.covered() && other.seeds() == one.seeds()
        };
        let begin = |(number, device)| {
            let over = Over {
                version: Some(version),
                device: Some(device),
                ..Over::ALL
            };
            self.begin_on((number, true), version, prepared, &over).ok()
        };
        others.filter_map(begin).filter(same).collect()
    }

    /// Begins on this one; what is missed may be brought to it, or not.
    fn begin_on(
        &self,
        (number, may_bring): (usize, bool),
        version: &Version,
        prepared: &Prepared<'_>,
        over: &Over<'_>,
    ) -> Result<Begun, Stays> {
        let door = &self.doors[number];
        let held = door.ask().map_err(|closed| match closed {
            Closed::Unasked | Closed::Opening => Stays::Opening,
            Closed::Shut => Stays::Lost,
        })?;
        let gpu = if over.goes_on {
            held.same_gpu(version)
        } else {
            self.gpu_of(&held, version)
        };
        let begun = gpu.and_then(|gpu| {
            let missed = |need| {
                if may_bring {
                    door.bring(&held, &gpu, need);
                }
            };
            let over = Over {
                misses: if self.brings() { None } else { Some(&missed) },
                ..over.clone()
            };
            self.section_of(&gpu, prepared, (Gives::Needed, &over))
        });
        match begun {
            Ok(mut section) => {
                let plan = prepared.plan();
                let rows = SectionRows::Seed { threads: 1 };
                let (_, expected) = expected_ns(section.outlook(), plan, rows);
                // Of a table, as of all rows that are expected to come.
                let before = section.outlook().first.checked_sub(1);
                let elements = before.map_or(section.seeds() as f64, |step| {
                    plan.steps[step].estimate.rows
                });
                if expected > FIRST_STRIP_NS {
                    let part = elements * FIRST_STRIP_NS / expected;
                    section.limit((part as u64).max(TABLE_MIN * u64::from(before.is_some())));
                }
                Ok(Begun {
                    section,
                    held,
                    number,
                })
            }
            Err(GpuError::Unworthy) => Err(Stays::Unworthy),
            Err(GpuError::Away) => Err(self.is_brought_to(number, &held)),
            Err(GpuError::Busy) if held.is_bringing() => Err(self.is_brought_to(number, &held)),
            Err(error) => {
                self.note_of(number, &held, &error);
                Err(Stays::Gpu(error))
            }
        }
    }

    /// Data are brought to this device, or will be; one that they do not come to any more is lost.
    fn is_brought_to(&self, number: usize, held: &Arc<OpenDevice>) -> Stays {
        if held.hangs() {
            let reason = "bringing a query's data to it did not end".to_owned();
            self.failures.fetch_add(1, Ordering::Relaxed);
            self.doors[number].lose_hanging(held, &DeviceError::Lost { reason });
        }
        Stays::Bringing
    }

    /// Whether a query waits until what it misses on a device is there. It need not: processors answer sooner than a second.
    fn brings(&self) -> bool {
        self.offload == Offload::Always
    }

    /// Whether it is expected to be done sooner with a device for a section's steps.
    fn gains(&self, outlook: &Outlook, plan: &Plan, rows: SectionRows) -> bool {
        if self.offload == Offload::Always {
            return true;
        }
        let (cost_ns, device_ns) = expected_ns(outlook, plan, rows);
        match rows {
            SectionRows::OfNodes(_) => device_ns < cost_ns,
            // What stands before is walked by one thread, and what follows, too.
            SectionRows::Own { here_ns } => sum_ns(&plan.steps) - cost_ns + device_ns < here_ns,
            SectionRows::Seed { threads } => device_ns < cost_ns / threads.max(1) as f64,
        }
    }

    /// The same, whether it is worth it or not, with a sum over these columns.
    pub(crate) fn section(
        &self,
        version: &Version,
        prepared: &Prepared<'_>,
        sums: &[Slot],
    ) -> Result<Section, GpuError> {
        let lost = |_| DeviceError::Lost {
            reason: Stays::Lost.to_string(),
        };
        let held = self.doors[0].look().map_err(lost)?;
        let over = Over {
            version: Some(version),
            ..Over::ALL
        };
        let gpu = self.gpu_of(&held, version)?;
        self.section_of(&gpu, prepared, (Gives::Sum(sums), &over))
    }

    fn section_of(
        &self,
        gpu: &Gpu,
        prepared: &Prepared<'_>,
        (gives, over): (Gives<'_>, &Over<'_>),
    ) -> Result<Section, GpuError> {
        let section = gpu.section_over(prepared, gives, over);
        self.image_bytes.store(gpu.image_bytes(), Ordering::Relaxed);
        section
    }

    fn gpu_of(&self, held: &OpenDevice, version: &Version) -> Result<Arc<Gpu>, GpuError> {
        held.gpu(version, self.pool.get())
    }

    /// A query begins on a device, alone or not.
    pub(crate) fn count(&self, is_shared: bool) {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.shared
            .fetch_add(u64::from(is_shared), Ordering::Relaxed);
    }

    /// Takes note of a failure; what is only not covered is none.
    pub(crate) fn note(&self, begun: &Begun, error: &GpuError) {
        self.note_of(begun.number, &begun.held, error);
    }

    fn note_of(&self, number: usize, held: &Arc<OpenDevice>, error: &GpuError) {
        let hangs = matches!(error, GpuError::GivenUp);
        let error = match error {
            GpuError::Device(error) => error,
            GpuError::GivenUp => &hung(),
            _ => return,
        };
        self.failures.fetch_add(1, Ordering::Relaxed);
        let door = &self.doors[number];
        if let DeviceError::Lost { .. } = error {
            self.image_bytes.store(0, Ordering::Relaxed);
            if hangs {
                door.lose_hanging(held, error);
            } else {
                door.lose(held, error);
            }
        } else if !self.has_told.swap(true, Ordering::Relaxed) {
            // Each of them would say the same.
            door.tell(&format!("{error}; the processors go on with such queries"));
        }
    }
}

/// What is said of a device that was not waited for any longer.
fn hung() -> DeviceError {
    let reason = format!(
        "it did not end a strip of a query in {} s",
        PATIENCE.as_secs()
    );
    DeviceError::Lost { reason }
}

impl OpenDevice {
    /// The images of the version's base, if no other base's have taken their place: a query that has begun over one before does not take it back.
    fn same_gpu(&self, version: &Version) -> Result<Arc<Gpu>, GpuError> {
        let held = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let same = held.as_ref();
        let same = same.filter(|gpu| Arc::ptr_eq(gpu.snapshot(), version.base()));
        same.cloned().ok_or(GpuError::Away)
    }

    /// The images of the version's base.
    fn gpu(&self, version: &Version, pool: Option<&Arc<Pool>>) -> Result<Arc<Gpu>, GpuError> {
        let mut held = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = &*held
            && Arc::ptr_eq(gpu.snapshot(), version.base())
        {
            return Ok(Arc::clone(gpu));
        }
        if self.is_bringing() {
            // For the other base, whose images have the memory until then.
            return Err(GpuError::Away);
        }
        // Its memory is wanted back first; sections that run have it until they end.
        *held = None;
        let gpu = Gpu::of_several(
            &self.devices,
            Arc::clone(version.base()),
            self.memory,
            CacheOptions::default(),
        )?;
        let gpu = Arc::new(match pool {
            Some(pool) => {
                let most = pool.limit_bytes() / POOL_SHARE;
                gpu.drawing_on(Arc::new(Budget::new(pool, most)))
            }
            None => gpu,
        });
        *held = Some(Arc::clone(&gpu));
        Ok(gpu)
    }
}

/// A section that a device is asked for.
pub(crate) struct SectionOf<'o> {
    pub(crate) steps: Range<usize>,
    /// What of the graph there is, where that is not all.
    pub(crate) part: Option<OwnPart<'o>>,
    pub(crate) rows: SectionRows,
    /// Whether it was asked for before: another table of rows.
    pub(crate) goes_on: bool,
}

/// Whose rows come to a section, and what it is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SectionRows {
    /// The plan's seed: so many threads would walk the section.
    Seed {
        /// Threads.
        threads: usize,
    },
    /// Those of steps before that are walked here: the processors are expected to take so long for all of the query.
    Own {
        /// Nanoseconds.
        here_ns: f64,
    },
    /// Those of a node, of so many that have a part each: a worker walks the section else.
    OfNodes(u16),
}

/// What a section's steps are expected to take, in nanoseconds: on one thread, and on the device.
fn expected_ns(outlook: &Outlook, plan: &Plan, rows: SectionRows) -> (f64, f64) {
    let covered = &plan.steps[outlook.first..outlook.covered];
    let (share, tables_a_row) = match rows {
        SectionRows::Seed { .. } | SectionRows::Own { .. } => (1.0, report::OWN_TABLES_A_ROW),
        SectionRows::OfNodes(parts) => (1.0 / f64::from(parts), report::TABLES_A_ROW),
    };
    let cost_ns = sum_ns(covered) * share;
    let rows = covered.last().map_or(0.0, |step| step.estimate.rows);
    let cells = outlook.expected_rows(rows) * outlook.columns as f64 * share;
    let before = outlook.first.checked_sub(1).map(|step| &plan.steps[step]);
    // Each table that is loaded is a launch of its own.
    let tables = before.map_or(0.0, |step| step.estimate.rows * tables_a_row * share);
    (cost_ns, report::device_ns(cost_ns, cells, tables))
}

/// What steps are expected to take on one thread, in nanoseconds.
fn sum_ns(steps: &[Step]) -> f64 {
    steps.iter().map(|step| step.estimate.cost_ns).sum()
}

/// How long a query waits for a room, at most: half of what so many threads are expected to take, for those that are in the rooms take
/// a hundredth of that.
fn longest_wait(steps: &[Step], workers: usize) -> Duration {
    let half = sum_ns(steps) / workers.max(1) as f64 / 2.0;
    Duration::from_nanos(half as u64).min(WAIT_MAX)
}

fn is_worth(plan: &Plan) -> bool {
    sum_ns(&plan.steps) >= report::WORTH_NS
}

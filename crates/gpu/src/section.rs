//! A section that runs: its tables, its block of arguments, the graph that is launched once a strip.
//!
//! Two halves of one region take turns: a step reads the table in one and writes the next into the other. How many rows fit is
//! each step's own, by its columns. Counts and arguments lie together, so that one copy at the beginning of the graph sets all of
//! them; its last kernel posts the outcome in the host's memory, where it is looked for. A strip is a range of the seed; one whose rows did not
//! fit anywhere has given nothing out, and is walked again in halves. Strips become longer again where some in a row did fit.
//!
//! Who waits for a strip is asked now and then whether to wait on. If not, the room stays taken until the device has ended, and
//! nothing of the strip was given out.

mod collapsed;
mod seeded;
mod stepped;
mod written;

use crate::arena::ALIGNMENT;
use crate::cache::Pages;
use crate::error::{GpuError, NotCovered};
use crate::image::Image;
use crate::layout::{self, BLOCK, COLUMNS};
use crate::outlook::Outlook;
use crate::patience::Patience;
use crate::program::{Arranged, Program, ProgramSeed};
use crate::rooms::{ARGUMENT_BYTES, Call, Room};
use crate::rows::{Piece, Rows};
use bytemuck::Pod;
use collapsed::Collapsed;
use device::{Device, DeviceError, Graph, Kernel, Launch, Node, Slice};
use query::plan::Slot;
use rdf::VertexId;
use seeded::Seeded;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows of a table at most: places are counted in 32 bits by whoever reads them.
const ROWS_MAX: u64 = 1 << 31;

/// Looks at the outcome, some nanoseconds each, before whoever waits is asked; and how many between two questions to the driver.
const LOOKS: u32 = 20_000;
const LOOKS_A_QUESTION: u32 = 2_000;

/// The part of a section's tables that rows are loaded to, one in so many.
const LOADED_SHARE: u64 = 4;

/// Strips in a row that had room before one is twice as long.
const FITTING: u32 = 4;

/// What became of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its rows.
    pub rows: u64,
    /// Those of the last step: more than its rows, where equal ones became one.
    pub walked: u64,
    /// The sum over rows that `explore::Checksum` makes, where columns were named for it; else 0.
    pub checksum: u64,
}

/// See the head of this file.
pub struct Section {
    device: Arc<dyn Device>,
    graph: Graph,
    /// What is uploaded at the beginning of each launch.
    arguments: Vec<u64>,
    /// Where the number of the launch stands in the arguments.
    sequence_at: usize,
    seed: Seeded,
    /// The last table.
    columns: Vec<(Slot, layout::Column)>,
    /// How equal rows of it become one.
    collapsed: Option<Collapsed>,
    outlook: Outlook,
    room: Room,
    covered: usize,
    changes: usize,
    arranged: Option<Arranged>,
    why: NotCovered,
    /// Elements of the seed that are walked at once, and may be.
    strip: u64,
    longest: u64,
    had_no_room: bool,
    /// Strips that had room since one had none.
    fitting: u32,
    launches: u64,
    /// What the last launch was to post.
    sequence: u64,
    images: Vec<Arc<Image>>,
}

/// A table while addresses are given out.
struct Table {
    columns: Vec<(Slot, layout::Column)>,
    capacity: u64,
}

impl Section {
    /// Gives a program its memory and records its launches; each sums these columns of the last table up. Equal rows stay as they are where there
    /// is no room for the arguments of that.
    pub(crate) fn new(
        program: &mut Program,
        (mut room, long_list): (Room, u64),
        sums: &[Slot],
    ) -> Result<Section, GpuError> {
        let device = Arc::clone(room.device());
        let mut writer = Writer::new(program, &room);
        let is_too_long = |writer: &Writer| writer.bytes() + writer.hub_bytes() > ARGUMENT_BYTES;
        if is_too_long(&writer) && program.collapse.take().is_some() {
            writer = Writer::new(program, &room);
        }
        writer.long_list = long_list;
        writer.pages = room.pages();
        if is_too_long(&writer) {
            return Err(GpuError::TooManySteps {
                steps: program.steps.len(),
            });
        }
        let block = room.block().slice(0..writer.bytes());
        writer.base = block.address();
        let written = writer.write(program, sums);
        let mut calls = Vec::with_capacity(written.launches.len());
        for (kernel, at) in written.launches {
            let grid = match kernel {
                // Without sums there is nothing to do for many.
                Kernel::Finish if sums.is_empty() => 1,
                kernel => device.blocks(kernel, BLOCK)?,
            };
            calls.push((kernel, grid, at));
        }
        let launches = calls.clone();
        let graph = room.graph((calls, block.bytes()), |room| {
            record(&*device, room, &block, &launches)
        })?;
        let images = images_of(program);
        Ok(Section {
            graph,
            arguments: written.words,
            sequence_at: (writer.finish_at() + std::mem::offset_of!(layout::Finish, sequence)) / 8,
            strip: written.seed.strip(),
            longest: written.seed.strip(),
            had_no_room: false,
            fitting: 0,
            seed: written.seed,
            columns: written.columns,
            collapsed: written.collapsed,
            outlook: program.outlook(program.collapse.as_ref()),
            room,
            covered: program.covered,
            changes: program.changes,
            arranged: program.arranged.take(),
            why: program.why,
            launches: 0,
            sequence: 0,
            images,
            device,
        })
    }

    /// Which of the devices it runs on.
    pub fn device(&self) -> usize {
        self.room.number()
    }

    /// Steps of the plan that it does, from the first on.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// How many lists of changes it looks at: of a segment that layers have changed, what came, what went, or both.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Why it ends there.
    pub fn why(&self) -> NotCovered {
        self.why
    }

    /// Elements of the seed.
    pub fn seeds(&self) -> u64 {
        self.seed.elements()
    }

    /// Rows that may be loaded at once; `None`: it has a seed of its own.
    pub fn loads(&self) -> Option<u64> {
        self.seed.loads()
    }

    /// Loads rows with the columns that come to its first step, in their order: they are its seed from now on. What strips of others gave
    /// has been read, or is not wanted. Asserts that it [loads](Section::loads) as many, and that columns are as long.
    pub fn load(&mut self, rows: u64, columns: &[&[VertexId]]) -> Result<(), GpuError> {
        let to = self.seed.load(rows, columns, self.room.tables());
        let words = self.room.loading().words().iter();
        let cells = columns.iter().flat_map(|cells| cells.iter());
        for (word, cell) in words.zip(cells) {
            word.store(cell.bits(), Ordering::Relaxed);
        }
        let (stream, from) = (self.room.stream(), self.room.loading());
        if to.bytes() > 0 {
            // A section that ends without a launch leaves nothing in its room: the next one follows in the same stream.
            self.device.upload_staged(stream, &to, from)?;
        }
        Ok(())
    }

    /// How its seed is numbered, where that is not by the order of a set.
    pub fn arranged(&self) -> Option<&Arranged> {
        self.arranged.as_ref()
    }

    /// Columns of its rows, and one for their numbers where each stands for several.
    pub fn columns(&self) -> usize {
        self.columns.len() + usize::from(self.counts().is_some())
    }

    /// Whether equal rows become one before they are read.
    pub fn makes_equal_rows_one(&self) -> bool {
        self.collapsed.is_some()
    }

    fn counts(&self) -> Option<&layout::Column> {
        self.collapsed.as_ref()?.counts.as_ref()
    }

    /// What it was expected to do.
    pub fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    /// Times that its graph was launched.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// Elements of the seed that the next strip has, where there are so many.
    pub fn strip(&self) -> u64 {
        self.strip
    }

    /// Walks no more elements of the seed at once, from now on; one at least. Strips are as long as that unless longer ones had no room.
    pub fn limit(&mut self, elements: u64) {
        self.longest = elements.clamp(1, self.seed.strip());
        self.strip = if self.had_no_room {
            self.strip.min(self.longest)
        } else {
            self.longest
        };
    }

    /// Walks the next strip of a range of the seed that is not empty; gives where it ends. Halves it as often as its rows have no room.
    pub fn next(
        &mut self,
        within: Range<u64>,
        patience: &mut Patience<'_>,
    ) -> Result<(Ran, u64), GpuError> {
        loop {
            let to = within.end.min(within.start + self.strip);
            let length = to - within.start;
            match self.run(within.start..to, patience)? {
                Ok(ran) => {
                    self.lengthen();
                    return Ok((ran, to));
                }
                Err(step) if self.has_more_slots(step) => {}
                Err(step) if length <= 1 => return Err(GpuError::TooManyRows { step }),
                Err(_) => {
                    self.strip = length.div_ceil(2);
                    self.had_no_room = true;
                    self.fitting = 0;
                }
            }
        }
    }

    /// Whether a strip had too few slots for equal rows, and there are more of them now.
    fn has_more_slots(&mut self, step: usize) -> bool {
        let slots = self.collapsed.as_mut().map(|it| &mut it.slots);
        slots.is_some_and(|slots| {
            let grows = slots.grow(step);
            self.arguments[slots.mask_at] = slots.count - 1;
            grows
        })
    }

    fn lengthen(&mut self) {
        self.fitting += 1;
        if self.fitting > FITTING && self.strip < self.longest {
            self.strip = self.longest.min(self.strip * 2);
            self.fitting = 0;
        }
    }

    /// Walks all strips and shows each to `each`, which may [read](Section::rows) its rows.
    pub fn run_all(
        &mut self,
        mut each: impl FnMut(&mut Section, Ran) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let mut from = 0;
        while from < self.seeds() {
            let (ran, to) = self.next(from..self.seeds(), &mut || true)?;
            each(self, ran)?;
            from = to;
        }
        Ok(())
    }

    /// Walks a strip: its outcome, or the number of the step at which rows had no room.
    fn run(
        &mut self,
        strip: Range<u64>,
        patience: &mut Patience<'_>,
    ) -> Result<Result<Ran, usize>, GpuError> {
        self.launches += 1;
        // What a section before has left there is another number.
        self.sequence = self.room.posted().words()[3].load(Ordering::Relaxed) + 1;
        self.arguments[self.sequence_at] = self.sequence;
        self.seed.patch(&mut self.arguments, &strip);
        for (word, value) in self.room.staged().words().iter().zip(&self.arguments) {
            word.store(*value, Ordering::Relaxed);
        }
        self.room.begins();
        if let Err(error) = self.device.replay(&self.graph) {
            self.room.has_ended();
            return Err(error.into());
        }
        self.wait(patience)?;
        let word = |at: usize| self.room.posted().words()[at].load(Ordering::Relaxed);
        let (overflow, rows, checksum, walked) = (word(0), word(1), word(2), word(4));
        match overflow {
            0 => Ok(Ok(Ran {
                rows,
                walked,
                checksum,
            })),
            step => Ok(Err(step as usize - 1)),
        }
    }

    /// Waits for the outcome to be posted: looks for it as long as a short walk takes, which is sooner than the driver says so.
    fn wait(&mut self, patience: &mut Patience<'_>) -> Result<(), GpuError> {
        let mark = self.device.mark(self.room.stream())?;
        self.room.runs_until(mark.clone());
        let is_posted = || self.room.posted().words()[3].load(Ordering::Acquire) == self.sequence;
        for look in 0.. {
            if is_posted() {
                break;
            }
            if look % LOOKS_A_QUESTION == LOOKS_A_QUESTION - 1 || look >= LOOKS {
                // It may have failed.
                if self.device.has_passed(&mark)? {
                    break;
                }
                if look >= LOOKS && !patience() {
                    // Whoever was asked may have been away for long.
                    if is_posted() {
                        break;
                    }
                    return Err(GpuError::GivenUp);
                }
            }
            std::hint::spin_loop();
        }
        if is_posted() {
            self.room.has_ended();
            return Ok(());
        }
        let reason = "a walk has ended without an outcome".to_owned();
        Err(DeviceError::Lost { reason }.into())
    }

    /// Bytes of the ids of a piece of its rows, at most.
    pub fn piece_bytes(&self) -> u64 {
        Rows::piece_bytes(&self.room)
    }

    /// The rows of the last strip, in pieces.
    pub fn rows(&self, ran: Ran) -> Rows<'_> {
        let read = |(slot, column): &(Slot, layout::Column)| (*slot, *column, self.bases(column));
        let columns = self.columns.iter().map(read).collect();
        let counts = self.counts().copied();
        Rows::new(&*self.device, &self.room, (columns, counts), ran.rows)
    }

    /// Rows of the last strip from this one on, as many as come at once; `None`: it has no more.
    pub fn piece(
        &self,
        ran: Ran,
        from: u64,
        patience: &mut Patience<'_>,
    ) -> Result<Option<Piece>, GpuError> {
        self.rows(ran).only(from).piece(patience)
    }

    /// The bases of a column's planes, where it has several.
    fn bases(&self, column: &layout::Column) -> Option<&[u64]> {
        let mut images = self.images.iter();
        let image = images.find(|image| image.segment.neighbours.bases == column.bases);
        image.map(|image| &image.bases[..])
    }
}

/// The graph of these calls over a block of arguments, which is copied first.
fn record(
    device: &dyn Device,
    room: &Room,
    block: &Slice,
    calls: &[Call],
) -> Result<Graph, DeviceError> {
    let upload = Node::Upload {
        to: block.clone(),
        from: room.staged(),
    };
    let launch = |&(kernel, grid, at): &Call| {
        let at = at as u64;
        Node::Launch(Launch {
            kernel,
            grid,
            block: BLOCK,
            arguments: block.slice(at..at + arguments_of(kernel)),
        })
    };
    let nodes: Vec<Node<'_>> = std::iter::once(upload)
        .chain(calls.iter().map(launch))
        .collect();
    device.record(room.stream(), &nodes)
}

/// Bytes of a kernel's arguments.
fn arguments_of(kernel: Kernel) -> u64 {
    let bytes = match kernel {
        Kernel::Seed | Kernel::SeedPaged | Kernel::SeedRowsPaged => size_of::<layout::Seed>(),
        Kernel::Meet => size_of::<layout::Meet>(),
        Kernel::SeedJoined | Kernel::SeedJoinedPaged => size_of::<layout::Joined>(),
        Kernel::Predicates | Kernel::ExpandBy | Kernel::CheckBy => size_of::<layout::SpreadStep>(),
        Kernel::Finish => size_of::<layout::Finish>(),
        Kernel::CollapseClear | Kernel::CollapseRows | Kernel::CollapseOut => {
            size_of::<layout::Collapse>()
        }
        _ => size_of::<layout::Step>(),
    };
    bytes as u64
}

fn images_of(program: &Program) -> Vec<Arc<Image>> {
    let seed = match &program.seed {
        ProgramSeed::Rows(seed, _) | ProgramSeed::Keys(seed) => Some(seed),
        ProgramSeed::Met(met) => Some(&met.image),
        ProgramSeed::Joined(joined) => Some(&joined.first.0),
        ProgramSeed::Loaded(_) => None,
    };
    let steps = program.steps.iter();
    let expanded = steps.clone().filter_map(|step| step.expansion.as_ref());
    let expanded = expanded.flat_map(|expansion| &expansion.branches);
    let spread = steps.filter_map(|step| step.spread.as_ref());
    seed.into_iter()
        .chain(expanded.map(|branch| &branch.image))
        .chain(spread.flat_map(|spread| spread.parts.iter().map(|(_, image)| image)))
        .cloned()
        .collect()
}

/// What was written for a program.
struct Written {
    words: Vec<u64>,
    launches: Vec<(Kernel, usize)>,
    seed: Seeded,
    columns: Vec<(Slot, layout::Column)>,
    collapsed: Option<Collapsed>,
}

/// Writes arguments: levels, the outcome, then a block for each kernel.
struct Writer {
    base: u64,
    /// Where the outcome is posted.
    posted: u64,
    /// Where rows are loaded to.
    loaded: Range<u64>,
    /// Rows of a list above which it is left to all blocks together.
    long_list: u64,
    /// How kernels find segments, where one of them lies in pages.
    pages: Option<Pages>,
    levels: usize,
    seed_bytes: usize,
    /// Bytes of the parts of all steps before each, and of all.
    part_bytes: Vec<usize>,
    /// Launches of all steps before each, and of all.
    launches: Vec<usize>,
    /// Those of them whose arguments stand behind the parts.
    further: Vec<usize>,
    halves: [Range<u64>; 2],
}

impl Writer {
    fn new(program: &Program, room: &Room) -> Writer {
        let tables = room.tables();
        let address = tables.whole().address();
        let end = address + tables.bytes();
        // Rows that are loaded are there until all strips of them were walked.
        let loaded = match program.seed {
            ProgramSeed::Loaded(_) => (tables.bytes() / LOADED_SHARE).min(room.loading().bytes()),
            _ => 0,
        };
        let begin = address + loaded / ALIGNMENT * ALIGNMENT;
        let middle = begin + (end - begin) / 2 / ALIGNMENT * ALIGNMENT;
        Writer {
            part_bytes: written::part_bytes(program),
            launches: stepped::sums(program, stepped::launches_of),
            further: stepped::sums(program, |step| stepped::launches_of(step).saturating_sub(1)),
            base: 0,
            posted: room.posted().address(),
            loaded: address..begin,
            long_list: u64::MAX,
            pages: None,
            levels: program.steps.len() + 1 + usize::from(program.collapse.is_some()),
            seed_bytes: match program.seed {
                ProgramSeed::Met(_) => size_of::<layout::Meet>(),
                ProgramSeed::Rows(..) | ProgramSeed::Keys(_) | ProgramSeed::Loaded(_) => {
                    size_of::<layout::Seed>()
                }
                ProgramSeed::Joined(_) => size_of::<layout::Seed>() + size_of::<layout::Joined>(),
            },
            halves: [begin..middle, middle..end],
        }
    }

    fn outcome_at(&self) -> usize {
        (self.levels + 2 * self.all_launches()) * size_of::<layout::Level>()
    }

    fn seed_at(&self) -> usize {
        self.outcome_at() + size_of::<layout::Outcome>()
    }

    fn step_at(&self, step: usize) -> usize {
        self.seed_at() + self.seed_bytes + step * size_of::<layout::Step>()
    }

    fn finish_at(&self) -> usize {
        self.step_at(self.levels - 1)
    }

    fn parts_at(&self, step: usize) -> usize {
        self.finish_at() + size_of::<layout::Finish>() + self.part_bytes[step]
    }

    /// The arguments of a step's launches but the first.
    fn further_at(&self, step: usize, launch: usize) -> usize {
        let before = self.further[step] + launch - 1;
        self.parts_at(self.levels - 1) + before * size_of::<layout::Step>()
    }

    fn bytes(&self) -> u64 {
        let further = self.further[self.further.len() - 1];
        (self.parts_at(self.levels - 1) + further * size_of::<layout::Step>()) as u64
    }

    /// Launches of all steps.
    fn all_launches(&self) -> usize {
        self.launches[self.launches.len() - 1]
    }

    fn level(&self, number: usize) -> u64 {
        self.base + (number * size_of::<layout::Level>()) as u64
    }

    /// What is counted of a launch's tiles, and of its long lists.
    fn own_levels(&self, launch: usize) -> [u64; 2] {
        let first = self.levels + 2 * launch;
        [self.level(first), self.level(first + 1)]
    }

    /// The long lists of all launches: behind what is uploaded.
    fn hub_bytes(&self) -> u64 {
        (self.all_launches() * layout::HUBS * size_of::<layout::Hub>()) as u64
    }

    fn hubs(&self, launch: usize) -> u64 {
        self.base + self.bytes() + (launch * layout::HUBS * size_of::<layout::Hub>()) as u64
    }

    fn outcome(&self) -> u64 {
        self.base + self.outcome_at() as u64
    }

    fn write(&self, program: &Program, sums: &[Slot]) -> Written {
        let mut words = vec![0u64; self.bytes() as usize / 8];
        let mut launches = Vec::with_capacity(program.steps.len() + 2);
        let (mut table, seed) = self.seed(program, &mut words, &mut launches);
        for (number, step) in program.steps.iter().enumerate() {
            if let Some(spread) = &step.spread {
                launches.push(self.launched_spread(number, spread));
                table = self.spread(number, (step, spread), &table, &mut words);
                continue;
            }
            table = self.step(number, step, &table, (&mut words, &mut launches));
        }
        let collapsed = program.collapse.as_ref().map(|collapse| {
            let of = (collapse, &table);
            let (next, collapsed) = self.collapsed(program, of, &mut words, &mut launches);
            table = next;
            collapsed
        });
        let summed = sums.iter().filter_map(|slot| table.column(*slot));
        let mut finish = layout::Finish {
            input: self.level(self.levels - 1),
            outcome: self.outcome(),
            posted: self.posted,
            sequence: 0,
            walked: self.level(program.steps.len()),
            columns: 0,
            sums: u32::from(!sums.is_empty()),
            columns_in: [layout::Column::default(); COLUMNS],
        };
        for column in summed {
            finish.columns_in[finish.columns as usize] = *column;
            finish.columns += 1;
        }
        if self.pages.is_some() {
            for (kernel, _) in &mut launches {
                *kernel = kernel.paged();
            }
        }
        put(&mut words, self.finish_at(), &finish);
        launches.push((Kernel::Finish, self.finish_at()));
        Written {
            words,
            launches,
            seed,
            columns: table.columns,
            collapsed,
        }
    }
}

impl Table {
    fn column(&self, slot: Slot) -> Option<&layout::Column> {
        let found = self.columns.iter().find(|column| column.0 == slot);
        found.map(|(_, column)| column)
    }

    fn place(&self, slot: Slot) -> u32 {
        let place = self.columns.iter().position(|column| column.0 == slot);
        place.expect("a plan reads what is alive") as u32
    }
}

/// Writes a struct of words at a byte of the block.
fn put<T: Pod>(words: &mut [u64], at: usize, value: &T) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    bytes[at..at + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
}

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
mod written;

use crate::arena::ALIGNMENT;
use crate::cache::Pages;
use crate::condition::{Operand, ProgramCheck};
use crate::error::{GpuError, NotCovered};
use crate::image::Image;
use crate::layout::{self, BLOCK, COLUMNS};
use crate::outlook::Outlook;
use crate::patience::Patience;
use crate::program::{Program, ProgramSeed, ProgramStep, Whose};
use crate::rooms::{ARGUMENT_BYTES, Call, Room};
use crate::rows::Rows;
use bytemuck::Pod;
use collapsed::Collapsed;
use device::{Device, DeviceError, Graph, Kernel, Launch, Node, Region, Slice};
use query::plan::Slot;
use seeded::Seeded;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows of a table at most: places are counted in 32 bits by whoever reads them.
const ROWS_MAX: u64 = 1 << 31;

/// Looks at the outcome, some nanoseconds each, before whoever waits is asked; and how many between two questions to the driver.
const LOOKS: u32 = 20_000;
const LOOKS_A_QUESTION: u32 = 2_000;

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
    asks_all: bool,
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
        device: Arc<dyn Device>,
        program: &mut Program,
        (mut room, long_list): (Room, u64),
        sums: &[Slot],
    ) -> Result<Section, GpuError> {
        let mut writer = Writer::new(program, room.tables(), room.posted().address());
        let is_too_long = |writer: &Writer| writer.bytes() + writer.hub_bytes() > ARGUMENT_BYTES;
        if is_too_long(&writer) && program.collapse.take().is_some() {
            writer = Writer::new(program, room.tables(), room.posted().address());
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
            outlook: Outlook::of(program, program.collapse.as_ref()),
            room,
            covered: program.covered,
            asks_all: program.asks_all,
            why: program.why,
            launches: 0,
            sequence: 0,
            images,
            device,
        })
    }

    /// Steps of the plan that it does, from the first on.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// Whether it asks all predicates that there are, and so those, too, that layers brought.
    pub fn asks_all_predicates(&self) -> bool {
        self.asks_all
    }

    /// Why it ends there.
    pub fn why(&self) -> NotCovered {
        self.why
    }

    /// Elements of the seed.
    pub fn seeds(&self) -> u64 {
        self.seed.elements()
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
        ProgramSeed::Rows(seed, _) | ProgramSeed::Keys(seed) => seed,
        ProgramSeed::Met(met) => &met.image,
    };
    let steps = program.steps.iter();
    let expanded = steps.clone().filter_map(|step| step.expansion.as_ref());
    let spread = steps.filter_map(|step| step.spread.as_ref());
    std::iter::once(seed)
        .chain(expanded.map(|(image, _, _)| image))
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
    /// Rows of a list above which it is left to all blocks together.
    long_list: u64,
    /// How kernels find segments, where one of them lies in pages.
    pages: Option<Pages>,
    levels: usize,
    seed_bytes: usize,
    /// Bytes of the parts of all steps before each, and of all.
    part_bytes: Vec<usize>,
    halves: [Range<u64>; 2],
}

impl Writer {
    fn new(program: &Program, tables: &Region, posted: u64) -> Writer {
        let address = tables.whole().address();
        let middle = tables.bytes() / 2 / ALIGNMENT * ALIGNMENT;
        Writer {
            part_bytes: written::part_bytes(program),
            base: 0,
            posted,
            long_list: u64::MAX,
            pages: None,
            levels: program.steps.len() + 1 + usize::from(program.collapse.is_some()),
            seed_bytes: match program.seed {
                ProgramSeed::Met(_) => size_of::<layout::Meet>(),
                ProgramSeed::Rows(..) | ProgramSeed::Keys(_) => size_of::<layout::Seed>(),
            },
            halves: [
                address..address + middle,
                address + middle..address + tables.bytes(),
            ],
        }
    }

    fn outcome_at(&self) -> usize {
        2 * self.levels * size_of::<layout::Level>()
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

    fn bytes(&self) -> u64 {
        self.parts_at(self.levels - 1) as u64
    }

    fn level(&self, number: usize) -> u64 {
        self.base + (number * size_of::<layout::Level>()) as u64
    }

    /// What is counted of a step's long lists.
    fn hub_level(&self, number: usize) -> u64 {
        self.level(self.levels + number)
    }

    /// The long lists of all steps: behind what is uploaded.
    fn hub_bytes(&self) -> u64 {
        ((self.levels - 1) * layout::HUBS * size_of::<layout::Hub>()) as u64
    }

    fn hubs(&self, number: usize) -> u64 {
        self.base + self.bytes() + (number * layout::HUBS * size_of::<layout::Hub>()) as u64
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
            let (next, arguments) = self.step(number, step, &table);
            let at = self.step_at(number);
            put(&mut words, at, &arguments);
            let kernel = kernel_of(step, &arguments);
            launches.push((kernel, at));
            if arguments.hubs != 0 {
                launches.push((Kernel::ExpandHubs, at));
            }
            table = next;
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

    fn seed(
        &self,
        program: &Program,
        words: &mut [u64],
        launches: &mut Vec<(Kernel, usize)>,
    ) -> (Table, Seeded) {
        match &program.seed {
            ProgramSeed::Rows(image, rows) if self.pages.is_some() && program.slot.is_some() => {
                let neighbours = image.segment.neighbours;
                let column = layout::Column {
                    cells: self.halves[0].start,
                    ..neighbours
                };
                let index = layout::Index {
                    data: neighbours.cells,
                    ..layout::Index::default()
                };
                launches.push((Kernel::SeedRowsPaged, self.seed_at()));
                self.copied(words, (index, column), rows.clone(), program.slot)
            }
            ProgramSeed::Rows(image, rows) => {
                let neighbours = image.segment.neighbours;
                let column = layout::Column {
                    cells: neighbours.cells + rows.start * neighbours.cell_bytes(),
                    ..neighbours
                };
                let in_step = written::columns_in_first(program);
                let seeded = Seeded::Rows {
                    cells_at: program.slot.map(|_| (self.step_at(0) + in_step) / 8),
                    count_at: 0,
                    first: column.cells,
                    cell_bytes: column.cell_bytes(),
                    rows: rows.end - rows.start,
                };
                let columns = program
                    .slot
                    .map(|slot| (slot, column))
                    .into_iter()
                    .collect();
                (
                    Table {
                        columns,
                        capacity: ROWS_MAX,
                    },
                    seeded,
                )
            }
            ProgramSeed::Keys(image) => {
                let index = image.segment.index;
                let column = key_column(image, &self.halves[0]);
                launches.push((Kernel::Seed, self.seed_at()));
                self.copied(words, (index, column), 0..index.keys, program.slot)
            }
            ProgramSeed::Met(met) => {
                launches.push((Kernel::Meet, self.seed_at()));
                self.met_seed(met, program.slot, words)
            }
        }
    }

    /// The table after a step, and the step's arguments.
    fn step(&self, number: usize, step: &ProgramStep, input: &Table) -> (Table, layout::Step) {
        let made = step
            .expansion
            .as_ref()
            .map(|(image, _, into)| (*into, image.segment.neighbours));
        let next = self.table(number, &step.keep, input, made);
        let mut arguments = layout::Step {
            input: self.level(number),
            output: self.level(number + 1),
            outcome: self.outcome(),
            capacity: next.capacity,
            columns: input.columns.len() as u32,
            checks: step.checks.len() as u32,
            number: number as u32,
            page_bits: self.pages.map_or(0, |pages| pages.bits),
            pages: self.pages.map_or(0, |pages| pages.table),
            ..layout::Step::default()
        };
        for (place, (slot, column)) in input.columns.iter().enumerate() {
            arguments.columns_in[place] = *column;
            arguments.columns_out[place] = next.column(*slot).map_or(0, |column| column.cells);
        }
        if let Some((image, from, into)) = &step.expansion {
            arguments.segment = image.segment;
            match from {
                Whose::Column(slot) => arguments.from = input.place(*slot),
                Whose::Rows(rows) => {
                    arguments.from = layout::CONSTANT;
                    (arguments.first, arguments.last) = (rows.start, rows.end);
                }
            }
            arguments.made = next.column(*into).map_or(0, |column| column.cells);
        }
        let made = made.map(|made| made.0);
        arguments.partner = partner_of(step, made);
        if has_long_lists(step, self.long_list) && arguments.partner == 0 {
            arguments.hub_level = self.hub_level(number);
            arguments.hubs = self.hubs(number);
            arguments.long_list = self.long_list;
        }
        for (check, place) in step.checks.iter().zip(&mut arguments.check) {
            *place = check_of(check, made, input);
        }
        (next, arguments)
    }

    /// Room for the columns that are kept: of the half that the input is not in.
    fn table(
        &self,
        number: usize,
        keep: &[Slot],
        input: &Table,
        made: Option<(Slot, layout::Column)>,
    ) -> Table {
        let half = &self.halves[(number + 1) % 2];
        let described = |slot: Slot| match made {
            Some((into, column)) if into == slot => Some(column),
            _ => input.column(slot).copied(),
        };
        let kept: Vec<(Slot, layout::Column)> = keep
            .iter()
            .filter_map(|&slot| Some((slot, described(slot)?)))
            .collect();
        let row: u64 = kept.iter().map(|(_, column)| column.cell_bytes()).sum();
        let room = (half.end - half.start).saturating_sub(ALIGNMENT * kept.len() as u64);
        let capacity = room.checked_div(row).unwrap_or(ROWS_MAX).min(ROWS_MAX);
        let mut at = half.start;
        let mut columns = kept;
        for (_, column) in &mut columns {
            column.cells = at;
            at += (capacity * column.cell_bytes()).next_multiple_of(ALIGNMENT);
        }
        Table { columns, capacity }
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

/// The column of a seed's keys.
fn key_column(image: &Image, half: &Range<u64>) -> layout::Column {
    let base = image.segment.index.first.first;
    let wide = image.last_key - base > u64::from(u32::MAX);
    layout::Column {
        cells: half.start,
        bases: 0,
        base: if wide { 0 } else { base },
        wide: u32::from(wide),
        plane_bits: 0,
    }
}

/// The kernel that does a step.
fn kernel_of(step: &ProgramStep, arguments: &layout::Step) -> Kernel {
    let Some((image, whose, _)) = &step.expansion else {
        return Kernel::Filter;
    };
    let has_one = image.segment.functional == 1 && matches!(whose, Whose::Column(_));
    if has_one && arguments.partner == 0 {
        Kernel::ExpandOne
    } else {
        Kernel::Expand
    }
}

/// Whether a row of the step may have a list that is too long for one block.
fn has_long_lists(step: &ProgramStep, long_list: u64) -> bool {
    step.expansion
        .as_ref()
        .is_some_and(|(image, _, _)| image.longest > long_list)
}

/// 1 + the check that has a list of its own for each row, in which what the step makes is looked for; 0: none.
///
/// Kernels keep 31 bits of a list's length.
fn partner_of(step: &ProgramStep, made: Option<Slot>) -> u32 {
    const ROWS_MAX: u64 = i32::MAX as u64;
    let own = step
        .expansion
        .as_ref()
        .map(|(image, _, _)| image.segment.rows);
    let is_partner = |check: &ProgramCheck| {
        if own.is_none_or(|rows| rows.max(check.segment.rows) > ROWS_MAX) {
            return false;
        }
        let Operand::Column(left) = check.left else {
            return false;
        };
        let finds_made = matches!(check.right, Operand::Column(slot) if Some(slot) == made);
        check.kind == layout::CheckKind::Edge && finds_made && Some(left) != made
    };
    let place = step.checks.iter().position(is_partner);
    place.map_or(0, |place| place as u32 + 1)
}

fn check_of(check: &ProgramCheck, made: Option<Slot>, input: &Table) -> layout::Check {
    let mut constant = 0;
    let mut place = |operand: Operand| match operand {
        Operand::Column(slot) if Some(slot) == made => layout::MADE,
        Operand::Column(slot) => input.place(slot),
        Operand::Constant(id) => {
            constant = id.bits();
            layout::CONSTANT
        }
    };
    let (left, right) = (place(check.left), place(check.right));
    layout::Check {
        segment: check.segment,
        constant,
        from: check.rows.start,
        to: check.rows.end,
        kind: check.kind as u32,
        left,
        right,
        unused: 0,
    }
}

/// Writes a struct of words at a byte of the block.
fn put<T: Pod>(words: &mut [u64], at: usize, value: &T) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    bytes[at..at + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
}

//! Expansions and filters: every row that passes comes once, with the columns that are kept, and nothing else is written.

use super::forms::{Cells, Edges, Keys, Kind};
use super::rig::{LONG, Rig, SEEDS};
use crate::layout::{COLUMNS, CONSTANT, Check, CheckKind, Joins, Level, MADE, Outcome, Step};
use device::Kernel;
use std::ops::Range;
use testkit::random::Random;
use testkit::seeds;

/// Numbers of rows around those of warps, blocks, and rounds of a block.
const ROWS: [usize; 14] = [
    0, 1, 31, 32, 33, 255, 256, 257, 300, 511, 512, 513, 1024, 1500,
];

/// Columns of ids.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) columns: Vec<(Vec<u64>, Cells)>,
    pub(super) rows: usize,
}

impl Table {
    /// Columns of one length, each in some form.
    pub(super) fn of(random: &mut Random, columns: Vec<Vec<u64>>) -> Table {
        let rows = columns[0].len();
        let columns = columns.into_iter();
        Table {
            columns: columns
                .map(|ids| {
                    let cells = Cells::of(random, &ids);
                    (ids, cells)
                })
                .collect(),
            rows,
        }
    }

    /// Its rows.
    pub(super) fn all_rows(&self) -> impl Iterator<Item = Vec<u64>> {
        let row = |at: usize| self.columns.iter().map(|(ids, _)| ids[at]).collect();
        (0..self.rows).map(row)
    }
}

/// A check as it is asked for.
pub(super) struct Condition {
    kind: CheckKind,
    edges: Edges,
    left: u32,
    right: u32,
    constant: u64,
    /// The place of the key whose list is asked, for [`CheckKind::Rows`].
    key: Option<usize>,
    /// The first and the last of the ids, for [`CheckKind::Within`] and [`CheckKind::Outside`].
    ids: (u64, u64),
    joins: Joins,
}

/// A check of two operands.
pub(super) fn of(kind: CheckKind, edges: &Edges, left: u32, right: u32) -> Condition {
    Condition {
        kind,
        edges: edges.clone(),
        left,
        right,
        constant: 0,
        key: None,
        ids: (0, 0),
        joins: Joins::And,
    }
}

impl Condition {
    /// What the kernels say in `passes`.
    fn holds(&self, row: &[u64], made: u64) -> bool {
        let value = |which: u32| match which {
            MADE => made,
            CONSTANT => self.constant,
            column => row[column as usize],
        };
        let (left, right) = (value(self.left), value(self.right));
        match self.kind {
            CheckKind::Same => left == right,
            CheckKind::Key => self.edges.keys.all().contains(&left),
            CheckKind::Rows => self
                .key
                .is_some_and(|key| self.edges.lists[key].contains(&left)),
            CheckKind::Edge => self.edges.list(left).contains(&right),
            CheckKind::Within => (self.ids.0..=self.ids.1).contains(&left),
            CheckKind::Outside => !(self.ids.0..=self.ids.1).contains(&left),
            CheckKind::Different => left != right,
        }
    }

    fn image(&self, rig: &Rig) -> Check {
        let rows: Range<u64> = match self.kind {
            CheckKind::Within | CheckKind::Outside => self.ids.0..self.ids.1,
            _ => self.key.map_or(0..0, |key| self.edges.rows(key)),
        };
        Check {
            segment: self.edges.image(rig),
            constant: self.constant,
            from: rows.start,
            to: rows.end,
            kind: self.kind as u32,
            left: self.left,
            right: self.right,
            joins: self.joins as u32,
        }
    }
}

/// How many rows a step has room for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// So many more than it makes.
    Spare(u64),
    /// So many fewer.
    Short(u64),
}

/// Whose list an expansion takes.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    /// That of a column's cell, row by row.
    Column(usize),
    /// That of the key at this place, for every row; none, where it has no rows.
    Key(Option<usize>),
}

/// A step as it is asked for.
pub(super) struct Asked<'t> {
    table: &'t Table,
    pub(super) expansion: Option<(Edges, Whose)>,
    pub(super) checks: Vec<Condition>,
    kept: Vec<bool>,
    keeps_made: bool,
    room: Room,
    number: u32,
    /// Whether what is made has 8 bytes, whatever the segment has.
    widens: bool,
    /// Whether a row with an empty list is kept, with an unbound cell.
    keeps: bool,
}

/// A cell that is not bound.
const UNBOUND: u64 = u64::MAX;

impl<'t> Asked<'t> {
    /// One that keeps all columns and has room for just the rows that come.
    pub(super) fn all(table: &'t Table) -> Asked<'t> {
        Asked {
            table,
            expansion: None,
            checks: Vec::new(),
            kept: vec![true; table.columns.len()],
            keeps_made: true,
            room: Room::Spare(0),
            number: 4,
            widens: false,
            keeps: false,
        }
    }

    /// Whether all its checks hold, as they are joined.
    fn holds(&self, row: &[u64], made: u64) -> bool {
        let mut result = true;
        for check in &self.checks {
            let holds = check.holds(row, made);
            match check.joins {
                Joins::And if !result => return false,
                Joins::And => result = holds,
                Joins::Unless => result &= !holds,
                Joins::Or => result |= holds,
            }
        }
        result
    }

    /// The rows that are to come, ascending.
    fn expected(&self) -> Vec<Vec<u64>> {
        let mut expected = Vec::new();
        for at in 0..self.table.rows {
            let columns = self.table.columns.iter();
            let row: Vec<u64> = columns.map(|(ids, _)| ids[at]).collect();
            let made = match &self.expansion {
                Some((edges, Whose::Column(from))) => edges.list(row[*from]),
                Some((edges, Whose::Key(key))) => key.map_or(&[][..], |key| &edges.lists[key]),
                None => &[0],
            };
            let made = if made.is_empty() && self.keeps {
                &[UNBOUND]
            } else {
                made
            };
            for &made in made {
                if self.holds(&row, made) {
                    let kept = row.iter().zip(&self.kept).filter(|(_, kept)| **kept);
                    let mut out: Vec<u64> = kept.map(|(id, _)| *id).collect();
                    out.extend((self.expansion.is_some() && self.keeps_made).then_some(made));
                    expected.push(out);
                }
            }
        }
        expected.sort_unstable();
        expected
    }

    /// Runs it and compares; gives how many rows came.
    pub(super) fn run(&self, rig: &Rig, grid: u32) -> usize {
        let expected = self.expected();
        let rows = expected.len() as u64;
        let capacity = match self.room {
            Room::Spare(more) => rows + more,
            Room::Short(fewer) => rows.saturating_sub(fewer),
        };
        let has_room = capacity >= rows;
        let arguments = self.arguments(rig, capacity);
        let is_of_column = arguments.from < CONSTANT && arguments.partner == 0;
        let has_one = arguments.segment.functional == 1 && is_of_column;
        // Both do lists of one.
        let by_one = has_one && !self.number.is_multiple_of(3);
        let kernel = match (&self.expansion, by_one, self.keeps) {
            (Some(_), true, false) => Kernel::ExpandOne,
            (Some(_), true, true) => Kernel::ExpandOneLeft,
            (Some(_), false, false) => Kernel::Expand,
            (Some(_), false, true) => Kernel::ExpandLeft,
            (None, ..) => Kernel::Filter,
        };
        rig.run(kernel, grid, &arguments);
        let level: Level = rig.read(arguments.output, 1)[0];
        let outcome: Outcome = rig.read(arguments.outcome, 1)[0];
        if has_room {
            assert_eq!(level.rows, rows, "rows are counted");
        } else {
            assert!(level.rows > capacity, "more rows than there is room for");
        }
        assert_eq!(level.tiles, 0, "tiles of the next step are taken by it");
        let overflow = if has_room { 0 } else { self.number + 1 };
        assert_eq!(outcome.overflow, u64::from(overflow));
        assert_eq!(
            (outcome.arrived, outcome.checksum),
            (5, 6),
            "of another kernel"
        );
        if has_room {
            assert!(
                self.rows(rig, &arguments, expected.len()) == expected,
                "other rows came"
            );
        }
        expected.len()
    }

    fn arguments(&self, rig: &Rig, capacity: u64) -> Step {
        let level = |rows: u64| rig.room_with(&Level { rows, tiles: 0 });
        let mut step = Step {
            input: level(self.table.rows as u64),
            output: level(0),
            outcome: rig.room_with(&Outcome {
                overflow: 0,
                arrived: 5,
                checksum: 6,
                unused: 7,
            }),
            capacity,
            columns: self.table.columns.len() as u32,
            checks: self.checks.len() as u32,
            number: self.number,
            tickets: level(99),
            ..Step::default()
        };
        (step.pages, step.page_bits) = rig.pages();
        for (place, (ids, cells)) in self.table.columns.iter().enumerate() {
            step.columns_in[place] = cells.column(rig, cells.put(rig, ids));
            if self.kept[place] {
                step.columns_out[place] = rig.room(capacity * cells.bytes());
            }
        }
        if let Some((edges, from)) = &self.expansion {
            step.segment = edges.image(rig);
            match from {
                Whose::Column(from) => step.from = *from as u32,
                Whose::Key(key) => {
                    let rows = key.map_or(0..0, |key| edges.rows(key));
                    (step.from, step.first, step.last) = (CONSTANT, rows.start, rows.end);
                }
            }
            if self.keeps_made {
                step.made = rig.room(capacity * self.made_cells(edges).bytes());
                step.widens = u32::from(self.widens);
            }
        }
        for (check, place) in self.checks.iter().zip(&mut step.check) {
            *place = check.image(rig);
        }
        // With a partner as well as without.
        let is_and = |at: usize| step.check[at].joins == Joins::And as u32;
        let is_or = |at: usize| step.check[at].joins == Joins::Or as u32;
        let is_partner = |&at: &usize| {
            let check = &step.check[at];
            let others = at + 1..self.checks.len();
            let mut others = others.take_while(|&other| !is_and(other));
            let is_alone = is_and(at) && !others.any(is_or);
            let finds_made = check.right == MADE && check.left < COLUMNS as u32;
            check.kind == CheckKind::Edge as u32 && finds_made && is_alone
        };
        if self.expansion.is_some() && self.number.is_multiple_of(2) && !self.keeps {
            let place = (0..self.checks.len()).find(is_partner);
            step.partner = place.map_or(0, |place| place as u32 + 1);
        }
        step
    }

    fn made_cells<'e>(&self, edges: &'e Edges) -> &'e Cells {
        if self.widens {
            &Cells::Wide
        } else {
            &edges.cells
        }
    }

    /// The rows that came, ascending.
    fn rows(&self, rig: &Rig, arguments: &Step, count: usize) -> Vec<Vec<u64>> {
        let mut columns = Vec::new();
        for (place, (_, cells)) in self.table.columns.iter().enumerate() {
            if self.kept[place] {
                columns.push(cells.read(rig, arguments.columns_out[place], count));
            }
        }
        if let (Some((edges, _)), true) = (&self.expansion, self.keeps_made) {
            columns.push(self.made_cells(edges).read(rig, arguments.made, count));
        }
        let row = |at: usize| columns.iter().map(|column| column[at]).collect();
        let mut rows: Vec<Vec<u64>> = (0..count).map(row).collect();
        rows.sort_unstable();
        rows
    }
}

/// Vertices that a case is about: few, so that checks hold often enough, and some of them keys.
pub(super) struct Pool(Vec<u64>);

impl Pool {
    pub(super) fn random(random: &mut Random) -> Pool {
        let count = *random.pick(&[2, 5, 30, 300]);
        let keys = Keys::any(random, count);
        let mut ids = keys.all();
        random.shuffle(&mut ids);
        ids.truncate(count);
        let strangers = [ids[0] + 1, ids[ids.len() - 1] + (1 << 32), ids[0] / 2 + 9];
        ids.extend(strangers);
        Pool(ids)
    }

    /// One of them.
    pub(super) fn any(&self, random: &mut Random) -> u64 {
        *random.pick(&self.0)
    }

    /// A segment over some of them.
    pub(super) fn edges(&self, random: &mut Random, longest: usize) -> Edges {
        let mut ids = self.0.clone();
        ids.sort_unstable();
        ids.dedup();
        if random.chance(4) {
            return Edges::new(random, Keys::none(), Vec::new());
        }
        let keys: Vec<u64> = ids.iter().copied().filter(|_| random.chance(75)).collect();
        let keys = keyed(random, if keys.is_empty() { &ids } else { &keys });
        let is_functional = random.chance(25);
        let lists = keys.all().into_iter().map(|_| {
            let mut list: Vec<u64> = match random.below(12) {
                _ if is_functional => vec![*random.pick(&self.0)],
                0 => Vec::new(),
                1 => (0..longest as u64).map(|at| self.0[0] + 3 * at).collect(),
                _ => (0..random.between(1, 4))
                    .map(|_| *random.pick(&self.0))
                    .collect(),
            };
            list.sort_unstable();
            list.dedup();
            list
        });
        let lists = lists.collect();
        Edges::new(random, keys, lists)
    }

    fn condition(&self, random: &mut Random, columns: u32, is_expansion: bool) -> Condition {
        let operands = if is_expansion { 3 } else { 2 };
        let operand = |random: &mut Random| match random.below(operands) {
            0 => random.below(columns as usize) as u32,
            1 => CONSTANT,
            _ => MADE,
        };
        let kinds = [
            CheckKind::Same,
            CheckKind::Key,
            CheckKind::Rows,
            CheckKind::Edge,
            CheckKind::Within,
            CheckKind::Outside,
            CheckKind::Different,
        ];
        let edges = self.edges(random, 40);
        let keys = edges.lists.len();
        let id = |random: &mut Random| match random.below(8) {
            0 => UNBOUND,
            _ => *random.pick(&self.0),
        };
        Condition {
            kind: *random.pick(&kinds),
            left: operand(random),
            right: operand(random),
            constant: id(random),
            key: (keys > 0 && random.chance(95)).then(|| random.below(keys)),
            // Now and then the first is behind the last, and none is among them.
            ids: (id(random), id(random)),
            joins: *random.pick(&[Joins::And, Joins::And, Joins::Unless, Joins::Or]),
            edges,
        }
    }
}

/// An index of these keys: one chunk of a kind that has room for them, or one for each part.
fn keyed(random: &mut Random, ids: &[u64]) -> Keys {
    let mut chunks: Vec<(Kind, Vec<u64>)> = Vec::new();
    for &id in ids {
        let is_cut = chunks.last().is_none_or(|(_, keys)| {
            let last = keys[keys.len() - 1];
            id >> 16 != last >> 16 && random.chance(50)
        });
        if is_cut {
            chunks.push((Kind::Far, Vec::new()));
        }
        let last = chunks.last_mut().expect("there is one");
        last.1.push(id);
    }
    for (kind, keys) in &mut chunks {
        let span = keys[keys.len() - 1] - keys[0];
        let is_one_range = keys[0] >> 16 == keys[keys.len() - 1] >> 16;
        let fits = [
            (Kind::Dense, span < 1 << 17),
            (Kind::Sparse, is_one_range),
            (Kind::Near, span < 1 << 32),
            (Kind::Far, true),
        ];
        let fitting: Vec<Kind> = fits
            .iter()
            .filter(|(_, fits)| *fits)
            .map(|(kind, _)| *kind)
            .collect();
        *kind = *random.pick(&fitting);
    }
    let ranges = (ids[ids.len() - 1] >> 16) - (ids[0] >> 16);
    Keys {
        first_ordinal: *random.pick(&[0, 0, 3, 1 << 34]),
        jump: chunks.len() > 1 && ranges < 100_000 && random.chance(60),
        chunks,
    }
}

/// Runs a random step with as many rows.
fn run_random(seed: u64, rows: usize, is_expansion: bool) {
    let Some(rig) = Rig::new(seed) else { return };
    let mut random = Random::new(seed ^ (rows as u64) << 32);
    let pool = Pool::random(&mut random);
    let columns = *random.pick(&[1, 2, 3, 12]);
    let ids = (0..columns).map(|_| (0..rows).map(|_| *random.pick(&pool.0)).collect());
    let ids = ids.collect();
    let table = Table::of(&mut random, ids);
    let mut asked = Asked::all(&table);
    if is_expansion {
        let longest = if rows < 34 { 2600 } else { 40 };
        let edges = pool.edges(&mut random, longest);
        let keys = edges.lists.len();
        let from = match random.below(5) {
            0 => Whose::Key((keys > 0 && random.chance(90)).then(|| random.below(keys))),
            _ => Whose::Column(random.below(columns)),
        };
        asked.expansion = Some((edges, from));
    }
    for _ in 0..random.below(5) {
        let condition = pool.condition(&mut random, columns as u32, is_expansion);
        asked.checks.push(condition);
    }
    asked.kept = (0..columns).map(|_| random.chance(70)).collect();
    asked.keeps_made = random.chance(80);
    asked.room = match random.below(4) {
        0 => Room::Spare(random.bits() % 400),
        1 => Room::Short(1),
        2 => Room::Short(random.bits() % 1000),
        _ => Room::Spare(0),
    };
    asked.number = random.below(9) as u32;
    asked.keeps = is_expansion && random.chance(25);
    asked.widens = asked.keeps || random.chance(30);
    asked.run(&rig, *random.pick(&[1, 2, 3, 7]));
}

#[test]
fn random_expansions_are_what_they_are_to_be() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for count in ROWS {
            run_random(seed, count, true);
        }
    }
}

#[test]
fn random_filters_are_what_they_are_to_be() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for count in ROWS {
            run_random(seed, count, false);
        }
    }
}

#[test]
fn lists_cross_the_rounds_of_a_block() {
    for length in [255, 256, 257, 1023, 1024, 1025, 2048, 2049] {
        for hub in [0, 100, 255, 256, 299] {
            let Some(rig) = Rig::new(length) else { return };
            let mut random = Random::new(length);
            let table = Table::of(&mut random, vec![(0..300).collect()]);
            let list = |key: u64| {
                let count = if key == hub { length } else { key % 3 };
                (0..count).map(|at| 5 * at + key).collect()
            };
            let keys = Keys::one(Kind::Dense, (0..300).collect());
            let lists = (0..300).map(list).collect();
            let mut asked = Asked::all(&table);
            let edges = Edges::new(&mut random, keys, lists);
            asked.expansion = Some((edges, Whose::Column(0)));
            asked.run(&rig, 2);
            // Every third vertex but the hub has no list.
            (asked.keeps, asked.widens) = (true, true);
            asked.run(&rig, 2);
            asked.room = Room::Short(1);
            asked.run(&rig, 2);
        }
    }
}

#[test]
fn nothing_is_done_after_rows_had_no_room() {
    for is_expansion in [true, false] {
        let Some(rig) = Rig::new(9) else { return };
        let mut random = Random::new(9);
        let table = Table::of(&mut random, vec![(0..700).collect()]);
        let mut asked = Asked::all(&table);
        let kernel = if is_expansion {
            let keys = Keys::one(Kind::Near, (0..700).collect());
            let lists = (0..700).map(|key| vec![key]).collect();
            asked.expansion = Some((Edges::new(&mut random, keys, lists), Whose::Column(0)));
            Kernel::Expand
        } else {
            Kernel::Filter
        };
        let mut arguments = asked.arguments(&rig, 700);
        arguments.outcome = rig.room_with(&Outcome {
            overflow: 2,
            ..Outcome::default()
        });
        rig.run(kernel, 2, &arguments);
        let level: Level = rig.read(arguments.output, 1)[0];
        let outcome: Outcome = rig.read(arguments.outcome, 1)[0];
        assert_eq!((level.rows, outcome.overflow), (0, 2));
    }
}

/// Two ascending lists of up to so many ids each, which have some in common, or end before the other begins.
fn two_lists(random: &mut Random, longest: [usize; 2]) -> [Vec<u64>; 2] {
    let base = 1 + random.bits() % 50;
    longest.map(|longest| {
        let from = base + *random.pick(&[0, 0, 3, 60, 400]);
        let spread = *random.pick(&[1, 2, 5]);
        let mut id = from;
        let next = |_| {
            id += 1 + random.bits() % spread;
            id
        };
        (0..longest).map(next).collect()
    })
}

#[test]
fn lists_are_met_whichever_is_the_shorter() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let Some(rig) = Rig::new(seed) else { return };
        let mut random = Random::new(seed);
        let most = *random.pick(&[3, 12, 80]);
        let (mut lists, mut others) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let longest = [random.below(most), random.below(most)];
            let [list, other] = two_lists(&mut random, longest);
            lists.push(list);
            others.push(other);
        }
        let keys = || Keys::one(Kind::Dense, (0..40).collect());
        let edges = Edges::new(&mut random, keys(), lists);
        let others = Edges::new(&mut random, keys(), others);
        let rows = *random.pick(&[30, 256, 600]);
        let cells = |random: &mut Random| (0..rows).map(|_| random.bits() % 42).collect();
        let columns = vec![cells(&mut random), cells(&mut random)];
        let table = Table::of(&mut random, columns);
        let mut asked = Asked::all(&table);
        asked.expansion = Some((edges, Whose::Column(0)));
        asked.checks = vec![of(CheckKind::Edge, &others, 1, MADE)];
        for number in [0, 1] {
            asked.number = number;
            asked.run(&rig, 3);
        }
    }
}

//! First steps that somebody else does, and does not always finish: no row is missing, none comes twice.

use crate::execution::{WaitingWorld, append, bag, cases, is_fixed, origin, walked};
use crate::support::{Numbered, constants};
use explore::execution::Execution;
use explore::{
    Came, Chunk, Environment, Limits, Offloaded, Offloader, Options, Prepared, Status, Unfinished,
    WalkError, prepare, wait_for,
};
use query::plan::{Action, Plan};
use rdf::VertexId;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that the double takes at once, and gives.
const ROWS_MAX: u64 = 3;

/// How its calls end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    Never,
    /// This call of its, of loads and of what gives rows, gives nothing.
    At(usize),
    /// This one ends the walk.
    Ends(usize),
}

/// Does one step of a section, by a walk of its own; of some tables it does nothing.
struct Double {
    world: Arc<WaitingWorld>,
    plan: Arc<Plan>,
    fails: Fails,
    begun: Arc<AtomicUsize>,
}

struct Doubled {
    execution: Execution,
    step: usize,
    width: usize,
    columns: Vec<query::plan::Slot>,
    fails: Fails,
    calls: usize,
    strips: u64,
    rows: u64,
    turn: usize,
    is_seed: bool,
    /// Elements whose rows were given.
    given: u64,
    /// What was loaded and has not been given.
    loaded: VecDeque<Chunk>,
}

impl Offloader for Double {
    fn begin(
        &self,
        prepared: &Prepared<'_>,
        steps: Range<usize>,
        seed: Option<u64>,
        _: Limits<'_>,
    ) -> Option<Box<dyn Offloaded>> {
        assert_eq!(seed.is_some(), steps.start == 0);
        let step = steps.start;
        let is_plain = matches!(
            self.plan.steps[step].action,
            Action::Expand { .. } | Action::ExpandKeys { .. } | Action::Check { .. }
        );
        // Each element of a seed is one row of the first step.
        let is_set = seed.is_none() || !matches!(self.plan.steps[0].action, Action::Check { .. });
        let columns = prepared.columns_before(step).to_vec();
        if !is_plain || !is_set || step > 0 && columns.is_empty() {
            return None;
        }
        let ground = (Arc::clone(&self.world), Arc::clone(&self.world));
        let own = explore::Origin {
            options: Options {
                chunk_rows: ROWS_MAX as usize,
                ..Options::default()
            },
            ..origin(ground, &self.plan, Some(step..step + 1))
        };
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        if number > 0 && number.is_multiple_of(5) {
            return None;
        }
        Some(Box::new(Doubled {
            execution: Execution::new(own),
            step,
            width: self.plan.variables.len(),
            columns,
            fails: self.fails,
            calls: 0,
            strips: 0,
            rows: 0,
            turn: 0,
            is_seed: seed.is_some(),
            given: 0,
            loaded: VecDeque::new(),
        }))
    }
}

impl Doubled {
    fn call(&mut self) -> Result<(), Unfinished> {
        self.calls += 1;
        match self.fails {
            Fails::At(call) if call == self.calls => Err(Unfinished::From(self.given)),
            Fails::Ends(call) if call == self.calls => {
                Err(Unfinished::Ended(WalkError::TooManyRows))
            }
            _ => Ok(()),
        }
    }

    /// Its walk's next rows; `None`: it wants more, or has ended.
    fn walked(&mut self) -> Option<Chunk> {
        loop {
            let mut chunk = Chunk::new();
            match self.execution.next(&mut chunk).expect("nothing fails") {
                Status::Rows => return Some(chunk),
                Status::Done | Status::Starved => return None,
                Status::Yield | Status::Pending(_) => {}
            }
        }
    }
}

impl Offloaded for Doubled {
    fn covered(&self) -> usize {
        self.step + 1
    }

    fn rows_max(&self) -> u64 {
        ROWS_MAX
    }

    fn load(&mut self, rows: u64, columns: &[&[VertexId]]) -> Result<(), Unfinished> {
        assert!(rows <= ROWS_MAX && self.loaded.is_empty() && !self.is_seed);
        self.given = 0;
        self.call()?;
        self.strips += 1;
        let cells = columns.iter().map(|cells| cells.to_vec());
        let columns = self.columns.iter().copied().zip(cells);
        let mut chunk = Chunk::from_columns(self.width, rows, columns).expect("a table");
        assert!(self.walked().is_none(), "it has given all");
        self.execution.push(&mut chunk).expect("nothing fails");
        while let Some(chunk) = self.walked() {
            self.loaded.push_back(chunk);
        }
        Ok(())
    }

    fn next(&mut self, _: Limits<'_>) -> Result<Came, Unfinished> {
        self.turn += 1;
        if self.turn.is_multiple_of(3) {
            return Ok(Came::Nothing);
        }
        let next = if self.is_seed {
            self.call()?;
            self.strips += 1;
            self.walked()
        } else {
            // Of a table that it has given some of, it gives all.
            self.loaded.pop_front()
        };
        let rows = next.as_ref().map_or(0, Chunk::rows);
        self.given += rows;
        self.rows += rows;
        Ok(next.map_or(Came::Done, Came::Rows))
    }

    fn did(&self) -> (u64, u64) {
        (self.strips, self.rows)
    }
}

/// All rows of a plan in two sections, of which the double does a step each; whether somebody was asked.
fn in_sections(
    (world, plan): (&Arc<WaitingWorld>, &Arc<Plan>),
    cut: usize,
    fails: [Fails; 2],
) -> (Result<Vec<Vec<VertexId>>, WalkError>, usize) {
    let begun = Arc::new(AtomicUsize::new(0));
    let section = |steps, fails| {
        let ground = (Arc::clone(world), Arc::clone(world));
        let double = Double {
            world: Arc::clone(world),
            plan: Arc::clone(plan),
            fails,
            begun: Arc::clone(&begun),
        };
        Execution::new(explore::Origin {
            offloader: Some(Box::new(double)),
            ..origin(ground, plan, Some(steps))
        })
    };
    let mut first = section(0..cut, fails[0]);
    let mut second = section(cut..plan.steps.len(), fails[1]);
    let rows = hand_on(&mut first, &mut second, plan);
    (rows, begun.load(Ordering::Relaxed))
}

fn hand_on(
    first: &mut Execution,
    second: &mut Execution,
    plan: &Plan,
) -> Result<Vec<Vec<VertexId>>, WalkError> {
    let (mut chunk, mut given, mut rows) = (Chunk::new(), Chunk::new(), Vec::new());
    let mut is_over = false;
    loop {
        match second.next(&mut given)? {
            Status::Rows => append(&given, plan, &mut rows),
            Status::Done => return Ok(rows),
            Status::Yield | Status::Pending(_) => {}
            Status::Starved => {
                while !is_over && chunk.is_empty() {
                    is_over = first.next(&mut chunk)? == Status::Done;
                }
                if is_over {
                    second.end_input();
                } else {
                    second.push(&mut chunk)?;
                }
            }
        }
    }
}

/// Whether a plan starts from a set.
fn has_seed(world: &WaitingWorld, plan: &Plan) -> bool {
    let (environment, ids) = (Environment::fixed(), constants(plan, &Numbered));
    let limits = Limits::none();
    let prepared = wait_for(world, &limits, || {
        prepare(plan, &ids, world, limits, &environment)
    });
    let seed = wait_for(world, &limits, || {
        prepared.as_ref().expect("nothing fails").seed(world)
    });
    seed.expect("nothing fails")
        .is_some_and(|seed| seed.is_set())
}

#[test]
fn first_steps_that_are_not_finished_are_walked_here() {
    let (mut begun, mut seeds) = (0, 0);
    for (number, (world, plan)) in cases(300).into_iter().enumerate() {
        let cut = number % (plan.steps.len() + 1);
        if !is_fixed(&plan) || cut == 0 {
            continue;
        }
        let expected = walked(&world, &plan);
        seeds += usize::from(has_seed(&world, &plan));
        for fails in [
            [Fails::Never; 2],
            [Fails::At(1), Fails::At(1)],
            [Fails::At(2), Fails::At(2)],
            [Fails::At(3), Fails::Never],
            [Fails::Never, Fails::At(3)],
        ] {
            let (rows, asked) = in_sections((&world, &plan), cut, fails);
            let rows = rows.expect("nothing fails that is not made good");
            assert_eq!(
                bag(&rows),
                bag(&expected),
                "case {number}, cut at {cut}, {fails:?}"
            );
            begun += asked;
        }
        let (rows, asked) = in_sections((&world, &plan), cut, [Fails::Ends(1), Fails::Never]);
        assert!(rows.is_err() || asked == 0 || bag(&rows.expect("it is none")) == bag(&expected));
    }
    assert!(begun > 300 && seeds > 50, "{begun} sections, {seeds} seeds");
}

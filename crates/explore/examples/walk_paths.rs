//! Measures paths and groups on a random graph: `walk_paths [VERTICES] [EDGES]`.
//!
//! A path `p+` from one vertex against a plain breadth-first search over the same edges in two arrays
//! with a bitmap, and `GROUP BY` over the same rows with few and with many groups against counting
//! those rows. Each figure is the least of several runs on one thread, the graph in memory.

use explore::{Checksum, Environment, Limits, Options, prepare, run_to_end};
use oxrdf::{NamedNode, Term, TermRef};
use query::path::Path;
use query::plan::{
    Action, Aggregate, AggregateFunction, ConstantId, DatasetClause, Estimate, Form, Node, Plan,
    Scope, Slot, Source, Step, Weight,
};
use rdf::{Direction, Lexicon, LexiconError, Tag, TermBuffer, VertexId};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use store::Snapshot;
use store::testing::{IdQuad, snapshot_of};
use testkit::random::Random;

const X: Slot = Slot(0);
const Y: Slot = Slot(1);
const COUNT: Slot = Slot(2);

/// Classes of the vertices.
const CLASSES: u64 = 100;

/// Runs of each measurement.
const RUNS: usize = 7;

/// Knows no text: nothing here asks for any.
struct Numbers;

impl Lexicon for Numbers {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        ids.extend(terms.iter().map(|_| None));
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], _terms: &mut TermBuffer) -> Result<(), LexiconError> {
        ids.first()
            .map_or(Ok(()), |&id| Err(LexiconError::UnknownId(id)))
    }
}

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        let argument = arguments.next();
        argument.map_or(default, |text: String| text.parse().expect("a number"))
    };
    let (vertices, edges) = (number(1_000_000), number(5_000_000));
    let mut random = Random::new(1);
    let mut vertex = || (random.bits() % vertices) as u32;
    let mut pairs: Vec<(u32, u32)> = (0..edges).map(|_| (vertex(), vertex())).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let knows = iri(vertices);
    let class = iri(vertices + 1);
    let mut quads: Vec<IdQuad> = pairs
        .iter()
        .map(|&(from, to)| (iri(from.into()), knows, iri(to.into()), VertexId::UNBOUND))
        .collect();
    for vertex in 0..vertices {
        let of = iri(vertices + 2 + random.bits() % CLASSES);
        quads.push((iri(vertex), class, of, VertexId::UNBOUND));
    }
    let snapshot = snapshot_of(&quads, None);
    drop(quads);
    let ids = [Some(knows), Some(class), Some(iri(0))];
    paths(&pairs, vertices as usize, &snapshot, &ids);
    groups(&snapshot, &ids);
}

fn paths(pairs: &[(u32, u32)], vertices: usize, snapshot: &Snapshot, ids: &[Option<VertexId>]) {
    let mut offsets = vec![0_u32; vertices + 1];
    for &(from, _) in pairs {
        offsets[from as usize + 1] += 1;
    }
    for at in 0..vertices {
        offsets[at + 1] += offsets[at];
    }
    let neighbours: Vec<u32> = pairs.iter().map(|&(_, to)| to).collect();
    let (plain, reached, seen) = least(|| search(&offsets, &neighbours));
    let expand = Action::PathExpand {
        from: Node::Constant(ConstantId(2)),
        path: Path::OneOrMore(Box::new(Path::Predicate(ConstantId(0)))),
        direction: Direction::Out,
        scope: Scope::Default,
        into: Y,
        source: Source::STORE,
    };
    let plan = plan_of(vec![step(expand, &[Y])]);
    let (walked, rows, _) = least(|| (rows_of(&plan, ids, snapshot), 0));
    assert_eq!(rows, reached, "both reach the same");
    let per_edge = |time: Duration| time.as_nanos() as f64 / seen as f64;
    println!("p+ reaches {reached} vertices over {seen} edges");
    println!(
        "  arrays and a bitmap {:>8.2} ns an edge, {plain:?}",
        per_edge(plain)
    );
    println!(
        "  walk                {:>8.2} ns an edge, {walked:?}",
        per_edge(walked)
    );
}

/// How many vertices are reached by at least one edge, and how many edges that takes.
fn search(offsets: &[u32], neighbours: &[u32]) -> (u64, u64) {
    let mut visited = vec![0_u64; offsets.len() / 64 + 1];
    let mut queue = vec![0_u32];
    let (mut at, mut seen) = (0, 0);
    while let Some(&vertex) = queue.get(at) {
        at += 1;
        // The start is expanded once, though it counts only when an edge leads back to it.
        if at > 1 && vertex == 0 {
            continue;
        }
        let range = offsets[vertex as usize] as usize..offsets[vertex as usize + 1] as usize;
        seen += range.len() as u64;
        for &next in &neighbours[range] {
            let (word, bit) = (next as usize / 64, 1_u64 << (next % 64));
            if visited[word] & bit == 0 {
                visited[word] |= bit;
                queue.push(next);
            }
        }
    }
    (queue.len() as u64 - 1, seen)
}

fn groups(snapshot: &Snapshot, ids: &[Option<VertexId>]) {
    let (direction, scope) = (Direction::Out, Scope::Default);
    let rows = |last: Step| {
        let predicate = Node::Constant(ConstantId(1));
        let keys = Action::ExpandKeys {
            predicate,
            direction,
            scope,
            into: X,
            source: Source::STORE,
        };
        let expand = Action::Expand {
            from: Node::Slot(X),
            predicate,
            direction,
            scope,
            into: Y,
            source: Source::STORE,
        };
        plan_of(vec![step(keys, &[X]), step(expand, &[X, Y]), last])
    };
    let count = |keys: &[Slot]| {
        let aggregate = Aggregate {
            function: AggregateFunction::Count,
            argument: None,
            distinct: None,
        };
        let keys = keys.to_vec();
        let aggregates = vec![(aggregate, COUNT)];
        step(Action::Aggregate { keys, aggregates }, &[COUNT])
    };
    let (all, _, _) = least(|| (rows_of(&rows(count(&[])), ids, snapshot), 0));
    for (name, key) in [("class", Y), ("vertex", X)] {
        let plan = rows(count(&[key]));
        let (time, groups, _) = least(|| (rows_of(&plan, ids, snapshot), 0));
        let input = 1_000_000.0_f64;
        let per_row = (time.as_nanos() as f64 - all.as_nanos() as f64) / input;
        println!(
            "GROUP BY ?{name}: {groups} groups, {time:?}, {per_row:.2} ns a row of a million more than one group"
        );
    }
}

/// The least time of several runs, and what a run gives.
fn least(mut run: impl FnMut() -> (u64, u64)) -> (Duration, u64, u64) {
    let mut best = Duration::MAX;
    let mut result = (0, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        result = run();
        best = best.min(start.elapsed());
    }
    (best, result.0, result.1)
}

fn rows_of(plan: &Plan, ids: &[Option<VertexId>], snapshot: &Snapshot) -> u64 {
    let environment = Environment::fixed();
    let limits = Limits::none();
    let prepared = prepare(plan, ids, snapshot, limits, &environment).expect("it prepares");
    let Form::Select(projection) = &plan.form else {
        unreachable!("a SELECT")
    };
    let mut checksum = Checksum::new(projection);
    let options = Options::default();
    run_to_end(&prepared, snapshot, &Numbers, limits, options, |chunk| {
        checksum.add(chunk);
        ControlFlow::Continue(())
    })
    .expect("it runs");
    checksum.rows()
}

fn step(action: Action, keep: &[Slot]) -> Step {
    Step {
        action,
        keep: keep.to_vec(),
        estimate: Estimate::default(),
    }
}

fn plan_of(steps: Vec<Step>) -> Plan {
    let term = |name: &str| Term::from(NamedNode::new_unchecked(format!("ex:{name}")));
    let keep = steps.last().map(|step| step.keep.clone());
    Plan {
        variables: ["x", "y", "count"].map(str::to_owned).to_vec(),
        constants: ["knows", "class", "start"].map(term).to_vec(),
        dataset: DatasetClause::default(),
        base: None,
        steps,
        form: Form::Select(keep.unwrap_or_default()),
        weight: Weight::Heavy,
    }
}

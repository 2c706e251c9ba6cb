//! Property paths on small random graphs: every form, nested, in every scope and direction, against
//! reachability computed from the definitions, and against `spareval`.

use crate::support;

use explore::limits::Unlimited;
use explore::{
    Chunk, Environment, Limits, MemoryBudget, MemoryExceeded, Options, Status, Stop, StopReason,
    Walk, WalkError, prepare, wait_for,
};
use oxrdf::Term;
use query::path::Path;
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Node, Plan, Scope, Slot, Source, Step,
    Weight,
};
use rdf::{Direction, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use store::GraphView;
use store::testing::snapshot_of;
use support::{DEFAULT, Numbered, Quad, Random, absent, constants, iri, quads};
use testkit::plain_graph::PlainGraph;
use testkit::waiting::Waiting;

/// Cases of each test; a failing seed is printed.
const CASES: u64 = 3000;

const X: Slot = Slot(0);
const Y: Slot = Slot(1);
const G: Slot = Slot(2);

/// Constants 0 to 5 are the IRIs of the graph, 6 is absent.
const ABSENT: u32 = 6;

fn node(number: u32) -> Node {
    Node::Constant(ConstantId(number))
}

fn path(random: &mut Random, depth: usize) -> Path {
    let one = |random: &mut Random| ConstantId(random.below(4) as u32);
    if depth == 0 {
        return match random.below(5) {
            0 => negated(random),
            _ => Path::Predicate(one(random)),
        };
    }
    let first = path(random, depth - 1);
    if matches!(first, Path::Negated { .. }) && random.chance(30) {
        return first;
    }
    match random.below(6) {
        0 => Path::Inverse(Box::new(first)),
        1 => Path::Sequence(vec![first, path(random, depth - 1)]),
        2 => Path::Alternative(vec![first, path(random, depth - 1)]),
        3 => Path::ZeroOrMore(Box::new(first)),
        4 => Path::OneOrMore(Box::new(first)),
        _ => Path::ZeroOrOne(Box::new(first)),
    }
}

fn negated(random: &mut Random) -> Path {
    let mut list = |_| {
        let count = random.below(3);
        let some = random.chance(70);
        let list = (0..count)
            .map(|_| ConstantId(random.below(4) as u32))
            .collect();
        some.then_some(list)
    };
    let (forward, backward) = (list(0), list(1));
    if forward.is_none() && backward.is_none() {
        return Path::Negated {
            forward: Some(Vec::new()),
            backward,
        };
    }
    Path::Negated { forward, backward }
}

/// What the translator hands over: a closure or a negated set, perhaps turned around.
fn top(random: &mut Random) -> Path {
    let inner = path(random, 3);
    let path = match inner {
        Path::Negated { .. } | Path::ZeroOrMore(_) | Path::OneOrMore(_) | Path::ZeroOrOne(_) => {
            inner
        }
        inner => match random.below(3) {
            0 => Path::ZeroOrMore(Box::new(inner)),
            1 => Path::OneOrMore(Box::new(inner)),
            _ => Path::ZeroOrOne(Box::new(inner)),
        },
    };
    if random.chance(10) {
        Path::Inverse(Box::new(path))
    } else {
        path
    }
}

type Triples = BTreeSet<(VertexId, VertexId, VertexId)>;
type Pair = (VertexId, VertexId);

/// Pairs by definition, over all terms that there are.
struct Definition<'d> {
    triples: &'d Triples,
    terms: &'d BTreeSet<VertexId>,
    ids: &'d [VertexId],
}

impl Definition<'_> {
    fn id(&self, constant: ConstantId) -> VertexId {
        self.ids[constant.0 as usize]
    }

    /// As a bag where it is a negated set.
    fn bag(&self, path: &Path) -> Vec<Pair> {
        match path {
            Path::Inverse(inner) => self.bag(inner).into_iter().map(|(s, o)| (o, s)).collect(),
            Path::Negated { forward, backward } => {
                let edges = |excluded: &Option<Vec<ConstantId>>| -> Vec<Pair> {
                    let Some(excluded) = excluded else {
                        return Vec::new();
                    };
                    let excluded: Vec<_> = excluded.iter().map(|&one| self.id(one)).collect();
                    let triples = self.triples.iter();
                    let others = triples.filter(|triple| !excluded.contains(&triple.1));
                    others.map(|&(s, _, o)| (s, o)).collect()
                };
                let mut pairs = edges(forward);
                pairs.extend(edges(backward).into_iter().map(|(s, o)| (o, s)));
                pairs
            }
            path => self.set(path).into_iter().collect(),
        }
    }

    fn set(&self, path: &Path) -> BTreeSet<Pair> {
        let none = || self.terms.iter().map(|&term| (term, term));
        match path {
            Path::Predicate(one) => {
                let triples = self.triples.iter();
                let own = triples.filter(|triple| triple.1 == self.id(*one));
                own.map(|&(s, _, o)| (s, o)).collect()
            }
            Path::Inverse(inner) => self.set(inner).into_iter().map(|(s, o)| (o, s)).collect(),
            Path::Sequence(parts) => {
                let mut parts = parts.iter().map(|part| self.set(part));
                let first = parts.next().expect("a part");
                parts.fold(first, |left, right| compose(&left, &right))
            }
            Path::Alternative(parts) => parts.iter().flat_map(|part| self.set(part)).collect(),
            Path::ZeroOrOne(inner) => none().chain(self.set(inner)).collect(),
            Path::OneOrMore(inner) => closure(self.set(inner)),
            Path::ZeroOrMore(inner) => none().chain(closure(self.set(inner))).collect(),
            negated @ Path::Negated { .. } => self.bag(negated).into_iter().collect(),
        }
    }
}

fn compose(left: &BTreeSet<Pair>, right: &BTreeSet<Pair>) -> BTreeSet<Pair> {
    let pairs = left.iter().flat_map(|&(s, middle)| {
        let rest = right.range((middle, VertexId::from_bits(0))..);
        rest.take_while(move |pair| pair.0 == middle)
            .map(move |&(_, o)| (s, o))
    });
    pairs.collect()
}

#[allow(clippy::needless_pass_by_value, reason = "reads like its kin")]
fn closure(one: BTreeSet<Pair>) -> BTreeSet<Pair> {
    let mut all = one.clone();
    loop {
        let before = all.len();
        all.extend(compose(&all, &one));
        if all.len() == before {
            return all;
        }
    }
}

/// One random query and what it should give.
struct Case {
    plan: Plan,
    /// Those of each source.
    quads: Vec<Vec<Quad>>,
    ids: Vec<Option<VertexId>>,
}

fn step(action: Action, keep: &[Slot]) -> Step {
    Step {
        action,
        keep: keep.to_vec(),
        estimate: Estimate::default(),
    }
}

fn plan_of(steps: Vec<Step>, dataset: DatasetClause) -> Plan {
    let last = steps.last().map(|step| step.keep.clone());
    Plan {
        variables: ["x", "y", "g"].map(str::to_owned).to_vec(),
        constants: (0..6)
            .map(|n| Numbered::term(iri(n)))
            .chain([absent()])
            .collect(),
        dataset,
        base: None,
        form: Form::Select(last.unwrap_or_default()),
        steps,
        weight: Weight::Heavy,
    }
}

impl Case {
    #[allow(clippy::too_many_lines, reason = "one case is one thing")]
    fn random(seed: u64, sources: usize) -> Case {
        let mut random = Random::new(seed);
        let quads = (0..sources).map(|_| quads(&mut random)).collect();
        let source = |random: &mut Random| match sources {
            1 => Source::STORE,
            _ => Source(random.below(sources) as u16),
        };
        let mut dataset = DatasetClause {
            union_default: random.chance(30),
            ..DatasetClause::default()
        };
        if random.chance(30) {
            let mut list = |from: &[u32]| -> Vec<ConstantId> {
                let count = random.below(3);
                (0..count).map(|_| ConstantId(*random.pick(from))).collect()
            };
            dataset.graphs = Some((list(&[4, 5, ABSENT]), list(&[4, 5, ABSENT])));
        }
        let mut steps = Vec::new();
        let mut live = Vec::new();
        let scope = match random.below(4) {
            0 | 1 => Scope::Default,
            2 => Scope::Named(node(*random.pick(&[3, 4, 5, ABSENT]))),
            _ => {
                live.push(G);
                steps.push(step(
                    Action::AllGraphs {
                        into: G,
                        source: source(&mut random),
                    },
                    &live,
                ));
                Scope::Named(Node::Slot(G))
            }
        };
        let path = top(&mut random);
        let mut end = |random: &mut Random, slot: Slot, steps: &mut Vec<Step>| {
            if random.chance(40) {
                return node(random.below(7) as u32);
            }
            live.push(slot);
            live.sort_unstable();
            let predicate = node(random.below(3) as u32);
            let direction = *random.pick(&[Direction::Out, Direction::In]);
            let action = Action::ExpandKeys {
                predicate,
                direction,
                scope: Scope::Default,
                into: slot,
                source: source(random),
            };
            steps.push(step(action, &live));
            Node::Slot(slot)
        };
        let direction = *random.pick(&[Direction::Out, Direction::In]);
        // A seed is of the path that follows it.
        let of_path = source(&mut random);
        match random.below(3) {
            0 => {
                let subject = end(&mut random, X, &mut steps);
                let object = end(&mut random, Y, &mut steps);
                steps.push(step(
                    Action::PathCheck {
                        subject,
                        path,
                        object,
                        scope,
                        source: of_path,
                    },
                    &kept(&mut random, &live),
                ));
            }
            both => {
                let from = if both == 1 {
                    end(&mut random, X, &mut steps)
                } else {
                    live.push(X);
                    live.sort_unstable();
                    let seed = Action::PathSeed {
                        path: path.clone(),
                        direction,
                        scope,
                        into: X,
                        source: of_path,
                    };
                    steps.push(step(seed, &live));
                    Node::Slot(X)
                };
                live.push(Y);
                live.sort_unstable();
                let expand = Action::PathExpand {
                    from,
                    path,
                    direction,
                    scope,
                    into: Y,
                    source: of_path,
                };
                steps.push(step(expand, &kept(&mut random, &live)));
            }
        }
        let plan = plan_of(steps, dataset);
        let ids = constants(&plan, &Numbered);
        Case { plan, quads, ids }
    }

    fn id(&self, constant: u32) -> VertexId {
        self.ids[constant as usize].unwrap_or(VertexId::new(rdf::Tag::QueryLocal, 0))
    }

    fn value(&self, node: Node, row: &[VertexId]) -> VertexId {
        match node {
            Node::Slot(slot) => row[usize::from(slot.0)],
            Node::Constant(constant) => self.id(constant.0),
        }
    }

    fn listed(&self, graphs: &[ConstantId]) -> Vec<VertexId> {
        graphs.iter().map(|graph| self.id(graph.0)).collect()
    }

    /// The dataset clause, which is of the store alone.
    fn clause(&self, source: Source) -> Option<&(Vec<ConstantId>, Vec<ConstantId>)> {
        let clause = self.plan.dataset.graphs.as_ref();
        clause.filter(|_| source.is_store())
    }

    /// The triples of a scope of a source; `None` where the dataset does not have the graph.
    fn triples(&self, (scope, source): (Scope, Source), row: &[VertexId]) -> Option<Triples> {
        let all = &self.quads[usize::from(source.0)];
        let clause = self.clause(source);
        let graphs = match scope {
            Scope::Default => match clause {
                Some((merge, _)) => self.listed(merge),
                None if self.plan.dataset.union_default || !source.is_store() => {
                    all.iter().map(|quad| quad.3).collect()
                }
                None => vec![DEFAULT],
            },
            Scope::Named(graph) => {
                let graph = self.value(graph, row);
                let has = match clause {
                    Some((_, named)) => self.listed(named).contains(&graph),
                    None => all.iter().any(|quad| quad.3 == graph),
                };
                if !has || graph == DEFAULT {
                    return None;
                }
                vec![graph]
            }
            Scope::Bind(_) => unreachable!("not of paths"),
        };
        let quads = all.iter().filter(|quad| graphs.contains(&quad.3));
        Some(quads.map(|&(s, p, o, _)| (s, p, o)).collect())
    }

    fn pairs(&self, path: &Path, triples: &Triples) -> Vec<Pair> {
        let quads = self.quads.iter().flatten();
        let quads = quads.flat_map(|quad| [quad.0, quad.2]);
        let ids: Vec<VertexId> = (0..7).map(|constant| self.id(constant)).collect();
        let terms = quads.chain(ids.iter().copied()).collect();
        let definition = Definition {
            triples,
            terms: &terms,
            ids: &ids,
        };
        definition.bag(path)
    }

    fn expected(&self) -> BTreeMap<Vec<VertexId>, usize> {
        let mut rows = vec![vec![VertexId::UNBOUND; 3]];
        for step in &self.plan.steps {
            rows = rows.iter().flat_map(|row| self.apply(step, row)).collect();
            for row in &mut rows {
                for (slot, cell) in (0_u16..).zip(row) {
                    if !step.keep.contains(&Slot(slot)) {
                        *cell = VertexId::UNBOUND;
                    }
                }
            }
        }
        let mut bag = BTreeMap::new();
        for row in rows {
            *bag.entry(row).or_default() += 1;
        }
        bag
    }

    #[allow(clippy::too_many_lines, reason = "an arm for each action")]
    fn apply(&self, step: &Step, row: &[VertexId]) -> Vec<Vec<VertexId>> {
        let with = |slot: Slot, value: VertexId| {
            let mut row = row.to_vec();
            row[usize::from(slot.0)] = value;
            row
        };
        let turned = |pairs: Vec<Pair>, direction| match direction {
            Direction::Out => pairs,
            Direction::In => pairs.into_iter().map(|(s, o)| (o, s)).collect(),
        };
        match &step.action {
            Action::AllGraphs { into, source } => {
                let graphs: BTreeSet<VertexId> = match self.clause(*source) {
                    Some((_, named)) => self.listed(named).into_iter().collect(),
                    None => self.quads[usize::from(source.0)]
                        .iter()
                        .map(|quad| quad.3)
                        .collect(),
                };
                let graphs = graphs.into_iter().filter(|&graph| graph != DEFAULT);
                graphs.map(|graph| with(*into, graph)).collect()
            }
            Action::ExpandKeys {
                predicate,
                direction,
                into,
                source,
                ..
            } => {
                let triples = self
                    .triples((Scope::Default, *source), row)
                    .unwrap_or_default();
                let predicate = self.value(*predicate, row);
                let own = triples.iter().filter(|triple| triple.1 == predicate);
                let pairs = own.map(|&(s, _, o)| (s, o)).collect();
                let keys: BTreeSet<_> =
                    turned(pairs, *direction).into_iter().map(|p| p.0).collect();
                keys.into_iter().map(|key| with(*into, key)).collect()
            }
            Action::PathSeed {
                path,
                scope,
                into,
                source,
                ..
            } => {
                let triples = self.triples((*scope, *source), row).unwrap_or_default();
                let ends: BTreeSet<_> = if path.allows_no_length() {
                    triples
                        .iter()
                        .flat_map(|triple| [triple.0, triple.2])
                        .collect()
                } else {
                    // More than needed is allowed; what follows decides.
                    self.quads
                        .iter()
                        .flatten()
                        .flat_map(|quad| [quad.0, quad.2])
                        .collect()
                };
                ends.into_iter().map(|end| with(*into, end)).collect()
            }
            Action::PathExpand {
                from,
                path,
                direction,
                scope,
                into,
                source,
            } => {
                let Some(triples) = self.triples((*scope, *source), row) else {
                    return Vec::new();
                };
                let from = self.value(*from, row);
                let pairs = turned(self.pairs(path, &triples), *direction);
                let own = pairs.into_iter().filter(|pair| pair.0 == from);
                own.map(|(_, to)| with(*into, to)).collect()
            }
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
                source,
            } => {
                let Some(triples) = self.triples((*scope, *source), row) else {
                    return Vec::new();
                };
                let ends = (self.value(*subject, row), self.value(*object, row));
                let pairs = self.pairs(path, &triples).into_iter();
                pairs
                    .filter(|pair| *pair == ends)
                    .map(|_| row.to_vec())
                    .collect()
            }
            other => unreachable!("{other:?} is not made here"),
        }
    }
}

fn kept(random: &mut Random, live: &[Slot]) -> Vec<Slot> {
    let all = random.chance(80);
    live.iter()
        .copied()
        .filter(|_| all || random.chance(50))
        .collect()
}

fn rows<V: GraphView>(
    plan: &Plan,
    ids: &[Option<VertexId>],
    views: &[V],
    chunk_rows: usize,
) -> BTreeMap<Vec<VertexId>, usize> {
    let environment = Environment::fixed();
    let prepared = wait_for(&views[0], &Limits::none(), || {
        prepare(plan, ids, views, Limits::none(), &environment)
    });
    let prepared = prepared.expect("no limit");
    let options = Options {
        chunk_rows,
        ..Options::default()
    };
    let mut walk = Walk::new(&prepared, views, &Numbered, Limits::none(), options);
    let mut chunk = Chunk::new();
    let mut bag = BTreeMap::new();
    loop {
        match walk.next(&mut chunk).expect("nothing fails") {
            Status::Rows => {
                for row in 0..chunk.rows() as usize {
                    let cell = |slot: u16| {
                        chunk
                            .column(Slot(slot))
                            .map_or(VertexId::UNBOUND, |cells| cells[row])
                    };
                    let row: Vec<VertexId> = (0..3).map(cell).collect();
                    *bag.entry(row).or_default() += 1;
                }
            }
            Status::Done | Status::Starved => return bag,
            Status::Yield | Status::Pending(_) => {}
        }
    }
}

/// Query-local ids of the plan's only absent constant are alike.
#[test]
fn every_form_is_what_its_definition_says() {
    are_right(0..CASES, 1);
}

#[test]
fn paths_of_several_sources_are_right() {
    are_right(CASES..2 * CASES, 2);
}

fn are_right(seeds: Range<u64>, sources: usize) {
    let mut connected = 0;
    for seed in seeds {
        let case = Case::random(seed, sources);
        let graphs = case.quads.iter();
        let type_of = (seed % 2 == 0).then(|| iri(1));
        let views: Vec<_> = graphs.clone().map(|it| snapshot_of(it, type_of)).collect();
        let expected = case.expected();
        connected += usize::from(!expected.is_empty());
        for chunk_rows in [1, 2, 7, 1024] {
            let found = rows(&case.plan, &case.ids, &views, chunk_rows);
            assert_eq!(found, expected, "seed {seed}: {:#?}", case.plan);
        }
        let vectors: Vec<_> = graphs.map(|quads| PlainGraph::new(quads)).collect();
        let waiting = Waiting::before_each(&views, &Numbered);
        let found = rows(&case.plan, &case.ids, &waiting, 3);
        assert_eq!(found, expected, "waiting, seed {seed}: {:#?}", case.plan);
        let waiting = Waiting::before_each(&vectors, &Numbered);
        let found = rows(&case.plan, &case.ids, &waiting, 3);
        assert_eq!(found, expected, "vectors, seed {seed}: {:#?}", case.plan);
    }
    assert!(
        connected > CASES as usize / 4,
        "too many cases are empty: {connected}"
    );
}

fn text(path: &Path) -> String {
    let list = |paths: &[Path], between: &str| {
        let texts: Vec<String> = paths.iter().map(text).collect();
        format!("({})", texts.join(between))
    };
    match path {
        Path::Predicate(one) => format!("<ex:{}>", one.0),
        Path::Inverse(inner) => format!("(^{})", text(inner)),
        Path::Sequence(parts) => list(parts, "/"),
        Path::Alternative(parts) => list(parts, "|"),
        Path::ZeroOrMore(inner) => format!("({}*)", text(inner)),
        Path::OneOrMore(inner) => format!("({}+)", text(inner)),
        Path::ZeroOrOne(inner) => format!("({}?)", text(inner)),
        Path::Negated { forward, backward } => {
            let one = |sign: &str, list: &Option<Vec<ConstantId>>| -> Vec<String> {
                let list = list.iter().flatten();
                list.map(|one| format!("{sign}<ex:{}>", one.0)).collect()
            };
            let mut parts = one("", forward);
            parts.extend(one("^", backward));
            format!("!({})", parts.join("|"))
        }
    }
}

/// Whether the text says the same: an empty list of exclusions cannot be written.
fn is_writable(path: &Path) -> bool {
    match path {
        Path::Predicate(_) => true,
        Path::Inverse(inner)
        | Path::ZeroOrMore(inner)
        | Path::OneOrMore(inner)
        | Path::ZeroOrOne(inner) => is_writable(inner),
        Path::Sequence(parts) | Path::Alternative(parts) => parts.iter().all(is_writable),
        Path::Negated { forward, backward } => {
            let mut lists = [forward, backward].into_iter().flatten();
            lists.all(|list| !list.is_empty())
        }
    }
}

#[test]
fn spareval_agrees() {
    use spareval::{QueryEvaluator, QueryResults};
    let mut asked = 0;
    for seed in 0..CASES / 4 {
        let mut random = Random::new(seed ^ 0x5eed);
        let mut quads = quads(&mut random);
        quads.retain(|quad| quad.3 == DEFAULT);
        let path = top(&mut random);
        if !is_writable(&path) {
            continue;
        }
        asked += 1;
        let mut dataset = oxrdf::Dataset::new();
        for &(s, p, o, _) in &quads {
            let (Term::NamedNode(s), Term::NamedNode(p)) = (Numbered::term(s), Numbered::term(p))
            else {
                unreachable!("IRIs")
            };
            let graph = oxrdf::GraphName::DefaultGraph;
            dataset.insert(&oxrdf::Quad::new(s, p, Numbered::term(o), graph));
        }
        let query = format!("SELECT DISTINCT ?x ?y {{ ?x {} ?y }}", text(&path));
        let parsed = spargebra::SparqlParser::new()
            .parse_query(&query)
            .expect("it parses");
        let QueryResults::Solutions(solutions) = QueryEvaluator::new()
            .prepare(&parsed)
            .execute(&dataset)
            .expect("it runs")
        else {
            unreachable!("a SELECT")
        };
        let expected: BTreeSet<[String; 2]> = solutions
            .map(|row| {
                let row = row.expect("a solution");
                ["x", "y"].map(|name| row.get(name).expect("bound").to_string())
            })
            .collect();
        let direction = *random.pick(&[Direction::Out, Direction::In]);
        let (first, last) = match direction {
            Direction::Out => (X, Y),
            Direction::In => (Y, X),
        };
        let scope = Scope::Default;
        let seed_step = Action::PathSeed {
            path: path.clone(),
            direction,
            scope,
            into: first,
            source: Source::STORE,
        };
        let expand = Action::PathExpand {
            from: Node::Slot(first),
            path,
            direction,
            scope,
            into: last,
            source: Source::STORE,
        };
        let steps = vec![step(seed_step, &[first]), step(expand, &[X, Y])];
        let plan = plan_of(steps, DatasetClause::default());
        let ids = constants(&plan, &Numbered);
        let view = snapshot_of(&quads, None);
        let found: BTreeSet<[String; 2]> = rows(&plan, &ids, std::slice::from_ref(&view), 1024)
            .into_keys()
            .map(|row| [row[0], row[1]].map(|id| Numbered::term(id).to_string()))
            .collect();
        assert_eq!(found, expected, "seed {seed}: {query}");
    }
    assert!(asked > 100, "{asked}");
}

struct Budget {
    limit_bytes: u64,
    used: AtomicU64,
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let used_bytes = self.used.load(Ordering::Relaxed);
        if used_bytes + bytes > self.limit_bytes {
            return Err(MemoryExceeded {
                limit_bytes: self.limit_bytes,
                used_bytes,
                of_all: false,
            });
        }
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

struct After(AtomicU64);

impl Stop for After {
    fn reason(&self) -> Option<StopReason> {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(StopReason::Cancelled)
    }
}

/// A ring of many vertices with chords.
fn ring() -> Vec<Quad> {
    let count = 100_000;
    let edge = |from: u64, to: u64| (iri(from), iri(0), iri(to % count), DEFAULT);
    (0..count)
        .flat_map(|n| [edge(n, n + 1), edge(n, n * 7 + 3)])
        .collect()
}

fn count_of_reached(limits: Limits<'_>, quads: &[Quad]) -> Result<u64, WalkError> {
    let expand = Action::PathExpand {
        from: node(1),
        path: Path::OneOrMore(Box::new(Path::Predicate(ConstantId(0)))),
        direction: Direction::Out,
        scope: Scope::Default,
        into: Y,
        source: Source::STORE,
    };
    let plan = plan_of(vec![step(expand, &[])], DatasetClause::default());
    let ids = constants(&plan, &Numbered);
    let view = snapshot_of(quads, None);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &view, limits, &environment)?;
    let mut walk = Walk::new(&prepared, &view, &Numbered, limits, Options::default());
    let (mut chunk, mut rows) = (Chunk::new(), 0);
    while walk.next(&mut chunk)? == Status::Rows {
        rows += chunk.rows();
    }
    Ok(rows)
}

#[test]
fn a_search_keeps_to_its_budget_and_ends_when_told() {
    let quads = ring();
    let budget = |limit_bytes| Budget {
        limit_bytes,
        used: AtomicU64::new(0),
    };
    let stop = &Unlimited;
    let enough = budget(4 << 20);
    let memory = &enough;
    let found = count_of_reached(Limits { memory, stop }, &quads).expect("enough");
    assert_eq!(found, 100_000);
    assert_eq!(enough.used.load(Ordering::Relaxed), 0, "given back");
    let little = budget(64 << 10);
    let memory = &little;
    let found = count_of_reached(Limits { memory, stop }, &quads);
    assert!(
        matches!(found, Err(WalkError::OutOfMemory { .. })),
        "{found:?}"
    );
    assert_eq!(little.used.load(Ordering::Relaxed), 0, "given back");
    let (memory, stop) = (&Unlimited, &After(AtomicU64::new(3)));
    let found = count_of_reached(Limits { memory, stop }, &quads);
    assert!(matches!(found, Err(WalkError::Stopped(_))), "{found:?}");
}

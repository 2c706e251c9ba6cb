//! Clients that ask light queries one after the other: A1 to A6 by the papers' weights, each of an instance that is drawn.

use super::asked::{Answer, Asked, Asking, Kept, kept};
use super::drive::{Client, Cluster, Step};
use super::graph::Whole;
use super::network::Nanoseconds;
use cluster::{Mode, start};
use oxrdf::{NamedNode, Term};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::random::Random;
use workload::lubm::Census;
use workload::mix::{self, Instances, Kind, LIGHT, Mix};

/// Queries that are drawn for each node; clients draw among them.
const DRAWN: usize = 400;

/// What is asked where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// By clients of the node at which the walk begins.
    AtOwner,
    /// By clients of any node.
    AtRandom,
}

impl Where {
    pub fn name(self) -> &'static str {
        match self {
            Where::AtOwner => "owner",
            Where::AtRandom => "random",
        }
    }
}

/// A query of a template with its parameter.
#[derive(Clone)]
struct Drawn {
    template: usize,
    parameter: Term,
}

/// The light queries of a cluster, planned.
pub struct Lights {
    /// By template: its plan, and which constant is its parameter.
    templates: Vec<(Kept, usize)>,
    drawn: Vec<Drawn>,
    /// The places of all, and by node of those that begin there.
    all: Vec<usize>,
    by_owner: Vec<Vec<usize>>,
}

/// How light queries fared.
#[derive(Clone, Debug, Default)]
pub struct Fared {
    /// Queries that ended within the time that counts, and how long that was.
    pub count: u64,
    pub time: Nanoseconds,
    /// How long each took, ascending.
    pub latencies: Vec<Nanoseconds>,
    pub rows: u64,
    /// Messages, and one-sided reads, a query.
    pub messages: f64,
    pub reads: f64,
    pub bytes: f64,
}

impl Fared {
    /// Queries a second.
    pub fn throughput(&self) -> f64 {
        self.count as f64 * 1e9 / self.time as f64
    }

    /// What so many of a thousand took at most.
    pub fn latency(&self, per_mille: usize) -> Nanoseconds {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies
            .get(last * per_mille / 1000)
            .copied()
            .unwrap_or(0)
    }
}

/// What stands for the class in a template that was drawn.
fn parameter(census: &Census, drawn: mix::Drawn) -> Term {
    let class = LIGHT[drawn.template].parameter;
    let mut iri = String::new();
    census.append_iri(
        class.expect("light queries have one"),
        drawn.instance,
        &mut iri,
    );
    NamedNode::new_unchecked(iri).into()
}

impl Lights {
    /// Draws some queries for each node.
    pub fn new(whole: &Whole, cluster: &mut Cluster) -> Lights {
        let census = Census::take(&whole.parameters).expect("parameters are right");
        let mut mix = Mix::new(Kind::Light, &census, 1).expect("all classes have instances");
        let mut text = String::new();
        let mut templates: Vec<Option<(Kept, usize)>> = vec![None; LIGHT.len()];
        let nodes = cluster.nodes().len();
        let mut drawn: Vec<Drawn> = Vec::new();
        let mut by_owner: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for _ in 0..DRAWN * nodes {
            let query = mix.draw(&mut text);
            let template = query.template;
            let parameter = parameter(&census, query);
            let (plan, place) = templates[template].get_or_insert_with(|| {
                let kept = kept(cluster, &text, Some(&parameter));
                let mut constants = kept.plan.constants.iter();
                let place = constants.position(|constant| *constant == parameter);
                (kept, place.expect("it is in the text"))
            });
            let Some(vertex) = whole.id(&parameter) else {
                continue;
            };
            let mut ids = plan.ids.clone();
            ids[*place] = Some(vertex);
            let ground = cluster.node(0).ground();
            let first = start(&plan.plan, &ids, ground.kind()).unwrap_or(vertex);
            let owner = ground.placement().owner(first);
            by_owner[usize::from(owner)].push(drawn.len());
            drawn.push(Drawn {
                template,
                parameter,
            });
        }
        let planned = templates.into_iter();
        Lights {
            templates: planned.map(|one| one.expect("each was drawn")).collect(),
            all: (0..drawn.len()).collect(),
            drawn,
            by_owner,
        }
    }

    fn asked(&self, drawn: &Drawn, mode: Mode) -> Asked {
        let (kept, place) = &self.templates[drawn.template];
        Asked {
            kept: kept.clone(),
            parameter: Some((*place, drawn.parameter.clone())),
            mode,
            has_terms: true,
        }
    }

    /// So many clients of each node ask for so long, half as long before it counts.
    pub fn ask(
        self: &Rc<Self>,
        cluster: &mut Cluster,
        who: Where,
        clients: usize,
        time: Nanoseconds,
    ) -> Fared {
        let begins = cluster.network.now();
        let counts = begins + time / 2;
        let ends = counts + time;
        let fared: Rc<RefCell<Fared>> = Rc::default();
        let before = cluster.network.traffic();
        let asked_in_all: Rc<RefCell<u64>> = Rc::default();
        let nodes = cluster.nodes().len() as u16;
        for node in 0..nodes {
            if who == Where::AtOwner && self.by_owner[usize::from(node)].is_empty() {
                // No walk begins there.
                continue;
            }
            for client in 0..clients {
                let seed = u64::from(node) << 16 | client as u64;
                let told = Rc::clone(&fared);
                let count = Rc::clone(&asked_in_all);
                let each = move |answer: &Answer| {
                    *count.borrow_mut() += 1;
                    let mut fared = told.borrow_mut();
                    fared.rows += answer.rows;
                    if answer.ended >= counts && answer.ended < ends {
                        fared.count += 1;
                        fared.latencies.push(answer.ended - answer.began);
                    }
                };
                let client = self.client(who, node, seed, ends, Box::new(each));
                cluster.comes(node, client);
            }
        }
        cluster.run();
        let all = *asked_in_all.borrow();
        let after = cluster.network.traffic();
        let mut fared = fared.take();
        fared.time = time;
        fared.latencies.sort_unstable();
        let each = |more: u64| more as f64 / all.max(1) as f64;
        fared.messages = each(after.messages - before.messages);
        fared.bytes = each(after.bytes - before.bytes + after.read_bytes - before.read_bytes);
        fared.reads = each(after.reads - before.reads);
        fared
    }

    /// A client of a node that asks until then.
    fn client(
        self: &Rc<Self>,
        who: Where,
        node: u16,
        seed: u64,
        ends: Nanoseconds,
        mut each: Box<dyn FnMut(&Answer)>,
    ) -> Client {
        let lights = Rc::clone(self);
        let mut random = Random::new(seed);
        let mut asking: Option<Asking> = None;
        Box::new(move |here| {
            let current = asking.get_or_insert_with(|| {
                let of = match who {
                    Where::AtOwner => &lights.by_owner[usize::from(node)],
                    Where::AtRandom => &lights.all,
                };
                let drawn = &lights.drawn[of[random.below(of.len())]];
                Asking::new(lights.asked(drawn, Mode::Dynamic))
            });
            let step = current.step(here);
            let Step::Over = step else { return step };
            each(&current.answer);
            let is_over = current.answer.ended >= ends;
            asking = None;
            if is_over { Step::Over } else { Step::Again }
        })
    }
}

//! A graph of plain vectors in parts, each with a node, and one thread that does everything.
//!
//! A part that is asked for what it does not own fails the test, and so does a query that nobody can go on with.

use super::drive::Drive;
use super::part::{Form as PartForm, HeldPart};
use cluster::{
    Figures, Ground, Host, Mode, Node, PartTerms, PartsQuery, ReadPolicy, Running, Visit,
};
use explore::describe::{Edges, Seeds, describe};
use explore::environment::Service;
use explore::limits::Unlimited;
use explore::{Chunk, Limits, MemoryBudget, MemoryExceeded, Status, Stop};
use fabric::Fabric;
use oxrdf::vocab::rdf as vocabulary;
use oxrdf::{Dataset, NamedNode, Term, TermRef};
use query::plan::{Form, Plan};
use query::statistics::{PredicateStatistics, Statistics};
use query::{ParseOptions, PlanOptions, Planner};
use rdf::dictionary::key_hash;
use rdf::{Lexicon, LexiconError, Placement, Tag, TermBuffer, VertexId, key};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use testkit::collected::Collected;
use testkit::plain_graph::Quad;
use testkit::plain_terms::PlainTerms;
use testkit::random::Random;
use testkit::suite::Results;

/// Turns without anybody having done anything after which a query hangs.
const TURNS_MAX: u32 = 1000;

/// The terms that a node has: all, of which it gives what it owns.
pub struct Owned {
    terms: Arc<PlainTerms>,
    placement: Placement,
    here: u16,
}

impl Owned {
    fn term(&self, id: VertexId) -> Option<Term> {
        let mut terms = TermBuffer::new();
        self.terms.terms(&[id], &mut terms).ok()?;
        terms.get(0).map(TermRef::into_owned)
    }

    fn id(&self, term: &Term) -> Option<VertexId> {
        let mut ids = Vec::new();
        self.terms.ids(&[term.as_ref()], &mut ids).ok()?;
        ids[0]
    }

    /// As a dictionary's part does, it refuses what it is wrongly asked.
    fn check(&self, owner: u16) -> Result<(), LexiconError> {
        if owner == self.here {
            return Ok(());
        }
        let what = format!("node {owner} owns what node {} was asked for", self.here);
        Err(LexiconError::Io(std::io::Error::other(what)))
    }

    fn key(&self, id: VertexId) -> Option<Vec<u8>> {
        Some(match self.term(id)? {
            Term::NamedNode(iri) => iri.as_str().as_bytes().to_vec(),
            Term::BlankNode(_) => panic!("blank nodes have no key"),
            Term::Literal(literal) => {
                let mut key = Vec::new();
                key::encode_literal(literal.as_ref(), &mut key);
                key
            }
            Term::Triple(triple) => {
                let parts = [
                    triple.subject.clone().into(),
                    triple.predicate.clone().into(),
                    triple.object.clone(),
                ];
                let ids = parts.map(|part: Term| self.id(&part));
                let [Some(subject), Some(predicate), Some(object)] = ids else {
                    return None;
                };
                key::encode_triple([subject, predicate, object]).to_vec()
            }
        })
    }

    fn of_key(&self, kind: Tag, key: &[u8]) -> Option<Term> {
        match kind {
            Tag::Iri => {
                let iri = str::from_utf8(key).ok()?;
                Some(NamedNode::new_unchecked(iri).into())
            }
            Tag::Literal => {
                let mut terms = TermBuffer::new();
                key::decode_literal(key, &mut terms).ok()?;
                terms.get(0).map(TermRef::into_owned)
            }
            _ => {
                let parts = key::decode_triple(key).ok()?.map(|id| self.term(id));
                let [
                    Some(subject),
                    Some(Term::NamedNode(predicate)),
                    Some(object),
                ] = parts
                else {
                    return None;
                };
                let subject = match subject {
                    Term::NamedNode(iri) => oxrdf::NamedOrBlankNode::from(iri),
                    Term::BlankNode(node) => node.into(),
                    _ => return None,
                };
                Some(oxrdf::Triple::new(subject, predicate, object).into())
            }
        }
    }
}

impl PartTerms for Owned {
    fn keys_of(
        &self,
        ids: &[VertexId],
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), LexiconError> {
        for id in ids {
            self.check(self.placement.owner(*id))?;
            each(self.key(*id).as_deref());
        }
        Ok(())
    }

    fn ids_of(
        &self,
        kind: Tag,
        keys: &[&[u8]],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        for key in keys {
            self.check(self.placement.owner_of_hash(key_hash(key)))?;
            ids.push(self.of_key(kind, key).and_then(|term| self.id(&term)));
        }
        Ok(())
    }

    fn blank_label(&self, id: VertexId) -> Option<String> {
        match self.term(id)? {
            Term::BlankNode(node) => Some(node.as_str().to_owned()),
            _ => None,
        }
    }

    fn blank_id(&self, label: &str) -> Option<VertexId> {
        self.id(&oxrdf::BlankNode::new_unchecked(label).into())
    }
}

/// Gives memory up to a limit, without end at first, and counts what is held.
pub struct Counted {
    held: AtomicU64,
    limit: AtomicU64,
}

impl Default for Counted {
    fn default() -> Counted {
        Counted {
            held: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
        }
    }
}

impl MemoryBudget for Counted {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let limit_bytes = self.limit.load(Ordering::Relaxed);
        let more = |held: u64| held.checked_add(bytes).filter(|held| *held <= limit_bytes);
        let grown = self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        grown.map(|_| ()).map_err(|used_bytes| MemoryExceeded {
            limit_bytes,
            used_bytes,
            of_all: false,
        })
    }

    fn release(&self, bytes: u64) {
        let before = self.held.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes, "{bytes} bytes of {before} are given back");
    }
}

fn host(service: Option<Arc<dyn Service + Send>>) -> Arc<Generous> {
    Arc::new(Generous {
        service,
        ..Generous::default()
    })
}

/// Gives its nodes memory without end.
#[derive(Default)]
pub struct Generous {
    pub service: Option<Arc<dyn Service + Send>>,
    memory: Arc<Counted>,
    /// What ends the queries that could ask other endpoints here.
    stops: Mutex<Vec<Arc<dyn Stop + Send>>>,
}

impl Host for Generous {
    fn memory(&self, _bytes: u64) -> Arc<dyn MemoryBudget + Send> {
        Arc::clone(&self.memory) as Arc<_>
    }

    fn service(
        &self,
        _time: Option<Duration>,
        stop: Arc<dyn Stop + Send>,
    ) -> Option<Arc<dyn Service + Send>> {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.retain(|stop| stop.reason().is_none());
        stops.push(stop);
        self.service.clone()
    }

    fn wake(&self) {}
}

pub type PlainNode = Node<HeldPart, Owned>;

/// What nodes are made of.
pub struct Matter {
    quads: Vec<Quad>,
    kind: VertexId,
    pub placement: Placement,
    pub terms: Arc<PlainTerms>,
    /// By node.
    hosts: Vec<Arc<Generous>>,
    form: PartForm,
    reading: ReadPolicy,
}

impl Matter {
    /// A dataset in so many parts, ids dealt out in blocks of two, so that hardly an edge has both ends in one part.
    pub fn new(dataset: &Dataset, parts: u16, service: Option<Arc<dyn Service + Send>>) -> Matter {
        let placement = Placement::in_turn(parts, 1, 64).expect("a placement");
        Matter {
            hosts: std::iter::repeat_n(service, parts.into())
                .map(host)
                .collect(),
            ..Matter::placed(dataset, placement, &[])
        }
    }

    /// A dataset in parts by this placement; the first ids are those of these terms, in order.
    pub fn placed(dataset: &Dataset, placement: Placement, first: &[Term]) -> Matter {
        let nodes = placement.nodes();
        let mut terms = PlainTerms::default();
        for term in first {
            terms.id(term);
        }
        let quads = terms.quads(dataset);
        for quad in dataset {
            intern_parts(&quad.object.into_owned(), &mut terms);
        }
        Matter {
            quads,
            kind: terms.id(&vocabulary::TYPE.into_owned().into()),
            placement,
            terms: Arc::new(terms),
            hosts: std::iter::repeat_n(None, nodes.into()).map(host).collect(),
            form: PartForm::Plain,
            reading: ReadPolicy::Never,
        }
    }

    /// The same in parts of this form, whose lists others read so.
    pub fn in_form(self, form: PartForm, reading: ReadPolicy) -> Matter {
        Matter {
            form,
            reading,
            ..self
        }
    }

    /// A node at this place of a fabric, with its part.
    pub fn node(&self, fabric: Arc<dyn Fabric>) -> Arc<PlainNode> {
        let here = fabric.here().0;
        let owned = Owned {
            terms: Arc::clone(&self.terms),
            placement: self.placement.clone(),
            here,
        };
        let part = HeldPart::new(self.form, &self.quads, &self.placement, self.kind, here);
        let ground = Ground::new(
            fabric,
            self.placement.clone(),
            Some(self.kind),
            part,
            owned,
            Statistics::default(),
        );
        let ground = ground.reading(self.reading);
        let host = Arc::clone(&self.hosts[usize::from(here)]);
        Arc::new(Node::new(ground, host as Arc<dyn Host>))
    }

    /// Memory for a query of a node, which counts what all of them hold.
    pub fn memory(&self, node: u16) -> Arc<Counted> {
        Arc::clone(&self.hosts[usize::from(node)].memory)
    }

    /// Gives a node no more than this from now on.
    pub fn limit(&self, node: u16, bytes: u64) {
        self.memory(node).limit.store(bytes, Ordering::Relaxed);
    }

    /// Queries of a node whose calls of other endpoints may go on.
    pub fn calling(&self, node: u16) -> usize {
        let stops = &self.hosts[usize::from(node)].stops;
        let stops = stops.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |stop: &&Arc<dyn Stop + Send>| stop.reason().is_none();
        stops.iter().filter(goes_on).count()
    }

    /// Bytes that queries hold on a node.
    pub fn held_bytes(&self, node: u16) -> u64 {
        self.memory(node).held.load(Ordering::Relaxed)
    }

    /// The term of an id.
    pub fn term(&self, id: VertexId) -> Option<Term> {
        let mut terms = TermBuffer::new();
        self.terms
            .terms(&[id], &mut terms)
            .expect("a term of the graph");
        terms.get(0).map(TermRef::into_owned)
    }

    /// A query's plan.
    pub fn plan(
        &self,
        text: &str,
        base: Option<&str>,
        statistics: &Statistics,
    ) -> Result<(Plan, Vec<Option<VertexId>>), String> {
        let options = ParseOptions {
            base: base.map(str::to_owned),
            ..ParseOptions::default()
        };
        let query = query::parse(text, &options).map_err(|error| error.to_string())?;
        let constants: Vec<_> = query.constants().iter().map(Term::as_ref).collect();
        let mut ids = Vec::new();
        let known = self.terms.ids(&constants, &mut ids);
        known.map_err(|error| error.to_string())?;
        let planner = Planner::new(statistics.clone());
        let plan = planner.plan(&query, &ids, &[], PlanOptions::DEFAULT);
        Ok((plan.map_err(|error| error.to_string())?, ids))
    }
}

/// A graph in parts.
pub struct World {
    drive: Drive,
    pub nodes: Vec<Arc<PlainNode>>,
    pub matter: Matter,
    /// What plans are made with.
    pub statistics: Statistics,
    /// Whether plans expect many rows of each step, so that whatever can be is done at the data.
    pub expects_many: bool,
    pub chunk_rows: usize,
}

impl World {
    /// A dataset in so many parts, of nodes in this process.
    pub fn new(dataset: &Dataset, parts: u16, service: Option<Arc<dyn Service + Send>>) -> World {
        World::over(Drive::local(parts), dataset, service)
    }

    /// A dataset in as many parts as there are nodes.
    pub fn over(
        drive: (Drive, Vec<Arc<dyn Fabric>>),
        dataset: &Dataset,
        service: Option<Arc<dyn Service + Send>>,
    ) -> World {
        let parts = drive.1.len() as u16;
        World::of(drive, Matter::new(dataset, parts, service))
    }

    /// Some matter in as many parts as there are nodes.
    pub fn of((drive, fabrics): (Drive, Vec<Arc<dyn Fabric>>), matter: Matter) -> World {
        let nodes = fabrics.into_iter();
        World {
            drive,
            nodes: nodes.map(|fabric| matter.node(fabric)).collect(),
            matter,
            statistics: Statistics::default(),
            expects_many: false,
            chunk_rows: 3,
        }
    }

    /// Has plans expect many rows, whatever there are.
    pub fn expecting_many(mut self) -> World {
        self.expects_many = true;
        self
    }

    /// Walks chunks of so many rows.
    pub fn with_chunks(mut self, rows: usize) -> World {
        self.chunk_rows = rows;
        self
    }

    /// Has plans made as for a graph with these sizes, whatever it has.
    pub fn with_sizes(mut self, random: &mut Random) -> World {
        let part = self.nodes[0].ground().part();
        let predicates = store::view::GraphView::predicates(part);
        let vertices = predicates
            .into_iter()
            .map(|predicate| store::view::GraphView::predicate_vertex(part, predicate));
        let sizes = vertices.map(|vertex| PredicateStatistics {
            vertex,
            subjects: random.between(1, 100) as u64,
            objects: random.between(1, 100) as u64,
            edges: random.between(100, 10_000) as u64,
        });
        self.statistics.predicates = sizes.collect();
        self.statistics.predicates.sort_by_key(|one| one.vertex);
        let edges = self.statistics.predicates.iter().map(|one| one.edges);
        self.statistics.quads = edges.sum();
        self
    }

    /// A query's plan.
    pub fn plan(
        &self,
        text: &str,
        base: Option<&str>,
    ) -> Result<(Plan, Vec<Option<VertexId>>), String> {
        let (mut plan, ids) = self.matter.plan(text, base, &self.statistics)?;
        if self.expects_many {
            let steps = plan.steps.iter_mut();
            steps.for_each(|step| step.estimate.rows = 1e6);
        }
        Ok((plan, ids))
    }

    /// What all nodes did so far.
    pub fn figures(&self) -> Figures {
        let mut sum = Figures::default();
        for figures in self.nodes.iter().map(|node| node.figures()) {
            sum.shipped.rows += figures.shipped.rows;
            sum.shipped.answer += figures.shipped.answer;
            sum.shipped.kept += figures.shipped.kept;
            sum.fetched.questions += figures.fetched.questions;
            sum.fetched.lists += figures.fetched.lists;
            sum.fetched.lists_read += figures.fetched.lists_read;
        }
        sum
    }

    /// Everybody does what there is to do; whether there was anything.
    pub fn turn(&self) -> bool {
        self.drive.turn(&self.nodes)
    }

    /// What is under way comes, and nobody has a query any more.
    fn settle(&self) {
        let is_known = || self.nodes.iter().any(|node| node.queries() > 0);
        let mut idle = 0;
        loop {
            if self.turn() {
                continue;
            }
            idle += 1;
            if !is_known() || self.drive.is_at_once() || idle > TURNS_MAX {
                break;
            }
        }
        assert!(!is_known(), "a query that has ended is forgotten");
    }

    /// The answer to a query, asked of a node.
    pub fn answer(
        &self,
        text: &str,
        base: Option<&str>,
        home: usize,
        mode: Mode,
    ) -> Result<Results, String> {
        let (plan, ids) = self.plan(text, base)?;
        self.turn();
        let plan = Arc::new(plan);
        let memory = self.matter.memory(home as u16);
        let visit = Visit::new(self.nodes[home].ground(), Arc::clone(&memory) as Arc<_>);
        let question = PartsQuery {
            plan: Arc::clone(&plan),
            ids: ids.clone(),
            mode,
            now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
            seed: 7,
            chunk_rows: self.chunk_rows,
            memory,
            visit: visit.clone(),
            memory_bytes: 1 << 30,
            stop: Arc::new(Unlimited),
            time: None,
            is_profiled: false,
            trace: None,
        };
        let mut running = self.nodes[home]
            .start(question)
            .map_err(|error| error.to_string())?;
        let mut collected = Collected::new(&plan, &ids);
        let mut chunk = Chunk::new();
        let mut idle = 0;
        loop {
            match running
                .next(&mut chunk)
                .map_err(|error| error.to_string())?
            {
                Status::Rows => {
                    idle = 0;
                    running.prepared(|prepared| {
                        let term = |id| prepared.locals().term(id).or_else(|| self.matter.term(id));
                        collected.add(chunk.rows(), |slot| chunk.column(slot), &term);
                    });
                }
                Status::Done => break,
                Status::Yield | Status::Pending(_) | Status::Starved => {
                    idle = if self.turn() { 0 } else { idle + 1 };
                    assert!(idle < TURNS_MAX, "nobody goes on with {text}\n{plan:#?}");
                }
            }
        }
        if let Form::Describe(_) = plan.form {
            self.describe(&running, &visit, &mut collected)?;
        }
        drop(running);
        self.settle();
        Ok(collected.into_results())
    }

    /// A description waits with the thread that asks for it, so another one does the nodes' work meanwhile.
    fn describe(
        &self,
        running: &Running<HeldPart, Owned>,
        visit: &Visit<HeldPart, Owned>,
        collected: &mut Collected<'_>,
    ) -> Result<(), String> {
        let mut seeds = Seeds::new(Limits::none());
        let added = seeds.add(&collected.described);
        added.map_err(|error| error.to_string())?;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    self.turn();
                }
            });
            let mut each = |edges: &Edges| {
                collected.add_edges(edges, &|id| self.matter.term(id));
                Ok(())
            };
            let described = running.prepared(|prepared| {
                let view = visit.view();
                describe(prepared, &view, Limits::none(), &mut seeds, &mut each)
            });
            is_done.store(true, Ordering::Relaxed);
            described
                .unwrap_or(Ok(()))
                .map_err(|error| error.to_string())
        })
    }
}

/// Gives ids to what triple terms are made of, as a dictionary has them.
fn intern_parts(term: &Term, terms: &mut PlainTerms) {
    if let Term::Triple(triple) = term {
        let parts = [
            triple.subject.clone().into(),
            triple.predicate.clone().into(),
            triple.object.clone(),
        ];
        for part in parts {
            terms.id(&part);
            intern_parts(&part, terms);
        }
    }
}

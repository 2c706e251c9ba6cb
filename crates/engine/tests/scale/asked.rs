//! A query as a client's pieces of work: the parameter's id, its degree, the walk, the terms of the answer.
//!
//! So a database over parts answers a text whose shape it keeps a plan of. The text itself is not read here, and no format
//! is written: both are of the node that was asked, and take the same on one node as on many.

use super::drive::{Client, Step};
use super::network::Nanoseconds;
use cluster::{Mode, PartsQuery, Running, Visit};
use engine::parts::PartNode;
use explore::limits::Unlimited;
use explore::{Chunk, Status};
use oxrdf::Term;
use query::plan::{Form, Plan, Slot};
use query::statistics::DegreeQuestion;
use query::{ParseOptions, PlanOptions, Planner};
use rdf::dictionary::part::PartDictionary;
use rdf::{Lexicon, Progress, Tag, TermBuffer, Ticket, VertexId};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use store::Lists;
use store::view::{GraphScope, GraphView, SegmentKey};

type PartVisit = Visit<engine::parts::Part, PartDictionary>;
type PartRunning = Running<engine::parts::Part, PartDictionary>;

/// Rows of a full chunk, as the engine has them.
const CHUNK_ROWS: usize = 1024;

/// Bytes that a query may have on each node.
const QUERY_BYTES: u64 = 1 << 30;

/// A plan that is kept.
#[derive(Clone)]
pub struct Kept {
    pub plan: Arc<Plan>,
    pub ids: Vec<Option<VertexId>>,
    /// What is asked of a parameter's degree.
    pub questions: Vec<DegreeQuestion>,
}

/// What a query gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    /// Of the ids in all rows, whatever their order.
    pub checksum: u64,
    /// Terms that were made of ids.
    pub terms: u64,
    pub began: Nanoseconds,
    pub ended: Nanoseconds,
}

/// Asks other nodes while the thread that asks does what there is to do: before figures begin.
pub fn kept(cluster: &mut super::drive::Cluster, text: &str, parameter: Option<&Term>) -> Kept {
    let query = query::parse(text, &ParseOptions::default()).expect("a query of the workload");
    let made: Rc<RefCell<Option<Kept>>> = Rc::default();
    let (told, constants) = (Rc::clone(&made), query.constants().to_vec());
    let parameter = parameter.cloned();
    let mut visit: Option<PartVisit> = None;
    let client: Client = Box::new(move |node| {
        let visit = visit.get_or_insert_with(|| Visit::new(node.ground(), Arc::new(Unlimited)));
        let lexicon = visit.lexicon();
        let terms: Vec<_> = constants.iter().map(Term::as_ref).collect();
        if let Progress::Pending(ticket) = lexicon.fetch(&[], &terms).expect("all are there") {
            return Step::Waits(ticket);
        }
        let statistics = match visit.statistics().expect("all are there") {
            Ok(statistics) => statistics,
            Err(ticket) => return Step::Waits(ticket),
        };
        let mut ids = Vec::new();
        lexicon.ids(&terms, &mut ids).expect("they are here");
        let questions = query.degree_questions(&ids);
        let degrees = match degrees(visit, &questions) {
            Ok(degrees) => degrees,
            Err(ticket) => return Step::Waits(ticket),
        };
        let planner = Planner::new((*statistics).clone());
        let plan = planner.plan(&query, &ids, &degrees, PlanOptions::DEFAULT);
        let of = |term: &Term| constants.iter().position(|constant| constant == term);
        let vertex = parameter.as_ref().and_then(of).and_then(|place| ids[place]);
        let asked = questions.into_iter();
        *told.borrow_mut() = Some(Kept {
            plan: Arc::new(plan.expect("a query of the workload")),
            questions: asked.filter(|it| Some(it.vertex) == vertex).collect(),
            ids,
        });
        Step::Over
    });
    cluster.comes(0, client);
    cluster.run();
    made.take().expect("the client is gone")
}

/// As the engine does, list by list.
fn degrees(visit: &PartVisit, questions: &[DegreeQuestion]) -> Result<Vec<u64>, Ticket> {
    let view = visit.view();
    let mut lists = Lists::new();
    let mut degrees = Vec::new();
    for question in questions {
        let predicate = question.predicate.and_then(|it| view.predicate_id(it));
        let Some(predicate) = predicate else {
            degrees.push(0);
            continue;
        };
        let segment = SegmentKey {
            predicate,
            direction: question.direction,
        };
        let keys = [question.vertex];
        let progress = view.lists(segment, &keys, GraphScope::Default, &mut lists);
        if let Progress::Pending(ticket) = progress.expect("all are there") {
            return Err(ticket);
        }
        degrees.push(lists.edges(0));
    }
    Ok(degrees)
}

/// How a query is asked.
pub struct Asked {
    pub kept: Kept,
    /// The term that takes a parameter's place, and which constant that is.
    pub parameter: Option<(usize, Term)>,
    pub mode: Mode,
    /// Whether the terms of the answer are fetched.
    pub has_terms: bool,
}

enum Stage {
    Begins,
    Names(PartVisit),
    Measures(PartVisit),
    Starts(PartVisit),
    Walks(Box<PartRunning>),
    Tells(Box<PartRunning>, PartVisit, Vec<VertexId>),
    Over,
}

/// A query that is being asked.
pub struct Asking {
    asked: Asked,
    slots: Vec<Slot>,
    stage: Stage,
    chunk: Chunk,
    pub answer: Answer,
}

impl Asking {
    pub fn new(asked: Asked) -> Asking {
        let Form::Select(slots) = &asked.kept.plan.form else {
            panic!("the workload selects")
        };
        Asking {
            slots: slots.clone(),
            asked,
            stage: Stage::Begins,
            chunk: Chunk::new(),
            answer: Answer::default(),
        }
    }

    fn now(node: &Arc<PartNode>) -> Nanoseconds {
        node.ground().fabric().now().as_nanos() as Nanoseconds
    }

    /// Goes on.
    pub fn step(&mut self, node: &Arc<PartNode>) -> Step {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Begins => {
                self.answer.began = Asking::now(node);
                let visit = Visit::new(node.ground(), Arc::new(Unlimited));
                self.goes_on(Stage::Names(visit))
            }
            Stage::Names(visit) => self.names(visit),
            Stage::Measures(visit) => match degrees(&visit, &self.asked.kept.questions) {
                Ok(_) => self.goes_on(Stage::Starts(visit)),
                Err(ticket) => self.waits(ticket, Stage::Measures(visit)),
            },
            Stage::Starts(visit) => {
                let running = node.start(self.question(visit)).expect("all are there");
                self.goes_on(Stage::Walks(Box::new(running)))
            }
            Stage::Walks(running) => self.walks(node, running),
            Stage::Tells(running, visit, ids) => {
                let lexicon = visit.lexicon();
                match lexicon.fetch(&ids, &[]).expect("all are there") {
                    Progress::Pending(ticket) => {
                        return self.waits(ticket, Stage::Tells(running, visit, ids));
                    }
                    Progress::Ready => {}
                }
                let mut terms = TermBuffer::new();
                lexicon.terms(&ids, &mut terms).expect("they are here");
                self.answer.terms += terms.len() as u64;
                self.goes_on(Stage::Walks(running))
            }
            Stage::Over => Step::Over,
        }
    }

    fn goes_on(&mut self, stage: Stage) -> Step {
        self.stage = stage;
        Step::Again
    }

    fn waits(&mut self, ticket: Ticket, stage: Stage) -> Step {
        self.stage = stage;
        Step::Waits(ticket)
    }

    fn names(&mut self, visit: PartVisit) -> Step {
        let Some((place, term)) = &self.asked.parameter else {
            return self.goes_on(Stage::Starts(visit));
        };
        let (place, terms) = (*place, [term.as_ref()]);
        let lexicon = visit.lexicon();
        match lexicon.fetch(&[], &terms).expect("all are there") {
            Progress::Pending(ticket) => return self.waits(ticket, Stage::Names(visit)),
            Progress::Ready => {}
        }
        let mut ids = Vec::new();
        lexicon.ids(&terms, &mut ids).expect("it is here");
        let vertex = ids[0].expect("an instance of the workload is stored");
        self.asked.kept.ids[place] = Some(vertex);
        let questions = self.asked.kept.questions.iter_mut();
        questions.for_each(|question| question.vertex = vertex);
        let mut plan = (*self.asked.kept.plan).clone();
        plan.constants[place] = term.clone();
        self.asked.kept.plan = Arc::new(plan);
        self.goes_on(Stage::Measures(visit))
    }

    fn question(&self, visit: PartVisit) -> PartsQuery<engine::parts::Part, PartDictionary> {
        PartsQuery {
            plan: Arc::clone(&self.asked.kept.plan),
            ids: self.asked.kept.ids.clone(),
            mode: self.asked.mode,
            now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
            seed: 7,
            chunk_rows: CHUNK_ROWS,
            memory: Arc::new(Unlimited),
            visit,
            memory_bytes: QUERY_BYTES,
            stop: Arc::new(Unlimited),
            time: None,
            is_profiled: false,
            trace: None,
        }
    }

    fn walks(&mut self, node: &Arc<PartNode>, mut running: Box<PartRunning>) -> Step {
        match running.next(&mut self.chunk).expect("all are there") {
            Status::Rows => {
                let ids = self.takes_rows();
                if !self.asked.has_terms {
                    return self.goes_on(Stage::Walks(running));
                }
                let visit = Visit::new(node.ground(), Arc::new(Unlimited));
                self.goes_on(Stage::Tells(running, visit, ids))
            }
            Status::Done => {
                drop(running);
                self.answer.ended = Asking::now(node);
                Step::Over
            }
            Status::Pending(ticket) => self.waits(ticket, Stage::Walks(running)),
            Status::Yield | Status::Starved => self.goes_on(Stage::Walks(running)),
        }
    }

    /// Adds the rows of the chunk to the answer; what is in them.
    fn takes_rows(&mut self) -> Vec<VertexId> {
        let column = |slot: &Slot| self.chunk.column(*slot).expect("it is selected");
        let columns: Vec<&[VertexId]> = self.slots.iter().map(column).collect();
        let rows = self.chunk.rows() as usize;
        for row in 0..rows {
            let mut mixed = 0_u64;
            for column in &columns {
                mixed = (mixed ^ column[row].bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed ^= mixed >> 29;
            }
            self.answer.checksum = self.answer.checksum.wrapping_add(mixed);
        }
        self.answer.rows += rows as u64;
        if !self.asked.has_terms {
            return Vec::new();
        }
        let mut ids: Vec<VertexId> = columns.into_iter().flatten().copied().collect();
        ids.retain(|id| !id.has_tag(Tag::QueryLocal));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// A client that asks one query, and where its answer is found afterwards.
pub fn once(asked: Asked) -> (Client, Rc<RefCell<Answer>>) {
    let answer: Rc<RefCell<Answer>> = Rc::default();
    let told = Rc::clone(&answer);
    let mut asking = Asking::new(asked);
    let client: Client = Box::new(move |node| {
        let step = asking.step(node);
        if let Step::Over = step {
            *told.borrow_mut() = asking.answer;
        }
        step
    });
    (client, answer)
}

//! Samples of partial walks, for the planner: some rows are taken one pattern further.
//!
//! | ends of the pattern | what is counted | what the new sample has |
//! |---|---|---|
//! | a constant and a new variable, first | the constant's neighbours | some of them |
//! | two new variables, first | edges of some of the keys, scaled up | some of these edges |
//! | a column and a new variable | the neighbours of every row | some of these pairs |
//! | two columns, a column and a constant | rows that have the edge | these rows |
//!
//! Of a list of N things n are taken by cutting it into n strata of equal length and taking one of each,
//! which one by random numbers that follow from the question's seed: no two answers to a question
//! differ, and nothing that is periodic in the data is met in step. Of keys the end with more of them is
//! listed, several for each row wanted, and edges are then taken in proportion to the keys' degrees: what
//! has many edges is in the sample about as often as in the graph.
//!
//! Cost: a lookup for each row in and two reads for each row out, in batches. Where that does not hold
//! (lists that have to be filtered by graph, longer than [`draw::FILTERED_MAX`]) the answer is `None`: the
//! planner then has only its statistics. Memory is drawn on the query's budget; where that is refused,
//! the answer is `None`, too. The query's deadline and its cancelling are looked at before each question.

mod draw;

use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::scope::{Dataset, ResolvedScope};
use draw::Draw;
use query::algebra::Pattern;
use query::plan::{ConstantId, DatasetClause, Node, Scope, Slot, Source};
use query::sampling::{Interrupted, SampleId, SampleQuestion, Sampled, Sampler};
use rdf::{Direction, Tag, VertexId};
use store::view::GraphView;

/// Samples of the store, for one query; patterns of other sources have none.
pub struct Samples<'a, V> {
    view: &'a V,
    dataset: Dataset,
    ids: Vec<VertexId>,
    limits: Limits<'a>,
    kept: Vec<Sample>,
    kept_bytes: u64,
    reservation: Reservation<'a>,
    failed: Option<WalkError>,
}

/// Rows of a partial walk: columns of equal length.
#[derive(Default)]
struct Sample {
    slots: Vec<Slot>,
    columns: Vec<Vec<VertexId>>,
    rows: usize,
}

impl Sample {
    fn column(&self, slot: Slot) -> Option<&[VertexId]> {
        let at = self.slots.iter().position(|known| *known == slot)?;
        Some(&self.columns[at])
    }

    /// Some of its rows, one of them perhaps several times.
    fn gather(&self, rows: &[u32]) -> Sample {
        let gather =
            |column: &Vec<VertexId>| rows.iter().map(|row| column[*row as usize]).collect();
        Sample {
            slots: self.slots.clone(),
            columns: self.columns.iter().map(gather).collect(),
            rows: rows.len(),
        }
    }

    fn push(&mut self, slot: Slot, column: Vec<VertexId>) {
        assert!(
            self.columns.is_empty() || self.rows == column.len(),
            "columns of a sample are equally long"
        );
        self.rows = column.len();
        self.slots.push(slot);
        self.columns.push(column);
    }

    fn bytes(&self) -> u64 {
        (self.slots.len() * self.rows * size_of::<VertexId>()) as u64
    }
}

/// A place of a pattern, as a sample sees it.
#[derive(Clone, Copy)]
enum PatternEnd<'s> {
    Constant(VertexId),
    Column(&'s [VertexId]),
    New(Slot),
}

/// What came of one question.
struct Drawn {
    sample: Sample,
    rows_in: u64,
    found: f64,
    touched: u64,
}

impl Drawn {
    fn nothing(rows_in: u64) -> Drawn {
        Drawn {
            sample: Sample::default(),
            rows_in,
            found: 0.0,
            touched: 1,
        }
    }
}

impl<'a, V: GraphView> Samples<'a, V> {
    /// No samples yet. `dataset` and `constants` are the query's: the ids that the lexicon has for its
    /// constants, `None` where it has none.
    pub fn new(
        view: &'a V,
        dataset: &DatasetClause,
        constants: &[Option<VertexId>],
        limits: Limits<'a>,
    ) -> Samples<'a, V> {
        // What is stored nowhere is in no graph, whatever its number.
        let absent = |number: usize| VertexId::new(Tag::QueryLocal, number as u64);
        let numbered = constants.iter().enumerate();
        let ids: Vec<VertexId> = numbered.map(|(at, id)| id.unwrap_or(absent(at))).collect();
        Samples {
            view,
            dataset: Dataset::new(dataset, &ids),
            ids,
            limits,
            kept: Vec::new(),
            kept_bytes: 0,
            reservation: Reservation::new(limits),
            failed: None,
        }
    }

    /// Why planning was [`Interrupted`].
    pub fn into_error(self) -> Option<WalkError> {
        self.failed
    }

    fn answer(&mut self, question: &SampleQuestion) -> Result<Option<Sampled>, WalkError> {
        self.limits.check()?;
        let Some(drawn) = self.drawn(question)? else {
            return Ok(None);
        };
        let bytes = self.kept_bytes + drawn.sample.bytes();
        if self.reservation.cover(bytes).is_err() {
            return Ok(None);
        }
        self.kept_bytes = bytes;
        let sampled = Sampled {
            id: SampleId(self.kept.len() as u32),
            rows_in: drawn.rows_in,
            found: drawn.found,
            rows: drawn.sample.rows as u64,
            touched: drawn.touched,
        };
        self.kept.push(drawn.sample);
        Ok(Some(sampled))
    }

    fn drawn(&self, question: &SampleQuestion) -> Result<Option<Drawn>, WalkError> {
        let before = match question.from {
            None => None,
            Some(SampleId(number)) => match self.kept.get(number as usize) {
                None => return Ok(None),
                known => known,
            },
        };
        let rows_in = before.map_or(1, |sample| sample.rows as u64);
        let Pattern {
            subject,
            predicate: Node::Constant(predicate),
            object,
            graph,
            source: Source::STORE,
        } = question.pattern
        else {
            return Ok(None);
        };
        let scope = match self.scope(graph) {
            ResolvedScope::Fixed(scope) => scope,
            ResolvedScope::Nothing => return Ok(Some(Drawn::nothing(rows_in))),
            ResolvedScope::PerRow(_) => return Ok(None),
        };
        let Some(predicate) = self.view.predicate_id(self.id(predicate)) else {
            return Ok(Some(Drawn::nothing(rows_in)));
        };
        let draw = Draw {
            view: self.view,
            limits: self.limits,
            predicate,
            scope: self.dataset.graphs(scope),
            rows_max: u64::from(question.rows_max),
            seed: question.seed,
        };
        let (subject, object) = (self.end(before, subject), self.end(before, object));
        match (before, subject, object) {
            (None, PatternEnd::Constant(from), PatternEnd::New(into)) => {
                draw.first(from, Direction::Out, into)
            }
            (None, PatternEnd::New(into), PatternEnd::Constant(from)) => {
                draw.first(from, Direction::In, into)
            }
            (None, PatternEnd::New(subject), PatternEnd::New(object)) => {
                draw.first_edges([subject, object])
            }
            (Some(before), PatternEnd::Column(from), PatternEnd::New(into)) => {
                draw.expand(before, from, Direction::Out, into)
            }
            (Some(before), PatternEnd::New(into), PatternEnd::Column(from)) => {
                draw.expand(before, from, Direction::In, into)
            }
            (Some(before), PatternEnd::Column(from), PatternEnd::Column(to)) => {
                draw.check(before, from, to)
            }
            (Some(before), PatternEnd::Column(column), PatternEnd::Constant(constant)) => {
                draw.check_constant(before, constant, Direction::In, column)
            }
            (Some(before), PatternEnd::Constant(constant), PatternEnd::Column(column)) => {
                draw.check_constant(before, constant, Direction::Out, column)
            }
            _ => Ok(None),
        }
    }

    fn id(&self, constant: ConstantId) -> VertexId {
        self.ids[constant.0 as usize]
    }

    fn scope(&self, graph: Option<Node>) -> ResolvedScope {
        let scope = match graph {
            None => Scope::Default,
            Some(graph) => Scope::Named(graph),
        };
        self.dataset.resolve(scope, &self.ids)
    }

    fn end<'s>(&self, sample: Option<&'s Sample>, node: Node) -> PatternEnd<'s> {
        match node {
            Node::Constant(constant) => PatternEnd::Constant(self.id(constant)),
            Node::Slot(slot) => {
                let column = sample.and_then(|sample| sample.column(slot));
                column.map_or(PatternEnd::New(slot), PatternEnd::Column)
            }
        }
    }
}

impl<V: GraphView> Sampler for Samples<'_, V> {
    fn sample(
        &mut self,
        questions: &[SampleQuestion],
    ) -> Result<Vec<Option<Sampled>>, Interrupted> {
        let answers = questions.iter().map(|question| self.answer(question));
        answers.collect::<Result<_, WalkError>>().map_err(|error| {
            self.failed = Some(error);
            Interrupted
        })
    }
}

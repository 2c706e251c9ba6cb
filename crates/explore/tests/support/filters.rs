//! Runs one filter over rows of given terms, through a plan over a graph that holds them.

use super::{DEFAULT, PlainTerms, Quad, constants};
use explore::{Chunk, Environment, Limits, Options, Status, Walk, WalkError, prepare};
use oxrdf::{Literal, NamedNode, Term};
use query::expression::Expression;
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Node, Plan, Scope, Slot, Source, Step,
    Weight,
};
use rdf::{Direction, VertexId};
use store::testing::snapshot_of;

pub fn literal(lexical: &str, datatype: &str) -> Term {
    let datatype = format!("http://www.w3.org/2001/XMLSchema#{datatype}");
    Literal::new_typed_literal(lexical, NamedNode::new_unchecked(datatype)).into()
}

pub fn text(lexical: &str) -> Term {
    Literal::new_simple_literal(lexical).into()
}

pub fn tagged(lexical: &str, tag: &str) -> Term {
    Literal::new_language_tagged_literal_unchecked(lexical, tag).into()
}

pub fn iri(iri: &str) -> Term {
    NamedNode::new_unchecked(iri).into()
}

type Graph = (PlainTerms, Vec<VertexId>, Vec<Term>, Vec<Quad>);

/// One subject for each row, one predicate for each column.
fn graph_of(rows: &[Vec<Term>], width: usize) -> Graph {
    let mut lexicon = PlainTerms::default();
    let subjects: Vec<_> = (0..rows.len())
        .map(|row| lexicon.id(&iri(&format!("row:{row}"))))
        .collect();
    let predicates: Vec<Term> = (0..width).map(|at| iri(&format!("column:{at}"))).collect();
    let mut quads = Vec::new();
    for (row, terms) in rows.iter().enumerate() {
        for (predicate, term) in predicates.iter().zip(terms) {
            let (predicate, term) = (lexicon.id(predicate), lexicon.id(term));
            quads.push((subjects[row], predicate, term, DEFAULT));
        }
    }
    (lexicon, subjects, predicates, quads)
}

/// Which rows a filter keeps. Columns as given, and one more for the row's number.
pub fn kept_rows(
    filter: Expression,
    constants_: Vec<Term>,
    rows: &[Vec<Term>],
    chunk_rows: usize,
) -> Result<Vec<usize>, WalkError> {
    let width = rows.first().map_or(0, Vec::len);
    let (lexicon, subjects, predicates, quads) = graph_of(rows, width);
    let first = constants_.len() as u32;
    let mut plan = Plan {
        variables: (0..=width).map(|slot| format!("v{slot}")).collect(),
        constants: [constants_, predicates].concat(),
        dataset: DatasetClause::default(),
        base: None,
        steps: Vec::new(),
        form: Form::Select(vec![Slot(width as u16)]),
        weight: Weight::Light,
    };
    let row_slot = Slot(width as u16);
    let mut push = |action, keep: &[Slot]| {
        let mut keep = keep.to_vec();
        keep.sort();
        plan.steps.push(Step {
            action,
            keep,
            estimate: Estimate::default(),
        });
    };
    let column = |at: usize| Node::Constant(ConstantId(first + at as u32));
    let (direction, scope, source) = (Direction::Out, Scope::Default, Source::STORE);
    push(
        Action::ExpandKeys {
            predicate: column(0),
            direction,
            scope,
            into: row_slot,
            source,
        },
        &[row_slot],
    );
    let mut keep = vec![row_slot];
    for at in 0..width {
        let (from, into) = (Node::Slot(row_slot), Slot(at as u16));
        keep.push(into);
        push(
            Action::Expand {
                from,
                predicate: column(at),
                direction,
                scope,
                into,
                source,
            },
            &keep,
        );
    }
    push(Action::Filter(filter), &[row_slot]);
    let ids = constants(&plan, &lexicon);
    let view = snapshot_of(&quads, None);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &view, Limits::none(), &environment)?;
    let options = Options {
        chunk_rows,
        ..Options::default()
    };
    let mut walk = Walk::new(&prepared, &view, &lexicon, Limits::none(), options);
    let (mut chunk, mut kept) = (Chunk::new(), Vec::new());
    while walk.next(&mut chunk)? == Status::Rows {
        let found = chunk.column(row_slot).expect("projected").iter();
        let row = |id| subjects.iter().position(|subject| subject == id);
        kept.extend(found.map(|id| row(id).expect("a row")));
    }
    kept.sort_unstable();
    Ok(kept)
}

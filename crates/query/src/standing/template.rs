//! Many standing queries as one: a text with named parameters, to which a table gives terms.
//!
//! **Meaning.** A row of the table is an instance: the query with the row's terms given for its parameters, as
//! [`Given`](crate::parse::Given) says it. The table is a [`Element::Given`] in the query.
//!
//! **One walk for all rows.** Where [`StandingTemplate::sharing`] says so, the query is one whose rows are those of all instances,
//! each beside its parameters ([`StandingTemplate::parameters`]), so that one walk answers them all. Let `t` be a row of the table
//! T, `E` a part of the query with the table in it, and `E(t)` the same with `t` alone. For each part that is shared
//!
//! ```text
//!   the rows of E that are compatible with t  =  the rows of E(t) that are        (1)
//! ```
//!
//! and at the outermost `WHERE`, whose rows all have their `t`, the rows of E are those of all E(t), each once. (1) holds
//! for T itself and for what has no table in it. It is kept by joins, unions, filters, `BIND`, `OPTIONAL`, `MINUS`, and
//! `LATERAL`: each makes a row of E of rows that are compatible with `t` if it is, and `MINUS` and `OPTIONAL` look only at
//! rows which are compatible with a row that has its `t`. `EXISTS` looks at one row. `DISTINCT` keeps it where the
//! parameters are among its columns, grouping where they are among its keys. What else looks at rows together does not:
//!
//! | | instead |
//! |---|---|
//! | `LIMIT`, `OFFSET` | a walk for each instance |
//! | aggregates without grouping: a row even where nothing matches | a walk for each instance |
//! | a sub-query with aggregates that are not grouped by the parameters | a walk for each instance |
//! | a table where some parameters do not occur: its rows there are not distinct | a walk for each instance |
//! | `RAND`, `UUID`, `BNODE`: what is drawn follows from the instance's name | a walk for each instance |
//! | `CONSTRUCT`: equal triples of one answer are one | a walk for each instance |
//!
//! At the outermost level the parameters are added to grouping keys and projection, and `ASK` becomes the distinct
//! parameters. A grouping that hides a parameter from what comes after it would show it so; where that names it
//! nevertheless, each instance has a walk.

use super::StandingQuery;
use super::read::read;
use crate::algebra::{Element, Group, Query};
use crate::error::ParseError;
use crate::expression::Expression;
use crate::lower;
use crate::options::ParseOptions;
use crate::plan::{Form, Slot};
use crate::planner::facts::{is_volatile, occurs};
use crate::slots::Slots;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingTemplate {
    /// The query. Where it is shared its form is a `SELECT` of the columns that the text selects, and then of
    /// the parameters, in the order of the table's columns.
    pub query: StandingQuery,
    /// Columns of an instance's rows, where it is shared: the others are the parameters.
    pub shown: usize,
    /// Whether the text is an `ASK`. Where it is shared, instances that are so have a row.
    pub is_ask: bool,
    /// How it is walked.
    pub sharing: Sharing,
}

/// How the instances of a [`StandingTemplate`] are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One walk over the whole table answers all.
    Whole,
    /// Each instance has a walk over a table of its row alone.
    OneByOne(Apart),
}

/// Why one walk does not answer all instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Apart {
    /// Its triples are a set for each instance.
    #[error("CONSTRUCT makes each triple of an answer once")]
    Construct,
    /// The rows that it takes depend on those that there are.
    #[error("LIMIT or OFFSET is of each instance's own rows")]
    Slice,
    /// There is a row even of no rows.
    #[error(
        "aggregates without GROUP BY have a row for each instance, whether anything matches or not"
    )]
    AllRows,
    /// A sub-query looks at rows of several instances together.
    #[error("a sub-query looks at rows together and does not group them by the parameters")]
    SubQuery,
    /// The table's rows are not distinct where it stands.
    #[error("a group has some of the parameters and not all")]
    Partial,
    /// A row would see a parameter that an instance's does not.
    #[error("a parameter is named after GROUP BY has hidden it")]
    Hidden,
    /// What is drawn follows from the instance.
    #[error("RAND, UUID and BNODE draw for each instance")]
    Chance,
}

/// Reads a standing query whose variables `parameters` (without question mark) a table gives terms to. Errors as
/// [`super::parse`], and of kind [`ParseErrorKind::Option`](crate::error::ParseErrorKind::Option) where the text has no such
/// variable or computes it. Needs [`crate::STACK_BYTES_MIN`] of stack.
pub fn parse_template(
    text: &str,
    options: &ParseOptions,
    parameters: &[String],
) -> Result<StandingTemplate, ParseError> {
    let mut is_partial = false;
    let mut query = read(text, options, |said| {
        is_partial = lower::give_table(said, parameters)?;
        Ok(())
    })?;
    let slots = slots_of(&query.query, parameters);
    let shown = match query.query.form() {
        Form::Select(columns) => columns.len(),
        Form::Ask | Form::Construct(_) | Form::Describe(_) => 0,
    };
    let is_ask = *query.query.form() == Form::Ask;
    let apart = apart(&query.query, &slots, is_partial);
    if apart.is_none() {
        share(&mut query.query, &slots);
    }
    Ok(StandingTemplate {
        query,
        shown,
        is_ask,
        sharing: apart.map_or(Sharing::Whole, Sharing::OneByOne),
    })
}

/// The columns of the parameters.
fn slots_of(query: &Query, parameters: &[String]) -> Vec<Slot> {
    let slot = |name: &String| {
        let at = query.variables.iter().position(|known| known == name);
        let at = at.expect("a parameter is a variable of the outermost WHERE");
        Slot(u16::try_from(at).expect("slots are 16 bits"))
    };
    parameters.iter().map(slot).collect()
}

/// Why one walk does not answer all instances, if it does not.
fn apart(query: &Query, parameters: &[Slot], is_partial: bool) -> Option<Apart> {
    match query.form {
        Form::Select(_) | Form::Ask => {}
        Form::Construct(_) | Form::Describe(_) => return Some(Apart::Construct),
    }
    let elements = &query.body.elements;
    let parameters: Slots = parameters.iter().copied().collect();
    if is_partial {
        return Some(Apart::Partial);
    }
    if draws(elements) {
        return Some(Apart::Chance);
    }
    let mut hidden = Slots::default();
    for element in elements {
        match element {
            Element::Slice { .. } => return Some(Apart::Slice),
            Element::Aggregate { keys, .. } if keys.is_empty() => return Some(Apart::AllRows),
            Element::Aggregate { keys, .. } => {
                let keys: Slots = keys.iter().copied().collect();
                hidden = parameters.without(&keys);
            }
            other if occurs(other).intersects(&hidden) => return Some(Apart::Hidden),
            other => {
                if let Some(apart) = apart_within(other, &parameters) {
                    return Some(apart);
                }
            }
        }
    }
    None
}

/// Whether the groups of an element look at rows of several instances together.
fn apart_within(element: &Element, parameters: &Slots) -> Option<Apart> {
    let mut groups = groups_of(element).into_iter();
    groups.find_map(|group| apart_in(group, parameters))
}

fn apart_in(group: &Group, parameters: &Slots) -> Option<Apart> {
    if !has_table(group) {
        return None;
    }
    let is_within = |slots: &[Slot]| {
        let slots: Slots = slots.iter().copied().collect();
        parameters.is_within(&slots)
    };
    for element in &group.elements {
        let is_kept = match element {
            Element::Slice { .. } => false,
            Element::Aggregate { keys, .. } => is_within(keys),
            Element::Project(slots) => is_within(slots),
            Element::Exists { group, .. } | Element::Mark { group, .. } => !has_table(group),
            _ => true,
        };
        if !is_kept {
            return Some(Apart::SubQuery);
        }
        if let Some(apart) = apart_within(element, parameters) {
            return Some(apart);
        }
    }
    None
}

/// The groups that an element holds.
fn groups_of(element: &Element) -> Vec<&Group> {
    match element {
        Element::Join(group)
        | Element::Minus(group)
        | Element::Lateral(group)
        | Element::Exists { group, .. }
        | Element::Mark { group, .. } => vec![group],
        Element::Union(groups) => groups.iter().collect(),
        Element::Optional { group, condition } => {
            let conditions = condition.iter().flat_map(groups_of);
            std::iter::once(group).chain(conditions).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the table stands in a group, however deep.
fn has_table(group: &Group) -> bool {
    group.elements.iter().any(|element| {
        let mut groups = groups_of(element).into_iter();
        matches!(element, Element::Given { .. }) || groups.any(has_table)
    })
}

/// Whether something is drawn by chance, however deep.
fn draws(elements: &[Element]) -> bool {
    elements.iter().any(|element| {
        let is_new = Expression::gives_new;
        let here = match element {
            Element::Aggregate { aggregates, .. } => aggregates
                .iter()
                .any(|(aggregate, _)| aggregate.argument.as_ref().is_some_and(is_new)),
            Element::Order(keys) => keys.iter().any(|key| is_new(&key.expression)),
            other => is_volatile(other),
        };
        let mut groups = groups_of(element).into_iter();
        here || groups.any(|group| draws(&group.elements))
    })
}

/// Adds the parameters to what the query groups by and selects.
fn share(query: &mut Query, parameters: &[Slot]) {
    let add = |slots: &mut Vec<Slot>| {
        for parameter in parameters {
            if !slots.contains(parameter) {
                slots.push(*parameter);
            }
        }
    };
    for element in &mut query.body.elements {
        match element {
            Element::Aggregate { keys, .. } => add(keys),
            Element::Project(slots) => add(slots),
            _ => {}
        }
    }
    let mut columns = match &query.form {
        Form::Select(columns) => columns.clone(),
        Form::Ask | Form::Construct(_) | Form::Describe(_) => {
            let project = Element::Project(parameters.to_vec());
            query.body.elements.extend([project, Element::Distinct]);
            Vec::new()
        }
    };
    columns.extend_from_slice(parameters);
    query.form = Form::Select(columns);
}

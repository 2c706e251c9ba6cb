//! Algebra to [`Query`]: what this release evaluates is written as one join of patterns with filters
//! and modifiers; everything else is refused by name and place, never answered wrongly.
//!
//! | SPARQL | becomes |
//! |---|---|
//! | basic graph patterns, nested groups, joins | [`Pattern`](crate::query::Pattern)s of one inner join |
//! | a blank node | a hidden variable |
//! | `GRAPH` | the scope of its patterns; without patterns, a graph that must exist |
//! | `FILTER` | conjuncts over variables of its own group; others are unbound in it |
//! | `^p`, `p/q` | patterns (the parser writes them so) |
//! | `COUNT(*)`, `COUNT(?x)` alone | [`CountAll`](crate::query::CountAll) |
//!
//! Costs time linear in the algebra, and a stack frame per nested group and per nested operator,
//! which the guard has bounded.

mod expression;
mod pattern;
mod refusal;

use crate::expression::Expression;
use crate::guard::limits::Limit;
use crate::guard::token::{TokenKind, Tokens};
use crate::parse::{ParseError, ParseErrorKind, ParseOptions};
use crate::plan::{ConstantId, DatasetClause, Form, Node, OrderKey, Slot};
use crate::position::Position;
use crate::query::{CountAll, Pattern, Query};
use expression::Visible;
use oxrdf::{NamedNode, Term, Variable};
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression as Algebra, GraphPattern, OrderExpression,
    QueryDataset,
};
use std::collections::{HashMap, HashSet};

/// What is built while walking the algebra.
struct Translator<'t> {
    tokens: &'t Tokens<'t>,
    variables: Vec<String>,
    /// Slots by variable name, or by `_:label` of a blank node.
    slots: HashMap<String, Slot>,
    constants: Vec<Term>,
    constant_ids: HashMap<Term, ConstantId>,
    patterns: Vec<Pattern>,
    graphs: Vec<Node>,
    filters: Vec<Expression>,
}

/// The modifiers around a pattern, outermost first.
struct Modifiers<'a> {
    offset: u64,
    limit: Option<u64>,
    distinct: bool,
    projected: &'a [Variable],
    order: &'a [OrderExpression],
    count: Option<Count<'a>>,
    pattern: &'a GraphPattern,
}

/// A lone `COUNT`.
struct Count<'a> {
    aggregate: &'a AggregateExpression,
    into: &'a Variable,
}

/// Translates a parsed query. `tokens` are those of the same text.
pub(crate) fn translate(
    algebra: &spargebra::Query,
    tokens: &Tokens<'_>,
    options: &ParseOptions,
) -> Result<Query, ParseError> {
    let mut translator = Translator::new(tokens);
    let (dataset, pattern, is_ask) = match algebra {
        spargebra::Query::Select {
            dataset, pattern, ..
        } => (dataset, pattern, false),
        spargebra::Query::Ask {
            dataset, pattern, ..
        } => (dataset, pattern, true),
        spargebra::Query::Construct { .. } => {
            return Err(translator.unsupported("CONSTRUCT", &["CONSTRUCT"]));
        }
        spargebra::Query::Describe { .. } => {
            return Err(translator.unsupported("DESCRIBE", &["DESCRIBE"]));
        }
    };
    let dataset = translator.dataset(dataset.as_ref());
    let modifiers = translator.modifiers(pattern)?;
    translator.group(modifiers.pattern, None)?;
    let visible = translator.visible();
    let count = translator.count(&modifiers, &visible)?;
    let order = translator.order(modifiers.order, &visible)?;
    let form = if is_ask {
        Form::Ask
    } else {
        let slots = projection(modifiers.projected, tokens).into_iter();
        Form::Select(
            slots
                .map(|variable| translator.variable(variable))
                .collect::<Result<_, _>>()?,
        )
    };
    Ok(Query {
        prefixes: refusal::prefixes(tokens, options),
        variables: translator.variables,
        constants: translator.constants,
        dataset,
        patterns: translator.patterns,
        graphs: translator.graphs,
        filters: translator.filters,
        form,
        distinct: modifiers.distinct,
        order,
        offset: modifiers.offset,
        limit: modifiers.limit,
        count,
    })
}

/// The projected variables in order: as written, and for `SELECT *` as they first appear in the
/// text. (The library gives those of `*` in alphabetical order; the specification leaves it open,
/// and people expect to read columns as they wrote them.)
fn projection<'a>(projected: &'a [Variable], tokens: &Tokens<'_>) -> Vec<&'a Variable> {
    let mut variables: Vec<&Variable> = projected.iter().collect();
    let words = tokens.tokens.iter().map(|&token| tokens.slice(token));
    let after_select = words
        .skip_while(|word| !word.eq_ignore_ascii_case("SELECT"))
        .skip(1)
        .find(|word| {
            !["DISTINCT", "REDUCED"]
                .iter()
                .any(|w| w.eq_ignore_ascii_case(word))
        });
    if after_select == Some("*") {
        let mut places: HashMap<&str, u32> = HashMap::new();
        for &token in &tokens.tokens {
            if token.kind == TokenKind::Variable {
                places
                    .entry(&tokens.slice(token)[1..])
                    .or_insert(token.start);
            }
        }
        variables.sort_by_key(|variable| places.get(variable.as_str()).copied());
    }
    variables
}

impl<'t> Translator<'t> {
    fn new(tokens: &'t Tokens<'t>) -> Translator<'t> {
        Translator {
            tokens,
            variables: Vec::new(),
            slots: HashMap::new(),
            constants: Vec::new(),
            constant_ids: HashMap::new(),
            patterns: Vec::new(),
            graphs: Vec::new(),
            filters: Vec::new(),
        }
    }

    /// `FROM` and `FROM NAMED`.
    fn dataset(&mut self, dataset: Option<&QueryDataset>) -> DatasetClause {
        let mut graphs = |list: &[NamedNode]| -> Vec<ConstantId> {
            let terms = list.iter().map(|graph| Term::from(graph.clone()));
            terms.map(|term| self.constant(term)).collect()
        };
        DatasetClause {
            graphs: dataset.map(|dataset| {
                let named = dataset.named.as_deref().unwrap_or_default();
                (graphs(&dataset.default), graphs(named))
            }),
        }
    }

    /// Takes the modifiers off the pattern. The parser puts them on in the reverse of this order.
    fn modifiers<'a>(&self, pattern: &'a GraphPattern) -> Result<Modifiers<'a>, ParseError> {
        let mut modifiers = Modifiers {
            offset: 0,
            limit: None,
            distinct: false,
            projected: &[],
            order: &[],
            count: None,
            pattern,
        };
        if let GraphPattern::Slice {
            inner,
            start,
            length,
        } = modifiers.pattern
        {
            modifiers.offset = *start as u64;
            modifiers.limit = length.map(|length| length as u64);
            modifiers.pattern = inner;
        }
        match modifiers.pattern {
            GraphPattern::Distinct { inner } => {
                modifiers.distinct = true;
                modifiers.pattern = inner;
            }
            // REDUCED permits the removal of duplicates, and permits leaving them.
            GraphPattern::Reduced { inner } => modifiers.pattern = inner,
            _ => {}
        }
        if let GraphPattern::Project { inner, variables } = modifiers.pattern {
            modifiers.projected = variables;
            modifiers.pattern = inner;
        }
        if let GraphPattern::OrderBy { inner, expression } = modifiers.pattern {
            modifiers.order = expression;
            modifiers.pattern = inner;
        }
        self.take_count(&mut modifiers)?;
        Ok(modifiers)
    }

    /// Takes off a lone `COUNT` without grouping.
    fn take_count(&self, modifiers: &mut Modifiers<'_>) -> Result<(), ParseError> {
        let GraphPattern::Extend {
            inner,
            variable,
            expression,
        } = modifiers.pattern
        else {
            return Ok(());
        };
        let GraphPattern::Group {
            inner,
            variables,
            aggregates,
        } = &**inner
        else {
            return Ok(());
        };
        let ([], [(counted, aggregate)]) = (&variables[..], &aggregates[..]) else {
            return Ok(());
        };
        let alone = *expression == Algebra::Variable(counted.clone())
            && modifiers.projected == std::slice::from_ref(variable);
        if !alone {
            return Ok(());
        }
        if !modifiers.order.is_empty() {
            return Err(self.unsupported("ORDER BY with an aggregate", &["ORDER"]));
        }
        modifiers.pattern = inner;
        modifiers.count = Some(Count {
            aggregate,
            into: variable,
        });
        Ok(())
    }

    /// The variables that some pattern binds.
    fn visible(&self) -> Visible {
        let bound = self.patterns.iter().flat_map(Pattern::slots);
        let graphs = self.graphs.iter().filter_map(|graph| match graph {
            Node::Slot(slot) => Some(*slot),
            Node::Constant(_) => None,
        });
        Visible {
            bound: bound.chain(graphs).collect::<HashSet<Slot>>(),
            graph: None,
        }
    }

    fn count(
        &mut self,
        modifiers: &Modifiers<'_>,
        visible: &Visible,
    ) -> Result<Option<CountAll>, ParseError> {
        let Some(count) = &modifiers.count else {
            return Ok(None);
        };
        let distinct = match count.aggregate {
            AggregateExpression::CountSolutions { distinct } => distinct.then(|| {
                let named = |slot: &Slot| !self.variables[slot.0 as usize].starts_with('.');
                let mut all: Vec<Slot> = visible.bound.iter().copied().filter(named).collect();
                all.sort_unstable();
                all
            }),
            AggregateExpression::FunctionCall {
                name: AggregateFunction::Count,
                expr: Algebra::Variable(counted),
                distinct,
            } => match self.slots.get(counted.as_str()) {
                // A variable that every row binds: each row counts.
                Some(slot) if visible.bound.contains(slot) => distinct.then(|| vec![*slot]),
                _ => return Err(self.unsupported("COUNT of an unbound variable", &["COUNT"])),
            },
            other @ AggregateExpression::FunctionCall { .. } => {
                return Err(self.unsupported_aggregate(other));
            }
        };
        let into = self.variable(count.into)?;
        Ok(Some(CountAll { distinct, into }))
    }

    fn order(
        &mut self,
        keys: &[OrderExpression],
        visible: &Visible,
    ) -> Result<Vec<OrderKey>, ParseError> {
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let (expression, descending) = match key {
                OrderExpression::Asc(expression) => (expression, false),
                OrderExpression::Desc(expression) => (expression, true),
            };
            let expression = self.expression(expression, visible)?;
            // A variable that no row binds orders nothing.
            if expression != expression::error() {
                order.push(OrderKey {
                    expression,
                    descending,
                });
            }
        }
        Ok(order)
    }

    /// The slot of a variable, made at its first use.
    fn variable(&mut self, variable: &Variable) -> Result<Slot, ParseError> {
        self.slot(variable.as_str(), || variable.as_str().to_owned())
    }

    fn slot(&mut self, key: &str, name: impl Fn() -> String) -> Result<Slot, ParseError> {
        if let Some(slot) = self.slots.get(key) {
            return Ok(*slot);
        }
        const SLOTS_MAX: usize = u16::MAX as usize / 2;
        if self.variables.len() >= SLOTS_MAX {
            return Err(ParseError {
                kind: ParseErrorKind::Limit {
                    limit: Limit::ListedNames,
                    used: self.variables.len() as u64 + 1,
                    max: SLOTS_MAX as u64,
                },
                position: Position::START,
                message: format!("more than {SLOTS_MAX} variables"),
            });
        }
        let slot = Slot(self.variables.len() as u16);
        self.variables.push(name());
        self.slots.insert(key.to_owned(), slot);
        Ok(slot)
    }

    fn constant(&mut self, term: Term) -> ConstantId {
        if let Some(id) = self.constant_ids.get(&term) {
            return *id;
        }
        let id = ConstantId(self.constants.len() as u32);
        self.constants.push(term.clone());
        self.constant_ids.insert(term, id);
        id
    }
}

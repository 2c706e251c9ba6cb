//! One query from text to plan: parse, resolve constants, ask for degrees, plan; or take the plan of its shape.
//!
//! Everything here takes microseconds and touches a few cache lines of the store; the walk itself
//! is in `run`. A query is entered in the list of running ones before its text is even read, so
//! that whatever happens to it has an id.

use super::Request;
use super::context::{Context, Effort, Looking, PlannedQuery};
use super::plan_cache::{CacheEntry, ShapeEntry};
use super::reading::{parse, unreadable};
use super::shared::Shared;
use super::warnings::ResolvedQuery;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::prepared::Query;
use oxrdf::TermRef;
use query::plan::Weight;
use query::shape::{Shape, TEXT_BYTES_MAX, Template};
use std::sync::Arc;
use std::time::Duration;

/// Plans a request.
pub(crate) fn start(shared: &Arc<Shared>, request: &Request<'_>) -> Result<Query, QueryError> {
    let context = Context::enter(shared, request);
    let options = request.parse_options(&shared.options);
    let cache = shared.plans.as_ref().filter(|_| request.is_plain());
    let learnt = cache.and_then(|_| request.learnt?.take(request.text, &options));
    if let Some(cache) = cache
        && learnt.is_none()
        && let Some((shaped, parameters)) = cache.spelled(request.text, &options)
        && let Some(known) = of_shape(&context, &shaped, shared.graph(), &parameters, Effort::Any)?
    {
        cache.count(true);
        cache.count_spelled();
        return Ok(known.asked(context));
    }
    context.draw_text(request)?;
    let (scanned, shape) = if let Some((scanned, shape)) = learnt {
        (scanned, Some(shape))
    } else {
        let scanned = query::scan(request.text, &options)?;
        let shape = cache.and_then(|_| Shape::of(&scanned, &options));
        (scanned, shape)
    };
    let graph = request.graph.clone().unwrap_or_else(|| shared.graph());
    let Some((cache, shape)) = cache.zip(shape) else {
        let parsed = parse(&scanned, request, &options, &graph)?;
        return planned(&context, graph, &parsed);
    };
    let known = cache.get(&shape);
    if let Some(CacheEntry::Planned(shaped)) = &known
        && let Some(known) = of_shape(
            &context,
            shaped,
            Arc::clone(&graph),
            &shape.terms(),
            Effort::Any,
        )?
    {
        cache.spell(request.text, &shape, &options, shaped);
        cache.count(true);
        return Ok(known.asked(context));
    }
    cache.count(false);
    let is_seen = match &known {
        Some(CacheEntry::Seen) => true,
        // Its ids mean other terms by now.
        Some(CacheEntry::Planned(shaped)) => !shaped.is_of(&graph),
        None | Some(CacheEntry::Refused | CacheEntry::Spelled(_)) => false,
    };
    let text = request.text;
    if !is_seen {
        let parsed = scanned.parse(&options);
        let parsed = parsed.map_err(|error| unreadable(error, text, &options, &graph))?;
        let query = planned(&context, graph, &parsed)?;
        if known.is_none() {
            cache.put(&shape, CacheEntry::Seen);
        }
        return Ok(query);
    }
    let template = scanned.template(&shape, &options);
    let template = template.map_err(|error| unreadable(error, text, &options, &graph))?;
    let parsed = match &template {
        Some(template) => template.filled(&shape.parameters),
        None => scanned.parse(&options)?,
    };
    let query = planned(&context, graph, &parsed)?;
    let known = match template {
        Some(template) => CacheEntry::Planned(Arc::new(kept(template, &query)?)),
        None => CacheEntry::Refused,
    };
    cache.put(&shape, known);
    Ok(query)
}

/// Plans a request if that needs no parser: its shape is known, and asked lightly. `None` is said
/// within microseconds, and means that [`start`] is to be asked.
pub(crate) fn start_light(shared: &Arc<Shared>, request: &Request<'_>) -> Option<Query> {
    let cache = shared.plans.as_ref()?;
    // Over parts even a light query may have to wait.
    if !request.is_plain() || shared.graph().parts.is_some() {
        return None;
    }
    let options = request.parse_options(&shared.options);
    if let Some((shaped, parameters)) = cache.spelled(request.text, &options) {
        let query = light(shared, request, &shaped, &parameters)?;
        cache.count_spelled();
        return Some(query);
    }
    if request.text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let scanned = query::scan(request.text, &options).ok()?;
    let shape = Shape::of(&scanned, &options)?;
    if let Some(CacheEntry::Planned(shaped)) = cache.get(&shape)
        && let Some(query) = light(shared, request, &shaped, &shape.terms())
    {
        cache.spell(request.text, &shape, &options, &shaped);
        return Some(query);
    }
    if let Some(learnt) = request.learnt {
        learnt.keep(request.text, scanned, shape, options);
    }
    None
}

/// The query of a known shape with these parameters, if its walk is light.
fn light(
    shared: &Arc<Shared>,
    request: &Request<'_>,
    shaped: &ShapeEntry,
    parameters: &[TermRef<'_>],
) -> Option<Query> {
    if !shaped.is_local() {
        return None;
    }
    let context = Context::enter(shared, request);
    let graph = shared.graph();
    let known = of_shape(&context, shaped, graph, parameters, Effort::Light);
    let known = known.ok()??;
    if known.plan.plan.weight == Weight::Heavy {
        return None;
    }
    shared.plans.as_ref()?.count(true);
    Some(known.asked(context))
}

/// A query that was parsed like this, planned, with what it probably did not mean.
fn planned(
    context: &Context,
    graph: Arc<Graph>,
    parsed: &query::Query,
) -> Result<Query, QueryError> {
    let mut query = Query::plan_with(context, graph, parsed, Effort::Any)?;
    if query.graph.parts.is_some() {
        // What the nodes have is not looked through for a word of advice.
        return Ok(query);
    }
    let asked = ResolvedQuery {
        empty_default: &context.shared.empty_default,
        graph: &query.graph,
        query: parsed,
        ids: &query.constants,
        placeholders: &[],
    };
    let told = asked.warnings()?;
    query.warnings = (!told.is_empty()).then(|| told.into());
    Ok(query)
}

/// What is kept of the shape of a text that was planned as `query`.
fn kept(template: Template, query: &Query) -> Result<ShapeEntry, QueryError> {
    let (graph, constants) = (&query.graph, &query.constants);
    let looking = Looking {
        context: &query.context,
        graph,
    };
    let (plan, prefixes) = (&query.plan, &query.prefixes);
    let mut shaped = ShapeEntry::new(template, graph, &looking, plan, constants, prefixes)?;
    if query.warnings.is_some() {
        shaped.warn(&query.context.shared.empty_default, graph, constants)?;
    }
    Ok(shaped)
}

/// A query of a known shape.
struct KnownQuery {
    graph: Arc<Graph>,
    plan: PlannedQuery,
    parse: Duration,
    warnings: Option<Arc<[String]>>,
}

impl KnownQuery {
    fn asked(self, context: Context) -> Query {
        let mut query = Query::new(context, self.graph, self.plan, self.parse);
        query.warnings = self.warnings;
        query
    }
}

/// The query of a known shape with these terms for its parameters; `None` where one of them is stored nowhere, where
/// ids mean other terms by now, and where no plan fits and one for a heavy query would have to be made
/// with [`Effort::Light`].
fn of_shape(
    context: &Context,
    shaped: &ShapeEntry,
    graph: Arc<Graph>,
    terms: &[TermRef<'_>],
    effort: Effort,
) -> Result<Option<KnownQuery>, QueryError> {
    if !shaped.is_of(&graph) {
        return Ok(None);
    }
    let looking = Looking {
        context,
        graph: &graph,
    };
    let Some(constants) = shaped.constants(&graph, &looking, terms)? else {
        return Ok(None);
    };
    let parse = context.elapsed();
    let degrees = shaped.degrees(&looking, &constants)?;
    let (plan, samples) = if let Some(plan) = shaped.fitting(&graph.planner, &degrees) {
        (plan, Duration::ZERO)
    } else {
        let (plan, samples) = context.planned(&graph, shaped.algebra(), &constants, effort)?;
        if effort == Effort::Light && plan.weight == Weight::Heavy {
            return Ok(None);
        }
        let plan = Arc::new(plan);
        shaped.keep(&graph.planner, &plan, degrees);
        (plan, samples)
    };
    let plan = PlannedQuery {
        plan,
        samples,
        constants,
        parameters: Arc::clone(shaped.parameters()),
        prefixes: Arc::clone(shaped.prefixes()),
    };
    let empty_default = &context.shared.empty_default;
    let warnings = shaped.warnings(empty_default, &graph, &plan.constants)?;
    Ok(Some(KnownQuery {
        graph,
        plan,
        parse,
        warnings,
    }))
}

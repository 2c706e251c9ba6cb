//! Text to [`StandingQuery`]: the parsers' steps for a query, then the defaults of its dialect, then its pragmas.
//!
//! | dialect | bounds | evaluated | reported unless | relation | partial windows | closes |
//! |---|---|---|---|---|---|---|
//! | C-SPARQL | `(o, c]` | at closes | all windows are empty | RSTREAM | yes | from the first item's second |
//! | C-SPARQL with graphs | `[o, c)` | at closes | | RSTREAM | no | from the epoch |
//! | RSP-QL | `[o, c)` | at closes | all windows are empty | as written, else RSTREAM | no | from the epoch |
//! | CQELS-QL | `(o, c]` | at changes | | ISTREAM | no | from the epoch |
//!
//! Engines differ in what they leave open; each dialect behaves as its engine does, as far as that was measured.
//!
//! Invariant: a query that waits for closes has a window that closes.
//!
//! Cost: as [`mod@crate::parse`], and one more pass over the text for its pragmas.

use super::bag;
use super::pragma::{self, Pragmas, Start};
use super::{
    Bounds, Dialect, Difference, Emit, Extent, Freshness, Late, Origin, Output, Relation, Report,
    SourceContent, StandingQuery, Stored, When, WindowClause,
};
use crate::algebra::Query;
use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::abstract_query::{self, Streams, Timestamps, Window, WrittenExtent};
use crate::grammar::translate::{self, Translated};
use crate::grammar::{lexer, parser};
use crate::lower;
use crate::options::{Given, ParseOptions};
use crate::parse::refuse_update;
use crate::plan::{Form, Source};
use crate::position::Position;

/// Reads a standing query, in any dialect. Errors are of kind [`ParseErrorKind::Standing`] where the text reads no
/// window, else as those of [`crate::parse()`]. Costs time linear in the text; needs [`crate::STACK_BYTES_MIN`] of stack.
pub fn parse(text: &str, options: &ParseOptions) -> Result<StandingQuery, ParseError> {
    read(text, options, |_| Ok(()))
}

/// The same with what is said beside the text.
pub fn parse_given(
    text: &str,
    options: &ParseOptions,
    given: &Given,
) -> Result<StandingQuery, ParseError> {
    read(text, options, |said| lower::give(said, given))
}

/// The same, with something done to the query before it is translated.
pub(super) fn read(
    text: &str,
    options: &ParseOptions,
    give: impl FnOnce(&mut Translated<'_, abstract_query::Query>) -> Result<(), ParseError>,
) -> Result<StandingQuery, ParseError> {
    let tokens = lexer::scan(text, &options.limits)?;
    let pragmas = Pragmas::of(text)?;
    refuse_update(&tokens)?;
    let tree = parser::standing(&tokens, &options.limits)?;
    let read = Streams {
        timestamps: match pragmas.compat {
            Some(true) => Timestamps::False,
            Some(false) | None => Timestamps::Error,
        },
        are_bags: pragmas.multiset.unwrap_or(false),
        ..Streams::default()
    };
    let (mut said, streams) = translate::standing(&tree, options, read)?;
    give(&mut said)?;
    let dialect = streams
        .dialect
        .expect("a text without a window was refused");
    // Classic C-SPARQL has one source for all that stands in no graph.
    let outside = match dialect {
        Dialect::CSparql => Source(1),
        Dialect::CSparqlGraph | Dialect::RspQl | Dialect::Cqels => Source::STORE,
    };
    let mut query = lower::lower_of(said, options, outside)?;
    if streams.are_bags {
        bag::see_occurrences(&mut query)
            .ok_or_else(|| wrong(Position::START, "the query has too many variables"))?;
    }
    let defaults = Defaults::of(dialect);
    let windows = windows(&streams, &defaults, &pragmas)?;
    let sources = sources(&streams, dialect, &query);
    let mut sees_stored = sources.iter().any(|it| it.stored != Stored::Nothing);
    query.for_each_source_mut(&mut |source| sees_stored |= source.is_store());
    let every_ms = streams.registered.as_ref().and_then(|it| it.every_ms);
    let report = report(&defaults, &pragmas, &windows, every_ms)?;
    let relation = pragmas.relation.or(streams.relation);
    let mut query = StandingQuery {
        dialect,
        output: output(&streams, &query),
        relation: relation.unwrap_or(defaults.relation),
        difference: pragmas.difference.unwrap_or(Difference::Multiset),
        every_ms,
        report,
        multiset: streams.are_bags,
        asks_times: streams.asks_times,
        sees_stored,
        emit: pragmas.emit.unwrap_or(Emit::ExactlyOnce),
        freshness: pragmas.freshness.unwrap_or(Freshness::Aligned),
        late: pragmas.late.unwrap_or(Late::Side),
        lateness_ms: pragmas.lateness_ms,
        windows,
        sources,
        name: streams.registered.map(|registered| registered.name),
        query,
        pragmas: String::new(),
    };
    let start = pragmas.t0.map_or(defaults.start, |(start, _)| start);
    query.pragmas = pragma::words(&query, start, pragmas.compat);
    Ok(query)
}

/// What else is wrong with the grammar of a standing query, as [`crate::parse::further_errors`] says it of a query.
pub fn further_errors(text: &str, options: &ParseOptions, first: &ParseError) -> Vec<ParseError> {
    if first.kind != ParseErrorKind::Syntax {
        return Vec::new();
    }
    let Ok(tokens) = lexer::scan(text, &options.limits) else {
        return Vec::new();
    };
    let mut errors = parser::errors_of_standing(&tokens, &options.limits);
    errors.retain(|error| error.position != first.position);
    errors
}

/// What a dialect's engine does where a text says nothing.
struct Defaults {
    dialect: Dialect,
    bounds: Bounds,
    when: When,
    nonempty: bool,
    relation: Relation,
    partial_first: bool,
    start: Start,
}

impl Defaults {
    fn of(dialect: Dialect) -> Defaults {
        let plain = Defaults {
            dialect,
            bounds: Bounds::LeftClosed,
            when: When::Close,
            nonempty: false,
            relation: Relation::Rows,
            partial_first: false,
            start: Start::At(0),
        };
        match dialect {
            Dialect::CSparql => Defaults {
                bounds: Bounds::RightClosed,
                nonempty: true,
                partial_first: true,
                start: Start::First,
                ..plain
            },
            Dialect::CSparqlGraph => plain,
            Dialect::RspQl => Defaults {
                nonempty: true,
                ..plain
            },
            Dialect::Cqels => Defaults {
                bounds: Bounds::RightClosed,
                when: When::Change,
                relation: Relation::Insertions,
                ..plain
            },
        }
    }
}

fn output(streams: &Streams, query: &Query) -> Output {
    match &streams.registered {
        Some(registered) if registered.is_stream && matches!(query.form(), Form::Construct(_)) => {
            Output::Stream(registered.name.clone())
        }
        _ => Output::Table,
    }
}

fn windows(
    streams: &Streams,
    defaults: &Defaults,
    pragmas: &Pragmas,
) -> Result<Vec<WindowClause>, ParseError> {
    if let Some((Start::First, position)) = pragmas.t0
        && defaults.dialect != Dialect::CSparql
    {
        return Err(wrong(
            position,
            "t0=first is what the C-SPARQL engine does: it stands in classic C-SPARQL alone, use t0=epoch or t0=MS",
        ));
    }
    let start = pragmas.t0.map_or(defaults.start, |(start, _)| start);
    let clause = |window: &Window| WindowClause {
        name: window.name.clone(),
        stream: window.stream.clone(),
        extent: extent(window.extent, defaults.dialect, start),
        bounds: pragmas.bounds.unwrap_or(defaults.bounds),
        partial_first: pragmas.partial_first.unwrap_or(defaults.partial_first),
    };
    Ok(streams.windows.iter().map(clause).collect())
}

/// A window with what its dialect means where it says no step: RSP-QL and `TRIPLES` of C-SPARQL tumble, CQELS-QL slides with
/// each item.
fn extent(written: WrittenExtent, dialect: Dialect, start: Start) -> Extent {
    let slides = dialect == Dialect::Cqels;
    match written {
        WrittenExtent::Range {
            range_ms,
            step_ms: None,
        } if slides => Extent::Sliding { range_ms },
        WrittenExtent::Range { range_ms, step_ms } => {
            let step_ms = step_ms.unwrap_or(range_ms);
            Extent::Time {
                range_ms,
                step_ms,
                origin: origin(start, step_ms),
            }
        }
        WrittenExtent::Count { items, step } => Extent::Count {
            items,
            step: step.unwrap_or(if slides { 1 } else { items }),
        },
        WrittenExtent::Now => Extent::Now,
        WrittenExtent::All => Extent::All,
        WrittenExtent::Past {
            from_ms,
            to_ms,
            step_ms,
        } => Extent::Past {
            from_ms,
            to_ms,
            step_ms,
            origin: origin(start, step_ms),
        },
    }
}

/// Closes are `k * step + offset`, so whole steps of an offset change nothing.
fn origin(start: Start, step_ms: u64) -> Origin {
    match start {
        Start::First => Origin::FirstItem,
        Start::At(milliseconds) => Origin::Epoch {
            offset_ms: milliseconds % step_ms,
        },
    }
}

fn report(
    defaults: &Defaults,
    pragmas: &Pragmas,
    windows: &[WindowClause],
    every_ms: Option<u64>,
) -> Result<Report, ParseError> {
    let report = Report {
        when: pragmas.when.unwrap_or(defaults.when),
        nonempty: pragmas.nonempty.unwrap_or(defaults.nonempty),
        rows: pragmas.rows.unwrap_or(false),
    };
    let never_closes = |window: &WindowClause| {
        matches!(
            window.extent,
            Extent::Sliding { .. } | Extent::Now | Extent::All
        )
    };
    if report.when == When::Close && every_ms.is_none() && windows.iter().all(never_closes) {
        let at = pragmas.report_at.unwrap_or(Position::START);
        return Err(wrong(
            at,
            "no window of this query ever closes: give one a SLIDE, or use report=change or report=periodic=1s",
        ));
    }
    Ok(report)
}

fn sources(streams: &Streams, dialect: Dialect, query: &Query) -> Vec<SourceContent> {
    let graphs = query.dataset().graphs.as_ref();
    let stored = match graphs {
        Some((default, _)) if dialect == Dialect::CSparql && !default.is_empty() => {
            Stored::Graphs(default.clone())
        }
        _ => Stored::Nothing,
    };
    let content = |windows: &Vec<usize>| SourceContent {
        windows: windows.clone(),
        stored: stored.clone(),
    };
    streams.sources.iter().map(content).collect()
}

fn wrong(position: Position, message: &str) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Syntax,
        position,
        message: message.to_owned(),
    }
}

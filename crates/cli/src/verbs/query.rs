//! `query`: one query against a store, files in memory, or an endpoint.
//!
//! The answer goes to standard output as it arises; anything else goes to standard error, so that
//! pipes carry data only. A table on a terminal, TSV in a pipe, unless a format is asked for; a
//! format that cannot hold the answer is refused before anything is opened.

use crate::arguments::{Forced, Query as Flags};
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::format::{AnswerFormat, default_format};
use crate::interrupt::Raising;
use crate::printer::Printer;
use crate::settings;
use crate::shell::given_term;
use crate::source::Source;
use crate::stop::Stop;
use crate::table::Style;
use crate::text::form;
use crate::trouble::Trouble;
use crate::verbs::input::Input;
use crate::verbs::open;
use somersault::config::Config;
use somersault::device::Offload;
use somersault::output::{Rows, Sink};
use somersault::units::parse_sample_from;
use somersault::{Database, ForeignStatistics, Request};
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const OUTPUT_BUFFER_BYTES: usize = 1 << 18;

/// Runs the verb.
pub fn run(flags: &Flags, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    let config = for_one(settings::check(&layers)?, flags);
    let text = text(flags)?;
    let parameters = parameters(&flags.param)?;
    let plan_form = plan_form(flags)?;
    let printer = if plan_form.is_some() {
        None
    } else {
        Some(printer(flags, &text)?)
    };
    if let Some(url) = &flags.endpoint {
        let headers = settings::headers_of_query(&flags.header, flags.token.as_deref());
        let endpoint = Endpoint::new(url, &headers, config.timeout)?
            .with_timeout_sent(flags.limits.timeout.is_some())
            .with_terms(&parameters);
        return stoppable(|stop| match printer {
            Some(printer) => answer(&Source::Remote(endpoint), &text, printer, stop),
            None => remote_plan(&endpoint, &text, flags.profile, plan_form, stop),
        });
    }
    let database = database(flags, &config)?;
    let statistics = statistics(&database, &flags.forced)?;
    let request = Request {
        keep_order: flags.forced.keep_order,
        statistics: statistics.as_ref(),
        sample_from: sample_from(&flags.forced)?,
        bindings: parameters.clone(),
        ..Request::new(&text)
    };
    if flags.explain {
        let query = database
            .start(&request)
            .map_err(|error| failure_in(error, &text))?;
        let plan = match plan_form {
            Some(PlanForm::Json) => query.plan_document(),
            _ => query.explain(),
        };
        writeln!(io::stdout().lock(), "{plan}")?;
        return Ok(());
    }
    stoppable(|stop| match (flags.repeat, printer) {
        (Some(times), _) => repeat(&database, &request, times, stop),
        (None, None) => profile(&database, &request, plan_form, stop),
        (None, Some(printer)) => {
            let source = Source::local(database, flags.location.clone()).with_terms(parameters);
            answer(&source, &text, printer, stop)
        }
    })
}

/// A device that is opened for a query that is worth it helps the queries after that one. Where there is none after it the
/// device stays closed, or the process would have to wait for it at its end.
fn for_one(mut config: Config, flags: &Flags) -> Config {
    let is_alone = flags.repeat.is_none() && !flags.explain;
    if is_alone && config.gpu.offload == Offload::Auto {
        config.gpu.offload = Offload::Never;
    }
    config
}

/// The plan that an endpoint makes.
fn remote_plan(
    endpoint: &Endpoint,
    text: &str,
    is_profile: bool,
    form: Option<PlanForm>,
    stop: &Stop,
) -> Outcome {
    let plan = endpoint
        .plan(text, is_profile, stop)
        .map_err(|trouble| trouble.into_failure(text))?;
    let printed = match form {
        Some(PlanForm::Json) => plan.document.trim_end(),
        _ => &plan.text,
    };
    writeln!(io::stdout().lock(), "{printed}")?;
    Ok(())
}

/// The terms that are given for variables: `NAME=TERM`, the name with or without its question mark.
fn parameters(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut parameters: Vec<(String, String)> = Vec::with_capacity(given.len());
    for parameter in given {
        let usage = |why: &str| {
            let message = format!("`--param {parameter}`: {why}");
            Failure::new(Code::Usage, message)
        };
        let expected = || usage("expected NAME=TERM, as in --param 'x=<http://e/x>'");
        let (name, term) = given_term(parameter)
            .filter(|(_, term)| !term.is_empty())
            .ok_or_else(expected)?;
        if parameters.iter().any(|(known, _)| *known == name) {
            return Err(usage(&format!("?{name} has a term already")));
        }
        parameters.push((name, term));
    }
    Ok(parameters)
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanForm {
    Text,
    Json,
}

/// How the plan is printed that is asked for; `None`: none is.
fn plan_form(flags: &Flags) -> Result<Option<PlanForm>, Failure> {
    match (flags.explain || flags.profile, flags.results_format) {
        (false, _) => Ok(None),
        (true, None | Some(AnswerFormat::Table)) => Ok(Some(PlanForm::Text)),
        (true, Some(AnswerFormat::JSON)) => Ok(Some(PlanForm::Json)),
        (true, Some(_)) => {
            let message = "a plan is printed as text, or with --results-format json";
            Err(Failure::new(Code::Usage, message))
        }
    }
}

/// Work that a signal cancels.
pub fn stoppable(work: impl FnOnce(&Stop) -> Outcome) -> Outcome {
    let stop = Stop::default();
    let raising = Raising::listen(stop.clone())?;
    work(&stop).map_err(|failure| match raising.code() {
        Some(code) if failure.code == Code::Interrupted => Failure { code, ..failure },
        _ => failure,
    })
}

fn database(flags: &Flags, config: &Config) -> Result<Database, Failure> {
    if let Some(location) = &flags.location {
        return open::store_in_nodes(location, flags.spread, config);
    }
    let input = Input {
        files: &flags.data,
        format: flags.format.as_deref(),
        base: flags.base.as_deref(),
        is_lenient: flags.lenient,
    };
    let whole = open::files(input, &open::of_whole(flags.spread, config), false)?;
    open::in_nodes(whole, flags.spread, config)
}

/// A query's failure as an exit code with its message.
pub fn failure(error: somersault::QueryError) -> Failure {
    failure_in(error, "")
}

/// The same, with the place in the text.
fn failure_in(error: somersault::QueryError, text: &str) -> Failure {
    Trouble::from(error).into_failure(text)
}

fn text(flags: &Flags) -> Result<String, Failure> {
    if let Some(text) = &flags.query {
        return Ok(text.clone());
    }
    let path = flags.query_file.as_deref();
    read_text(path.expect("the parser asks for a query or a file"))
}

/// The text of a file, or of standard input for `-`.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let read = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    read.map_err(|error| Failure::new(Code::Failed, format!("{}: {error}", path.display())))
}

/// What prints the answer on standard output.
fn printer(flags: &Flags, text: &str) -> Result<Printer<'static>, Failure> {
    let form = form(text);
    let for_people = io::stdout().is_terminal();
    let asked = flags.results_format;
    let format = asked.unwrap_or_else(|| default_format(form, for_people));
    if let Some(message) = format.misfit(form) {
        return Err(Failure::new(Code::Usage, message));
    }
    let style = if for_people {
        let (_, columns) = console::Term::stdout().size();
        Style::boxed(usize::from(columns), crate::text::declared(text))
    } else {
        Style::default()
    };
    let output = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout().lock());
    Ok(Printer::new(format, style, Box::new(output)))
}

fn answer(source: &Source, text: &str, mut printer: Printer<'_>, stop: &Stop) -> Outcome {
    let answered = source.ask(text, &mut printer, stop);
    answered
        .map(|_| ())
        .map_err(|trouble| trouble.into_failure(text))
}

/// The statistics to plan by, where others than the graph's own are asked for.
fn statistics(database: &Database, forced: &Forced) -> Result<Option<ForeignStatistics>, Failure> {
    let Some(path) = &forced.statistics else {
        return Ok(None);
    };
    let read = database.read_planner_statistics(&read_text(path)?);
    let in_file = |error| Failure::new(Code::Failed, format!("{}: {error}", path.display()));
    read.map(Some).map_err(in_file)
}

/// The expected time from which samples help to plan.
fn sample_from(forced: &Forced) -> Result<Option<Duration>, Failure> {
    let Some(text) = &forced.sample_from else {
        return Ok(None);
    };
    let read = parse_sample_from(text);
    read.map(Some)
        .map_err(|error| Failure::new(Code::Usage, format!("--sample-from: {error}")))
}

fn profile(
    database: &Database,
    request: &Request<'_>,
    form: Option<PlanForm>,
    stop: &Stop,
) -> Outcome {
    let text = request.text;
    let mut query = database
        .start(request)
        .map_err(|error| failure_in(error, text))?;
    stop.watch(query.token());
    query.enable_profile();
    query
        .run(&mut Discard::default())
        .map_err(|error| failure_in(error, text))?;
    let plan = match form {
        Some(PlanForm::Json) => query.plan_document(),
        _ => query.explain_profile(),
    };
    writeln!(io::stdout().lock(), "{plan}")?;
    Ok(())
}

/// Takes rows and keeps only their number.
#[derive(Default)]
struct Discard {
    rows: u64,
}

impl Sink for Discard {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        self.rows += rows.len as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.rows = u64::from(value);
        Ok(())
    }
}

/// Latencies from text to the last decoded row, over many runs.
fn repeat(database: &Database, request: &Request<'_>, times: u32, stop: &Stop) -> Outcome {
    let text = request.text;
    let mut latencies = Vec::new();
    let mut rows = 0;
    for _ in 0..times.max(1) {
        let started = Instant::now();
        let mut sink = Discard::default();
        let mut query = database
            .start(request)
            .map_err(|error| failure_in(error, text))?;
        stop.watch(query.token());
        query
            .run(&mut sink)
            .map_err(|error| failure_in(error, text))?;
        latencies.push(started.elapsed());
        rows = sink.rows;
    }
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
    let line = serde_json::json!({
        "runs": latencies.len(),
        "rows": rows,
        "min_us": micros(at(0.0)),
        "median_us": micros(at(0.5)),
        "p99_us": micros(at(0.99)),
        "max_us": micros(at(1.0)),
    });
    writeln!(io::stdout().lock(), "{line}")?;
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e7).round() / 10.0
}

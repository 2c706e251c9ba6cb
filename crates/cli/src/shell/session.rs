//! A session: what is asked, how answers are shown, and what is kept from one statement to the
//! next.

use super::command::{self, Command};
use super::flow::Flow;
use super::pager::{Pager, Screen};
use super::prefixes::Prefixes;
use super::script;
use super::vocabulary::{Vocabulary, names};
use crate::endpoint::Endpoint;
use crate::exit::{Code, Failure, Outcome};
use crate::format::{AnswerFormat, Family, default_format};
use crate::live::{Followed, Following, Listed, View, Watch, live_source, print_all};
use crate::printer::{Output, Printer};
use crate::say::say;
use crate::source::{Answered, Changed, Source};
use crate::stop::Stop;
use crate::table::Style;
use crate::text::{Form, Progress, ScriptStatement, declared, form, progress};
use crate::trouble::Trouble;
use crate::verbs::input::Input;
use crate::verbs::{open, stats};
use somersault::Request;
use somersault::config::Config;
use somersault::text::{TokenKind, pieces};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const OUTPUT_BUFFER_BYTES: usize = 1 << 16;
/// Scripts that read scripts, at most.
const READS_MAX: usize = 16;

/// What a session begins with.
pub struct Opening {
    /// What is asked.
    pub source: Source,
    /// Limits, for sources that are opened later.
    pub config: Config,
    /// Headers for endpoints.
    pub headers: Vec<String>,
    /// Whether stores and files that are opened later may be changed.
    pub allow_update: bool,
    /// Whether files are loaded leniently.
    pub is_lenient: bool,
}

/// A session.
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct Session {
    source: Source,
    config: Config,
    headers: Vec<String>,
    allow_update: bool,
    is_lenient: bool,
    /// The server that the headers are for.
    home: Option<String>,
    prefixes: Arc<Mutex<Prefixes>>,
    vocabulary: Arc<Mutex<Vocabulary>>,
    stop: Stop,
    /// Terms for variables (name, term), of those queries that have them.
    terms: Vec<(String, String)>,
    results: Option<AnswerFormat>,
    graphs: Option<AnswerFormat>,
    output: Option<(PathBuf, File)>,
    has_timer: bool,
    has_pager: bool,
    is_on_terminal: bool,
    reads: usize,
}

impl Session {
    /// A session that has asked nothing yet.
    pub fn new(opening: Opening) -> Session {
        let is_on_terminal = io::stdout().is_terminal();
        let home = match &opening.source {
            Source::Remote(endpoint) => Some(endpoint.origin()),
            Source::Local { .. } => None,
        };
        let mut prefixes = Prefixes::default();
        prefixes.load(opening.source.prefixes());
        Session {
            source: opening.source,
            home,
            config: opening.config,
            headers: opening.headers,
            allow_update: opening.allow_update,
            is_lenient: opening.is_lenient,
            prefixes: Arc::new(Mutex::new(prefixes)),
            vocabulary: Arc::default(),
            stop: Stop::default(),
            terms: Vec::new(),
            results: None,
            graphs: None,
            output: None,
            has_timer: false,
            has_pager: is_on_terminal && io::stdin().is_terminal(),
            is_on_terminal,
            reads: 0,
        }
    }

    /// What ends the work that runs.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The prefixes, shared with whoever completes them.
    pub(super) fn prefixes(&self) -> Arc<Mutex<Prefixes>> {
        Arc::clone(&self.prefixes)
    }

    /// The names of the source, shared with whoever completes them. Fetched from now on.
    pub(super) fn vocabulary(&self) -> Arc<Mutex<Vocabulary>> {
        *lock(&self.vocabulary) = Vocabulary::of(&self.source);
        Arc::clone(&self.vocabulary)
    }

    /// Does what one statement or command says.
    pub(super) fn execute(&mut self, piece: &ScriptStatement) -> Result<Flow, Failure> {
        let text = &piece.text;
        if text.trim_start().starts_with('.') {
            let usage = |message: String| Failure::new(Code::Usage, message);
            let command = command::parse(text).map_err(usage)?;
            return self.obey(command, piece);
        }
        if form(text).is_none() && !declared(text).is_empty() && is_prologue(text) {
            lock(&self.prefixes).remember(text);
            return Ok(Flow::Continue);
        }
        if form(text) == Some(Form::Update) {
            let changed = self.update(text);
            let changed = changed.map_err(|trouble| self.failure(&trouble, piece))?;
            say!("{changed}");
            return Ok(Flow::Continue);
        }
        let answered = self
            .query(text)
            .map_err(|trouble| self.failure(&trouble, piece))?;
        if self.has_timer {
            say!("{}", timing(&answered));
        }
        Ok(Flow::Continue)
    }

    fn obey(&mut self, command: Command, piece: &ScriptStatement) -> Result<Flow, Failure> {
        match command {
            Command::Quit => return Ok(Flow::Quit),
            Command::Help => print(&command::help())?,
            Command::Timer(is_on) => self.has_timer = is_on,
            Command::Pager(is_on) => self.has_pager = is_on,
            Command::Mode(None) => print(&self.modes())?,
            Command::Mode(Some(format)) => self.set_mode(format),
            Command::Explain(_) => self.plan(piece, false)?,
            Command::Profile(_) => self.plan(piece, true)?,
            Command::Read(file) => return self.read(Path::new(&file)),
            Command::Output(file) => self.set_output(file)?,
            Command::Open(place) => self.open(&place)?,
            Command::Prefixes => {
                let lines: Vec<String> = lock(&self.prefixes)
                    .declared()
                    .map(|(name, iri)| format!("PREFIX {name}: <{iri}>\n"))
                    .collect();
                print(&lines.concat())?;
            }
            Command::Prefix(name, iri) => self.declare(&name, iri)?,
            Command::Param(given) => self.param(given)?,
            Command::Stats => self.stats()?,
            Command::Streams => self.list(Listed::Streams)?,
            Command::Queries => self.list(Listed::Queries)?,
            Command::Subscribe(name, count) => self.subscribe(&name, count)?,
            Command::Graphs => {
                const GRAPHS: &str =
                    "SELECT DISTINCT ?graph WHERE { GRAPH ?graph { ?s ?p ?o } } ORDER BY ?graph";
                let terms = std::mem::take(&mut self.terms);
                let answered = self.query(GRAPHS);
                self.terms = terms;
                answered.map_err(|trouble| trouble.into_failure(GRAPHS))?;
            }
        }
        Ok(Flow::Continue)
    }

    /// A failure with its place, and with what is missing if that is known.
    fn failure(&self, trouble: &Trouble, piece: &ScriptStatement) -> Failure {
        let missing = match trouble.code {
            Code::Syntax => lock(&self.prefixes).missing(&piece.text).join(": and "),
            _ => String::new(),
        };
        let mut message = trouble.in_text(&piece.text, piece.lines_before);
        if !missing.is_empty() {
            message = format!("{message}\n.prefix declares {missing}: (as Tab does)");
        }
        Failure {
            code: trouble.code,
            message,
        }
    }

    /// Asks, and prints the answer. Places in a failure are those of `text`.
    fn query(&mut self, text: &str) -> Result<Answered, Trouble> {
        let (completed, added) = lock(&self.prefixes).complete(text);
        self.stop.begin();
        let answered = self.print_answer(&completed);
        self.stop.end();
        // What is no SPARQL declares nothing; what was stopped or failed otherwise does.
        if !matches!(&answered, Err(trouble) if trouble.code == Code::Syntax) {
            lock(&self.prefixes).remember(text);
        }
        answered.map_err(|trouble| trouble.without_lines(added))
    }

    /// Changes what is asked otherwise. Places in a failure are those of `text`.
    fn update(&mut self, text: &str) -> Result<Changed, Trouble> {
        let (completed, added) = lock(&self.prefixes).complete(text);
        self.stop.begin();
        let changed = self.source.update(&completed, None, &self.stop);
        self.stop.end();
        if !matches!(&changed, Err(trouble) if trouble.code == Code::Syntax) {
            lock(&self.prefixes).remember(text);
        }
        changed.map_err(|trouble| trouble.without_lines(added))
    }

    fn print_answer(&self, text: &str) -> Result<Answered, Trouble> {
        let form = form(text);
        let format = self.format(form);
        let (lines, columns) = console::Term::stdout().size();
        let is_boxed = self.is_on_terminal && self.output.is_none();
        let style = if is_boxed {
            let own = declared(text);
            let prefixes = lock(&self.prefixes);
            let session = prefixes
                .declared()
                .map(|(n, i)| (n.to_owned(), i.to_owned()));
            Style::boxed(
                usize::from(columns),
                own.into_iter().chain(session).collect(),
            )
        } else {
            Style::default()
        };
        let source = self.source.clone().with_terms(self.terms_of(text));
        let ask = |output: Output<'_>| {
            let output = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, output);
            let mut printer = Printer::new(format, style.clone(), Box::new(output));
            source.ask(text, &mut printer, &self.stop)
        };
        let paged = self.has_pager && is_boxed;
        match (&self.output, pager_command().filter(|_| paged)) {
            (Some((_, file)), _) => ask(Box::new(file)),
            (None, Some(command)) => {
                let screen = Screen {
                    lines: usize::from(lines),
                    columns: usize::from(columns),
                };
                let mut pager = Pager::new(screen, command);
                let answered = ask(Box::new(&mut pager));
                pager.close()?;
                answered
            }
            (None, None) => ask(Box::new(io::stdout().lock())),
        }
    }

    /// The terms of those variables that a text has.
    fn terms_of(&self, text: &str) -> Vec<(String, String)> {
        let has = |name: &str| {
            let mut variables = pieces(text).filter(|token| token.is(TokenKind::Variable));
            variables.any(|variable| variable.text[1..] == *name)
        };
        let given = self.terms.iter().filter(|(name, _)| has(name));
        given.cloned().collect()
    }

    /// `.param`
    fn param(&mut self, given: Option<(String, String)>) -> Outcome {
        let Some((name, term)) = given else {
            let lines = self.terms.iter();
            let lines = lines.map(|(name, term)| format!("?{name} = {term}\n"));
            return print(&lines.collect::<String>());
        };
        self.terms.retain(|(known, _)| *known != name);
        if !term.is_empty() {
            self.terms.push((name, term));
        }
        Ok(())
    }

    fn format(&self, form: Option<Form>) -> AnswerFormat {
        let for_people = self.is_on_terminal && self.output.is_none();
        let set = if form.is_some_and(Form::is_graph) {
            self.graphs
        } else {
            self.results
        };
        set.unwrap_or_else(|| default_format(form, for_people))
    }

    fn set_mode(&mut self, format: AnswerFormat) {
        if format.family() != Family::Graph {
            self.results = Some(format);
        }
        if format.family() != Family::Results {
            self.graphs = Some(format);
        }
    }

    fn modes(&self) -> String {
        let results = self.format(Some(Form::Select)).name();
        let graphs = self.format(Some(Form::Construct)).name();
        format!("solutions: {results}\ngraphs: {graphs}\n")
    }

    fn set_output(&mut self, file: Option<String>) -> Outcome {
        self.output = None;
        if let Some(file) = file {
            let path = PathBuf::from(file);
            let opened = File::create(&path).map_err(|error| named(&path, &error))?;
            self.output = Some((path, opened));
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, iri: Option<String>) -> Outcome {
        let mut prefixes = lock(&self.prefixes);
        let known = || prefixes.known(name).map(str::to_owned);
        let Some(iri) = iri.or_else(known) else {
            let message = format!("{name}: is not well known; .prefix {name}: <IRI> declares it");
            return Err(Failure::new(Code::Usage, message));
        };
        prefixes.declare(name, &iri);
        Ok(())
    }

    /// `.explain` and `.profile`. The command's name is blanked out, so that places stay right.
    fn plan(&mut self, piece: &ScriptStatement, is_profile: bool) -> Outcome {
        let (name, _) = command::split(&piece.text);
        let text = piece.text.replacen(name, &" ".repeat(name.len()), 1);
        let text = match progress(&text) {
            Progress::Ended(end) => {
                assert!(text[..end].ends_with(';'), "a semicolon ends the statement");
                text[..end - 1].to_owned()
            }
            _ => text,
        };
        let (completed, added) = lock(&self.prefixes).complete(&text);
        let terms = self.terms_of(&completed);
        let run = || -> Result<String, Trouble> {
            let database = match &self.source {
                Source::Local { database, .. } => database,
                Source::Remote(endpoint) => {
                    let endpoint = endpoint.clone().with_terms(&terms);
                    return Ok(endpoint.plan(&completed, is_profile, &self.stop)?.text);
                }
            };
            let mut query = database.start(&Request {
                bindings: terms.clone(),
                ..Request::new(&completed)
            })?;
            if !is_profile {
                return Ok(query.explain());
            }
            query.enable_profile();
            self.stop.watch(query.token());
            let output = Box::new(io::sink());
            let format = default_format(form(&text), false);
            query.run(&mut Printer::new(format, Style::default(), output))?;
            Ok(query.explain_profile())
        };
        self.stop.begin();
        let plan = run();
        self.stop.end();
        let plan = plan.map_err(|trouble| {
            let asked = ScriptStatement {
                text: text.clone(),
                lines_before: piece.lines_before,
            };
            self.failure(&trouble.without_lines(added), &asked)
        })?;
        lock(&self.prefixes).remember(&text);
        print(&format!("{}\n", plan.trim_end()))
    }

    fn read(&mut self, path: &Path) -> Result<Flow, Failure> {
        if self.reads == READS_MAX {
            let message = format!("{}: scripts read each other too deeply", path.display());
            return Err(Failure::new(Code::Limit, message));
        }
        let file = File::open(path).map_err(|error| named(path, &error))?;
        self.reads += 1;
        let flow = script::statements(
            |piece| self.execute(piece),
            BufReader::new(file),
            Some(path),
        );
        assert!(
            (1..=READS_MAX).contains(&self.reads),
            "a script ends after it began"
        );
        self.reads -= 1;
        flow
    }

    fn open(&mut self, place: &str) -> Outcome {
        let path = Path::new(place);
        self.source = if place.starts_with("http://") || place.starts_with("https://") {
            let endpoint = self.endpoint(place)?;
            self.stop.begin();
            let found = endpoint.probe(&self.stop);
            self.stop.end();
            let found = found.map_err(|trouble| trouble.into_failure("ASK {}"))?;
            say!("{found}");
            Source::Remote(endpoint)
        } else if path.is_dir() {
            let database = if self.allow_update {
                open::writable(path, &self.config)?
            } else {
                open::store(path, &self.config)?
            };
            Source::local(database, Some(path.to_owned()))
        } else {
            // What has no extension is missing before it has no format.
            std::fs::metadata(path).map_err(|error| named(path, &error))?;
            Source::local(
                open::files(
                    Input {
                        files: &[path.to_owned()],
                        format: None,
                        base: None,
                        is_lenient: self.is_lenient,
                    },
                    &self.config,
                    self.allow_update,
                )?,
                None,
            )
        };
        lock(&self.prefixes).load(self.source.prefixes());
        if self.is_on_terminal {
            self.vocabulary();
        }
        Ok(())
    }

    /// An endpoint to go on with. The session's headers, a token maybe, go only to the server that it
    /// began with.
    fn endpoint(&self, url: &str) -> Result<Endpoint, Failure> {
        let endpoint = Endpoint::new(url, &[], self.config.timeout)?;
        if self.home.as_ref() == Some(&endpoint.origin()) {
            return Endpoint::new(url, &self.headers, self.config.timeout);
        }
        Ok(endpoint)
    }

    /// `.streams` and `.queries`
    fn list(&mut self, listed: Listed) -> Outcome {
        let server = live_source(&self.source)?;
        self.stop.begin();
        let objects = match listed {
            Listed::Streams => server.streams(&self.stop),
            Listed::Queries => server.queries(&self.stop),
        };
        self.stop.end();
        let objects = objects.map_err(|trouble| trouble.into_failure(""))?;
        if listed == Listed::Queries {
            lock(&self.vocabulary).set_queries(names(&objects));
        }
        let (_, columns) = console::Term::stdout().size();
        let is_boxed = self.is_on_terminal && self.output.is_none();
        let width = is_boxed.then_some(usize::from(columns));
        print_all(listed, &objects, width, &mut self.writer())?;
        Ok(())
    }

    /// `.subscribe`. Ctrl-C ends it, and a script with it.
    fn subscribe(&mut self, name: &str, count: Option<u64>) -> Outcome {
        let server = live_source(&self.source)?;
        let followed = Followed::Registered(name.to_owned());
        let following = Following::new(server.clone(), followed, 0, &self.stop);
        let view = if self.is_on_terminal && self.output.is_none() {
            let prefixes = lock(&self.prefixes);
            let declared = prefixes.declared();
            let declared = declared.map(|(name, iri)| (name.to_owned(), iri.to_owned()));
            View::screen(self.writer(), declared.collect())
        } else {
            View::Lines(self.writer())
        };
        self.stop.begin();
        let ended = Watch::new(following, view, count, None).run();
        self.stop.end();
        let is_interactive = self.is_on_terminal && io::stdin().is_terminal();
        match ended.and_then(|end| end.outcome(count)) {
            Err(trouble) if trouble.code == Code::Interrupted && is_interactive => Ok(()),
            ended => ended.map_err(|trouble| trouble.into_failure("")),
        }
    }

    /// Where answers go.
    fn writer(&self) -> Output<'_> {
        match &self.output {
            Some((_, file)) => Box::new(BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, file)),
            None => Box::new(BufWriter::with_capacity(
                OUTPUT_BUFFER_BYTES,
                io::stdout().lock(),
            )),
        }
    }

    fn stats(&mut self) -> Outcome {
        match &self.source {
            Source::Local {
                location: Some(location),
                ..
            } => stats::print_to(location, &mut io::stdout().lock()),
            Source::Local { database, .. } => {
                let summary = database.summary();
                print(&format!(
                    "quads         {:>14}\nterms         {:>14}\npredicates    {:>14}\n\
                     named graphs  {:>14}\n",
                    summary.quads, summary.terms, summary.predicates, summary.named_graphs
                ))
            }
            Source::Remote(_) => {
                const COUNT: &str = "SELECT (COUNT(*) AS ?triples) WHERE { ?s ?p ?o }";
                let counted = self.query(COUNT).map(|_| ());
                counted.map_err(|trouble| trouble.into_failure(COUNT))
            }
        }
    }
}

/// What a lock guards, whether or not somebody panicked with it in hand: nothing is half done.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a text is declarations and nothing else.
fn is_prologue(text: &str) -> bool {
    progress(text) == Progress::Incomplete && {
        let mut words = pieces(text).filter(|token| token.is(TokenKind::Word));
        words.all(|word| {
            ["PREFIX", "BASE", "VERSION"]
                .iter()
                .any(|known| word.is_word(known))
        })
    }
}

fn named(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Failed, format!("{}: {error}", path.display()))
}

fn print(text: &str) -> Outcome {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    Ok(output.flush()?)
}

/// What shows long answers: `$PAGER` (empty: nothing does), or else `less` with lines cut rather
/// than folded, where there is one.
fn pager_command() -> Option<String> {
    if let Some(command) = std::env::var_os("PAGER") {
        let command = command.into_string().ok()?;
        return (!command.trim().is_empty()).then_some(command);
    }
    let path = std::env::var_os("PATH")?;
    let has_less = std::env::split_paths(&path).any(|folder| folder.join("less").is_file());
    has_less.then(|| "less -SRFX".to_owned())
}

fn timing(answered: &Answered) -> String {
    let millis = |spent: Duration| format!("{:.3} ms", spent.as_secs_f64() * 1000.0);
    let spent = answered.spent;
    let parts = [
        ("parse", spent.parse),
        ("plan", spent.plan),
        ("exec", spent.exec),
        ("total", Some(answered.total)),
    ];
    let times = parts
        .into_iter()
        .filter_map(|(name, spent)| Some((name, millis(spent?))));
    let rows = answered.rows.map(|rows| format!("rows {rows}"));
    let times = times.map(|(name, time)| format!("{name} {time}"));
    rows.into_iter().chain(times).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Spent;

    #[test]
    fn timings_say_what_is_known() {
        let mut answered = Answered {
            rows: Some(3),
            spent: Spent {
                parse: Some(Duration::from_micros(120)),
                ..Spent::default()
            },
            total: Duration::from_millis(2),
        };
        assert_eq!(timing(&answered), "rows 3, parse 0.120 ms, total 2.000 ms");
        answered.rows = None;
        answered.spent = Spent::default();
        assert_eq!(timing(&answered), "total 2.000 ms");
    }

    #[test]
    fn a_prologue_alone_is_told_from_a_query() {
        assert!(is_prologue("PREFIX a: <http://a/> BASE <http://b/>"));
        assert!(!is_prologue("PREFIX a: <http://a/> SELEC * {}"));
        assert!(!is_prologue("ASK {}"));
    }
}

//! `serve` and `demo`: a database over HTTP until somebody interrupts it.

use crate::arguments::{Demo, Limits, Serve};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::verbs::input::Input;
use crate::verbs::live::feeding;
use crate::verbs::{load, open};
use server::{Ended, OpeningError, Reload, ServeError, Server, ServerOptions, ended_by_signal};
use somersault::Database;
use somersault::config::Config;
use std::path::Path;

/// Runs `serve`.
pub fn run(flags: Serve, file: Option<&Path>) -> Outcome {
    let read = reading(Flags::of(&flags), file);
    let config = read()?;
    if flags.location.is_some() && !flags.files.is_empty() && !config.may_be_changed() {
        let message = "serving a store does not change it, so no files can be loaded into it: add \
                       --allow-update, or load them before with `somersault load`";
        return Err(Failure::new(Code::Usage, message));
    }
    let cors = flags.cors;
    let location = flags.location.clone();
    let options = move |config: &Config| ServerOptions {
        cross_origin: cors,
        store: location.clone().filter(|_| config.may_be_changed()),
        ..ServerOptions::from_config(config)
    };
    let now = options(&config);
    let reload: Reload = Box::new(move || match read() {
        Ok(config) => Ok(options(&config)),
        Err(failure) => Err(failure.message),
    });
    serve(now, Some(reload), move || opened(&flags, &config), |_| {})
}

/// What of the command line is configuration.
#[derive(Clone)]
pub struct Flags {
    /// Limits of queries.
    pub limits: Limits,
    /// Where it listens.
    pub bind: Option<String>,
    /// Names that requests may have as their Host.
    pub hosts: Vec<String>,
    /// Whether everybody may change the graph.
    pub allow_update: bool,
}

impl Flags {
    fn of(flags: &Serve) -> Flags {
        Flags {
            limits: flags.limits.clone(),
            bind: flags.bind.clone(),
            hosts: flags.allow_host.clone(),
            allow_update: flags.allow_update,
        }
    }
}

/// Reads the configuration as it is now, each time it is called: the file, the environment, and the
/// flags that the process was started with. An error says what is wrong, and changes nothing: what was
/// read before stays in force. What is automatic is measured anew, so memory that the graph
/// has taken since is not free any more.
pub fn reading(
    flags: Flags,
    file: Option<&Path>,
) -> impl Fn() -> Result<Config, Failure> + Send + Sync + 'static {
    let file = file.map(Path::to_owned);
    move || {
        let mut layers = settings::layers(file.as_deref())?;
        settings::add_limits(&mut layers, &flags.limits)?;
        settings::add_bind(&mut layers, flags.bind.as_deref())?;
        settings::add_hosts(&mut layers, &flags.hosts)?;
        settings::add_allow_update(&mut layers, flags.allow_update)?;
        settings::check(&layers)
    }
}

/// What is to be served: for changing, where somebody may.
fn opened(flags: &Serve, config: &Config) -> Result<Database, Failure> {
    let input = Input {
        files: &flags.files,
        format: flags.format.as_deref(),
        base: flags.base.as_deref(),
        is_lenient: flags.lenient,
    };
    let is_writable = config.may_be_changed();
    if flags.spread.nodes.is_some() {
        if is_writable {
            let message =
                "a graph in parts takes no changes yet: leave --allow-update out, or --nodes";
            return Err(Failure::new(Code::Usage, message));
        }
        return match &flags.location {
            None => {
                let whole = open::files(input, &open::of_whole(flags.spread, config), false)?;
                open::in_nodes(whole, flags.spread, config)
            }
            Some(location) => open::store_in_nodes(location, flags.spread, config),
        };
    }
    match &flags.location {
        None => open::files(input, config, is_writable),
        Some(location) if !is_writable => open::followed(location, config),
        Some(location) => {
            if !flags.files.is_empty() {
                load::files_into(location, input, config)?;
            }
            open::living(location, config)
        }
    }
}

/// Runs `demo`.
pub fn demo(flags: &Demo, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    settings::add_bind(&mut layers, flags.bind.as_deref())?;
    let is_live = flags.live;
    settings::add_allow_update(&mut layers, is_live)?;
    let config = settings::check(&layers)?;
    let options = ServerOptions::from_config(&config);
    let ready = move |url: &str| {
        introduce(url);
        if is_live {
            introduce_stream(url);
            let url = url.to_owned();
            let thread = std::thread::Builder::new().name("demo".to_owned());
            if let Err(error) = thread.spawn(move || feeding::feed(&url)) {
                say!("somersault: no thread for the stream could be started: {error}");
            }
        }
        say!("Ctrl-C ends it.");
    };
    serve(options, None, move || open::demo(&config, is_live), ready)
}

/// Takes the address first, so that a port in use is said at once, and answers probes while what is
/// served is opened.
fn serve(
    options: ServerOptions,
    reload: Option<Reload>,
    open: impl FnOnce() -> Result<Database, Failure> + Send + 'static,
    ready: impl FnOnce(&str) + Send + 'static,
) -> Outcome {
    let server = bound(options, reload)?;
    let url = format!("http://{}", server.address());
    let opened = move || {
        say!("somersault {} listens on {url}", env!("CARGO_PKG_VERSION"));
        ready(&url);
    };
    until_ended(server, open, opened)
}

/// A server that has its address.
pub fn bound(options: ServerOptions, reload: Option<Reload>) -> Result<Server, Failure> {
    let server = Server::bind(options).map_err(failure)?;
    Ok(match reload {
        Some(reload) => server.reloading(reload),
        None => server,
    })
}

/// Serves until a signal ends it, which its exit code says.
pub fn until_ended(
    server: Server,
    open: impl FnOnce() -> Result<Database, Failure> + Send + 'static,
    opened: impl FnOnce() + Send + 'static,
) -> Outcome {
    let ended = server.serve_while_opening(open, opened, ended_by_signal());
    let code = match ended {
        Ok(Ended::Interrupted) => Code::Interrupted,
        Ok(Ended::Terminated) => Code::Terminated,
        Err(OpeningError::Open(failure)) => return Err(failure),
        Err(OpeningError::Serve(error)) => return Err(failure(error)),
    };
    Err(Failure {
        code,
        message: String::new(),
    })
}

fn failure(error: ServeError) -> Failure {
    let code = match error {
        ServeError::Bind { .. } => Code::Connection,
        ServeError::Start(_) => Code::Failed,
    };
    Failure::new(code, error)
}

/// Three queries to try, as a person would paste them.
fn introduce(url: &str) {
    const PREFIX: &str = "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>";
    let queries = [
        (
            "what there is, by class",
            "SELECT DISTINCT ?class WHERE { ?thing a ?class } ORDER BY ?class".to_owned(),
        ),
        (
            "the full professors of a department",
            format!(
                "{PREFIX} SELECT ?name ?email WHERE {{ ?p ub:worksFor \
                 <http://www.Department0.University0.edu> ; a ub:FullProfessor ; ub:name ?name ; \
                 ub:emailAddress ?email }} ORDER BY ?name"
            ),
        ),
        (
            "students who take a course of their own advisor",
            format!(
                "{PREFIX} SELECT ?student ?course WHERE {{ ?student ub:advisor ?teacher . \
                 ?teacher ub:teacherOf ?course . ?student ub:takesCourse ?course }} LIMIT 10"
            ),
        ),
    ];
    say!("\nA university of 100,543 triples. Open {url}/ in a browser, or try:\n");
    for (what, query) in queries {
        say!("  # {what}");
        say!("  curl -G {url}/sparql -H 'Accept: text/csv' \\");
        say!("       --data-urlencode 'query={query}'\n");
    }
}

/// A live query to try, and an item to push.
fn introduce_stream(url: &str) {
    const UB: &str = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#";
    const COURSE: &str = "http://www.Department0.University0.edu/GraduateCourse0";
    let endpoint = if url.ends_with(":7272") {
        String::new()
    } else {
        format!(" --endpoint {url}")
    };
    let (campus, enters) = (feeding::CAMPUS, feeding::ENTERS);
    say!("The stream {campus} says who enters which course. In another terminal:\n");
    say!("  # how full each course is, and who teaches it: an answer that changes each second");
    say!("  somersault subscribe{endpoint} --query 'PREFIX ub: <{UB}>");
    say!("    SELECT ?course ?teacher (COUNT(DISTINCT ?student) AS ?students)");
    say!("    FROM NAMED WINDOW <urn:w> ON <{campus}> [RANGE PT10S STEP PT1S]");
    say!(
        "    WHERE {{ WINDOW <urn:w> {{ ?student <{enters}> ?course }} ?teacher ub:teacherOf ?course }}"
    );
    say!("    GROUP BY ?course ?teacher ORDER BY DESC(?students)'\n");
    say!("  # and in a third one: somebody enters");
    say!("  echo '<urn:me> <{enters}> <{COURSE}> .' |");
    say!("    somersault stream push {campus}{endpoint} --format nt\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Verb};
    use clap::Parser;
    use std::fs;
    use std::time::Duration;

    fn flags(arguments: &[&str]) -> Serve {
        let arguments = ["somersault", "serve", "-l", "store"]
            .iter()
            .chain(arguments);
        match Arguments::parse_from(arguments).verb {
            Verb::Serve(flags) => flags,
            _ => panic!("another verb"),
        }
    }

    #[test]
    fn the_configuration_is_read_again_with_the_same_flags() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("somersault.toml");
        fs::write(&file, "[query]\ntimeout = \"5s\"\nthreads = 1").unwrap();
        let flags = flags(&[
            "--threads",
            "3",
            "--allow-update",
            "--bind",
            "127.0.0.1:7333",
        ]);
        let reload = reading(Flags::of(&flags), Some(&file));
        let before = reload().unwrap();
        let seconds = Duration::from_secs;
        assert_eq!((before.timeout, before.query_threads), (seconds(5), 3));
        assert!(before.allow_update && before.bind.port() == 7333);
        let changed = "[query]\ntimeout = \"6s\"\nthreads = 2\n[server]\ndrain = \"1s\"";
        fs::write(&file, changed).unwrap();
        let after = reload().unwrap();
        assert_eq!((after.timeout, after.drain), (seconds(6), seconds(1)));
        assert_eq!(after.query_threads, 3, "a flag is above the file");
        assert!(after.allow_update);
    }

    #[test]
    fn a_configuration_that_makes_no_sense_says_why_and_the_next_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("somersault.toml");
        fs::write(&file, "").unwrap();
        let reload = reading(Flags::of(&flags(&[])), Some(&file));
        assert!(reload().is_ok());
        fs::write(&file, "[query]\ntimeout = \"5\"").unwrap();
        let message = reload().unwrap_err().message;
        assert!(
            message.contains("somersault.toml: `query.timeout` = `5`"),
            "{message}"
        );
        fs::write(&file, "[query]\ntimout = \"5s\"").unwrap();
        assert!(
            reload()
                .unwrap_err()
                .message
                .contains("did you mean `query.timeout`?")
        );
        fs::remove_file(&file).unwrap();
        assert!(reload().unwrap_err().message.contains("somersault.toml"));
        fs::write(&file, "[query]\ntimeout = \"7s\"").unwrap();
        assert_eq!(reload().unwrap().timeout, Duration::from_secs(7));
    }
}

//! `serve` and `demo`: a database over HTTP until somebody interrupts it.

use crate::arguments::{Demo, Serve};
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::open;
use server::{Server, ServerOptions};
use somersault::Database;
use somersault::config::Config;
use std::path::Path;

/// Runs `serve`.
pub fn run(flags: &Serve, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    settings::add_bind(&mut layers, flags.bind.as_deref())?;
    let config = settings::check(&layers)?;
    let database = match &flags.location {
        Some(location) => open::store(location, &config)?,
        None => open::files(&flags.files, &config)?,
    };
    serve(database, &config, |_| {})
}

/// Runs `demo`.
pub fn demo(flags: &Demo, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_limits(&mut layers, &flags.limits)?;
    settings::add_bind(&mut layers, flags.bind.as_deref())?;
    let config = settings::check(&layers)?;
    let database = open::demo(&config)?;
    serve(database, &config, introduce)
}

fn serve(database: Database, config: &Config, ready: impl FnOnce(&str)) -> Outcome {
    let server = Server::bind(ServerOptions::from_config(config))
        .map_err(|error| Failure::new(Code::Connection, error))?;
    let url = format!("http://{}", server.address());
    eprintln!("somersault {} listens on {url}", env!("CARGO_PKG_VERSION"));
    ready(&url);
    let _ = (server, database);
    Ok(())
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
    eprintln!("\nA university of 100,543 triples. Open {url}/ in a browser, or try:\n");
    for (what, query) in queries {
        eprintln!("  # {what}");
        eprintln!("  curl -G {url}/sparql -H 'Accept: text/csv' \\");
        eprintln!("       --data-urlencode 'query={query}'\n");
    }
    eprintln!("Ctrl-C ends it.");
}

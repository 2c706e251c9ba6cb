//! What the targets do with their bytes. Each body is a function that panics when it finds a bug.
//!
//! Bodies know nothing of libFuzzer: the binaries of this folder run them over what libFuzzer
//! makes up, and a test of `somersault` runs the same functions over the committed corpora, on
//! every machine and without instrumentation.
//!
//! No crash is the least that is asked. Where two ways lead to the same answer, a body takes both
//! and compares; where an error has a place, the place lies within the text.

mod changes;
mod config;
mod query;
mod rdf_text;
mod results;
mod stored;
mod wire;

/// A body.
pub type Body = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Body); 18] = [
    ("config", config::config),
    ("dictionary", stored::dictionary),
    ("jsonld", rdf_text::jsonld),
    ("load", rdf_text::load),
    ("log", changes::log),
    ("manifest", stored::manifest),
    ("ntriples", rdf_text::ntriples),
    ("patch", changes::patch),
    ("query_plan", query::plan),
    ("query_run", query::run),
    ("rdfxml", rdf_text::rdfxml),
    ("record", changes::record),
    ("results", results::results),
    ("snapshot", stored::snapshot),
    ("trig", rdf_text::trig),
    ("turtle", rdf_text::turtle),
    ("update", changes::update),
    ("wire", wire::wire),
];

/// The body of this name.
///
/// # Panics
///
/// If there is none.
pub fn named(name: &str) -> Body {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.expect("a target's name is in the table").1
}

/// Runs a body on a thread with as much stack as the engine asks for. A panic goes on in the
/// caller.
pub fn on_small_stack(body: Body, data: &[u8]) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(::query::STACK_BYTES_MIN)
            .spawn_scoped(scope, || body(data))
            .expect("a thread can be started");
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

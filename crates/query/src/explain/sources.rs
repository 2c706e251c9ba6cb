//! What the sources of a standing query are called in a printed plan.
//!
//! ```text
//!  one window                   window :likes
//!  one that the text names not  window on <http://stream>
//!  a union                      window :a, window :b, graph g:initial
//! ```
//!
//! A window is called by the IRI that its text names it by, else by its stream's. Pure; time linear in the windows of the
//! sources.

use super::iri;
use crate::plan::ConstantId;
use crate::standing::{SourceContent, StandingQuery, Stored};
use oxrdf::Term;

impl StandingQuery {
    /// What its sources are called, the store left out, as [`PlanNames::sources`](super::PlanNames::sources) takes them; IRIs
    /// are shortened by the prefixes of its text.
    pub fn source_names(&self) -> Vec<String> {
        let contents = self.sources.iter();
        contents.map(|content| self.source_name(content)).collect()
    }

    fn source_name(&self, content: &SourceContent) -> String {
        let windows = content.windows.iter();
        let mut parts: Vec<String> = windows.map(|&at| self.window_name(at)).collect();
        match &content.stored {
            Stored::Nothing => {}
            Stored::DefaultGraph => parts.push("the stored default graph".to_owned()),
            Stored::Graphs(graphs) => {
                parts.extend(graphs.iter().map(|graph| self.graph_name(*graph)));
            }
        }
        if parts.is_empty() {
            return "nothing".to_owned();
        }
        parts.join(", ")
    }

    fn window_name(&self, at: usize) -> String {
        let prefixes = self.query.prefixes();
        match self.windows.get(at) {
            Some(window) => match &window.name {
                Some(name) => format!("window {}", iri(prefixes, name)),
                None => format!("window on {}", iri(prefixes, &window.stream)),
            },
            None => format!("window {at}"),
        }
    }

    fn graph_name(&self, graph: ConstantId) -> String {
        match self.query.constants().get(graph.0 as usize) {
            Some(Term::NamedNode(name)) => {
                format!("graph {}", iri(self.query.prefixes(), name.as_str()))
            }
            _ => format!("graph {}", graph.0),
        }
    }
}

//! The times that data bring themselves.
//!
//! | a time is said by | of what |
//! |---|---|
//! | `GRAPH prov:generatedAtTime TIME` in the default graph (W3C PROV-O) | of the statements in that graph |
//! | `SUBJECT PREDICATE TIME`, where the push names the predicate (`time-predicate`) | of the graph that it is in, the default graph among them; of a graph that it is about |
//!
//! TIME is an `xsd:dateTime` or a whole number of milliseconds. Statements of one graph are one item. What the default graph says
//! of a graph that has a time so comes with that graph, the time among it: nothing of a document is left out. Where one time is
//! all that a named predicate says, the document is one item. Everything else is an item of the time that the push says.
//!
//! Invariant: each quad is in one item, or in what is rejected. Items are in the order of their times.
//!
//! Cost: a pass over the quads, and a map of the graphs.

use crate::response::problem::Problem;
use somersault::terms::{GraphName, GraphNameRef, NamedOrBlankNode, Quad, QuadRef, TermRef};
use somersault::{Live, TimedQuads, milliseconds_of, milliseconds_of_date};
use std::collections::{HashMap, HashSet};

/// What an item without a time is told.
pub(crate) const NO_TIME: &str = "an item of this stream needs a time";
pub(crate) const NO_TIME_HINT: &str = "give `time=MILLISECONDS` in the address, or send what has times: lines \
                                       (application/x-nt-ts, application/x-ndjson), graphs with prov:generatedAtTime, a predicate \
                                       that `time-predicate` names; a stream that is made with `arrival_time` needs none";

/// What says when a graph came to be (<https://www.w3.org/TR/prov-o/#generatedAtTime>).
const GENERATED: &str = "http://www.w3.org/ns/prov#generatedAtTime";

/// Where the times of items come from that bring none by their form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing<'t> {
    /// The time that the push says (milliseconds).
    pub said_ms: Option<u64>,
    /// The predicate that the push names.
    pub predicate: Option<&'t str>,
    /// The stream's items have the times of their arrival, whatever is said.
    pub is_arrival: bool,
}

/// Items out of quads, and why others are none.
#[derive(Debug, Default)]
pub(crate) struct Timed {
    /// Items, in the order of their times.
    pub items: Vec<TimedQuads>,
    /// Why a graph is no item.
    pub refused: Vec<String>,
}

/// A moment that a client writes: milliseconds, or a date as `xsd:dateTime`.
pub(crate) fn moment(name: &str, text: &str) -> Result<u64, Problem> {
    let text = text.trim();
    let read = text.parse().ok().or_else(|| milliseconds_of_date(text));
    read.ok_or_else(|| {
        let shown = super::parameters::quoted(text);
        let why = format!("`{name}` is {shown}: it is milliseconds since 1970, or an xsd:dateTime");
        Problem::bad_request(why)
    })
}

/// The problem of items without a time.
pub(crate) fn no_time() -> Problem {
    Problem::bad_request(NO_TIME).with_hint(NO_TIME_HINT)
}

/// What is known of the time of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nothing.
    #[default]
    Unsaid,
    /// It (milliseconds).
    At(u64),
    /// Several say different ones.
    Several,
    /// What says it is no time.
    NoTime,
}

impl Known {
    fn and(self, term: TermRef<'_>) -> Known {
        match (self, milliseconds_of(term)) {
            (Known::NoTime, _) | (_, None) => Known::NoTime,
            (Known::Unsaid, Some(time_ms)) => Known::At(time_ms),
            (Known::At(time_ms), Some(other)) if other == time_ms => self,
            (Known::At(_) | Known::Several, Some(_)) => Known::Several,
        }
    }
}

/// A graph of a document.
#[derive(Debug, Default)]
struct Group {
    quads: Vec<Quad>,
    time: Known,
}

impl Timing<'_> {
    /// The one item that some quads are, as those of a line are.
    pub fn item(self, quads: Vec<Quad>) -> Result<TimedQuads, String> {
        let mut time = Known::Unsaid;
        if !self.is_arrival {
            let graphs: HashSet<GraphNameRef<'_>> =
                quads.iter().map(|quad| quad.graph_name.as_ref()).collect();
            let is_said = |quad: &&Quad| self.says_time(quad) && self.is_of(quad, &graphs);
            let says = quads.iter().filter(is_said);
            time = says.fold(time, |time, quad| time.and(quad.object.as_ref()));
        }
        let time_ms = self.decided(time, "the item")?;
        Ok(TimedQuads { time_ms, quads })
    }

    /// The items of a document.
    pub fn items(self, quads: Vec<Quad>) -> Timed {
        let mut timed = Timed::default();
        if quads.is_empty() {
            return timed;
        }
        if self.is_whole(&quads) {
            match self.item(quads) {
                Ok(item) => timed.items.push(item),
                Err(why) => timed.refused.push(why),
            }
            return timed;
        }
        for (graph, Group { quads, time }) in self.groups(quads) {
            let what = match graph {
                GraphName::DefaultGraph => "what is in no graph that has a time".to_owned(),
                named => format!("the graph {named}"),
            };
            match self.decided(time, &what) {
                Ok(time_ms) => timed.items.push(TimedQuads { time_ms, quads }),
                Err(why) => timed.refused.push(why),
            }
        }
        timed.items.sort_by_key(|item| item.time_ms);
        timed
    }

    /// The time of what is known; else why there is none.
    fn decided(self, time: Known, what: &str) -> Result<u64, String> {
        let time_ms = match (time, self.said_ms) {
            (Known::At(time_ms), _) | (Known::Unsaid, Some(time_ms)) => time_ms,
            (Known::Unsaid, None) if self.predicate.is_none() && what == "the item" => {
                return Err(NO_TIME.to_owned());
            }
            (Known::Unsaid, None) => return Err(format!("{NO_TIME}, and {what} has none")),
            (Known::Several, _) => return Err(format!("{what} has several times")),
            (Known::NoTime, _) => {
                return Err(format!(
                    "the time of {what} is neither an xsd:dateTime since 1970 nor whole milliseconds"
                ));
            }
        };
        match Live::check_time(time_ms) {
            Ok(()) => Ok(time_ms),
            Err(error) => Err(error.message),
        }
    }

    fn says_time(self, quad: &Quad) -> bool {
        quad.predicate.as_str() == self.predicate.unwrap_or(GENERATED)
    }

    /// Whether a time is one of quads of these graphs: of whatever they are about, where the push names the predicate, else of a
    /// graph.
    fn is_of(self, says: &Quad, graphs: &HashSet<GraphNameRef<'_>>) -> bool {
        self.predicate.is_some()
            || about(says).is_some_and(|graph| graphs.contains(&graph.as_ref()))
    }

    /// Whether a document is one item: no graph has a time of its own, or the named predicate says one and the same.
    fn is_whole(self, quads: &[Quad]) -> bool {
        if self.is_arrival {
            return true;
        }
        let says = || quads.iter().filter(|quad| self.says_time(quad));
        if self.predicate.is_some() {
            let of_one = says().fold(Known::Unsaid, |time, quad| time.and(quad.object.as_ref()));
            return matches!(of_one, Known::Unsaid | Known::At(_));
        }
        let dated: HashSet<GraphName> = says().filter_map(about).collect();
        !quads.iter().any(|quad| dated.contains(&quad.graph_name))
    }

    /// The graphs in the order in which they come, with what is said of their times.
    fn groups(self, quads: Vec<Quad>) -> Vec<(GraphName, Group)> {
        let mut places: HashMap<GraphName, usize> = HashMap::new();
        let mut groups: Vec<(GraphName, Group)> = Vec::new();
        for quad in &quads {
            places.entry(quad.graph_name.clone()).or_insert_with(|| {
                groups.push((quad.graph_name.clone(), Group::default()));
                groups.len() - 1
            });
        }
        for quad in quads.iter().filter(|quad| self.says_time(quad)) {
            let place = match about(quad).and_then(|graph| places.get(&graph)) {
                Some(place) => Some(place),
                None if self.predicate.is_some() => places.get(&quad.graph_name),
                None => None,
            };
            if let Some(place) = place {
                let time = &mut groups[*place].1.time;
                *time = time.and(quad.object.as_ref());
            }
        }
        for quad in quads {
            let of_dated = about(&quad).and_then(|graph| places.get(&graph).copied());
            let of_dated = of_dated.filter(|place| groups[*place].1.time != Known::Unsaid);
            let place = of_dated.unwrap_or(places[&quad.graph_name]);
            groups[place].1.quads.push(quad);
        }
        groups.retain(|(_, group)| !group.quads.is_empty());
        groups
    }
}

/// The graph that a statement of the default graph may be about.
fn about(quad: &Quad) -> Option<GraphName> {
    if quad.graph_name != GraphName::DefaultGraph {
        return None;
    }
    Some(match &quad.subject {
        NamedOrBlankNode::NamedNode(node) => node.clone().into(),
        NamedOrBlankNode::BlankNode(node) => node.clone().into(),
    })
}

/// What the text of a quad holds (bytes).
pub(crate) fn text_bytes(quad: QuadRef<'_>) -> u64 {
    let graph = match quad.graph_name {
        GraphNameRef::NamedNode(node) => node.as_str().len(),
        GraphNameRef::BlankNode(_) | GraphNameRef::DefaultGraph => 0,
    };
    let term = |term: TermRef<'_>| match term {
        TermRef::NamedNode(node) => node.as_str().len(),
        TermRef::BlankNode(node) => node.as_str().len(),
        TermRef::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        TermRef::Triple(triple) => triple.to_string().len(),
    };
    let terms = [quad.subject.into(), quad.predicate.into(), quad.object];
    (graph + terms.into_iter().map(term).sum::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::statements;

    const OWN: Timing<'_> = Timing {
        said_ms: None,
        predicate: None,
        is_arrival: false,
    };
    const DATE: &str = "<http://www.w3.org/2001/XMLSchema#dateTime>";

    fn quads(text: &str) -> Vec<Quad> {
        let read = statements(text.as_bytes(), true);
        read.collect::<Result<_, _>>().expect("it is well formed")
    }

    /// Times with their counts of quads, and how many were refused.
    fn shown(timed: &Timed) -> (Vec<(u64, usize)>, usize) {
        let items = timed.items.iter();
        let items = items.map(|item| (item.time_ms, item.quads.len()));
        (items.collect(), timed.refused.len())
    }

    fn dated() -> String {
        format!(
            "<urn:g2> <{GENERATED}> \"1970-01-01T00:00:02Z\"^^{DATE} .\n\
             <urn:g2> <urn:by> <urn:sensor> .\n\
             <urn:a> <urn:p> <urn:b> <urn:g2> .\n\
             <urn:a> <urn:p> <urn:c> <urn:g1> .\n\
             <urn:a> <urn:p> <urn:d> <urn:g1> .\n\
             _:g3 <{GENERATED}> \"1970-01-01T00:00:03Z\"^^{DATE} .\n\
             <urn:a> <urn:p> <urn:e> _:g3 .\n\
             <urn:g1> <{GENERATED}> \"1000\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
        )
    }

    #[test]
    fn graphs_with_times_are_items_in_their_order() {
        let timed = OWN.items(quads(&dated()));
        assert_eq!(shown(&timed), (vec![(1000, 3), (2000, 3), (3000, 2)], 0));
        // What has no graph with a time has that of the push, or none.
        let more = dated() + "<urn:x> <urn:p> <urn:y> .\n<urn:x> <urn:p> <urn:y> <urn:g4> .\n";
        let timed = OWN.items(quads(&more));
        assert_eq!((timed.items.len(), timed.refused.len()), (3, 2));
        assert!(timed.refused[1].contains("the graph <urn:g4>"), "{timed:?}");
        let said = Timing {
            said_ms: Some(1500),
            ..OWN
        };
        let (times, refused) = shown(&said.items(quads(&more)));
        assert_eq!(
            times,
            [(1000, 3), (1500, 1), (1500, 1), (2000, 3), (3000, 2)]
        );
        assert_eq!(refused, 0);
        let arriving = Timing {
            said_ms: Some(0),
            is_arrival: true,
            ..OWN
        };
        assert_eq!(shown(&arriving.items(quads(&more))), (vec![(0, 10)], 0));
    }

    #[test]
    fn a_document_without_times_of_graphs_is_one_item() {
        // It is about something that is no graph of the document.
        let text = format!("<urn:a> <{GENERATED}> \"1000\" .\n<urn:a> <urn:p> <urn:b> <urn:g> .\n");
        let said = Timing {
            said_ms: Some(7),
            ..OWN
        };
        assert_eq!(
            shown(&said.items(quads(&text.replace("<urn:a> <urn:p>", "<urn:c> <urn:p>"))))
                .0
                .len(),
            1
        );
        let timed = OWN.items(quads("<urn:a> <urn:p> <urn:b> .\n"));
        assert_eq!(timed.refused, [NO_TIME]);
        assert_eq!(shown(&OWN.items(Vec::new())), (Vec::new(), 0));
    }

    #[test]
    fn what_is_no_time_is_refused_alone() {
        let text = dated()
            + &format!(
                "<urn:g5> <{GENERATED}> \"soon\"^^{DATE} .\n<urn:a> <urn:p> <urn:b> <urn:g5> .\n\
                 <urn:g6> <{GENERATED}> \"1970-01-01T00:00:01Z\"^^{DATE} .\n\
                 <urn:g6> <{GENERATED}> \"1970-01-01T00:00:02Z\"^^{DATE} .\n<urn:a> <urn:p> <urn:b> <urn:g6> .\n\
                 <urn:g7> <{GENERATED}> \"9999-01-01T00:00:01Z\"^^{DATE} .\n<urn:a> <urn:p> <urn:b> <urn:g7> .\n"
            );
        let timed = OWN.items(quads(&text));
        assert_eq!(timed.items.len(), 3);
        for (why, said) in timed
            .refused
            .iter()
            .zip(["neither", "several", "a day ahead"])
        {
            assert!(why.contains(said), "{why}");
        }
        assert_eq!(timed.refused.len(), 3);
    }

    #[test]
    fn a_named_predicate_says_the_time() {
        let timing = Timing {
            predicate: Some("urn:at"),
            ..OWN
        };
        let at = |ms: u64, graph: &str| {
            format!(
                "<urn:o> <urn:at> \"{ms}\"^^<http://www.w3.org/2001/XMLSchema#long> {graph} .\n"
            )
        };
        let one = at(5000, "") + "<urn:o> <urn:p> <urn:b> .\n<urn:o> <urn:p> <urn:c> <urn:g> .\n";
        assert_eq!(shown(&timing.items(quads(&one))), (vec![(5000, 3)], 0));
        assert_eq!(timing.item(quads(&one)).map(|item| item.time_ms), Ok(5000));
        let several = at(6000, "<urn:g>") + &one + "<urn:o> <urn:p> <urn:d> <urn:h> .\n";
        let timed = timing.items(quads(&several));
        assert_eq!(shown(&timed), (vec![(5000, 2), (6000, 2)], 1));
        assert!(timed.refused[0].contains("the graph <urn:h>"), "{timed:?}");
        assert!(
            timing
                .item(quads(&several))
                .is_err_and(|why| why.contains("several"))
        );
        let none = timing.item(quads("<urn:o> <urn:p> <urn:b> .\n"));
        assert!(none.is_err_and(|why| why.contains(NO_TIME)));
    }

    #[test]
    fn moments_are_numbers_or_dates() {
        assert_eq!(moment("time", "1500").ok(), Some(1500));
        assert_eq!(moment("time", "1970-01-01T00:00:01.5Z").ok(), Some(1500));
        for wrong in ["", "soon", "-1", "1.5", "1969-12-31T23:59:59Z"] {
            assert!(moment("time", wrong).is_err(), "{wrong}");
        }
    }
}

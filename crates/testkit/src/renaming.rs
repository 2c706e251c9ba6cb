//! Whether two datasets are the same up to the names of some of their blank nodes, however many
//! those are and however much they look alike.
//!
//! Colour refinement (Weisfeiler and Leman, in one dimension): a blank node's colour is made of the
//! quads that it stands in, with the colours of the blank nodes beside it, until that tells no more
//! of them apart. Where nodes look alike, one is paired with each of the other side in turn and
//! all are coloured anew. Those of real data are interchangeable, so the first partner is
//! the right one, and the time is polynomial; what is not decided within [`WORK_MAX`] is said to be
//! undecided. What is found to be the same was compared quad for quad; what is found to be different
//! differs in a property that no renaming changes.

use oxrdf::{Dataset, GraphName, NamedOrBlankNode, Term, Triple};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Quads looked at before the answer is [`Verdict::Undecided`].
pub const WORK_MAX: u64 = 5_000_000;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A renaming makes one the other.
    Same,
    /// No renaming does.
    Different,
    /// The search was given up.
    Undecided,
}

/// Compares two datasets, of which the blank nodes with `kept` labels have the same name in both.
pub fn compare(one: &Dataset, other: &Dataset, kept: &BTreeSet<String>) -> Verdict {
    compare_within(one, other, kept, WORK_MAX)
}

fn compare_within(one: &Dataset, other: &Dataset, kept: &BTreeSet<String>, work: u64) -> Verdict {
    let sides = [one, other].map(|dataset| Side::new(dataset, kept));
    if sides[0].quads.len() != sides[1].quads.len() || sides[0].blanks != sides[1].blanks {
        return Verdict::Different;
    }
    let colours = [vec![0; sides[0].blanks], vec![0; sides[1].blanks]];
    let mut search = Search { sides, left: work };
    search.pair(colours)
}

/// A term of a quad, or a part of one that is a triple term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    /// What has the same name on both sides.
    Fixed(String),
    /// A blank node by its number on its side.
    Blank(usize),
}

/// A dataset whose blank nodes are numbers.
struct Side {
    quads: Vec<Vec<Part>>,
    blanks: usize,
    /// The quads of each blank node.
    of: Vec<Vec<usize>>,
}

impl Side {
    fn new(dataset: &Dataset, kept: &BTreeSet<String>) -> Side {
        let mut numbers = BTreeMap::new();
        let mut quads = Vec::new();
        for quad in dataset {
            let quad = quad.into_owned();
            let mut parts = match &quad.graph_name {
                GraphName::BlankNode(blank) => vec![node(blank.as_str(), kept, &mut numbers)],
                named => vec![Part::Fixed(named.to_string())],
            };
            let triple = Triple::from(quad);
            flatten(&triple, kept, &mut numbers, &mut parts);
            quads.push(parts);
        }
        let mut of = vec![Vec::new(); numbers.len()];
        for (number, quad) in quads.iter().enumerate() {
            for part in quad {
                if let Part::Blank(blank) = part
                    && of[*blank].last() != Some(&number)
                {
                    of[*blank].push(number);
                }
            }
        }
        Side {
            quads,
            blanks: numbers.len(),
            of,
        }
    }

    /// A quad without the names of its blank nodes, but for the one that is looked at.
    fn colour(&self, quad: usize, seen_from: Option<usize>, colours: &[u64]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for part in &self.quads[quad] {
            match part {
                Part::Fixed(name) => (0, name).hash(&mut hasher),
                Part::Blank(blank) => {
                    (1, colours[*blank], seen_from == Some(*blank)).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }

    /// Colours that take one more step of the neighbourhood into account.
    fn refined(&self, colours: &[u64]) -> Vec<u64> {
        let refine = |blank: usize| {
            let quads = self.of[blank].iter();
            let mut seen: Vec<u64> = quads
                .map(|&quad| self.colour(quad, Some(blank), colours))
                .collect();
            seen.sort_unstable();
            let mut hasher = DefaultHasher::new();
            (colours[blank], seen).hash(&mut hasher);
            hasher.finish()
        };
        (0..self.blanks).map(refine).collect()
    }

    /// The quads with their blank nodes named otherwise.
    fn renamed(&self, name: impl Fn(usize) -> usize) -> BTreeSet<Vec<Part>> {
        let part = |part: &Part| match part {
            Part::Blank(blank) => Part::Blank(name(*blank)),
            fixed @ Part::Fixed(_) => fixed.clone(),
        };
        let quads = self.quads.iter();
        quads.map(|quad| quad.iter().map(part).collect()).collect()
    }
}

fn node(label: &str, kept: &BTreeSet<String>, numbers: &mut BTreeMap<String, usize>) -> Part {
    if kept.contains(label) {
        return Part::Fixed(format!("_:{label}"));
    }
    let next = numbers.len();
    Part::Blank(*numbers.entry(label.to_owned()).or_insert(next))
}

/// As deep as triple terms are nested.
fn flatten(
    triple: &Triple,
    kept: &BTreeSet<String>,
    numbers: &mut BTreeMap<String, usize>,
    parts: &mut Vec<Part>,
) {
    parts.push(match &triple.subject {
        NamedOrBlankNode::BlankNode(blank) => node(blank.as_str(), kept, numbers),
        NamedOrBlankNode::NamedNode(iri) => Part::Fixed(iri.to_string()),
    });
    parts.push(Part::Fixed(triple.predicate.to_string()));
    match &triple.object {
        Term::BlankNode(blank) => parts.push(node(blank.as_str(), kept, numbers)),
        Term::Triple(inner) => {
            parts.push(Part::Fixed("<<(".to_owned()));
            flatten(inner, kept, numbers, parts);
        }
        other => parts.push(Part::Fixed(other.to_string())),
    }
}

/// Two sides on their way to a renaming.
struct Search {
    sides: [Side; 2],
    left: u64,
}

impl Search {
    /// Whether the sides are the same where nodes of the same colour may be partners. As deep as
    /// there are blank nodes that look alike.
    fn pair(&mut self, colours: [Vec<u64>; 2]) -> Verdict {
        let Some(colours) = self.stable(colours) else {
            return Verdict::Undecided;
        };
        let classes = [classes(&colours[0]), classes(&colours[1])];
        let sizes = |classes: &Classes| -> Vec<(u64, usize)> {
            let sizes = classes.iter();
            sizes
                .map(|(colour, nodes)| (*colour, nodes.len()))
                .collect()
        };
        if sizes(&classes[0]) != sizes(&classes[1]) {
            return Verdict::Different;
        }
        let alike = classes[0].iter().filter(|(_, nodes)| nodes.len() > 1);
        let Some((colour, nodes)) = alike.min_by_key(|(_, nodes)| nodes.len()) else {
            return self.verified(&colours, &classes[1]);
        };
        let mut verdict = Verdict::Different;
        for &partner in &classes[1][colour] {
            let mut apart = colours.clone();
            // A colour that no node has: of the colour that both have.
            let mut hasher = DefaultHasher::new();
            ("apart", colour).hash(&mut hasher);
            apart[0][nodes[0]] = hasher.finish();
            apart[1][partner] = hasher.finish();
            match self.pair(apart) {
                Verdict::Different => {}
                Verdict::Same => return Verdict::Same,
                Verdict::Undecided => verdict = Verdict::Undecided,
            }
            if self.left == 0 {
                return Verdict::Undecided;
            }
        }
        verdict
    }

    /// Colours that tell no more nodes apart when they are refined; `None` when the work is used up.
    fn stable(&mut self, mut colours: [Vec<u64>; 2]) -> Option<[Vec<u64>; 2]> {
        let steps: usize = self.sides[0].of.iter().map(Vec::len).sum();
        loop {
            self.left = self.left.saturating_sub(steps as u64 + 1);
            if self.left == 0 {
                return None;
            }
            let before = classes(&colours[0]).len();
            for (side, colours) in self.sides.iter().zip(&mut colours) {
                *colours = side.refined(colours);
            }
            if classes(&colours[0]).len() == before {
                return Some(colours);
            }
        }
    }

    /// Every node has a partner: whether the quads are the same then.
    fn verified(&self, colours: &[Vec<u64>; 2], partners: &Classes) -> Verdict {
        let one = self.sides[0].renamed(|blank| partners[&colours[0][blank]][0]);
        let other = self.sides[1].renamed(|blank| blank);
        if one == other {
            Verdict::Same
        } else {
            Verdict::Different
        }
    }
}

/// The nodes of each colour.
type Classes = BTreeMap<u64, Vec<usize>>;

fn classes(colours: &[u64]) -> Classes {
    let mut classes = Classes::new();
    for (blank, &colour) in colours.iter().enumerate() {
        classes.entry(colour).or_default().push(blank);
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{self, Format};
    use crate::random::Random;

    fn dataset(text: &str) -> Dataset {
        graph::read(text, Format::NQuads).expect("N-Quads")
    }

    fn verdict(one: &str, other: &str, kept: &[&str]) -> Verdict {
        let kept = kept.iter().map(|&label| label.to_owned()).collect();
        compare(&dataset(one), &dataset(other), &kept)
    }

    #[test]
    fn names_do_not_count_and_kept_ones_do() {
        let one = "_:a <http://e/p> _:b .\n_:b <http://e/q> \"_:a\" _:g .\n";
        let other = "_:x <http://e/p> _:a .\n_:a <http://e/q> \"_:a\" _:b .\n";
        assert_eq!(verdict(one, other, &[]), Verdict::Same);
        assert_eq!(verdict(one, one, &["a", "b", "g"]), Verdict::Same);
        assert_eq!(verdict(one, other, &["a"]), Verdict::Different);
        let literal = other.replace("\"_:a\"", "\"_:x\"");
        assert_eq!(verdict(one, &literal, &[]), Verdict::Different);
        let in_term = "_:a <http://e/p> <<( _:a <http://e/q> _:b )>> .\n";
        let swapped = "_:b <http://e/p> <<( _:b <http://e/q> _:a )>> .\n";
        let crossed = "_:b <http://e/p> <<( _:a <http://e/q> _:b )>> .\n";
        assert_eq!(verdict(in_term, swapped, &[]), Verdict::Same);
        assert_eq!(verdict(in_term, crossed, &[]), Verdict::Different);
    }

    /// Circles look the same to refinement: one of six, two of three.
    #[test]
    fn what_refinement_does_not_tell_apart_is_searched() {
        let circle = |from: usize, length: usize| -> String {
            let line = |i| {
                let (a, b) = (from + i, from + (i + 1) % length);
                format!("_:n{a} <http://e/p> _:n{b} .\n")
            };
            (0..length).map(line).collect::<Vec<_>>().concat()
        };
        let (one, two) = (circle(0, 6), circle(0, 3) + &circle(3, 3));
        assert_eq!(verdict(&one, &two, &[]), Verdict::Different);
        assert_eq!(
            verdict(&two, &(circle(7, 3) + &circle(3, 3)), &[]),
            Verdict::Same
        );
        let [one, two] = [&one, &two].map(|text| dataset(text));
        assert_eq!(
            compare_within(&one, &two, &BTreeSet::new(), 20),
            Verdict::Undecided
        );
    }

    /// What canonicalisation needs exponential time for.
    #[test]
    fn many_that_look_alike_are_no_trouble() {
        let star = |order: &[usize]| -> String {
            let lines =
                |i| format!("<http://e/s> <http://e/p> _:x{i} .\n_:x{i} <http://e/q> _:y{i} .\n");
            order.iter().map(lines).collect::<Vec<_>>().concat()
        };
        let mut order: Vec<usize> = (0..60).collect();
        let one = star(&order);
        Random::new(1).shuffle(&mut order);
        let other = star(&order).replace("_:x", "_:z");
        assert_eq!(verdict(&one, &other, &[]), Verdict::Same);
        let other = other.replacen("_:y7 ", "_:y8 ", 1);
        assert_eq!(verdict(&one, &other, &[]), Verdict::Different);
    }
}

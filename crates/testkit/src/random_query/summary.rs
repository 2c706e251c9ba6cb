//! What people ask first of a graph that they do not know: which predicates, how many of each, which classes.
//!
//! Engines answer such questions by what they know of themselves, if they recognise them. So these are the
//! same few questions in many clothes: other names, orders, `HAVING`, `LIMIT`, sub-queries, graphs, a bound
//! predicate; and questions that look like them and are others (a repeated variable, a filter of an end, a
//! key that stands nowhere).

use super::{Clause, Vocabulary};
use crate::random::Random;
use oxrdf::NamedNode;
use std::fmt::Write as _;

/// A random question about a whole graph.
pub fn random_summary(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let clause = Clause::random(vocabulary, random);
    let mut names = ["?s", "?p", "?o", "?x", "?class", "?n"];
    random.shuffle(&mut names);
    let [subject, predicate, object, unknown, ..] = names;
    let pattern = pattern(vocabulary, random, [subject, predicate, object]);
    let variables = [subject, predicate, object, unknown];
    let text = if random.chance(35) {
        let end = variables[random.below(3)];
        different(random, &clause, &pattern, end)
    } else {
        counts(random, &clause, &pattern, &variables)
    };
    if !random.chance(20) {
        return text;
    }
    // A dataset clause stands outside only.
    let inner = text.replacen(&clause.text(), "", 1);
    let more = match random.below(3) {
        0 => format!("{subject} {predicate} {unknown}"),
        1 => format!("FILTER(BOUND({predicate}))"),
        _ => String::new(),
    };
    format!("SELECT *{} WHERE {{ {{ {inner} }} {more} }}", clause.text())
}

/// The different terms of one end, perhaps the first few of them.
fn different(random: &mut Random, clause: &Clause, pattern: &str, end: &str) -> String {
    let mut text = format!("SELECT DISTINCT {end}{} WHERE {pattern}", clause.text());
    if random.chance(60) {
        let by = match random.below(4) {
            0 => format!("DESC({end})"),
            1 => format!("STR({end}) {end}"),
            _ => end.to_owned(),
        };
        let _ = write!(text, " ORDER BY {by}");
        if random.chance(80) {
            let _ = write!(text, " LIMIT {}", random.between(1, 20));
        }
    }
    text
}

/// `{ ?s ?p ?o }`, or nearly so.
fn pattern(vocabulary: &Vocabulary, random: &mut Random, names: [&str; 3]) -> String {
    let [subject, predicate, object] = names;
    let some = |random: &mut Random| random.pick(&vocabulary.predicates).clone();
    let constant = random.chance(35).then(|| some(random));
    let verb = constant
        .as_ref()
        .map_or(predicate.to_owned(), NamedNode::to_string);
    let far = if random.chance(5) { subject } else { object };
    let mut inner = format!("{subject} {verb} {far}");
    if random.chance(15) {
        let end = [subject, object][random.below(2)];
        let _ = match random.below(3) {
            0 => write!(inner, " FILTER(isIRI({end}))"),
            1 => write!(inner, " FILTER(REGEX({end}, \"[0-9a]\"))"),
            _ => write!(inner, " FILTER(CONTAINS({end}, \"1\") || {end} = 1)"),
        };
    }
    if constant.is_none() && random.chance(40) {
        let (first, second) = (some(random), some(random));
        inner = match random.below(4) {
            0 => format!("{inner} FILTER({predicate} != {first})"),
            1 => format!("VALUES {predicate} {{ {first} {second} <http://e/unknown> }} {inner}"),
            2 => format!("VALUES {predicate} {{ {first} {second} {first} UNDEF }} {inner}"),
            _ => format!("{inner} FILTER({predicate} = {first} || {predicate} = {second})"),
        };
    }
    let graph = match random.below(5) {
        0 if !vocabulary.graphs.is_empty() => random.pick(&vocabulary.graphs).to_string(),
        1 => "?g".to_owned(),
        _ => return format!("{{ {inner} }}"),
    };
    format!("{{ GRAPH {graph} {{ {inner} }} }}")
}

fn counts(random: &mut Random, clause: &Clause, pattern: &str, variables: &[&str; 4]) -> String {
    let key = random.chance(70).then(|| variables[random.below(3)]);
    let mut items: Vec<String> = key.map(str::to_owned).into_iter().collect();
    let mut columns = items.clone();
    for number in 0..random.between(1, 3) {
        let of = match random.below(9) {
            0 | 1 => "*".to_owned(),
            2 => "DISTINCT *".to_owned(),
            // Of the last variable there is nothing.
            3 | 4 => variables[random.below(4)].to_owned(),
            _ => format!("DISTINCT {}", variables[random.below(4)]),
        };
        items.push(format!("(COUNT({of}) AS ?count{number})"));
        columns.push(format!("?count{number}"));
    }
    let mut text = format!(
        "SELECT {}{} WHERE {pattern}",
        items.join(" "),
        clause.text()
    );
    if let Some(key) = key {
        let _ = write!(text, " GROUP BY {key}");
    }
    if random.chance(25) {
        let _ = write!(text, " HAVING(COUNT(*) > {})", random.below(3));
    }
    if random.chance(50) {
        random.shuffle(&mut columns);
        let by: Vec<String> = columns
            .iter()
            .map(|column| format!("DESC({column})"))
            .collect();
        let _ = write!(text, " ORDER BY {}", by.join(" "));
        if random.chance(50) {
            let _ = write!(text, " LIMIT {}", random.between(1, 4));
        }
    }
    text
}

//! The texts of abuse, over LUBM's data: `fresh` makes each a new text, so that nothing kept answers.

mod deadlines;

use std::fmt::Write;

pub use deadlines::deadlines;

const UB: &str = "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> ";

/// Every two statements of the graph.
const CROSS: &str = "?s ?p ?o . ?t ?q ?u";

/// Eighteen doublings of a name: 2^18 times its length.
pub fn doubled(count: usize) -> String {
    let mut text = "BIND(STR(?s) AS ?c0)".to_owned();
    for at in 0..count {
        write!(text, " BIND(CONCAT(?c{at}, ?c{at}) AS ?c{})", at + 1).expect("a string grows");
    }
    text
}

pub fn concat(fresh: usize) -> String {
    format!(
        "SELECT (STRLEN(?c18) + {fresh} AS ?n) {{ {CROSS} {} }}",
        doubled(18)
    )
}

/// Wide rows of text that every format has to escape.
pub fn wide(fresh: usize) -> String {
    let mut text = format!("SELECT * {{ ?s ?p ?o BIND({fresh} AS ?k) ");
    text.push_str("BIND(REPLACE(STR(?s), \"[a-z]\", \"\\\"\\\\\\\\<&>\\n\") AS ?w0)");
    for at in 0..6 {
        write!(text, " BIND(CONCAT(?w{at}, ?w0) AS ?w{})", at + 1).expect("a string grows");
    }
    text + " }"
}

/// A chain of a thousand patterns, to plan.
pub fn chain(fresh: usize) -> String {
    let mut text = format!("{UB}SELECT * {{ ?v0 ub:absent{fresh} ?v1 .");
    for at in 1..1000 {
        let name = ["memberOf", "subOrganizationOf", "worksFor"][at % 3];
        write!(text, " ?v{at} ub:{name} ?v{} .", at + 1).expect("a string grows");
    }
    text + " }"
}

/// A join that is planned by samples.
pub fn samples(fresh: usize) -> String {
    format!(
        "{UB}SELECT (COUNT(*) AS ?n) {{ ?x ub:memberOf ?d . ?d ub:subOrganizationOf ?v . ?x ub:takesCourse ?c . \
         ?y ub:teacherOf ?c . ?y ub:worksFor ?d . ?x ub:advisor ?z . ?z ub:worksFor ?d . ?a ub:publicationAuthor ?x . \
         ?a ub:publicationAuthor ?z . ?x ub:undergraduateDegreeFrom ?w . ?z ub:doctoralDegreeFrom ?w FILTER(STR(?c) != \"{fresh}\") }}"
    )
}

/// Cycles, so that sorted lists are intersected.
pub fn intersect(fresh: usize) -> String {
    format!(
        "{UB}SELECT (COUNT(*) AS ?n) {{ ?a ub:memberOf ?d . ?b ub:memberOf ?d . ?a ub:takesCourse ?c . ?b ub:takesCourse ?c . \
         ?a ub:takesCourse ?e . ?b ub:takesCourse ?e FILTER(STR(?a) != \"{fresh}\") }}"
    )
}

pub fn product(fresh: usize) -> String {
    match fresh % 6 {
        0 => format!("SELECT * {{ {CROSS} }} ORDER BY ?u ?s OFFSET {fresh}"),
        1 => format!("SELECT ?s ?t (COUNT(*) + {fresh} AS ?n) {{ {CROSS} }} GROUP BY ?s ?t"),
        2 => format!("SELECT DISTINCT ?s ?o ?t ?u {{ {CROSS} }} OFFSET {fresh}"),
        3 => format!("SELECT ?x {{ {CROSS} BIND(STRUUID() AS ?x) }} ORDER BY ?x OFFSET {fresh}"),
        4 => format!("SELECT (GROUP_CONCAT(STR(?t)) AS ?x) {{ {CROSS} FILTER(?s != {fresh}) }}"),
        _ => format!("SELECT ?s {{ {CROSS} }} ORDER BY CONCAT(STR(?s), STR(?u), \"{fresh}\")"),
    }
}

/// A join of some 30 ms over forty universities.
pub fn join(fresh: usize) -> String {
    format!(
        "{UB}SELECT (COUNT(*) + {fresh} AS ?n) {{ ?x ub:memberOf ?d . ?x ub:takesCourse ?c . ?y ub:teacherOf ?c }}"
    )
}

pub fn heavy(fresh: usize) -> String {
    format!("SELECT (COUNT(*) + {fresh} AS ?n) {{ {CROSS} . ?v ?r ?w }}")
}

/// A light query that stays the same but for its constants: a department's full professors.
pub fn light(fresh: usize) -> String {
    let (department, university) = (fresh % 15, fresh / 15 % 40);
    format!(
        "{UB}SELECT ?X ?Y WHERE {{ ?X ub:worksFor <http://www.Department{department}.University{university}.edu> . \
         ?X a ub:FullProfessor . ?X ub:name ?Y }}"
    )
}

/// A point query whose shape nobody sent before.
pub fn new_shape(fresh: usize) -> String {
    let (department, university) = (fresh % 15, fresh / 15 % 40);
    format!(
        "{UB}SELECT ?x{fresh} ?n{fresh} WHERE {{ ?x{fresh} ub:worksFor <http://www.Department{department}.University{university}.edu> . \
         ?x{fresh} ub:name ?n{fresh} OPTIONAL {{ ?x{fresh} ub:telephone ?t{} }} }}",
        fresh / 7
    )
}

/// Ten seconds of WHERE over forty universities.
pub const LONG_CHANGE: &str = "\
PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> \
INSERT { ?s <http://e/long> ?n } WHERE { { SELECT ?s (COUNT(*) AS ?n) { \
?s ub:memberOf ?d . ?t ub:memberOf ?d FILTER(STRLEN(STR(?t)) > 3) } GROUP BY ?s } }";

/// An update of `count` operations.
pub fn inserts(count: usize) -> String {
    let each: Vec<String> = (0..count)
        .map(|at| format!("INSERT DATA {{ <http://e/i{at}> <http://e/p> {at} }}"))
        .collect();
    each.join(" ; ")
}

/// An update of `count` operations that take back what the former inserted.
pub fn turns(count: usize) -> String {
    let each: Vec<String> = (0..count)
        .map(|at| {
            let keyword = if at % 2 == 0 { "INSERT" } else { "DELETE" };
            format!("{keyword} DATA {{ <http://e/t{}> <http://e/p> 1 }}", at / 4)
        })
        .collect();
    each.join(" ; ")
}

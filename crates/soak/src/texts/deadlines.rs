//! Classes of texts that outlast a deadline of two seconds over LUBM's data: those of which each step
//! of an evaluation has its own loop, where a deadline may be overlooked.

use super::{CROSS, UB, chain, doubled, intersect, samples};

/// A class, by one of its texts.
pub struct Class {
    pub name: &'static str,
    /// An update, not a query.
    pub changes: bool,
    pub text: String,
}

/// Every statement, once.
const ALL: &str = "?s ?p ?o";

type Named = (&'static str, String);

pub fn deadlines() -> Vec<Class> {
    let queries = [
        ordered(),
        grouped(),
        computed(),
        compared(),
        paths(),
        joined(),
        planned(),
        described(),
    ];
    let class = |changes| {
        move |(name, text)| Class {
            name,
            changes,
            text,
        }
    };
    let queries = queries.into_iter().flatten().map(class(false));
    queries
        .chain(updates().into_iter().map(class(true)))
        .collect()
}

/// A hundred thousand names that no statement has.
fn names(between: &str) -> String {
    let names: Vec<String> = (0..100_000)
        .map(|at| format!("<http://e/absent{at}>"))
        .collect();
    names.join(between)
}

/// Sorting, and telling duplicates.
fn ordered() -> Vec<Named> {
    vec![
        ("order", format!("SELECT * {{ {CROSS} }} ORDER BY ?u ?s")),
        (
            "order-21M",
            format!(
                "SELECT * {{ {{ {ALL} }} UNION {{ {ALL} }} UNION {{ {ALL} }} UNION {{ {ALL} }} }} ORDER BY ?o ?s"
            ),
        ),
        (
            "order-text",
            format!("SELECT ?s {{ {CROSS} }} ORDER BY CONCAT(STR(?s), STR(?u))"),
        ),
        (
            "order-top",
            format!("SELECT ?s {{ {CROSS} }} ORDER BY STR(?u) LIMIT 10"),
        ),
        (
            "order-desc",
            format!("SELECT ?s {{ {CROSS} }} ORDER BY DESC(?u) LIMIT 1000000"),
        ),
        (
            "distinct",
            format!("SELECT DISTINCT ?s ?o ?t ?u {{ {CROSS} }}"),
        ),
        (
            "distinct-text",
            format!("SELECT DISTINCT ?x {{ {CROSS} BIND(CONCAT(STR(?s), STR(?u)) AS ?x) }}"),
        ),
        (
            "count-distinct",
            format!("SELECT (COUNT(DISTINCT *) AS ?n) {{ {CROSS} }}"),
        ),
        ("reduced", format!("SELECT REDUCED ?s ?u {{ {CROSS} }}")),
    ]
}

/// Groups, and what is gathered in them.
fn grouped() -> Vec<Named> {
    vec![
        (
            "group",
            format!("SELECT ?s ?t (COUNT(*) AS ?n) {{ {CROSS} }} GROUP BY ?s ?t ?u"),
        ),
        (
            "group-text",
            format!(
                "SELECT ?k (COUNT(*) AS ?n) {{ {CROSS} }} GROUP BY (CONCAT(STR(?s), STR(?u)) AS ?k)"
            ),
        ),
        (
            "group-one",
            format!("SELECT (SUM(STRLEN(STR(?s))) AS ?n) {{ {CROSS} }}"),
        ),
        (
            "nested-groups",
            format!(
                "SELECT * {{ {{ SELECT ?s ?t (COUNT(*) AS ?n) {{ {CROSS} }} GROUP BY ?s ?t }} {{ SELECT ?t (COUNT(*) AS ?m) {{ {CROSS} }} GROUP BY ?t }} }}"
            ),
        ),
        (
            "group-concat",
            format!("SELECT (GROUP_CONCAT(STR(?t)) AS ?x) {{ {CROSS} }}"),
        ),
        (
            "group-concat-all",
            format!("SELECT (GROUP_CONCAT(STR(?s)) AS ?x) {{ {ALL} . ?o ?q ?u . ?u ?r ?w }}"),
        ),
        (
            "group-concat-distinct",
            format!("SELECT (GROUP_CONCAT(DISTINCT STR(?t)) AS ?x) {{ {CROSS} }}"),
        ),
        (
            "sample-min",
            format!("SELECT ?s (MIN(STR(?t)) AS ?x) (SAMPLE(?u) AS ?y) {{ {CROSS} }} GROUP BY ?s"),
        ),
    ]
}

/// Texts, digests and identifiers per row.
fn computed() -> Vec<Named> {
    let replaced: String = (0..5)
        .map(|at| {
            format!(
                " BIND(REPLACE(?r{at}, \"[a-z]\", \"$0$0$0$0$0$0$0$0\") AS ?r{})",
                at + 1
            )
        })
        .collect();
    let binds: String = (0..100)
        .map(|at| format!("BIND(STRLEN(STR(?u)) + {at} AS ?b{at}) "))
        .collect();
    vec![
        (
            "concat",
            format!("SELECT (STRLEN(?c18) AS ?n) {{ {CROSS} {} }}", doubled(18)),
        ),
        (
            "concat-small",
            format!(
                "SELECT (SUM(STRLEN(?c6)) AS ?n) {{ {CROSS} {} }}",
                doubled(6)
            ),
        ),
        (
            "replace",
            format!(
                "SELECT (COUNT(DISTINCT ?r5) AS ?n) {{ {CROSS} BIND(STR(?s) AS ?r0){replaced} }}"
            ),
        ),
        (
            "uuid",
            "SELECT ?x { ?s ?p ?o . ?t ?q ?u BIND(UUID() AS ?x) }".to_owned(),
        ),
        (
            "uuid-order",
            format!("SELECT ?x {{ {CROSS} BIND(STRUUID() AS ?x) }} ORDER BY ?x"),
        ),
        (
            "digest",
            format!(
                "SELECT (COUNT(DISTINCT ?x) AS ?n) {{ {CROSS} BIND(SHA512(CONCAT(STR(?s), STR(?u))) AS ?x) }}"
            ),
        ),
        (
            "encode",
            format!(
                "SELECT (COUNT(DISTINCT ?x) AS ?n) {{ {CROSS} BIND(ENCODE_FOR_URI(CONCAT(STR(?s), STR(?u))) AS ?x) }}"
            ),
        ),
        (
            "typed",
            format!(
                "SELECT (COUNT(DISTINCT ?x) AS ?n) {{ {CROSS} BIND(STRDT(CONCAT(STR(?s), STR(?u)), <http://e/t>) AS ?x) }}"
            ),
        ),
        (
            "triple-term",
            format!(
                "SELECT (COUNT(DISTINCT ?x) AS ?n) {{ {CROSS} BIND(TRIPLE(?s, ?q, ?u) AS ?x) }}"
            ),
        ),
        (
            "iri",
            format!(
                "SELECT (COUNT(DISTINCT ?x) AS ?n) {{ {CROSS} BIND(IRI(CONCAT(STR(?s), \"x\", STR(?t))) AS ?x) }}"
            ),
        ),
        (
            "binds",
            format!("SELECT (COUNT(*) AS ?n) {{ {CROSS} {binds} }}"),
        ),
    ]
}

/// Conditions per row, and long lists.
fn compared() -> Vec<Named> {
    let filters = "FILTER(STRLEN(STR(?u)) != 0) ".repeat(100);
    vec![
        (
            "regex",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER REGEX(CONCAT(STR(?s), STR(?u)), \"(a|b)*c{{1,50}}$\") }}"
            ),
        ),
        (
            "regex-made",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER REGEX(STR(?s), CONCAT(STR(?u), \"(a|b)*c{{1,50}}\")) }}"
            ),
        ),
        (
            "contains",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER CONTAINS(LCASE(STR(?s)), LCASE(STR(?u))) }}"
            ),
        ),
        (
            "compare",
            format!("SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER(STR(?s) < STR(?u)) }}"),
        ),
        (
            "arithmetic",
            format!("SELECT (SUM(STRLEN(STR(?s)) * 2.5 / 3) AS ?n) {{ {CROSS} }}"),
        ),
        (
            "in",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER(?o IN ({})) }}",
                names(",")
            ),
        ),
        (
            "in-text",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER(IRI(CONCAT(STR(?o), STR(?u))) IN ({})) }}",
                names(",")
            ),
        ),
        (
            "values",
            format!("SELECT * {{ VALUES ?x {{ {} }} {CROSS} }}", names(" ")),
        ),
        (
            "values-cross",
            format!(
                "SELECT * {{ VALUES ?s {{ {0} }} VALUES ?t {{ {0} }} }} ORDER BY ?t",
                names(" ")
            ),
        ),
        (
            "values-optional",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} OPTIONAL {{ VALUES ?u {{ {} }} }} }}",
                names(" ")
            ),
        ),
        (
            "filters",
            format!("SELECT (COUNT(*) AS ?n) {{ {CROSS} {filters} }}"),
        ),
    ]
}

/// Closures over every edge.
fn paths() -> Vec<Named> {
    vec![
        ("path", "SELECT (COUNT(*) AS ?n) { ?s (!<http://e/x>)* ?o }".to_owned()),
        ("path-rows", "SELECT * { ?s (!<http://e/x>|^!<http://e/x>)+ ?o }".replace("^!<http://e/x>", "!(^<http://e/x>)")),
        ("path-nested", "SELECT (COUNT(*) AS ?n) { ?s ((!<http://e/x>)*)* ?o }".to_owned()),
        ("path-distinct", "SELECT DISTINCT ?s ?o { ?s (!<http://e/x>|!(^<http://e/x>))* ?o }".to_owned()),
        ("path-sequence", "SELECT (COUNT(*) AS ?n) { ?s (!<http://e/x>/!(^<http://e/x>)/!<http://e/x>) ?o }".to_owned()),
        ("path-ask", "ASK { <http://e/a> (!<http://e/x>)* <http://e/b> . ?s (!<http://e/x>)* ?o . FILTER(?o = 1) }".to_owned()),
    ]
}

/// Products, joins and what is joined to nothing.
fn joined() -> Vec<Named> {
    let union: Vec<String> = (0..100)
        .map(|at| format!("{{ ?s{at} ?p ?o . ?t ?q{at} ?u }}"))
        .collect();
    vec![
        (
            "product",
            format!("SELECT (COUNT(*) AS ?n) {{ {CROSS} . ?v ?r ?w }}"),
        ),
        ("product-rows", format!("SELECT * {{ {CROSS} }}")),
        (
            "optional",
            format!("SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c OPTIONAL {{ {CROSS} }} }}"),
        ),
        (
            "optional-filter",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {ALL} OPTIONAL {{ ?t ?q ?u FILTER(STR(?s) > STR(?t)) }} }}"
            ),
        ),
        (
            "minus",
            format!("SELECT (COUNT(*) AS ?n) {{ {CROSS} MINUS {{ ?s ?x ?u . ?y ?z ?w }} }}"),
        ),
        (
            "exists",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER EXISTS {{ ?s ?x ?u . ?y ?z ?w }} }}"
            ),
        ),
        (
            "not-exists",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER NOT EXISTS {{ ?s ?x ?u . ?u ?z ?w FILTER(?w != ?t) }} }}"
            ),
        ),
        (
            "lateral",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {CROSS} LATERAL {{ SELECT ?v {{ ?s ?x ?v }} ORDER BY ?v LIMIT 2 }} }}"
            ),
        ),
        (
            "union",
            format!("SELECT (COUNT(*) AS ?n) {{ {} }}", union.join(" UNION ")),
        ),
        (
            "subselects",
            format!(
                "SELECT (COUNT(*) AS ?n) {{ {{ SELECT ?s {{ {CROSS} }} }} {{ SELECT ?s {{ {CROSS} }} }} }}"
            ),
        ),
    ]
}

/// Joins that take long to plan or to intersect.
fn planned() -> Vec<Named> {
    vec![
        ("chain", chain(1)),
        ("samples", samples(1)),
        ("triangle", intersect(1)),
        (
            "members",
            format!(
                "{UB}SELECT (COUNT(*) AS ?n) {{ ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?z ub:memberOf ?d . ?w ub:memberOf ?d }}"
            ),
        ),
        (
            "members-rows",
            format!("{UB}SELECT * {{ ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?z ub:memberOf ?d }}"),
        ),
    ]
}

/// Forms of answers that are not tables of rows, and every graph.
fn described() -> Vec<Named> {
    vec![
        (
            "construct",
            format!("CONSTRUCT {{ ?s ?q ?u . _:b ?p ?u }} {{ {CROSS} }}"),
        ),
        (
            "describe",
            "DESCRIBE ?s ?o { ?s ?p ?o . ?t ?q ?u }".to_owned(),
        ),
        (
            "graphs",
            "SELECT (COUNT(*) AS ?n) { { GRAPH ?g { ?s ?p ?o } } UNION { ?s ?p ?o . ?t ?q ?u } }"
                .to_owned(),
        ),
    ]
}

/// Changes, which keep what their WHERE finds.
fn updates() -> Vec<Named> {
    vec![
        (
            "update-product",
            format!("INSERT {{ ?s <http://e/q> ?u }} WHERE {{ {CROSS} }}"),
        ),
        (
            "update-delete",
            format!("DELETE {{ ?s ?q ?u }} WHERE {{ {CROSS} FILTER(STR(?s) > STR(?u)) }}"),
        ),
        (
            "update-blank",
            format!("INSERT {{ _:b <http://e/q> ?u }} WHERE {{ {CROSS} }}"),
        ),
    ]
}

//! Plans as text: a query, then its steps (with the columns that live on after each), its form and
//! its weight, against the statistics of [`super::lubm`].

use super::lubm::{UB, plan_of, steps};
use crate::PlanOptions;
use crate::explain::StepProfile;

/// Checks the plan of a query, given as lines.
fn check(query: &str, expected: &str) {
    let found = steps(query, 1, PlanOptions::DEFAULT);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(found.trim(), expected.join("\n"), "{query}");
}

#[test]
fn patterns() {
    check(
        "SELECT * { ?s ?p ?o }",
        "
        all predicates ?p   [?p]
        keys ?o <-?p-   [?p ?o]
        ?o <-?p- ?s   [?s ?p ?o]
        select ?o ?p ?s
        heavy",
    );
    check(
        "SELECT * { ?x ub:advisor ?y }",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?x ?y]
        select ?x ?y
        light",
    );
    check(
        "SELECT * { ?x ub:advisor ?x }",
        "
        keys ?x <-ub:advisor-   [?x]
        check ?x -ub:advisor-> ?x   [?x]
        select ?x
        light",
    );
    check(
        "SELECT * { ?x ?p ?x }",
        "
        all predicates ?p   [?p]
        keys ?x <-?p-   [?x ?p]
        check ?x -?p-> ?x   [?x ?p]
        select ?p ?x
        heavy",
    );
    check(
        "SELECT * { ?x ?x ?x }",
        "
        all predicates ?x   [?x]
        check ?x -?x-> ?x   [?x]
        select ?x
        light",
    );
    check(
        "SELECT * { ?x ?x ?o }",
        "
        all predicates ?x   [?x]
        ?x -?x-> ?o   [?x ?o]
        select ?o ?x
        light",
    );
    check(
        "SELECT * { ?s ?o ?o }",
        "
        all predicates ?o   [?o]
        ?o <-?o- ?s   [?s ?o]
        select ?o ?s
        light",
    );
    check(
        "SELECT * { ?x a ?c }",
        "
        keys ?c <-a-   [?c]
        ?c <-a- ?x   [?x ?c]
        select ?c ?x
        light",
    );
    check(
        "SELECT * { ?x a ub:University ; ?p ?o . ?p ub:name ?n }",
        "
        ub:University <-a- ?x   [?x]
        predicates ?x -?p->   [?x ?p]
        ?x -?p-> ?o   [?x ?p ?o]
        ?p -ub:name-> ?n   [?x ?p ?o ?n]
        select ?n ?o ?p ?x
        heavy",
    );
    check(
        "SELECT * { ?x ub:advisor ?y . ?y ?p ?x }",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?x ?y]
        predicates ?y -?p->   [?x ?y ?p]
        check ?y -?p-> ?x   [?x ?y ?p]
        select ?p ?x ?y
        heavy",
    );
    check(
        r#"SELECT ?x { ?x ub:advisor [ ub:worksFor ?d ; ub:name "X" ] }"#,
        r#"
        "X" <-ub:name- ?.0   [?.0]
        ?.0 -ub:worksFor-> ?d   [?.0]
        ?.0 <-ub:advisor- ?x   [?x]
        select ?x
        light"#,
    );
    check(
        "SELECT * { <http://a/b> ?p <http://a/c> }",
        "
        predicates <http://a/b> -?p->   [?p]
        check <http://a/b> -?p-> <http://a/c>   [?p]
        select ?p
        light",
    );
    check(
        "SELECT * { <http://a/b> ub:advisor <http://a/c> . ?x a ub:Course }",
        "
        check <http://a/b> -ub:advisor-> <http://a/c>
        ub:Course <-a- ?x   [?x]
        select ?x
        light",
    );
    check(
        "SELECT * { ?x ub:absent ?y . ?y ub:advisor ?z }",
        "
        keys ?y <-ub:absent-   [?y]
        ?y <-ub:absent- ?x   [?x ?y]
        ?y -ub:advisor-> ?z   [?x ?y ?z]
        select ?x ?y ?z
        light",
    );
    check(
        "SELECT * { ?x ub:headOf ub:absent . ?x ub:name ?n }",
        "
        ub:absent <-ub:headOf- ?x   [?x]
        ?x -ub:name-> ?n   [?x ?n]
        select ?n ?x
        light",
    );
    check(
        "SELECT * { ?x a ub:Course . ?y a ub:Department }",
        "
        ub:Department <-a- ?y   [?y]
        ub:Course <-a- ?x   [?x ?y]
        select ?x ?y
        light",
    );
    check(
        "SELECT * {}",
        "
        select
        light",
    );
    check(
        "SELECT * { ?x ^ub:headOf/ub:name ?y }",
        "
        keys ?.0 -ub:headOf->   [?.0]
        ?.0 -ub:headOf-> ?x   [?.0 ?x]
        ?.0 -ub:name-> ?y   [?x ?y]
        select ?x ?y
        light",
    );
}

#[test]
fn filters() {
    check(
        "SELECT * { ?x a ub:Course . ?y a ub:Department . ?y ub:name ?n FILTER(?x != ?y) }",
        "
        ub:Department <-a- ?y   [?y]
        ?y -ub:name-> ?n   [?y ?n]
        ub:Course <-a- ?x   [?x ?y ?n]
        filter (?x != ?y)   [?x ?y ?n]
        select ?n ?x ?y
        heavy",
    );
    check(
        r#"SELECT * { ?x ub:name ?n FILTER(?n > "a" && STRLEN(?n) < 5 || ?n = "q") }"#,
        r#"
        keys ?n <-ub:name-   [?n]
        ?n <-ub:name- ?x   [?x ?n]
        filter (((?n > "a") && (STRLEN(?n) < 5)) || (?n = "q"))   [?x ?n]
        select ?n ?x
        heavy"#,
    );
    check(
        r#"SELECT * { ?x ub:name ?n FILTER(?n > "a" && STRLEN(?n) < 5) FILTER(BOUND(?x)) ?x a ub:Course }"#,
        r#"
        ub:Course <-a- ?x   [?x]
        filter BOUND(?x)   [?x]
        ?x -ub:name-> ?n   [?x ?n]
        filter (?n > "a")   [?x ?n]
        filter (STRLEN(?n) < 5)   [?x ?n]
        select ?n ?x
        light"#,
    );
    check(
        r#"SELECT * { ?x ub:name ?n { ?x a ub:Course FILTER(?n = "q" || BOUND(?n) || true) } }"#,
        r#"
        filter ((error = "q") || false || true)
        ub:Course <-a- ?x   [?x]
        ?x -ub:name-> ?n   [?x ?n]
        select ?n ?x
        light"#,
    );
    check(
        "SELECT * { { FILTER(1 < 2) } ?x ub:headOf ?y }",
        "
        filter (1 < 2)
        keys ?x -ub:headOf->   [?x]
        ?x -ub:headOf-> ?y   [?x ?y]
        select ?x ?y
        light",
    );
    check(
        "SELECT * { FILTER(1 = 1) }",
        "
        filter (1 = 1)
        select
        light",
    );
    check(
        r#"SELECT * { ?x ub:name ?n FILTER(?n IN ("a", "b")) FILTER(?n NOT IN ("c")) FILTER(-?n + 1 * 2 > +3) FILTER(IF(?n, COALESCE(?n, 1), sameTerm(?n, ?x))) FILTER(!regex(?n, "x", "i")) }"#,
        r#"
        keys ?n <-ub:name-   [?n]
        ?n <-ub:name- ?x   [?x ?n]
        filter (?n IN ("a", "b"))   [?x ?n]
        filter !(?n IN ("c"))   [?x ?n]
        filter ((-?n + (1 * 2)) > +3)   [?x ?n]
        filter IF(?n, COALESCE(?n, 1), sameTerm(?n, ?x))   [?x ?n]
        filter !REGEX(?n, "x", "i")   [?x ?n]
        select ?n ?x
        heavy"#,
    );
    check(
        "SELECT * { ?x ub:takesCourse ?c . ?y ub:takesCourse ?c . ?x ub:advisor ?p . ?y ub:advisor ?p FILTER(?x != ?y) }",
        "
        keys ?p <-ub:advisor-   [?p]
        ?p <-ub:advisor- ?x   [?x ?p]
        ?x -ub:takesCourse-> ?c   [?x ?c ?p]
        ?p <-ub:advisor- ?y   [?x ?c ?y ?p]
        filter (?x != ?y)   [?x ?c ?y ?p]
        check ?y -ub:takesCourse-> ?c   [?x ?c ?y ?p]
        select ?c ?p ?x ?y
        heavy",
    );
}

#[test]
fn graphs_and_datasets() {
    check(
        "SELECT * { GRAPH ?g { ?s ub:advisor ?o . ?o ub:name ?n } ?g ub:name ?label }",
        "
        keys ?o <-ub:advisor- in each graph ?g   [?o]
        ?o <-ub:advisor- ?s in each graph ?g   [?g ?s ?o]
        ?o -ub:name-> ?n in graph ?g   [?g ?s ?o ?n]
        ?g -ub:name-> ?label   [?g ?s ?o ?n ?label]
        select ?g ?label ?n ?o ?s
        heavy",
    );
    check(
        "SELECT * { GRAPH ?g {} }",
        "
        all graphs ?g   [?g]
        select ?g
        light",
    );
    check(
        "SELECT * { GRAPH <http://g> {} ?x ub:headOf ?y }",
        "
        keys ?x -ub:headOf->   [?x]
        ?x -ub:headOf-> ?y   [?x ?y]
        all graphs ?.2   [?x ?y ?.2]
        filter sameTerm(?.2, <http://g>)   [?x ?y]
        select ?x ?y
        light",
    );
    check(
        "SELECT * { ?x ub:headOf ?g . GRAPH ?g {} }",
        "
        keys ?x -ub:headOf->   [?x]
        ?x -ub:headOf-> ?g   [?x ?g]
        all graphs ?.2   [?x ?g ?.2]
        same ?g ?.2   [?x ?g]
        select ?g ?x
        light",
    );
    check(
        "SELECT * { GRAPH <http://g> { ?s ub:advisor ?o { ?o ub:name ?n } } ?o a ub:FullProfessor }",
        "
        ub:FullProfessor <-a- ?o   [?o]
        ?o -ub:name-> ?n in graph <http://g>   [?o ?n]
        ?o <-ub:advisor- ?s in graph <http://g>   [?s ?o ?n]
        select ?n ?o ?s
        light",
    );
    check(
        "SELECT * { GRAPH ?g { ?g ub:advisor ?o } }",
        "
        keys ?o <-ub:advisor- in each graph ?g   [?o]
        ?o <-ub:advisor- ?g in each graph ?.2   [?g ?o ?.2]
        same ?g ?.2   [?g ?o]
        select ?g ?o
        light",
    );
    check(
        "SELECT * { GRAPH ?g { ?s ub:advisor ?g } }",
        "
        keys ?g <-ub:advisor- in each graph ?.2   [?g]
        ?g <-ub:advisor- ?s in graph ?g   [?g ?s]
        select ?g ?s
        light",
    );
    check(
        "SELECT * { GRAPH ?g { ub:x ub:headOf ?g } }",
        "
        ub:x -ub:headOf-> ?g in each graph ?.1   [?g ?.1]
        same ?g ?.1   [?g]
        select ?g
        light",
    );
    check(
        "SELECT * { GRAPH ?g { ?s ub:advisor ?s } }",
        "
        keys ?s <-ub:advisor- in each graph ?g   [?s]
        check ?s -ub:advisor-> ?s in each graph ?g   [?g ?s]
        select ?g ?s
        light",
    );
    check(
        "SELECT * { GRAPH ?g { ?s ?g ?o } }",
        "
        all predicates ?g   [?g]
        keys ?o <-?g- in graph ?g   [?g ?o]
        ?o <-?g- ?s in graph ?g   [?g ?s ?o]
        select ?g ?o ?s
        heavy",
    );
    check(
        "SELECT * { GRAPH ?g { GRAPH ?h { ?s ub:headOf ?o } } }",
        "
        keys ?s -ub:headOf-> in each graph ?h   [?s]
        ?s -ub:headOf-> ?o in each graph ?h   [?h ?s ?o]
        all graphs ?g   [?g ?h ?s ?o]
        select ?g ?h ?o ?s
        light",
    );
    check(
        "SELECT * FROM <http://g> FROM NAMED <http://h> { ?x ub:headOf ?y }",
        "
        keys ?x -ub:headOf->   [?x]
        ?x -ub:headOf-> ?y   [?x ?y]
        select ?x ?y
        light",
    );
}

#[test]
fn modifiers() {
    check(
        "SELECT ?o { ?s ?p ?o } LIMIT 10",
        "
        all predicates ?p   [?p]
        keys ?o <-?p-   [?p ?o]
        ?o <-?p- ?s   [?o]
        slice offset 0 limit 10   [?o]
        select ?o
        light",
    );
    check(
        "SELECT DISTINCT ?y { ?x ub:advisor ?y }",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?y]
        distinct ?y   [?y]
        select ?y
        light",
    );
    check(
        "SELECT DISTINCT ?y { ?x ub:advisor ?y } ORDER BY ?y LIMIT 3 OFFSET 2",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?y]
        distinct ?y   [?y]
        order ?y first 5   [?y]
        slice offset 2 limit 3   [?y]
        select ?y
        heavy",
    );
    check(
        "SELECT DISTINCT ?y { ?x ub:advisor ?y } ORDER BY DESC(?x) LIMIT 3 OFFSET 2",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?x ?y]
        order desc ?x   [?y]
        distinct ?y   [?y]
        slice offset 2 limit 3   [?y]
        select ?y
        heavy",
    );
    check(
        "SELECT REDUCED ?y { ?x ub:advisor ?y } ORDER BY DESC(?x) STRLEN(STR(?y)) ?unbound LIMIT 3",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?x ?y]
        order desc ?x STRLEN(STR(?y)) first 3   [?y]
        slice offset 0 limit 3   [?y]
        select ?y
        light",
    );
    check(
        "SELECT ?y ?nowhere { ?x ub:advisor ?y } OFFSET 7",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?y]
        slice offset 7 limit all   [?y]
        select ?y ?nowhere
        light",
    );
    check(
        "SELECT (COUNT(*) AS ?n) { ?x ub:advisor ?y }",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x
        count rows as ?n   [?n]
        select ?n
        light",
    );
    check(
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?x ub:advisor ?y . ?y ub:worksFor [] }",
        "
        keys ?y -ub:worksFor->   [?y]
        ?y -ub:worksFor-> ?.2   [?y]
        ?y <-ub:advisor- ?x   [?x ?y]
        count distinct ?x ?y as ?n   [?n]
        select ?n
        light",
    );
    check(
        "SELECT (COUNT(DISTINCT ?y) AS ?n) { ?x ub:advisor ?y } LIMIT 1",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x   [?y]
        count distinct ?y as ?n   [?n]
        slice offset 0 limit 1   [?n]
        select ?n
        light",
    );
    check(
        "SELECT (COUNT(?y) AS ?n) { ?x ub:advisor ?y }",
        "
        keys ?y <-ub:advisor-   [?y]
        ?y <-ub:advisor- ?x
        count rows as ?n   [?n]
        select ?n
        light",
    );
    check(
        "ASK { ?x ub:advisor ?y . ?y a ub:Lecturer }",
        "
        ub:Lecturer <-a- ?y   [?y]
        ?y <-ub:advisor- ?x
        slice offset 0 limit 1
        ask
        light",
    );
    check(
        "ASK {}",
        "
        slice offset 0 limit 1
        ask
        light",
    );
}

#[test]
fn an_order_can_be_forced() {
    let text = "SELECT * { ?x ub:name ?n . ?x a ub:Course }";
    let forced = PlanOptions { keep_order: true };
    assert_eq!(
        steps(text, 1, forced),
        "keys ?x -ub:name->   [?x]\n\
         ?x -ub:name-> ?n   [?x ?n]\n\
         check ?x -a-> ub:Course   [?x ?n]\n\
         select ?n ?x\n\
         heavy"
    );
}

#[test]
fn figures_and_profile_are_printed() {
    let text = "SELECT ?y { <http://d> ub:worksFor ?x . ?x ub:name ?y }";
    let plan = plan_of(text, 1, PlanOptions::DEFAULT);
    let profile = [
        StepProfile {
            rows: 1,
            nanos: 950,
        },
        StepProfile {
            rows: 1,
            nanos: 1_250_000,
        },
    ];
    let prefixes = [("ub".to_owned(), UB.to_owned())];
    let printed = plan.explain_with(&prefixes, Some(&profile));
    let expected = [
        "light plan, about 234 ns",
        " rows expected       time   rows found       time  step",
        "           1.0     124 ns            1     950 ns  <http://d> -ub:worksFor-> ?x   [?x]",
        "           1.0     110 ns            1     1.2 ms  ?x -ub:name-> ?y   [?y]",
        "select ?y",
        "",
    ];
    assert_eq!(printed, expected.join("\n"));
}

#[test]
fn estimates_follow_types() {
    // 1,227 of 5,916 undergraduates have an advisor, all graduates do.
    for (class, rows) in [
        ("UndergraduateStudent", 1_227.0),
        ("GraduateStudent", 1_874.0),
        ("Lecturer", 0.0),
    ] {
        let text = format!("SELECT * {{ ?x a ub:{class} ; ub:advisor ?y }}");
        let plan = plan_of(&text, 1, PlanOptions::DEFAULT);
        let estimate = plan.steps.last().unwrap().estimate.rows;
        assert!((estimate - rows).abs() < 0.5, "{class}: {estimate}");
    }
}

#[test]
fn whoever_advises_teaches() {
    // Types link the two ends: all 447 advisors are professors, and all professors teach.
    let text = "SELECT * { ?x ub:advisor ?y . ?y ub:teacherOf ?z }";
    let plan = plan_of(text, 1, PlanOptions::DEFAULT);
    let estimate = plan.steps.last().unwrap().estimate.rows;
    assert!((9_000.0..9_700.0).contains(&estimate), "{estimate}");
}

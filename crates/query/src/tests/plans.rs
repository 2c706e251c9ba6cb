//! Plans as text, against the statistics of [`super::lubm`]. `plans.txt` holds queries, each with its
//! steps (and the columns that live on after each), its form and its weight.

use super::cases::check_all;
use super::lubm::{UB, plan_of, steps};
use crate::PlanOptions;
use crate::explain::StepProfile;

#[test]
fn plans() {
    check_all(include_str!("plans.txt"), |query| {
        steps(query, 1, PlanOptions::DEFAULT)
    });
}

/// Blocks: what is walked from the table, what has a table of its own, what moves where.
#[test]
fn composed_plans() {
    check_all(include_str!("composed.txt"), |query| {
        steps(query, 1, PlanOptions::DEFAULT)
    });
}

#[test]
fn an_order_can_be_forced() {
    let text = "SELECT * { ?x ub:name ?n . ?x a ub:Course }";
    let forced = PlanOptions {
        keep_order: true,
        ..PlanOptions::DEFAULT
    };
    assert_eq!(
        steps(text, 1, forced),
        "keys ?x -ub:name->   [?x]\n\
         ?x -ub:name-> ?n   [?x ?n]\n\
         check ?x -a-> ub:Course   [?x ?n]\n\
         select ?x ?n\n\
         heavy"
    );
}

#[test]
fn an_intersection_can_be_forced_apart_and_an_order_has_them() {
    let text = "SELECT * { ?u a ub:University . ?d ub:subOrganizationOf ?u . ?x ub:memberOf ?d . ?x \
                ub:undergraduateDegreeFrom ?u }";
    let options = |keep_order, keep_checks| PlanOptions {
        keep_order,
        keep_checks,
        ..PlanOptions::DEFAULT
    };
    let is_met = |options| steps(text, 1, options).contains("intersect");
    assert!(is_met(PlanOptions::DEFAULT));
    assert!(is_met(options(true, false)), "in the order of the text");
    assert!(!is_met(options(false, true)) && !is_met(options(true, true)));
    // Apart, the check is looked from the end with the shorter lists.
    let apart = steps(text, 1, options(true, true));
    assert!(
        apart.contains("check ?x -ub:undergraduateDegreeFrom-> ?u"),
        "{apart}"
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
            rows: 40,
            nanos: 1_250_000,
        },
    ];
    assert_eq!(plan.q_errors(&profile), [1.0, 40.0]);
    let prefixes = [("ub".to_owned(), UB.to_owned())];
    let printed = plan.explain_with(&prefixes, Some(&profile));
    let expected = [
        "light plan, about 234 ns",
        " rows expected       time   rows found  q-error       time  step",
        "           1.0     124 ns            1      1.0     950 ns  <http://d> -ub:worksFor-> ?x   [?x]",
        "           1.0     110 ns           40       40     1.2 ms  ?x -ub:name-> ?y   [?y]",
        "select ?y",
        "",
    ];
    assert_eq!(printed, expected.join("\n"));
}

#[test]
fn errors_of_estimates_are_factors() {
    use crate::explain::q_error;
    for (expected, found, factor) in [
        (8.0, 2, 4.0),
        (2.0, 8, 4.0),
        (0.001, 0, 1.0),
        (50.0, 0, 50.0),
    ] {
        assert!((q_error(expected, found) - factor).abs() < 1e-9);
    }
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

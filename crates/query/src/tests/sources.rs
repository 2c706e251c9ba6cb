//! Plans of patterns of several sources: ordered, printed, and proven empty by nothing that the store knows.

use super::invariants::check_plan;
use super::lubm::{id, query, statistics};
use crate::PlanOptions;
use crate::algebra::Query;
use crate::plan::{Action, Plan, Source, Step};
use crate::planner::Planner;
use crate::sampling::{Interrupted, SampleQuestion, Sampled, Sampler};

/// A query whose patterns are of these sources, in the order of the text.
fn placed(text: &str, sources: &[u16]) -> Query {
    let mut query = query(text);
    let mut sources = sources.iter();
    query.for_each_source_mut(&mut |source| {
        *source = Source(*sources.next().expect("a source for each pattern"));
    });
    assert_eq!(sources.next(), None, "a pattern for each source");
    query
}

/// Planned for a snapshot whose statistics are complete.
fn plan_of(query: &Query, options: PlanOptions) -> Plan {
    let ids: Vec<_> = query.constants().iter().map(id).collect();
    let degrees = vec![20; query.degree_questions(&ids).len()];
    let mut statistics = statistics(1);
    statistics.complete_at = Some(7);
    let plan = Planner::new(statistics).plan(query, &ids, &degrees, options);
    let plan = plan.unwrap();
    check_plan(&plan);
    plan
}

/// What the steps do, without figures and columns.
fn printed(query: &Query, options: PlanOptions) -> Vec<String> {
    let plan = plan_of(query, options);
    let text = plan.explain_with(query.prefixes(), None);
    let steps = text.lines().filter(|line| line.starts_with(' ')).skip(1);
    let said = |line: &str| {
        line[27..]
            .split("   [")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    steps.map(said).collect()
}

fn has_never(plan: &Plan) -> bool {
    fn any(steps: &[Step]) -> bool {
        steps.iter().any(|step| {
            matches!(step.action, Action::Never { .. })
                || step.action.blocks().iter().any(|block| any(block))
        })
    }
    any(&plan.steps)
}

const KEEP_ORDER: PlanOptions = PlanOptions {
    keep_order: true,
    keep_checks: false,
};

#[test]
fn a_text_is_of_the_store() {
    let query = query("SELECT * { ?x ub:name ?n . ?x ub:advisor+ ?y . GRAPH ?g {} }");
    let mut count = 0;
    query.clone().for_each_source_mut(&mut |source| {
        assert!(source.is_store());
        count += 1;
    });
    assert_eq!(count, 3);
    assert!(
        !plan_of(&query, PlanOptions::DEFAULT)
            .explain()
            .contains("source")
    );
}

#[test]
fn a_walk_begins_with_what_is_small_and_goes_on_in_the_store() {
    let text = "SELECT * { ?x ub:name ?n . ?x ub:memberOf ?d . ?x ub:likes ?y }";
    let query = placed(text, &[0, 0, 1]);
    assert_eq!(
        printed(&query, PlanOptions::DEFAULT)[..2],
        [
            "keys ?x -ub:likes-> in source 1",
            "?x -ub:likes-> ?y in source 1",
        ]
    );
    assert_eq!(
        printed(&query, KEEP_ORDER),
        [
            "keys ?x -ub:name->",
            "?x -ub:name-> ?n",
            "?x -ub:memberOf-> ?d",
            "?x -ub:likes-> ?y in source 1",
        ]
    );
    // A constant of the store is less than what has arrived.
    let text = "SELECT * { ?y ub:worksFor <http://d> . ?x ub:likes ?y }";
    assert_eq!(
        printed(&placed(text, &[0, 1]), PlanOptions::DEFAULT),
        [
            "<http://d> <-ub:worksFor- ?y",
            "?y <-ub:likes- ?x in source 1"
        ]
    );
}

#[test]
fn no_statistics_of_the_store_prove_another_source_empty() {
    // No lecturer has an advisor, and nothing is stored of what `absent` and `Nobody` name.
    for (text, patterns, is_proven) in [
        ("SELECT * { ?x a ub:Lecturer . ?x ub:advisor ?y }", 2, true),
        ("SELECT * { ?x ub:name ?n . ?x ub:absent ?y }", 2, false),
        ("SELECT * { ?x ub:name ?n . ?x a ub:Nobody }", 2, false),
        (
            "SELECT * { ?x ub:name ?n OPTIONAL { ?x a ub:Lecturer . ?x ub:advisor ?y } }",
            3,
            false,
        ),
    ] {
        let is_never = |sources: &[u16], options| {
            has_never(&plan_of(&placed(text, &sources[3 - patterns..]), options))
        };
        assert!(
            !is_proven || is_never(&[0, 0, 0], PlanOptions::DEFAULT),
            "{text}"
        );
        for sources in [[0, 0, 1], [0, 1, 2], [1, 1, 1], [2, 1, 0]] {
            for options in [PlanOptions::DEFAULT, KEEP_ORDER] {
                assert!(!is_never(&sources, options), "{text} of {sources:?}");
            }
        }
    }
}

#[test]
fn what_the_store_alone_proves_holds_beside_another_source() {
    let text = "SELECT * { ?x a ub:Lecturer . ?x ub:advisor ?y . ?x ub:likes ?z }";
    assert!(has_never(&plan_of(
        &placed(text, &[0, 0, 1]),
        PlanOptions::DEFAULT
    )));
}

#[test]
fn degrees_are_asked_of_the_store() {
    let text = "SELECT * { ?x ub:worksFor <http://d> . ?x ub:memberOf <http://e> }";
    for (sources, questions) in [([0, 0], 2), ([0, 1], 1), ([1, 0], 1), ([1, 1], 0)] {
        let query = placed(text, &sources);
        let ids: Vec<_> = query.constants().iter().map(id).collect();
        assert_eq!(query.degree_questions(&ids).len(), questions);
    }
}

#[test]
fn both_lists_of_an_intersection_have_their_source() {
    let text = "SELECT * { ?u a ub:University . ?d ub:subOrganizationOf ?u . ?x ub:memberOf ?d . ?x \
                ub:undergraduateDegreeFrom ?u }";
    let steps = printed(&placed(text, &[0, 0, 2, 1]), KEEP_ORDER);
    assert_eq!(
        steps.last().unwrap(),
        "intersect ?d <-ub:memberOf- ?x in source 2 and ?u <-ub:undergraduateDegreeFrom- ?x in source 1"
    );
}

#[test]
fn counts_are_of_one_source() {
    let sizes = |text, sources: &[u16]| printed(&placed(text, sources), PlanOptions::DEFAULT);
    assert_eq!(
        sizes("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", &[1]),
        ["sizes of any predicate edges ?n in source 1"]
    );
    assert_eq!(
        sizes(
            "SELECT ?s (COUNT(*) AS ?n) { ?s ub:likes ?o } GROUP BY ?s",
            &[1]
        ),
        [
            "keys ?s -ub:likes-> in source 1",
            "degree ?s -ub:likes-> ?n in source 1"
        ]
    );
    // What one source lists is another's to expand.
    let both = sizes(
        "SELECT DISTINCT ?s { ?s ub:name ?n . ?s ub:name ?m }",
        &[1, 2],
    );
    assert!(
        both.iter().any(|step| step.ends_with("in source 2")),
        "{both:?}"
    );
    assert!(
        both.iter().any(|step| step.ends_with("in source 1")),
        "{both:?}"
    );
}

#[test]
fn paths_and_graphs_say_their_source() {
    let text = "SELECT * { GRAPH ?g { ?x ub:advisor* ?y } }";
    let mut query = query(text);
    query.for_each_source_mut(&mut |source| *source = Source(3));
    let steps = printed(&query, PlanOptions::DEFAULT);
    assert!(steps.len() >= 3, "{steps:?}");
    let looks = |step: &&String| !step.starts_with("same");
    assert!(
        steps
            .iter()
            .filter(looks)
            .all(|step| step.contains("in source 3")),
        "{steps:?}"
    );
    let plan = plan_of(&query, PlanOptions::DEFAULT);
    for step in &plan.steps {
        step.action
            .for_each_source(&mut |source| assert_eq!(source, Source(3)));
    }
}

/// Notes which sources it is asked of.
struct Asked(Vec<Source>);

impl Sampler for Asked {
    fn sample(
        &mut self,
        questions: &[SampleQuestion],
    ) -> Result<Vec<Option<Sampled>>, Interrupted> {
        self.0.extend(questions.iter().map(|it| it.pattern.source));
        Ok(vec![None; questions.len()])
    }
}

#[test]
fn samples_are_asked_of_the_store() {
    let text = "SELECT * { ?a ub:advisor ?b . ?b ub:teacherOf ?c . ?d ub:takesCourse ?c . ?d ub:memberOf ?e }";
    for (sources, is_asked) in [([0; 4], true), ([0, 0, 0, 1], true), ([1; 4], false)] {
        let query = placed(text, &sources);
        let ids: Vec<_> = query.constants().iter().map(id).collect();
        let mut asked = Asked(Vec::new());
        let planner = Planner::new(statistics(1));
        let plan = planner.plan_with_samples(&query, &ids, &[], &mut asked, 0);
        check_plan(&plan.unwrap());
        assert_eq!(!asked.0.is_empty(), is_asked, "{sources:?}");
        assert!(
            asked.0.iter().all(|source| source.is_store()),
            "{sources:?}"
        );
    }
}

//! Plans of patterns of several sources: ordered, printed, and proven empty by nothing that the store knows.

use super::invariants::check_plan;
use super::lubm::{UB, id, query, statistics};
use crate::PlanOptions;
use crate::algebra::Query;
use crate::explain::PlanNames;
use crate::plan::{Action, Plan, Source, Step};
use crate::planner::Planner;
use crate::sampling::{Interrupted, SampleId, SampleQuestion, Sampled, Sampler};
use crate::standing::{
    Bounds, Dialect, Difference, Emit, Extent, Freshness, Late, Output, Relation, Report,
    SourceContent, StandingQuery, Stored, When, WindowClause,
};
use crate::statistics::{PredicateStatistics, SourceStatistics};
use oxrdf::NamedNode;
use std::sync::Arc;

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

/// What is known of a source: subjects, objects and edges of predicates that the store has, too.
fn known(counts: &[(&str, [u64; 3])]) -> Arc<SourceStatistics> {
    let mut predicates: Vec<_> = counts
        .iter()
        .map(|&(name, [subjects, objects, edges])| PredicateStatistics {
            vertex: id(&NamedNode::new_unchecked(format!("{UB}{name}")).into()).expect(name),
            subjects,
            objects,
            edges,
        })
        .collect();
    predicates.sort_by_key(|it| it.vertex);
    let quads = predicates.iter().map(|it| it.edges).sum();
    Arc::new(SourceStatistics { quads, predicates })
}

/// Planned for a snapshot whose statistics are complete, with what is known of other sources.
fn plan_over(
    query: &Query,
    sources: &[Option<Arc<SourceStatistics>>],
    options: PlanOptions,
) -> Plan {
    let ids: Vec<_> = query.constants().iter().map(id).collect();
    let degrees = vec![20; query.degree_questions(&ids).len()];
    let mut statistics = statistics(1);
    statistics.complete_at = Some(7);
    let planner = Planner::new(statistics);
    let plan = planner.plan_over(query, &ids, &degrees, sources, options);
    let plan = plan.unwrap();
    check_plan(&plan);
    plan
}

/// The same with nothing known of other sources.
fn plan_of(query: &Query, options: PlanOptions) -> Plan {
    plan_over(query, &[], options)
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
    ..PlanOptions::DEFAULT
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
                // Nor do those of another source, which may have been empty when they were taken.
                let query = placed(text, &sources[3 - patterns..]);
                let plan = plan_over(&query, &[Some(known(&[])), Some(known(&[]))], options);
                assert!(!has_never(&plan), "{text} of {sources:?}");
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
fn a_proof_is_left_out_where_it_is_asked() {
    let text = "SELECT * { ?x a ub:Lecturer . ?x ub:advisor ?y }";
    let options = PlanOptions {
        keep_empty: true,
        ..PlanOptions::DEFAULT
    };
    assert!(has_never(&plan_of(&query(text), PlanOptions::DEFAULT)));
    let walked = plan_of(&query(text), options);
    assert!(!has_never(&walked) && walked.steps.len() == 2);
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

/// Rows that are expected of all steps together.
fn expected_rows(text: &str, places: &[u16], sources: &[Option<Arc<SourceStatistics>>]) -> f64 {
    let plan = plan_over(&placed(text, places), sources, PlanOptions::DEFAULT);
    plan.steps.last().unwrap().estimate.rows
}

fn assert_near(found: f64, expected: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < 1e-6, "{found} for {expected}");
}

#[test]
fn each_source_is_counted_by_its_own_statistics() {
    let sources = [
        Some(known(&[
            ("takesCourse", [50, 20, 200]),
            ("memberOf", [80, 4, 160]),
        ])),
        Some(known(&[("takesCourse", [10, 10, 10])])),
    ];
    let rows = |text, places: &[u16]| expected_rows(text, places, &sources);
    assert_near(rows("SELECT * { ?x ub:takesCourse ?c }", &[1]), 200.0);
    assert_near(rows("SELECT * { ?x ub:takesCourse ?c }", &[2]), 10.0);
    // A source of which nothing is known, and one behind the list.
    assert_near(
        expected_rows("SELECT * { ?x ub:takesCourse ?c }", &[1], &[None]),
        1000.0,
    );
    assert_near(rows("SELECT * { ?x ub:takesCourse ?c }", &[3]), 1000.0);
    // A constant has what the ends of the predicate have on average, whatever it is.
    assert_near(
        rows("SELECT * { ?x ub:takesCourse <http://d> }", &[1]),
        10.0,
    );
    assert_near(rows("SELECT * { <http://d> ub:takesCourse ?c }", &[1]), 4.0);
    assert_near(
        rows("SELECT * { <http://nowhere> ub:takesCourse ?c }", &[1]),
        4.0,
    );
    assert_near(rows("SELECT * { ?x ?p ?c }", &[1]), 360.0);
}

#[test]
fn sources_join_as_independent() {
    let one = Some(known(&[
        ("takesCourse", [50, 20, 200]),
        ("memberOf", [80, 4, 160]),
    ]));
    let two = Some(known(&[("takesCourse", [10, 10, 10])]));
    let sources = [one, two];
    let rows = |text, places: &[u16]| expected_rows(text, places, &sources);
    let star = "SELECT * { ?x ub:takesCourse ?c . ?x ub:memberOf ?d }";
    // Within a window the predicate with more subjects divides; what the store has of either is of no account.
    assert_near(rows(star, &[1, 1]), 200.0 * 160.0 / 80.0);
    assert_near(rows(star, &[2, 1]), 10.0 * 160.0 / 80.0);
    // 7,790 vertices are members in the store, once each.
    assert_near(rows(star, &[1, 0]), 200.0);
    // The store's own star stays whole beside a window's, which is divided by its own subjects.
    let text = "SELECT * { ?x a ub:Lecturer ; ub:name ?n ; ub:takesCourse ?c ; ub:memberOf ?d }";
    let stored = expected_rows("SELECT * { ?x a ub:Lecturer ; ub:name ?n }", &[0, 0], &[]);
    let domain = 17_174.0;
    assert_near(
        rows(text, &[0, 0, 1, 1]),
        stored / domain * 200.0 * 160.0 / 80.0,
    );
}

#[test]
fn a_window_without_edges_is_small_and_not_empty() {
    let text = "SELECT * { ?x ub:name ?n . ?x ub:worksFor ?d . ?x ub:takesCourse ?c }";
    let query = placed(text, &[0, 0, 1]);
    let never_seen = Some(known(&[]));
    let empty = Some(known(&[("takesCourse", [0, 0, 0])]));
    for sources in [[never_seen], [empty]] {
        let plan = plan_over(&query, &sources, PlanOptions::DEFAULT);
        assert!(!has_never(&plan));
        let rows: Vec<f64> = plan.steps.iter().map(|step| step.estimate.rows).collect();
        assert!(
            rows.iter().all(|rows| (0.0..=1.0).contains(rows)),
            "{rows:?}"
        );
        assert!(rows.iter().all(|rows| *rows > 0.0), "{rows:?}");
        let mut first = None;
        plan.steps[0]
            .action
            .for_each_source(&mut |source| first = Some(source));
        assert_eq!(first, Some(Source(1)), "{}", plan.explain());
    }
}

#[test]
fn a_walk_begins_where_there_is_less_now() {
    let text = "SELECT * { ?x ub:worksFor ?d . ?x ub:takesCourse ?c }";
    let query = placed(text, &[0, 1]);
    let first = |edges: u64| {
        let sources = [Some(known(&[("takesCourse", [edges, edges, edges])]))];
        let plan = plan_over(&query, &sources, PlanOptions::DEFAULT);
        let mut first = None;
        plan.steps[0]
            .action
            .for_each_source(&mut |source| first = Some(source));
        first
    };
    // In the store 540 work for some department.
    assert_eq!(first(50), Some(Source(1)));
    assert_eq!(first(50_000), Some(Source::STORE));
}

#[test]
fn what_is_known_of_sources_changes_no_plan_of_the_store() {
    let text = "SELECT * { ?x a ub:GraduateStudent . ?x ub:takesCourse ?c . ?x ub:memberOf ?d }";
    let sources = [Some(known(&[("takesCourse", [1, 1, 1])]))];
    let query = query(text);
    let plan = plan_of(&query, PlanOptions::DEFAULT);
    assert_eq!(plan_over(&query, &sources, PlanOptions::DEFAULT), plan);
    assert_eq!(plan_over(&query, &[None, None], PlanOptions::DEFAULT), plan);
}

#[test]
fn paths_of_a_source_are_sized_by_it() {
    let text = "SELECT * { ?x ub:advisor+ ?y . ?x ub:name ?n }";
    let query = placed(text, &[1, 0]);
    let begins_with_path = |sources: &[Option<Arc<SourceStatistics>>]| {
        let plan = plan_over(&query, sources, PlanOptions::DEFAULT);
        matches!(plan.steps[0].action, Action::PathSeed { .. })
    };
    assert!(begins_with_path(&[Some(known(&[("advisor", [3, 3, 3])]))]));
    let many = 10_000_000;
    assert!(!begins_with_path(&[Some(known(&[(
        "advisor",
        [many, many, many]
    )]))]));
}

/// Each row has so many partners, and whatever is asked of is counted.
struct Partners {
    each: f64,
    asked: usize,
}

impl Sampler for Partners {
    fn sample(
        &mut self,
        questions: &[SampleQuestion],
    ) -> Result<Vec<Option<Sampled>>, Interrupted> {
        let answer = |question: &SampleQuestion| {
            assert!(question.pattern.source.is_store());
            self.asked += 1;
            let rows_in = question.from.map_or(1, |_| u64::from(question.rows_max));
            let found = match question.from {
                None => 7_790.0,
                Some(_) => self.each * rows_in as f64,
            };
            Some(Sampled {
                id: SampleId(self.asked as u32),
                rows_in,
                found,
                rows: u64::from(question.rows_max).min(found as u64),
                touched: 50,
            })
        };
        Ok(questions.iter().map(answer).collect())
    }
}

#[test]
fn samples_correct_the_store_behind_a_window() {
    let text = "SELECT * { ?a ub:likes ?b . ?b ub:memberOf ?d . ?e ub:memberOf ?d . ?e ub:takesCourse ?c }";
    let query = placed(text, &[1, 0, 0, 0]);
    let ids: Vec<_> = query.constants().iter().map(id).collect();
    let planner = Planner::new(statistics(1));
    let sources = [Some(Arc::new(SourceStatistics::default()))];
    let planned = |each| {
        let mut partners = Partners { each, asked: 0 };
        let plan = planner.plan_over_with_samples(&query, &ids, &[], &sources, &mut partners, 0);
        let plan = plan.unwrap();
        check_plan(&plan);
        assert!(partners.asked > 0);
        plan
    };
    let last = |plan: &Plan| plan.steps.last().unwrap().estimate.rows;
    let (few, many) = (planned(2.0), planned(200.0));
    for plan in [&few, &many] {
        let mut first = None;
        plan.steps[0]
            .action
            .for_each_source(&mut |source| first = Some(source));
        assert_eq!(first, Some(Source(1)), "{}", plan.explain());
    }
    assert!(
        last(&many) > 1000.0 * last(&few),
        "{} {}",
        many.explain(),
        few.explain()
    );
}

#[test]
fn a_plan_calls_its_sources_by_their_names() {
    let text = "SELECT * { ?x ub:name ?n . ?x ub:likes ?y . ?y ub:likes ?z }";
    let query = placed(text, &[0, 1, 2]);
    let plan = plan_of(&query, KEEP_ORDER);
    let sources = ["window <http://w>".to_owned()];
    let names = PlanNames {
        prefixes: query.prefixes(),
        sources: &sources,
    };
    let printed = plan.explain_named(names, None);
    assert!(
        printed.contains("?x -ub:likes-> ?y in window <http://w>"),
        "{printed}"
    );
    assert!(
        printed.contains("?y -ub:likes-> ?z in source 2"),
        "{printed}"
    );
}

#[test]
fn windows_are_called_as_their_text_calls_them() {
    let window = |name: Option<&str>, stream: &str| WindowClause {
        name: name.map(str::to_owned),
        stream: stream.to_owned(),
        extent: Extent::Now,
        bounds: Bounds::LeftClosed,
        partial_first: false,
    };
    let content = |windows: &[usize], stored| SourceContent {
        windows: windows.to_vec(),
        stored,
    };
    let query = query("SELECT * FROM <http://g> { ?x ub:name ?n }");
    let graph = query.dataset().graphs.as_ref().unwrap().0[0];
    let standing = StandingQuery {
        name: None,
        dialect: Dialect::RspQl,
        output: Output::Table,
        relation: Relation::Rows,
        difference: Difference::Multiset,
        every_ms: None,
        report: Report {
            when: When::Close,
            nonempty: false,
            rows: false,
        },
        multiset: false,
        asks_times: false,
        sees_stored: true,
        emit: Emit::AtLeastOnce,
        freshness: Freshness::Aligned,
        late: Late::Side,
        lateness_ms: None,
        windows: vec![
            window(Some(&format!("{UB}w")), "http://s"),
            window(None, "http://s"),
        ],
        sources: vec![
            content(&[0], Stored::Nothing),
            content(&[1], Stored::DefaultGraph),
            content(&[0, 1], Stored::Graphs(vec![graph])),
        ],
        query,
        pragmas: String::new(),
    };
    assert_eq!(
        standing.source_names(),
        [
            "window ub:w",
            "window on <http://s>, the stored default graph",
            "window ub:w, window on <http://s>, graph <http://g>",
        ]
    );
}

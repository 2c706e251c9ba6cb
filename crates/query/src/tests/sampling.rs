//! Planning with samples, against a sampler that makes its answers up.

use crate::plan::{Action, Node, Plan, Step};
use crate::planner::{PlanError, Planner};
use crate::sampling::{Interrupted, SampleId, SampleQuestion, Sampled, Sampler};
use crate::statistics::{PredicateStatistics, Statistics};
use crate::{ParseOptions, PlanOptions, Query, parse};
use oxrdf::Term;
use rdf::{Tag, VertexId};

const EDGES: u64 = 1_000_000;

/// Predicates `<p0>` to `<p9>` with the same marginals: a million edges, a key for each.
fn statistics() -> Statistics {
    let predicate = |number| PredicateStatistics {
        vertex: VertexId::new(Tag::Iri, number),
        subjects: EDGES,
        objects: EDGES,
        edges: EDGES,
    };
    Statistics {
        quads: 10 * EDGES,
        predicates: (0..10).map(predicate).collect(),
        ..Statistics::default()
    }
}

fn query(pattern: &str) -> Query {
    parse(
        &format!("BASE <e:> SELECT * {{ {pattern} }}"),
        &ParseOptions::default(),
    )
    .unwrap()
}

fn number(query: &Query, node: Node) -> u64 {
    let Node::Constant(constant) = node else {
        return u64::MAX;
    };
    match &query.constants()[constant.0 as usize] {
        Term::NamedNode(node) => node.as_str()[3..].parse().unwrap(),
        _ => u64::MAX,
    }
}

type Partners = fn(&[u64], u64) -> Option<f64>;

/// Answers by how many partners a row has, given the numbers of the predicates that were walked and of the
/// one that follows.
struct Fake<'f> {
    query: &'f Query,
    partners: Partners,
    walks: Vec<Vec<u64>>,
    /// What each answer says that it cost.
    touched: u64,
    interrupts: bool,
    batches: usize,
}

impl Sampler for Fake<'_> {
    fn sample(
        &mut self,
        questions: &[SampleQuestion],
    ) -> Result<Vec<Option<Sampled>>, Interrupted> {
        self.batches += 1;
        if self.interrupts {
            return Err(Interrupted);
        }
        let answer = |question: &SampleQuestion| {
            let before = question
                .from
                .map(|SampleId(id)| self.walks[id as usize].clone());
            let rows_max = u64::from(question.rows_max);
            let rows_in = if before.is_some() { rows_max } else { 1 };
            let mut walk = before.unwrap_or_default();
            let next = number(self.query, question.pattern.predicate);
            let partners = match &walk[..] {
                [] => EDGES as f64,
                walked => (self.partners)(walked, next)?,
            };
            walk.push(next);
            self.walks.push(walk);
            let found = partners * rows_in as f64;
            Some(Sampled {
                id: SampleId(self.walks.len() as u32 - 1),
                rows_in,
                found,
                rows: rows_max.min(found as u64),
                touched: self.touched,
            })
        };
        Ok(questions.iter().map(answer).collect())
    }
}

/// The plan, and the walks of which samples were asked for.
fn planned(
    query: &Query,
    from_ns: u64,
    change: impl FnOnce(&mut Fake<'_>),
) -> (Result<Plan, PlanError>, Vec<Vec<u64>>, usize) {
    let mut fake = Fake {
        query,
        partners: |_, _| Some(1.0),
        walks: Vec::new(),
        touched: 100,
        interrupts: false,
        batches: 0,
    };
    change(&mut fake);
    let ids: Vec<Option<VertexId>> = query
        .constants()
        .iter()
        .map(|term| match term {
            Term::NamedNode(node) if node.as_str().starts_with("e:p") => {
                let number = node.as_str()[3..].parse().unwrap();
                Some(VertexId::new(Tag::Iri, number))
            }
            _ => Some(VertexId::new(Tag::Iri, 1_000)),
        })
        .collect();
    let planner = Planner::new(statistics());
    let degrees = vec![10_000; query.degree_questions(&ids).len()];
    let plan = planner.plan_with_samples(query, &ids, &degrees, &mut fake, from_ns);
    let unsampled = planner
        .plan(query, &ids, &degrees, PlanOptions::DEFAULT)
        .unwrap();
    if fake.walks.is_empty() && !fake.interrupts {
        assert_eq!(plan, Ok(unsampled), "nothing was found");
    }
    (plan, fake.walks, fake.batches)
}

/// The predicates of the steps that follow edges, in order.
fn order(query: &Query, plan: &Plan) -> Vec<u64> {
    let predicate = |action: &Action| match action {
        Action::Expand { predicate, .. } | Action::Check { predicate, .. } => {
            Some(number(query, *predicate))
        }
        _ => None,
    };
    let steps = plan.steps.iter();
    steps.filter_map(|step| predicate(&step.action)).collect()
}

const CHAIN: &str = "?a <p0> ?b . ?b <p1> ?c . ?c <p2> ?d . ?d <p3> ?e";

#[test]
fn the_order_follows_what_samples_find() {
    let query = query(CHAIN);
    // Of one pair there is hardly any, of all others many.
    let cases: [([u64; 2], Partners); 3] = [
        ([0, 1], |walked, next| rare(walked, next, [0, 1])),
        ([1, 2], |walked, next| rare(walked, next, [1, 2])),
        ([2, 3], |walked, next| rare(walked, next, [2, 3])),
    ];
    for (pair, partners) in cases {
        let (plan, ..) = planned(&query, 0, |fake| fake.partners = partners);
        let plan = plan.unwrap();
        let mut first = order(&query, &plan)[..2].to_vec();
        first.sort_unstable();
        assert_eq!(first, pair, "{}", plan.explain());
        assert!(plan.steps[2].estimate.is_sampled);
        assert!(
            plan.explain().contains("from samples (~)"),
            "{}",
            plan.explain()
        );
    }
}

#[allow(clippy::unnecessary_wraps, reason = "as the sampler wants it")]
fn rare(walked: &[u64], next: u64, pair: [u64; 2]) -> Option<f64> {
    let is_rare = pair.contains(&next) && walked.iter().any(|one| pair.contains(one));
    Some(if is_rare { 0.001 } else { 5.0 })
}

#[test]
fn what_statistics_call_cheap_asks_nothing() {
    let chain = query(CHAIN);
    assert_eq!(planned(&chain, u64::MAX, |_| ()).2, 0);
    let limited = parse(
        &format!("BASE <e:> SELECT * {{ {CHAIN} }} LIMIT 3"),
        &ParseOptions::default(),
    );
    assert_eq!(planned(&limited.unwrap(), 1_000_000, |_| ()).2, 0);
    // Both orders of two patterns give the same rows.
    assert_eq!(planned(&query("?a <p0> ?b . ?b <p1> ?c"), 0, |_| ()).2, 0);
}

#[test]
fn what_cannot_be_asked_is_left_to_statistics() {
    for pattern in [
        "?a ?p ?b . ?b ?q ?c . ?c ?r ?d",
        "GRAPH ?g { ?a <p0> ?b . ?b <p1> ?c . ?c <p2> ?d }",
    ] {
        assert!(
            planned(&query(pattern), 0, |_| ()).1.is_empty(),
            "{pattern}"
        );
    }
    // A path in the middle: what is beside it is walked.
    let (plan, walks, _) = planned(&query("?a <p0> ?b . ?b <p1> ?c . ?c <p2>+ ?d"), 0, |_| ());
    assert!(plan.is_ok() && walks.iter().all(|walk| !walk.contains(&u64::MAX)));
    assert!(walks.iter().any(|walk| walk.len() == 2), "{walks:?}");
}

/// What an expansion would give is found by a sample, and does not deter from the intersection that never makes it.
#[test]
fn cycles_are_sampled_and_met() {
    let cycles = [
        "?a <p0> ?b . ?b <p1> ?c . ?c <p2> ?a",
        "?a <p0> ?b . ?b <p1> ?c . ?c <p2> ?d . ?a <p3> ?d . ?a <p4> <e:p9>",
    ];
    for pattern in cycles {
        for each in [0.5, 2.0, 1_000.0] {
            let (plan, _, batches) = planned(&query(pattern), 0, |fake| {
                fake.partners = if each < 1.0 {
                    |_, _| Some(0.5)
                } else if each < 10.0 {
                    |_, _| Some(2.0)
                } else {
                    |_, _| Some(1_000.0)
                };
            });
            let plan = plan.unwrap();
            assert!(batches > 0, "{pattern}");
            let meets = |step: &Step| matches!(step.action, Action::Intersect { .. });
            let pays = plan.steps.iter().any(meets);
            assert_eq!(pays, each > 10.0, "{each}: {}", plan.explain());
        }
    }
}

#[test]
fn without_answers_the_plan_is_that_of_statistics() {
    let query = query(CHAIN);
    let (plan, walks, _) = planned(&query, 0, |fake| fake.partners = |_, _| None);
    assert!(walks.iter().all(|walk| walk.len() == 1), "{walks:?}");
    let steps = plan.unwrap().steps;
    assert!(steps.iter().all(|step| !step.estimate.is_sampled));
}

#[test]
fn an_interrupted_sampler_ends_planning() {
    let query = query(CHAIN);
    let (plan, ..) = planned(&query, 0, |fake| fake.interrupts = true);
    assert_eq!(plan.unwrap_err(), PlanError::Interrupted(Interrupted));
}

#[test]
fn dear_answers_are_few() {
    // A plan of some 0.1 s may pay some thousand touches, and twice that where it was wrong.
    let query =
        query("?a <p0> ?b . ?a <p1> ?c . ?a <p2> ?d . ?d <p3> ?e . ?c <p4> ?f . ?f <p5> ?g");
    let (_, all, _) = planned(&query, 0, |fake| fake.touched = 1);
    let (_, few, _) = planned(&query, 0, |fake| fake.touched = 10_000);
    assert!(
        few.len() < all.len() && few.len() < 12,
        "{} of {}",
        few.len(),
        all.len()
    );
}

#[test]
fn equal_questions_have_equal_seeds_and_plans_are_equal() {
    let query = query(CHAIN);
    let plan = || {
        let (plan, walks, _) = planned(&query, 0, |fake| {
            fake.partners = |walked, next| Some((walked[0] * 7 + next * 3) as f64 % 5.0);
        });
        (plan.unwrap(), walks)
    };
    assert_eq!(plan(), plan());
}

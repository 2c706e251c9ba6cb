//! What each mode does and does not, by counts: rows that are sent, lists that are fetched.

use super::world::World;
use cluster::Mode;
use oxrdf::Term;
use oxrdf::vocab::rdf::TYPE;
use query::plan::{Action, Node, Plan, Step};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::seeds;
use testkit::suite::hold::on_a_thread;

/// Whether every step is of rows alone: nothing is asked for a block, a path, a second list or a whole table.
fn is_plain(steps: &[Step]) -> bool {
    steps.iter().all(|step| {
        matches!(
            step.action,
            Action::Expand { .. }
                | Action::ExpandKeys { .. }
                | Action::ExpandPredicates { .. }
                | Action::AllPredicates { .. }
                | Action::Check { .. }
                | Action::Filter(_)
                | Action::Bind { .. }
                | Action::Distinct { .. }
                | Action::Order { .. }
                | Action::Slice { .. }
        )
    })
}

/// Whether it asks about `rdf:type`, whose lists are in pieces, or about predicates, among which that may be.
fn asks_for_classes(plan: &Plan) -> bool {
    let is_type = |term: &Term| *term == Term::from(TYPE.into_owned());
    plan.constants.iter().any(is_type)
        || plan.steps.iter().any(|step| match &step.action {
            Action::Expand { predicate, .. } | Action::Check { predicate, .. } => {
                matches!(predicate, Node::Slot(_))
            }
            Action::ExpandPredicates { .. } | Action::AllPredicates { .. } => true,
            _ => false,
        })
}

#[test]
fn a_forced_mode_does_what_it_says() {
    on_a_thread(|| {
        let (mut shipped, mut fetched, mut plain) = (0, 0, 0);
        for seed in seeds::chosen(60, 2_000) {
            let mut random = Random::new(seed);
            let dataset = random_dataset(&Shape::small(&mut random), &mut random);
            let vocabulary = Vocabulary::of(&dataset);
            let world = World::new(&dataset, 3, None).with_sizes(&mut random);
            for _ in 0..6 {
                let text = random_query(&vocabulary, &mut random);
                let Ok((plan, _)) = world.plan(&text, None) else {
                    continue;
                };
                let before = world.figures();
                let answered = world.answer(&text, None, 1, Mode::InPlace);
                answered.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                let in_place = world.figures();
                assert_eq!(
                    in_place.shipped.rows, before.shipped.rows,
                    "seed {seed}: rows that were to stay went\n{text}"
                );
                let answered = world.answer(&text, None, 1, Mode::ForkJoin);
                answered.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                let fork_join = world.figures();
                fetched += in_place.fetched.lists - before.fetched.lists;
                shipped += fork_join.shipped.rows - in_place.shipped.rows;
                assert_eq!(
                    fork_join.shipped.kept, in_place.shipped.kept,
                    "rows stayed that were to go"
                );
                if is_plain(&plan.steps) && !asks_for_classes(&plan) {
                    plain += 1;
                    assert_eq!(
                        fork_join.fetched.lists, in_place.fetched.lists,
                        "seed {seed}: lists were fetched\n{text}\n{plan:#?}"
                    );
                }
            }
        }
        assert!(
            shipped > 0 && fetched > 0 && plain > 0,
            "{shipped} {fetched} {plain}"
        );
    });
}

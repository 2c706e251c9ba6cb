//! What every plan is, whatever was asked: it keeps the contract of [`crate::plan`], and its estimates are numbers.
//!
//! Asserted once for each plan that is made, in time of its steps and their columns, where debug assertions are: in
//! all tests, so over every suite and oracle. A release does not look: a plan that breaks one of these rules may
//! still walk, and no query is to end for the sake of the rule.

use crate::plan::{Plan, Step};

/// Panics where a plan is none.
pub(super) fn assert_valid(plan: &Plan) {
    if let Err(fault) = plan.check() {
        panic!("{fault}\n{plan:?}");
    }
    plan.steps.iter().for_each(assert_estimated);
}

fn assert_estimated(step: &Step) {
    let estimate = step.estimate;
    let is_number = |number: f64| number.is_finite() && number >= 0.0;
    assert!(
        is_number(estimate.rows) && is_number(estimate.cost_ns),
        "an estimate is a number: {estimate:?} of {:?}",
        step.action
    );
    let blocks = step.action.blocks().iter();
    blocks.flatten().for_each(assert_estimated);
}

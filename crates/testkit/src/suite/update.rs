//! Tests of updates: what a request makes of a dataset, and which texts are updates.
//!
//! A test gives files of a default graph and of named graphs before and after (`ut:data`,
//! `ut:graphData`). A graph that the test names and that is empty afterwards is as one that is not
//! there: the suite is written so that stores without empty graphs pass it. The datasets are compared up
//! to the names of blank nodes.

use super::case::{CaseKind, SuiteCase};
use super::report::Verdict;
use super::{compare, data};
use oxrdf::Dataset;

/// Who carries updates out.
pub trait Updates {
    /// What a request makes of a dataset; `base` is what its relative IRIs are resolved against. The
    /// error is a complaint for people.
    fn update(&self, before: &Dataset, request: &str, base: &str) -> Result<Dataset, String>;

    /// Whether a text is an update: `Ok(false)` if it is refused as wrong. The error is a complaint: it
    /// was refused for another reason.
    fn accepts(&self, request: &str, base: &str) -> Result<bool, String>;
}

/// The verdict on a test of an update ([`CaseKind::is_update`]).
pub fn check(case: &SuiteCase, engine: &dyn Updates) -> Verdict {
    let request = case.text()?;
    match case.kind {
        CaseKind::PositiveUpdateSyntax if engine.accepts(&request, case.base())? => Ok(()),
        CaseKind::PositiveUpdateSyntax => Err("refused".to_owned()),
        CaseKind::NegativeUpdateSyntax if engine.accepts(&request, case.base())? => {
            Err("accepted".to_owned())
        }
        CaseKind::NegativeUpdateSyntax => Ok(()),
        CaseKind::UpdateEvaluation => {
            let left = engine.update(&data::dataset(case)?, &request, case.base())?;
            compare::check_datasets(&data::left(case)?, &left)
        }
        _ => Err("this is no test of an update".to_owned()),
    }
}

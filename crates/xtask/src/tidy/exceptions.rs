//! Every exception from the house rules, in one place, each with its reason.
//!
//! Invariant: an exception that excuses nothing is reported, so this list cannot outlive its
//! causes. An exception names a rule, the beginning of a path, and what is excused there.

use super::Finding;

/// One thing that a rule lets pass.
struct Exception {
    /// The check's name.
    check: &'static str,
    /// Where: the beginning of a path (`crates/store/src/load` covers `load.rs` and `load/`).
    path: &'static str,
    /// What: a piece of the finding's text.
    what: &'static str,
    /// Why it is right there.
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        check: "authority",
        path: "crates/store/src/load",
        what: "thread::scope",
        reason: "the bulk loader parses and sorts in parallel; the number of threads is its \
                 argument, and none outlives the call",
    },
    Exception {
        check: "authority",
        path: "crates/fabric/src/clock.rs",
        what: "Instant::now",
        reason: "a fabric notices silence, and its poll waits; above it time comes from `Fabric::now`, which a simulation \
                 makes virtual",
    },
    Exception {
        check: "authority",
        path: "crates/fabric/src/clock.rs",
        what: ".elapsed()",
        reason: "the same clock, read by whoever asks the fabric for the time",
    },
    Exception {
        check: "authority",
        path: "crates/fabric/src/clock.rs",
        what: "SystemTime",
        reason: "the number of a node's life, which no earlier start of it had",
    },
    Exception {
        check: "authority",
        path: "crates/gpu/src/cache.rs",
        what: "available_parallelism",
        reason: "how many threads bring a segment is the machine's, unless whoever measures says otherwise",
    },
    Exception {
        check: "authority",
        path: "crates/fabric/src/tcp",
        what: "thread::Builder",
        reason: "a node over TCP has one thread for its sockets, which ends with it, and one for each name of a host that is looked up, which ends with its answer",
    },
    Exception {
        check: "authority",
        path: "crates/fabric/src/tcp",
        what: "std::net",
        reason: "sockets are what it is for; nothing else of the crate has any",
    },
    circle(
        "crates/explore/src/expression/call.rs",
        "7 files import each other: expression/call, expression/compile, expression/computation, expression/condition, expression/integers, expression/make, expression/same_text",
        "a condition has computations and a computation conditions: the grammar of expressions",
    ),
    circle(
        "crates/explore/src/expression/fixed.rs",
        "4 files import each other: expression/fixed, expression/large, expression/scalar, expression/value",
        "a number that outgrows its kind becomes one of the next kind, and the other way round",
    ),
    circle(
        "crates/query/src/lower/expression.rs",
        "2 files import each other: lower/expression, lower/group",
        "EXISTS has a group, and a group has filters",
    ),
    circle(
        "crates/testkit/src/naive/basic.rs",
        "6 files import each other: naive/basic, naive/cast, naive/evaluator, naive/expression, naive/function, naive/term_function",
        "an evaluator by the letter: patterns have filters, and filters patterns",
    ),
    folder(
        "crates/engine/src",
        "28 files, 24 are allowed",
        "what each of its folders stands on lies beside them: budgets, errors, the token, what threads share",
    ),
    Exception {
        check: "homonyms",
        path: "crates/query/src",
        what: "crates/query/src/grammar/abstract_query.rs",
        reason: "a query as it is written and as it is planned: both have the words of SPARQL 1.1 section 18.2, \
                 and no file but `lower` sees both",
    },
    folder(
        "crates/explore/src/step",
        "27 files, 24 are allowed",
        "the operators of a walk, a file each: the list is the structure",
    ),
    folder(
        "crates/somersault/tests",
        "35 files, 24 are allowed",
        "a subject each, all of them declared in one program",
    ),
    folder(
        "crates/store/src/load",
        "27 files, 24 are allowed",
        "the stages of the bulk loader, through which data goes one way",
    ),
];

/// A folder with so many files.
const fn folder(path: &'static str, what: &'static str, reason: &'static str) -> Exception {
    Exception {
        check: "folders",
        path,
        what,
        reason,
    }
}

/// A circle of files, all of them named.
const fn circle(path: &'static str, what: &'static str, reason: &'static str) -> Exception {
    Exception {
        check: "circles",
        path,
        what,
        reason,
    }
}

/// Takes away what is excused from a check's findings, and adds the exceptions that are stale.
pub fn apply(check: &str, findings: Vec<Finding>) -> Vec<Finding> {
    apply_list(EXCEPTIONS, check, findings)
}

fn apply_list(list: &[Exception], check: &str, findings: Vec<Finding>) -> Vec<Finding> {
    let concerned: Vec<&Exception> = list.iter().filter(|each| each.check == check).collect();
    let mut used = vec![false; concerned.len()];
    let mut left: Vec<Finding> = Vec::new();
    for finding in findings {
        match concerned
            .iter()
            .position(|exception| excuses(exception, &finding))
        {
            Some(index) => used[index] = true,
            None => left.push(finding),
        }
    }
    let stale = concerned.iter().zip(used).filter(|(_, used)| !used);
    left.extend(stale.map(|(exception, _)| stale_finding(exception)));
    left
}

fn excuses(exception: &Exception, finding: &Finding) -> bool {
    finding.path.starts_with(exception.path) && finding.what.contains(exception.what)
}

fn stale_finding(exception: &Exception) -> Finding {
    let Exception {
        path, what, reason, ..
    } = exception;
    let what = format!("the exception for `{what}` excuses nothing any more (it said: {reason})");
    Finding {
        path: (*path).to_owned(),
        line: 0,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[Exception] = &[Exception {
        check: "one",
        path: "crates/a/src/b",
        what: "clock",
        reason: "because",
    }];

    fn finding(path: &str, what: &str) -> Finding {
        Finding {
            path: path.to_owned(),
            line: 1,
            what: what.to_owned(),
        }
    }

    #[test]
    fn excuses_only_what_is_named_where_it_is_named() {
        let here = finding("crates/a/src/b.rs", "reads the clock");
        let there = finding("crates/c/src/b.rs", "reads the clock");
        let other = finding("crates/a/src/b.rs", "prints");
        let left = apply_list(LIST, "one", vec![here, there.clone(), other.clone()]);
        assert_eq!(left, [there, other]);
    }

    #[test]
    fn reports_what_excuses_nothing() {
        let left = apply_list(LIST, "one", Vec::new());
        assert!(left[0].what.contains("excuses nothing"), "{left:?}");
        assert!(apply_list(LIST, "two", Vec::new()).is_empty());
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(
            EXCEPTIONS
                .iter()
                .all(|exception| exception.reason.len() > 20)
        );
    }
}

//! What has to be reported where several streams are stored: the stored side of an instant, by the commits that there were.
//!
//! The stored side of a close is the first commit whose vector covers every batch of the question's streams that ends by it.
//! Where a question reads one stream, that commit has these batches and no others. Where it reads several, one of them may be
//! ahead when the last is covered: its later batches are in that commit. How far ahead follows from the order in which items
//! and promises came, which is the log's and not the case's. So the commits are asked for, and all else is worked out: which
//! commit an instant sees, what is stored in it, and what is answered there.
//!
//! ```text
//!  commits    a 100, b 0    a 200, b 0    a 200, b 100    a 300, b 200
//!  close 100                              ^ the first that covers both: it has a batch of `a` that ends later
//! ```
//!
//! Invariant: nothing is believed of a commit but how far it says that it holds each stream.

use super::contents::ends;
use super::oracle::{Wanted, expected_over};
use super::{Absorbed, StandingCase};

/// Before which moment a commit holds all of each stream of a case (milliseconds): the end of its last batch there, or one
/// millisecond behind it where windows `(o, c]` needed that.
pub type CommitEnds = Vec<u64>;

/// Whether what an instant sees of the stored graph depends on how far streams are ahead of one another.
pub fn has_open_commits(case: &StandingCase) -> bool {
    let windows = &case.question.windows;
    let reads_several = windows.iter().any(|it| it.stream != windows[0].stream);
    let mut streams = case.streams.iter();
    reads_several && streams.any(|stream| stream.absorbed != Absorbed::Nothing)
}

/// The reports that have to be made over these commits, oldest first; else as [`super::expected`]. An error besides: some
/// stream goes back from one commit to the next, or none of them covers an instant.
pub fn expected_of(
    case: &StandingCase,
    until_ms: u64,
    work_max: u64,
    commits: &[CommitEnds],
) -> Result<Option<Vec<Wanted>>, String> {
    for pair in commits.windows(2) {
        if pair[0]
            .iter()
            .zip(&pair[1])
            .any(|(before, after)| before > after)
        {
            return Err(format!("a stream goes back in the commits {pair:?}"));
        }
    }
    expected_over(case, until_ms, work_max, &|instant| {
        let needed = ends(case, instant);
        let covers = |commit: &&CommitEnds| {
            let mut windows = case.question.windows.iter();
            windows.all(|window| commit[window.stream] >= needed[window.stream])
        };
        let seen = commits.iter().find(covers).cloned();
        seen.ok_or_else(|| format!("no commit covers {instant} ms: {commits:?}"))
    })
}

//! What holds of a log's numbers and files whenever no thread has the file.
//!
//! ```text
//! files:    sealed, by first record | the file being appended to
//! records:  oldest ........ durable ........ next                 durable < next
//! bytes of that file:  0 ... synced_end ... end                   of records written, then of the buffer
//! ```
//!
//! All of it is asserted where a thread gives the file back, and where a file ends: a number that is wrong here
//! would tell a client that a change is durable which a crash takes back. Cost: a few comparisons for each group
//! of records.

use super::super::recover::Kept;
use super::{LogFileState, State};

impl State {
    /// Asserts the order of numbers. The caller gives the file back.
    pub(super) fn assert_order(&self) {
        assert!(
            matches!(self.file, LogFileState::Taken | LogFileState::Syncing),
            "whoever gives the file back has it"
        );
        assert!(self.durable < self.next, "what is durable was appended");
        assert!(
            self.begun.first <= self.next,
            "a file begins with a record that it holds, or with the next one"
        );
        assert!(
            self.begun.end == 0 || self.synced_end <= self.begun.end,
            "what is synced of a file was written"
        );
    }

    /// Puts the file that was appended to behind those that nobody appends to.
    pub(super) fn end_file(&mut self, ended: Kept) {
        let before = self.sealed.back();
        assert!(
            before.is_none_or(|before| before.first < ended.first),
            "files ascend by their first records"
        );
        assert!(
            ended.first <= self.next,
            "a file begins with a record that was appended, or with the next one"
        );
        self.sealed.push_back(ended);
    }
}

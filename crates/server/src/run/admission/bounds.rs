//! The bounds of admission: how many queries may do what, at most.
//!
//! The board keeps all of them and an account looks at those of one client, so they stand below both.

/// How many queries may do what, at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Shares of the processors (count): one each.
    pub shares: usize,
    /// Queries that have started and not ended (count): each has a thread.
    pub started: usize,
    /// Of these, those of one client.
    pub started_per_client: usize,
    /// One client's queries beyond `SHORT` of service that alternate (count): each may hold a quarter of
    /// the memory.
    pub long_per_client: usize,
    /// One client's heavy queries that have begun to walk (count): each has several threads.
    pub open_per_client: usize,
    /// Queries that wait to be started.
    pub waiting: usize,
    /// Queries whose clients take nothing, before the longest of them is ended.
    pub stalled: usize,
}

impl Bounds {
    /// Queries that compute without a share, in all.
    pub fn fresh(self) -> usize {
        2 * self.shares
    }
}

//! Whether a database does what it is there for: what a readiness probe is told.
//!
//! The values are made where things go wrong: changes in the writer and its log, damage in the regions
//! that files are mapped into. Asking changes nothing and waits for nobody.

/// The state of a database; see [`Database::health`](crate::Database::health).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether changes are taken.
    pub changes: ChangeHealth,
    /// Whether commits that others make to the store are shown.
    pub following: FollowHealth,
    /// The damage of a file, where one was found: queries that need it fail and say so.
    pub damage: Option<String>,
}

/// Whether changes are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeHealth {
    /// They are.
    Taken,
    /// The database was opened for reading only.
    NotOffered,
    /// The last one could not be kept, for this reason; the next one may be: a full disk, for instance.
    Failing(String),
    /// None is until the database is opened again, for this reason.
    Refused(String),
}

/// Whether commits that others make to the store are shown. Where they are not, queries are answered from
/// what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowHealth {
    /// Nobody else can make any, or what was there at the opening was asked for.
    NotOffered,
    /// They are.
    Shown,
    /// Not now, for this reason; it is tried again: no memory is free, for instance.
    Failing(String),
    /// Not as long as the store is as it is now, for this reason: a record is damaged, or the store was
    /// removed or replaced.
    Lost(String),
}

impl Health {
    /// Whether it does all that it was opened for: nothing is damaged, changes are not refused for
    /// good, and what is followed is there. A full disk does not keep queries from being answered, so
    /// [`ChangeHealth::Failing`] is sound, and so is [`FollowHealth::Failing`].
    pub fn is_sound(&self) -> bool {
        self.damage.is_none()
            && !matches!(self.changes, ChangeHealth::Refused(_))
            && !matches!(self.following, FollowHealth::Lost(_))
    }
}

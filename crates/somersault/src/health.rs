//! Whether a database does what it is there for: what a readiness probe is told.
//!
//! The values are made where things go wrong: changes in the writer and its log, damage in the regions
//! that files are mapped into. Asking changes nothing and waits for nobody.

/// The state of a database; see [`Database::health`](crate::Database::health).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether changes are taken.
    pub changes: ChangeHealth,
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

impl Health {
    /// Whether it does all that it was opened for: nothing is damaged, and changes are not refused for
    /// good. A full disk does not keep queries from being answered, so [`ChangeHealth::Failing`] is sound.
    pub fn is_sound(&self) -> bool {
        self.damage.is_none() && !matches!(self.changes, ChangeHealth::Refused(_))
    }
}

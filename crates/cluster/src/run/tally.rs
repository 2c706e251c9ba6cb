//! Whether all rows of a section have been worked off, wherever: kept by the node that was asked.
//!
//! Tables are counted, not rows. A node that has worked off tables of section *k* says how many, and in the same message how
//! many tables of section *k + 1* it has sent because of them. So once all of *k* is worked off, all that was sent to *k + 1*
//! is known, and that is complete when as many have been worked off as were sent:
//!
//! ```text
//!  complete(0)      every node that starts has said that it is through
//!  complete(k + 1)  complete(k), and taken(k + 1) = made(k + 1)
//! ```
//!
//! No message of one pair of nodes overtakes another, but those of different pairs do: a table may be worked off before it is
//! known that it was sent. Then `taken` is ahead of `made` for a while, and nothing is complete, because what is before it is
//! not. A section that looks at rows together gives some when its input has ended, so it has to say that it is through, too.

/// Why what a node said cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impossible;

/// The counters of a query; see the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    sections: Vec<Section>,
    /// Sections that are complete.
    complete: usize,
}

#[derive(Clone, Debug)]
struct Section {
    made: u64,
    taken: u64,
    /// Whether it is over only when its last rows were given, which is said by [`Tally::is_through`].
    gives_last: bool,
    is_through: bool,
}

impl Tally {
    /// Of sections that so many nodes start. `gives_last`, by section: whether it looks at rows together.
    pub(crate) fn new(starts: u64, gives_last: impl Iterator<Item = bool>) -> Tally {
        let section = |gives_last| Section {
            made: 0,
            taken: 0,
            gives_last,
            is_through: false,
        };
        let mut sections: Vec<Section> = gives_last.map(section).collect();
        if let Some(first) = sections.first_mut() {
            first.made = starts;
        }
        Tally {
            sections,
            complete: 0,
        }
    }

    /// Tables of a section were worked off, and so many of the next one were sent because of them.
    pub(crate) fn took(
        &mut self,
        section: usize,
        tables: u64,
        made: u64,
    ) -> Result<(), Impossible> {
        let is_over = section < self.complete;
        let counted = self.sections.get_mut(section).filter(|_| !is_over);
        let counted = counted.ok_or(Impossible)?;
        counted.taken = counted.taken.checked_add(tables).ok_or(Impossible)?;
        match self.sections.get_mut(section + 1) {
            Some(next) => next.made = next.made.checked_add(made).ok_or(Impossible)?,
            None if made > 0 => return Err(Impossible),
            None => {}
        }
        Ok(())
    }

    /// A section that looks at rows together has given its last ones.
    pub(crate) fn is_through(&mut self, section: usize) {
        self.sections[section].is_through = true;
    }

    /// The next section whose rows have all come and been worked off, if it has to be told that its input has ended.
    /// Called until there is none.
    pub(crate) fn ended(&mut self) -> Option<usize> {
        while let Some(section) = self.sections.get(self.complete) {
            if section.taken != section.made {
                return None;
            }
            if section.gives_last && !section.is_through {
                return Some(self.complete);
            }
            self.complete += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worked_off_before_it_is_known_to_be_sent_completes_nothing() {
        let mut tally = Tally::new(2, [false, false, true].into_iter());
        assert_eq!(tally.took(1, 1, 2), Ok(()));
        assert_eq!(tally.took(2, 1, 0), Ok(()));
        assert_eq!(tally.took(0, 1, 0), Ok(()));
        assert_eq!(tally.ended(), None);
        assert_eq!(tally.took(0, 1, 1), Ok(()));
        assert_eq!(
            tally.ended(),
            None,
            "a table of the last section is under way"
        );
        assert_eq!(tally.took(2, 1, 0), Ok(()));
        assert_eq!(tally.ended(), Some(2));
        tally.is_through(2);
        assert_eq!(tally.ended(), None);
        assert_eq!(tally.took(2, 1, 0), Err(Impossible));
    }

    #[test]
    fn nothing_follows_the_last_section() {
        let mut tally = Tally::new(1, [false].into_iter());
        assert_eq!(tally.took(0, 1, 1), Err(Impossible));
        assert_eq!(tally.took(1, 0, 0), Err(Impossible));
    }
}

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
//! not. A section that gathers gives rows when its input has ended. So everybody who has worked off tables of it is told
//! that it has, and says that he is through when he has given his last; only then it is complete. The first section has no
//! input, and is over when it says so.

use std::collections::BTreeSet;

/// Why what a node said cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impossible;

/// Who walks a section: a node, and whether it does so in place.
pub(crate) type Walker = (u16, bool);

/// What somebody has worked off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worked {
    pub(crate) section: usize,
    /// Tables of that section.
    pub(crate) tables: u64,
    /// Tables of the next one that were sent because of them.
    pub(crate) made: u64,
    /// Whether the walk has given its last rows.
    pub(crate) is_through: bool,
}

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
    /// Whether it gives rows when it is told that its input has ended.
    gathers: bool,
    /// Whether that was told.
    is_told: bool,
    /// Those that have worked off tables of it and are not through; kept where it gathers.
    walkers: BTreeSet<Walker>,
    through: BTreeSet<Walker>,
}

impl Tally {
    /// Of sections that so many nodes start, and whether each of them gathers. `home`: who walks those where all rows meet,
    /// also when none come.
    pub(crate) fn new(starts: u64, sections: impl Iterator<Item = (bool, Option<u16>)>) -> Tally {
        let section = |(gathers, meets_at): (bool, Option<u16>)| Section {
            made: 0,
            taken: 0,
            gathers,
            is_told: false,
            walkers: meets_at.map(|node| (node, false)).into_iter().collect(),
            through: BTreeSet::new(),
        };
        let mut sections: Vec<Section> = sections.map(section).collect();
        if let Some(first) = sections.first_mut() {
            first.made = starts;
            first.gathers = false;
        }
        Tally {
            sections,
            complete: 0,
        }
    }

    /// Counts what a walker has worked off.
    pub(crate) fn worked(&mut self, walker: Walker, worked: Worked) -> Result<(), Impossible> {
        let Worked {
            section,
            tables,
            made,
            is_through,
        } = worked;
        let is_over = section < self.complete;
        let counted = self.sections.get_mut(section).filter(|_| !is_over);
        let counted = counted.ok_or(Impossible)?;
        counted.taken = counted.taken.checked_add(tables).ok_or(Impossible)?;
        if counted.gathers {
            if tables > 0 {
                counted.walkers.insert(walker);
            }
            if is_through {
                counted.through.insert(walker);
            }
        }
        match self.sections.get_mut(section + 1) {
            Some(next) => next.made = next.made.checked_add(made).ok_or(Impossible)?,
            None if made > 0 => return Err(Impossible),
            None => {}
        }
        Ok(())
    }

    /// The next section whose rows have all come and been worked off, if somebody has to be told that its input has ended,
    /// and who. Called after each message.
    pub(crate) fn ended(&mut self) -> Option<(usize, Vec<Walker>)> {
        while let Some(section) = self.sections.get_mut(self.complete) {
            if section.taken != section.made {
                return None;
            }
            if section.gathers && !section.is_told {
                section.is_told = true;
                let told = section.walkers.difference(&section.through);
                let told: Vec<Walker> = told.copied().collect();
                if !told.is_empty() {
                    return Some((self.complete, told));
                }
            }
            if section.gathers && !section.walkers.is_subset(&section.through) {
                return None;
            }
            self.complete += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worked(section: usize, tables: u64, made: u64) -> Worked {
        Worked {
            section,
            tables,
            made,
            is_through: false,
        }
    }

    fn through(section: usize, made: u64) -> Worked {
        Worked {
            is_through: true,
            ..worked(section, 0, made)
        }
    }

    #[test]
    fn what_is_worked_off_before_it_is_known_to_be_sent_completes_nothing() {
        let sections = [(false, None), (false, None), (true, Some(0))];
        let mut tally = Tally::new(2, sections.into_iter());
        let [home, other] = [(0, false), (1, false)];
        assert_eq!(tally.worked(other, worked(1, 1, 2)), Ok(()));
        assert_eq!(tally.worked(home, worked(2, 1, 0)), Ok(()));
        assert_eq!(tally.worked(home, worked(0, 1, 0)), Ok(()));
        assert_eq!(tally.ended(), None);
        assert_eq!(tally.worked(other, worked(0, 1, 1)), Ok(()));
        assert_eq!(
            tally.ended(),
            None,
            "a table of the last section is under way"
        );
        assert_eq!(tally.worked(home, worked(2, 1, 0)), Ok(()));
        assert_eq!(tally.ended(), Some((2, vec![home])));
        assert_eq!(tally.worked(home, through(2, 0)), Ok(()));
        assert_eq!(tally.ended(), None);
        assert_eq!(tally.worked(home, worked(2, 1, 0)), Err(Impossible));
    }

    #[test]
    fn a_section_that_gathers_is_complete_when_all_that_walk_it_are_through() {
        let sections = [(true, None), (true, None), (true, Some(0))];
        let mut tally = Tally::new(1, sections.into_iter());
        let walkers = [(1, false), (1, true), (2, false)];
        assert_eq!(tally.worked((0, false), worked(0, 1, 3)), Ok(()));
        for walker in walkers {
            assert_eq!(tally.ended(), None);
            assert_eq!(tally.worked(walker, worked(1, 1, 0)), Ok(()));
        }
        assert_eq!(tally.ended(), Some((1, walkers.to_vec())));
        assert_eq!(tally.worked(walkers[0], through(1, 1)), Ok(()));
        assert_eq!(tally.worked(walkers[1], through(1, 0)), Ok(()));
        assert_eq!(tally.worked((0, false), worked(2, 1, 0)), Ok(()));
        assert_eq!(tally.ended(), None, "one has not given its last");
        assert_eq!(tally.worked(walkers[2], through(1, 0)), Ok(()));
        assert_eq!(tally.ended(), Some((2, vec![(0, false)])));
    }

    #[test]
    fn nobody_is_told_of_a_section_that_no_rows_came_to() {
        let sections = [(false, None), (true, None), (true, Some(3))];
        let mut tally = Tally::new(1, sections.into_iter());
        assert_eq!(tally.worked((0, false), worked(0, 1, 0)), Ok(()));
        assert_eq!(tally.ended(), Some((2, vec![(3, false)])));
    }

    #[test]
    fn nothing_follows_the_last_section() {
        let mut tally = Tally::new(1, [(false, None)].into_iter());
        assert_eq!(tally.worked((0, false), worked(0, 1, 1)), Err(Impossible));
        assert_eq!(tally.worked((0, false), worked(1, 0, 0)), Err(Impossible));
    }
}

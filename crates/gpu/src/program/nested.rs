//! Blocks of one pattern, in the words of kernels: `OPTIONAL`, `UNION`, `EXISTS`, `NOT EXISTS` and `MINUS`.
//!
//! Most blocks that people write have one pattern (of 147 `OPTIONAL`s in 824 queries of public projects 103 do, and of their `NOT EXISTS`, which every fifth of
//! them has, half), and need no rows of their own:
//!
//! | block | on the device |
//! |---|---|
//! | `OPTIONAL { ?x :p ?y }` | an expansion that keeps a row whose list is empty |
//! | `{ ?x :p ?y } UNION { ?z :q ?y }` | an expansion with a branch for each list |
//! | `EXISTS { ?x :p ?y }`, `?y` nowhere else | `?x` is a key of the segment |
//! | `EXISTS { ?x :p ?z }`, both known | the check of that edge |
//! | `NOT EXISTS`, `MINUS` of these | that the same does not hold |
//!
//! Where layers have changed what an `OPTIONAL` looks at, its list is made by two launches, of which neither knows whether the other found
//! something: the processor goes on from there.

use super::{Compiler, Expansion, Stop, layered};
use crate::access::Accessed;
use crate::cache::What;
use crate::condition::{Operand, ProgramCheck};
use crate::error::NotCovered;
use explore::TagSet;
use query::plan::{Action, Mode, Node, Slot, Step};
use rdf::Tag;

/// What a cell has that was not bound.
const UNBOUND: TagSet = TagSet::of(&[Tag::Unbound]);

impl Compiler<'_, '_, '_> {
    /// What blocks expand: of an `OPTIONAL` one, of a `UNION` all.
    pub(super) fn nested(&mut self, step: &Step) -> Result<Expansion, Stop> {
        let patterns = patterns(&step.action).ok_or(NotCovered::Block)?;
        let keeps = matches!(
            step.action,
            Action::Nested {
                mode: Mode::Left,
                ..
            }
        );
        let Action::Expand { into, .. } = patterns[0].action else {
            unreachable!("these blocks are expansions");
        };
        let mut branches = Vec::with_capacity(patterns.len());
        let mut tags = if keeps { UNBOUND } else { TagSet::NONE };
        let leaving = self.rows.end;
        for pattern in patterns {
            self.leave(&pattern.estimate);
            let (of_block, of_its) = self.lists(&pattern.action)?;
            branches.extend(of_block);
            tags = tags.with(of_its);
        }
        self.rows.end = leaving;
        let are_changed = branches.len() > 1 || branches.iter().any(|it| !it.checks.is_empty());
        if keeps && are_changed {
            return Err(NotCovered::Layered.into());
        }
        self.tags.push((into, tags));
        Ok(Expansion {
            into,
            branches,
            keeps,
        })
    }

    /// The checks that a block is: that it gives a row, or that it gives none.
    pub(super) fn exists(
        &mut self,
        step: &Step,
        is_wanted: bool,
    ) -> Result<Vec<Vec<ProgramCheck>>, Stop> {
        let patterns = patterns(&step.action).ok_or(NotCovered::Block)?;
        let pattern = patterns[0];
        let checks = match &pattern.action {
            Action::Expand {
                from: Node::Slot(from),
                ..
            } => self.is_key(&pattern.action, *from)?,
            _ => match self.constants(pattern)? {
                Some(holds) if holds == is_wanted => return Ok(Vec::new()),
                Some(_) => return Ok(vec![vec![ProgramCheck::never()]]),
                None => self.check(pattern)?,
            },
        };
        Ok(vec![if is_wanted {
            checks
        } else {
            layered::none_of(checks)
        }])
    }

    /// The checks whether a column has a list for an expansion.
    fn is_key(&mut self, expanded: &Action, column: Slot) -> Result<Vec<ProgramCheck>, Stop> {
        let Action::Expand {
            predicate,
            direction,
            scope,
            source,
            ..
        } = *expanded
        else {
            unreachable!("the caller has looked");
        };
        let (key, images) = self.segment((predicate, What::Keys), direction, scope, source)?;
        self.has_list(key, Operand::Column(column))?;
        self.looks_at_changes(&images, None);
        self.accesses(&images, Accessed::Key);
        self.accesses_changes(&images, &Accessed::Key);
        Ok(layered::key(&images, column))
    }
}

/// Branches of a `UNION`, at most: each is a launch of its own.
const BRANCHES_MAX: usize = 16;

/// The patterns of a step whose blocks have one each, such as kernels take; one at least. `None`: they are others.
pub(super) fn patterns(action: &Action) -> Option<Vec<&Step>> {
    let Action::Nested {
        mode,
        branches: blocks,
        exports,
        ..
    } = action
    else {
        return None;
    };
    let patterns: Option<Vec<&Step>> = blocks.iter().map(|block| single(block)).collect();
    let patterns = patterns.filter(|patterns| (1..=BRANCHES_MAX).contains(&patterns.len()))?;
    let is_taken = match mode {
        Mode::Inner => are_lists(&patterns, exports),
        Mode::Left => patterns.len() == 1 && are_lists(&patterns, exports),
        Mode::Semi | Mode::Anti => patterns.len() == 1 && is_condition(&patterns[0].action),
        Mode::Mark(_) => false,
    };
    is_taken.then_some(patterns)
}

/// Whether a pattern in a block is a condition on rows.
fn is_condition(action: &Action) -> bool {
    matches!(
        action,
        Action::Check {
            predicate: Node::Constant(_),
            ..
        } | Action::Expand {
            from: Node::Slot(_),
            predicate: Node::Constant(_),
            ..
        }
    )
}

/// The one step of a block that has no more.
fn single(block: &[Step]) -> Option<&Step> {
    match block {
        [step] => Some(step),
        _ => None,
    }
}

/// Whether all make one column by lists of a known predicate, and it is all that they export.
fn are_lists(patterns: &[&Step], exports: &[Slot]) -> bool {
    let made = patterns.iter().map(|pattern| match pattern.action {
        Action::Expand {
            predicate: Node::Constant(_),
            into,
            ..
        } => Some(into),
        _ => None,
    });
    let made: Option<Vec<Slot>> = made.collect();
    made.is_some_and(|made| {
        let all = made.iter().chain(exports);
        all.into_iter().all(|slot| *slot == made[0])
    })
}

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
        let Action::Nested {
            mode,
            branches: blocks,
            exports,
            ..
        } = &step.action
        else {
            unreachable!("the caller has looked");
        };
        let keeps = *mode == Mode::Left;
        let into = made_by_all(blocks, exports).ok_or(NotCovered::Block)?;
        if keeps && blocks.len() > 1 {
            return Err(NotCovered::Block.into());
        }
        let mut branches = Vec::with_capacity(blocks.len());
        let mut tags = if keeps { UNBOUND } else { TagSet::NONE };
        let leaving = self.rows.end;
        for pattern in blocks.iter().flatten() {
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
        let pattern = match step.action.blocks() {
            [block] => single(block),
            _ => None,
        };
        let checks = match pattern.map(|pattern| (pattern, &pattern.action)) {
            Some((pattern, Action::Check { .. })) => match self.constants(pattern)? {
                Some(holds) if holds == is_wanted => return Ok(Vec::new()),
                Some(_) => return Ok(vec![vec![ProgramCheck::never()]]),
                None => self.check(pattern)?,
            },
            Some((
                _,
                action @ Action::Expand {
                    from: Node::Slot(from),
                    ..
                },
            )) => self.is_key(action, *from)?,
            _ => return Err(NotCovered::Block.into()),
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

/// The one step of a block that has no more.
fn single(block: &[Step]) -> Option<&Step> {
    match block {
        [step] => Some(step),
        _ => None,
    }
}

/// The column that every block makes by one expansion, which is all that they export; `None`: they are others.
fn made_by_all(blocks: &[Vec<Step>], exports: &[Slot]) -> Option<Slot> {
    let mut made = None;
    for block in blocks {
        let Action::Expand {
            predicate: Node::Constant(_),
            into,
            ..
        } = single(block)?.action
        else {
            return None;
        };
        if *made.get_or_insert(into) != into {
            return None;
        }
    }
    made.filter(|into| exports.iter().all(|export| export == into))
}

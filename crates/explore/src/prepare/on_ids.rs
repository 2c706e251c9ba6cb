//! Conditions that ids decide, for whoever makes them elsewhere than in a walk, as a device does.
//!
//! An id tells what kind of term it is, integers order as their ids, and one term has one id. So with what kinds of terms a column may
//! hold ([`TagSet`]), many a filter is a few comparisons of numbers. Which, is said here, beside the walk's own forms of the same
//! conditions, so that both mean the same; a row is kept where each comparison holds.
//!
//! | filter | ids decide it where all is bound, by stored terms, and |
//! |---|---|
//! | `?x = <iri>`, `!=`, `IN` of one, `NOT IN` of IRIs | nothing else |
//! | `sameTerm(?x, ?y)`, its negation | nothing else |
//! | `bound(?x)`, its negation | also where it may be unbound |
//! | `?x = ?y`, `?x != ?y` | both hold IRIs and blank nodes alone |
//! | `?x < 7` and its kin | `?x` holds inline integers, IRIs and blank nodes alone |
//! | `isIRI`, `isBLANK`, `isLITERAL`, their negations | no literal may be a triple term |
//! | `&&` of such, and the negation of `\|\|` of such | each is decided |

use crate::expression::{Condition, Kind};
use crate::prepare::Prepared;
use crate::step::Policy;
use query::expression::Comparison;
use query::plan::Slot;
use rdf::{Tag, VertexId};

/// A set of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagSet(u16);

impl TagSet {
    /// No tag.
    pub const NONE: TagSet = TagSet(0);

    /// All that a stored term can have.
    pub const STORED: TagSet = TagSet::of(&Tag::STORED);

    /// All that a cell may hold.
    pub const ALL: TagSet = TagSet(u16::MAX);

    /// These tags.
    pub const fn of(tags: &[Tag]) -> TagSet {
        let (mut bits, mut at) = (0, 0);
        while at < tags.len() {
            bits |= 1 << tags[at] as u8;
            at += 1;
        }
        TagSet(bits)
    }

    /// The tags of ids from one to another.
    pub fn between(first: VertexId, last: VertexId) -> TagSet {
        let numbers = first.tag_number()..=last.tag_number();
        TagSet(numbers.fold(0, |bits, number| bits | 1 << number))
    }

    /// All of both.
    #[must_use]
    pub const fn with(self, other: TagSet) -> TagSet {
        TagSet(self.0 | other.0)
    }

    /// Whether it has none but the other's.
    pub const fn is_within(self, other: TagSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether it has one of the other's.
    pub const fn meets(self, other: TagSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// A comparison of ids that has to hold of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdCondition {
    /// The column's id is one of `first..=last`, or is none of them.
    Within {
        /// The column.
        slot: Slot,
        /// The first id.
        first: VertexId,
        /// The last one. No id is there if it is less than the first.
        last: VertexId,
        /// Whether the column's is to be among them.
        is_in: bool,
    },
    /// Two columns have the same id, or have not.
    Same {
        /// One of them.
        left: Slot,
        /// The other.
        right: Slot,
        /// Whether they are to be the same.
        are_same: bool,
    },
}

const RESOURCES: TagSet = TagSet::of(&[Tag::Iri, Tag::Blank]);
const INTEGERS: TagSet = TagSet::of(&[Tag::Integer]);

impl Prepared<'_> {
    /// What has to hold of the ids of a row that this step, a filter, keeps, where `tags` says which kinds of terms a column may hold;
    /// `None` where ids do not decide that, or the step is none. Asserts that the plan has the step.
    pub fn on_ids(&self, step: usize, tags: &dyn Fn(Slot) -> TagSet) -> Option<Vec<IdCondition>> {
        let Policy::Filter(filter) = &self.steps()[step].policy else {
            return None;
        };
        let mut decided = Decided {
            tags,
            conditions: Vec::new(),
        };
        for conjunct in &filter.conjuncts {
            decided.add(conjunct, true)?;
        }
        Some(decided.conditions)
    }
}

struct Decided<'t> {
    tags: &'t dyn Fn(Slot) -> TagSet,
    conditions: Vec<IdCondition>,
}

impl Decided<'_> {
    /// Adds that a condition is true, or that it is false; an error is neither.
    fn add(&mut self, condition: &Condition, is_true: bool) -> Option<()> {
        match condition {
            Condition::Not(operand) => self.add(operand, !is_true)?,
            Condition::And(operands) if is_true => self.add_all(operands, true)?,
            Condition::Or(operands) if !is_true => self.add_all(operands, false)?,
            Condition::Bound(slot) if self.tags_of(*slot).is_some() => {
                self.decided(*slot, is_true);
            }
            Condition::Bound(slot) => self.conditions.push(IdCondition::Within {
                slot: *slot,
                first: VertexId::UNBOUND,
                last: VertexId::UNBOUND,
                is_in: !is_true,
            }),
            Condition::IsId(slot, id) => self.within(*slot, (*id, *id), is_true)?,
            Condition::IsOneOf(slot, ids) if !is_true || ids.len() == 1 => {
                for id in ids {
                    self.within(*slot, (*id, *id), is_true)?;
                }
            }
            Condition::SameIds(left, right) => self.same(*left, *right, is_true)?,
            Condition::Kind(slot, kind) => self.kind(*slot, *kind, is_true)?,
            Condition::Resources(comparison) => {
                let (left, right) = (comparison.left, comparison.right);
                let tags = self.tags_of(left)?.with(self.tags_of(right)?);
                if !tags.is_within(RESOURCES) {
                    return None;
                }
                self.same(left, right, comparison.if_same == is_true)?;
            }
            Condition::Integer {
                slot,
                comparison,
                bound,
                ..
            } => self.integer(*slot, *comparison, *bound, is_true)?,
            _ => return None,
        }
        Some(())
    }

    fn add_all(&mut self, conditions: &[Condition], is_true: bool) -> Option<()> {
        conditions
            .iter()
            .try_for_each(|condition| self.add(condition, is_true))
    }

    /// What a column may hold: no more than stored terms.
    fn tags_of(&self, slot: Slot) -> Option<TagSet> {
        Some((self.tags)(slot)).filter(|tags| tags.is_within(TagSet::STORED))
    }

    fn within(
        &mut self,
        slot: Slot,
        (first, last): (VertexId, VertexId),
        is_in: bool,
    ) -> Option<()> {
        self.tags_of(slot)?;
        if !is_in && first > last || !first.is_stored() && first == last {
            // No column has a term that is stored nowhere.
            self.decided(slot, !is_in);
            return Some(());
        }
        self.conditions.push(IdCondition::Within {
            slot,
            first,
            last,
            is_in,
        });
        Some(())
    }

    /// What holds of all rows, or of none.
    fn decided(&mut self, slot: Slot, holds: bool) {
        if !holds {
            self.conditions.push(IdCondition::Within {
                slot,
                first: VertexId::UNBOUND,
                last: VertexId::new(Tag::Iri, 0),
                is_in: true,
            });
        }
    }

    fn same(&mut self, left: Slot, right: Slot, are_same: bool) -> Option<()> {
        self.tags_of(left)?;
        self.tags_of(right)?;
        self.conditions.push(IdCondition::Same {
            left,
            right,
            are_same,
        });
        Some(())
    }

    fn kind(&mut self, slot: Slot, kind: Kind, is_true: bool) -> Option<()> {
        let tags = self.tags_of(slot)?;
        let of_tag = |tag: Tag| (TagSet::of(&[tag]), all_of(tag, tag), is_true);
        let triples = TagSet::of(&[Tag::TripleTerm]);
        let (own, ids, is_in) = match kind {
            Kind::Iri => of_tag(Tag::Iri),
            Kind::Blank => of_tag(Tag::Blank),
            Kind::Triple => of_tag(Tag::TripleTerm),
            // All that is no resource and no triple term.
            Kind::Literal if !tags.meets(triples) => {
                let literals = TagSet(TagSet::STORED.0 & !RESOURCES.0);
                (literals, all_of(Tag::Iri, Tag::Blank), !is_true)
            }
            Kind::Literal | Kind::Tagged | Kind::Directed => return None,
        };
        if tags.is_within(own) || !tags.meets(own) {
            self.decided(slot, tags.meets(own) == is_true);
            return Some(());
        }
        self.within(slot, ids, is_in)
    }

    fn integer(
        &mut self,
        slot: Slot,
        comparison: Comparison,
        bound: VertexId,
        is_true: bool,
    ) -> Option<()> {
        let tags = self.tags_of(slot)?;
        // An order of anything else than numbers is an error: neither it nor its negation keeps a row, and no range of integers does.
        if !tags.is_within(INTEGERS.with(RESOURCES)) {
            return None;
        }
        let (least, most) = all_of(Tag::Integer, Tag::Integer);
        let next = |by: i64| VertexId::from_bits(bound.bits().wrapping_add_signed(by));
        let comparison = if is_true {
            comparison
        } else {
            opposite(comparison)
        };
        match comparison {
            Comparison::Equal => self.within(slot, (bound, bound), true),
            Comparison::NotEqual => self.within(slot, (bound, bound), false),
            Comparison::Less => self.within(slot, (least, next(-1)), true),
            Comparison::LessOrEqual => self.within(slot, (least, bound), true),
            Comparison::Greater => self.within(slot, (next(1), most), true),
            Comparison::GreaterOrEqual => self.within(slot, (bound, most), true),
        }
    }
}

/// The first id of one tag and the last of another.
fn all_of(first: Tag, last: Tag) -> (VertexId, VertexId) {
    (
        VertexId::new(first, 0),
        VertexId::new(last, VertexId::PAYLOAD_MAX),
    )
}

fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}

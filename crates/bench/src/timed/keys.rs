//! The keys of a segment: from an id to its ordinal, and back.
//!
//! Invariant: ids ascend, and the ordinal of an id is its place among them.
//!
//! Keys that lie near each other are rank blocks: for each 64 ids a word of members and how many came before, so a lookup is
//! one cache line, as in the store's own index. Keys that lie far apart are a sorted column.

/// Keys in rank blocks take at most so many ids for each key.
const IDS_PER_KEY_MAX: u64 = 32;

/// Which of 64 ids are keys, and how many keys come before them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    members: u64,
    before: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Keys {
    Ranked { first: u64, blocks: Vec<Block> },
    Sorted(Vec<u64>),
}

impl Keys {
    /// From ids that ascend.
    pub(super) fn of(ids: Vec<u64>) -> Keys {
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
            return Keys::Sorted(ids);
        };
        if (last - first) / IDS_PER_KEY_MAX > ids.len() as u64 {
            return Keys::Sorted(ids);
        }
        let empty = Block {
            members: 0,
            before: 0,
        };
        let mut blocks = vec![empty; ((last - first) / 64 + 1) as usize];
        for id in &ids {
            blocks[((id - first) / 64) as usize].members |= 1 << ((id - first) % 64);
        }
        let mut before = 0;
        for block in &mut blocks {
            block.before = before;
            before += block.members.count_ones();
        }
        Keys::Ranked { first, blocks }
    }

    #[inline]
    pub(super) fn ordinal(&self, id: u64) -> Option<usize> {
        match self {
            Keys::Sorted(ids) => ids.binary_search(&id).ok(),
            Keys::Ranked { first, blocks } => {
                let place = id.checked_sub(*first)?;
                let block = blocks.get(usize::try_from(place / 64).ok()?)?;
                let bit = 1 << (place % 64);
                let is_member = block.members & bit != 0;
                is_member
                    .then(|| (block.before + (block.members & (bit - 1)).count_ones()) as usize)
            }
        }
    }

    /// The id with this ordinal; there is one.
    pub(super) fn id(&self, ordinal: usize) -> u64 {
        match self {
            Keys::Sorted(ids) => ids[ordinal],
            Keys::Ranked { first, blocks } => {
                let at = blocks.partition_point(|block| block.before as usize <= ordinal) - 1;
                let mut members = blocks[at].members;
                for _ in blocks[at].before as usize..ordinal {
                    members &= members - 1;
                }
                first + at as u64 * 64 + u64::from(members.trailing_zeros())
            }
        }
    }

    /// All of them, ascending.
    pub(super) fn ids(&self) -> Vec<u64> {
        match self {
            Keys::Sorted(ids) => ids.clone(),
            Keys::Ranked { first, blocks } => {
                let mut ids = Vec::new();
                for (start, block) in (*first..).step_by(64).zip(blocks) {
                    let mut members = block.members;
                    while members != 0 {
                        ids.push(start + u64::from(members.trailing_zeros()));
                        members &= members - 1;
                    }
                }
                ids
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Keys::Sorted(ids) => size_of_val(&ids[..]),
            Keys::Ranked { blocks, .. } => size_of_val(&blocks[..]),
        }
    }
}

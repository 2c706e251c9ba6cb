// The first column by several sets of ids at once: what is in all of them.
//
//   ?x a :UndergraduateStudent   0110 1110 0111 ...   a word of 64 ids of the first set
//   ?x :undergraduateDegreeFrom  0000 0001 0000 ...   the same ids of the others
//                                ---- ---- ----       few rows are left to be written, and no lookup was made for the others
//
// A strip is a range of the first set's ordinals, as that of `walk_seed`; rows come in no order. Words of one set lie beside each
// other, so all is read in lines; a set that has the ids in another form than bits is asked id by id.
#include "block.h"
#include "lookup.h"

// Sets beside the first, at most.
static const u32 SETS = 4;

// Makes what all sets have of a strip of the first a column.
struct Meet {
    Index index;
    u64 begin, end;
    // Of the column, to be read by the first step.
    u64 level;
    // 0: the ids are only counted.
    u64 out;
    // What is taken away from an id for a cell of 4 bytes; cells of 8 bytes where `wide`.
    u64 base;
    u32 wide;
    u32 sets;
    Index set[SETS];
};

// A word of members by its number in a chunk of rank blocks, which have seven each.
DEVICE u64 word_of(const u64* blocks, u64 word) { return load(blocks + word / 7 * 8 + 1 + word % 7); }

// Which of the ids from `id` on, those with a bit in `asked`, are keys: their bits.
DEVICE u64 keys_among(const Index& index, u64 id, u64 asked) {
    const Chunk& chunk = index.first;
    if (index.count == 1 && (chunk.at & 7) == DENSE) {
        const u64* blocks = reinterpret_cast<const u64*>(index.data + (chunk.at & ~7ull));
        if (id > chunk.last) return 0;
        if (id < chunk.first) {
            u64 before = chunk.first - id;
            return before < 64 ? asked & word_of(blocks, 0) << before : 0;
        }
        u64 distance = id - chunk.first, words = ((chunk.last - chunk.first) / 448 + 1) * 7;
        u64 word = distance / 64;
        u32 bit = u32(distance % 64);
        u64 found = word_of(blocks, word) >> bit;
        if (bit && word + 1 < words) found |= word_of(blocks, word + 1) << (64 - bit);
        return asked & found;
    }
    u64 found = 0;
    for (u64 left = asked; left; left &= left - 1)
        if (ordinal_of(index, id + first_member(left)) != ABSENT) found |= left & (~left + 1);
    return found;
}

// What a thread has of the first set: ids from `id` on.
struct Some {
    u64 id;
    u64 members;
};

// The members of a word of rank blocks that are in the strip. The chunk's keys have the ordinals up to `end`.
DEVICE Some some_of_word(const Meet& meet, const Chunk& chunk, u64 end, u64 word) {
    const u64* blocks = reinterpret_cast<const u64*>(meet.index.data + (chunk.at & ~7ull));
    Some some = {chunk.first + word * 64, word_of(blocks, word)};
    if (some.members == 0) return some;
    // Most chunks are in the strip as a whole.
    if (chunk.ordinal >= meet.begin && end <= meet.end) return some;
    u64 ordinal = load(blocks + word / 7 * 8) & ((1ull << 46) - 1);
    for (u64 before = word / 7 * 7; before < word; before++) ordinal += members(word_of(blocks, before));
    for (u64 left = some.members; left; left &= left - 1, ordinal++)
        if (ordinal < meet.begin || ordinal >= meet.end) some.members &= ~(left & (~left + 1));
    return some;
}

// The key of a chunk of another form at this place of it, where it is in the strip.
DEVICE Some some_of_list(const Meet& meet, const Chunk& chunk, u64 at) {
    u64 data = meet.index.data + (chunk.at & ~7ull), id;
    switch (chunk.at & 7) {
        case SPARSE: id = (chunk.first & ~0xffffull) | load(reinterpret_cast<const u16*>(data) + at); break;
        case NEAR: id = chunk.first + load(reinterpret_cast<const u32*>(data) + at); break;
        default: id = load(reinterpret_cast<const u64*>(data) + at); break;
    }
    u64 ordinal = chunk.ordinal + at;
    return {id, ordinal >= meet.begin && ordinal < meet.end};
}

// Writes what is left of a round of the block's threads.
DEVICE void put_some(const Meet& meet, Some some, u64* scratch, u64* place) {
    u64 total;
    u64 before = sum_before(members(some.members), scratch, total);
    if (thread_of_block() == 0 && total != 0) *place = add_at(&reinterpret_cast<Level*>(meet.level)->rows, total);
    barrier();
    if (total == 0 || meet.out == 0) return;
    u64 at = *place + before;
    for (u64 left = some.members; left; left &= left - 1, at++) {
        u64 id = some.id + first_member(left);
        if (meet.wide)
            reinterpret_cast<u64*>(meet.out)[at] = id;
        else
            reinterpret_cast<u32*>(meet.out)[at] = u32(id - meet.base);
    }
}

// A round takes BLOCK words or keys of a chunk; rounds go to blocks in turn.
CROWDED(5) walk_meet(u64 arguments) {
    SHARED Meet meet;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(meet, arguments);
    for (u32 number = 0; number < meet.index.count; number++) {
        Chunk chunk = chunk_at(meet.index, number);
        u64 end = keys_until(meet.index, number);
        if (end <= meet.begin || chunk.ordinal >= meet.end) continue;
        bool is_dense = (chunk.at & 7) == DENSE;
        u64 items = is_dense ? ((chunk.last - chunk.first) / 448 + 1) * 7 : end - chunk.ordinal;
        for (u64 begun = u64(block_of_grid()) * BLOCK; begun < items; begun += u64(blocks()) * BLOCK) {
            u64 item = begun + thread_of_block();
            Some some = {0, 0};
            if (item < items) some = is_dense ? some_of_word(meet, chunk, end, item) : some_of_list(meet, chunk, item);
            for (u32 set = 0; set < meet.sets && some.members; set++)
                some.members = keys_among(meet.set[set], some.id, some.members);
            put_some(meet, some, scratch, &place);
        }
    }
}

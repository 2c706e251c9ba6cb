// Equal rows of the last table become one, and how many they were: what counts rows by groups, or wants each of them once,
// needs no more, and what crosses the link are groups.
//
//   rows    a b a a c        slots   . b1 . a3 . . c1        rows    b a c
//                                                            counts  1 3 1
//
// A slot is a word: 1 + a row that stands for its equals, and above it their number. Rows are compared where they are, so
// a slot is as long for twelve columns as for one. Each block has slots of its own before those of all: where a few groups
// have most rows, whoever counts would wait for one place of memory. Rows and slots lie in different halves of the tables'
// memory, rows that come out behind the slots.
#include "walk.h"

// Equal rows of a table, as they become the next.
struct Collapse {
    // Addresses of the input's and the output's level, and of the walk's outcome.
    u64 input, output, outcome;
    // Slots, a power of two less one.
    u64 slots, mask;
    // Rows that may come out.
    u64 capacity;
    // Where their numbers go, 4 bytes each; 0: nobody asks.
    u64 counts;
    u32 columns, number;
    Column in[COLUMNS];
    u64 out[COLUMNS];
};

// Slots of a block, and places of a row there and among those of all.
static const u32 OWN = 1024;
static const u32 OWN_PLACES = 4;
static const u32 PLACES = 64;

DEVICE u64 hash_of(const Collapse& collapse, u64 row) {
    u64 sum = 0x243f6a8885a308d3ull;
    for (u32 column = 0; column < collapse.columns; column++) sum = folded(sum, id_at(collapse.in[column], row));
    return spread(sum);
}

DEVICE bool are_equal(const Collapse& collapse, u64 left, u64 right) {
    for (u32 column = 0; column < collapse.columns; column++)
        if (id_at(collapse.in[column], left) != id_at(collapse.in[column], right)) return false;
    return true;
}

// Counts rows that are equal to this one, from a slot on; false where there is none for them among so many.
DEVICE bool count_rows(const Collapse& collapse, u64* slots, u64 mask, u64 slot, u32 places, u64 row, u64 count) {
    for (u32 place = 0; place < places; place++, slot++) {
        u64* own = slots + (slot & mask);
        u64 found = peek_at(own);
        if (found == 0) found = exchange_at(own, 0, count << 32 | (row + 1));
        if (found == 0) return true;
        if (!are_equal(collapse, u32(found) - 1, row)) continue;
        add_at(own, count << 32);
        return true;
    }
    return false;
}

// The same among the slots of all; false, and said, where there are too few.
DEVICE bool count_for_all(const Collapse& collapse, u64 row, u64 hash, u64 count) {
    u64* slots = reinterpret_cast<u64*>(collapse.slots);
    if (count_rows(collapse, slots, collapse.mask, hash >> 20, PLACES, row, count)) return true;
    raise_at(&reinterpret_cast<Outcome*>(collapse.outcome)->overflow, collapse.number + 1);
    return false;
}

// Empties the slots.
KERNEL collapse_clear(u64 arguments) {
    SHARED Collapse collapse;
    take(collapse, arguments);
    u64 thread = u64(block_of_grid()) * threads() + thread_of_block(), all = u64(blocks()) * threads();
    u64* slots = reinterpret_cast<u64*>(collapse.slots);
    for (u64 slot = thread; slot <= collapse.mask; slot += all) slots[slot] = 0;
}

// How much of the input there is to take: nothing, where an earlier step had no room. One thread looks for its block.
DEVICE u64 taken_of(const Collapse& collapse, u64 all, u64* shared) {
    if (thread_of_block() == 0) *shared = reinterpret_cast<Outcome*>(collapse.outcome)->overflow ? 0 : all;
    barrier();
    return *shared;
}

// Counts each row at its slot.
CROWDED(5) collapse_rows(u64 arguments) {
    SHARED Collapse collapse;
    SHARED u64 own[OWN];
    SHARED u64 place;
    take(collapse, arguments);
    for (u32 slot = thread_of_block(); slot < OWN; slot += threads()) own[slot] = 0;
    Level* level = reinterpret_cast<Level*>(collapse.input);
    Tickets tickets = tickets_of(level);
    u64 rows = taken_of(collapse, level->rows, &place), tile;
    u32 size = tile_rows(rows, BLOCK * ROUND);
    bool has_room = true;
    while (next_tile(tickets, rows, size, &place, tile)) {
        u64 end = tile + size < rows ? tile + size : rows;
        for (u64 row = tile + thread_of_block(); row < end && has_room; row += threads()) {
            u64 hash = hash_of(collapse, row);
            if (!count_rows(collapse, own, OWN - 1, hash >> 40, OWN_PLACES, row, 1))
                has_room = count_for_all(collapse, row, hash, 1);
        }
    }
    barrier();
    for (u32 slot = thread_of_block(); slot < OWN && has_room; slot += threads()) {
        if (own[slot] == 0) continue;
        u64 row = u32(own[slot]) - 1;
        has_room = count_for_all(collapse, row, hash_of(collapse, row), own[slot] >> 32);
    }
}

// Writes the rows that stand for their equals.
CROWDED(5) collapse_out(u64 arguments) {
    SHARED Collapse collapse;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(collapse, arguments);
    u64 slots = taken_of(collapse, collapse.mask + 1, &place);
    for (u64 begun = u64(block_of_grid()) * BLOCK; begun < slots; begun += u64(blocks()) * BLOCK) {
        u64 slot = begun + thread_of_block();
        u64 found = slot < slots ? reinterpret_cast<const u64*>(collapse.slots)[slot] : 0;
        u64 total;
        u64 before = sum_before(found != 0, scratch, total);
        if (thread_of_block() == 0 && total != 0)
            place = add_at(&reinterpret_cast<Level*>(collapse.output)->rows, total);
        barrier();
        if (found == 0) continue;
        u64 at = place + before;
        if (at >= collapse.capacity) {
            raise_at(&reinterpret_cast<Outcome*>(collapse.outcome)->overflow, collapse.number + 1);
            continue;
        }
        for (u32 column = 0; column < collapse.columns; column++) {
            const Column& from = collapse.in[column];
            if (collapse.out[column]) put_cell(collapse.out[column], from.wide, at, from, u32(found) - 1, Resident());
        }
        if (collapse.counts) reinterpret_cast<u32*>(collapse.counts)[at] = u32(found >> 32);
    }
}

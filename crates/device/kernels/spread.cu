// Steps whose predicate is not known: which predicates has a vertex, and what are its neighbours by the predicate of its row?
//
// What is asked is one of several segments, each a part with the predicate as an id. A vertex has a predicate where it is a key of
// the part's index, so signatures are not needed here; there are as many questions as rows times parts. Rows come in no order.
#include "block.h"
#include "lookup.h"

// One of the segments that may be asked.
struct Part {
    u64 predicate;
    Segment segment;
};

// Makes of each row one for each predicate of a vertex, or for each neighbour by the row's predicate, or keeps it where one of these
// neighbours is sought.
struct Spread {
    // Addresses of the input's and the output's level, and of the walk's outcome.
    u64 input, output, outcome;
    u64 capacity;
    // The parts, ascending by predicates.
    u64 parts;
    u32 count;
    u32 number;
    u32 columns;
    // The column of the vertex; COLUMNS + 1: it is the constant.
    u32 from;
    // The column of the predicate.
    u32 by;
    // What is looked for among the neighbours, as `from` is.
    u32 right;
    u64 constant, sought;
    // Where the new column's ids go, 0: nowhere.
    u64 made;
    Column in[COLUMNS];
    // Where each column goes on, 0: it does not.
    u64 out[COLUMNS];
};

DEVICE u64 vertex_of(const Spread& spread, u64 row) {
    return spread.from == COLUMNS + 1 ? spread.constant : id_at(spread.in[spread.from], row);
}

// The number of rows to take: none, where an earlier step had no room. One thread looks for all of its block.
DEVICE u64 rows_of_input(const Spread& spread, u64* shared) {
    if (thread_of_block() == 0) {
        u64 overflow = reinterpret_cast<Outcome*>(spread.outcome)->overflow;
        *shared = overflow ? 0 : reinterpret_cast<Level*>(spread.input)->rows;
    }
    barrier();
    u64 rows = *shared;
    barrier();
    return rows;
}

// Takes room for the block's rows, from `*place` on; false where there is none.
DEVICE bool take_room(const Spread& spread, u64 total, u64* place) {
    if (thread_of_block() == 0 && total != 0) *place = add_at(&reinterpret_cast<Level*>(spread.output)->rows, total);
    barrier();
    if (total == 0 || *place + total <= spread.capacity) return true;
    if (thread_of_block() == 0) raise_at(&reinterpret_cast<Outcome*>(spread.outcome)->overflow, spread.number + 1);
    return false;
}

DEVICE void put_row(const Spread& spread, u64 at, u64 row, u64 made) {
    for (u32 column = 0; column < spread.columns; column++) {
        if (spread.out[column] == 0) continue;
        u64 cells = spread.in[column].cells;
        if (spread.in[column].wide)
            reinterpret_cast<u64*>(spread.out[column])[at] = load(reinterpret_cast<const u64*>(cells) + row);
        else
            reinterpret_cast<u32*>(spread.out[column])[at] = load(reinterpret_cast<const u32*>(cells) + row);
    }
    if (spread.made) reinterpret_cast<u64*>(spread.made)[at] = made;
}

// One row out for each predicate that the vertex has: a thread for each row and part.
CROWDED(5) walk_predicates(u64 arguments) {
    SHARED Spread spread;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(spread, arguments);
    const Part* parts = reinterpret_cast<const Part*>(spread.parts);
    u64 items = rows_of_input(spread, &place) * spread.count;
    for (u64 begun = u64(block_of_grid()) * BLOCK; begun < items; begun += u64(blocks()) * BLOCK) {
        u64 item = begun + thread_of_block();
        u64 row = item / spread.count;
        const Part& part = parts[item % spread.count];
        bool has = item < items && ordinal_of(part.segment.index, vertex_of(spread, row)) != ABSENT;
        u64 total;
        u64 before = sum_before(has, scratch, total);
        if (!take_room(spread, total, &place)) return;
        if (has) put_row(spread, place + before, row, part.predicate);
    }
}

// The number of the part with this predicate, or `count`.
DEVICE u32 part_of(const Spread& spread, u64 predicate) {
    const Part* parts = reinterpret_cast<const Part*>(spread.parts);
    u32 low = 0, high = spread.count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (parts[middle].predicate < predicate)
            low = middle + 1;
        else
            high = middle;
    }
    return low < spread.count && parts[low].predicate == predicate ? low : spread.count;
}

// Keeps the rows whose edge exists by the row's predicate: a thread for each row.
CROWDED(5) walk_check_by(u64 arguments) {
    SHARED Spread spread;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(spread, arguments);
    const Part* parts = reinterpret_cast<const Part*>(spread.parts);
    u64 rows = rows_of_input(spread, &place);
    for (u64 tile = u64(block_of_grid()) * BLOCK; tile < rows; tile += u64(blocks()) * BLOCK) {
        u64 row = tile + thread_of_block();
        u32 part = row < rows ? part_of(spread, id_at(spread.in[spread.by], row)) : spread.count;
        bool holds = false;
        if (part < spread.count) {
            u64 sought = spread.right == COLUMNS + 1 ? spread.sought : id_at(spread.in[spread.right], row);
            Rows list = rows_of(parts[part].segment, vertex_of(spread, row));
            holds = row_among(parts[part].segment.neighbours, list, sought) != ABSENT;
        }
        u64 total;
        u64 before = sum_before(holds, scratch, total);
        if (!take_room(spread, total, &place)) return;
        if (holds) put_row(spread, place + before, row, 0);
    }
}

// One row out for each neighbour by the row's predicate: a thread looks a row's list up, then all threads share the neighbours.
CROWDED(5) walk_expand_by(u64 arguments) {
    SHARED Spread spread;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    // Neighbours up to the end of each row's list; what makes the number of one its row of the segment; the part.
    SHARED u64 ends[BLOCK], starts[BLOCK];
    SHARED u32 of_part[BLOCK];
    take(spread, arguments);
    const Part* parts = reinterpret_cast<const Part*>(spread.parts);
    u64 rows = rows_of_input(spread, &place);
    for (u64 tile = u64(block_of_grid()) * BLOCK; tile < rows; tile += u64(blocks()) * BLOCK) {
        u64 row = tile + thread_of_block();
        u32 part = row < rows ? part_of(spread, id_at(spread.in[spread.by], row)) : spread.count;
        Rows list = {0, 0};
        if (part < spread.count) list = rows_of(parts[part].segment, vertex_of(spread, row));
        u64 total;
        u64 before = sum_before(list.to - list.from, scratch, total);
        ends[thread_of_block()] = before + list.to - list.from;
        starts[thread_of_block()] = list.from - before;
        of_part[thread_of_block()] = part;
        if (!take_room(spread, total, &place)) return;
        for (u64 number = thread_of_block(); number < total; number += BLOCK) {
            u32 low = 0, high = BLOCK - 1;
            while (low < high) {
                u32 middle = (low + high) / 2;
                if (ends[middle] <= number)
                    low = middle + 1;
                else
                    high = middle;
            }
            const Column& neighbours = parts[of_part[low]].segment.neighbours;
            put_row(spread, place + number, tile + low, id_at(neighbours, starts[low] + number));
        }
    }
}

// What the kernels of a walk do: a table goes in, a step takes it, a table comes out.
//
// Counts stay on the device: a step reads how many rows there are from the level before, takes tiles of them by ticket, and
// counts its output with one addition a round of a block. A row that does not fit is counted and not written, and the walk's
// outcome says at which step; whoever asked takes a smaller strip then. Rows come in no order.
//
// A step copies the columns that later steps read (4 bytes a cell where its column has codes) beside the new one. Its checks are
// made before anything is written (Wukong+G's steps write first: five kernels, each over whole tables).
#pragma once
#include "block.h"
#include "lookup.h"

// Rows of a thread in a tile of an expansion, at most.
static const u32 LISTS = 2;
// Lists together so long are clipped before they are walked; a flag beside the length of a list.
static const u64 CLIPPED = 16;
static const u32 SWAPPED = 1u << 31;
// Candidates of a thread in a round: as many loads are under way at once.
static const u32 ROUND = 4;

template <typename Pages> DEVICE void put_cell(u64 cells, u32 wide, u64 row, const Column& column, u64 from, Pages pages) {
    if (wide)
        reinterpret_cast<u64*>(cells)[row] = load_of(pages, reinterpret_cast<const u64*>(column.cells) + from);
    else
        reinterpret_cast<u32*>(cells)[row] = load_of(pages, reinterpret_cast<const u32*>(column.cells) + from);
}

DEVICE u64 value_of(const Step& step, const Check& check, u32 which, u64 row, u64 made) {
    if (which == COLUMNS) return made;
    if (which == COLUMNS + 1) return check.constant;
    return id_at(step.in[which], row);
}

template <typename Pages> DEVICE bool passes(const Step& step, u64 row, u64 made, Pages pages) {
    bool result = true;
    for (u32 at = 0; at < step.checks; at++) {
        if (at + 1 == step.partner) continue;
        const Check& check = step.check[at];
        if (!result && check.joins == JOINS_AND) return false;
        if (result == (check.joins == JOINS_OR)) continue;
        u64 left = value_of(step, check, check.left, row, made);
        bool holds;
        if (check.kind == CHECK_SAME) {
            holds = left == value_of(step, check, check.right, row, made);
        } else if (check.kind == CHECK_KEY) {
            holds = ordinal_of(check.segment.index, left, pages) != ABSENT;
        } else if (check.kind == CHECK_ROWS) {
            Rows rows = {check.from, check.to};
            holds = row_among(check.segment.neighbours, rows, left, pages) != ABSENT;
        } else if (check.kind == CHECK_WITHIN) {
            holds = left >= check.from && left <= check.to;
        } else if (check.kind == CHECK_OUTSIDE) {
            holds = left < check.from || left > check.to;
        } else if (check.kind == CHECK_DIFFERENT) {
            holds = left != value_of(step, check, check.right, row, made);
        } else {
            u64 right = value_of(step, check, check.right, row, made);
            Rows rows = rows_of(check.segment, left, pages);
            holds = row_among(check.segment.neighbours, rows, right, pages) != ABSENT;
        }
        result = holds != (check.joins == JOINS_UNLESS);
    }
    return result;
}

// How many rows the step has to take: none, where an earlier one had no room. One thread looks for all of its block: another
// block of this step may find that there is no room at this moment, and threads that disagree would not meet at a barrier.
DEVICE u64 rows_to_take(const Step& step, u64* shared) {
    if (thread_of_block() == 0) {
        u64 overflow = reinterpret_cast<Outcome*>(step.outcome)->overflow;
        *shared = overflow ? 0 : reinterpret_cast<Level*>(step.input)->rows;
    }
    barrier();
    return *shared;
}

// Which tiles a block takes. The next one is asked for while this one is walked.
struct Tickets {
    Level* level;
    u64 ahead;
};

DEVICE Tickets tickets_of(Level* level) {
    Tickets tickets = {level, 0};
    if (thread_of_block() == 0) tickets.ahead = add_at(&level->tiles, 1);
    return tickets;
}

// Takes the next tile of so many rows for the block; false where none is left.
DEVICE bool next_tile(Tickets& tickets, u64 rows, u32 size, u64* shared, u64& tile) {
    barrier();
    if (thread_of_block() == 0) *shared = tickets.ahead * size;
    barrier();
    tile = *shared;
    if (tile >= rows) return false;
    if (thread_of_block() == 0) tickets.ahead = add_at(&tickets.level->tiles, 1);
    return true;
}

// Rows of a tile: so many that every block gets one, whole warps of them, and not more than a block can take.
DEVICE u32 tile_rows(u64 rows, u32 most) {
    u64 share = (rows + blocks() - 1) / blocks();
    share = (share + WARP - 1) / WARP * WARP;
    return share < WARP ? WARP : share > most ? most : u32(share);
}

// A round's candidates: `kept` has a bit for each of the thread's candidates.
struct Candidates {
    u64 row[ROUND];
    // Row of the segment.
    u64 edge[ROUND];
    u32 kept;
};

// False where there is no room: whoever goes on writes nothing any more. Where rows without a neighbour are kept, an edge may be
// `ABSENT`: the cell is unbound then, whose id has the same bits.
template <typename Pages, bool KEEPS = false>
DEVICE bool write_round(const Step& step, const Candidates& round, u64* scratch, u64* place, Pages pages) {
    u64 total;
    u64 before = sum_before(members(round.kept), scratch, total);
    if (thread_of_block() == 0 && total != 0) *place = add_at(&reinterpret_cast<Level*>(step.output)->rows, total);
    barrier();
    if (total == 0) return true;
    u64 at = *place + before;
    if (*place + total > step.capacity) {
        if (thread_of_block() == 0) raise_at(&reinterpret_cast<Outcome*>(step.outcome)->overflow, step.number + 1);
        return false;
    }
    for (u32 one = 0; one < ROUND; one++) {
        if ((round.kept >> one & 1) == 0) continue;
        for (u32 column = 0; column < step.columns; column++)
            if (step.out[column])
                put_cell(step.out[column], step.in[column].wide, at, step.in[column], round.row[one], Resident());
        const Column& neighbours = step.segment.neighbours;
        if (KEEPS && round.edge[one] == ABSENT) {
            if (step.made) reinterpret_cast<u64*>(step.made)[at] = ABSENT;
        } else if (step.widens)
            reinterpret_cast<u64*>(step.made)[at] = id_at(neighbours, round.edge[one], pages);
        else if (step.made)
            put_cell(step.made, neighbours.wide, at, neighbours, round.edge[one], pages);
        at++;
    }
    return true;
}

// The lists of a tile's rows. Where a step has a partner, a row's list is the shorter of the two, and what it gives is looked for
// in the other.
struct Lists {
    // Candidates up to the end of each list.
    u64 ends[BLOCK * LISTS];
    // So that a candidate's number plus this is its row of the segment.
    u64 starts[BLOCK * LISTS];
    u64 others[BLOCK * LISTS];
    u32 lengths[BLOCK * LISTS];
};

// Leaves a list to all blocks together; false where there is no place for it.
DEVICE bool is_left(const Step& step, u64 row, Rows list) {
    u64 place = add_at(&reinterpret_cast<Level*>(step.hub_level)->rows, 1);
    if (place >= HUBS) return false;
    reinterpret_cast<Hub*>(step.hubs)[place] = {row, list.from, list.to};
    return true;
}

// The list of a row, and puts its other list down. A row without one that is kept has a list of one edge, which is `ABSENT`.
template <typename Pages, bool KEEPS> DEVICE Rows list_of(const Step& step, Lists& lists, u32 place, u64 row, Pages pages) {
    Rows found;
    if (step.from == COLUMNS + 1)
        found = {step.first, step.last};
    else
        found = rows_of(step.segment, id_at(step.in[step.from], row), pages);
    if (KEEPS && found.from == found.to) return {ABSENT, ABSENT + 1};
    if (step.hubs && found.to - found.from > step.long_list && is_left(step, row, found)) return {0, 0};
    if (step.partner == 0 || found.from == found.to) return found;
    const Check& check = step.check[step.partner - 1];
    Rows other = rows_of(check.segment, id_at(step.in[check.left], row), pages);
    if (other.from == other.to) return other;
    if (found.to - found.from + other.to - other.from > CLIPPED)
        clip(step.segment.neighbours, found, check.segment.neighbours, other, pages);
    bool swaps = other.to - other.from < found.to - found.from;
    Rows rest = swaps ? found : other;
    lists.others[place] = rest.from;
    lists.lengths[place] = u32(rest.to - rest.from) | (swaps ? SWAPPED : 0);
    return swaps ? other : found;
}

// Whether what a candidate makes is in both lists, and passes; `edge` is the row of the step's segment that it comes to.
template <typename Pages, bool KEEPS>
DEVICE bool is_edge(const Step& step, const Lists& lists, u32 place, u64 row, u64 number, u64& edge, Pages pages) {
    edge = lists.starts[place] + number;
    u64 made;
    if (KEEPS && edge == ABSENT) {
        made = ABSENT;
    } else if (step.partner) {
        const Check& check = step.check[step.partner - 1];
        u32 length = lists.lengths[place];
        Rows rest = {lists.others[place], lists.others[place] + (length & ~SWAPPED)};
        bool swapped = (length & SWAPPED) != 0;
        made = id_at(swapped ? check.segment.neighbours : step.segment.neighbours, edge, pages);
        u64 other = row_among(swapped ? step.segment.neighbours : check.segment.neighbours, rest, made, pages);
        if (other == ABSENT) return false;
        if (swapped) edge = other;
    } else {
        made = id_at(step.segment.neighbours, edge, pages);
    }
    return passes(step, row, made, pages);
}

// The place of the list that a candidate is of, among so many.
DEVICE u32 list_at(const Lists& lists, u32 places, u64 number) {
    u32 low = 0, high = places - 1;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (lists.ends[middle] <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Looks the lists of the rows `tile..end` up, so many a thread; gives the number of candidates.
template <typename Pages, bool KEEPS>
DEVICE u64 take_lists(const Step& step, Lists& lists, u32 each, u64 tile, u64 end, u64* scratch, Pages pages) {
    Rows found[LISTS];
    u64 sum = 0, total;
    u32 first = thread_of_block() * each;
    for (u32 one = 0; one < LISTS; one++) {
        found[one] = {0, 0};
        if (one < each && tile + first + one < end) found[one] = list_of<Pages, KEEPS>(step, lists, first + one, tile + first + one, pages);
        sum += found[one].to - found[one].from;
    }
    u64 before = sum_before(sum, scratch, total);
    for (u32 one = 0; one < LISTS; one++) {
        if (one >= each) break;
        lists.starts[first + one] = found[one].from - before;
        before += found[one].to - found[one].from;
        lists.ends[first + one] = before;
    }
    barrier();
    return total;
}

// One row out for each neighbour that passes, where a row has one neighbour or none: nothing is to be shared out among threads.
// `KEEPS`: a row that has none is kept, if it passes with an unbound cell.
template <typename Pages, bool KEEPS = false> DEVICE void expand_one(u64 arguments) {
    SHARED Step step;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(step, arguments);
    Pages pages = pages_at(Pages(), step.pages, step.page_bits);
    Tickets tickets = tickets_of(reinterpret_cast<Level*>(step.tickets));
    u64 rows = rows_to_take(step, &place), tile;
    u32 size = tile_rows(rows, BLOCK * ROUND);
    while (next_tile(tickets, rows, size, &place, tile)) {
        u64 end = tile + size < rows ? tile + size : rows;
        Candidates round;
        round.kept = 0;
        for (u32 one = 0; one < ROUND; one++) {
            u64 row = tile + one * BLOCK + thread_of_block();
            if (row >= end) continue;
            round.row[one] = row;
            round.edge[one] = ordinal_of(step.segment.index, id_at(step.in[step.from], row), pages);
            u64 made = ABSENT;
            if (round.edge[one] != ABSENT)
                made = id_at(step.segment.neighbours, round.edge[one], pages);
            else if (!KEEPS)
                continue;
            if (passes(step, row, made, pages)) round.kept |= 1u << one;
        }
        if (!write_round<Pages, KEEPS>(step, round, scratch, &place, pages)) return;
    }
}

// One row out for each neighbour that passes. `KEEPS`: as above; a step has no partner then.
template <typename Pages, bool KEEPS = false> DEVICE void expand(u64 arguments) {
    SHARED Step step;
    SHARED Lists lists;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(step, arguments);
    Pages pages = pages_at(Pages(), step.pages, step.page_bits);
    u64 rows = rows_to_take(step, &place), tile;
    Tickets tickets = tickets_of(reinterpret_cast<Level*>(step.tickets));
    u32 size = tile_rows(rows, BLOCK * LISTS);
    u32 each = size > BLOCK ? LISTS : 1;
    while (next_tile(tickets, rows, size, &place, tile)) {
        u64 end = tile + size < rows ? tile + size : rows;
        u64 total = take_lists<Pages, KEEPS>(step, lists, each, tile, end, scratch, pages);
        for (u64 begun = 0; begun < total; begun += BLOCK * ROUND) {
            Candidates round;
            round.kept = 0;
            for (u32 one = 0; one < ROUND; one++) {
                u64 number = begun + one * BLOCK + thread_of_block();
                if (number >= total) continue;
                u32 list = list_at(lists, BLOCK * each, number);
                round.row[one] = tile + list;
                if (is_edge<Pages, KEEPS>(step, lists, list, tile + list, number, round.edge[one], pages)) round.kept |= 1u << one;
            }
            bool has_room = write_round<Pages, KEEPS>(step, round, scratch, &place, pages);
            barrier();
            if (!has_room) return;
        }
    }
}

// Candidates of a list that a block takes at once.
static const u64 PIECE = BLOCK * ROUND * 4;

// The lists that were too long for one block, in pieces.
template <typename Pages> DEVICE void expand_hubs(u64 arguments) {
    SHARED Step step;
    SHARED Hub hubs[HUBS];
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(step, arguments);
    Pages pages = pages_at(Pages(), step.pages, step.page_bits);
    Level* level = reinterpret_cast<Level*>(step.hub_level);
    // None, where an earlier step had no room, or this one.
    u64 count = rows_to_take(step, &place) ? level->rows : 0;
    if (count > HUBS) count = HUBS;
    if (thread_of_block() < count) hubs[thread_of_block()] = reinterpret_cast<const Hub*>(step.hubs)[thread_of_block()];
    barrier();
    u64 pieces = 0, piece;
    for (u32 each = 0; each < count; each++) pieces += (hubs[each].to - hubs[each].from + PIECE - 1) / PIECE;
    Tickets tickets = tickets_of(level);
    while (next_tile(tickets, pieces, 1, &place, piece)) {
        u32 each = 0;
        for (;; each++) {
            u64 own = (hubs[each].to - hubs[each].from + PIECE - 1) / PIECE;
            if (piece < own) break;
            piece -= own;
        }
        u64 begun = hubs[each].from + piece * PIECE;
        u64 end = begun + PIECE < hubs[each].to ? begun + PIECE : hubs[each].to;
        for (; begun < end; begun += BLOCK * ROUND) {
            Candidates round;
            round.kept = 0;
            for (u32 one = 0; one < ROUND; one++) {
                round.row[one] = hubs[each].row;
                round.edge[one] = begun + one * BLOCK + thread_of_block();
                if (round.edge[one] >= end) continue;
                u64 made = id_at(step.segment.neighbours, round.edge[one], pages);
                if (passes(step, round.row[one], made, pages)) round.kept |= 1u << one;
            }
            bool has_room = write_round(step, round, scratch, &place, pages);
            barrier();
            if (!has_room) return;
        }
    }
}

// Keeps the rows that pass.
template <typename Pages> DEVICE void filter(u64 arguments) {
    SHARED Step step;
    SHARED u64 scratch[BLOCK / WARP + 1], place;
    take(step, arguments);
    Pages pages = pages_at(Pages(), step.pages, step.page_bits);
    Tickets tickets = tickets_of(reinterpret_cast<Level*>(step.tickets));
    u64 rows = rows_to_take(step, &place), tile;
    u32 size = tile_rows(rows, BLOCK * ROUND);
    while (next_tile(tickets, rows, size, &place, tile)) {
        u64 end = tile + size < rows ? tile + size : rows;
        Candidates round;
        round.kept = 0;
        for (u32 one = 0; one < ROUND; one++) {
            round.row[one] = tile + one * BLOCK + thread_of_block();
            round.edge[one] = 0;
            if (round.row[one] < end && passes(step, round.row[one], 0, pages)) round.kept |= 1u << one;
        }
        if (!write_round(step, round, scratch, &place, pages)) return;
    }
}

// Writes one key of a strip.
DEVICE void put_key(const Seed& seed, u64 ordinal, u64 id) {
    if (ordinal < seed.begin || ordinal >= seed.end) return;
    if (seed.wide)
        reinterpret_cast<u64*>(seed.out)[ordinal - seed.begin] = id;
    else
        reinterpret_cast<u32*>(seed.out)[ordinal - seed.begin] = u32(id - seed.base);
}

// The keys of a dense chunk: a thread for each word of members.
template <typename Pages>
DEVICE void put_dense(const Seed& seed, const Chunk& chunk, u64 thread, u64 all, Pages pages) {
    const u64* blocks = reinterpret_cast<const u64*>(seed.index.data + (chunk.at & ~7ull));
    u64 words = ((chunk.last - chunk.first) / 448 + 1) * 7;
    for (u64 word = thread; word < words; word += all) {
        const u64* block = blocks + word / 7 * 8;
        u32 own = u32(word % 7);
        u64 left = load_of(pages, block + 1 + own);
        if (left == 0) continue;
        u64 ordinal = load_of(pages, block) & ((1ull << 46) - 1);
        for (u32 before = 0; before < own; before++) ordinal += members(load_of(pages, block + 1 + before));
        u64 id = chunk.first + word / 7 * 448 + own * 64;
        for (; left; left &= left - 1) put_key(seed, ordinal++, id + first_member(left));
    }
}

// Makes a strip of an index's keys a column.
template <typename Pages> DEVICE void seed_keys(u64 arguments) {
    SHARED Seed seed;
    take(seed, arguments);
    Pages pages = pages_at(Pages(), seed.pages, seed.page_bits);
    u64 thread = u64(block_of_grid()) * threads() + thread_of_block(), all = u64(blocks()) * threads();
    if (thread == 0) reinterpret_cast<Level*>(seed.level)->rows = seed.end - seed.begin;
    for (u32 place = 0; place < seed.index.count; place++) {
        Chunk chunk = chunk_at(seed.index, place);
        u64 end = keys_until(seed.index, place);
        if (end <= seed.begin || chunk.ordinal >= seed.end) continue;
        u32 kind = chunk.at & 7;
        if (kind == DENSE) {
            put_dense(seed, chunk, thread, all, pages);
            continue;
        }
        u64 data = seed.index.data + (chunk.at & ~7ull);
        for (u64 at = thread; at < end - chunk.ordinal; at += all) {
            u64 id;
            if (kind == SPARSE)
                id = (chunk.first & ~0xffffull) | load_of(pages, reinterpret_cast<const u16*>(data) + at);
            else if (kind == NEAR)
                id = chunk.first + load_of(pages, reinterpret_cast<const u32*>(data) + at);
            else
                id = load_of(pages, reinterpret_cast<const u64*>(data) + at);
            put_key(seed, chunk.ordinal + at, id);
        }
    }
}

// Makes a strip of a segment's rows a column: what lies in one run is read where it is, and this is for what lies in pages.
// `index.data` is where the neighbours begin.
DEVICE void seed_rows(u64 arguments) {
    SHARED Seed seed;
    take(seed, arguments);
    Paged pages = pages_at(Paged(), seed.pages, seed.page_bits);
    u64 thread = u64(block_of_grid()) * threads() + thread_of_block(), all = u64(blocks()) * threads();
    if (thread == 0) reinterpret_cast<Level*>(seed.level)->rows = seed.end - seed.begin;
    Column rows = {seed.index.data, 0, 0, seed.wide, 0};
    for (u64 row = seed.begin + thread; row < seed.end; row += all)
        put_cell(seed.out, seed.wide, row - seed.begin, rows, row, pages);
}

// Makes a strip of two runs of rows a column of 8-byte ids.
template <typename Pages> DEVICE void seed_joined(u64 arguments) {
    SHARED Joined seed;
    take(seed, arguments);
    Pages pages = pages_at(Pages(), seed.pages, seed.page_bits);
    u64 thread = u64(block_of_grid()) * threads() + thread_of_block(), all = u64(blocks()) * threads();
    if (thread == 0) reinterpret_cast<Level*>(seed.level)->rows = seed.end - seed.begin;
    for (u64 each = seed.begin + thread; each < seed.end; each += all) {
        u64 id;
        if (each >= seed.first_rows)
            id = id_at(seed.second, seed.second_row + each - seed.first_rows, pages);
        else if (seed.first.cells)
            id = id_at(seed.first, seed.first_row + each, pages);
        else
            continue;
        reinterpret_cast<u64*>(seed.out)[each - seed.begin] = id;
    }
}

// As `explore::Checksum` folds a row: each id in turn, then once more.
DEVICE u64 folded(u64 sum, u64 id) {
    u64 product = (sum ^ id) * 0x9e3779b97f4a7c15ull;
    return product << 29 | product >> 35;
}

DEVICE u64 spread(u64 value) { return (value ^ (value >> 32)) * 0x9e3779b97f4a7c15ull; }

// Tells the host, once all blocks have come here.
DEVICE void post(const Finish& finish, u64 rows) {
    Outcome* outcome = reinterpret_cast<Outcome*>(finish.outcome);
    fence();
    if (add_at(&outcome->arrived, 1) + 1 != blocks()) return;
    fence();
    volatile Posted* posted = reinterpret_cast<volatile Posted*>(finish.posted);
    posted->overflow = outcome->overflow;
    posted->rows = rows;
    posted->walked = reinterpret_cast<Level*>(finish.walked)->rows;
    posted->checksum = add_at(&outcome->checksum, 0);
    fence_for_host();
    posted->sequence = finish.sequence;
}

// Counts the last level, and sums a number of each row's ids up where it is asked: the order of rows does not matter.
DEVICE void finish_rows(u64 arguments) {
    SHARED Finish finish;
    SHARED u64 scratch[BLOCK / WARP + 1];
    take(finish, arguments);
    u64 rows = reinterpret_cast<Level*>(finish.input)->rows;
    Outcome* outcome = reinterpret_cast<Outcome*>(finish.outcome);
    u64 thread = u64(block_of_grid()) * threads() + thread_of_block(), all = u64(blocks()) * threads();
    u64 sum = 0;
    if (finish.sums && !outcome->overflow)
        for (u64 row = thread; row < rows; row += ROUND * all) {
            u64 of_row[ROUND];
            for (u32 one = 0; one < ROUND; one++) of_row[one] = 0x243f6a8885a308d3ull;
            for (u32 column = 0; column < finish.columns; column++)
                for (u32 one = 0; one < ROUND; one++)
                    if (row + one * all < rows) of_row[one] = folded(of_row[one], id_at(finish.in[column], row + one * all));
            for (u32 one = 0; one < ROUND; one++)
                if (row + one * all < rows) sum += spread(of_row[one]);
        }
    u64 total;
    sum_before(sum, scratch, total);
    if (thread_of_block() != 0) return;
    if (total) add_at(&outcome->checksum, total);
    post(finish, rows);
}

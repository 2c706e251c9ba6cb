// Asks an index and a segment: which ordinal has a key, which rows are those of an ordinal, is an id among rows?
//
// A lookup in rank blocks touches two words of one line; in a list it searches. Which it is is the same for all threads wherever
// an index has one chunk.
#pragma once
#include "layout.h"

// The id of a cell.
DEVICE u64 id_at(const Column& column, u64 row) {
    if (column.wide) return load(reinterpret_cast<const u64*>(column.cells) + row);
    u32 code = load(reinterpret_cast<const u32*>(column.cells) + row);
    if (column.plane_bits == 0) return column.base + code;
    u32 shift = 32 - column.plane_bits;
    return load(reinterpret_cast<const u64*>(column.bases) + (code >> shift)) + (code & ((1u << shift) - 1));
}

template <typename T> DEVICE u64 found_in(const T* list, u64 count, T wanted) {
    u64 low = 0, high = count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (load(list + middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && load(list + low) == wanted ? low : ABSENT;
}

// The ordinal of an id by the rank blocks that begin at `block`: word 0 counts, the seven others are 448 ids.
DEVICE u64 rank_of(const u64* blocks, u64 distance) {
    const u64* block = blocks + distance / 448 * 8;
    u32 bit = u32(distance % 448);
    u32 word = bit / 64;
    u64 own = load(block + 1 + word);
    if ((own >> (bit % 64) & 1) == 0) return ABSENT;
    u64 head = load(block);
    u64 rank = head & ((1ull << 46) - 1);
    u32 from = 0;
    if (word >= 5) {
        rank += head >> 55;
        from = 5;
    } else if (word >= 3) {
        rank += head >> 46 & 511;
        from = 3;
    }
    for (; from < word; from++) rank += members(load(block + 1 + from));
    return rank + members(own & ((1ull << (bit % 64)) - 1));
}

DEVICE Chunk chunk_at(const Index& index, u32 place) {
    const Chunk* chunks = reinterpret_cast<const Chunk*>(index.chunks);
    const u64* words = reinterpret_cast<const u64*>(chunks + place);
    Chunk chunk;
    chunk.first = load(words);
    chunk.last = load(words + 1);
    chunk.at = load(words + 2);
    chunk.ordinal = load(words + 3);
    return chunk;
}

// The number of the chunk that would hold the id: one that begins at or before it, or none.
DEVICE u32 chunk_of(const Index& index, u64 id) {
    if (index.jump) {
        u64 range = (id >> 16) - (index.first.first >> 16);
        return range < index.jumps ? load(reinterpret_cast<const u32*>(index.jump) + range) : ~0u;
    }
    u32 low = 0, high = index.count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (load(reinterpret_cast<const u64*>(index.chunks) + middle * 4) <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

DEVICE u64 keys_until(const Index& index, u32 chunk) {
    return chunk + 1 < index.count ? load(reinterpret_cast<const u64*>(index.chunks) + (chunk + 1) * 4 + 3) : index.keys;
}

// The ordinal of a key, or ABSENT.
DEVICE u64 ordinal_of(const Index& index, u64 id) {
    if (id < index.first.first || index.keys == 0) return ABSENT;
    Chunk chunk = index.first;
    u32 place = 0;
    if (index.count > 1) {
        place = chunk_of(index, id);
        if (place >= index.count) return ABSENT;
        chunk = chunk_at(index, place);
    }
    if (id < chunk.first || id > chunk.last) return ABSENT;
    u64 data = index.data + (chunk.at & ~7ull);
    u64 distance = id - chunk.first;
    if ((chunk.at & 7) == DENSE) {
        u64 rank = rank_of(reinterpret_cast<const u64*>(data), distance);
        return rank;
    }
    u64 count = keys_until(index, place) - chunk.ordinal;
    u64 found;
    switch (chunk.at & 7) {
        case SPARSE: found = found_in(reinterpret_cast<const u16*>(data), count, u16(id)); break;
        case NEAR: found = found_in(reinterpret_cast<const u32*>(data), count, u32(distance)); break;
        default: found = found_in(reinterpret_cast<const u64*>(data), count, id); break;
    }
    return found == ABSENT ? ABSENT : chunk.ordinal + found;
}

DEVICE u64 offset_at(const Segment& segment, u64 ordinal) {
    switch (segment.width) {
        case 0: return load(reinterpret_cast<const u8*>(segment.offsets) + ordinal);
        case 1: return load(reinterpret_cast<const u16*>(segment.offsets) + ordinal);
        case 2: return load(reinterpret_cast<const u32*>(segment.offsets) + ordinal);
        default: return load(reinterpret_cast<const u64*>(segment.offsets) + ordinal);
    }
}

struct Rows {
    u64 from, to;
};

// The rows of a key: none, where it is none.
DEVICE Rows rows_of(const Segment& segment, u64 id) {
    Rows rows = {0, 0};
    u64 ordinal = ordinal_of(segment.index, id);
    if (ordinal == ABSENT) return rows;
    if (segment.functional) {
        rows.from = ordinal;
        rows.to = ordinal + 1;
        return rows;
    }
    rows.from = offset_at(segment, ordinal);
    rows.to = offset_at(segment, ordinal + 1);
    return rows;
}

// One step of a search: keeps the half in which the first row stands whose id is not less.
DEVICE void halve(const Column& column, Rows& rows, u64 id) {
    if (rows.from >= rows.to) return;
    u64 middle = (rows.from + rows.to) / 2;
    if (id_at(column, middle) < id)
        rows.from = middle + 1;
    else
        rows.to = middle;
}

// The first of these rows, which ascend, whose id is not less.
DEVICE u64 row_from(const Column& column, Rows rows, u64 id) {
    while (rows.from < rows.to) halve(column, rows, id);
    return rows.from;
}

// The row of these that has the id, or ABSENT.
DEVICE u64 row_among(const Column& column, Rows rows, u64 id) {
    u64 row = row_from(column, rows, id);
    return row < rows.to && id_at(column, row) == id ? row : ABSENT;
}

// Cuts two lists to the ids that both can have. What is described together has neighbouring ids, so little is left of most
// pairs. The four searches go side by side, so that as many loads are under way at once.
DEVICE void clip(const Column& left, Rows& a, const Column& right, Rows& b) {
    u64 low = id_at(left, a.from), other_low = id_at(right, b.from);
    u64 high = id_at(left, a.to - 1), other_high = id_at(right, b.to - 1);
    if (low < other_low) low = other_low;
    if (high > other_high) high = other_high;
    if (low > high) {
        a.to = a.from;
        b.to = b.from;
        return;
    }
    // The first rows whose ids are not less than `low`, and those that are greater than `high`.
    Rows begin_a = a, end_a = a, begin_b = b, end_b = b;
    while (begin_a.from < begin_a.to || end_a.from < end_a.to || begin_b.from < begin_b.to || end_b.from < end_b.to) {
        halve(left, begin_a, low);
        halve(left, end_a, high + 1);
        halve(right, begin_b, low);
        halve(right, end_b, high + 1);
    }
    a.from = begin_a.from;
    a.to = end_a.from;
    b.from = begin_b.from;
    b.to = end_b.from;
}

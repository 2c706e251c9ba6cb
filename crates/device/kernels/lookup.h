// Asks an index and a segment: which ordinal has a key, which rows are those of an ordinal, is an id among rows?
//
// A lookup in rank blocks touches two words of one line; in a list it searches. Which it is is the same for all threads wherever
// an index has one chunk.
//
// Every function is there twice, by what `pages` is. `Resident`: an address of index data, offsets or neighbours is where they
// lie. `Paged`: it is an address of images, which a table leads to the page that holds it, on the device or in the host's
// memory. Items and rank blocks never cross a page. All else (chunks, jump tables, bases, columns of tables) lies where it says.
#pragma once
#include "layout.h"

struct Resident {};
struct Paged {
    u64 table;
    u32 bits;
};

DEVICE Resident pages_at(Resident, u64, u32) { return Resident(); }
DEVICE Paged pages_at(Paged, u64 table, u32 bits) {
    Paged pages = {table, bits};
    return pages;
}

// Reads what a part of a segment has at an address. An entry of the table may change while it is read: what it led to before
// holds the same bytes.
template <typename T> DEVICE T load_of(Resident, const T* place) { return load(place); }
template <typename T> DEVICE T load_of(Paged pages, const T* place) {
    u64 address = reinterpret_cast<u64>(place);
    u64 page = load_shared(reinterpret_cast<const u64*>(pages.table) + (address >> pages.bits));
    return load_shared(reinterpret_cast<const T*>(page + (address & ((1ull << pages.bits) - 1))));
}

// The id of a cell.
template <typename Pages = Resident> DEVICE u64 id_at(const Column& column, u64 row, Pages pages = Pages()) {
    if (column.wide) return load_of(pages, reinterpret_cast<const u64*>(column.cells) + row);
    u32 code = load_of(pages, reinterpret_cast<const u32*>(column.cells) + row);
    if (column.plane_bits == 0) return column.base + code;
    u32 shift = 32 - column.plane_bits;
    return load(reinterpret_cast<const u64*>(column.bases) + (code >> shift)) + (code & ((1u << shift) - 1));
}

template <typename T, typename Pages> DEVICE u64 found_in(const T* list, u64 count, T wanted, Pages pages) {
    u64 low = 0, high = count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (load_of(pages, list + middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && load_of(pages, list + low) == wanted ? low : ABSENT;
}

// The ordinal of an id by the rank blocks that begin at `block`: word 0 counts, the seven others are 448 ids.
template <typename Pages> DEVICE u64 rank_of(const u64* blocks, u64 distance, Pages pages) {
    const u64* block = blocks + distance / 448 * 8;
    u32 bit = u32(distance % 448);
    u32 word = bit / 64;
    u64 own = load_of(pages, block + 1 + word);
    if ((own >> (bit % 64) & 1) == 0) return ABSENT;
    u64 head = load_of(pages, block);
    u64 rank = head & ((1ull << 46) - 1);
    u32 from = 0;
    if (word >= 5) {
        rank += head >> 55;
        from = 5;
    } else if (word >= 3) {
        rank += head >> 46 & 511;
        from = 3;
    }
    for (; from < word; from++) rank += members(load_of(pages, block + 1 + from));
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
template <typename Pages = Resident> DEVICE u64 ordinal_of(const Index& index, u64 id, Pages pages = Pages()) {
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
        return rank_of(reinterpret_cast<const u64*>(data), distance, pages);
    }
    u64 count = keys_until(index, place) - chunk.ordinal;
    u64 found;
    switch (chunk.at & 7) {
        case SPARSE: found = found_in(reinterpret_cast<const u16*>(data), count, u16(id), pages); break;
        case NEAR: found = found_in(reinterpret_cast<const u32*>(data), count, u32(distance), pages); break;
        default: found = found_in(reinterpret_cast<const u64*>(data), count, id, pages); break;
    }
    return found == ABSENT ? ABSENT : chunk.ordinal + found;
}

template <typename Pages = Resident> DEVICE u64 offset_at(const Segment& segment, u64 ordinal, Pages pages = Pages()) {
    switch (segment.width) {
        case 0: return load_of(pages, reinterpret_cast<const u8*>(segment.offsets) + ordinal);
        case 1: return load_of(pages, reinterpret_cast<const u16*>(segment.offsets) + ordinal);
        case 2: return load_of(pages, reinterpret_cast<const u32*>(segment.offsets) + ordinal);
        default: return load_of(pages, reinterpret_cast<const u64*>(segment.offsets) + ordinal);
    }
}

struct Rows {
    u64 from, to;
};

// The rows of a key: none, where it is none.
template <typename Pages = Resident> DEVICE Rows rows_of(const Segment& segment, u64 id, Pages pages = Pages()) {
    Rows rows = {0, 0};
    u64 ordinal = ordinal_of(segment.index, id, pages);
    if (ordinal == ABSENT) return rows;
    if (segment.functional) {
        rows.from = ordinal;
        rows.to = ordinal + 1;
        return rows;
    }
    rows.from = offset_at(segment, ordinal, pages);
    rows.to = offset_at(segment, ordinal + 1, pages);
    return rows;
}

// One step of a search: keeps the half in which the first row stands whose id is not less.
template <typename Pages> DEVICE void halve(const Column& column, Rows& rows, u64 id, Pages pages) {
    if (rows.from >= rows.to) return;
    u64 middle = (rows.from + rows.to) / 2;
    if (id_at(column, middle, pages) < id)
        rows.from = middle + 1;
    else
        rows.to = middle;
}

// The first of these rows, which ascend, whose id is not less.
template <typename Pages = Resident> DEVICE u64 row_from(const Column& column, Rows rows, u64 id, Pages pages = Pages()) {
    while (rows.from < rows.to) halve(column, rows, id, pages);
    return rows.from;
}

// The row of these that has the id, or ABSENT.
template <typename Pages = Resident> DEVICE u64 row_among(const Column& column, Rows rows, u64 id, Pages pages = Pages()) {
    u64 row = row_from(column, rows, id, pages);
    return row < rows.to && id_at(column, row, pages) == id ? row : ABSENT;
}

// Cuts two lists to the ids that both can have. What is described together has neighbouring ids, so little is left of most
// pairs. The four searches go side by side, so that as many loads are under way at once.
template <typename Pages = Resident>
DEVICE void clip(const Column& left, Rows& a, const Column& right, Rows& b, Pages pages = Pages()) {
    u64 low = id_at(left, a.from, pages), other_low = id_at(right, b.from, pages);
    u64 high = id_at(left, a.to - 1, pages), other_high = id_at(right, b.to - 1, pages);
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
        halve(left, begin_a, low, pages);
        halve(left, end_a, high + 1, pages);
        halve(right, begin_b, low, pages);
        halve(right, end_b, high + 1, pages);
    }
    a.from = begin_a.from;
    a.to = end_a.from;
    b.from = begin_b.from;
    b.to = end_b.from;
}

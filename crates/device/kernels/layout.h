// How a graph and a table lie in the device's memory: what `gpu` writes there and kernels read.
//
// A segment lies as it does in the store's files (docs/formats/store-layout.md); the structs say where its parts begin.
// `crates/gpu/src/layout.rs` has each struct again; a test compares their sizes.
#pragma once
#include "prelude.h"

// No such ordinal, no such row.
static const u64 ABSENT = ~0ull;
// Columns of a table, and checks of a step, at most.
static const u32 COLUMNS = 12;
static const u32 CHECKS = 4;

// Cells and how they become ids: 8 bytes as they are, or 4 bytes as a plane's base and what is added to it.
struct Column {
    u64 cells;
    // Address of the planes' bases where there are several.
    u64 bases;
    // The base where there is one.
    u64 base;
    u32 wide;
    u32 plane_bits;
};

enum ChunkKind { DENSE, SPARSE, NEAR, FAR };

struct Chunk {
    u64 first, last;
    // Where its data begin, from the index's data on, plus its kind.
    u64 at;
    u64 ordinal;
};

// A key index.
struct Index {
    u64 data;
    u64 chunks;
    // 0: none.
    u64 jump;
    u64 keys;
    u32 count;
    u32 jumps;
    // The first of the chunks: most indexes have one.
    Chunk first;
};

// A predicate in a direction.
struct Segment {
    Index index;
    Column neighbours;
    u64 offsets;
    u64 rows;
    // An offset has 2^width bytes.
    u32 width;
    u32 functional;
};

enum CheckKind {
    // left == right
    CHECK_SAME,
    // left is a key of `segment.index`
    CHECK_KEY,
    // left is among the rows `from..to` of the segment
    CHECK_ROWS,
    // right is a neighbour of left
    CHECK_EDGE,
    // left is one of the ids `from..=to`
    CHECK_WITHIN,
    // left is none of them
    CHECK_OUTSIDE,
    // left != right
    CHECK_DIFFERENT,
};

// How a check is put together with those before it: a segment that layers have changed is asked by several.
enum Joins {
    // all before hold, and this one
    JOINS_AND,
    // what held, unless this one holds, too
    JOINS_UNLESS,
    // what held, or this one
    JOINS_OR,
};

// A condition on a row. Columns are numbers of the step's input; COLUMNS is the new one, COLUMNS + 1 the constant.
struct Check {
    Segment segment;
    u64 constant;
    u64 from, to;
    u32 kind;
    u32 left, right;
    u32 joins;
};

// What is counted of a level: rows, and the tiles that were taken of it. Each launch of a step has a level for its tiles alone.
struct Level {
    u64 rows;
    u64 tiles;
};

// What becomes of a walk, while it goes on.
struct Outcome {
    // 1 + the step whose rows did not fit, 0: all did.
    u64 overflow;
    u64 checksum;
    // Blocks that have summed their rows up.
    u64 arrived;
    u64 unused;
};

// What has become of a walk, in the host's memory.
struct Posted {
    u64 overflow;
    u64 rows;
    u64 checksum;
    // Written last.
    u64 sequence;
    // Rows of the last step, before equal ones became one.
    u64 walked;
};

// A list that is too long for one block.
struct Hub {
    u64 row;
    u64 from, to;
};

// Of a step, at most; more are left to the blocks that find them.
static const u32 HUBS = 64;

// Makes keys of an index a column: those with the ordinals `begin..end`.
struct Seed {
    Index index;
    u64 begin, end;
    // Of the strip, to be read by the first step.
    u64 level;
    u64 out;
    // What is taken away from a key for a cell of 4 bytes; cells of 8 bytes where `wide`.
    u64 base;
    u32 wide;
    // Of the kernels that read segments by pages: the table of pages, each of 2^page_bits bytes.
    u32 page_bits;
    u64 pages;
};

// Makes two runs of rows one column of 8-byte ids, one behind the other: those of a base's segment and those that layers brought.
// The strip's are the elements `begin..end` of both together.
struct Joined {
    u64 begin, end;
    // Of the strip, to be read by the first step.
    u64 level;
    u64 out;
    Column first, second;
    // The first row of each, and how many the first run has. 0 `cells`: those of the first run are made elsewhere.
    u64 first_row, second_row, first_rows;
    u64 pages;
    u32 page_bits;
    u32 unused;
};

// Expands rows, or filters them (no `segment`), by checks.
struct Step {
    // Addresses of the input's and the output's level, and of the walk's outcome.
    u64 input, output, outcome;
    u64 capacity;
    Segment segment;
    // The column that is looked up; COLUMNS + 1: none, the rows `first..last` are those of every row.
    u32 from;
    u32 columns;
    u32 checks;
    u32 number;
    Column in[COLUMNS];
    // Where each column goes on, 0: it does not.
    u64 out[COLUMNS];
    // Where the new column goes, 0: nowhere.
    u64 made;
    u64 first, last;
    // 1 + the check that is made of lists before candidates are: its list is looked up once a row. 0: none.
    u32 partner;
    // Of the kernels that read segments by pages, as in `Seed`.
    u32 page_bits;
    // The new column has ids of 8 bytes, whatever the segment has.
    u32 widens;
    u32 unused;
    // The level whose tiles are counted: what a step does is done by several launches where layers have changed its segment.
    u64 tickets;
    // Lists longer than `long_list` are put down here, and expanded by all blocks together afterwards: how many there are, and
    // which. 0: none are.
    u64 hub_level, hubs;
    u64 long_list;
    u64 pages;
    Check check[CHECKS];
};

// Sums a table up.
struct Finish {
    u64 input, outcome;
    // Where the host looks, and what it looks for.
    u64 posted, sequence;
    // The level of the last step.
    u64 walked;
    u32 columns;
    u32 sums;
    Column in[COLUMNS];
};

//! The errors that are planted.

/// One error: a text of a kernel's file, which stands there once, and what is there instead.
pub(super) struct Mutant {
    /// What is wrong then.
    pub(super) what: &'static str,
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) instead: &'static str,
}

impl Mutant {
    /// The file's text with the error in it.
    pub(super) fn planted_in(&self, source: &str) -> String {
        source.replacen(self.text, self.instead, 1)
    }
}

/// Begins an entry of the list.
const fn of(
    what: &'static str,
    file: &'static str,
    text: &'static str,
    instead: &'static str,
) -> Mutant {
    Mutant {
        what,
        file,
        text,
        instead,
    }
}

const WALK: &str = "walk.h";
const LOOKUP: &str = "lookup.h";
const BLOCK: &str = "block.h";
const MEET: &str = "meet.cu";
const SPREAD: &str = "spread.cu";
const COLLAPSE: &str = "collapse.cu";

/// All of them.
pub(super) const MUTANTS: &[Mutant] = &[
    of(
        "the last of some ids is none of them",
        WALK,
        "left >= check.from && left <= check.to",
        "left >= check.from && left < check.to",
    ),
    of(
        "ids before some others are among them",
        WALK,
        "left < check.from || left > check.to",
        "left > check.to",
    ),
    of(
        "what is the same is different",
        WALK,
        "left != value_of(step, check, check.right, row, made)",
        "left == value_of(step, check, check.right, row, made)",
    ),
    of(
        "what layers took away is there still",
        WALK,
        "result = holds != (check.joins == JOINS_UNLESS);",
        "result = holds;",
    ),
    of(
        "what layers brought is not asked where the base has none",
        WALK,
        "if (!result && check.joins == JOINS_AND) return false;",
        "if (!result) return false;",
    ),
    of(
        "what the base has is asked of what layers brought, too",
        WALK,
        "if (result == (check.joins == JOINS_OR)) continue;",
        "if (!result && check.joins == JOINS_UNLESS) continue;",
    ),
    of(
        "a code where an id is to be",
        WALK,
        "        } else if (step.widens)\n",
        "        } else if (step.widens && neighbours.wide)\n",
    ),
    of(
        "a row without a neighbour is dropped",
        WALK,
        "    if (KEEPS && found.from == found.to) return {ABSENT, ABSENT + 1};\n",
        "",
    ),
    of(
        "the same where each row has one at most",
        WALK,
        "            else if (!KEEPS)\n",
        "            else\n",
    ),
    of(
        "what is not bound is read of the segment",
        WALK,
        "        if (KEEPS && round.edge[one] == ABSENT) {\n",
        "        if (false) {\n",
    ),
    of(
        "what is not bound is looked for in the segment",
        WALK,
        "    if (KEEPS && edge == ABSENT) {\n",
        "    if (false) {\n",
    ),
    of(
        "what is not bound passes as an id",
        WALK,
        "        made = ABSENT;\n",
        "        made = 0;\n",
    ),
    of(
        "a cell that nobody wants is written",
        WALK,
        "            if (step.made) reinterpret_cast<u64*>(step.made)[at] = ABSENT;\n",
        "            reinterpret_cast<u64*>(step.made)[at] = ABSENT;\n",
    ),
    of(
        "a branch goes on where the one before ended",
        WALK,
        "    u64 rows = rows_to_take(step, &place), tile;\n    Tickets tickets = tickets_of(reinterpret_cast<Level*>(step.tickets));",
        "    u64 rows = rows_to_take(step, &place), tile;\n    Tickets tickets = tickets_of(reinterpret_cast<Level*>(step.input));",
    ),
    of(
        "the last of what the base has is what came first",
        WALK,
        "if (each >= seed.first_rows)",
        "if (each + 1 >= seed.first_rows)",
    ),
    of(
        "what came begins elsewhere",
        WALK,
        "seed.second_row + each - seed.first_rows",
        "each - seed.first_rows",
    ),
    of(
        "keys are written twice",
        WALK,
        "else if (seed.first.cells)",
        "else if (true)",
    ),
    of(
        "a plane's bit taken for one of the rest",
        LOOKUP,
        "(code & ((1u << shift) - 1))",
        "(code & ((2u << shift) - 1))",
    ),
    of(
        "a page found by its place within the page",
        LOOKUP,
        "(address & ((1ull << pages.bits) - 1))",
        "(address & ((2ull << pages.bits) - 1))",
    ),
    of(
        "a page's number cut",
        LOOKUP,
        "+ (address >> pages.bits));",
        "+ (address >> pages.bits) % 64);",
    ),
    of(
        "an id that is no member",
        LOOKUP,
        "if ((own >> (bit % 64) & 1) == 0) return ABSENT;\n",
        "",
    ),
    of(
        "a rank cut to 32 bits",
        LOOKUP,
        "u64 rank = head & ((1ull << 46) - 1);",
        "u64 rank = u32(head);",
    ),
    of(
        "members of five words cut",
        LOOKUP,
        "rank += head >> 55;",
        "rank += head >> 55 & 255;",
    ),
    of(
        "members of three words cut",
        LOOKUP,
        "head >> 46 & 511",
        "head >> 46 & 127",
    ),
    of(
        "the last entry of a jump table is not read",
        LOOKUP,
        "range < index.jumps ?",
        "range + 1 < index.jumps ?",
    ),
    of(
        "a chunk's first key in the chunk before",
        LOOKUP,
        "+ middle * 4) <= id)",
        "+ middle * 4) < id)",
    ),
    of(
        "the last chunk's neighbour is too long",
        LOOKUP,
        "return chunk + 1 < index.count ?",
        "return chunk + 2 < index.count ?",
    ),
    of(
        "an id beyond its chunk",
        LOOKUP,
        "if (id < chunk.first || id > chunk.last) return ABSENT;",
        "if (id < chunk.first) return ABSENT;",
    ),
    of(
        "an ordinal within its chunk",
        LOOKUP,
        "found == ABSENT ? ABSENT : chunk.ordinal + found",
        "found",
    ),
    of(
        "offsets of 4 bytes read as 2",
        LOOKUP,
        "case 2: return load_of(pages, reinterpret_cast<const u32*>(segment.offsets) + ordinal);",
        "case 2: return load_of(pages, reinterpret_cast<const u16*>(segment.offsets) + 2 * ordinal);",
    ),
    of(
        "a list of one that has two",
        LOOKUP,
        "rows.to = ordinal + 1;",
        "rows.to = ordinal + 2;",
    ),
    of(
        "a step too far in the search for an id",
        LOOKUP,
        "rows.from = middle + 1;",
        "rows.from = middle + 2;",
    ),
    of(
        "an id that is not there, found",
        LOOKUP,
        "return row < rows.to && id_at(column, row, pages) == id ? row : ABSENT;",
        "return row < rows.to ? row : ABSENT;",
    ),
    of(
        "lists clipped before their last common id",
        LOOKUP,
        "halve(left, end_a, high + 1, pages);",
        "halve(left, end_a, high, pages);",
    ),
    of(
        "lists clipped behind their first common id",
        LOOKUP,
        "halve(right, begin_b, low, pages);",
        "halve(right, begin_b, low + 1, pages);",
    ),
    of(
        "a sum of rows that had no room",
        WALK,
        "if (finish.sums && !outcome->overflow)",
        "if (finish.sums)",
    ),
    of(
        "a row left out of a sum",
        WALK,
        "row < rows; row += ROUND * all",
        "row + 1 < rows; row += ROUND * all",
    ),
    of(
        "an outcome posted by the first block",
        WALK,
        "add_at(&outcome->arrived, 1) + 1 != blocks()",
        "add_at(&outcome->arrived, 1) != 0",
    ),
    of(
        "no barrier after the arguments were taken",
        BLOCK,
        "to[word] = from[word];\n    barrier();",
        "to[word] = from[word];",
    ),
    of(
        "a sum that misses a lane",
        BLOCK,
        "if (lane >= distance) sum",
        "if (lane > distance) sum",
    ),
    of(
        "no barrier before sums of warps are added",
        BLOCK,
        "scratch[warp] = sum;\n    barrier();",
        "scratch[warp] = sum;",
    ),
    of(
        "no barrier after sums of warps were added",
        BLOCK,
        "scratch[threads() / WARP] = running;\n    }\n    barrier();",
        "scratch[threads() / WARP] = running;\n    }",
    ),
    of(
        "a constant for what is made",
        WALK,
        "if (which == COLUMNS) return made;",
        "if (which == COLUMNS) return check.constant;",
    ),
    of(
        "the last check is skipped",
        WALK,
        "at < step.checks; at++",
        "at + 1 < step.checks; at++",
    ),
    of(
        "rows of a constant to one too many",
        WALK,
        "Rows rows = {check.from, check.to};",
        "Rows rows = {check.from, check.to + 1};",
    ),
    of(
        "no look at whether there was room",
        WALK,
        "*shared = overflow ? 0 :",
        "*shared = overflow ? reinterpret_cast<Level*>(step.input)->rows :",
    ),
    of(
        "no barrier before the next tile",
        WALK,
        "u64& tile) {\n    barrier();",
        "u64& tile) {",
    ),
    of(
        "no barrier after the next tile",
        WALK,
        "tickets.ahead * size;\n    barrier();",
        "tickets.ahead * size;",
    ),
    of(
        "tiles that overlap",
        WALK,
        "*shared = tickets.ahead * size;",
        "*shared = tickets.ahead * (size - 1);",
    ),
    of(
        "no barrier before rows are written",
        WALK,
        "&reinterpret_cast<Level*>(step.output)->rows, total);\n    barrier();",
        "&reinterpret_cast<Level*>(step.output)->rows, total);",
    ),
    of(
        "a table that may not be full",
        WALK,
        "*place + total > step.capacity",
        "*place + total >= step.capacity",
    ),
    of(
        "a row more than there is room for",
        WALK,
        "*place + total > step.capacity",
        "*place + total > step.capacity + 1",
    ),
    of(
        "one bit for all candidates",
        WALK,
        "round.kept >> one & 1",
        "round.kept & 1",
    ),
    of(
        "all rows of a thread to one place",
        WALK,
        "        at++;\n",
        "        ;\n",
    ),
    of(
        "rows of a segment from the wrong place",
        WALK,
        "lists.starts[first + one] = found[one].from - before;",
        "lists.starts[first + one] = found[one].from;",
    ),
    of(
        "no barrier before candidates are sought",
        WALK,
        "lists.ends[first + one] = before;\n    }\n    barrier();",
        "lists.ends[first + one] = before;\n    }",
    ),
    of(
        "a row with one neighbour that has none",
        WALK,
        "            if (round.edge[one] != ABSENT)\n                made =",
        "            if (true)\n                made =",
    ),
    of(
        "what the shorter list gives is not sought in the other",
        WALK,
        "if (other == ABSENT) return false;",
        "if (other == ABSENT) return true;",
    ),
    of(
        "a row of the partner's segment for one of the step's",
        WALK,
        "if (swapped) edge = other;",
        "",
    ),
    of(
        "the wrong list beside",
        WALK,
        "Rows rest = swaps ? found : other;",
        "Rows rest = swaps ? other : found;",
    ),
    of(
        "a candidate too many",
        WALK,
        "if (number >= total) continue;",
        "if (number > total) continue;",
    ),
    of(
        "a row behind the tile is looked at",
        WALK,
        "round.row[one] < end &&",
        "round.row[one] <= end &&",
    ),
    of(
        "a key behind the strip",
        WALK,
        "ordinal >= seed.end) return;",
        "ordinal > seed.end) return;",
    ),
    of(
        "rows of a strip from their segment's first on",
        WALK,
        "put_cell(seed.out, seed.wide, row - seed.begin, rows, row, pages);",
        "put_cell(seed.out, seed.wide, row - seed.begin, rows, row - seed.begin, pages);",
    ),
    of(
        "a chunk left out that has the strip's first key last",
        WALK,
        "if (end <= seed.begin ||",
        "if (end <= seed.begin + 1 ||",
    ),
    of(
        "a range's upper bits cut",
        WALK,
        "chunk.first & ~0xffffull",
        "chunk.first & 0xffff0000ull",
    ),
    of(
        "ids of a set before its first are taken from the wrong bits",
        MEET,
        "asked & word_of(blocks, 0) << before",
        "asked & word_of(blocks, 0)",
    ),
    of(
        "the second of two words of a set is not looked at",
        MEET,
        "if (bit && word + 1 < words)",
        "if (bit && word + 2 < words)",
    ),
    of(
        "ids that nobody asked for",
        MEET,
        "return asked & found;",
        "return found;",
    ),
    of(
        "a key behind the strip is met",
        MEET,
        "if (ordinal < meet.begin || ordinal >= meet.end)",
        "if (ordinal < meet.begin || ordinal > meet.end)",
    ),
    of(
        "a chunk taken for whole that is not",
        MEET,
        "if (chunk.ordinal >= meet.begin && end <= meet.end) return some;",
        "if (chunk.ordinal >= meet.begin) return some;",
    ),
    of(
        "the last set is not met",
        MEET,
        "set < meet.sets &&",
        "set + 1 < meet.sets &&",
    ),
    of(
        "no barrier before ids are written",
        MEET,
        "->rows, total);\n    barrier();",
        "->rows, total);",
    ),
    of(
        "all ids of a word to one place",
        MEET,
        "left &= left - 1, at++) {",
        "left &= left - 1) {",
    ),
    of(
        "a word's ids from the wrong word on",
        MEET,
        "Some some = {chunk.first + word * 64,",
        "Some some = {chunk.first + word / 7 * 448,",
    ),
    of(
        "a predicate that the vertex has not",
        SPREAD,
        "bool has = item < items && ordinal_of(part.segment.index, vertex_of(spread, row)) != ABSENT;",
        "bool has = item < items;",
    ),
    of(
        "the last part is left out",
        SPREAD,
        "u64 items = rows_of_input(spread, &place) * spread.count;",
        "u64 items = rows_of_input(spread, &place) * (spread.count - 1);",
    ),
    of(
        "a part for a predicate that is none",
        SPREAD,
        "parts[low].predicate == predicate ? low",
        "parts[low].predicate >= predicate ? low",
    ),
    of(
        "no look at whether there was room before a spread",
        SPREAD,
        "*shared = overflow ? 0 :",
        "*shared = overflow ? reinterpret_cast<Level*>(spread.input)->rows :",
    ),
    of(
        "a row more of a spread than there is room for",
        SPREAD,
        "*place + total <= spread.capacity",
        "*place + total <= spread.capacity + 1",
    ),
    of(
        "no barrier before rows of a spread are written",
        SPREAD,
        "->rows, total);\n    barrier();",
        "->rows, total);",
    ),
    of(
        "neighbours of the wrong list",
        SPREAD,
        "if (ends[middle] <= number)",
        "if (ends[middle] < number)",
    ),
    of(
        "a list's rows from the wrong place",
        SPREAD,
        "starts[thread_of_block()] = list.from - before;",
        "starts[thread_of_block()] = list.from;",
    ),
    of(
        "ids of another part's codes",
        SPREAD,
        "parts[of_part[low]].segment.neighbours",
        "parts[of_part[0]].segment.neighbours",
    ),
    of(
        "a constant for what a row seeks",
        SPREAD,
        "spread.right == COLUMNS + 1 ? spread.sought",
        "spread.right != COLUMNS + 1 ? spread.sought",
    ),
    of(
        "a constant for the vertex of a row",
        SPREAD,
        "spread.from == COLUMNS + 1 ? spread.constant",
        "spread.from != COLUMNS + 1 ? spread.constant",
    ),
    of(
        "rows of one hash are equal",
        COLLAPSE,
        "id_at(collapse.in[column], left) != id_at(collapse.in[column], right)",
        "false",
    ),
    of(
        "the last column does not tell rows apart",
        COLLAPSE,
        "column < collapse.columns; column++)\n        if (id_at(collapse.in[column], left)",
        "column + 1 < collapse.columns; column++)\n        if (id_at(collapse.in[column], left)",
    ),
    of(
        "who loses a slot goes on as if it had won",
        COLLAPSE,
        "        if (found == 0) found = exchange_at(own, 0, count << 32 | (row + 1));\n        if (found == 0) return true;",
        "        if (found == 0) {\n            exchange_at(own, 0, count << 32 | (row + 1));\n            return true;\n        }",
    ),
    of(
        "who comes second to a slot is not counted",
        COLLAPSE,
        "        add_at(own, count << 32);\n",
        "",
    ),
    of(
        "a block's slots go on as one row each",
        COLLAPSE,
        "own[slot] >> 32);",
        "1);",
    ),
    of(
        "a block's slots go on nowhere",
        COLLAPSE,
        "own[slot] == 0",
        "own[slot] != 0",
    ),
    of(
        "a row without a slot of the block's is lost",
        COLLAPSE,
        "                has_room = count_for_all(collapse, row, hash, 1);",
        "                has_room = true;",
    ),
    of(
        "too few slots are not said",
        COLLAPSE,
        "    raise_at(&reinterpret_cast<Outcome*>(collapse.outcome)->overflow, collapse.number + 1);\n    return false;",
        "    return false;",
    ),
    of(
        "the slots are not emptied",
        COLLAPSE,
        "slots[slot] = 0",
        "slots[slot] = slots[slot]",
    ),
    of(
        "the last slot is not emptied",
        COLLAPSE,
        "slot <= collapse.mask",
        "slot < collapse.mask",
    ),
    of(
        "the row before stands for its equals",
        COLLAPSE,
        "put_cell(collapse.out[column], from.wide, at, from, u32(found) - 1, Resident())",
        "put_cell(collapse.out[column], from.wide, at, from, u32(found) - 2, Resident())",
    ),
    of(
        "rows are written behind the room for them",
        COLLAPSE,
        "at >= collapse.capacity",
        "at > collapse.capacity",
    ),
    of(
        "a table that had no room is counted",
        COLLAPSE,
        "reinterpret_cast<Outcome*>(collapse.outcome)->overflow ? 0 : all",
        "all",
    ),
];

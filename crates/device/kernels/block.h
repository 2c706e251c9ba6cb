// What the threads of a block do together, in every kernel of a walk: take its arguments, add numbers of theirs up.
#pragma once
#include "prelude.h"

static const u32 BLOCK = 256;

// Brings a block's arguments to where all its threads read them fast.
template <typename T> DEVICE void take(T& own, u64 arguments) {
    u32* to = reinterpret_cast<u32*>(&own);
    const u32* from = reinterpret_cast<const u32*>(arguments);
    for (u32 word = thread_of_block(); word < sizeof(T) / 4; word += threads()) to[word] = from[word];
    barrier();
}

// Sums of the threads before, within the block; `total` is that of all. Ends with a barrier's worth of order: `scratch` has
// BLOCK / WARP + 1 places and may be used again after the caller's next barrier.
DEVICE u64 sum_before(u64 own, u64* scratch, u64& total) {
    u32 lane = thread_of_block() % WARP, warp = thread_of_block() / WARP;
    u64 sum = own;
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        u64 other = shuffle_up(sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == WARP - 1) scratch[warp] = sum;
    barrier();
    if (thread_of_block() == 0) {
        u64 running = 0;
        for (u32 each = 0; each < threads() / WARP; each++) {
            u64 of_warp = scratch[each];
            scratch[each] = running;
            running += of_warp;
        }
        scratch[threads() / WARP] = running;
    }
    barrier();
    total = scratch[threads() / WARP];
    return scratch[warp] + sum - own;
}

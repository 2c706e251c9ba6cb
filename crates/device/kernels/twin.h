// The host twin: what a card does with a block of threads, done by fibers of one thread of the host.
//
// A block's threads are fibers that run until they wait: at a barrier for the whole block, at a shuffle for their
// warp. Who runs next is drawn from a seed, so that what depends on the order of threads shows in some run. Blocks run one
// after the other. Where nobody can run and nobody can be let go on, or where threads wait for different things, the
// launch fails with a message; so a barrier that not all threads reach is found. What this cannot show: the order of memory
// between multiprocessors, and interleavings finer than from one wait to the next.
#pragma once
#include <cstring>
#include <type_traits>

#define KERNEL extern "C" void
#define CROWDED(blocks) extern "C" void
#define DEVICE static inline
#define SHARED static thread_local

// How many bytes of a kernel's argument are checked is said by `twin.cc`.
struct TwinThread {
    u32 thread, block, threads, blocks;
};
extern thread_local TwinThread twin_now;

// What a fiber waits for, and what it gives and gets.
enum TwinWait { TWIN_READY, TWIN_BARRIER, TWIN_SHUFFLE_UP, TWIN_DONE };
u64 twin_wait(TwinWait kind, u64 value, u32 lane);
// Lets other fibers of the block go on now and then: what a thread has looked at may be another's by the time it writes.
void twin_pause();

DEVICE u32 thread_of_block() { return twin_now.thread; }
DEVICE u32 block_of_grid() { return twin_now.block; }
DEVICE u32 threads() { return twin_now.threads; }
DEVICE u32 blocks() { return twin_now.blocks; }
DEVICE void barrier() { twin_wait(TWIN_BARRIER, 0, 0); }
DEVICE u64 shuffle_up(u64 value, u32 distance) { return twin_wait(TWIN_SHUFFLE_UP, value, distance); }
DEVICE u64 add_at(u64* place, u64 value) {
    u64 before = *place;
    *place = before + value;
    return before;
}
DEVICE void raise_at(u64* place, u64 value) {
    if (*place < value) *place = value;
}
DEVICE u64 peek_at(const u64* place) {
    u64 found = *place;
    twin_pause();
    return found;
}
DEVICE u64 exchange_at(u64* place, u64 expected, u64 value) {
    u64 before = *place;
    if (before == expected) *place = value;
    return before;
}
DEVICE void fence() {}
DEVICE void fence_for_host() {}
DEVICE u32 members(u64 word) { return u32(__builtin_popcountll(word)); }
DEVICE u32 members(u32 word) { return u32(__builtin_popcount(word)); }
DEVICE u32 first_member(u64 word) { return u32(__builtin_ctzll(word)); }
template <typename T> DEVICE T load(const T* place) { return *place; }
template <typename T> DEVICE T load_shared(const T* place) { return *place; }

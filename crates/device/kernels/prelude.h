// What kernels are written in: one source for a card's compiler and for the host's.
//
// On a card these are the words of CUDA C++; on the host (SOMERSAULT_TWIN) they are those of `twin.h`, which runs each
// thread of a block as a fiber. Rules that keep the twin true: no instruction outside these macros that only a card
// has; every thread of a block comes to every `barrier`, every thread of a warp to every `shuffle_up`;
// nobody waits for another block, or for another warp of its own but at a barrier.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define WARP 32

#ifdef SOMERSAULT_TWIN
#include "twin.h"
#else

#define KERNEL extern "C" __global__ void
// One whose blocks of 256 threads are to be so many on a multiprocessor: threads wait for memory, so more of them are worth
// more than registers are.
#define CROWDED(blocks) extern "C" __global__ void __launch_bounds__(256, blocks)
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__

DEVICE u32 thread_of_block() { return threadIdx.x; }
DEVICE u32 block_of_grid() { return blockIdx.x; }
DEVICE u32 threads() { return blockDim.x; }
DEVICE u32 blocks() { return gridDim.x; }
DEVICE void barrier() { __syncthreads(); }
DEVICE u64 shuffle_up(u64 value, u32 distance) { return __shfl_up_sync(0xffffffffu, value, distance); }
DEVICE u64 add_at(u64* place, u64 value) { return atomicAdd(place, value); }
DEVICE void raise_at(u64* place, u64 value) { atomicMax(place, value); }
// What stands at a place that others may write; and the same, where the place is given a value if that is what was expected.
DEVICE u64 peek_at(const u64* place) { return *const_cast<const volatile u64*>(place); }
DEVICE u64 exchange_at(u64* place, u64 expected, u64 value) { return atomicCAS(place, expected, value); }
// What was written before is seen by all threads of the card, or by the host too, before what is written after.
DEVICE void fence() { __threadfence(); }
DEVICE void fence_for_host() { __threadfence_system(); }
DEVICE u32 members(u64 word) { return __popcll(word); }
DEVICE u32 members(u32 word) { return __popc(word); }
DEVICE u32 first_member(u64 word) { return __ffsll(word) - 1; }
// What no kernel writes while it is read: by the cache for such.
template <typename T> DEVICE T load(const T* place) { return __ldg(place); }
// What a copy may write while kernels run: by the cache that all multiprocessors share.
template <typename T> DEVICE T load_shared(const T* place) { return __ldcg(place); }

#endif

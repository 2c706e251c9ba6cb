// What `somersault device probe` runs: each kernel does one thing that a walk does, and nothing else, so that the
// rates that a walk can reach at all are known before it is judged.
//
// All take the address of one block of arguments, of which each reads what it needs. What is read goes into a sum that is
// stored where it equals `never`, which it does not: so no compiler leaves the reads out. Places are drawn by a hash of
// the access's number in registers, because an array of them would be read too. No header of the toolkit is used.

typedef unsigned int u32;
typedef unsigned long long u64;

struct Arguments {
    u64 from;
    u64 to;
    // Accesses, words or rounds.
    u64 count;
    // Places to choose from.
    u64 places;
    u64 seed;
    u64 never;
};

struct alignas(16) Quad {
    u32 a, b, c, d;
};

static __device__ const Arguments &read(u64 arguments) {
    return *(const Arguments *)arguments;
}

static __device__ u64 first() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ u64 stride() {
    return (u64)gridDim.x * blockDim.x;
}

// Two rounds of multiplying and shifting: every bit of the result depends on every bit of `value`.
static __device__ u32 mixed(u32 value) {
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ (value >> 16);
}

// A place below `places`, which is at most 2^32.
static __device__ u64 place(u64 access, const Arguments &given) {
    return ((u64)mixed((u32)access ^ (u32)given.seed) * given.places) >> 32;
}

static __device__ u32 folded(Quad quad) {
    return quad.a ^ quad.b ^ quad.c ^ quad.d;
}

static __device__ void keep(u32 sum, const Arguments &given) {
    if (sum == (u32)given.never) {
        *(u32 *)given.to = sum;
    }
}

extern "C" __global__ void do_nothing(u64 arguments) {}

// Counts its runs and shows the count to the host.
extern "C" __global__ void post(u64 arguments) {
    const Arguments given = read(arguments);
    if (first() == 0) {
        u64 *runs = (u64 *)given.from;
        *runs += 1;
        *(volatile u64 *)given.to = *runs;
        __threadfence_system();
    }
}

extern "C" __global__ void fill_words(u64 arguments) {
    const Arguments given = read(arguments);
    u64 *to = (u64 *)given.to;
    for (u64 at = first(); at < given.count; at += stride()) {
        u64 word = (at + given.seed) * 0x9e3779b97f4a7c15ull;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
        to[at] = word ^ (word >> 31);
    }
}

extern "C" __global__ void copy_words(u64 arguments) {
    const Arguments given = read(arguments);
    const Quad *from = (const Quad *)given.from;
    Quad *to = (Quad *)given.to;
    u64 at = first();
    const u64 step = stride();
    for (; at + 3 * step < given.count; at += 4 * step) {
        const Quad a = from[at], b = from[at + step], c = from[at + 2 * step], d = from[at + 3 * step];
        to[at] = a;
        to[at + step] = b;
        to[at + 2 * step] = c;
        to[at + 3 * step] = d;
    }
    for (; at < given.count; at += step) {
        to[at] = from[at];
    }
}

// Reads words, of the host's memory too, without writing them.
extern "C" __global__ void read_words(u64 arguments) {
    const Arguments given = read(arguments);
    const Quad *from = (const Quad *)given.from;
    u32 sum = 0;
    u64 at = first();
    const u64 step = stride();
    for (; at + 3 * step < given.count; at += 4 * step) {
        const Quad a = from[at], b = from[at + step], c = from[at + 2 * step], d = from[at + 3 * step];
        sum ^= folded(a) ^ folded(b) ^ folded(c) ^ folded(d);
    }
    for (; at < given.count; at += step) {
        sum ^= folded(from[at]);
    }
    keep(sum, given);
}

// Reads QUADS words of 16 bytes at places of as many, or 4 bytes at places of 4 where there are none; four at once a thread.
template <int QUADS> static __device__ u32 at_place(const Arguments &given, u64 chosen) {
    const Quad *from = (const Quad *)given.from + chosen * QUADS;
    u32 sum = 0;
#pragma unroll
    for (int quad = 0; quad < QUADS; quad++) {
        sum ^= folded(from[quad]);
    }
    return sum;
}

template <> __device__ u32 at_place<0>(const Arguments &given, u64 chosen) {
    return ((const u32 *)given.from)[chosen];
}

template <int QUADS> static __device__ void gather(u64 arguments) {
    const Arguments given = read(arguments);
    u32 sum = 0;
    const u64 step = stride();
    for (u64 access = first(); access < given.count; access += 4 * step) {
        u32 read[4];
#pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            read[lane] = at_place<QUADS>(given, place(access + lane * step, given));
        }
        sum ^= read[0] ^ read[1] ^ read[2] ^ read[3];
    }
    keep(sum, given);
}

extern "C" __global__ void gather_codes(u64 arguments) {
    gather<0>(arguments);
}

extern "C" __global__ void gather_sectors(u64 arguments) {
    gather<2>(arguments);
}

extern "C" __global__ void gather_pairs(u64 arguments) {
    gather<4>(arguments);
}

// Eight threads read a line of 128 bytes at a random place, four lines at once. (A warp a line is bound by drawing places,
// which each thread does.)
extern "C" __global__ void gather_lines(u64 arguments) {
    const Arguments given = read(arguments);
    const Quad *from = (const Quad *)given.from;
    const u64 lane = threadIdx.x % 8;
    const u64 groups = stride() / 8;
    u32 sum = 0;
    for (u64 access = first() / 8; access < given.count; access += 4 * groups) {
        u32 read[4];
#pragma unroll
        for (int line = 0; line < 4; line++) {
            read[line] = folded(from[place(access + line * groups, given) * 8 + lane]);
        }
        sum ^= read[0] ^ read[1] ^ read[2] ^ read[3];
    }
    keep(sum, given);
}

// Lays a ring through all lines of 128 bytes, of which there are a power of two: a linear congruence of full period.
extern "C" __global__ void lay_ring(u64 arguments) {
    const Arguments given = read(arguments);
    u32 *to = (u32 *)given.to;
    for (u64 at = first(); at < given.places; at += stride()) {
        to[at * 32] = ((u32)at * 0x19660du + 0x3c6ef35fu) & (u32)(given.places - 1);
    }
}

// Follows it with one thread: each read waits for the one before.
extern "C" __global__ void follow_ring(u64 arguments) {
    const Arguments given = read(arguments);
    const u32 *from = (const u32 *)given.from;
    u32 at = (u32)given.seed & (u32)(given.places - 1);
    for (u64 step = 0; step < given.count; step++) {
        at = from[(u64)at * 32];
    }
    // No line has this number, so it is never stored.
    keep(at, given);
}

// Claims random slots of a table, as a set of rows does; most are taken after a while.
extern "C" __global__ void exchange(u64 arguments) {
    const Arguments given = read(arguments);
    u64 *table = (u64 *)given.from;
    u32 sum = 0;
    for (u64 access = first(); access < given.count; access += stride()) {
        sum ^= (u32)atomicCAS(table + place(access, given), 0ull, access + 1);
    }
    keep(sum, given);
}

// Takes ranges of the output, as each tile of a walk does: one thread adds, the block learns where its range begins.
extern "C" __global__ void take_ranges(u64 arguments) {
    __shared__ u64 begin;
    const Arguments given = read(arguments);
    u32 sum = 0;
    for (u64 round = 0; round < given.count; round++) {
        if (threadIdx.x == 0) {
            begin = atomicAdd((u64 *)given.from, (u64)blockDim.x);
        }
        __syncthreads();
        sum ^= (u32)begin + threadIdx.x;
        __syncthreads();
    }
    keep(sum, given);
}

// The fibers of `twin.h`, and the kernels compiled for them.
#define SOMERSAULT_TWIN 1
#include "prelude.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

thread_local TwinThread twin_now;

namespace {

const size_t STACK = 64 * 1024;

#if defined(__x86_64__)
// Saves what a callee has to keep on the stack that is left, and takes it from the one that is entered.
extern "C" void twin_switch(void** left, void* entered);
asm(R"(
    .text
    .globl twin_switch
twin_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
)");
struct Context {
    void* stack = nullptr;
};
void enter(Context& left, Context& entered) { twin_switch(&left.stack, entered.stack); }
void prepare(Context& context, char* memory, void (*begin)()) {
    u64* top = reinterpret_cast<u64*>(memory + STACK);
    // As after a call: the stack is 8 bytes off a multiple of 16 at the first instruction.
    *--top = 0;
    *--top = reinterpret_cast<u64>(begin);
    for (int saved = 0; saved < 6; saved++) *--top = 0;
    context.stack = top;
}
#else
#include <ucontext.h>
struct Context {
    ucontext_t inner;
};
void enter(Context& left, Context& entered) { swapcontext(&left.inner, &entered.inner); }
void prepare(Context& context, char* memory, void (*begin)()) {
    getcontext(&context.inner);
    context.inner.uc_stack.ss_sp = memory;
    context.inner.uc_stack.ss_size = STACK;
    context.inner.uc_link = nullptr;
    makecontext(&context.inner, begin, 0);
}
#endif

struct Fiber {
    Context context;
    TwinWait state = TWIN_READY;
    u64 value = 0;
    u32 lane = 0;
};

struct Machine {
    std::vector<Fiber> fibers;
    std::vector<char> stacks;
    std::vector<u32> ready;
    Context scheduler;
    u32 running = 0;
    void (*kernel)(u64) = nullptr;
    u64 arguments = 0;
    u64 random = 1;
    const char* failure = nullptr;
};
thread_local Machine machine;

u64 draw() {
    u64 x = machine.random += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

void begin_fiber() {
    machine.kernel(machine.arguments);
    machine.fibers[machine.running].state = TWIN_DONE;
    enter(machine.fibers[machine.running].context, machine.scheduler);
    abort();
}

// Lets the fibers of `from..to` go on if all of them wait for one thing of `kind`.
bool all_wait(u32 from, u32 to, TwinWait kind) {
    for (u32 at = from; at < to; at++)
        if (machine.fibers[at].state != kind) return false;
    return true;
}

void release(u32 from, u32 to) {
    for (u32 at = from; at < to; at++) {
        machine.fibers[at].state = TWIN_READY;
        machine.ready.push_back(at);
    }
}

// Answers the warp that begins at `from`, if it waits as one.
bool answer_warp(u32 from) {
    if (!all_wait(from, from + WARP, TWIN_SHUFFLE_UP)) return false;
    Fiber* warp = &machine.fibers[from];
    u64 given[WARP];
    for (u32 lane = 0; lane < WARP; lane++) given[lane] = warp[lane].value;
    for (u32 lane = 0; lane < WARP; lane++) {
        u32 distance = warp[lane].lane;
        warp[lane].value = given[lane >= distance ? lane - distance : lane];
    }
    release(from, from + WARP);
    return true;
}

// Lets somebody go on after all have come to wait; false where nobody can.
bool release_someone(u32 count) {
    bool any = false;
    for (u32 warp = 0; warp < count; warp += WARP) any |= answer_warp(warp);
    if (any) return true;
    if (!all_wait(0, count, TWIN_BARRIER)) return false;
    release(0, count);
    return true;
}

void run_block(u32 block, u32 grid, u32 count) {
    machine.ready.clear();
    for (u32 at = 0; at < count; at++) {
        machine.fibers[at].state = TWIN_READY;
        prepare(machine.fibers[at].context, &machine.stacks[at * STACK], begin_fiber);
        machine.ready.push_back(at);
    }
    for (;;) {
        while (!machine.ready.empty()) {
            size_t drawn = draw() % machine.ready.size();
            u32 next = machine.ready[drawn];
            machine.ready[drawn] = machine.ready.back();
            machine.ready.pop_back();
            machine.running = next;
            twin_now = TwinThread{next, block, count, grid};
            enter(machine.scheduler, machine.fibers[next].context);
        }
        if (all_wait(0, count, TWIN_DONE)) return;
        if (!release_someone(count)) {
            machine.failure = "threads of a block wait for different things";
            return;
        }
    }
}

}  // namespace

u64 twin_wait(TwinWait kind, u64 value, u32 lane) {
    Fiber& own = machine.fibers[machine.running];
    own.state = kind;
    own.value = value;
    own.lane = lane;
    enter(own.context, machine.scheduler);
    return machine.fibers[machine.running].value;
}

void twin_pause() {
    if (draw() % 4 != 0) return;
    u32 own = machine.running;
    machine.fibers[own].state = TWIN_READY;
    machine.ready.push_back(own);
    enter(machine.fibers[own].context, machine.scheduler);
}

#include "walk.cu"
#include "left.cu"
#include "paged.cu"
#include "meet.cu"
#include "spread.cu"
#include "collapse.cu"

namespace {
struct Entry {
    const char* name;
    void (*kernel)(u64);
};
const Entry ENTRIES[] = {
    {"walk_seed", walk_seed},
    {"walk_seed_joined", walk_seed_joined},
    {"walk_seed_joined_paged", walk_seed_joined_paged},
    {"walk_expand", walk_expand},
    {"walk_expand_one", walk_expand_one},
    {"walk_expand_hubs", walk_expand_hubs},
    {"walk_filter", walk_filter},
    {"walk_seed_paged", walk_seed_paged},
    {"walk_seed_rows_paged", walk_seed_rows_paged},
    {"walk_expand_paged", walk_expand_paged},
    {"walk_expand_one_paged", walk_expand_one_paged},
    {"walk_expand_hubs_paged", walk_expand_hubs_paged},
    {"walk_filter_paged", walk_filter_paged},
    {"walk_expand_left", walk_expand_left},
    {"walk_expand_one_left", walk_expand_one_left},
    {"walk_expand_left_paged", walk_expand_left_paged},
    {"walk_expand_one_left_paged", walk_expand_one_left_paged},
    {"walk_finish", walk_finish},
    {"walk_meet", walk_meet},
    {"walk_predicates", walk_predicates},
    {"walk_expand_by", walk_expand_by},
    {"walk_check_by", walk_check_by},
    {"collapse_clear", collapse_clear},
    {"collapse_rows", collapse_rows},
    {"collapse_out", collapse_out},
};
}  // namespace

// Runs a kernel to its end; the message why it could not, or null.
extern "C" const char* somersault_twin_run(const char* name, u64 arguments, u32 grid, u32 block, u64 seed) {
    if (block == 0 || block % WARP != 0) return "a block is of whole warps";
    machine.kernel = nullptr;
    for (const Entry& entry : ENTRIES)
        if (strcmp(entry.name, name) == 0) machine.kernel = entry.kernel;
    if (!machine.kernel) return "the twin has no such kernel";
    machine.arguments = arguments;
    machine.random = seed;
    machine.failure = nullptr;
    if (machine.fibers.size() < block) {
        machine.fibers.resize(block);
        machine.stacks.resize(block * STACK);
    }
    for (u32 at = 0; at < grid && !machine.failure; at++) run_block(at, grid, block);
    return machine.failure;
}

// Bytes of each struct of arguments, in the order of `kernel.rs`'s users.
extern "C" u64 somersault_twin_size(u32 which) {
    switch (which) {
        case 0: return sizeof(Seed);
        case 1: return sizeof(Step);
        case 2: return sizeof(Finish);
        case 3: return sizeof(Meet);
        case 4: return sizeof(Part);
        case 5: return sizeof(Spread);
        case 6: return sizeof(Collapse);
        case 7: return sizeof(Joined);
        default: return 0;
    }
}

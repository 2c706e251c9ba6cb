// The kernels of a walk over segments that lie in pages. Threads wait for the host's memory there, and registers are worth more than
// their number is. A module of its own: who has room for its segments does not compile it.
#include "walk.h"

CROWDED(4) walk_expand_paged(u64 arguments) { expand<Paged>(arguments); }
CROWDED(4) walk_expand_one_paged(u64 arguments) { expand_one<Paged>(arguments); }
CROWDED(4) walk_expand_hubs_paged(u64 arguments) { expand_hubs<Paged>(arguments); }
CROWDED(4) walk_filter_paged(u64 arguments) { filter<Paged>(arguments); }
KERNEL walk_seed_paged(u64 arguments) { seed_keys<Paged>(arguments); }
KERNEL walk_seed_rows_paged(u64 arguments) { seed_rows(arguments); }
KERNEL walk_seed_joined_paged(u64 arguments) { seed_joined<Paged>(arguments); }

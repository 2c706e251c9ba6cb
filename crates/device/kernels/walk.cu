// The kernels of a walk over segments that lie on the device as they are.
#include "walk.h"

CROWDED(5) walk_expand(u64 arguments) { expand<Resident>(arguments); }
CROWDED(5) walk_expand_one(u64 arguments) { expand_one<Resident>(arguments); }
CROWDED(5) walk_expand_hubs(u64 arguments) { expand_hubs<Resident>(arguments); }
CROWDED(5) walk_filter(u64 arguments) { filter<Resident>(arguments); }
KERNEL walk_seed(u64 arguments) { seed_keys<Resident>(arguments); }
KERNEL walk_seed_joined(u64 arguments) { seed_joined<Resident>(arguments); }
CROWDED(5) walk_finish(u64 arguments) { finish_rows(arguments); }

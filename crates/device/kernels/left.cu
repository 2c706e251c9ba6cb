// Expansions that keep a row which has no neighbour, with an unbound cell (`OPTIONAL`; SPARQL 1.1 Query, 18.5, LeftJoin). A module
// of its own: a query without such a step does not compile it.
#include "walk.h"

CROWDED(5) walk_expand_left(u64 arguments) { expand<Resident, true>(arguments); }
CROWDED(5) walk_expand_one_left(u64 arguments) { expand_one<Resident, true>(arguments); }
CROWDED(4) walk_expand_left_paged(u64 arguments) { expand<Paged, true>(arguments); }
CROWDED(4) walk_expand_one_left_paged(u64 arguments) { expand_one<Paged, true>(arguments); }

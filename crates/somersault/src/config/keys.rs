//! All keys of the configuration, in the order in which they are shown. What is not here is an unknown key.

/// The known keys with their defaults and a line of help each.
pub const KEYS: [(&str, &str, &str); 44] = [
    (
        "server.bind",
        "127.0.0.1:7272",
        "address and port to listen on",
    ),
    (
        "server.connections",
        "1024",
        "connections at once; for more, the idlest are closed",
    ),
    (
        "server.proxies",
        "",
        "addresses of proxies that are believed when they say for whom they speak, separated by commas",
    ),
    (
        "server.hosts",
        "",
        "names that requests may have as their Host besides localhost and addresses of this machine, separated by commas; elsewhere than on a loopback address all may, unless this names some",
    ),
    (
        "server.allow_update",
        "false",
        "whether everybody who reaches the server may change the graph",
    ),
    (
        "server.body_max",
        "none",
        "largest document that is sent for a graph, decompressed",
    ),
    (
        "server.spool_limit",
        "4GiB",
        "room on the disk for answers that are finished before they are sent (HTTP/1.0, JSON-LD), together",
    ),
    (
        "server.spool_folder",
        "auto",
        "folder on a disk for these answers; auto is TMPDIR, or the folder of a store that may be changed where TMPDIR lies in memory",
    ),
    (
        "server.shutdown_delay",
        "0s",
        "time at the end in which readiness says 503 and requests are still taken",
    ),
    (
        "server.drain",
        "5s",
        "time at the end that running requests have to finish before they are cancelled",
    ),
    ("query.timeout", "30s", "time a query may take"),
    (
        "query.memory_pool",
        "auto",
        "memory of all queries; auto is 60 % of what is free",
    ),
    (
        "query.memory_limit",
        "auto",
        "memory of one query; auto is a quarter of the pool",
    ),
    (
        "query.plan_cache",
        "32MiB",
        "memory for plans of query shapes, 0 to plan each text on its own",
    ),
    (
        "query.sample_from",
        "2ms",
        "expected time of a query from which samples of the graph help to plan it, or never",
    ),
    (
        "query.threads",
        "auto",
        "threads of one heavy query; auto is one per core",
    ),
    ("query.text_max", "1MiB", "longest query text"),
    (
        "live.queries",
        "256",
        "live queries at once; equal requests are one",
    ),
    (
        "live.answer_memory",
        "64MiB",
        "memory of the answer of a live query, which is kept",
    ),
    (
        "query.union_default_graph",
        "false",
        "whether queries, and WHERE of updates, see the union of all graphs as the default graph",
    ),
    ("update.text_max", "64MiB", "longest update text"),
    (
        "update.timeout",
        "5m",
        "time a change may take, its document's arrival included",
    ),
    (
        "store.keep_snapshots",
        "5s",
        "how long a snapshot can be read by its number when there is a newer one",
    ),
    (
        "store.max_snapshot_age",
        "1h",
        "how old what a query reads may become where the graph can be changed",
    ),
    (
        "auth.tokens",
        "",
        "who may what: RIGHT:TOKEN, separated by commas; RIGHT is read, write or admin",
    ),
    (
        "auth.anonymous",
        "read",
        "what may be done without a token: read or none",
    ),
    (
        "api.open",
        "false",
        "whether everybody who reaches the server may see and cancel queries, and compact; else a token with the right admin does",
    ),
    (
        "service.allow",
        "",
        "prefixes of addresses that SERVICE may call and LOAD may read, separated by commas",
    ),
    (
        "trace.otlp_endpoint",
        "",
        "address of a collector that is told, by OTLP over HTTP, what nodes of this process did of queries that come with a traceparent",
    ),
    (
        "load.memory_limit",
        "auto",
        "memory of a load before it spills; auto is 2GiB",
    ),
    (
        "load.threads",
        "auto",
        "threads of a load; auto is one per core",
    ),
    (
        "gpu.use",
        "auto",
        "which queries begin on the GPU: auto (heavy ones, where there is one), never or always",
    ),
    (
        "gpu.device",
        "0",
        "which GPUs, as device status numbers them: 0, or 0,1, or 0+1 for two that hold the data together",
    ),
    (
        "gpu.images",
        "auto",
        "memory of the GPU for the data of queries; auto is three fifths of what is free there",
    ),
    (
        "gpu.host",
        "auto",
        "memory of this machine for data that have no room on the GPU, of query.memory_pool; auto is a third of that, and a half the most",
    ),
    (
        "gpu.tables",
        "auto",
        "memory of the GPU for the rows of queries, together; auto is a fifth of what is free there",
    ),
    (
        "node.part",
        "",
        "the directory of the part of the graph that a node of a cluster has; in a file, beside that file",
    ),
    (
        "node.number",
        "auto",
        "the node's number, to be compared with the part's; auto is the part's",
    ),
    (
        "node.listen",
        "auto",
        "address and port to listen on for other nodes; auto is the node's own of cluster.nodes",
    ),
    (
        "node.address",
        "auto",
        "where the others reach the node, as it is registered in etcd: HOST:PORT; auto is where it listens",
    ),
    (
        "cluster.nodes",
        "",
        "where each node of the cluster is reached by the others, in the order of the parts: HOST:PORT, separated by commas",
    ),
    (
        "cluster.etcd",
        "",
        "endpoints of an etcd where nodes are registered, instead of cluster.nodes: http://HOST:2379, separated by commas",
    ),
    (
        "cluster.prefix",
        "somersault",
        "the key of etcd below which the nodes of the cluster are registered; another cluster has another one",
    ),
    (
        "cluster.key",
        "",
        "the file of the secret that all nodes of the cluster have, 32 random bytes; in a file, beside that file",
    ),
];

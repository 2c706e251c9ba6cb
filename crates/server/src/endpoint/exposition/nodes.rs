//! What the nodes of this process did, each sample with its node. Absent where the graph is in one piece.
//!
//! Queries are counted when they have ended; messages, reads and bytes of the fabric as they go.

use super::Page;
use somersault::nodes::NodeFigures;

/// A figure of a node.
type OfNode = fn(&NodeFigures) -> u64;

/// Families: name, kind, help, figure.
const FAMILIES: [(&str, &str, &str, OfNode); 26] = [
    (
        "node_queries_running",
        "gauge",
        "Queries that a node walks now, its own and those of others.",
        |it| it.queries as u64,
    ),
    (
        "node_queries_asked_total",
        "counter",
        "Queries that a node was asked.",
        |it| it.figures.asked,
    ),
    (
        "node_queries_helped_total",
        "counter",
        "Queries of other nodes that a node has walked a part of.",
        |it| it.figures.helped,
    ),
    (
        "node_shipped_tables_total",
        "counter",
        "Tables of rows that a node has sent to others.",
        |it| it.figures.shipped.tables,
    ),
    (
        "node_shipped_rows_total",
        "counter",
        "Rows in them, but those of answers on their way to who asked.",
        |it| it.figures.shipped.rows,
    ),
    (
        "node_shipped_bytes_total",
        "counter",
        "Bytes of these tables.",
        |it| it.figures.shipped.bytes,
    ),
    (
        "node_kept_rows_total",
        "counter",
        "Rows that stayed on a node, to have what they need fetched.",
        |it| it.figures.shipped.kept,
    ),
    (
        "node_questions_total",
        "counter",
        "Questions that a node has asked others for queries.",
        |it| it.figures.fetched.questions,
    ),
    (
        "node_fetched_lists_total",
        "counter",
        "Lists of neighbours that a node has fetched for rows.",
        |it| it.figures.fetched.lists,
    ),
    (
        "node_prepared_lists_total",
        "counter",
        "Lists that it has fetched before a query's first row.",
        |it| it.figures.fetched.prepared,
    ),
    (
        "node_fetched_bytes_total",
        "counter",
        "Bytes of answers to its questions, as they are kept.",
        |it| it.figures.fetched.bytes,
    ),
    (
        "node_lists_read_total",
        "counter",
        "Lists of neighbours that a node has read out of their owners' memory.",
        |it| it.figures.fetched.lists_read,
    ),
    (
        "node_location_bytes",
        "gauge",
        "Memory of what a node knows of where other nodes' lists lie.",
        |it| it.figures.locations.bytes,
    ),
    (
        "node_known_term_bytes",
        "gauge",
        "Memory of the terms that a node keeps which other nodes told it.",
        |it| it.figures.term_bytes,
    ),
    (
        "node_messages_sent_total",
        "counter",
        "Messages that a node's fabric has taken for sending.",
        |it| it.counts.messages_sent,
    ),
    (
        "node_message_bytes_sent_total",
        "counter",
        "Bytes of them.",
        |it| it.counts.bytes_sent,
    ),
    (
        "node_messages_received_total",
        "counter",
        "Messages that came to a node.",
        |it| it.counts.messages_received,
    ),
    (
        "node_message_bytes_received_total",
        "counter",
        "Bytes of them.",
        |it| it.counts.bytes_received,
    ),
    (
        "node_reads_total",
        "counter",
        "Batches of one-sided reads of other nodes' memory.",
        |it| it.counts.reads,
    ),
    (
        "node_read_pieces_total",
        "counter",
        "Pieces of memory in these batches.",
        |it| it.counts.pieces_read,
    ),
    (
        "node_read_bytes_total",
        "counter",
        "Bytes of these pieces.",
        |it| it.counts.bytes_read,
    ),
    (
        "node_writes_total",
        "counter",
        "Batches of one-sided writes to other nodes' memory.",
        |it| it.counts.writes,
    ),
    (
        "node_write_bytes_total",
        "counter",
        "Bytes of them.",
        |it| it.counts.bytes_written,
    ),
    (
        "node_losses_total",
        "counter",
        "Times that another node went away from a node, or their link was reset.",
        |it| it.figures.losses,
    ),
    ("node_peers", "gauge", "Other nodes of the graph.", |it| {
        it.peers.into()
    }),
    (
        "node_peers_up",
        "gauge",
        "Those of them that a node can reach.",
        |it| it.peers_up.into(),
    ),
];

/// Writes the families of these nodes; nothing where there are none.
pub(super) fn write(page: &mut Page, nodes: &[NodeFigures]) {
    if nodes.is_empty() {
        return;
    }
    for (name, kind, help, figure) in FAMILIES {
        page.family(name, kind, help);
        for node in nodes {
            let label = format!("{{node=\"{}\"}}", node.node);
            page.sample(name, &label, figure(node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::nodes::{Counts, Fetched, Figures, KeptLocations, Shipped};

    fn node(node: u16) -> NodeFigures {
        let mut numbers = u64::from(node)..;
        let mut next = || numbers.next().unwrap_or_default();
        NodeFigures {
            node,
            queries: next() as usize,
            figures: Figures {
                asked: next(),
                helped: next(),
                shipped: Shipped {
                    tables: next(),
                    rows: next(),
                    answer: 50,
                    bytes: next(),
                    kept: next(),
                },
                fetched: Fetched {
                    questions: next(),
                    lists: next(),
                    prepared: next(),
                    bytes: next(),
                    lists_read: next(),
                    reads: 51,
                    read_bytes: 52,
                },
                locations: KeptLocations {
                    segments: 53,
                    bytes: next(),
                },
                term_bytes: next(),
                losses: 40,
            },
            counts: Counts {
                messages_sent: next(),
                bytes_sent: next(),
                messages_received: next(),
                bytes_received: next(),
                reads: next(),
                pieces_read: next(),
                bytes_read: next(),
                writes: next(),
                bytes_written: next(),
            },
            peers: 2,
            peers_up: 1,
        }
    }

    #[test]
    fn each_family_has_a_sample_for_each_node_with_a_figure_of_its_own() {
        let mut page = Page::default();
        write(&mut page, &[]);
        assert_eq!(page.text, "");
        write(&mut page, &[node(0), node(100)]);
        let values = |node: &str| -> Vec<u64> {
            let label = format!("{{node=\"{node}\"}} ");
            let samples = page.text.lines().filter_map(|line| line.split_once(&label));
            samples
                .map(|(_, value)| value.parse().expect("a number"))
                .collect()
        };
        let expected: Vec<u64> = (0..23).chain([40, 2, 1]).collect();
        assert_eq!(values("0"), expected);
        assert_eq!(values("100")[..23], (100..123).collect::<Vec<_>>());
    }
}

//! What full-history pruning saves (OSDI'16 section 5.4): q1 walked with intersections off, by rows that carry their whole
//! history, against rows of the last column only and a join of all steps' edges where the query was asked.
//!
//! `cargo run --release -p somersault --example pruning -- STORE [NODES] [QUERY]`
//!
//! With their history, rows that an earlier step ruled out are not walked on, and the last step's are the answer. With the last
//! column only, each step is walked from every value that the step which found it gave, whatever its rows have been through;
//! every edge that is met may belong to the answer, and goes to the join. Both are counted over the whole graph by a
//! query a step, so it says what is made and not how much of it stays on its node; what the nodes send each
//! other with history is counted by their fabric besides.

use query::plan::{Action, Node, Plan, Slot};
use rdf::Direction;
use somersault::nodes::{Deal, Mode, NodeOptions};
use somersault::{Database, Options, Request};
use std::collections::BTreeMap;
use std::path::Path;
use workload::queries::by_name;

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of an id.
const CELL: u64 = 8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("a store of LUBM data");
    let nodes = arguments
        .next()
        .map_or(4, |text| text.parse().expect("a number"));
    let name = arguments.next().unwrap_or_else(|| "q1".to_owned());
    let text = by_name(&name).expect("a query of LUBM").text;
    let options = Options::default();
    let whole = Database::open(Path::new(&store), &options).expect("the store");
    let deal = Deal::Evenly { nodes, shift: None };
    let parts = whole.in_nodes(&deal, &NodeOptions::default(), &options);
    let parts = parts.expect("the parts");
    let request = Request {
        keep_checks: true,
        execution: Some(Mode::ForkJoin),
        ..Request::new(text)
    };
    let mut asked = parts.start(&request).expect("it plans");
    let sent = |database: &Database| {
        let figures = database.parts().expect("it is in parts").figures();
        figures.iter().fold((0, 0), |sum, node| {
            let shipped = node.figures.shipped;
            (sum.0 + shipped.rows + shipped.answer, sum.1 + shipped.bytes)
        })
    };
    let before = sent(&parts);
    println!("{}", asked.explain());
    let rows = asked.run_folded().expect("it runs").rows;
    let steps = Steps::of(asked.plan());
    drop(asked);
    let after = loop {
        let figures = parts.parts().expect("it is in parts").figures();
        if figures.iter().all(|node| node.queries == 0) {
            break sent(&parts);
        }
        std::thread::yield_now();
    };
    let (mut with_history, mut last_only) = (0, 0);
    println!("step  rows with history  bytes       edges by the last column  bytes");
    for (at, step) in steps.0.iter().enumerate() {
        let rows = count(&whole, &step.history);
        let edges = count(&whole, &step.last);
        let bytes = (rows * step.columns * CELL, edges * step.ends * CELL);
        println!(
            "{at:>4}  {rows:>17}  {:<10}  {edges:>24}  {}",
            bytes.0, bytes.1
        );
        with_history += bytes.0;
        last_only += bytes.1;
    }
    println!("{name}: {rows} rows");
    println!("with their history: {with_history} bytes made by all steps");
    println!("the last column and a join: {last_only} bytes for the join");
    let (rows, bytes) = (after.0 - before.0, after.1 - before.1);
    println!("sent between {nodes} nodes with history: {rows} rows, {bytes} bytes");
}

fn count(database: &Database, group: &str) -> u64 {
    let text = format!("SELECT * WHERE {{ {group} }}");
    let mut asked = database.start(&Request::new(&text)).expect("it plans");
    asked.run_folded().expect("it runs").rows
}

/// What a step of the plan makes, as groups of patterns whose rows are counted.
struct Step {
    history: String,
    last: String,
    /// Columns of a row with its history.
    columns: u64,
    /// Columns of an edge that are not a constant.
    ends: u64,
}

struct Steps(Vec<Step>);

impl Steps {
    /// Those of a plan of expansions and checks; others are passed over.
    fn of(plan: &Plan) -> Steps {
        let mut steps = Vec::new();
        let mut history = String::new();
        // Of each column the values that the step gave which looked at it last.
        let mut values: BTreeMap<u16, String> = BTreeMap::new();
        for step in &plan.steps {
            let (ends, from, into, pattern) = match step.action {
                Action::Expand {
                    from,
                    predicate,
                    direction,
                    into,
                    ..
                } => {
                    let ends = match direction {
                        Direction::Out => [from, Node::Slot(into)],
                        Direction::In => [Node::Slot(into), from],
                    };
                    (ends, from, Some(into), written(plan, ends, predicate))
                }
                Action::Check {
                    subject,
                    predicate,
                    object,
                    from,
                    ..
                } => {
                    let ends = [subject, object];
                    let seen = match (subject, object, from) {
                        (_, Node::Constant(_), _) => subject,
                        (Node::Constant(_), _, _) | (_, _, Direction::In) => object,
                        _ => subject,
                    };
                    (ends, seen, slot_of(seen), written(plan, ends, predicate))
                }
                _ => continue,
            };
            let known = slot_of(from).and_then(|slot| values.get(&slot.0));
            let last = format!("{} {pattern}", known.map_or("", String::as_str));
            history = format!("{history} {pattern}");
            if let Some(into) = into {
                let name = variable(into);
                let distinct = format!("{{ SELECT DISTINCT {name} WHERE {{ {last} }} }}");
                values.insert(into.0, distinct);
            }
            steps.push(Step {
                history: history.clone(),
                last,
                columns: step.keep.len() as u64,
                ends: ends.iter().filter_map(|end| slot_of(*end)).count() as u64,
            });
        }
        Steps(steps)
    }
}

fn slot_of(node: Node) -> Option<Slot> {
    match node {
        Node::Slot(slot) => Some(slot),
        Node::Constant(_) => None,
    }
}

fn variable(slot: Slot) -> String {
    format!("?v{}", slot.0)
}

fn written(plan: &Plan, [subject, object]: [Node; 2], predicate: Node) -> String {
    let term = |node: Node| match node {
        Node::Slot(slot) => variable(slot),
        Node::Constant(constant) => plan.constants[constant.0 as usize].to_string(),
    };
    format!("{} {} {} .", term(subject), term(predicate), term(object))
}

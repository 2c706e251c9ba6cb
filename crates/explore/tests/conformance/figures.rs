//! What leaves its node when LUBM's heavy queries are walked over parts: rows, bytes, and what dealing them out takes.
//!
//! Measured, not tested, but for the numbers of rows: `SOMERSAULT_LUBM=40 cargo test --release -p somersault-explore --test
//! conformance exchange_of_lubm -- --nocapture` makes and loads 40 universities. Parts are seen through a filter over one store in
//! memory, so lists cost what they cost there, and all nodes share one thread.

use super::exchange::{self, Costs, Setting};
use super::ship::shipped;
use oxrdf::Term;
use query::plan::Plan;
use query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use query::{ParseOptions, PlanOptions, Planner};
use rdf::dictionary::Dictionary;
use rdf::{Lexicon, VertexId};
use std::io::Write as _;
use std::time::{Duration, Instant};
use store::Snapshot;
use store::load::{LoadOptions, LoadWatch, Source, Syntax, Unwatched, load_in_memory};
use store::statistics::SetSizes;
use testkit::cut::{Cut, Placement};
use testkit::federated::Fetched;
use workload::lubm::{self, Lubm, Parameters};
use workload::queries;

/// Ids of a kind that lie together: two to the power of it.
const SHIFT: u32 = 14;

const ROUNDS: usize = 5;

fn loaded(universities: u32) -> (Snapshot, Dictionary) {
    let parameters = Parameters::standard(universities);
    let lubm = Lubm::new(parameters.clone(), lubm::Syntax::NTriples).expect("usual parameters");
    let texts = parameters.indices().map(move |university| {
        let mut text = Vec::new();
        lubm.append_university(university, &mut text);
        text
    });
    let source = Source::chunks("lubm", Syntax::NTriples, texts);
    let started = Instant::now();
    let watch = LoadWatch {
        progress: &Unwatched,
        clock: &|| started.elapsed(),
    };
    let options = LoadOptions::new(2, [7; 16]);
    let (snapshot, dictionary, report) =
        load_in_memory(vec![source], &options, watch).expect("it is loaded");
    println!(
        "LUBM-{universities}: {} triples in {:.0?}",
        report.quads,
        started.elapsed()
    );
    (snapshot, dictionary)
}

fn statistics(snapshot: &Snapshot) -> Statistics {
    let statistics = snapshot.statistics(4096).expect("a store in memory");
    let sets = |sizes: SetSizes| -> Vec<CharacteristicSet> {
        let sets = sizes.sets.into_iter();
        sets.map(|mut set| {
            set.predicates.sort_unstable();
            CharacteristicSet {
                predicates: set.predicates,
                types: set.types,
                vertices: set.vertices,
            }
        })
        .collect()
    };
    let predicates = statistics.predicates.iter().map(|one| PredicateStatistics {
        vertex: one.vertex,
        subjects: one.subjects,
        objects: one.objects,
        edges: one.edges,
    });
    Statistics {
        quads: statistics.quads,
        predicates: predicates.collect(),
        classes: statistics.classes,
        out_sets: sets(statistics.out_sets),
        in_sets: sets(statistics.in_sets),
        named_graphs: statistics.named_graphs,
        type_vertex: statistics.type_vertex,
        complete_at: None,
    }
}

/// Walks a plan some times; its rows, and what the fastest time cost.
fn walked(
    cut: &LubmCut<'_>,
    lexicon: &Dictionary,
    plan: &Plan,
    ids: &[Option<VertexId>],
) -> (u64, Costs) {
    let setting = Setting {
        cut,
        lexicon,
        service: None,
        chunk_rows: 1024,
    };
    let rounds = (0..ROUNDS).map(|_| {
        let mut rows = 0;
        let costs = exchange::walk(&setting, plan, ids, &mut |chunk, _| rows += chunk.rows());
        (rows, costs.expect("it is walked"))
    });
    rounds.min_by_key(|(_, costs)| costs.total).expect("rounds")
}

type LubmCut<'s> = Cut<testkit::cut::Owned<'s, Snapshot>>;

fn print(name: &str, how: &str, parts: usize, (rows, costs): &(u64, Costs)) {
    let each = |time: Duration, rows: u64| time.as_nanos() as f64 / rows.max(1) as f64;
    let kept = |fetched: &Fetched| {
        format!(
            "{} keys, {} lists, {} kB",
            fetched.keys,
            fetched.lists,
            fetched.bytes / 1000
        )
    };
    println!(
        "{name} {how} parts {parts}: {rows} rows, {} sections, dealt {}, sent {} rows {} kB, {:.1} ns a row dealt; \
         second lists: {}; prepared: {}; else: {}; preparing {:.2?} dealing {:.2?} total {:.2?}",
        costs.sections,
        costs.dealt,
        costs.rows,
        costs.cells * 8 / 1000,
        each(costs.dealing, costs.dealt),
        kept(&costs.sides),
        kept(&costs.prepared),
        kept(&costs.walked),
        costs.preparing,
        costs.dealing,
        costs.total,
    );
}

#[test]
fn exchange_of_lubm() {
    let Ok(universities) = std::env::var("SOMERSAULT_LUBM") else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: SOMERSAULT_LUBM does not say how many universities are to be measured"
        );
        return;
    };
    let universities: u32 = universities.parse().expect("SOMERSAULT_LUBM is a number");
    let (snapshot, dictionary) = loaded(universities);
    let statistics = statistics(&snapshot);
    let kind = statistics.type_vertex.expect("LUBM has classes");
    let planner = Planner::new(statistics);
    for name in ["q1", "q2", "q3", "q7"] {
        let asked = queries::by_name(name).expect("a query of LUBM");
        let query = query::parse(asked.text, &ParseOptions::default()).expect("a query");
        let constants: Vec<_> = query.constants().iter().map(Term::as_ref).collect();
        let mut ids = Vec::new();
        dictionary
            .ids(&constants, &mut ids)
            .expect("a store in memory");
        let plan = planner.plan(&query, &ids, &[], PlanOptions::DEFAULT);
        let plan = plan.expect("a plan");
        for step in &plan.steps {
            println!("  {name} {}", step.action.name());
        }
        for parts in [1, 2, 3] {
            let placement = Placement {
                parts,
                shift: SHIFT,
                kind,
            };
            let cut = Cut::over(&snapshot, placement);
            for (how, plan) in [("fetched", plan.clone()), ("shipped", shipped(&plan))] {
                let result = walked(&cut, &dictionary, &plan, &ids);
                print(name, how, parts, &result);
                let expected = asked.rows(universities);
                assert!(expected.is_none_or(|rows| rows == result.0), "{expected:?}");
            }
        }
    }
}

//! A walk over a graph in parts: sections, and rows that are dealt out between them. One thread, no network.
//!
//! ```text
//!  node 0   [section 0]--.   .--[section 1]--.   .--[section 2: together]-- rows
//!  node 1   [section 0]---\-/---[section 1]---\-/
//!  node 2   [section 0]----X----[section 1]----'
//!                       dealt out by home
//! ```
//!
//! Every node prepares the same plan over its own view of the graph, once for each meaning that its questions may have
//! ([`Share`]), and walks a section over the rows that came to it. Rows are columns of ids; a term that exists in the query only
//! goes as its text. What stays on its node is not counted as sent.

use super::home::{Home, Homes, Place, Section};
use explore::environment::Service;
use explore::local::LocalTerms;
use explore::{Chunk, Environment, Limits, Options, Prepared, Status, Walk, WalkError, prepare};
use oxrdf::Term;
use query::plan::{Plan, Slot};
use rdf::{Lexicon, Tag, VertexId};
use std::cell::OnceCell;
use std::time::{Duration, Instant};
use store::view::GraphView;
use testkit::cut::Cut;
use testkit::federated::{Fetched, Ledger, Node, Purpose, Share};

/// Where rows meet, and a query was asked.
const ASKED: usize = 0;

const SHARES: [Share; 3] = [Share::Whole, Share::Keys, Share::Members];

/// What a plan is walked over, and with.
pub struct Setting<'s, P, L> {
    pub cut: &'s Cut<P>,
    pub lexicon: &'s L,
    pub service: Option<&'s dyn Service>,
    pub chunk_rows: usize,
}

/// What a walk cost besides the walking.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// Sections of the plan.
    pub sections: usize,
    /// Rows that came to a section, from whatever node.
    pub dealt: u64,
    /// Rows, and cells of them, that left their node.
    pub rows: u64,
    pub cells: u64,
    /// Terms that went as text.
    pub texts: u64,
    /// Time for dealing rows out, and for preparing, and in all.
    pub dealing: Duration,
    pub preparing: Duration,
    pub total: Duration,
    /// What was fetched while plans were prepared, for second lists, and for all else.
    pub prepared: Fetched,
    pub sides: Fetched,
    pub walked: Fetched,
}

/// Rows as columns; a table without columns is a count.
#[derive(Clone, Debug, Default)]
struct Table {
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
}

impl Table {
    fn append(&mut self, other: Table) {
        if self.columns.is_empty() {
            self.columns = other.columns;
        } else {
            for ((slot, cells), (other_slot, others)) in self.columns.iter_mut().zip(other.columns)
            {
                assert_eq!(*slot, other_slot, "nodes have the same columns");
                cells.extend(others);
            }
        }
        self.rows += other.rows;
    }

    fn take(&mut self, chunk: &Chunk) {
        if self.columns.is_empty() {
            self.columns = chunk.slots().map(|slot| (slot, Vec::new())).collect();
        }
        for (slot, cells) in &mut self.columns {
            cells.extend_from_slice(chunk.column(*slot).expect("chunks of a walk are alike"));
        }
        self.rows += chunk.rows();
    }

    /// The rows from `start`, at most so many, as a chunk.
    fn piece(&self, start: u64, rows: u64, width: usize) -> Chunk {
        let end = self.rows.min(start + rows);
        let range = start as usize..end as usize;
        let columns = self.columns.iter();
        let columns = columns.map(|(slot, cells)| (*slot, cells[range.clone()].to_vec()));
        Chunk::from_columns(width, end - start, columns).expect("columns are equally long")
    }

    /// The rows at these places.
    fn gather(&self, places: &[u32]) -> Table {
        let columns = self.columns.iter().map(|(slot, cells)| {
            let gathered = places.iter().map(|at| cells[*at as usize]);
            (*slot, gathered.collect())
        });
        Table {
            rows: places.len() as u64,
            columns: columns.collect(),
        }
    }
}

/// A plan prepared on every node, as far as it was needed.
struct Cluster<'a, P, L> {
    setting: &'a Setting<'a, P, L>,
    plan: &'a Plan,
    ids: &'a [Option<VertexId>],
    /// By node, and by share.
    views: &'a [Node<'a, P>],
    environments: &'a [Environment<'a>],
    prepared: Vec<OnceCell<Prepared<'a>>>,
    ledger: &'a Ledger,
}

/// Walks a plan and shows its rows. `each` gets them with the query's own terms.
pub fn walk<P: GraphView, L: Lexicon>(
    setting: &Setting<'_, P, L>,
    plan: &Plan,
    ids: &[Option<VertexId>],
    each: &mut dyn FnMut(&Chunk, &LocalTerms<'_>),
) -> Result<Costs, WalkError> {
    let started = Instant::now();
    let ledger = Ledger::default();
    let nodes = setting.cut.parts.len();
    let views: Vec<Node<'_, P>> = (0..nodes)
        .flat_map(|node| SHARES.map(|share| Node::new(setting.cut, node, share, &ledger)))
        .collect();
    let clock = || "2020-01-01T00:00:00Z".parse().expect("a moment");
    // Nodes with one seed would draw the same numbers for different rows.
    let environments: Vec<Environment<'_>> = (0..nodes as u64)
        .map(|node| Environment::new(&clock, node << 32, setting.service))
        .collect();
    let cluster = Cluster {
        setting,
        plan,
        ids,
        views: &views,
        environments: &environments,
        prepared: views.iter().map(|_| OnceCell::new()).collect(),
        ledger: &ledger,
    };
    let mut costs = cluster.walk(each)?;
    costs.total = started.elapsed();
    costs.prepared = ledger.fetched(Purpose::Preparing);
    costs.sides = ledger.fetched(Purpose::Sides);
    costs.walked = ledger.fetched(Purpose::Walking);
    Ok(costs)
}

impl<'a, P: GraphView, L: Lexicon> Cluster<'a, P, L> {
    fn nodes(&self) -> usize {
        self.environments.len()
    }

    fn prepared(&self, node: usize, share: Share) -> Result<&Prepared<'a>, WalkError> {
        let at = place_of(node, share);
        let place = &self.prepared[at];
        if place.get().is_none() {
            self.ledger.now(Purpose::Preparing);
            let environment = &self.environments[node];
            let made = prepare(
                self.plan,
                self.ids,
                &self.views[at],
                Limits::none(),
                environment,
            )?;
            assert!(place.set(made).is_ok(), "it was not there");
        }
        Ok(place.get().expect("it was made above"))
    }

    fn walk(&self, each: &mut dyn FnMut(&Chunk, &LocalTerms<'_>)) -> Result<Costs, WalkError> {
        let homes = Homes {
            plan: self.plan,
            ids: self.ids,
            kind: self.setting.cut.placement.kind,
        };
        let sections = homes.sections();
        let mut costs = Costs {
            sections: sections.len(),
            ..Costs::default()
        };
        for section in &sections {
            let started = Instant::now();
            for node in 0..self.nodes() {
                self.prepared(node, section.share)?;
            }
            costs.preparing += started.elapsed();
        }
        let mut tables: Vec<Option<Table>> = Vec::new();
        let mut share = sections[0].share;
        for section in &sections {
            let inbox = if section.steps.start == 0 {
                self.starts(section.place)
            } else {
                let from = std::mem::take(&mut tables);
                self.deal(from, section.place, [share, section.share], &mut costs)?
            };
            share = section.share;
            for (node, rows) in inbox.into_iter().enumerate() {
                let rows = rows.map(|rows| self.section(node, section, &rows));
                tables.push(rows.transpose()?);
            }
        }
        let mut tables = self.deal(tables, Place::Together, [share, share], &mut costs)?;
        let prepared = self.prepared(ASKED, share)?;
        if let Some(rows) = tables[ASKED].take().filter(|rows| rows.rows > 0) {
            each(
                &rows.piece(0, rows.rows, self.plan.variables.len()),
                prepared.locals(),
            );
        }
        Ok(costs)
    }

    /// Who makes the first row.
    fn starts(&self, place: Place) -> Vec<Option<Table>> {
        let is_start = |node: usize| match place {
            Place::Home(Home::All) => true,
            Place::Home(Home::Vertex(vertex)) => self.setting.cut.placement.owner(vertex) == node,
            Place::Home(Home::Column(_)) => unreachable!("the first row has no columns"),
            Place::Here | Place::Together => node == ASKED,
        };
        let nodes = 0..self.nodes();
        nodes
            .map(|node| is_start(node).then(Table::default))
            .collect()
    }

    /// Walks a section on a node over the rows that came to it.
    fn section(&self, node: usize, section: &Section, rows: &Table) -> Result<Table, WalkError> {
        let prepared = self.prepared(node, section.share)?;
        let view = &self.views[place_of(node, section.share)];
        let options = Options {
            chunk_rows: self.setting.chunk_rows,
            ..Options::default()
        };
        let (lexicon, steps) = (self.setting.lexicon, section.steps.clone());
        self.ledger.now(section.purpose);
        let before = self.ledger.fetched(Purpose::Walking).keys;
        let mut walk = Walk::section(prepared, view, lexicon, Limits::none(), options, steps);
        let (mut given, mut out, mut chunk) = (0, Table::default(), Chunk::new());
        loop {
            match walk.next(&mut chunk)? {
                Status::Rows => out.take(&chunk),
                Status::Yield => {}
                Status::Pending(_) => unreachable!("nodes let nobody wait"),
                Status::Done => break,
                Status::Starved if given == rows.rows || walk.is_satisfied() => walk.end_input(),
                Status::Starved => {
                    let width = self.plan.variables.len();
                    let mut piece = rows.piece(given, self.setting.chunk_rows as u64, width);
                    given += piece.rows();
                    walk.push(&mut piece)?;
                }
            }
        }
        let is_at_home = matches!(section.place, Place::Home(_)) && section.share == Share::Members;
        let after = self.ledger.fetched(Purpose::Walking).keys;
        assert!(
            !is_at_home || after == before,
            "a step at its home fetches nothing: {section:?}"
        );
        Ok(out)
    }

    /// Brings rows to where the next section is walked.
    fn deal(
        &self,
        from: Vec<Option<Table>>,
        place: Place,
        shares: [Share; 2],
        costs: &mut Costs,
    ) -> Result<Vec<Option<Table>>, WalkError> {
        let started = Instant::now();
        let mut inbox: Vec<Option<Table>> = (0..self.nodes()).map(|_| None).collect();
        if place == Place::Together {
            inbox[ASKED] = Some(Table::default());
        }
        for (node, table) in from.into_iter().enumerate() {
            let Some(table) = table.filter(|table| table.rows > 0) else {
                continue;
            };
            costs.dealt += table.rows;
            for (to, mut rows) in self.targets(node, table, place) {
                if to != node {
                    costs.rows += rows.rows;
                    costs.cells += rows.rows * rows.columns.len() as u64;
                }
                if to != node || shares[0] != shares[1] {
                    let between = [
                        self.prepared(node, shares[0])?,
                        self.prepared(to, shares[1])?,
                    ];
                    costs.texts += translate(&mut rows, between.map(Prepared::locals))?;
                }
                inbox[to].get_or_insert_default().append(rows);
            }
        }
        costs.dealing += started.elapsed();
        Ok(inbox)
    }

    /// Which rows of a node go to which.
    fn targets(&self, node: usize, table: Table, place: Place) -> Vec<(usize, Table)> {
        let placement = &self.setting.cut.placement;
        match place {
            Place::Here => vec![(node, table)],
            Place::Together => vec![(ASKED, table)],
            Place::Home(Home::Vertex(vertex)) => vec![(placement.owner(vertex), table)],
            Place::Home(Home::All) => (0..self.nodes()).map(|to| (to, table.clone())).collect(),
            Place::Home(Home::Column(slot)) => {
                let column = table.columns.iter().find(|(of, _)| *of == slot);
                let (_, cells) = column.expect("a home column is alive");
                let mut places: Vec<Vec<u32>> = vec![Vec::new(); self.nodes()];
                for (row, &vertex) in (0..).zip(cells) {
                    // What has no owner has nothing anywhere.
                    let stays = vertex.has_tag(Tag::QueryLocal);
                    let to = if stays { node } else { placement.owner(vertex) };
                    places[to].push(row);
                }
                let gathered = |(to, places): (usize, &Vec<u32>)| (to, table.gather(places));
                let places = places.iter().enumerate();
                let places = places.filter(|(_, places)| !places.is_empty());
                places.map(gathered).collect()
            }
        }
    }
}

/// Where a node's view of this share stands.
fn place_of(node: usize, share: Share) -> usize {
    let share = SHARES.iter().position(|one| *one == share);
    node * SHARES.len() + share.expect("shares are listed")
}

/// Gives terms that exist in the query only the ids that the receiver has for them; their number.
fn translate(rows: &mut Table, between: [&LocalTerms<'_>; 2]) -> Result<u64, WalkError> {
    let mut texts = 0;
    for (_, cells) in &mut rows.columns {
        let is_local = |cell: &&mut VertexId| cell.has_tag(Tag::QueryLocal);
        let mut places: Vec<&mut VertexId> = cells.iter_mut().filter(is_local).collect();
        if places.is_empty() {
            continue;
        }
        let text = |place: &&mut VertexId| between[0].term(**place).expect("a term of the query");
        let terms: Vec<Term> = places.iter().map(text).collect();
        let mut ids = Vec::new();
        between[1].ids_of(terms.iter().map(Term::as_ref), &mut ids)?;
        texts += terms.len() as u64;
        for (place, id) in places.iter_mut().zip(ids) {
            **place = id;
        }
    }
    Ok(texts)
}

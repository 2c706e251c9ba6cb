//! Which rows of a section go to which node, and how they are walked there.
//!
//! | mode | rows of a section with a home | |
//! |---|---|---|
//! | fork-join | to the owners of what they look at | what is looked at is never sent |
//! | in place | stay | what they look at is fetched |
//! | dynamic | whichever costs less, chunk by chunk | |
//!
//! **Cost** of a chunk: shipping it is a message for each other node that owns something of it, and its bytes; fetching is a
//! question and an answer for each, a key for each distinct vertex, and the neighbours that these are expected to have. Where
//! lists are read by a load there is no message: each distinct vertex is [`LOADS_A_LIST`] of them. What a message, a load and a
//! byte cost is the fabric's to say. A vertex with very many neighbours makes fetching dear by itself, because
//! the estimate is the planner's rows of the next step for each row that comes.

use super::outbox::{Outbox, Parcel, Target};
use super::table::Table;
use super::{At, Run, WINDOW};
use crate::held::Held;
use crate::home::Way;
use crate::message::Message;
use crate::terms::PartTerms;
use explore::local::LocalTerms;
use explore::{Chunk, Execution, WalkError};
use hashbrown::HashSet;
use query::plan::Slot;
use rdf::{NodeError, Tag, VertexId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::view::{GraphView, ViewError};

/// Bytes of cells after which the first table is sent to somebody, and how often that is doubled. Each that is full lets those after it
/// be twice as long: whoever waits for rows has some soon, and what wakes two threads is done less often where there are many.
const TABLE_BYTES: usize = 32 << 10;
const DOUBLINGS_MAX: u32 = 3;

/// Bytes that all nodes together may have under way to one section of a node, unless that is less than [`TABLE_BYTES`] a table.
const ARRIVING_BYTES: usize = 8 << 20;

/// Pieces that are read for a list: of its key's place, of its offsets, and the list ([`store::location`]).
const LOADS_A_LIST: f64 = 3.0;

impl Outbox {
    /// Takes a chunk of rows for the next section, and sends what is enough for a message.
    pub(crate) fn take<P, T>(
        &mut self,
        run: &Arc<Run<P, T>>,
        at: At,
        execution: &Execution,
        chunk: &Chunk,
        made: &mut u64,
    ) -> Result<(), WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        // What goes to all of them is there as often.
        let copies = u64::from(run.ground.placement().nodes());
        let cells = chunk.rows() * chunk.slots().count() as u64;
        let held = self.held.get_or_insert_with(|| Held::nothing(run.memory()));
        held.grow(cells * size_of::<VertexId>() as u64 * copies)?;
        self.deal(run, at, chunk);
        let most = longest_table(run.ground.placement().nodes());
        let doublings = &mut self.doublings;
        let is_full = |target: &Target, table: &mut Table| {
            let before = doublings.get(target).copied().unwrap_or(0);
            let is_full = table.bytes() >= (TABLE_BYTES << before).min(most);
            if is_full {
                doublings.insert(*target, DOUBLINGS_MAX.min(before + 1));
            }
            is_full
        };
        let full: Vec<(Target, Table)> = self.tables.extract_if(.., is_full).collect();
        self.pack(run, execution, full)?;
        self.flush_stuck(run, at, made)?;
        Ok(())
    }

    /// Sends all; `false`: somebody has no room.
    pub(crate) fn flush<P, T>(
        &mut self,
        run: &Arc<Run<P, T>>,
        at: At,
        execution: &Execution,
        made: &mut u64,
    ) -> Result<bool, WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let tables = std::mem::take(&mut self.tables);
        self.pack(run, execution, tables.into_iter().collect())?;
        self.flush_stuck(run, at, made)
    }

    /// Sends what nobody had room for; `false`: somebody has none yet.
    pub(crate) fn flush_stuck<P, T>(
        &mut self,
        run: &Arc<Run<P, T>>,
        at: At,
        made: &mut u64,
    ) -> Result<bool, WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        for _ in 0..self.stuck.len() {
            let Some((target, parcel)) = self.stuck.pop_front() else {
                break;
            };
            if !run.sends(at.section + 1, target.0, at) {
                self.stuck.push_back((target, parcel));
                continue;
            }
            *made += 1;
            send(run, at, target, parcel)?;
        }
        let bytes = self.bytes();
        if let Some(held) = &mut self.held {
            held.settle(bytes)?;
        }
        Ok(self.stuck.is_empty())
    }

    fn pack<P, T>(
        &mut self,
        run: &Arc<Run<P, T>>,
        execution: &Execution,
        tables: Vec<(Target, Table)>,
    ) -> Result<(), WalkError>
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        if tables.is_empty() {
            return Ok(());
        }
        let here = run.ground.here();
        let bytes_max = run.ground.fabric().facts().limits.message_bytes_max / 2;
        let stuck = &mut self.stuck;
        let packed = execution.prepared(|prepared| {
            for (target, table) in tables {
                pack_one(
                    target,
                    table,
                    prepared.locals(),
                    target.0 == here,
                    bytes_max,
                    stuck,
                )?;
            }
            Ok::<(), String>(())
        });
        let packed = packed.expect("it gave rows, so it is prepared");
        packed.map_err(|what| ViewError::Elsewhere(Box::new(NodeError::fault(here, what))).into())
    }

    /// Puts the rows of a chunk where they go.
    fn deal<P, T>(&mut self, run: &Arc<Run<P, T>>, at: At, chunk: &Chunk)
    where
        P: GraphView + Send + Sync + 'static,
        T: PartTerms,
    {
        let here = run.ground.here();
        let placement = run.ground.placement();
        let next = &run.sections[at.section + 1];
        let mut all_to = |target: Target| self.tables.entry(target).or_default().append(chunk);
        let (slot, is_chosen) = match next.way(run.mode, placement.nodes()) {
            Way::Stays => return all_to((here, at.in_place)),
            Way::Meets => return all_to((run.id.home, false)),
            Way::Fetches => return all_to((here, true)),
            Way::Spreads => {
                return (0..placement.nodes()).for_each(|node| all_to((node, false)));
            }
            Way::ToOwner(vertex) => return all_to((placement.owner(vertex), false)),
            Way::ToOwners(slot) => (slot, false),
            Way::Chosen(slot) => (slot, true),
        };
        let places = by_owner(run, chunk, slot);
        let fetches = is_chosen && is_fetching_cheaper(run, at, chunk, slot, &places);
        for (node, places) in places {
            let target = if fetches {
                (here, node != here)
            } else {
                (node, false)
            };
            let table = self.tables.entry(target).or_default();
            table.gather(chunk, &places);
        }
    }
}

/// Bytes of a table, at most, where so many nodes may send some to one section of one of them.
fn longest_table(nodes: u16) -> usize {
    TABLE_BYTES.max(ARRIVING_BYTES / (usize::from(nodes) * WINDOW))
}

/// The rows of a chunk by the owner of a column's vertex.
fn by_owner<P, T>(run: &Arc<Run<P, T>>, chunk: &Chunk, slot: Slot) -> BTreeMap<u16, Vec<u32>>
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    let here = run.ground.here();
    let placement = run.ground.placement();
    let cells = chunk.column(slot).expect("a home column is alive");
    let mut places: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for (row, &vertex) in (0..).zip(cells) {
        // What has no owner has nothing anywhere.
        let stays = vertex.has_tag(Tag::QueryLocal) || vertex.is_unbound();
        let owner = if stays { here } else { placement.owner(vertex) };
        places.entry(owner).or_default().push(row);
    }
    places
}

/// Whether what rows of other owners need is cheaper to bring than the rows are to send.
fn is_fetching_cheaper<P, T>(
    run: &Arc<Run<P, T>>,
    at: At,
    chunk: &Chunk,
    slot: Slot,
    places: &BTreeMap<u16, Vec<u32>>,
) -> bool
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    let here = run.ground.here();
    let cells = chunk.column(slot).expect("a home column is alive");
    let away = places.iter().filter(|(node, _)| **node != here);
    let rows: Vec<u32> = away
        .clone()
        .flat_map(|(_, rows)| rows.iter().copied())
        .collect();
    if rows.is_empty() {
        return false;
    }
    let vertices = rows.iter().map(|row| cells[*row as usize]);
    let distinct = vertices.collect::<HashSet<VertexId>>().len();
    let steps = &run.plan().steps;
    let step = run.sections[at.section + 1].steps.start;
    let arriving = step
        .checked_sub(1)
        .map_or(1.0, |before| steps[before].estimate.rows);
    let leaving = steps.get(step).map_or(1.0, |step| step.estimate.rows);
    let neighbours = (leaving / arriving.max(1.0)).clamp(0.0, 1e9) * rows.len() as f64;
    let facts = run.ground.fabric().facts();
    let nodes = away.count() as f64;
    let per_byte = facts.ns_per_kib as f64 / 1024.0;
    let message = facts.round_trip_ns as f64 / 2.0;
    let width = chunk.slots().count() as f64;
    let ships = nodes * message + rows.len() as f64 * width * 8.0 * per_byte;
    let asks = match facts.load_ns.filter(|_| run.ground.reads_by_load()) {
        Some(load_ns) => distinct as f64 * LOADS_A_LIST * load_ns as f64,
        None => nodes * 2.0 * message,
    };
    let fetches = asks + (distinct as f64 * 12.0 + neighbours * 4.0) * per_byte;
    fetches < ships
}

fn pack_one(
    target: Target,
    table: Table,
    locals: &LocalTerms<'_>,
    is_here: bool,
    bytes_max: usize,
    into: &mut VecDeque<(Target, Parcel)>,
) -> Result<(), String> {
    if is_here {
        into.push_back((target, Parcel::Here(table.pass(locals)?)));
        return Ok(());
    }
    let mut bytes = Vec::new();
    let encoded = table.encode(locals, &mut bytes);
    encoded.map_err(|error| error.to_string())?;
    if bytes.len() > bytes_max && table.rows > 1 && !table.columns.is_empty() {
        // Long texts: half of the rows each.
        for half in table.halves() {
            pack_one(target, half, locals, is_here, bytes_max, into)?;
        }
        return Ok(());
    }
    into.push_back((target, Parcel::Bytes(table.rows, bytes)));
    Ok(())
}

fn send<P, T>(
    run: &Arc<Run<P, T>>,
    at: At,
    (to, in_place): Target,
    parcel: Parcel,
) -> Result<(), WalkError>
where
    P: GraphView + Send + Sync + 'static,
    T: PartTerms,
{
    let here = run.ground.here();
    let section = at.section + 1;
    match parcel {
        Parcel::Here(rows) => {
            if in_place {
                run.ships(at, |shipped| shipped.kept += rows.count);
            }
            let accepted = run.accept(here, At { section, in_place }, rows);
            accepted.map_err(|failure| ViewError::from(failure).into())
        }
        Parcel::Bytes(count, rows) => {
            if let Some(damage) = run.ground.part().damage() {
                // Before they leave: a LIMIT may be reached by them, and then nobody waits for what this node says later.
                return Err(damage.into());
            }
            let is_answer = run.is_last(section);
            run.ships(at, |shipped| {
                shipped.tables += 1;
                let counted = if is_answer {
                    &mut shipped.answer
                } else {
                    &mut shipped.rows
                };
                *counted += count;
                shipped.bytes += rows.len() as u64;
            });
            let message = Message::Rows {
                query: run.id,
                section: section as u32,
                in_place,
                rows,
            };
            let sent = run.ground.send(to, &message);
            sent.map_err(|failure| ViewError::from(failure).into())
        }
    }
}

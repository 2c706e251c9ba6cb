//! Rooms: what a section needs while it is there, as many as there may be at once, taken before the first of them.
//!
//! Taking memory of a device, and of the host for it, costs as much as a walk; so no query does. A room has a stream of its own,
//! so sections run beside each other, and keeps the graphs of the programs that were last in it: the same kernels over the same
//! places of its block are the same graph, whatever their arguments are. Making one costs several launches.
//!
//! Invariant: a room in which something may still run is taken by nobody before that has ended, and the segments that it
//! looks at stay where they are until then.

use crate::cache::{Lease, Pages};
use device::{Device, DeviceError, Graph, HostRegion, Kernel, Mark, Region, Stream};
use std::cmp::Reverse;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a section's arguments, at most: some eighty launches. As many as there are are copied.
pub(crate) const ARGUMENT_BYTES: u64 = 256 << 10;

/// Bytes for what the device tells the host.
const POSTED_BYTES: u64 = 64;

/// Bytes of each of the two places in the host's memory by which rows are read, for so many of tables.
fn reading_bytes(tables: u64) -> u64 {
    (tables / 64).clamp(4 << 10, 1 << 20)
}

/// Graphs that a room keeps.
const GRAPHS: usize = 32;

/// A kernel of a graph, its blocks, and where its arguments lie.
pub(crate) type Call = (Kernel, u32, usize);

/// See the head of this file.
pub(crate) struct Rooms {
    /// Bytes for tables in each.
    tables: u64,
    places: Arc<Mutex<Vec<Place>>>,
}

/// What may run in a room.
enum Running {
    Nothing,
    /// Until the mark has passed.
    Until(Mark),
    /// Something that has no mark: nobody takes the room any more.
    Unknown,
}

/// What is in a room.
struct Place {
    /// Whose, and which of them it is.
    device: Arc<dyn Device>,
    number: usize,
    stream: Stream,
    tables: Region,
    block: Region,
    staged: HostRegion,
    posted: HostRegion,
    reading: [HostRegion; 2],
    loading: HostRegion,
    /// The last one used is the last.
    graphs: Vec<(Vec<Call>, u64, Graph)>,
    running: Running,
    /// What is looked at.
    lease: Option<Lease>,
}

/// The room of one section, given back when it is dropped.
pub(crate) struct Room {
    /// There until it is given back.
    place: Option<Place>,
    home: Arc<Mutex<Vec<Place>>>,
}

impl Rooms {
    /// Takes so many rooms on each device, with so many bytes for tables each.
    pub(crate) fn new(
        devices: &[Arc<dyn Device>],
        count: usize,
        tables: u64,
    ) -> Result<Rooms, DeviceError> {
        let place = |(number, device): (usize, &Arc<dyn Device>)| {
            let reading = || device.stage(reading_bytes(tables));
            Ok(Place {
                device: Arc::clone(device),
                number,
                stream: device.stream()?,
                tables: device.region(tables)?,
                block: device.region(ARGUMENT_BYTES)?,
                staged: device.stage(ARGUMENT_BYTES)?,
                posted: device.stage(POSTED_BYTES)?,
                reading: [reading()?, reading()?],
                loading: reading()?,
                graphs: Vec::new(),
                running: Running::Nothing,
                lease: None,
            })
        };
        let all = (0..count).flat_map(|_| devices.iter().enumerate());
        let places: Vec<Place> = all.map(place).collect::<Result<_, DeviceError>>()?;
        Ok(Rooms {
            tables,
            places: Arc::new(Mutex::new(places)),
        })
    }

    /// Bytes for tables in each.
    pub(crate) fn tables(&self) -> u64 {
        self.tables
    }

    /// A room, where one is free: on this device, or on one that has most of them free.
    pub(crate) fn take(&self, on: Option<usize>) -> Option<Room> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = |place: &Place| match &place.running {
            Running::Nothing => true,
            Running::Until(mark) => place.device.has_passed(mark).unwrap_or(false),
            Running::Unknown => false,
        };
        let free: Vec<usize> = (0..places.len())
            .filter(|at| on.is_none_or(|number| places[*at].number == number))
            .filter(|at| has_ended(&places[*at]))
            .collect();
        let beside = |at: &usize| {
            let number = places[*at].number;
            free.iter()
                .filter(|it| places[**it].number == number)
                .count()
        };
        // Of equal ones a room of the first, where segments are put first; of its rooms the last: its graphs were used last.
        let free = *free
            .iter()
            .max_by_key(|at| (beside(at), Reverse(places[**at].number)))?;
        let mut place = places.remove(free);
        place.running = Running::Nothing;
        place.lease = None;
        Some(Room {
            place: Some(place),
            home: Arc::clone(&self.places),
        })
    }
}

impl Room {
    /// Keeps segments where they are for as long as something may run in it.
    pub(crate) fn keep(&mut self, lease: Lease) {
        self.place_mut().lease = Some(lease);
    }

    /// How what runs in it finds segments, where one of them lies in pages.
    pub(crate) fn pages(&self) -> Option<Pages> {
        self.place().lease.as_ref().and_then(Lease::pages)
    }

    /// Whose it is.
    pub(crate) fn device(&self) -> &Arc<dyn Device> {
        &self.place().device
    }

    /// Which of the devices that is.
    pub(crate) fn number(&self) -> usize {
        self.place().number
    }

    /// Where its work is done, in order.
    pub(crate) fn stream(&self) -> &Stream {
        &self.place().stream
    }

    /// Memory for its tables.
    pub(crate) fn tables(&self) -> &Region {
        &self.place().tables
    }

    /// Memory of the device for its arguments.
    pub(crate) fn block(&self) -> &Region {
        &self.place().block
    }

    /// Memory of the host from which they are copied.
    pub(crate) fn staged(&self) -> &HostRegion {
        &self.place().staged
    }

    /// Memory of the host in which the outcome is posted.
    pub(crate) fn posted(&self) -> &HostRegion {
        &self.place().posted
    }

    /// Memory of the host through which rows are read, in turns.
    pub(crate) fn reading(&self) -> &[HostRegion; 2] {
        &self.place().reading
    }

    /// Memory of the host through which rows are loaded.
    pub(crate) fn loading(&self) -> &HostRegion {
        &self.place().loading
    }

    /// The graph of these calls over so many bytes of arguments: one that is kept, or what `record` makes.
    pub(crate) fn graph(
        &mut self,
        (calls, bytes): (Vec<Call>, u64),
        record: impl FnOnce(&Room) -> Result<Graph, DeviceError>,
    ) -> Result<Graph, DeviceError> {
        let kept = &mut self.place_mut().graphs;
        if let Some(at) = kept
            .iter()
            .position(|(known, length, _)| *known == calls && *length == bytes)
        {
            kept[at..].rotate_left(1);
        } else {
            let graph = record(self)?;
            let kept = &mut self.place_mut().graphs;
            if kept.len() == GRAPHS {
                kept.remove(0);
            }
            kept.push((calls, bytes, graph));
        }
        let last = self.place().graphs.last();
        Ok(last.expect("one was just put there").2.clone())
    }

    /// Something begins to run in it.
    pub(crate) fn begins(&mut self) {
        self.place_mut().running = Running::Unknown;
    }

    /// It runs until the mark has passed, whoever waits for it.
    pub(crate) fn runs_until(&mut self, mark: Mark) {
        self.place_mut().running = Running::Until(mark);
    }

    /// It has ended.
    pub(crate) fn has_ended(&mut self) {
        self.place_mut().running = Running::Nothing;
    }

    fn place(&self) -> &Place {
        self.place.as_ref().expect("it is given back by dropping")
    }

    fn place_mut(&mut self) -> &mut Place {
        self.place.as_mut().expect("it is given back by dropping")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(mut place) = self.place.take() {
            if matches!(place.running, Running::Nothing) {
                place.lease = None;
            }
            let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
            home.push(place);
        }
    }
}

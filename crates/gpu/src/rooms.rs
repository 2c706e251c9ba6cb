//! Rooms: what a section needs while it is there, as many as there may be at once, taken before the first of them.
//!
//! Taking memory of a device, and of the host for it, costs as much as a walk; so no query does.

use device::{Device, DeviceError, HostRegion, Region};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a section's arguments, at most: some forty steps.
pub(crate) const ARGUMENT_BYTES: u64 = 64 << 10;

/// Bytes for what the device tells the host.
const POSTED_BYTES: u64 = 64;

/// See the head of this file.
pub(crate) struct Rooms(Arc<Mutex<Vec<Place>>>);

/// What is in a room.
struct Place {
    tables: Region,
    block: Region,
    staged: HostRegion,
    posted: HostRegion,
}

/// The room of one section, given back when it is dropped.
pub(crate) struct Room {
    /// There until it is given back.
    place: Option<Place>,
    home: Arc<Mutex<Vec<Place>>>,
}

impl Rooms {
    /// Takes so many rooms, with so many bytes for tables each.
    pub(crate) fn new(
        device: &dyn Device,
        count: usize,
        tables: u64,
    ) -> Result<Rooms, DeviceError> {
        let place = |_| {
            Ok(Place {
                tables: device.region(tables)?,
                block: device.region(ARGUMENT_BYTES)?,
                staged: device.stage(ARGUMENT_BYTES)?,
                posted: device.stage(POSTED_BYTES)?,
            })
        };
        let places: Vec<Place> = (0..count).map(place).collect::<Result<_, DeviceError>>()?;
        Ok(Rooms(Arc::new(Mutex::new(places))))
    }

    /// A room, where one is free.
    pub(crate) fn take(&self) -> Option<Room> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Room {
            place: Some(places.pop()?),
            home: Arc::clone(&self.0),
        })
    }
}

impl Room {
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

    fn place(&self) -> &Place {
        self.place.as_ref().expect("it is given back by dropping")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
            home.push(place);
        }
    }
}

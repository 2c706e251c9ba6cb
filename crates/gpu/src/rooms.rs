//! Rooms for tables: as many as sections may be there at once, taken before the first of them.

use device::{Device, DeviceError, Region};
use std::sync::{Arc, Mutex, PoisonError};

/// See the head of this file.
pub(crate) struct Rooms(Arc<Mutex<Vec<Region>>>);

/// Memory for the tables of one section, given back when it is dropped.
pub(crate) struct Room {
    region: Region,
    home: Arc<Mutex<Vec<Region>>>,
}

impl Rooms {
    /// Takes the memory for so many rooms.
    pub(crate) fn new(device: &dyn Device, count: usize, bytes: u64) -> Result<Rooms, DeviceError> {
        let regions = (0..count).map(|_| device.region(bytes));
        let regions: Vec<Region> = regions.collect::<Result<_, _>>()?;
        Ok(Rooms(Arc::new(Mutex::new(regions))))
    }

    /// A room, where one is free.
    pub(crate) fn take(&self) -> Option<Room> {
        let region = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()?;
        Some(Room {
            region,
            home: Arc::clone(&self.0),
        })
    }
}

impl Room {
    /// Its memory.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        home.push(self.region.clone());
    }
}

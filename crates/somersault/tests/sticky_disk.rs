//! A disk on which a test holds up whoever opens the files of a generation: a follower, or a checkpoint that has
//! written them and does not show them yet.

#![allow(clippy::unwrap_used)]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use store::disk::{AppendFile, Disk, DiskLock, RealDisk, SectorFile};

/// A disk whose files cannot be mapped for as long as it is stuck.
#[derive(Default)]
pub struct StickyDisk {
    is_stuck: Mutex<bool>,
    freed: Condvar,
    waiting: AtomicBool,
}

impl StickyDisk {
    /// Lets files be mapped no more, or again.
    pub fn set(&self, is_stuck: bool) {
        *self.is_stuck.lock().unwrap() = is_stuck;
        self.freed.notify_all();
    }

    /// Whether somebody waits for a file.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst)
    }
}

impl Disk for StickyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        RealDisk.create(path)
    }
    fn map(&self, path: &Path) -> io::Result<memory::Region> {
        // CURRENT is looked at all the time.
        if path.extension().is_some() {
            let stuck = self.is_stuck.lock().unwrap();
            self.waiting.store(*stuck, Ordering::SeqCst);
            drop(self.freed.wait_while(stuck, |stuck| *stuck).unwrap());
        }
        RealDisk.map(path)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(path)
    }
    fn open_sectors(&self, path: &Path) -> io::Result<Box<dyn SectorFile>> {
        RealDisk.open_sectors(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_file(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskLock>> {
        RealDisk.lock(path)
    }
}

//! The disk of this machine.
//!
//! **The writers' lock** is two: on its file, and on the directory that the file is in. Whoever removes the file
//! of a lock that is held would let somebody else lock its successor; the directory cannot be removed while
//! there is something in it. A file system that does not lock directories (NFS, where a lock needs a file that
//! is open for writing) leaves the lock on the file.

use super::{AppendFile, Disk, DiskLock, Folder, Reserve, SECTOR_BYTES, SectorFile};
use memory::Region;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// Files and directories of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

struct RealFile(File);

struct RealLock {
    /// The lock lasts as long as the open file.
    file: File,
    _directory: Option<File>,
}

struct RealReserve {
    _files: Vec<File>,
}

impl Reserve for RealReserve {}

impl AppendFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn cut(&mut self, length_bytes: u64) -> io::Result<()> {
        self.0.set_len(length_bytes)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_at(&self.0, path)
    }
}

struct RealSectors(File);

impl SectorFile for RealSectors {
    fn write(&mut self, sector: usize, bytes: &[u8]) -> io::Result<()> {
        assert!(bytes.len() <= SECTOR_BYTES, "a sector at a time");
        write_at(&mut self.0, bytes, (sector * SECTOR_BYTES) as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl DiskLock for RealLock {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_at(&self.file, path)
    }
}

struct RealFolder(File);

impl Folder for RealFolder {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_at(&self.0, path)
    }
}

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn map(&self, path: &Path) -> io::Result<Region> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        Region::map(&file)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn open_sectors(&self, path: &Path) -> io::Result<Box<dyn SectorFile>> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Box::new(RealSectors(file)))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        // Any open file of the same bytes will do on every platform we build for.
        File::open(path)?.sync_data()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // A directory is opened and synced like a file on every platform we build for.
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskLock>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => Ok(Box::new(RealLock {
                file,
                _directory: lock_directory(path)?,
            })),
            Err(TryLockError::Error(error)) => Err(error),
            // A file that its holder removed between opening and locking locks nothing any more.
            Ok(()) | Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    #[cfg(unix)]
    fn folder(&self, path: &Path) -> io::Result<Box<dyn Folder>> {
        Ok(Box::new(RealFolder(File::open(path)?)))
    }

    #[cfg(unix)]
    fn reserve(&self, descriptors: usize) -> io::Result<Box<dyn Reserve>> {
        let files = (0..descriptors).map(|_| File::open("/dev/null"));
        let files = files.collect::<io::Result<_>>()?;
        Ok(Box::new(RealReserve { _files: files }))
    }
}

/// Locks the directory that a lock's file is in, where its file system can do that.
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let directory = path.parent().filter(|above| !above.as_os_str().is_empty());
    let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) else {
        return Ok(None);
    };
    match directory.try_lock() {
        Ok(()) => Ok(Some(directory)),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Overwrites bytes of a file.
#[cfg(unix)]
fn write_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Overwrites bytes of a file.
#[cfg(not(unix))]
fn write_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    io::Seek::seek(file, io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// Whether this open file is still the one at the path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(error),
        },
    }
}

/// Elsewhere a file that is open is not removed.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_once_mapped_and_locked() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let disk = RealDisk;
        let mut file = disk.create(&path("a")).unwrap();
        file.append(b"some").unwrap();
        file.append(b"thing").unwrap();
        file.sync().unwrap();
        assert_eq!(
            disk.create(&path("a")).err().unwrap().kind(),
            io::ErrorKind::AlreadyExists
        );
        disk.rename(&path("a"), &path("b")).unwrap();
        disk.create_dir(&path("d")).unwrap();
        disk.sync_dir(dir.path()).unwrap();
        assert_eq!(disk.list(dir.path()).unwrap(), ["b", "d"]);
        assert_eq!(disk.map(&path("b")).unwrap().bytes(), b"something");
        assert!(disk.map(&path("d")).is_err());
        let lock = disk.lock(&path("l")).unwrap();
        assert_eq!(
            disk.lock(&path("l")).err().unwrap().kind(),
            io::ErrorKind::WouldBlock
        );
        drop(lock);
        disk.lock(&path("l")).unwrap();
        // What is open and what its path names are two things.
        assert!(file.is_at(&path("b")).unwrap());
        assert!(!file.is_at(&path("a")).unwrap());
        assert!(!file.is_at(&path("b/c")).unwrap());
        assert!(!file.is_at(&path("d")).unwrap());
        file.cut(4).unwrap();
        assert_eq!(disk.map(&path("b")).unwrap().bytes(), b"some");
        let lock = disk.lock(&path("l")).unwrap();
        assert!(lock.is_at(&path("l")).unwrap());
        disk.remove_file(&path("l")).unwrap();
        assert!(!lock.is_at(&path("l")).unwrap());
        let second = disk.lock(&path("l")).err().unwrap().kind();
        assert_eq!(second, io::ErrorKind::WouldBlock, "its directory is locked");
        drop(lock);
        drop(disk.lock(&path("l")).unwrap());
        assert!(disk.reserve(3).is_ok());
        disk.remove_file(&path("b")).unwrap();
        assert!(!file.is_at(&path("b")).unwrap());
        let folder = disk.folder(&path("d")).unwrap();
        assert!(folder.is_at(&path("d")).unwrap());
        disk.remove_dir(&path("d")).unwrap();
        assert!(!folder.is_at(&path("d")).unwrap());
        disk.create_dir(&path("d")).unwrap();
        assert!(!folder.is_at(&path("d")).unwrap(), "it is another one");
        disk.remove_dir(&path("d")).unwrap();
        assert_eq!(disk.list(dir.path()).unwrap(), ["l"]);
    }
}

//! What the simulated disk forgets, and what it must not.

use super::*;

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, Path::new("/s"), SimFaults::default())
}

fn write(disk: &SimDisk, path: &str, bytes: &[u8], sync: bool) {
    let mut file = disk.create(Path::new(path)).unwrap();
    file.append(bytes).unwrap();
    if sync {
        file.sync().unwrap();
    }
}

#[test]
fn what_is_synced_survives_and_what_is_not_may_not() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..100 {
        let old = disk(seed);
        write(&old, "/s/a", b"synced", true);
        old.sync_dir(Path::new("/s")).unwrap();
        write(&old, "/s/b", &[7; 4000], false);
        write(&old, "/s/c", b"synced but nameless", true);
        let new = old.restart(SimFaults::default());
        assert_eq!(new.map(Path::new("/s/a")).unwrap().bytes(), b"synced");
        match new.map(Path::new("/s/b")) {
            Err(_) => lost += 1,
            Ok(region) if region.bytes() == [7; 4000] => kept += 1,
            Ok(_) => torn += 1,
        }
        if let Ok(region) = new.map(Path::new("/s/c")) {
            assert_eq!(region.bytes(), b"synced but nameless");
        }
        assert!(old.list(Path::new("/s")).is_err());
    }
    assert!(
        lost > 20 && torn > 20,
        "kept {kept}, lost {lost}, torn {torn}"
    );
}

#[test]
fn an_overwritten_sector_is_found_as_it_was_at_some_moment() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let old = disk(seed);
        write(&old, "/s/a", &[0; 1024], true);
        old.sync_dir(Path::new("/s")).unwrap();
        let mut file = old.open_sectors(Path::new("/s/a")).unwrap();
        file.write(0, b"synced").unwrap();
        file.sync().unwrap();
        file.write(0, b"second").unwrap();
        file.write(1, b"beside").unwrap();
        file.write(0, b"latest").unwrap();
        let found = old.restart(SimFaults::default());
        let bytes = found.read(Path::new("/s/a")).unwrap();
        seen.insert((bytes[..6].to_vec(), bytes[512] != 0));
        assert_eq!(bytes.len(), 1024);
    }
    assert_eq!(
        seen.len(),
        6,
        "three states of one sector, two of the other"
    );
}

#[test]
fn a_rename_happens_whole_or_not_at_all() {
    let mut seen = BTreeSet::new();
    for seed in 0..50 {
        let old = disk(seed);
        write(&old, "/s/current", b"old", true);
        write(&old, "/s/next", b"new", true);
        old.sync_dir(Path::new("/s")).unwrap();
        old.rename(Path::new("/s/next"), Path::new("/s/current"))
            .unwrap();
        let new = old.restart(SimFaults::default());
        seen.insert(new.map(Path::new("/s/current")).unwrap().bytes().to_vec());
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn files_in_a_directory_whose_name_was_lost_are_lost() {
    for seed in 0..20 {
        let old = disk(seed);
        old.create_dir(Path::new("/s/d")).unwrap();
        write(&old, "/s/d/a", b"a", true);
        old.sync_dir(Path::new("/s/d")).unwrap();
        let new = old.restart(SimFaults::default());
        let has_dir = new.list(Path::new("/s")).unwrap() == ["d"];
        assert_eq!(new.map(Path::new("/s/d/a")).is_ok(), has_dir);
    }
}

#[test]
fn faults_come_when_told() {
    let faults = SimFaults {
        error_at_call: Some((2, io::ErrorKind::PermissionDenied)),
        ..SimFaults::default()
    };
    let disk = SimDisk::new(0, Path::new("/s"), faults);
    let mut file = disk.create(Path::new("/s/a")).unwrap();
    assert_eq!(
        file.append(b"x").unwrap_err().kind(),
        io::ErrorKind::PermissionDenied
    );
    file.append(b"x").unwrap();

    let faults = SimFaults {
        capacity_bytes: Some(3),
        ..SimFaults::default()
    };
    let disk = SimDisk::new(0, Path::new("/s"), faults);
    let mut file = disk.create(Path::new("/s/a")).unwrap();
    assert_eq!(
        file.append(b"four").unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    assert_eq!(disk.map(Path::new("/s/a")).unwrap().bytes(), b"fou");

    let faults = SimFaults {
        power_cut_at_sync: Some(2),
        ..SimFaults::default()
    };
    let disk = SimDisk::new(0, Path::new("/s"), faults);
    let mut file = disk.create(Path::new("/s/a")).unwrap();
    file.sync().unwrap();
    assert!(disk.sync_dir(Path::new("/s")).is_err() && disk.is_off());
    assert!(file.append(b"x").is_err());
}

#[test]
fn one_holder_of_a_lock() {
    let disk = disk(0);
    let lock = disk.lock(Path::new("/s/l")).unwrap();
    assert!(disk.lock(Path::new("/s/l")).is_err());
    drop(lock);
    assert!(disk.lock(Path::new("/s/l")).is_ok());
    assert_eq!(disk.list(Path::new("/s")).unwrap(), ["l"]);
}

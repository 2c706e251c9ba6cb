//! Power cuts at every call of a copy: what is left is a store that is whole and said to be finished, or a
//! directory that nobody opens and the next copy writes anew.

use somersault::backup::{CopyError, backup_on};
use somersault::{Database, Options, UpdateRequest};
use std::path::Path;
use std::sync::Arc;
use store::directory::is_unfinished;
use store::disk::{Disk, SimDisk, SimFaults};
use testkit::seeds;

const STORE: &str = "/disk/store";
const COPY: &str = "/disk/copy";

fn quads(disk: &SimDisk, place: &str) -> Result<u64, String> {
    let opened = Database::open_on(disk, Path::new(place), &Options::default());
    let database = opened.map_err(|error| error.to_string())?;
    let verified = database.wait_until_verified();
    verified.map_err(|error| error.to_string())?;
    Ok(database.summary().quads)
}

fn store(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed, Path::new("/disk"), SimFaults::default());
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let opened = Database::open_writable_on(shared, Path::new(STORE), &Options::default());
    let database = opened.expect("it is made");
    for number in 0..5 {
        let text = format!("INSERT DATA {{ <http://e/s> <http://e/p> {number} }}");
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&request).expect("it is taken");
    }
    drop(database);
    disk
}

fn copy(disk: &SimDisk) -> Result<u64, CopyError> {
    let copied = backup_on(
        disk,
        Path::new(STORE),
        Path::new(COPY),
        &Options::default(),
        &|| false,
    );
    copied.map(|copied| copied.quads)
}

#[test]
fn a_copy_that_was_cut_off_is_made_again() {
    let (mut finished, mut unfinished, mut committed) = (0, 0, 0);
    for seed in seeds::chosen(2, 40) {
        let mut call = 0;
        loop {
            call += 1;
            let disk = store(seed ^ (call << 32)).restart(SimFaults::default());
            disk.set_faults(SimFaults {
                power_cut_at_call: Some(disk.calls() + call),
                ..SimFaults::default()
            });
            let is_done = copy(&disk).is_ok();
            let case = format!("SOMERSAULT_SEED={seed}, cut at call {call}");
            let disk = disk.restart(SimFaults::default());
            let place = Path::new(COPY);
            if is_unfinished(&disk, place) {
                assert!(!is_done, "{case}: finished means finished");
                let error = quads(&disk, COPY).expect_err("nobody opens it");
                assert!(error.contains("was not finished"), "{case}: {error}");
                committed += u32::from(disk.exists(&place.join("CURRENT")));
                unfinished += 1;
            }
            if disk.exists(&place.join("CURRENT")) && !is_unfinished(&disk, place) {
                let error = copy(&disk).expect_err("a store is not written over");
                assert!(error.is_taken(), "{case}: {error}");
                finished += 1;
            } else {
                let copied = copy(&disk).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(copied, 5, "{case}");
            }
            assert_eq!(quads(&disk, COPY), Ok(5), "{case}");
            let names = disk.list(place).expect("it is there");
            assert_eq!(names.len(), 3, "{case}: {names:?}");
            if is_done {
                break;
            }
        }
    }
    assert!(
        finished >= 2 && unfinished > 20 && committed > 2,
        "{finished}, {unfinished}, {committed}"
    );
}

#[test]
fn what_is_not_of_a_copy_is_left_alone() {
    let disk = store(1);
    let place = Path::new(COPY);
    disk.create_dir(place).expect("it is free");
    let mark = place.join("UNFINISHED");
    let put = |path: &Path, text: &[u8]| {
        let mut file = disk.create(path).expect("the name is free");
        file.append(text).expect("there is room");
    };
    put(&mark, b"A list of what is left to do.\n");
    let error = copy(&disk).expect_err("it is somebody else's");
    assert!(
        error.is_taken() && error.to_string().contains("UNFINISHED"),
        "{error}"
    );
    disk.remove_file(&mark).expect("it is there");
    // As a killed copy leaves it, and something beside that.
    put(
        &mark,
        b"A backup or restore into this directory was not finished; run it again.\n",
    );
    put(&place.join("holiday.jpg"), b"sea");
    let error = copy(&disk).expect_err("there is something else");
    assert!(
        error.is_taken() && error.to_string().contains("holiday.jpg"),
        "{error}"
    );
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let opened = Database::open_writable_on(shared, place, &Options::default());
    assert!(opened.is_err(), "it is not made a store");
    disk.remove_file(&place.join("holiday.jpg"))
        .expect("it is there");
    assert_eq!(copy(&disk).expect("nothing is in the way"), 5);
}

/// A mark that is not whole stands alone, because nothing is written before it is durable. Beside a store it is
/// a file that somebody else left there: the store is opened, what is missing of it is told, and no copy is
/// made over it.
#[test]
fn a_stray_file_is_not_the_mark_of_a_copy() {
    for text in [&b""[..], &[0; 20], b"A backup or rest"] {
        let disk = store(2);
        let put = |place: &str| {
            let mut file = disk.create(&Path::new(place).join("UNFINISHED"));
            let file = file.as_mut().expect("the name is free");
            file.append(text).expect("there is room");
        };
        put(STORE);
        assert_eq!(quads(&disk, STORE), Ok(5));
        let over = || {
            backup_on(
                &disk,
                Path::new(COPY),
                Path::new(STORE),
                &Options::default(),
                &|| false,
            )
        };
        assert_eq!(copy(&disk).expect("it is a store"), 5);
        assert!(over().expect_err("there is a store").is_taken());
        // What is left when somebody tidied up: the log, and how far it went.
        disk.remove_file(&Path::new(STORE).join("CURRENT"))
            .expect("it is there");
        let error = over().expect_err("there is a log");
        assert!(error.is_taken(), "{error}");
        assert!(disk.exists(&Path::new(STORE).join("DURABLE")));
    }
    let disk = store(3);
    let log = Path::new(STORE).join("log");
    for name in disk.list(&log).expect("it is there") {
        disk.remove_file(&log.join(name)).expect("it is there");
    }
    drop(disk.create(&Path::new(STORE).join("UNFINISHED")));
    let error = quads(&disk, STORE).expect_err("changes are missing");
    assert!(error.contains("5 changes are missing"), "{error}");
}

/// A copy has no log, so a mark beside one says nothing that can be relied upon: nothing is opened, and nothing
/// is written over.
#[test]
fn a_mark_beside_a_log_is_said() {
    let disk = store(4);
    let mark = b"A backup or restore into this directory was not finished; run it again.\n";
    let mut file = disk.create(&Path::new(STORE).join("UNFINISHED"));
    let file = file.as_mut().expect("the name is free");
    file.append(mark).expect("there is room");
    let error = quads(&disk, STORE).expect_err("which of the two it is, is not known");
    assert!(
        error.contains("UNFINISHED") && error.contains("log") && error.contains("remove"),
        "{error}"
    );
    let error = backup_on(
        &disk,
        Path::new(COPY),
        Path::new(STORE),
        &Options::default(),
        &|| false,
    );
    let error = error.expect_err("there is a log");
    assert!(
        error.is_taken() && error.to_string().contains("log"),
        "{error}"
    );
    disk.remove_file(&Path::new(STORE).join("UNFINISHED"))
        .expect("it is there");
    assert_eq!(quads(&disk, STORE), Ok(5));
}

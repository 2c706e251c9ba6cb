//! The way to a device: closed, being opened, open, or shut after a failure.
//!
//! ```text
//!  closed --asked--> opening --> open --lost--> shut --asked after a while--> opening
//!                       +--------failed---------^
//! ```
//!
//! Opening takes half a second: the driver starts and compiles the kernels. So a thread of its own does it, and whoever asked
//! goes on without the device. A failure shuts the door for one, ten, then sixty seconds (a new context may work where a
//! lost one does not); a machine that has no device is not asked again. The lock is held for a few instructions only.
//!
//! What a query misses on an open device is brought by a thread of its own, too, one at a time, where nobody is to wait for that.
//!
//! | who | touches | when |
//! |---|---|---|
//! | queries | the state: read, set to opening or shut | once a query that is worth it, once a loss |
//! | the opening thread | the state: set to open or shut | at its end |
//! | the thread that brings data | the images of the base that it was begun for | until they are there |

use super::PATIENCE;
use gpu::device::{Device, DeviceError};
use gpu::{Gpu, Memory, Need};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long the door stays shut after the first failure, the second, and each further one.
const SHUT: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_mins(1),
];

/// How long bringing what one query reads may take: a hundred gigabytes from a slow disk.
const BRINGS_MAX: Duration = Duration::from_mins(10);

/// Between two looks whether somebody else still holds a device that hangs.
const KEPT: Duration = Duration::from_millis(50);

/// A device that was opened, or several that have images together, and how the memory of each is divided.
pub struct Opened {
    /// The devices; one at least.
    pub devices: Vec<Arc<dyn Device>>,
    /// The parts of the memory of each.
    pub memory: Memory,
}

impl Opened {
    /// One device.
    pub fn one(device: Arc<dyn Device>, memory: Memory) -> Opened {
        Opened {
            devices: vec![device],
            memory,
        }
    }
}

/// Opens a device; called again after the device was lost.
pub type Opener = Box<dyn Fn() -> Result<Opened, DeviceError> + Send + Sync>;

/// Is told of failures, a sentence each.
pub type Teller = Box<dyn Fn(&str) + Send + Sync>;

/// An open device, or several together, with the images of one base, at most.
pub(super) struct OpenDevice {
    pub(super) devices: Vec<Arc<dyn Device>>,
    pub(super) memory: Memory,
    pub(super) gpu: Mutex<Option<Arc<Gpu>>>,
    bringing: Mutex<Option<Bringing>>,
    /// Whether a thread waits for all others who hold it.
    is_kept: AtomicBool,
}

/// A thread that brings data.
struct Bringing {
    /// Whether it is to end.
    stop: Arc<AtomicBool>,
    since: Instant,
    thread: JoinHandle<()>,
}

impl Bringing {
    fn goes_on(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Stops it, and waits until it has ended. One segment goes on. A device that hangs, or a segment that takes longer, is left to itself.
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        while self.goes_on() && since.elapsed() < PATIENCE {
            std::thread::sleep(KEPT / 10);
        }
        if !self.goes_on() {
            let _ = self.thread.join();
        }
    }
}

impl OpenDevice {
    /// Whether something is being brought.
    pub(super) fn is_bringing(&self) -> bool {
        own(&self.bringing).as_ref().is_some_and(Bringing::goes_on)
    }

    /// Whether that has taken so long that the device is taken for one that hangs.
    pub(super) fn hangs(&self) -> bool {
        let bringing = own(&self.bringing);
        let under_way = bringing.as_ref().filter(|it| it.goes_on());
        under_way.is_some_and(|it| it.since.elapsed() > BRINGS_MAX)
    }
}

impl From<Opened> for OpenDevice {
    fn from(Opened { devices, memory }: Opened) -> OpenDevice {
        OpenDevice {
            devices,
            memory,
            is_kept: AtomicBool::new(false),
            gpu: Mutex::new(None),
            bringing: Mutex::new(None),
        }
    }
}

/// Why the device cannot be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Nobody has asked for it yet.
    Unasked,
    /// It is being opened.
    Opening,
    /// It was lost, or did not open.
    Shut,
}

enum State {
    Closed,
    Opening,
    Open(Arc<OpenDevice>),
    /// Until then; `None`: for good.
    Shut(Option<Instant>),
}

struct Inner {
    opener: Option<Opener>,
    teller: Option<Arc<Teller>>,
    state: Mutex<State>,
    failures: Mutex<usize>,
    /// Threads that bring data to devices that were lost.
    lost: Mutex<Vec<Bringing>>,
}

/// See the head of this file.
pub(super) struct Door {
    inner: Arc<Inner>,
    opening: Mutex<Option<JoinHandle<()>>>,
}

impl Door {
    /// A door that is open. A device that is lost stays so.
    pub(super) fn open(opened: Opened) -> Door {
        Door::of(None, None, State::Open(Arc::new(opened.into())))
    }

    /// A door that is closed until somebody asks.
    pub(super) fn closed(opener: Opener, teller: Arc<Teller>) -> Door {
        Door::of(Some(opener), Some(teller), State::Closed)
    }

    fn of(opener: Option<Opener>, teller: Option<Arc<Teller>>, state: State) -> Door {
        let inner = Inner {
            opener,
            teller,
            state: Mutex::new(state),
            failures: Mutex::new(0),
            lost: Mutex::default(),
        };
        Door {
            inner: Arc::new(inner),
            opening: Mutex::new(None),
        }
    }

    /// Brings what a query missed of the device's images, for those that come. While something else is brought, or where there is no thread for it, the
    /// next one that misses it has it brought.
    pub(super) fn bring(&self, held: &Arc<OpenDevice>, gpu: &Arc<Gpu>, need: Need) {
        let mut bringing = own(&held.bringing);
        if bringing.as_ref().is_some_and(Bringing::goes_on) {
            return;
        }
        let (gpu, door, on) = (Arc::clone(gpu), Arc::clone(&self.inner), Arc::clone(held));
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let pause = || std::thread::sleep(KEPT / 25);
        let thread = Builder::new().name("device".to_owned());
        let begun = thread.spawn(move || {
            let brought = catch_unwind(AssertUnwindSafe(|| gpu.bring(need, &is_stopped, &pause)));
            if brought.is_err() {
                door.tell("bringing a query's data to the device panicked");
            }
            drop((gpu, on));
        });
        if let Ok(thread) = begun {
            *bringing = Some(Bringing {
                stop,
                since: Instant::now(),
                thread,
            });
        }
    }

    /// Opens it on the calling thread, where it was not open yet.
    pub(super) fn open_now(&self) -> Result<(), DeviceError> {
        let Some(opener) = &self.inner.opener else {
            return Ok(());
        };
        if self.look().is_err() {
            let opened = opener()?;
            *self.inner.locked() = State::Open(Arc::new(opened.into()));
        }
        Ok(())
    }

    /// The device, if it is open; nothing is opened for it.
    pub(super) fn look(&self) -> Result<Arc<OpenDevice>, Closed> {
        match &*self.inner.locked() {
            State::Open(held) => Ok(Arc::clone(held)),
            State::Closed => Err(Closed::Unasked),
            State::Opening => Err(Closed::Opening),
            State::Shut(_) => Err(Closed::Shut),
        }
    }

    /// The device, if it is open; else it is opened on a thread of its own, unless it was shut a short while ago.
    pub(super) fn ask(&self) -> Result<Arc<OpenDevice>, Closed> {
        {
            let mut state = self.inner.locked();
            match &*state {
                State::Open(held) => return Ok(Arc::clone(held)),
                State::Opening => return Err(Closed::Opening),
                State::Shut(None) => return Err(Closed::Shut),
                State::Shut(Some(until)) if Instant::now() < *until => return Err(Closed::Shut),
                State::Closed | State::Shut(Some(_)) => *state = State::Opening,
            }
        }
        let inner = Arc::clone(&self.inner);
        let thread = Builder::new().name("device".to_owned());
        match thread.spawn(move || inner.open()) {
            // One before it has ended: it was not opening any more.
            Ok(handle) => drop(own(&self.opening).replace(handle)),
            Err(error) => self.inner.shut(
                format!("no thread to open the device: {error}"),
                Again::Later,
            ),
        }
        Err(Closed::Opening)
    }

    /// The device does not answer any more: it is forgotten, unless it was already.
    pub(super) fn lose(&self, lost: &Arc<OpenDevice>, error: &DeviceError) {
        if let Some(bringing) = own(&lost.bringing).take() {
            // Its hold of the device goes, for it is opened anew.
            bringing.stop.store(true, Ordering::Relaxed);
            let mut all = own(&self.inner.lost);
            all.retain(Bringing::goes_on);
            all.push(bringing);
        }
        let again = match self.inner.opener {
            Some(_) => Again::Later,
            None => Again::Never,
        };
        let is_open = |state: &State| matches!(state, State::Open(held) if Arc::ptr_eq(held, lost));
        self.inner.shut_if(is_open, error.to_string(), again);
    }

    /// The same of a device that hangs. Giving its memory back waits for it, so a thread of its own has the last hold of it: queries let go
    /// of it and go on.
    pub(super) fn lose_hanging(&self, lost: &Arc<OpenDevice>, error: &DeviceError) {
        self.lose(lost, error);
        if lost.is_kept.swap(true, Ordering::Relaxed) {
            // Two that wait for all others would wait for each other.
            return;
        }
        let last = Arc::clone(lost);
        let keeping = Builder::new().name("device".to_owned()).spawn(move || {
            while Arc::strong_count(&last) > 1 {
                std::thread::sleep(KEPT);
            }
        });
        // Without a thread the last query waits.
        drop(keeping);
    }

    /// Tells of a failure after which the device works on.
    pub(super) fn tell(&self, what: &str) {
        self.inner.tell(what);
    }
}

impl Drop for Door {
    /// It is not being opened when this returns, and nothing is brought to it, unless it hangs: a driver that works while its process ends may take it
    /// down.
    fn drop(&mut self) {
        if let Some(opening) = own(&self.opening).take() {
            let _ = opening.join();
        }
        own(&self.inner.lost).drain(..).for_each(Bringing::end);
        let State::Open(held) = std::mem::replace(&mut *self.inner.locked(), State::Closed) else {
            return;
        };
        let bringing = own(&held.bringing).take();
        if let Some(bringing) = bringing {
            bringing.end();
        }
    }
}

/// Whether the door is tried again.
#[derive(Clone, Copy)]
enum Again {
    Later,
    Never,
}

impl Inner {
    fn locked(&self) -> MutexGuard<'_, State> {
        own(&self.state)
    }

    fn open(&self) {
        let opener = self.opener.as_ref().expect("a closed door has an opener");
        match catch_unwind(AssertUnwindSafe(opener)) {
            Ok(Ok(opened)) => *self.locked() = State::Open(Arc::new(opened.into())),
            Ok(Err(error @ DeviceError::Absent(_))) => self.shut(error.to_string(), Again::Never),
            Ok(Err(error)) => self.shut(error.to_string(), Again::Later),
            Err(_) => self.shut("opening the device panicked".to_owned(), Again::Never),
        }
    }

    fn shut(&self, what: String, again: Again) {
        self.shut_if(|_| true, what, again);
    }

    /// The same if the state is this.
    fn shut_if(&self, is_so: impl Fn(&State) -> bool, mut what: String, again: Again) {
        what.push_str("; the processors serve all queries");
        let before = {
            let mut state = self.locked();
            if !is_so(&state) {
                return;
            }
            let until = match again {
                Again::Never => None,
                Again::Later => {
                    let mut failures = own(&self.failures);
                    let wait = SHUT[(*failures).min(SHUT.len() - 1)];
                    *failures += 1;
                    let seconds = wait.as_secs();
                    let _ = write!(what, ", and it is tried again after {seconds} s");
                    Some(Instant::now() + wait)
                }
            };
            std::mem::replace(&mut *state, State::Shut(until))
        };
        // What it held goes outside the lock: giving memory back asks the driver.
        drop(before);
        self.tell(&what);
    }

    fn tell(&self, what: &str) {
        if let Some(teller) = &self.teller {
            teller(what);
        }
    }
}

/// A lock whose value is whole between any two instructions of its holders.
fn own<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A door whose opener fails so, and what it has told.
    fn failing(error: DeviceError) -> (Door, Arc<AtomicU64>, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(AtomicU64::new(0));
        let told = Arc::new(Mutex::new(Vec::new()));
        let (count, list) = (Arc::clone(&asked), Arc::clone(&told));
        let opener = move || {
            count.fetch_add(1, Ordering::Relaxed);
            Err(error.clone())
        };
        let teller = move |what: &str| own(&list).push(what.to_owned());
        (
            Door::closed(Box::new(opener), Arc::new(Box::new(teller))),
            asked,
            told,
        )
    }

    fn settle(door: &Door) {
        let opening = own(&door.opening).take();
        opening.expect("it was asked").join().unwrap();
    }

    #[test]
    fn a_machine_without_a_device_is_asked_once_and_says_so_once() {
        let (door, asked, told) = failing(DeviceError::Absent("no card".to_owned()));
        assert_eq!(door.look().err(), Some(Closed::Unasked));
        assert_eq!(asked.load(Ordering::Relaxed), 0, "nobody asked");
        assert_eq!(door.ask().err(), Some(Closed::Opening));
        settle(&door);
        for _ in 0..3 {
            assert_eq!(door.ask().err(), Some(Closed::Shut));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_eq!(
            *own(&told),
            ["no device: no card; the processors serve all queries"]
        );
    }

    #[test]
    fn a_device_that_fails_is_tried_again_after_a_second_then_ten() {
        let reason = "it fell off".to_owned();
        let (door, asked, told) = failing(DeviceError::Lost { reason });
        assert_eq!(door.ask().err(), Some(Closed::Opening));
        settle(&door);
        assert_eq!(door.ask().err(), Some(Closed::Shut), "not at once");
        // As if the time had come.
        *door.inner.locked() = State::Shut(Some(Instant::now()));
        assert_eq!(door.ask().err(), Some(Closed::Opening));
        settle(&door);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let told = own(&told);
        assert!(told[0].ends_with("after 1 s"), "{told:?}");
        assert!(told[1].ends_with("after 10 s"), "{told:?}");
    }

    #[test]
    fn one_that_is_opened_now_says_why_not() {
        let (door, ..) = failing(DeviceError::Absent("no card".to_owned()));
        let error = door.open_now().unwrap_err();
        assert_eq!(error.to_string(), "no device: no card");
    }
}

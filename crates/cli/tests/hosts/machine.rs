//! What this machine itself was busy with, so that nodes are not blamed for what other programs took of it.
//!
//! A deadline is kept by whoever gets a processor. So a thread that only sleeps notes when it is not woken, and how much of
//! all processors was used by others than this test and its nodes. A machine that is otherwise idle excuses nothing.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(100);

/// A pause of the whole machine that ends links, or nearly so.
const PAUSE_MAX: Duration = Duration::from_millis(400);

/// With less of the processors than this share left, a node is as good as frozen at times (of 1).
const SHARE_MIN: f64 = 0.25;

/// How long what happened to links because of the machine is felt.
const FELT: Duration = Duration::from_secs(3);

/// One look.
struct Look {
    at: Instant,
    /// How much later than asked for.
    late: Duration,
    /// Ticks of all processors, used or not.
    all: u64,
    /// Those that were used, by whomever.
    busy: u64,
    /// Those of this process and the nodes.
    own: u64,
}

/// See the head of this file.
pub struct Machine(Vec<Look>);

impl Machine {
    /// Watches until it is over. `nodes`: the numbers of their processes now.
    pub fn watch(nodes: &Mutex<Vec<u32>>, is_over: &AtomicBool) -> Machine {
        let mut looks = Vec::new();
        let mut known = BTreeMap::new();
        let mut own = 0;
        let mut begun = Instant::now();
        while !is_over.load(Ordering::Relaxed) {
            let nodes = nodes.lock().expect("nobody panics").clone();
            for process in nodes.into_iter().chain([std::process::id()]) {
                let now = used(process);
                let before = known.insert(process, now).unwrap_or(now);
                own += now.saturating_sub(before);
            }
            let (all, busy) = processors();
            looks.push(Look {
                at: Instant::now(),
                late: begun.elapsed().saturating_sub(LOOK),
                all,
                busy,
                own,
            });
            begun = Instant::now();
            thread::sleep(LOOK);
        }
        Machine(looks)
    }

    /// How much of this time all of this stood still.
    pub fn paused(&self, from: Instant, until: Instant) -> Duration {
        let near = self
            .0
            .iter()
            .filter(|look| look.at >= from && look.at <= until + look.late);
        near.map(|look| look.late).sum()
    }

    /// Which share of the processors others had left in this time, of 1.
    pub fn share(&self, from: Instant, until: Instant) -> f64 {
        let first = self.0.iter().rfind(|look| look.at <= from);
        let last = self.0.iter().find(|look| look.at >= until);
        let first = first.or(self.0.first());
        let last = last.or(self.0.last());
        let (Some(first), Some(last)) = (first, last) else {
            return 1.0;
        };
        let since = |of: fn(&Look) -> u64| of(last).saturating_sub(of(first)) as f64;
        let (all, busy, own) = (since(|it| it.all), since(|it| it.busy), since(|it| it.own));
        (1.0 - (busy - own) / all.max(1.0)).clamp(0.05, 1.0)
    }

    /// Whether the machine was at fault for a link that ended then, or shortly before.
    pub fn explains(&self, from: Instant, until: Instant) -> bool {
        let from = from.checked_sub(FELT).unwrap_or(from);
        let mut near = self
            .0
            .iter()
            .filter(|look| look.at >= from && look.at <= until + look.late);
        near.any(|look| look.late > PAUSE_MAX) || self.share(from, until) < SHARE_MIN
    }
}

/// What a process used of processors (ticks); nothing once it has ended.
fn used(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may have any characters, it is the 12th and the 13th.
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|it| it.parse::<u64>().ok()).sum()
}

/// Ticks of all processors: all of them, and those that were used.
fn processors() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default();
    // The name, then: user nice system idle iowait irq softirq steal
    let ticks = fields.split_whitespace().skip(1).take(8);
    let ticks: Vec<u64> = ticks.filter_map(|it| it.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    (all, all - idle)
}

//! Whether what clients were answered may be said, given what failed when; and the figures of it.

use super::client::{Asked, Came};
use super::fault::Failing;
use super::machine::Machine;
use crate::nodes::NOTICED;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How much later than its deadline an answer may come.
const LATE_MAX: Duration = Duration::from_millis(500);

/// What of a deadline may be left when it is said to have passed: clocks of two processes, and the way there.
const EARLY_MAX: Duration = Duration::from_millis(50);

/// What was counted, by kind of fault; `none`: nothing failed then.
#[derive(Default)]
pub struct Figures {
    counts: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    latest: Duration,
    resumed: BTreeMap<&'static str, Duration>,
}

impl Figures {
    /// Takes a question into account; an error says what must not be.
    pub fn take(
        &mut self,
        asked: &Asked,
        failing: &[Failing],
        machine: &Machine,
    ) -> Result<(), String> {
        let near = |it: &&Failing| asked.sent <= it.healed + NOTICED && asked.ended >= it.begun;
        let near: Vec<&Failing> = failing.iter().filter(near).collect();
        let is_stopped = near.iter().any(|it| it.fault.stops(asked.node));
        let what = match &asked.came {
            Came::Right => "right",
            Came::Away(named) => {
                let explains = |it: &&Failing| {
                    asked.ended > it.healed || it.fault.explains(asked.node, *named)
                };
                let is_machine_s = machine.explains(asked.sent, asked.ended);
                let is_explained = near.iter().any(explains);
                expect(is_explained || is_machine_s, asked, failing)?;
                if is_explained {
                    "away"
                } else {
                    "away for want of a processor"
                }
            }
            Came::TimedOut => {
                let is_early = asked.ended + EARLY_MAX < asked.sent + asked.deadline;
                expect(!is_early, asked, failing)?;
                "timed out"
            }
            Came::Starting => {
                expect(is_stopped, asked, failing)?;
                "starting"
            }
            Came::Nothing(_) => {
                let is_machine_s = machine.explains(asked.sent, asked.ended);
                expect(is_stopped || is_machine_s, asked, failing)?;
                "no answer"
            }
            Came::Wrong(_) | Came::Strange(_) => return Err(told(asked, failing)),
        };
        let fault = near.last().map_or("none", |it| it.fault.name());
        *self
            .counts
            .entry(fault)
            .or_default()
            .entry(what)
            .or_default() += 1;
        if !is_stopped {
            let late = asked
                .ended
                .saturating_duration_since(asked.sent + asked.deadline);
            let late = late.saturating_sub(machine.paused(asked.sent, asked.ended));
            // Whoever has half of the processors needs twice the time.
            let late = late.mul_f64(machine.share(asked.sent, asked.ended));
            self.latest = self.latest.max(late);
            expect(late <= LATE_MAX, asked, failing)?;
        }
        Ok(())
    }

    /// Takes a fault into account; an error: use was not resumed in time.
    pub fn heal(&mut self, it: &Failing, machine: &Machine) -> Result<(), String> {
        let took = it.resumed.saturating_duration_since(it.healed);
        let took = took.saturating_sub(machine.paused(it.healed, it.resumed));
        let took = took.mul_f64(machine.share(it.healed, it.resumed));
        let worst = self.resumed.entry(it.fault.name()).or_default();
        *worst = took.max(*worst);
        if took <= NOTICED || machine.explains(it.begun, it.resumed) {
            return Ok(());
        }
        Err(format!("after {:?} use was resumed in {took:?}", it.fault))
    }

    /// How often this came during a kind of fault.
    pub fn count(&self, fault: &str, what: &str) -> u64 {
        let counts = self.counts.get(fault);
        counts.and_then(|it| it.get(what)).copied().unwrap_or(0)
    }
}

fn expect(is_so: bool, asked: &Asked, failing: &[Failing]) -> Result<(), String> {
    if is_so {
        Ok(())
    } else {
        Err(told(asked, failing))
    }
}

/// A question that should have had another answer, and when that was.
fn told(asked: &Asked, failing: &[Failing]) -> String {
    let since = |it: &Failing| {
        let after = |moment: Instant, than: Instant| {
            moment.saturating_duration_since(than).as_secs_f64()
                - than.saturating_duration_since(moment).as_secs_f64()
        };
        format!(
            "{:?}: sent {:.3} s after it began and {:.3} s after it was healed",
            it.fault,
            after(asked.sent, it.begun),
            after(asked.sent, it.healed)
        )
    };
    let last = failing.iter().rfind(|it| it.begun <= asked.ended);
    format!(
        "node {}, question {}, deadline {:?}, took {:?}: {:?}; {}",
        asked.node,
        asked.question,
        asked.deadline,
        asked.ended - asked.sent,
        asked.came,
        last.map_or("nothing had failed".to_owned(), since)
    )
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, counts) in &self.counts {
            write!(f, "hosts, {fault}:")?;
            for (what, count) in counts {
                write!(f, " {count} {what},")?;
            }
            match self.resumed.get(fault) {
                Some(took) => writeln!(f, " use resumed within {} ms", took.as_millis())?,
                None => writeln!(f, " nothing to resume")?,
            }
        }
        write!(
            f,
            "hosts: the latest answer came {} ms after its deadline (with all processors)",
            self.latest.as_millis()
        )
    }
}

//! Several ways of doing the same, each once a turn.
//!
//! What else a machine does changes from minute to minute, so what is compared is done within the same seconds, and each way is
//! first as often as any other: times of one turn make a pair ([`Ratios`]). What a turn moves between nodes is added up.

use crate::pairs::Ratios;
use crate::stats::Latencies;
use serde::Serialize;
use std::time::Duration;

/// What a run moved between nodes, and what that costs by a fabric's prices. In a figure: of a run, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Messages that were sent.
    pub messages: f64,
    /// Their bytes.
    pub message_bytes: f64,
    /// Pieces of others' memory that were read without a message.
    pub pieces_read: f64,
    /// Their bytes.
    pub bytes_read: f64,
    /// All of it, each at its measured price.
    pub cost_us: f64,
}

impl Traffic {
    fn add(&mut self, other: Traffic) {
        self.messages += other.messages;
        self.message_bytes += other.message_bytes;
        self.pieces_read += other.pieces_read;
        self.bytes_read += other.bytes_read;
        self.cost_us += other.cost_us;
    }

    fn times(self, factor: f64) -> Traffic {
        Traffic {
            messages: self.messages * factor,
            message_bytes: self.message_bytes * factor,
            pieces_read: self.pieces_read * factor,
            bytes_read: self.bytes_read * factor,
            cost_us: self.cost_us * factor,
        }
    }
}

/// What the turns of each way took.
#[derive(Clone, Debug)]
pub struct Turns {
    /// By way, by turn.
    times: Vec<Vec<Duration>>,
    traffic: Vec<Traffic>,
}

impl Turns {
    /// Has each of so many ways run once a turn. `run` is given the number of a way.
    ///
    /// # Errors
    /// That of the first run that fails.
    pub fn take<E>(
        ways: usize,
        turns: u32,
        mut run: impl FnMut(usize) -> Result<(Duration, Traffic), E>,
    ) -> Result<Turns, E> {
        let mut taken = Turns {
            times: vec![Vec::new(); ways],
            traffic: vec![Traffic::default(); ways],
        };
        for turn in 0..turns as usize {
            for place in 0..ways {
                let way = (turn + place) % ways;
                let (time, traffic) = run(way)?;
                taken.times[way].push(time);
                taken.traffic[way].add(traffic);
            }
        }
        Ok(taken)
    }

    /// The times of a way.
    pub fn latencies(&self, way: usize) -> Latencies {
        let mut latencies = Latencies::new();
        self.times[way]
            .iter()
            .for_each(|time| latencies.record(*time));
        latencies
    }

    /// What a run of a way moved, on average.
    pub fn traffic(&self, way: usize) -> Traffic {
        self.traffic[way].times(1.0 / self.times[way].len().max(1) as f64)
    }

    /// How many times the time of another way a way takes.
    pub fn ratios(&self, way: usize, other: usize) -> Ratios {
        let mut ratios = Ratios::new();
        let pairs = self.times[way].iter().zip(&self.times[other]);
        pairs.for_each(|(one, two)| ratios.record(*one, *two));
        ratios
    }

    /// The quickest of these ways, by its median; at least one (asserted).
    pub fn quickest(&self, ways: impl Iterator<Item = usize>) -> usize {
        let quickest = ways.min_by_key(|way| self.latencies(*way).median());
        quickest.expect("there is a way")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_first_as_often_and_pairs_are_of_one_turn() {
        let mut order = Vec::new();
        let taken = Turns::take(3, 6, |way| {
            order.push(way);
            let traffic = Traffic {
                messages: way as f64,
                ..Traffic::default()
            };
            Ok::<_, ()>((Duration::from_millis(10 * (way as u64 + 1)), traffic))
        });
        let taken = taken.unwrap();
        let first = |way| order.chunks(3).filter(|turn| turn[0] == way).count();
        assert_eq!([first(0), first(1), first(2)], [2, 2, 2]);
        assert_eq!(taken.ratios(2, 0).median(), Some(3.0));
        assert_eq!(taken.quickest(1..3), 1);
        assert!((taken.traffic(2).messages - 2.0).abs() < 1e-9);
        assert_eq!(taken.latencies(1).runs(), 6);
    }

    #[test]
    fn the_first_failure_ends_it() {
        let taken = Turns::take(2, 5, |way| match way {
            1 => Err("lost"),
            _ => Ok((Duration::from_millis(1), Traffic::default())),
        });
        assert_eq!(taken.unwrap_err(), "lost");
    }
}

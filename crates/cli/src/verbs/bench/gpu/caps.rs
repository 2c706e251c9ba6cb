//! Queries whose data have no room on the card (Wukong+G, ATC'18, tables 1 and 5, figure 11).
//!
//! Data of a query are all segments that it looks at. Each turn makes a query ready, which brings what is worth it to the card, walks it
//! and lets it go; so a turn that comes after others' finds what they have left there. What is copied stands beside the time.

use super::{session, walked};
use crate::exit::{Code, Failure};
use crate::say::say;
use bench::figure::Figure;
use bench::stats::Latencies;
use somersault::Database;
use somersault::device::{CacheOptions, Device, DeviceApart, Memory, Traffic};
use somersault::units::format_size;
use std::sync::Arc;
use std::time::Instant;
use workload::queries::Query;

/// What is tried, on which card, with which memory.
pub(super) struct Caps<'c> {
    pub(super) database: &'c Database,
    pub(super) device: Arc<dyn Device>,
    /// Of tables; images are what is tried.
    pub(super) memory: Memory,
    pub(super) options: CacheOptions,
    pub(super) data: &'c str,
    /// Turns that are counted.
    pub(super) turns: u32,
}

/// The techniques, without those that are named.
pub(super) fn options(without: &[String]) -> Result<CacheOptions, Failure> {
    let mut options = CacheOptions::default();
    for name in without {
        match name.as_str() {
            "lookahead" => options.lookahead = false,
            "pipeline" => options.pipeline = false,
            "inplace" => options.inplace = false,
            // Keys and neighbours of a range together then, as the paper has it.
            "ranking" => options.pairwise = true,
            other => {
                let message =
                    format!("--without {other}: expected lookahead, pipeline, inplace or ranking");
                return Err(Failure::new(Code::Usage, message));
            }
        }
    }
    Ok(options)
}

impl Caps<'_> {
    /// The figures of some queries in turns, with so many percent of their data's bytes on the card.
    pub(super) fn figures(&self, queries: &[&Query], percent: u32) -> Result<Vec<Figure>, Failure> {
        let whole = self.memory.images;
        let needed = self.turns(queries, whole, 1)?.0.image_bytes();
        let images = (needed / 100 * u64::from(percent)).max(1 << 20);
        let (apart, latencies, first) = self.turns(queries, images, self.turns)?;
        let after = apart.traffic();
        let turns = u64::from(self.turns.max(2) - 1);
        let later = (after.copied_bytes - first.copied_bytes) / turns;
        let names: Vec<&str> = queries.iter().map(|query| query.name).collect();
        let name = names.join("+");
        say!(
            "{name} with {percent} % of {}: {} copied at first, then {} in {:.1} copies a turn, {} given up in all",
            format_size(needed),
            format_size(first.copied_bytes),
            format_size(later),
            (after.copies - first.copies) as f64 / turns as f64,
            after.evictions,
        );
        let session = session(self.data, 1);
        let figure = |(query, latencies): (&&Query, &Latencies)| {
            let alone = if queries.len() > 1 {
                "among others"
            } else {
                "alone"
            };
            let name = format!("{} {percent} % {alone}", query.name);
            Figure::latency(&session, &name, 0, latencies)
        };
        Ok(queries.iter().zip(&latencies).map(figure).collect())
    }

    /// Walks all queries in so many turns: the device, how long each took but in the first turn, and what was copied in that.
    fn turns(
        &self,
        queries: &[&Query],
        images: u64,
        turns: u32,
    ) -> Result<(DeviceApart, Vec<Latencies>, Traffic), Failure> {
        let failed = crate::verbs::query::failure;
        let started: Result<Vec<_>, _> = queries
            .iter()
            .map(|query| self.database.start(&walked(query.text)))
            .collect();
        let started = started.map_err(failed)?;
        let memory = Memory {
            images,
            ..self.memory
        };
        let device = Arc::clone(&self.device);
        let apart = started[0]
            .device_apart(device, memory, self.options)
            .map_err(failed)?;
        let mut latencies: Vec<Latencies> = queries.iter().map(|_| Latencies::new()).collect();
        let (mut first, mut answers) = (Traffic::default(), vec![None; queries.len()]);
        for turn in 0..turns {
            for (at, query) in started.iter().enumerate() {
                let begun = Instant::now();
                let folded = query.device_walk_on(&apart).and_then(|mut walk| walk.run());
                let folded = folded.map_err(failed)?;
                let answer = (folded.rows, folded.checksum);
                if turn > 0 {
                    latencies[at].record(begun.elapsed());
                }
                if *answers[at].get_or_insert(answer) != answer {
                    let message = format!("{}: another answer in turn {turn}", queries[at].name);
                    return Err(Failure::new(Code::Failed, message));
                }
            }
            if turn == 0 {
                first = apart.traffic();
            }
        }
        Ok((apart, latencies, first))
    }
}

//! LSBench, 1 000 users: S1 to S6 over the store that four of the five streams feed, at some moments.

use super::lsbench::{GRAIN_MS, STREAM_NAMESPACE, STREAMS};
use super::{GoldenError, GoldenRows, merged, read, stream};
use crate::standing::{Absorbed, Item, PlainStream};
use oxrdf::Triple;
use std::path::Path;

/// The stream that is not stored: positions.
const TIMING: &str = "gps";

/// One-shot queries over a store that streams feed, and what they answer at some moments.
#[derive(Clone, Debug)]
pub struct OneShotGolden {
    /// What is stored before the first item, in the default graph.
    pub stored: Vec<Triple>,
    /// The streams; all but the one of positions are stored.
    pub streams: Vec<PlainStream>,
    /// Their items in the order of their times, up to the last cut that was asked for.
    pub items: Vec<Item>,
    /// The queries, by name.
    pub queries: Vec<(String, String)>,
    /// What they answer, by the time before which all items are stored.
    pub cuts: Vec<OneShotCut>,
}

/// What the queries answer at one moment.
#[derive(Clone, Debug)]
pub struct OneShotCut {
    /// All items before this are stored (milliseconds).
    pub until_ms: u64,
    /// Distinct triples in the store.
    pub triples: u64,
    /// The rows of each query, in the order of the queries.
    pub rows: Vec<GoldenRows>,
}

/// The golden answers, cuts up to `until_ms` (0, 1 000, 3 000, 6 000).
pub fn oneshot(streams: &Path, until_ms: u64) -> Result<OneShotGolden, GoldenError> {
    let folder = streams.join("lsbench-1k");
    let path = folder.join("golden-oneshot.json");
    let golden = read::json(&path)?;
    let bad = |what: &str| read::malformed(&path, &what);
    let queries = golden["queries"].as_object();
    let queries = queries.ok_or_else(|| bad("no queries"))?;
    let text = |(name, text): (&String, &serde_json::Value)| {
        Some((name.clone(), text.as_str()?.to_owned()))
    };
    let queries: Option<Vec<(String, String)>> = queries.iter().map(text).collect();
    let queries = queries.ok_or_else(|| bad("a query is no text"))?;
    let cut = |snapshot: &serde_json::Value| {
        let rows = queries.iter().map(|(name, _)| {
            Some(GoldenRows::Hashed {
                count: usize::try_from(snapshot[name]["rows"].as_u64()?).ok()?,
                sha256: snapshot[name]["sha256"].as_str()?.to_owned(),
                lines: None,
            })
        });
        Some(OneShotCut {
            until_ms: snapshot["cut_ms"].as_u64()?,
            triples: snapshot["triples"].as_u64()?,
            rows: rows.collect::<Option<_>>()?,
        })
    };
    let snapshots = golden["snapshots"].as_array().into_iter().flatten();
    let cuts: Option<Vec<OneShotCut>> = snapshots.map(cut).collect();
    let mut cuts = cuts.ok_or_else(|| bad("a snapshot lacks something"))?;
    cuts.retain(|cut| cut.until_ms <= until_ms);
    let (mut all, mut items) = (Vec::new(), Vec::new());
    for (place, (name, file)) in STREAMS.into_iter().enumerate() {
        let mut stream = stream(&format!("{STREAM_NAMESPACE}{name}"), GRAIN_MS);
        if name == TIMING {
            stream.absorbed = Absorbed::Nothing;
        }
        all.push(stream);
        let path = folder.join(format!("{file}.nt.ts.gz"));
        items.extend(read::stream(&path, place, until_ms.saturating_sub(1))?);
    }
    Ok(OneShotGolden {
        stored: read::turtle(&folder.join("initial.nt.gz"), "http://lsbench.example/")?,
        streams: all,
        items: merged(items),
        queries,
        cuts,
    })
}

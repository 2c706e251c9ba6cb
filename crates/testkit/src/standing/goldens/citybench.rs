//! CityBench: C1 to C11 over the sensors of Aarhus, replayed at one row a second.

use super::{
    GoldenError, GoldenRun, merged, one_each, own, question, read, stored, stream, windows_of,
};
use crate::standing::{Item, PlainStream, StandingCase};
use oxrdf::{Dataset, NamedNode};
use query::standing::Dialect;
use std::path::Path;

/// The streams, whose names are those of their files.
const STREAMS: [&str; 15] = [
    "AarhusParkingDataKALKVAERKSVEJ",
    "AarhusParkingDataSKOLEBAKKEN",
    "AarhusPollutionData158505",
    "AarhusPollutionData179093",
    "AarhusPollutionData182955",
    "AarhusPollutionData184892",
    "AarhusPollutionData195843",
    "AarhusPollutionData197626",
    "AarhusPollutionData201399",
    "AarhusPollutionData206502",
    "AarhusTrafficData158505",
    "AarhusTrafficData182955",
    "AarhusTrafficData186979",
    "AarhusWeatherData0",
    "UserLocationService",
];
const STREAM_NAMESPACE: &str = "http://www.insight-centre.org/dataset/SampleEventService#";
/// The graph of the sensors' descriptions, which most queries ask about.
const REPOSITORY: &str = "SensorRepository";
/// A row arrives each second.
const GRAIN_MS: u64 = 1_000;

/// C1 to C11, `[open, close)` of 3 s by 1 s, closes up to `until_ms` (at most 60 000).
pub fn citybench(
    streams: &Path,
    until_ms: u64,
) -> impl Iterator<Item = Result<GoldenRun, GoldenError>> {
    let folder = streams.to_owned();
    (1..=11).map(move |number| run(&folder, &format!("C{number}"), until_ms))
}

fn run(folder: &Path, name: &str, until_ms: u64) -> Result<GoldenRun, GoldenError> {
    let path = folder.join("citybench/expected/golden-3000-1000.json.gz");
    let golden = read::json(&path)?;
    let query = golden["queries"][name]
        .as_str()
        .ok_or_else(|| read::malformed(&path, &format!("no query {name}")))?;
    let (sparql, used) = windows_of(query, &STREAMS.map(|name| format!("ses:{name}")));
    let (mut streams, mut items): (Vec<PlainStream>, Vec<Item>) = (Vec::new(), Vec::new());
    for (place, &number) in used.iter().enumerate() {
        let name = STREAMS[number];
        streams.push(stream(&format!("{STREAM_NAMESPACE}{name}"), GRAIN_MS));
        let path = folder.join(format!("citybench/replay-fixed/{name}.nt.ts.gz"));
        items.extend(read::stream(&path, place, until_ms)?);
    }
    let mut question = question(&sparql, one_each(streams.len(), 3_000, 1_000));
    let mut data = Dataset::new();
    let graphs = golden["static"][name].as_array();
    let graphs = graphs.map(|graphs| graphs.iter().filter_map(|graph| graph.as_str()).collect());
    for graph in graphs.unwrap_or_else(|| vec![REPOSITORY]) {
        let iri = format!("urn:citybench:{graph}");
        let triples = read::turtle(
            &folder.join(format!("citybench/static/{graph}.n3.gz")),
            &iri,
        )?;
        data.extend(stored(triples, &iri).iter());
        question.from.push(NamedNode::new_unchecked(iri));
    }
    let text = |kind| read::text(&folder.join(format!("queries/citybench/{name}.{kind}")));
    Ok(GoldenRun {
        name: format!("citybench {name}"),
        texts: vec![
            (Dialect::CSparqlGraph, text("csparql")?),
            (Dialect::RspQl, text("rspql")?),
        ],
        own: own::citybench(name),
        until_ms,
        wanted: read::hashed(&path, &golden["results"][name], until_ms)?,
        case: StandingCase {
            late: Vec::new(),
            stored: data,
            streams,
            items: merged(items),
            question,
        },
    })
}

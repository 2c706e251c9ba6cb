//! A figure: one measured thing, as a row of a table or a line of JSON.
//!
//! Invariant: the JSON keys are a contract with whatever records figures over time; a field
//! that does not apply is left out, never null or zero. Times are microseconds with the three
//! significant digits that [`Latencies`](crate::stats::Latencies) keeps or more. In the table a
//! column that no row fills is left out.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::floor::Floor;
use crate::machine::Machine;
use crate::pairs::Ratios;
use crate::stats::Latencies;
use crate::turns::Traffic;

/// A measured figure. Make one with [`Figure::latency`] or [`Figure::rate`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Which benchmark: `lubm`, `load`, `machine`.
    pub bench: String,
    /// What of it: `q7`.
    pub name: String,
    /// How many rows (or triples, or bytes: see [`Self::unit`]) one run gave or took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Half of the runs took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_us: Option<f64>,
    /// 99 of 100 runs took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The shortest run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// What the machine would at least need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_us: Option<f64>,
    /// The bytes and misses of the floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_bytes: Option<u64>,
    /// See [`Floor::dependent_misses`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_misses: Option<u64>,
    /// How far the planner's estimates of a step's rows were off, as a factor: of half of the steps no
    /// further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_error_median: Option<f64>,
    /// The same of the step where they were off the furthest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_error_max: Option<f64>,
    /// How many of [`Self::unit`] a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// What [`Self::per_second`] counts: `triples`, `bytes`, `queries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many a second of the processor's time, that of asking included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_processor_second: Option<f64>,
    /// How many a second arrived, where that does not depend on the answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals_per_second: Option<f64>,
    /// How many arrived and were not asked before the end; they count with the time that they
    /// waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// How many were asked at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// How many times that of another way its time is: the median of interleaved pairs, of which there are
    /// [`Self::runs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The quartiles of those ratios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_quartiles: Option<[f64; 2]>,
    /// What holds the median of all such pairs in 95 of 100 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<[f64; 2]>,
    /// What a run moved between nodes.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// How many times the cost of another way that costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_ratio: Option<f64>,
    /// Bytes on disk of a distinct triple.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_triple: Option<f64>,
    /// The most memory that is not backed by files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// How many runs were measured, the warm-up not among them.
    pub runs: u64,
    /// How many threads did the work.
    pub threads: usize,
    /// What it was measured on: `lubm-160`.
    pub data: String,
}

/// What all figures of a session have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// See [`Figure::bench`].
    pub bench: String,
    /// See [`Figure::data`].
    pub data: String,
    /// See [`Figure::threads`].
    pub threads: usize,
}

impl Figure {
    /// The times of runs that gave `rows` rows each.
    pub fn latency(session: &Session, name: &str, rows: u64, latencies: &Latencies) -> Self {
        let (least, median) = (latencies.least(), latencies.median());
        let p99 = latencies.quantile(0.99);
        assert!(
            least <= median && median <= p99,
            "the times ascend with their share"
        );
        Self {
            rows: Some(rows),
            median_us: median.map(microseconds),
            p99_us: p99.map(microseconds),
            min_us: least.map(microseconds),
            runs: latencies.runs(),
            ..Self::empty(session, name)
        }
    }

    /// A throughput: `amount` of `unit` in `time`.
    pub fn rate(session: &Session, name: &str, unit: &str, amount: u64, time: Duration) -> Self {
        let empty = Self {
            rows: Some(amount),
            median_us: Some(microseconds(time)),
            runs: 1,
            ..Self::empty(session, name)
        };
        empty.with_rate(unit, amount, time)
    }

    /// The same figure with a throughput: `amount` of `unit` in `time`.
    #[must_use]
    pub fn with_rate(self, unit: &str, amount: u64, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        Self {
            per_second: (seconds > 0.0).then(|| amount as f64 / seconds),
            unit: Some(unit.to_owned()),
            ..self
        }
    }

    /// How many times that of another way the time is.
    pub fn ratio(session: &Session, name: &str, ratios: &Ratios) -> Self {
        Self {
            ratio: ratios.median().map(rounded),
            ratio_quartiles: ratios.quartiles().map(|them| them.map(rounded)),
            ratio_interval: ratios.interval().map(|them| them.map(rounded)),
            runs: ratios.pairs(),
            ..Self::empty(session, name)
        }
    }

    /// The measured bandwidth, which the floors of a session are computed from.
    pub fn of_machine(machine: &Machine) -> Self {
        let session = Session {
            bench: "machine".to_owned(),
            data: "memory".to_owned(),
            threads: machine.threads,
        };
        Self {
            per_second: Some(machine.read_bytes_per_second),
            unit: Some("bytes".to_owned()),
            runs: 1,
            ..Self::empty(&session, "read")
        }
    }

    /// The same figure with its floor on this machine.
    #[must_use]
    pub fn with_floor(self, floor: Floor, machine: &Machine) -> Self {
        Self {
            floor_us: Some(microseconds(floor.time(machine))),
            floor_bytes: Some(floor.touched_bytes),
            floor_misses: Some(floor.dependent_misses),
            ..self
        }
    }

    /// The same figure with how far the estimate of each step's rows was off.
    #[must_use]
    pub fn with_q_errors(self, mut factors: Vec<f64>) -> Self {
        factors.sort_unstable_by(f64::total_cmp);
        let least = factors.first();
        assert!(
            least.is_none_or(|least| *least >= 1.0),
            "an estimate is off by a factor of at least 1"
        );
        Self {
            q_error_median: factors.get(factors.len() / 2).copied(),
            q_error_max: factors.last().copied(),
            ..self
        }
    }

    /// How many times its floor the median is.
    pub fn times_floor(&self) -> Option<f64> {
        let floor = self.floor_us.filter(|&floor| floor > 0.0)?;
        Some(self.median_us? / floor)
    }

    /// One line of JSON, without its end.
    pub fn json_line(&self) -> String {
        serde_json::to_string(self).expect("a struct of numbers and strings has a JSON form")
    }

    fn empty(session: &Session, name: &str) -> Self {
        Self {
            bench: session.bench.clone(),
            name: name.to_owned(),
            rows: None,
            median_us: None,
            p99_us: None,
            min_us: None,
            floor_us: None,
            floor_bytes: None,
            floor_misses: None,
            q_error_median: None,
            q_error_max: None,
            per_second: None,
            unit: None,
            per_processor_second: None,
            arrivals_per_second: None,
            left: None,
            in_flight: None,
            ratio: None,
            ratio_quartiles: None,
            ratio_interval: None,
            traffic: None,
            cost_ratio: None,
            bytes_per_triple: None,
            peak_bytes: None,
            runs: 0,
            threads: session.threads,
            data: session.data.clone(),
        }
    }
}

/// Microseconds, rounded to whole nanoseconds so that JSON has no digits without meaning.
fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// A ratio to four decimals: the pairs of a run do not tell more.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

/// Figures as an aligned table, for a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(pub &'a [Figure]);

/// A column's title and its text for a figure.
type Column = (&'static str, fn(&Figure) -> Option<String>);

const COLUMNS: [Column; 27] = [
    ("bench", |figure| Some(figure.bench.clone())),
    ("name", |figure| Some(figure.name.clone())),
    ("data", |figure| Some(figure.data.clone())),
    ("threads", |figure| Some(figure.threads.to_string())),
    ("rows", |figure| figure.rows.map(|rows| rows.to_string())),
    ("median", |figure| figure.median_us.map(format_microseconds)),
    ("p99", |figure| figure.p99_us.map(format_microseconds)),
    ("min", |figure| figure.min_us.map(format_microseconds)),
    ("floor", |figure| figure.floor_us.map(format_microseconds)),
    ("x floor", |figure| {
        figure.times_floor().map(|times| format!("{times:.1}"))
    }),
    ("q-error", |figure| {
        figure.q_error_median.map(|off| format!("{off:.1}"))
    }),
    ("at most", |figure| {
        figure.q_error_max.map(|off| format!("{off:.1}"))
    }),
    ("rate", format_rate),
    ("a processor", |figure| {
        let unit = figure.unit.as_deref().unwrap_or_default();
        let rate = figure.per_processor_second?;
        Some(format_rate_of(rate, unit))
    }),
    ("arrivals", |figure| {
        figure
            .arrivals_per_second
            .map(|rate| format_rate_of(rate, ""))
    }),
    ("left", |figure| figure.left.map(|left| left.to_string())),
    ("ratio", |figure| {
        figure.ratio.map(|ratio| format!("{ratio:.3}"))
    }),
    ("quartiles", |figure| {
        figure.ratio_quartiles.map(format_span)
    }),
    ("95 %", |figure| figure.ratio_interval.map(format_span)),
    ("messages", |figure| {
        let traffic = figure.traffic?;
        Some(format!("{:.1}", traffic.messages))
    }),
    ("bytes", |figure| {
        let traffic = figure.traffic?;
        Some(format!("{:.0}", traffic.message_bytes))
    }),
    ("pieces read", |figure| {
        let traffic = figure.traffic?;
        Some(format!("{:.1}", traffic.pieces_read))
    }),
    ("bytes read", |figure| {
        let traffic = figure.traffic?;
        Some(format!("{:.0}", traffic.bytes_read))
    }),
    ("cost", |figure| {
        let traffic = figure.traffic?;
        Some(format_microseconds(traffic.cost_us))
    }),
    ("x cost", |figure| {
        figure.cost_ratio.map(|ratio| format!("{ratio:.3}"))
    }),
    ("bytes a triple", |figure| {
        figure.bytes_per_triple.map(|bytes| format!("{bytes:.2}"))
    }),
    ("memory", |figure| {
        figure
            .peak_bytes
            .map(|bytes| format!("{} MiB", bytes >> 20))
    }),
];
/// Columns before this one are text and aligned to the left.
const FIRST_NUMBER: usize = 3;
const _: () = assert!(
    FIRST_NUMBER < COLUMNS.len(),
    "numbers follow the columns of text"
);

impl fmt::Display for Table<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = COLUMNS.iter().enumerate();
        let columns: Vec<Filled> = columns.filter_map(|column| self.fill(column)).collect();
        for line in 0..=self.0.len() {
            let cells = columns.iter().map(|column| column.aligned(line));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A column that some figure fills.
struct Filled {
    /// Title first.
    cells: Vec<String>,
    width: usize,
    is_text: bool,
}

impl Filled {
    fn aligned(&self, line: usize) -> String {
        let (cell, width) = (&self.cells[line], self.width);
        if self.is_text {
            format!("{cell:<width$}")
        } else {
            format!("{cell:>width$}")
        }
    }
}

impl Table<'_> {
    /// The column at this place; none when no figure fills it.
    fn fill(&self, (place, (title, text)): (usize, &Column)) -> Option<Filled> {
        let texts: Vec<Option<String>> = self.0.iter().map(text).collect();
        if texts.iter().all(Option::is_none) {
            return None;
        }
        let mut cells = vec![(*title).to_owned()];
        cells.extend(texts.into_iter().map(Option::unwrap_or_default));
        let width = cells.iter().map(String::len).max().unwrap_or_default();
        Some(Filled {
            cells,
            width,
            is_text: place < FIRST_NUMBER,
        })
    }
}

/// A time in the unit that suits it, with three significant digits: `1.23 ms`.
pub fn format_microseconds(microseconds: f64) -> String {
    let (value, unit) = match microseconds {
        small if small < 1.0 => (small * 1e3, "ns"),
        small if small < 1e3 => (small, "us"),
        medium if medium < 1e6 => (medium / 1e3, "ms"),
        large => (large / 1e6, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

fn format_span([from, to]: [f64; 2]) -> String {
    format!("{from:.3} to {to:.3}")
}

fn format_rate(figure: &Figure) -> Option<String> {
    let unit = figure.unit.as_deref().unwrap_or_default();
    Some(format_rate_of(figure.per_second?, unit))
}

fn format_rate_of(per_second: f64, unit: &str) -> String {
    let (value, scale) = match per_second {
        small if small < 1e3 => (small, ""),
        medium if medium < 1e6 => (medium / 1e3, "k "),
        large if large < 1e9 => (large / 1e6, "M "),
        huge => (huge / 1e9, "G "),
    };
    format!("{} {scale}{unit}/s", three_digits(value))
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        small if small < 10.0 => 2,
        medium if medium < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            bench: "lubm".to_owned(),
            data: "lubm-160".to_owned(),
            threads: 1,
        }
    }

    fn timed(name: &str, rows: u64, time: Duration) -> Figure {
        let mut latencies = Latencies::new();
        latencies.record(time);
        Figure::latency(&session(), name, rows, &latencies)
    }

    #[test]
    fn json_has_what_applies() {
        let machine = Machine {
            threads: 1,
            read_bytes_per_second: 1e9,
        };
        let floor = Floor {
            touched_bytes: 500,
            dependent_misses: 0,
        };
        let figure = timed("q4", 10, Duration::from_micros(1)).with_floor(floor, &machine);
        assert_eq!(
            figure.json_line(),
            r#"{"bench":"lubm","name":"q4","rows":10,"median_us":1.0,"p99_us":1.0,"min_us":1.0,"#
                .to_owned()
                + r#""floor_us":0.5,"floor_bytes":500,"floor_misses":0,"runs":1,"threads":1,"#
                + r#""data":"lubm-160"}"#
        );
        assert_eq!(figure.times_floor(), Some(2.0));
        let rate = Figure::rate(&session(), "load", "triples", 3, Duration::from_secs(2));
        assert_eq!(
            rate.json_line(),
            r#"{"bench":"lubm","name":"load","rows":3,"median_us":2000000.0,"per_second":1.5,"#
                .to_owned()
                + r#""unit":"triples","runs":1,"threads":1,"data":"lubm-160"}"#
        );
    }

    #[test]
    fn a_table_is_aligned_and_leaves_empty_columns_out() {
        let figures = [
            timed("q2", 173_040, Duration::from_micros(2500)),
            timed("q10", 5, Duration::from_nanos(999)),
        ];
        let expected = "\
bench  name  data      threads    rows   median      p99      min
lubm   q2    lubm-160        1  173040  2.50 ms  2.50 ms  2.50 ms
lubm   q10   lubm-160        1       5   999 ns   999 ns   999 ns
";
        assert_eq!(Table(&figures).to_string(), expected);
        let rate = Figure::rate(
            &session(),
            "load",
            "triples",
            2_500_000,
            Duration::from_secs(2),
        );
        let table = Table(&[rate]).to_string();
        assert!(table.ends_with("2.00 s  1.25 M triples/s\n"), "{table}");
    }

    #[test]
    fn an_instant_rate_has_no_figure() {
        let rate = Figure::rate(&session(), "x", "triples", 1, Duration::ZERO);
        assert_eq!(rate.per_second, None);
    }

    #[test]
    fn a_ratio_has_what_the_pairs_say() {
        let mut ratios = Ratios::new();
        ratios.record(Duration::from_millis(105), Duration::from_millis(100));
        let figure = Figure::ratio(&session(), "S1", &ratios);
        let json = figure.json_line();
        assert!(
            json.contains(r#""ratio":1.05,"ratio_quartiles":[1.05,1.05],"#),
            "{json}"
        );
        let table = Table(&[figure]).to_string();
        assert!(
            table.ends_with("1.050  1.050 to 1.050  1.050 to 1.050\n"),
            "{table}"
        );
    }

    #[test]
    fn times_and_rates_are_written_in_their_unit() {
        let cases = [
            (0.08, "80.0 ns"),
            (12.34, "12.3 us"),
            (1234.0, "1.23 ms"),
            (5e6, "5.00 s"),
        ];
        for (microseconds, expected) in cases {
            assert_eq!(format_microseconds(microseconds), expected);
        }
        let machine = |read_bytes_per_second| {
            let figure = Figure::of_machine(&Machine {
                threads: 2,
                read_bytes_per_second,
            });
            format_rate(&figure).unwrap()
        };
        assert_eq!(machine(12.5e9), "12.5 G bytes/s");
        assert_eq!(machine(7.0), "7.00 bytes/s");
    }
}

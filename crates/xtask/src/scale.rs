//! `cargo xtask scale`: LUBM on 2 to 64 nodes, in virtual time, behind networks of which the costs are given.
//!
//! ```text
//! cargo xtask scale [--universities 1,160] [--runs 11] [--costs tcp,rdma] [--nodes 1,2,4,...,64] [--block-bits 12]
//!                   [--svg OUT.svg [--project 10240] [--printed FILE,FILE]]
//! ```
//!
//! The test program `scale` of `somersault-engine` has the nodes and the clock, and prints a line a figure; this shows them and
//! draws them. `docs/scale.md` says what they mean. `--project` draws a larger graph besides, by arithmetic: what the smallest size
//! takes is taken for what every query takes on so many nodes, and what the largest takes more grows with the graph. `--printed`
//! draws what runs before have printed, and runs nothing.
//!
//! Cost: the program takes what all nodes together take, some minutes, and the graph twice in memory (LUBM-40: 2 GiB).

use crate::command::CommandLine;
use crate::curves::{self, Curve, Panel};
use crate::error::ChoreError;
use std::fs;
use std::path::PathBuf;

/// What makes the figures.
const PROGRAM: &str = "cargo test --release -p somersault-engine --test scale -- --exact --nocapture figures_are_printed";

/// The variable that says which.
const VARIABLE: &str = "SOMERSAULT_SCALE";

/// Queries that are drawn.
const HEAVY: [&str; 4] = ["q1", "q2", "q3", "q7"];

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub struct Scaling {
    universities: Vec<u32>,
    runs: u32,
    costs: Vec<String>,
    nodes: String,
    block_bits: Option<u8>,
    svg: Option<PathBuf>,
    project: Option<u32>,
    printed: Vec<PathBuf>,
}

impl Scaling {
    /// Reads the words after `scale`; `None` where they make no sense.
    pub fn of_words(words: &[&str]) -> Option<Scaling> {
        let mut wanted = Scaling {
            universities: vec![40],
            runs: 11,
            costs: vec!["tcp".to_owned(), "rdma".to_owned()],
            nodes: "1,2,4,8,16,32,64".to_owned(),
            block_bits: None,
            svg: None,
            project: None,
            printed: Vec::new(),
        };
        for pair in words.chunks(2) {
            let [name, word] = *pair else { return None };
            match name {
                "--universities" => {
                    let counts = word.split(',').map(|count| count.parse().ok());
                    wanted.universities = counts.collect::<Option<_>>()?;
                }
                "--runs" => wanted.runs = word.parse().ok().filter(|runs| *runs > 0)?,
                "--costs" => wanted.costs = word.split(',').map(str::to_owned).collect(),
                "--nodes" => {
                    let are_numbers = word.split(',').all(|node| node.parse::<u16>().is_ok());
                    wanted.nodes = are_numbers.then(|| word.to_owned())?;
                }
                "--block-bits" => wanted.block_bits = Some(word.parse().ok()?),
                "--project" => wanted.project = Some(word.parse().ok()?),
                "--printed" => wanted.printed = word.split(',').map(PathBuf::from).collect(),
                "--svg" => wanted.svg = Some(PathBuf::from(word)),
                _ => return None,
            }
        }
        Some(wanted)
    }
}

/// A line of the program: its words.
struct Line(Vec<String>);

impl Line {
    fn of(line: &str) -> Option<Line> {
        let words: Vec<String> = line.split(',').map(str::to_owned).collect();
        let is_figure = matches!(words[0].as_str(), "heavy" | "light");
        let is_whole = words.len() > 6 && words[1].parse::<u32>().is_ok();
        (is_figure && is_whole).then_some(Line(words))
    }

    /// Whether it begins with these.
    fn is(&self, words: &[&str]) -> bool {
        words
            .iter()
            .zip(&self.0)
            .all(|(wanted, word)| wanted == word)
    }

    fn number(&self, place: usize) -> Option<f64> {
        self.0.get(place)?.parse().ok()
    }
}

/// Makes the figures; whether the program succeeded and they are drawn.
pub fn run(wanted: &Scaling) -> Result<bool, ChoreError> {
    let lines = if wanted.printed.is_empty() {
        made(wanted)?
    } else {
        Some(printed(&wanted.printed)?)
    };
    let (Some(lines), Some(path)) = (&lines, &wanted.svg) else {
        return Ok(lines.is_some());
    };
    let written = fs::write(path, picture(wanted, lines));
    written.map_err(|source| ChoreError::Write {
        path: path.clone(),
        source,
    })?;
    Ok(true)
}

/// The lines of files.
fn printed(files: &[PathBuf]) -> Result<Vec<Line>, ChoreError> {
    let mut lines = Vec::new();
    for path in files {
        let text = fs::read_to_string(path).map_err(|source| ChoreError::Read {
            path: path.clone(),
            source,
        })?;
        lines.extend(text.lines().filter_map(Line::of));
    }
    Ok(lines)
}

/// The lines of the program, which is run for each size; `None` where it fails.
fn made(wanted: &Scaling) -> Result<Option<Vec<Line>>, ChoreError> {
    let mut lines = Vec::new();
    for universities in &wanted.universities {
        let bits = wanted.block_bits.map(|bits| bits.to_string());
        let what = format!(
            "{universities} {} {} {} {}",
            wanted.runs,
            wanted.costs.join(","),
            wanted.nodes,
            bits.as_deref().unwrap_or("usual")
        );
        let line = CommandLine::new(PROGRAM).with_variable(VARIABLE, &what);
        if !line.run_watched(|line| lines.extend(Line::of(line)))? {
            return Ok(None);
        }
    }
    Ok(Some(lines))
}

/// A row of panels for each size, a column for each network; light queries last.
fn picture(wanted: &Scaling, lines: &[Line]) -> String {
    let mut panels = Vec::new();
    for universities in &wanted.universities {
        let universities = &universities.to_string();
        panels.extend(
            wanted
                .costs
                .iter()
                .map(|costs| heavy(universities, costs, lines)),
        );
    }
    if let (Some(project), [least, .., most]) = (wanted.project, &wanted.universities[..]) {
        let sizes = [*least, *most, project];
        panels.extend(
            wanted
                .costs
                .iter()
                .map(|costs| projected(sizes, costs, lines)),
        );
    }
    if let Some(universities) = wanted.universities.last() {
        let universities = &universities.to_string();
        panels.extend(
            wanted
                .costs
                .iter()
                .map(|costs| light(universities, costs, lines)),
        );
    }
    curves::picture(&panels, wanted.costs.len())
}

fn heavy(universities: &str, costs: &str, lines: &[Line]) -> Panel {
    let curve = |query: &&str| Curve {
        name: (*query).to_owned(),
        points: lines
            .iter()
            .filter(|line| line.is(&["heavy", universities, costs]))
            .filter(|line| line.0[4] == *query && line.0[5] == "dynamic")
            .filter_map(|line| Some((line.number(3)?, line.number(6)?)))
            .collect(),
    };
    Panel {
        title: format!("LUBM-{universities}, {costs}: time by nodes"),
        curves: HEAVY.iter().map(curve).collect(),
        unit: curves::time,
    }
}

/// What a graph of the last of these sizes would take, by those of the first two.
fn projected([least, most, project]: [u32; 3], costs: &str, lines: &[Line]) -> Panel {
    let [small, large] = [least, most].map(|size| heavy(&size.to_string(), costs, lines));
    let curve = |(small, large): (Curve, Curve)| {
        let points = large.points.into_iter().filter_map(|(nodes, time)| {
            let of_nodes = small
                .points
                .iter()
                .find(|point| point.0.total_cmp(&nodes).is_eq());
            let (_, fixed) = of_nodes?;
            let more = (time - fixed).max(0.0);
            Some((nodes, fixed + more * f64::from(project) / f64::from(most)))
        });
        Curve {
            points: points.collect(),
            ..small
        }
    };
    let pairs = small.curves.into_iter().zip(large.curves);
    Panel {
        title: format!("LUBM-{project}, {costs}: by arithmetic"),
        curves: pairs.map(curve).collect(),
        unit: curves::time,
    }
}

fn light(universities: &str, costs: &str, lines: &[Line]) -> Panel {
    let curve = |who: &str| Curve {
        name: format!("at {who}"),
        points: lines
            .iter()
            .filter(|line| line.is(&["light", universities, costs]) && line.0[4] == who)
            .filter_map(|line| Some((line.number(3)?, line.number(5)?)))
            .collect(),
    };
    Panel {
        title: format!("LUBM-{universities}, {costs}: A1 to A6 a second"),
        curves: vec![curve("owner"), curve("random")],
        unit: curves::rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_wanted() {
        let wanted = Scaling::of_words(&["--universities", "1,2", "--nodes", "2,4"]).unwrap();
        assert_eq!(
            (wanted.universities, wanted.nodes.as_str()),
            (vec![1, 2], "2,4")
        );
        assert_eq!(Scaling::of_words(&[]).unwrap().universities, [40]);
        for words in [
            &["--nodes"][..],
            &["--nodes", "two"],
            &["--runs", "0"],
            &["--universities", "x"],
            &["--what", "1"],
        ] {
            assert_eq!(Scaling::of_words(words), None, "{words:?}");
        }
    }

    #[test]
    fn draws_what_the_program_printed() {
        let printed = "heavy,universities,costs,nodes,query,mode,us\n\
                       heavy,40,tcp,2,q1,dynamic,80.5,3\n\
                       heavy,40,tcp,4,q1,dynamic,44,3\n\
                       heavy,40,tcp,4,q1,in-place,99,3\n\
                       light,40,tcp,2,owner,25000,1,2\n\
                       running 1 test\n";
        let lines: Vec<Line> = printed.lines().filter_map(Line::of).collect();
        assert_eq!(lines.len(), 4, "a head is no figure");
        let wanted = Scaling::of_words(&["--costs", "tcp"]).unwrap();
        let panel = heavy("40", "tcp", &lines);
        assert_eq!(panel.curves[0].points, [(2.0, 80.5), (4.0, 44.0)]);
        assert_eq!(
            light("40", "tcp", &lines).curves[0].points,
            [(2.0, 25000.0)]
        );
        let svg = picture(&wanted, &lines);
        assert_eq!(svg.matches("<g ").count(), 2);
        assert!(Scaling::of_words(&["--block-bits", "12", "--project", "x"]).is_none());
    }

    #[test]
    fn a_larger_graph_takes_more_of_what_grows() {
        let printed = "heavy,1,tcp,2,q1,dynamic,100,3\nheavy,10,tcp,2,q1,dynamic,150,3\n\
                       heavy,10,tcp,4,q1,dynamic,99,3\n";
        let lines: Vec<Line> = printed.lines().filter_map(Line::of).collect();
        let panel = projected([1, 10, 100], "tcp", &lines);
        assert_eq!(panel.curves[0].points, [(2.0, 600.0)]);
        let words = [
            "--universities",
            "1,10",
            "--costs",
            "tcp",
            "--project",
            "100",
        ];
        let wanted = Scaling::of_words(&words).unwrap();
        assert!(picture(&wanted, &lines).contains(">LUBM-100, tcp: by arithmetic<"));
    }
}

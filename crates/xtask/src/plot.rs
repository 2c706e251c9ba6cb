//! `cargo xtask plot CDF.csv OUT.svg`: the distributions that `somersault bench mix --cdf` writes, as a picture.
//!
//! A median hides the tail and a tail the body; the curve shows both. Each class is a staircase of
//! the share of its runs that took no longer, with time on a logarithmic axis, thinned to what a pixel can show: the
//! picture of a hundred million queries has some kilobytes.
//!
//! A chore and no verb: whoever serves a database draws nothing, and other tools draw the CSV as well.

use crate::error::ChoreError;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The first line of a file of distributions.
const HEAD: &str = "name,share,microseconds";

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// Room for the axes' text and for the legend.
const LEFT: f64 = 50.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
pub(crate) const COLOURS: [&str; 10] = [
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
    "#bcbd22", "#17becf",
];

/// Draws a file of distributions into another; whether the first is one.
pub fn run(from: &Path, to: &Path) -> Result<bool, ChoreError> {
    let text = fs::read_to_string(from).map_err(|source| ChoreError::Read {
        path: from.to_owned(),
        source,
    })?;
    let classes = match classes(&text) {
        Ok(classes) => classes,
        Err(line) => {
            println!("{}:{line}: expected {HEAD}", from.display());
            return Ok(false);
        }
    };
    let written = fs::write(to, picture(&classes));
    written.map_err(|source| ChoreError::Write {
        path: to.to_owned(),
        source,
    })?;
    Ok(true)
}

/// The runs of one name.
#[derive(Debug, PartialEq)]
struct Class {
    name: String,
    /// Ascending.
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// Runs that took no longer, of all (0 to 1).
    share: f64,
    microseconds: f64,
}

/// The classes of a file in its order, or the number of the line that is none.
fn classes(text: &str) -> Result<Vec<Class>, usize> {
    let mut lines = (1_usize..).zip(text.lines());
    if lines.next().is_none_or(|(_, head)| head != HEAD) {
        return Err(1);
    }
    let mut classes: Vec<Class> = Vec::new();
    for (number, line) in lines {
        let (name, step) = step(line).ok_or(number)?;
        match classes.iter_mut().find(|class| class.name == name) {
            Some(class) => class.steps.push(step),
            None => classes.push(Class {
                name: name.to_owned(),
                steps: vec![step],
            }),
        }
    }
    Ok(classes)
}

fn step(line: &str) -> Option<(&str, Step)> {
    let (rest, microseconds) = line.rsplit_once(',')?;
    let (name, share) = rest.rsplit_once(',')?;
    let step = Step {
        share: share.parse().ok()?,
        microseconds: microseconds.parse().ok()?,
    };
    let is_sound = (0.0..=1.0).contains(&step.share) && step.microseconds.is_finite();
    is_sound.then_some((name, step))
}

/// The picture of these classes.
fn picture(classes: &[Class]) -> String {
    let scale = Scale::of(classes);
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    axes(&mut svg, &scale);
    for (number, class) in classes.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        curve(&mut svg, &scale, colour, &class.steps);
        let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 12.0 + 18.0 * number as f64);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
            escaped(&class.name)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Powers of ten of nanoseconds at both ends of the axis.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// From 1 us to 1 ms where there is no time.
    fn of(classes: &[Class]) -> Scale {
        let steps = classes.iter().flat_map(|class| &class.steps);
        let exponents: Vec<f64> = steps.map(|step| exponent(*step)).collect();
        let least = exponents.iter().copied().fold(f64::INFINITY, f64::min);
        let most = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if exponents.is_empty() {
            return Scale {
                least: 3.0,
                most: 6.0,
            };
        }
        Scale {
            least: least.floor(),
            most: most.ceil().max(least.floor() + 1.0),
        }
    }

    fn x(&self, exponent: f64) -> f64 {
        let share = (exponent - self.least) / (self.most - self.least);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }
}

fn y(share: f64) -> f64 {
    TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
}

fn exponent(step: Step) -> f64 {
    (step.microseconds * 1e3).max(1.0).log10()
}

fn axes(svg: &mut String, scale: &Scale) {
    let (bottom, right) = (y(0.0), WIDTH - RIGHT);
    let mut power = scale.least;
    while power <= scale.most {
        let (x, text) = (scale.x(power), format_power(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 18.0
        );
        power += 1.0;
    }
    for tenth in (0..=10).step_by(2) {
        let (at, text) = (y(f64::from(tenth) / 10.0), tenth * 10);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text} %</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
}

/// `10 us` for 4.
fn format_power(power: f64) -> String {
    let power = power as u32;
    let unit = ["ns", "us", "ms", "s"][(power as usize / 3).min(3)];
    let digits = 10_u64.pow(power - 3 * (power / 3).min(3));
    format!("{digits} {unit}")
}

fn curve(svg: &mut String, scale: &Scale, colour: &str, steps: &[Step]) {
    let _ = write!(
        svg,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\""
    );
    let mut drawn = None;
    let mut before = 0.0;
    for step in steps {
        let x = scale.x(exponent(*step));
        let at = (x.round(), y(step.share).round());
        if drawn != Some(at) || step.share >= 1.0 {
            let _ = write!(svg, "{x:.1},{:.1} {x:.1},{:.1} ", y(before), y(step.share));
            drawn = Some(at);
            before = step.share;
        }
    }
    svg.push_str("\"/>\n");
}

pub(crate) fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_curve() {
        let mut csv = format!("{HEAD}\n");
        for name in ["a1", "a<2"] {
            for time in 1..100_000 {
                let share = f64::from(time) / 99_999.0;
                let _ = writeln!(csv, "{name},{share:.6},{time}");
            }
        }
        let classes = classes(&csv).unwrap();
        assert_eq!(classes.len(), 2);
        let svg = picture(&classes);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">a&lt;2</text>"));
        for text in [">1 us<", ">100 ms<", ">0 %<", ">100 %<"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.len() < 60_000, "{}", svg.len());
        // The last step reaches the top.
        let top = format!(",{:.1} \"", y(1.0));
        assert!(svg.contains(&top), "{top}");
    }

    #[test]
    fn without_runs_there_are_axes() {
        let svg = picture(&classes(HEAD).unwrap());
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn powers_of_ten_have_their_unit() {
        let texts = [0.0, 2.0, 3.0, 8.0, 9.0, 12.0].map(format_power);
        assert_eq!(texts, ["1 ns", "100 ns", "1 us", "100 ms", "1 s", "1000 s"]);
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_its_line() {
        assert_eq!(classes(""), Err(1));
        assert_eq!(classes("a1,0.5,3\n"), Err(1));
        for wrong in ["a1,0.5", "a1,x,3", "a1,0.5,NaN", "a1,1.5,3", ""] {
            let csv = format!("{HEAD}\na1,0.5,3\n{wrong}\na1,1,4\n");
            assert_eq!(classes(&csv), Err(3), "{wrong}");
        }
    }
}

//! The distribution of times as a picture: SVG, with time on a logarithmic axis.
//!
//! A median hides the tail and a tail the body; the curve shows both. Each class is a staircase of
//! the share of its runs that took no longer, thinned to what a pixel can show, so that a picture of
//! a hundred million queries has some kilobytes.

use crate::stats::Latencies;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
/// Room for the axes' text and for the legend.
const LEFT: f64 = 50.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
const COLOURS: [&str; 10] = [
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
    "#bcbd22", "#17becf",
];

/// The picture of these classes, each with its name; those without runs are left out.
pub fn distribution(classes: &[(&str, &Latencies)]) -> String {
    let classes: Vec<_> = classes
        .iter()
        .filter(|(_, latencies)| latencies.runs() > 0)
        .collect();
    let exponents = classes.iter().flat_map(|(_, latencies)| {
        let ends = [latencies.least(), latencies.most()];
        ends.map(|time| exponent(time.unwrap_or_default().as_nanos() as f64))
    });
    let exponents: Vec<f64> = exponents.collect();
    let least = exponents.iter().copied().fold(f64::INFINITY, f64::min);
    let most = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = if least.is_finite() {
        Scale {
            least: least.floor(),
            most: most.ceil().max(least.floor() + 1.0),
        }
    } else {
        Scale {
            least: 3.0,
            most: 6.0,
        }
    };
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    axes(&mut svg, &scale);
    for (number, (name, latencies)) in classes.into_iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        curve(&mut svg, &scale, colour, latencies);
        let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 12.0 + 18.0 * number as f64);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
            escaped(name)
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
    fn x(&self, exponent: f64) -> f64 {
        let share = (exponent - self.least) / (self.most - self.least);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }
}

fn y(share: f64) -> f64 {
    TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM)
}

fn exponent(nanoseconds: f64) -> f64 {
    nanoseconds.max(1.0).log10()
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

fn curve(svg: &mut String, scale: &Scale, colour: &str, latencies: &Latencies) {
    let _ = write!(
        svg,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\""
    );
    let mut drawn = None;
    let mut before = 0.0;
    for (share, time) in latencies.distribution() {
        let x = scale.x(exponent(time.as_nanos() as f64));
        let at = (x.round(), y(share).round());
        if drawn != Some(at) || share >= 1.0 {
            let _ = write!(svg, "{x:.1},{:.1} {x:.1},{:.1} ", y(before), y(share));
            drawn = Some(at);
            before = share;
        }
    }
    svg.push_str("\"/>\n");
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_class_with_runs_has_its_curve() {
        let mut some = Latencies::new();
        for microseconds in 1..100_000 {
            some.record(Duration::from_micros(microseconds));
        }
        let none = Latencies::new();
        let svg = distribution(&[("a1", &some), ("a<2", &some), ("a3", &none)]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">a&lt;2</text>"));
        assert!(!svg.contains(">a3<"));
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
        let svg = distribution(&[]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn powers_of_ten_have_their_unit() {
        let texts = [0.0, 2.0, 3.0, 8.0, 9.0, 12.0].map(format_power);
        assert_eq!(texts, ["1 ns", "100 ns", "1 us", "100 ms", "1 s", "1000 s"]);
    }
}

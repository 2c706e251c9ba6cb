//! Curves over a number of nodes, some panels to a picture: both axes are logarithmic, so what doubles with the nodes is a line.

use crate::plot::{COLOURS, escaped};
use std::fmt::Write as _;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 300.0;
/// Room for a panel's texts.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 84.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 38.0;
/// Least distance of two names.
const LINE: f64 = 13.0;

/// A line with its name, by nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Curves that share their axes.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    pub curves: Vec<Curve>,
    /// What a value on the upright axis is called.
    pub unit: fn(f64) -> String,
}

/// Microseconds as people say them.
pub fn time(microseconds: f64) -> String {
    match microseconds {
        us if us < 1e3 => format!("{us} us"),
        us if us < 1e6 => format!("{} ms", us / 1e3),
        us => format!("{} s", us / 1e6),
    }
}

/// So many a second.
pub fn rate(each_second: f64) -> String {
    match each_second {
        rate if rate < 1e3 => format!("{rate}/s"),
        rate if rate < 1e6 => format!("{}k/s", rate / 1e3),
        rate => format!("{}M/s", rate / 1e6),
    }
}

/// Panels in rows of so many.
pub fn picture(panels: &[Panel], columns: usize) -> String {
    let columns = columns.max(1);
    let rows = panels.len().div_ceil(columns);
    let (width, height) = (WIDTH * columns as f64, HEIGHT * rows as f64);
    let mut svg = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        let (x, y) = (number % columns, number / columns);
        let (x, y) = (x as f64 * WIDTH, y as f64 * HEIGHT);
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        draw(&mut svg, panel);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Exponents at both ends of an axis: of two across, of ten upright.
struct Axes {
    nodes: (f64, f64),
    values: (f64, f64),
}

impl Axes {
    fn of(curves: &[Curve]) -> Axes {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let ends = |exponents: &mut dyn Iterator<Item = f64>, usual: (f64, f64)| {
            let ends = exponents.fold(None, |ends: Option<(f64, f64)>, it| {
                let (least, most) = ends.unwrap_or((it, it));
                Some((least.min(it), most.max(it)))
            });
            let (least, most) = ends.unwrap_or(usual);
            (least.floor(), most.ceil().max(least.floor() + 1.0))
        };
        Axes {
            nodes: ends(
                &mut points().map(|point| point.0.max(1.0).log2()),
                (0.0, 1.0),
            ),
            values: ends(
                &mut points().map(|point| point.1.max(1e-3).log10()),
                (0.0, 1.0),
            ),
        }
    }

    fn at(&self, (nodes, value): (f64, f64)) -> (f64, f64) {
        let share = |it: f64, (least, most): (f64, f64)| (it - least) / (most - least);
        let across = share(nodes.max(1.0).log2(), self.nodes);
        let upright = share(value.max(1e-3).log10(), self.values);
        (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            TOP + (1.0 - upright) * (HEIGHT - TOP - BOTTOM),
        )
    }
}

fn draw(svg: &mut String, panel: &Panel) {
    let axes = Axes::of(&panel.curves);
    let title = escaped(&panel.title);
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"18\" font-weight=\"bold\">{title}</text>"
    );
    grid(svg, &axes, panel.unit);
    let mut names: Vec<(f64, &str, &str)> = Vec::new();
    for (number, curve) in panel.curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\""
        );
        for point in &curve.points {
            let (x, y) = axes.at(*point);
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
        svg.push_str("\"/>\n");
        if let Some(last) = curve.points.last() {
            names.push((axes.at(*last).1, &curve.name, colour));
        }
    }
    // Names stand where their curves end, and below one another where these end together.
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut least = TOP;
    for (y, name, colour) in names {
        let y = y.max(least);
        least = y + LINE;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            WIDTH - RIGHT + 6.0,
            y + 4.0,
            escaped(name)
        );
    }
}

fn grid(svg: &mut String, axes: &Axes, unit: fn(f64) -> String) {
    let (left, right) = (LEFT, WIDTH - RIGHT);
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    for power in axes.nodes.0 as i32..=axes.nodes.1 as i32 {
        let nodes = 2_f64.powi(power);
        let (x, _) = axes.at((nodes, 1.0));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{nodes}</text>",
            bottom + 16.0
        );
    }
    for power in axes.values.0 as i32..=axes.values.1 as i32 {
        let value = 10_f64.powi(power);
        let (_, y) = axes.at((1.0, value));
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            y + 4.0,
            unit(value)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(title: &str, curves: Vec<Curve>) -> Panel {
        Panel {
            title: title.to_owned(),
            curves,
            unit: time,
        }
    }

    fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
        Curve {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn each_panel_has_its_curves_and_axes() {
        let halves = curve("q<1", &[(2.0, 800.0), (4.0, 400.0), (64.0, 25.0)]);
        let flat = curve("flat", &[(2.0, 25.0), (64.0, 25.0)]);
        let svg = picture(
            &[panel("one", vec![halves, flat]), panel("none", Vec::new())],
            2,
        );
        assert_eq!(svg.matches("<polyline").count(), 2);
        for text in [">q&lt;1<", ">10 us<", ">1 ms<", ">64<", ">one<", ">none<"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(svg.contains("viewBox=\"0 0 800 300\""));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn what_halves_is_a_line_and_names_do_not_lie_on_each_other() {
        let axes = Axes::of(&[curve("a", &[(1.0, 1000.0), (4.0, 250.0)])]);
        let [one, two, four] = [(1.0, 1000.0), (2.0, 500.0), (4.0, 250.0)].map(|it| axes.at(it));
        assert!((two.0 - f64::midpoint(one.0, four.0)).abs() < 1e-9);
        assert!((two.1 - f64::midpoint(one.1, four.1)).abs() < 1e-9);
        let same = [(2.0, 10.0), (4.0, 10.0)];
        let svg = picture(&[panel("p", vec![curve("a", &same), curve("b", &same)])], 1);
        let y = |name: &str| {
            let end = svg.find(&format!(">{name}</text>")).unwrap();
            let begin = svg[..end].rfind("y=\"").unwrap() + 3;
            let len = svg[begin..].find('"').unwrap();
            svg[begin..begin + len].parse::<f64>().unwrap()
        };
        assert!((y("a") - y("b")).abs() >= LINE - 0.1, "{svg}");
    }

    #[test]
    fn values_have_units() {
        assert_eq!([1.0, 1e4, 1e6].map(time), ["1 us", "10 ms", "1 s"]);
        assert_eq!([10.0, 1e5, 1e6].map(rate), ["10/s", "100k/s", "1M/s"]);
    }
}

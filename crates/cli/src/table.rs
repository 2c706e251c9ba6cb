//! The answer as a table for people.
//!
//! Columns are as wide as the rows of the first batch need, so the table streams: of an answer
//! however long, one batch is held. On a terminal the table has lines around it and fits its
//! width: cells that are too wide end with `…`, names are shortened by the prefixes that are
//! declared and where they are too wide in their middle, because those of a column begin alike and
//! end differently, and numbers stand to the right. Elsewhere it is plain, and later cells that need more
//! width push their line out, so that nothing of them is lost.
//!
//! Widths are counted in terminal cells, and control characters are shown as escapes, so no data
//! can move the cursor.

use somersault::output::{Rows, Sink};
use somersault::terms::{NamedNodeRef, TermRef};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Of a plain column, beyond which its cells push the line out.
const PLAIN_CELLS_MAX: usize = 60;
/// Narrower than this no column is made to fit a terminal.
const BOXED_CELLS_MIN: usize = 8;
/// Of a name that is cut one part in so many is its beginning.
const BEGINNING_SHARE: usize = 3;
const _: () = assert!(
    BOXED_CELLS_MIN > 1,
    "a cell that is cut has room for more than the mark"
);

/// How tables look.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Lines around it, cells cut to fit.
    pub is_boxed: bool,
    /// Terminal cells that a boxed table may take.
    pub width: usize,
    /// Prefixes and IRIs that shorten names in a boxed table.
    pub prefixes: Arc<Vec<(String, String)>>,
}

impl Style {
    /// For a terminal of this width.
    pub fn boxed(width: usize, prefixes: Vec<(String, String)>) -> Style {
        Style {
            is_boxed: true,
            width,
            prefixes: Arc::new(prefixes),
        }
    }
}

/// Prints a table.
pub struct Table<W> {
    output: W,
    style: Style,
    names: Vec<String>,
    widths: Option<Vec<usize>>,
    rows: u64,
    unit: &'static str,
}

struct Cell {
    text: String,
    content: Content,
}

/// What a cell has: where it stands in its column, and which part of it is shown where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// To the left, from its beginning.
    Words,
    /// To the left, its beginning and its end.
    Name,
    /// To the right, from its beginning.
    Number,
}

impl<W: Write> Table<W> {
    /// Prints a table of plain words, each row with a word for each name. Words that are numbers stand to the right.
    pub fn words(output: W, style: Style, names: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        assert!(
            rows.iter().all(|row| row.len() == names.len()),
            "a row has a word for each name"
        );
        let mut table = Table::new(output, style);
        table.names = names.iter().map(|name| (*name).to_owned()).collect();
        let word = |text: &String| {
            let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
            let content = match text.contains(':') && !text.contains(' ') {
                _ if is_number => Content::Number,
                true => Content::Name,
                false => Content::Words,
            };
            Cell {
                content,
                ..heading(text)
            }
        };
        let rows: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(word).collect())
            .collect();
        table.open(&rows)?;
        for row in &rows {
            table.line(row)?;
        }
        table.rule('└', '┴', '┘')?;
        table.output.flush()
    }

    /// A table on this output.
    pub fn new(output: W, style: Style) -> Table<W> {
        Table {
            output,
            style,
            names: Vec::new(),
            widths: None,
            rows: 0,
            unit: "row",
        }
    }

    fn open(&mut self, first: &[Vec<Cell>]) -> io::Result<()> {
        if self.widths.is_some() || self.names.is_empty() {
            return Ok(());
        }
        let mut widths: Vec<usize> = self.names.iter().map(|name| name.width()).collect();
        for row in first {
            for (width, cell) in widths.iter_mut().zip(row) {
                let limit = if self.style.is_boxed {
                    usize::MAX
                } else {
                    PLAIN_CELLS_MAX
                };
                *width = (*width).max(cell.text.width().min(limit));
            }
        }
        if self.style.is_boxed {
            // Around each cell two spaces and a line, and a line at the end.
            fit(&mut widths, self.style.width.saturating_sub(1), 3);
        }
        let names: Vec<Cell> = self.names.iter().map(|name| heading(name)).collect();
        self.widths = Some(widths);
        self.rule('┌', '┬', '┐')?;
        self.line(&names)?;
        self.rule('├', '┼', '┤')
    }

    fn rule(&mut self, left: char, middle: char, right: char) -> io::Result<()> {
        let Some(widths) = &self.widths else {
            return Ok(());
        };
        if self.style.is_boxed {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            let middle = middle.to_string();
            return writeln!(self.output, "{left}{}{right}", rules.join(&middle));
        }
        if left == '├' {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            writeln!(self.output, "{}", rules.join("  "))?;
        }
        Ok(())
    }

    fn line(&mut self, cells: &[Cell]) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let is_last = index + 1 == cells.len();
            if self.style.is_boxed {
                let text = match cell.content {
                    Content::Name => cut_within(&cell.text, *width),
                    Content::Words | Content::Number => cut(&cell.text, *width),
                };
                // A name may have no width at all.
                let gap = " ".repeat(width.saturating_sub(text.width()));
                let (before, after) = if cell.content == Content::Number {
                    (&*gap, "")
                } else {
                    ("", &*gap)
                };
                let _ = write!(line, "│ {before}{text}{after} ");
            } else {
                let gap = if is_last {
                    0
                } else {
                    width.saturating_sub(cell.text.width()) + 2
                };
                line.push_str(&cell.text);
                line.extend(std::iter::repeat_n(' ', gap));
            }
        }
        if self.style.is_boxed {
            line.push('│');
        }
        writeln!(self.output, "{line}")
    }
}

impl<W: Write> Sink for Table<W> {
    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.names = variables.to_vec();
        Ok(())
    }

    fn graph_head(&mut self, prefixes: &[(String, String)]) -> io::Result<()> {
        self.names = ["subject", "predicate", "object"].map(str::to_owned).into();
        self.unit = "triple";
        let declared = self.style.prefixes.iter().chain(prefixes).cloned();
        self.style.prefixes = Arc::new(declared.collect());
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        assert!(
            self.names.is_empty() || rows.columns.len() == self.names.len(),
            "a row has a cell for each column"
        );
        let cells: Vec<Vec<Cell>> = (0..rows.len)
            .map(|row| rows.row(row).map(|term| self.style.cell(term)).collect())
            .collect();
        self.open(&cells)?;
        if !self.names.is_empty() {
            for row in &cells {
                self.line(row)?;
            }
        }
        self.rows += rows.len as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.open(&[])?;
        self.rule('└', '┴', '┘')?;
        let plural = if self.rows == 1 { "" } else { "s" };
        writeln!(self.output, "({} {}{plural})", self.rows, self.unit)?;
        self.output.flush()
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        writeln!(self.output, "{value}")?;
        self.output.flush()
    }
}

impl Style {
    /// A cell: terms as Turtle writes them.
    fn cell(&self, term: Option<TermRef<'_>>) -> Cell {
        let Some(term) = term else {
            return heading("");
        };
        if !self.is_boxed {
            return heading(&term.to_string());
        }
        match term {
            TermRef::NamedNode(name) => Cell {
                content: Content::Name,
                ..heading(&self.name(name))
            },
            TermRef::Literal(literal) if is_number(literal.datatype(), literal.value()) => Cell {
                text: literal.value().to_owned(),
                content: Content::Number,
            },
            TermRef::Literal(literal)
                if literal.language().is_none() && literal.datatype() != XSD_STRING =>
            {
                let quoted = somersault::terms::LiteralRef::new_simple_literal(literal.value());
                heading(&format!("{quoted}^^{}", self.name(literal.datatype())))
            }
            other => heading(&other.to_string()),
        }
    }

    /// A name by the longest of the prefixes that fit, if what is left needs no escapes.
    fn name(&self, name: NamedNodeRef<'_>) -> String {
        let short = self.prefixes.iter().filter_map(|(prefix, iri)| {
            let local = name.as_str().strip_prefix(iri.as_str())?;
            (!iri.is_empty() && is_local(local)).then_some((prefix, local))
        });
        match short.min_by_key(|(_, local)| local.len()) {
            Some((prefix, local)) => format!("{prefix}:{local}"),
            None => name.to_string(),
        }
    }
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const XSD_STRING: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/2001/XMLSchema#string");

/// Whether a literal can be told from its bare digits.
fn is_number(datatype: NamedNodeRef<'_>, lexical: &str) -> bool {
    let plain = |marks: &str| {
        !lexical.is_empty()
            && lexical
                .chars()
                .all(|c| c.is_ascii_digit() || marks.contains(c))
    };
    match datatype.as_str().strip_prefix(XSD) {
        Some("integer") => plain("+-"),
        Some("decimal") => plain("+-.") && lexical.contains('.'),
        Some("double") => plain("+-.eE") && lexical.contains(['e', 'E']),
        _ => false,
    }
}

fn is_local(local: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    local.chars().all(plain) && !local.starts_with(['-', '.']) && !local.ends_with('.')
}

/// A cell that stands to the left, its control characters made visible.
fn heading(text: &str) -> Cell {
    let text = if text.contains(char::is_control) {
        let mut visible = String::with_capacity(text.len());
        for c in text.chars() {
            if c.is_control() {
                visible.extend(c.escape_default());
            } else {
                visible.push(c);
            }
        }
        visible
    } else {
        text.to_owned()
    };
    Cell {
        text,
        content: Content::Words,
    }
}

/// Makes the widest columns narrower, all to the same width, until all fit into `total` with
/// `margin` beside each.
fn fit(widths: &mut [usize], total: usize, margin: usize) {
    let needed = |limit: usize| -> usize {
        let cells = widths.iter().map(|width| (*width).min(limit) + margin);
        cells.sum()
    };
    let mut limit = widths.iter().copied().max().unwrap_or(0).min(total);
    while limit > BOXED_CELLS_MIN && needed(limit) > total {
        limit -= 1;
    }
    for width in widths {
        *width = (*width).min(limit.max(1));
    }
}

/// As much of a text as fits, with `…` at its end where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut cells = 1;
    for c in text.chars() {
        cells += c.width().unwrap_or(0);
        if cells > width {
            break;
        }
        kept.push(c);
    }
    // Some characters are wider together than alone: what follows makes a picture of a sign.
    while kept.width() >= width && kept.pop().is_some() {}
    kept.push('…');
    assert!(kept.width() <= width.max(1), "what is cut fits");
    kept
}

/// As much of a name as fits: less of its beginning than of its end, with `…` between them.
fn cut_within(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let beginning = cut(name, width / BEGINNING_SHARE + 1);
    let room = width.saturating_sub(beginning.width());
    let mut end = name.len();
    for (at, _) in name.char_indices().rev() {
        if name[at..].width() > room {
            break;
        }
        end = at;
    }
    format!("{beginning}{}", &name[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::terms::TermBuffer;

    fn printed(style: Style, names: &[&str], columns: Vec<TermBuffer>) -> String {
        let len = columns.first().map_or(0, TermBuffer::len);
        let mut text = Vec::new();
        let mut table = Table::new(&mut text, style);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        table.head(&names).unwrap();
        if len > 0 {
            table.rows(&Rows { columns, len }).unwrap();
        }
        table.finish().unwrap();
        String::from_utf8(text).unwrap()
    }

    fn two_columns() -> Vec<TermBuffer> {
        let mut names = TermBuffer::new();
        names.push_simple("a");
        names.push_unbound();
        names.push_typed("42", "http://www.w3.org/2001/XMLSchema#integer");
        let mut values = TermBuffer::new();
        values.push_iri("http://e/x");
        values.push_iri("http://e/long/er");
        values.push_simple("日本語日本語日本語\u{1b}[2J");
        vec![names, values]
    }

    #[test]
    fn a_small_plain_table() {
        let mut columns = two_columns();
        columns[1].clear();
        columns[1].push_iri("http://e/x");
        columns[1].push_iri("http://e/longer");
        columns[1].push_unbound();
        let text = printed(Style::default(), &["n", "v"], columns);
        let number = "\"42\"^^<http://www.w3.org/2001/XMLSchema#integer>";
        let gap = " ".repeat(number.len() + 2);
        assert_eq!(
            text,
            format!(
                "n{}v\n{}  -----------------\n\"a\"{}<http://e/x>\n{gap}<http://e/longer>\n\
                 {number}  \n(3 rows)\n",
                " ".repeat(number.len() + 1),
                "-".repeat(number.len()),
                " ".repeat(number.len() - 1),
            )
        );
    }

    #[test]
    fn a_boxed_table_fits_and_hides_no_controls() {
        let prefixes = vec![("e".to_owned(), "http://e/".to_owned())];
        let text = printed(Style::boxed(28, prefixes), &["n", "v"], two_columns());
        let expected = "\
┌─────┬────────────────────┐
│ n   │ v                  │
├─────┼────────────────────┤
│ \"a\" │ e:x                │
│     │ <http://e/long/er> │
│  42 │ \"日本語日本語日本… │
└─────┴────────────────────┘
(3 rows)
";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.width() <= 28));
    }

    #[test]
    fn what_is_wider_together_and_what_has_no_width_are_shown() {
        let mut hearts = TermBuffer::new();
        hearts.push_simple(&"\u{2764}\u{fe0f}".repeat(20));
        let text = printed(Style::boxed(20, Vec::new()), &["n"], vec![hearts]);
        assert!(text.lines().all(|line| line.width() <= 20), "{text}");

        let mut output = Vec::new();
        let mut table = Table::new(&mut output, Style::boxed(20, Vec::new()));
        table.head(&["\u{200d}".to_owned()]).unwrap();
        for is_bound in [false, true] {
            let mut column = TermBuffer::new();
            if is_bound {
                column.push_simple("a");
            } else {
                column.push_unbound();
            }
            let columns = vec![column];
            table.rows(&Rows { columns, len: 1 }).unwrap();
        }
        table.finish().unwrap();
        assert!(String::from_utf8(output).unwrap().contains("(2 rows)"));
    }

    #[test]
    fn names_that_are_cut_are_told_apart() {
        let mut names = TermBuffer::new();
        let people = ["Alice", "Bob", "日本語\u{2764}\u{fe0f}"];
        for person in people {
            names.push_iri(&format!("http://www.example.org/a/long/way/to/{person}"));
        }
        let text = printed(Style::boxed(30, Vec::new()), &["n"], vec![names]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3], "│ <http://…ong/way/to/Alice> │");
        assert_eq!(lines[4], "│ <http://…/long/way/to/Bob> │");
        assert!(lines.iter().all(|line| line.width() <= 30), "{text}");
        for person in people {
            let name = format!("<http://www.example.org/{person}>");
            for width in 1..=40 {
                let cut = cut_within(&name, width);
                assert!(cut.width() <= width, "{cut} in {width}");
            }
        }
    }

    #[test]
    fn an_empty_table_has_its_head() {
        let text = printed(Style::boxed(80, Vec::new()), &["n"], Vec::new());
        assert_eq!(text, "┌───┐\n│ n │\n├───┤\n└───┘\n(0 rows)\n");
        assert_eq!(printed(Style::default(), &[], Vec::new()), "(0 rows)\n");
    }

    #[test]
    fn words_are_shown_as_they_are() {
        let mut text = Vec::new();
        let rows = [["a", "7"], ["\u{1b}b", "seven"]].map(|row| row.map(str::to_owned).to_vec());
        Table::words(&mut text, Style::boxed(40, Vec::new()), &["n", "v"], &rows).unwrap();
        let expected = "\
┌─────────┬───────┐
│ n       │ v     │
├─────────┼───────┤
│ a       │     7 │
│ \\u{1b}b │ seven │
└─────────┴───────┘
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn columns_share_what_there_is() {
        let mut widths = [100, 3, 50];
        fit(&mut widths, 80, 3);
        assert_eq!(widths, [34, 3, 34]);
        let mut many = [20; 30];
        fit(&mut many, 80, 3);
        assert_eq!(many, [BOXED_CELLS_MIN; 30]);
    }
}

//! The answer as a table for people.
//!
//! Columns are as wide as the first rows need, up to a limit, so the table streams: rows after the
//! first batch that need more width push their line out rather than hold everything back.

use somersault::oxrdf::TermRef;
use somersault::results::{Rows, Sink};
use std::io::{self, Write};

const WIDTH_CHARS_MAX: usize = 60;

/// Prints a table.
pub struct Table<W> {
    output: W,
    names: Vec<String>,
    widths: Vec<usize>,
    rows: u64,
}

impl<W: Write> Table<W> {
    /// A table on this output.
    pub fn new(output: W) -> Table<W> {
        Table {
            output,
            names: Vec::new(),
            widths: Vec::new(),
            rows: 0,
        }
    }

    fn open(&mut self, first: Option<&[Vec<String>]>) -> io::Result<()> {
        if !self.widths.is_empty() || self.names.is_empty() {
            return Ok(());
        }
        self.widths = self.names.iter().map(|name| name.chars().count()).collect();
        for row in first.unwrap_or_default() {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(WIDTH_CHARS_MAX));
            }
        }
        let names = self.names.clone();
        self.line(&names)?;
        let rules: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
        self.line(&rules)
    }

    fn line(&mut self, cells: &[String]) -> io::Result<()> {
        for (index, (cell, width)) in cells.iter().zip(&self.widths).enumerate() {
            let gap = if index == 0 { "" } else { "  " };
            if index + 1 == cells.len() {
                write!(self.output, "{gap}{cell}")?;
            } else {
                write!(self.output, "{gap}{cell:width$}")?;
            }
        }
        writeln!(self.output)
    }
}

impl<W: Write> Sink for Table<W> {
    fn head(&mut self, variables: &[String]) -> io::Result<()> {
        self.names = variables.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        let cells: Vec<Vec<String>> = (0..rows.len)
            .map(|row| rows.row(row).map(cell).collect())
            .collect();
        self.open(Some(&cells))?;
        for row in &cells {
            self.line(row)?;
        }
        self.rows += rows.len as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.open(None)?;
        let plural = if self.rows == 1 { "" } else { "s" };
        writeln!(self.output, "({} row{plural})", self.rows)?;
        self.output.flush()
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        writeln!(self.output, "{value}")?;
        self.output.flush()
    }
}

/// A cell: terms as Turtle writes them, control characters made visible.
fn cell(term: Option<TermRef<'_>>) -> String {
    term.map(|term| term.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::rdf::TermBuffer;

    #[test]
    fn a_small_table() {
        let mut names = TermBuffer::new();
        names.push_simple("a");
        names.push_unbound();
        let mut values = TermBuffer::new();
        values.push_iri("http://e/x");
        values.push_iri("http://e/longer");
        let mut text = Vec::new();
        let mut table = Table::new(&mut text);
        table.head(&["n".to_owned(), "v".to_owned()]).unwrap();
        table
            .rows(&Rows {
                columns: vec![names, values],
                len: 2,
            })
            .unwrap();
        table.finish().unwrap();
        let expected = "n    v\n---  -----------------\n\"a\"  <http://e/x>\n     \
                        <http://e/longer>\n(2 rows)\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

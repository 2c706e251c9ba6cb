//! Our own writers of JSON, XML, CSV and TSV results and of N-Triples: columns of terms to bytes, a batch at
//! a time.
//!
//! The library's serialisers take 0.6 to 1 us a cell (a map of bindings per row, an event per JSON
//! token); a batch of columns needs neither. What is left is copying text and looking for what must be
//! escaped ([`super::escape`]), so the floor is about the bytes that come out. A term that recurs in a
//! column of the batch is printed once and copied from there ([`Printed`]). Tested against the library's
//! parsers and serialisers.
//!
//! Sources: SPARQL 1.1 Query Results JSON Format, SPARQL 1.1 Query Results CSV and TSV Formats, and
//! the 1.2 drafts of both for triple terms and base directions; RDF 1.2 N-Triples, canonical form. One
//! difference to the library: a CSV field is quoted whenever it needs to be (RFC 4180), IRIs and
//! variable names too.

use super::escape::{self, csv_field};
use super::rows::Rows;
use super::statement::not_a_triple;
use super::xml;
use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, TermRef};
use rdf::TermBuffer;
use rdf::format::write_xml_text;
use std::io;
use std::ops::Range;

/// One of the formats written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Json,
    Xml,
    Csv,
    Tsv,
    /// Of three columns: subject, predicate, object; a fourth is a graph, as N-Quads has it.
    NTriples,
}

/// Bytes that a batch gets room for before it is written, at most.
const RESERVED_MAX: usize = 1 << 20;

/// Writes answers of one query.
pub(crate) struct TextWriter {
    format: TextFormat,
    columns: Vec<Column>,
    /// JSON: whether a row has been written.
    has_rows: bool,
    /// Bytes of the batch before: what the next one gets room for.
    batch_bytes: usize,
}

/// What is kept of a column from row to row.
#[derive(Default)]
struct Column {
    /// JSON and XML: what stands before a cell.
    key: Vec<u8>,
    /// The same before a cell that is an IRI.
    iri_key: Vec<u8>,
    printed: Printed,
}

/// Where the terms of a column of the batch stand in the output: who comes again is copied from there.
#[derive(Default)]
struct Printed {
    /// By number of the term; empty for none that stands there yet, and as a whole where no term of
    /// the column recurs.
    places: Vec<Range<usize>>,
}

impl Printed {
    /// Gets ready for a batch.
    fn begin(&mut self, terms: &TermBuffer) {
        self.places.clear();
        if terms.terms_len() < terms.len() {
            self.places.resize(terms.terms_len(), 0..0);
        }
    }

    /// Appends the cell of a row: a copy of an earlier one, or what `print` appends.
    #[inline]
    fn cell(
        &mut self,
        terms: &TermBuffer,
        row: usize,
        out: &mut Vec<u8>,
        print: impl FnOnce(&mut Vec<u8>, Option<TermRef<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let number = terms.number(row);
        let Some(place) = self.places.get_mut(number) else {
            return print(out, terms.term(number));
        };
        if place.start == place.end {
            let start = out.len();
            print(out, terms.term(number))?;
            *place = start..out.len();
        } else {
            out.extend_from_within(place.clone());
        }
        Ok(())
    }
}

impl TextWriter {
    /// A writer of solutions, or of triples where the format says so, whose head goes to `out`, with the
    /// warnings where the format has room for them. An error
    /// where the format cannot carry a variable's name.
    pub(crate) fn new(
        format: TextFormat,
        variables: &[String],
        warnings: &[String],
        out: &mut Vec<u8>,
    ) -> io::Result<TextWriter> {
        let mut columns = Vec::new();
        columns.resize_with(variables.len(), Column::default);
        match format {
            TextFormat::Json => {
                out.extend_from_slice(b"{\"head\":{\"vars\":[");
                for (number, variable) in variables.iter().enumerate() {
                    separate(out, number, b",");
                    json_string(out, variable);
                    let column = &mut columns[number];
                    json_string(&mut column.key, variable);
                    column.key.push(b':');
                    column.iri_key.extend_from_slice(&column.key);
                    column.iri_key.extend_from_slice(JSON_IRI);
                }
                out.extend_from_slice(b"]},");
                json_warnings(out, warnings);
                out.extend_from_slice(b"\"results\":{\"bindings\":[");
            }
            TextFormat::Xml => {
                out.extend_from_slice(xml::HEAD);
                for (variable, column) in variables.iter().zip(&mut columns) {
                    xml::variable(out, variable)?;
                    xml::binding(&mut column.key, variable)?;
                    column.iri_key.extend_from_slice(&column.key);
                    column.iri_key.extend_from_slice(xml::IRI);
                }
                out.extend_from_slice(xml::RESULTS);
            }
            TextFormat::Csv => {
                for (number, variable) in variables.iter().enumerate() {
                    separate(out, number, b",");
                    csv_field(out, variable);
                }
                out.extend_from_slice(b"\r\n");
            }
            TextFormat::Tsv => {
                for (number, variable) in variables.iter().enumerate() {
                    separate(out, number, b"\t");
                    out.push(b'?');
                    out.extend_from_slice(variable.as_bytes());
                }
                out.push(b'\n');
            }
            TextFormat::NTriples => columns.resize_with(4, Column::default),
        }
        Ok(TextWriter {
            format,
            columns,
            has_rows: false,
            batch_bytes: 0,
        })
    }

    /// Appends some rows. An error where they are to be triples and one is none, and where the format
    /// cannot carry a text.
    pub(crate) fn rows(&mut self, rows: &Rows, out: &mut Vec<u8>) -> io::Result<()> {
        let is_fitting = match self.format {
            TextFormat::NTriples => rows.columns.len() <= self.columns.len(),
            _ => rows.columns.len() == self.columns.len(),
        };

        assert!(
            is_fitting || rows.len == 0,
            "the rows have the columns of the head"
        );
        for (column, terms) in self.columns.iter_mut().zip(&rows.columns) {
            column.printed.begin(terms);
        }
        out.reserve(self.batch_bytes);
        let before = out.len();
        match self.format {
            TextFormat::Json => self.json_rows(rows, out),
            TextFormat::Xml => self.xml_rows(rows, out),
            TextFormat::Csv => self.lines(rows, out, b",", b"\r\n", |out, _, term| {
                if let Some(term) = term {
                    csv_term(out, term);
                }
                Ok(())
            }),
            TextFormat::Tsv => self.lines(rows, out, b"\t", b"\n", |out, _, term| {
                if let Some(term) = term {
                    tsv_term(out, term);
                }
                Ok(())
            }),
            TextFormat::NTriples => self.lines(rows, out, b" ", b" .\n", ntriples_cell),
        }?;
        self.batch_bytes = (out.len() - before).min(RESERVED_MAX);
        Ok(())
    }

    fn json_rows(&mut self, rows: &Rows, out: &mut Vec<u8>) -> io::Result<()> {
        for row in 0..rows.len {
            if std::mem::replace(&mut self.has_rows, true) {
                out.push(b',');
            }
            out.push(b'{');
            let first = out.len();
            for (column, terms) in self.columns.iter_mut().zip(&rows.columns) {
                let Column {
                    key,
                    iri_key,
                    printed,
                } = column;
                let before = out.len();
                separate(out, before - first, b",");
                let start = out.len();
                printed.cell(terms, row, out, |out, term| {
                    match term {
                        Some(TermRef::NamedNode(iri)) => {
                            out.extend_from_slice(iri_key);
                            escape::json(out, iri.as_str());
                            out.extend_from_slice(b"\"}");
                        }
                        Some(term) => {
                            out.extend_from_slice(key);
                            json_term(out, term);
                        }
                        None => {}
                    }
                    Ok(())
                })?;
                if out.len() == start {
                    // Unbound: there is nothing to be separated.
                    out.truncate(before);
                }
            }
            out.push(b'}');
        }
        Ok(())
    }

    fn xml_rows(&mut self, rows: &Rows, out: &mut Vec<u8>) -> io::Result<()> {
        for row in 0..rows.len {
            out.extend_from_slice(b"<result>");
            for (column, terms) in self.columns.iter_mut().zip(&rows.columns) {
                let Column {
                    key,
                    iri_key,
                    printed,
                } = column;
                printed.cell(terms, row, out, |out, term| {
                    match term {
                        Some(TermRef::NamedNode(iri)) => {
                            out.extend_from_slice(iri_key);
                            write_xml_text(out, iri.as_str())?;
                            out.extend_from_slice(xml::IRI_END);
                        }
                        Some(term) => {
                            out.extend_from_slice(key);
                            xml::term(out, term)?;
                            out.extend_from_slice(xml::BINDING_END);
                        }
                        None => {}
                    }
                    Ok(())
                })?;
            }
            out.extend_from_slice(b"</result>");
        }
        Ok(())
    }

    #[inline]
    fn lines(
        &mut self,
        rows: &Rows,
        out: &mut Vec<u8>,
        separator: &[u8],
        end: &[u8],
        print: impl Fn(&mut Vec<u8>, usize, Option<TermRef<'_>>) -> io::Result<()>,
    ) -> io::Result<()> {
        for row in 0..rows.len {
            let columns = self.columns.iter_mut().zip(&rows.columns);
            for (number, (column, terms)) in columns.enumerate() {
                separate(out, number, separator);
                let print = |out: &mut Vec<u8>, term: Option<TermRef<'_>>| print(out, number, term);
                column.printed.cell(terms, row, out, print)?;
            }
            out.extend_from_slice(end);
        }
        Ok(())
    }

    /// Appends the end.
    pub(crate) fn finish(&self, out: &mut Vec<u8>) {
        match self.format {
            TextFormat::Json => out.extend_from_slice(b"]}}"),
            TextFormat::Xml => out.extend_from_slice(xml::END),
            TextFormat::Csv | TextFormat::Tsv | TextFormat::NTriples => {}
        }
    }
}

/// Appends a boolean answer.
pub(super) fn boolean(format: TextFormat, value: bool, warnings: &[String], out: &mut Vec<u8>) {
    let word: &[u8] = if value { b"true" } else { b"false" };
    match format {
        TextFormat::Json => {
            out.extend_from_slice(b"{\"head\":{},");
            json_warnings(out, warnings);
            out.extend_from_slice(b"\"boolean\":");
            out.extend_from_slice(word);
            out.push(b'}');
        }
        TextFormat::Xml => xml::boolean(out, value),
        TextFormat::Csv | TextFormat::Tsv | TextFormat::NTriples => out.extend_from_slice(word),
    }
}

#[inline]
fn separate(out: &mut Vec<u8>, number: usize, separator: &[u8]) {
    if number > 0 {
        out.extend_from_slice(separator);
    }
}

/// Appends the member that says what the query probably did not mean, where there is some.
fn json_warnings(out: &mut Vec<u8>, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    out.extend_from_slice(b"\"warnings\":[");
    for (number, warning) in warnings.iter().enumerate() {
        separate(out, number, b",");
        json_string(out, warning);
    }
    out.extend_from_slice(b"],");
}

fn json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escape::json(out, text);
    out.push(b'"');
}

/// How an IRI begins.
const JSON_IRI: &[u8] = b"{\"type\":\"uri\",\"value\":\"";

fn json_term(out: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(iri) => {
            out.extend_from_slice(JSON_IRI);
            escape::json(out, iri.as_str());
            out.push(b'"');
        }
        TermRef::BlankNode(blank) => {
            out.extend_from_slice(b"{\"type\":\"bnode\",\"value\":");
            json_string(out, blank.as_str());
        }
        TermRef::Literal(literal) => json_literal(out, literal),
        TermRef::Triple(triple) => {
            out.extend_from_slice(b"{\"type\":\"triple\",\"value\":{\"subject\":");
            json_term(out, triple.subject.as_ref().into());
            out.extend_from_slice(b",\"predicate\":");
            json_term(out, triple.predicate.as_ref().into());
            out.extend_from_slice(b",\"object\":");
            json_term(out, triple.object.as_ref());
            out.push(b'}');
        }
    }
    out.push(b'}');
}

fn json_literal(out: &mut Vec<u8>, literal: LiteralRef<'_>) {
    out.extend_from_slice(b"{\"type\":\"literal\",\"value\":");
    json_string(out, literal.value());
    if let Some(language) = literal.language() {
        out.extend_from_slice(b",\"xml:lang\":");
        json_string(out, language);
        match literal.direction() {
            Some(BaseDirection::Ltr) => out.extend_from_slice(b",\"its:dir\":\"ltr\""),
            Some(BaseDirection::Rtl) => out.extend_from_slice(b",\"its:dir\":\"rtl\""),
            None => {}
        }
    } else if literal.datatype() != xsd::STRING {
        out.extend_from_slice(b",\"datatype\":");
        json_string(out, literal.datatype().as_str());
    }
}

fn csv_term(out: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(iri) => csv_field(out, iri.as_str()),
        TermRef::BlankNode(blank) => labelled(out, blank.as_str()),
        TermRef::Literal(literal) => csv_field(out, literal.value()),
        TermRef::Triple(_) => csv_field(out, &plain(term)),
    }
}

/// A triple term in CSV: its parts with blanks between.
fn plain(term: TermRef<'_>) -> String {
    match term {
        TermRef::NamedNode(iri) => iri.as_str().to_owned(),
        TermRef::BlankNode(blank) => format!("_:{}", blank.as_str()),
        TermRef::Literal(literal) => literal.value().to_owned(),
        TermRef::Triple(triple) => format!(
            "{} {} {}",
            plain(triple.subject.as_ref().into()),
            triple.predicate.as_str(),
            plain(triple.object.as_ref())
        ),
    }
}

/// A term in Turtle syntax as TSV has it; literals may be bare.
fn tsv_term(out: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(iri) => quoted_iri(out, iri.as_str()),
        TermRef::BlankNode(blank) => labelled(out, blank.as_str()),
        TermRef::Literal(literal) => tsv_literal(out, literal),
        TermRef::Triple(triple) => {
            out.extend_from_slice(b"<<( ");
            tsv_term(out, triple.subject.as_ref().into());
            out.push(b' ');
            quoted_iri(out, triple.predicate.as_str());
            out.push(b' ');
            tsv_term(out, triple.object.as_ref());
            out.extend_from_slice(b" )>>");
        }
    }
}

#[inline]
fn quoted_iri(out: &mut Vec<u8>, iri: &str) {
    out.push(b'<');
    out.extend_from_slice(iri.as_bytes());
    out.push(b'>');
}

fn labelled(out: &mut Vec<u8>, label: &str) {
    out.extend_from_slice(b"_:");
    out.extend_from_slice(label.as_bytes());
}

fn tsv_literal(out: &mut Vec<u8>, literal: LiteralRef<'_>) {
    let value = literal.value();
    if literal.language().is_none() && is_bare(value, literal) {
        out.extend_from_slice(value.as_bytes());
        return;
    }
    out.push(b'"');
    escape::tsv(out, value);
    out.push(b'"');
    literal_end(out, literal);
}

/// What follows the quotes of a literal in Turtle syntax.
fn literal_end(out: &mut Vec<u8>, literal: LiteralRef<'_>) {
    if let Some(language) = literal.language() {
        out.push(b'@');
        out.extend_from_slice(language.as_bytes());
        match literal.direction() {
            Some(BaseDirection::Ltr) => out.extend_from_slice(b"--ltr"),
            Some(BaseDirection::Rtl) => out.extend_from_slice(b"--rtl"),
            None => {}
        }
    } else if literal.datatype() != xsd::STRING {
        out.extend_from_slice(b"^^");
        quoted_iri(out, literal.datatype().as_str());
    }
}

/// Appends the part of a triple that stands in this column; an error where RDF allows no such.
#[inline]
fn ntriples_cell(out: &mut Vec<u8>, column: usize, term: Option<TermRef<'_>>) -> io::Result<()> {
    match (column, term) {
        (_, Some(TermRef::NamedNode(iri))) => quoted_iri(out, iri.as_str()),
        (0 | 2 | 3, Some(TermRef::BlankNode(blank))) => labelled(out, blank.as_str()),
        (2, Some(term)) => ntriples_term(out, term),
        _ => return Err(not_a_triple()),
    }
    Ok(())
}

fn ntriples_term(out: &mut Vec<u8>, term: TermRef<'_>) {
    match term {
        TermRef::NamedNode(iri) => quoted_iri(out, iri.as_str()),
        TermRef::BlankNode(blank) => labelled(out, blank.as_str()),
        TermRef::Literal(literal) => {
            out.push(b'"');
            escape::ntriples(out, literal.value());
            out.push(b'"');
            literal_end(out, literal);
        }
        TermRef::Triple(triple) => {
            out.extend_from_slice(b"<<( ");
            ntriples_term(out, triple.subject.as_ref().into());
            out.push(b' ');
            quoted_iri(out, triple.predicate.as_str());
            out.push(b' ');
            ntriples_term(out, triple.object.as_ref());
            out.extend_from_slice(b" )>>");
        }
    }
}

/// Whether Turtle has the literal without quotes (grammar productions 19 to 21 and 133s).
fn is_bare(value: &str, literal: LiteralRef<'_>) -> bool {
    let datatype = literal.datatype();
    if datatype == xsd::STRING {
        return false;
    }
    if datatype == xsd::BOOLEAN {
        return matches!(value, "true" | "false");
    }
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if datatype == xsd::INTEGER {
        return !unsigned.is_empty() && digits(unsigned);
    }
    if datatype == xsd::DECIMAL {
        let parts = unsigned.split_once('.');
        return parts
            .is_some_and(|(whole, part)| digits(whole) && !part.is_empty() && digits(part));
    }
    if datatype == xsd::DOUBLE {
        let Some((number, exponent)) = unsigned.split_once(['e', 'E']) else {
            return false;
        };
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        return !exponent.is_empty()
            && digits(exponent)
            && digits(whole)
            && digits(part)
            && !(whole.is_empty() && part.is_empty());
    }
    false
}

#[cfg(test)]
mod tests;

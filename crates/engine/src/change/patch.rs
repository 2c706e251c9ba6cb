//! RDF Patch (Apache Jena, "RDF Patch", version 1, the text form) as an update: lines that add and
//! delete statements, for replicas and for tools that keep what they change.
//!
//! ```text
//! H id <uuid:0686c69d-8f89-4496-acb5-744f0157a8db> .     headers are passed over
//! TX .                                                   begin
//! PA ex <http://example.org/> .                          a prefix; PD takes it away
//! A ex:s ex:p "new" .                                    add
//! D ex:s ex:p "old" <http://example.org/graph> .         delete, of a named graph
//! TC .                                                   commit; TA: nothing since TX
//! ```
//!
//! A patch becomes the text of one update, so it is all or nothing whatever transactions it has, is
//! logged as every change is, and its statements take the fast path of plain data. Each line stays the
//! line that it was, so that what the update's grammar refuses of a term is reported by its line. Lines
//! are cut into terms here, names are written out as IRIs, and nothing but terms is passed on: no line
//! can say more than what is added or deleted. One pass, no recursion, bounded by what an update's text
//! may have.
//!
//! A blank node of a patch is a new one: it cannot name one that is stored, so it is refused in what is
//! deleted, and statements that share one stand together, without a deletion, another graph or the end of a
//! transaction between them.

use super::store_write::GraphTarget;
use crate::error::{Kind, Position, QueryError, Unit};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The media type.
pub const RDF_PATCH: &str = "application/rdf-patch";

/// The update that a patch of a graph, or of the store, is. `bytes_max`: what the text of an update may
/// have.
pub fn patch_to_update(
    text: &str,
    target: &GraphTarget,
    bytes_max: u64,
) -> Result<String, QueryError> {
    let mut writer = Writer {
        target,
        update: String::with_capacity(text.len() + text.len() / 4 + 64),
        open: None,
        blocks: 0,
        begun: None,
        prefixes: HashMap::new(),
        labels: HashMap::new(),
    };
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        let wrong = |wrong| refused(number, line, wrong);
        writer.line(line).map_err(wrong)?;
        writer.update.push('\n');
        if writer.update.len() as u64 > bytes_max {
            let message = "the patch is longer than the text of an update may be";
            let used = writer.update.len() as u64;
            return Err(QueryError::new(Kind::TooLong, message)
                .with_limit(Unit::Bytes, bytes_max, used)
                .with_hint("send it in parts"));
        }
    }
    if writer.begun.is_some() {
        let wrong = (0, "its last transaction has no end".to_owned());
        return Err(refused(number, "", wrong));
    }
    writer.close();
    Ok(writer.update)
}

/// The error of a patch's update, with the place that it has in the patch: lines are those of the patch, columns
/// are not.
pub(crate) fn placed(mut error: QueryError) -> QueryError {
    if let Some(position) = &mut error.position {
        position.column = 1;
    }
    error
}

/// The byte of a line where something is wrong, and what.
type Wrong = (usize, String);

fn refused(number: u64, line: &str, (column, why): Wrong) -> QueryError {
    let mut error = QueryError::new(Kind::Syntax, format!("this is no RDF Patch: {why}"));
    error.position = Some(Position {
        line: number,
        column: line[..column].chars().count() as u64 + 1,
    });
    error.with_hint("a line is `A s p o .` or `D s p o .`, with a fourth term for a graph")
}

/// Prefixes, and the IRIs in `<>` that they stand for.
type Prefixes = HashMap<String, String>;

struct Writer<'t> {
    target: &'t GraphTarget,
    update: String,
    /// The block of statements that is open: its operation and its graph.
    open: Option<(Operation, Option<String>)>,
    /// Blocks so far.
    blocks: u64,
    /// Within a transaction: bytes of the update before it, and the prefixes that it has changed, as
    /// they were.
    begun: Option<(usize, Prefixes)>,
    prefixes: Prefixes,
    /// The block of each blank node.
    labels: HashMap<String, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Insert,
    Delete,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let words = words(line)?;
        let Some((&(at, operation), rest)) = words.split_first() else {
            return Ok(());
        };
        let Some((&(end, "."), terms)) = rest.split_last() else {
            let why = "the line does not end with `.`".to_owned();
            return Err((line.trim_end().len(), why));
        };
        match operation {
            "H" => Ok(()),
            "A" => self.statement(Operation::Insert, terms, end),
            "D" => self.statement(Operation::Delete, terms, end),
            "PA" | "PD" => self.prefix(operation == "PA", terms, end),
            "TX" | "TC" | "TA" if !terms.is_empty() => {
                Err((terms[0].0, format!("`{operation}` stands alone")))
            }
            "TX" => self.begin(at),
            "TC" | "TA" => self.end(operation == "TA", at),
            other => Err((at, format!("`{other}` is no operation"))),
        }
    }

    fn begin(&mut self, at: usize) -> Result<(), Wrong> {
        if self.begun.is_some() {
            return Err((at, "a transaction within a transaction".to_owned()));
        }
        self.close();
        self.begun = Some((self.update.len(), Prefixes::new()));
        Ok(())
    }

    fn end(&mut self, is_aborted: bool, at: usize) -> Result<(), Wrong> {
        let begun = self.begun.take();
        let (kept, changed) = begun.ok_or_else(|| (at, "no transaction has begun".to_owned()))?;
        self.close();
        if is_aborted {
            let lines = self.update[kept..].matches('\n').count();
            self.update.truncate(kept);
            self.update.extend(std::iter::repeat_n('\n', lines));
            for (name, iri) in changed {
                self.set_prefix(name, iri);
            }
        }
        Ok(())
    }

    /// Gives a prefix its IRI; none where that is empty.
    fn set_prefix(&mut self, name: String, iri: String) {
        if iri.is_empty() {
            self.prefixes.remove(&name);
        } else {
            self.prefixes.insert(name, iri);
        }
    }

    fn prefix(&mut self, is_added: bool, terms: &[Word<'_>], end: usize) -> Result<(), Wrong> {
        let ((at, name), iri) = match (is_added, terms) {
            (true, [name, (_, iri)]) if iri.starts_with('<') && !iri.starts_with("<<(") => {
                (*name, *iri)
            }
            (false, [name]) => (*name, ""),
            _ => return Err((end, "a prefix is a name and an IRI in `<>`".to_owned())),
        };
        let name = name.trim_matches('"').trim_end_matches(':');
        if !name.chars().all(|c| is_name(c) && c != ':') {
            return Err((at, format!("`{name}` is no name of a prefix")));
        }
        let before = self.prefixes.get(name).cloned().unwrap_or_default();
        if let Some((_, changed)) = &mut self.begun {
            changed.entry(name.to_owned()).or_insert(before);
        }
        self.set_prefix(name.to_owned(), iri.to_owned());
        Ok(())
    }

    /// Adds a statement to the block of its operation and graph.
    fn statement(
        &mut self,
        operation: Operation,
        terms: &[Word<'_>],
        end: usize,
    ) -> Result<(), Wrong> {
        let (triple, graph) = match terms {
            [subject, predicate, object] => ([*subject, *predicate, *object], None),
            [subject, predicate, object, graph] => ([*subject, *predicate, *object], Some(*graph)),
            _ => {
                let found = terms.len();
                return Err((end, format!("{found} terms, expected three or four")));
            }
        };
        let graph = match (self.target, graph) {
            (GraphTarget::Named(name), None) => Some(format!("<{name}>")),
            (GraphTarget::Store | GraphTarget::Default, None) => None,
            (GraphTarget::Store, Some((at, graph))) if graph.starts_with(['_', '"']) => {
                return Err((at, format!("`{graph}` names no graph, an IRI does")));
            }
            (GraphTarget::Store, Some(graph)) => {
                let mut text = String::new();
                self.term(operation, graph, &mut text)?;
                Some(text)
            }
            (_, Some((at, _))) => {
                let why = "the patch is for one graph, and names another";
                return Err((at, why.to_owned()));
            }
        };
        if self.open.as_ref() != Some(&(operation, graph.clone())) {
            self.close();
            self.begin_block(operation, graph);
        }
        let mut text = String::new();
        for term in triple {
            self.term(operation, term, &mut text)?;
            text.push(' ');
        }
        self.update.push_str(&text);
        self.update.push('.');
        Ok(())
    }

    fn begin_block(&mut self, operation: Operation, graph: Option<String>) {
        self.update.push_str(match operation {
            Operation::Insert => "INSERT DATA { ",
            Operation::Delete => "DELETE DATA { ",
        });
        if let Some(graph) = &graph {
            let _ = write!(self.update, "GRAPH {graph} {{ ");
        }
        self.blocks += 1;
        self.open = Some((operation, graph));
    }

    /// Ends the block on the line of its last statement, where an error of the block is then reported.
    fn close(&mut self) {
        if let Some((_, graph)) = self.open.take() {
            let end = self.update.trim_end_matches('\n').len();
            let close = if graph.is_some() { " } } ;" } else { " } ;" };
            self.update.insert_str(end, close);
        }
    }

    /// Writes a term with its names as IRIs.
    fn term(
        &mut self,
        operation: Operation,
        word: Word<'_>,
        out: &mut String,
    ) -> Result<(), Wrong> {
        let (start, text) = word;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = if rest.starts_with("<<(") || rest.starts_with(")>>") {
                3
            } else if rest.starts_with(char::is_whitespace) {
                rest.len() - rest.trim_start().len()
            } else if rest.starts_with('"') {
                quoted_length(rest).map_err(|why| (start + at, why))?
            } else if let Some(tag) = rest.strip_prefix('@') {
                1 + tag_length(tag)
            } else if rest.starts_with("^^") {
                2
            } else {
                word_length(rest).map_err(|why| (start + at, why))?
            };
            self.piece(operation, (start + at, &rest[..length]), out)?;
            at += length;
        }
        Ok(())
    }

    /// Writes a piece of a term.
    fn piece(
        &mut self,
        operation: Operation,
        (at, text): Word<'_>,
        out: &mut String,
    ) -> Result<(), Wrong> {
        if let Some(label) = text.strip_prefix("_:") {
            self.note_label(operation, label).map_err(|why| (at, why))?;
            out.push_str(text);
            return Ok(());
        }
        match text.split_once(':') {
            Some((prefix, local)) if text.starts_with(is_name) => {
                let iri = self.prefixes.get(prefix);
                let iri = iri.ok_or_else(|| (at, format!("there is no prefix `{prefix}`")))?;
                let iri = iri.trim_end_matches('>');
                let _ = write!(out, "{iri}{local}>");
            }
            _ => out.push_str(text),
        }
        Ok(())
    }

    /// Checks that a blank node is a new one and stays in one block.
    fn note_label(&mut self, operation: Operation, label: &str) -> Result<(), String> {
        if operation == Operation::Delete {
            let why = "a blank node of a patch is a new one, so nothing of it can be deleted";
            return Err(why.to_owned());
        }
        let first = *self.labels.entry(label.to_owned()).or_insert(self.blocks);
        if first == self.blocks {
            return Ok(());
        }
        Err(format!(
            "a deletion, another graph or the end of a transaction stands between this and other \
             statements of _:{label}"
        ))
    }
}

/// A word of a line and its first byte.
type Word<'l> = (usize, &'l str);

/// The words of a line: operations, terms and the `.` at the end.
fn words(line: &str) -> Result<Vec<Word<'_>>, Wrong> {
    let mut words = Vec::with_capacity(6);
    let mut at = 0;
    loop {
        at += line[at..].len() - line[at..].trim_start().len();
        let rest = &line[at..];
        if rest.is_empty() || rest.starts_with('#') {
            return Ok(words);
        }
        let length = word_length(rest).map_err(|why| (at, why))?;
        words.push((at, &rest[..length]));
        at += length;
    }
}

/// Whether a name of a patch may have this character.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() || "_:.-+%".contains(c)
}

/// The length of the word that a text begins with. Nothing that could end a statement or a block is
/// part of one but within `<>` and quotes.
fn word_length(text: &str) -> Result<usize, String> {
    if text.starts_with("<<(") {
        return triple_term_length(text);
    }
    if text.starts_with('"') {
        return literal_length(text);
    }
    if text == "." || text.starts_with(". ") || text.starts_with(".\t") || text.starts_with(".#") {
        return Ok(1);
    }
    name_length(text)
}

/// An IRI in `<>`, a name with a prefix, a label, a number.
fn name_length(text: &str) -> Result<usize, String> {
    if text.starts_with('<') {
        return iri_length(text);
    }
    let length = text.find(|c| !is_name(c)).unwrap_or(text.len());
    // A dot at the end of a name ends the statement.
    let name = text[..length].trim_end_matches('.');
    if name.is_empty() {
        let found = text.chars().next().unwrap_or_default();
        return Err(format!("`{found}` begins no term"));
    }
    Ok(name.len())
}

fn iri_length(text: &str) -> Result<usize, String> {
    let end = text.find(|c: char| c == '>' || c.is_whitespace() || "{}\"".contains(c));
    match end {
        Some(end) if text[end..].starts_with('>') => Ok(end + 1),
        _ => Err("an IRI is not closed".to_owned()),
    }
}

/// A string in double quotes.
fn quoted_length(text: &str) -> Result<usize, String> {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (quote, _) = end.ok_or("a string is not closed")?;
    if text[quote + 1..].starts_with('"') {
        return Err("strings in three quotes are none of a patch's".to_owned());
    }
    Ok(quote + 1)
}

fn tag_length(text: &str) -> usize {
    let is_tag = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.find(|c| !is_tag(c)).unwrap_or(text.len())
}

/// A string with its language or type.
fn literal_length(text: &str) -> Result<usize, String> {
    let end = quoted_length(text)?;
    let rest = &text[end..];
    if let Some(tag) = rest.strip_prefix('@') {
        return Ok(end + 1 + tag_length(tag));
    }
    match rest.strip_prefix("^^") {
        Some(datatype) => Ok(end + 2 + name_length(datatype)?),
        None => Ok(end),
    }
}

/// `<<( s p o )>>`, by a count of what is open: how deep they may be is the business of the update's limits.
fn triple_term_length(text: &str) -> Result<usize, String> {
    let (mut at, mut depth) = (0, 0);
    loop {
        let rest = &text[at..];
        let rest = rest.trim_start();
        at = text.len() - rest.len();
        if rest.is_empty() {
            return Err("a triple term is not closed".to_owned());
        }
        if rest.starts_with("<<(") {
            depth += 1;
            at += 3;
        } else if rest.starts_with(")>>") {
            depth -= 1;
            at += 3;
            if depth == 0 {
                return Ok(at);
            }
        } else if rest.starts_with('"') {
            at += literal_length(rest)?;
        } else if rest.starts_with('.') {
            return Err("a triple term is not closed".to_owned());
        } else {
            at += name_length(rest)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 1 << 30;

    fn update(patch: &str, target: &GraphTarget) -> String {
        patch_to_update(patch, target, MAX).expect(patch)
    }

    #[test]
    fn lines_become_operations_and_stay_lines() {
        let patch = "H id <urn:x> .\nTX .\nPA \"e\" <http://e/> .\nA e:s e:p \"a } ; \\\" .\"@en .\n\
            A e:s e:p 7.5 . # a comment\nD <a> <b> \"1\"^^e:t e:g .\nTC .\n";
        assert_eq!(
            update(patch, &GraphTarget::Store),
            "\n\n\nINSERT DATA { <http://e/s> <http://e/p> \"a } ; \\\" .\"@en .\n\
             <http://e/s> <http://e/p> 7.5 . } ;\nDELETE DATA { GRAPH <http://e/g> { \
             <a> <b> \"1\"^^<http://e/t> . } } ;\n\n"
        );
        let named = GraphTarget::Named("http://e/g".to_owned());
        assert_eq!(
            update("A _:s <p> <<( <a> <b> <<( <c> <d> 1 )>> )>> .", &named),
            "INSERT DATA { GRAPH <http://e/g> { _:s <p> <<( <a> <b> <<( <c> <d> 1 )>> )>> . } } ;\n"
        );
    }

    #[test]
    fn what_is_aborted_is_nothing() {
        let patch = "PA a <b> .\nA <s> <p> a:1 .\nTX .\nPA a <c> .\nPA d <e> .\nA <s> <p> a:2 .\nTA .\n\
            A <s> <p> a:3 .\n";
        assert_eq!(
            update(patch, &GraphTarget::Default),
            "\nINSERT DATA { <s> <p> <b1> . } ;\n\n\n\n\n\nINSERT DATA { <s> <p> <b3> . } ;\n"
        );
        let gone = patch_to_update(
            "TX .\nPA a <b> .\nTA .\nA a:1 a:2 a:3 .",
            &GraphTarget::Store,
            MAX,
        );
        assert!(gone.unwrap_err().message.contains("no prefix `a`"));
        let taken = "PA a <b> .\nA a:1 a:2 3 .\nPD a .\nA a:1 a:2 4 .";
        assert!(patch_to_update(taken, &GraphTarget::Store, MAX).is_err());
    }

    #[test]
    fn what_is_no_patch_is_refused_with_its_place() {
        for (patch, line, column, why) in [
            ("A <s> <p> <o>", 1, 14, "does not end"),
            ("\nB <s> <p> <o> .", 2, 1, "no operation"),
            ("A <s> <p> .", 1, 11, "2 terms"),
            ("A <s> <p> <o> <g> <h> .", 1, 23, "5 terms"),
            ("A <s> <p> <o> } ; DROP ALL .", 1, 15, "`}` begins no term"),
            ("A <s> <p> \"\"\"x\"\"\" .", 1, 11, "three quotes"),
            ("A <s> <p> \"x .", 1, 11, "string is not closed"),
            ("A <s> <p> <o .", 1, 11, "IRI is not closed"),
            (
                "A <s> <p> <<( <a> <b> 1 .",
                1,
                11,
                "triple term is not closed",
            ),
            ("A <s> <p> e:x .", 1, 11, "no prefix `e`"),
            ("A <s> <p> \"1\"^^e:x .", 1, 16, "no prefix `e`"),
            ("A <s> <p> \"1\"^^\"2\" .", 1, 11, "begins no term"),
            ("TX .\nTX .", 2, 1, "within"),
            ("TX .\nA <s> <p> 1 .\n", 2, 1, "no end"),
            ("TC .", 1, 1, "has begun"),
            ("TX now .", 1, 4, "alone"),
            ("PA x y .", 1, 8, "prefix"),
            ("PA \"x: <y> DROP ALL ; PREFIX z\" <y> .", 1, 4, "no name"),
            ("A <s> <p> 1 _:g .", 1, 13, "names no graph"),
            ("D _:x <p> 1 .", 1, 3, "deleted"),
            (
                "A _:x <p> 1 .\nD <s> <p> 1 .\nA <s> <p> _:x .",
                3,
                11,
                "between",
            ),
        ] {
            let error = patch_to_update(patch, &GraphTarget::Store, MAX).expect_err(patch);
            assert!(error.message.contains(why), "{patch}: {error}");
            assert_eq!(error.position, Some(Position { line, column }), "{patch}");
        }
        let one = patch_to_update("A <s> <p> 1 <g> .", &GraphTarget::Default, MAX).unwrap_err();
        assert!(one.message.contains("one graph"), "{one}");
    }

    #[test]
    fn long_chains_take_neither_stack_nor_squares() {
        let chain = format!("A <s> <p> {} .", "\"a\"^^".repeat(1 << 18));
        assert!(patch_to_update(&chain, &GraphTarget::Store, MAX).is_err());
        let deep = format!("A <s> <p> {} .", "<<( \"a\"^^<b> ".repeat(1 << 18));
        assert!(patch_to_update(&deep, &GraphTarget::Store, MAX).is_err());
        let mut prefixes = String::new();
        for number in 0..20_000 {
            let _ = writeln!(prefixes, "PA p{number} <http://e/> .");
        }
        let turns = "A <s> <p> 1 .\nD <s> <p> 1 .\n".repeat(10_000);
        let update = update(&(prefixes + &turns), &GraphTarget::Store);
        assert!(update.len() < 1 << 20, "{}", update.len());
        let long = patch_to_update(&turns, &GraphTarget::Store, 1000).unwrap_err();
        assert_eq!(long.kind, Kind::TooLong);
    }
}

//! Case files: graph, query and expected answer as text that anyone can add.
//!
//! ```text
//! # A comment.
//! ---- prefixes            for the graphs, queries and rows of this file
//! PREFIX : <http://example.org/>
//! ---- graph               TriG; for all cases of this file
//! :a :knows :b .
//!
//! ==== who knows whom      a case; it may bring its own graph
//! ---- query
//! SELECT ?x ?y { ?x :knows ?y }
//! ---- rows                the variables, then a row a line: terms as in a query, UNDEF
//! ?x ?y
//! :a :b
//! ```
//!
//! Instead of `rows`: `ordered rows`, in exactly this order; `2 of rows`, any two of these;
//! `true` or `false`, for `ASK`; `error`, followed by a piece of the message. A blank node is
//! written `<blank:x>`; its label is free. Rows are read by the grammar's own `VALUES`, so terms
//! have every form that they have in queries. Invariant: a file that cannot be understood is an
//! error with its line, never a case that passes.

use crate::compare::{self, Blanks};
use crate::naive::{self, Expected, Ordering};
use crate::{Answer, Row};
use oxrdf::{BlankNode, Literal, Term};
use spargebra::algebra::GraphPattern;
use spargebra::term::GroundTerm;
use spargebra::{Query, SparqlParser};
use std::path::Path;
use std::{fs, io};

/// Why a case file is none.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Read(String, io::Error),
    /// It cannot be understood.
    #[error("{file}:{line}: {message}")]
    Format {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// File and line.
    pub place: String,
    /// The graph, as TriG.
    pub graph: String,
    /// The query.
    pub query: String,
    /// What has to come out.
    pub outcome: Outcome,
}

/// What has to come out of a case.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An answer.
    Answer(Expected),
    /// An error whose message contains this.
    Error(String),
}

impl Case {
    /// Checks what an engine made of it; the error is a complaint that says everything.
    pub fn check(&self, given: Result<Answer, String>) -> Result<(), String> {
        let verdict = match (&self.outcome, given) {
            (Outcome::Answer(expected), Ok(answer)) => {
                compare::check(expected, &answer, &Blanks::Search)
            }
            (Outcome::Answer(_), Err(error)) => Err(format!("expected an answer, got: {error}")),
            (Outcome::Error(part), Err(error)) if error.contains(part) => Ok(()),
            (Outcome::Error(part), Err(error)) => {
                Err(format!("expected an error with `{part}`, got: {error}"))
            }
            (Outcome::Error(part), Ok(_)) => Err(format!("expected an error with `{part}`")),
        };
        let told = |complaint| {
            format!(
                "{}: {}: {complaint}\nquery: {}",
                self.place,
                self.name,
                self.query.trim()
            )
        };
        verdict.map_err(told)
    }
}

/// All cases of the `.case` files in a folder, in the order of their names.
pub fn read_folder(folder: &Path) -> Result<Vec<Case>, CaseError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| CaseError::Read(path, error)
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "case")
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        cases.extend(read(&name, &text)?);
    }
    Ok(cases)
}

/// The cases of one file's text.
pub fn read(file: &str, text: &str) -> Result<Vec<Case>, CaseError> {
    let mut reader = Reader {
        file,
        prefixes: String::new(),
        graph: String::new(),
    };
    let mut cases = Vec::new();
    let mut draft: Option<Draft<'_>> = None;
    for section in sections(text) {
        match section.kind {
            Kind::Case => {
                cases.extend(draft.take().map(|draft| reader.finish(draft)).transpose()?);
                draft = Some(Draft {
                    name: section.title,
                    line: section.line,
                    ..Draft::default()
                });
            }
            Kind::Section => reader.take(&section, draft.as_mut())?,
        }
    }
    cases.extend(draft.map(|draft| reader.finish(draft)).transpose()?);
    if cases.is_empty() {
        return Err(reader.error(1, "no case in this file"));
    }
    Ok(cases)
}

enum Kind {
    Case,
    Section,
}

/// A heading and the lines below it.
struct Section<'a> {
    kind: Kind,
    title: &'a str,
    line: usize,
    body: Vec<&'a str>,
}

/// What stands before the first heading is left to comments.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let heading = line.strip_prefix("==== ").map(|title| (Kind::Case, title));
        let heading = heading.or_else(|| {
            line.strip_prefix("---- ")
                .map(|title| (Kind::Section, title))
        });
        match (heading, sections.last_mut()) {
            (Some((kind, title)), _) => {
                sections.push(Section {
                    kind,
                    title: title.trim(),
                    line: number,
                    body: Vec::new(),
                });
            }
            (None, Some(section)) => section.body.push(line),
            (None, None) => {}
        }
    }
    sections
}

/// A case that is being read.
#[derive(Default)]
struct Draft<'a> {
    name: &'a str,
    line: usize,
    graph: Option<String>,
    query: Option<String>,
    outcome: Option<Outcome>,
}

struct Reader<'a> {
    file: &'a str,
    prefixes: String,
    graph: String,
}

impl Reader<'_> {
    fn error(&self, line: usize, message: impl Into<String>) -> CaseError {
        CaseError::Format {
            file: self.file.to_owned(),
            line,
            message: message.into(),
        }
    }

    fn take(
        &mut self,
        section: &Section<'_>,
        draft: Option<&mut Draft<'_>>,
    ) -> Result<(), CaseError> {
        let body = section.body.join("\n");
        match (section.title, draft) {
            ("prefixes", None) => self.prefixes = body,
            ("graph", None) => self.graph = body,
            ("graph", Some(draft)) => draft.graph = Some(body),
            ("query", Some(draft)) => draft.query = Some(body),
            (title, Some(draft)) if draft.outcome.is_none() => {
                let outcome = self.outcome(title, &section.body);
                draft.outcome = Some(outcome.map_err(|message| self.error(section.line, message))?);
            }
            (title, _) => {
                return Err(self.error(section.line, format!("`{title}` has no place here")));
            }
        }
        Ok(())
    }

    fn finish(&self, draft: Draft<'_>) -> Result<Case, CaseError> {
        let missing = |what| self.error(draft.line, format!("the case has no {what}"));
        let query = draft.query.ok_or_else(|| missing("query"))?;
        let mut outcome = draft.outcome.ok_or_else(|| missing("outcome"))?;
        if let Outcome::Answer(expected) = &mut outcome {
            expected.has_free_columns = naive::selects_all(&query);
        }
        let graph = draft.graph.unwrap_or_else(|| self.graph.clone());
        Ok(Case {
            name: draft.name.to_owned(),
            place: format!("{}:{}", self.file, draft.line),
            graph: format!("{}\n{graph}", self.prefixes),
            query: format!("{}\n{query}", self.prefixes),
            outcome,
        })
    }

    fn outcome(&self, title: &str, body: &[&str]) -> Result<Outcome, String> {
        let expected = match title {
            "error" => return Ok(Outcome::Error(body.join("\n").trim().to_owned())),
            "true" | "false" => Expected {
                boolean: Some(title == "true"),
                ..Expected::nothing()
            },
            "rows" => self.rows(body)?,
            "ordered rows" => in_this_order(self.rows(body)?),
            other => {
                let count = other
                    .strip_suffix(" of rows")
                    .and_then(|count| count.parse().ok());
                let limit = count.ok_or_else(|| format!("`{other}` is no outcome"))?;
                Expected {
                    limit: Some(limit),
                    ..self.rows(body)?
                }
            }
        };
        Ok(Outcome::Answer(expected))
    }

    fn rows(&self, body: &[&str]) -> Result<Expected, String> {
        let is_row = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        let mut lines = body.iter().copied().filter(is_row);
        let head = lines.next().ok_or("rows begin with their variables")?;
        let names = head.trim_matches(['(', ')']).split_whitespace();
        let variables = names
            .map(|name| name.trim_start_matches('?').to_owned())
            .collect();
        let bare = |line: &str| {
            if line == "()" {
                "()".to_owned()
            } else {
                format!("({line})")
            }
        };
        let listed = lines.map(bare).collect::<Vec<_>>().join("\n");
        let head = head.trim_matches(['(', ')']);
        let text = format!(
            "{}\nSELECT * {{ VALUES ({head}) {{\n{listed}\n}} }}",
            self.prefixes
        );
        let query = SparqlParser::new()
            .parse_query(&text)
            .map_err(|error| format!("the rows do not parse: {error}"))?;
        let Query::Select { pattern, .. } = query else {
            return Err("no rows".to_owned());
        };
        Ok(Expected {
            variables,
            rows: values(pattern),
            ..Expected::nothing()
        })
    }
}

/// Keys that leave no other order than that of the rows.
fn in_this_order(expected: Expected) -> Expected {
    let key = |index: usize| vec![Some(Term::from(Literal::from(index as i64)))];
    let keys = (0..expected.rows.len()).map(key).collect();
    Expected {
        ordering: Some(Ordering {
            descending: vec![false],
            keys,
        }),
        ..expected
    }
}

fn values(pattern: GraphPattern) -> Vec<Row> {
    match pattern {
        GraphPattern::Project { inner, .. } => values(*inner),
        GraphPattern::Values { bindings, .. } => {
            let row = |row: Vec<Option<GroundTerm>>| row.into_iter().map(cell).collect();
            bindings.into_iter().map(row).collect()
        }
        _ => Vec::new(),
    }
}

fn cell(cell: Option<GroundTerm>) -> Option<Term> {
    cell.map(|term| match Term::from(term) {
        Term::NamedNode(iri) => match iri.as_str().strip_prefix("blank:") {
            Some(label) => BlankNode::new_unchecked(label).into(),
            None => iri.into(),
        },
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# About something.
---- prefixes
PREFIX : <http://e/>
---- graph
:a :p :b .
==== two rows
---- query
SELECT ?x ?y { }
---- rows
?x ?y
:a "b c"@en
# A comment.
UNDEF <blank:n>
==== an error
---- graph
:own :p :graph .
---- query
SELECT
---- error
does not
"#;

    #[test]
    fn reads_what_it_shows() {
        let cases = read("x.case", FILE).unwrap();
        assert_eq!((cases.len(), &*cases[0].place), (2, "x.case:6"));
        assert!(cases[0].graph.contains(":a :p :b") && cases[1].graph.contains(":own"));
        let Outcome::Answer(expected) = &cases[0].outcome else {
            panic!("it has rows")
        };
        assert_eq!(expected.variables, ["x", "y"]);
        let shown: Vec<String> = expected.rows.iter().map(compare::shown_row).collect();
        assert_eq!(shown, [r#"(<http://e/a> "b c"@en)"#, "(UNDEF _:n)"]);
    }

    #[test]
    fn complains_of_wrong_answers_and_missing_errors() {
        let cases = read("x.case", FILE).unwrap();
        let none = Answer::Rows {
            variables: vec!["x".into(), "y".into()],
            rows: Vec::new(),
        };
        assert!(
            cases[0]
                .check(Ok(none.clone()))
                .unwrap_err()
                .contains("x.case:6: two rows")
        );
        assert!(cases[0].check(Err("no".into())).is_err());
        assert!(cases[1].check(Ok(none)).is_err());
        assert!(cases[1].check(Err("something else".into())).is_err());
        assert_eq!(cases[1].check(Err("it does not parse".into())), Ok(()));
    }

    #[test]
    fn a_malformed_file_is_an_error_with_its_line() {
        let error = |text: &str| read("x.case", text).unwrap_err().to_string();
        assert_eq!(error(""), "x.case:1: no case in this file");
        assert_eq!(
            error("==== a\n---- query\nASK {}\n"),
            "x.case:1: the case has no outcome"
        );
        assert_eq!(
            error("==== a\n---- maybe\n"),
            "x.case:2: `maybe` is no outcome"
        );
        assert_eq!(error("---- query\n"), "x.case:1: `query` has no place here");
        assert!(error("==== a\n---- query\n\n---- rows\n?x\nnonsense\n").contains("do not parse"));
    }
}

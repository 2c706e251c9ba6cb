//! A report as a person reads it: when it is of, and its first rows.

use somersault::output::Rows;
use somersault::terms::{TermBuffer, TermRef};
use sparesults::{
    QueryResultsFormat, QueryResultsParser, QuerySolution, SliceQueryResultsParserOutput,
};

/// A report.
pub struct Report {
    /// The moment that it is of (milliseconds).
    pub close_ms: Option<u64>,
    /// Windows lack what came before this (milliseconds).
    pub incomplete_before_ms: Option<u64>,
    /// What it says.
    pub said: Said,
}

/// What a report says.
pub enum Said {
    /// The evaluation failed.
    Failure(String),
    /// To a question for a truth value.
    Boolean(bool),
    /// Rows, of which the first are here.
    Rows {
        /// The variables.
        names: Vec<String>,
        /// The first rows.
        rows: Rows,
        /// How many rows there are.
        count: u64,
    },
}

impl Report {
    /// Reads a report's line, and keeps so many rows. Errors are about the server.
    pub fn read(line: &str, rows_max: usize) -> Result<Report, String> {
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        let number = |name: &str| value.get(name).and_then(serde_json::Value::as_u64);
        let failure = value.get("error").and_then(serde_json::Value::as_str);
        let said = match failure {
            Some(failure) => Said::Failure(failure.to_owned()),
            None => read_results(line, rows_max)?,
        };
        Ok(Report {
            close_ms: number("close"),
            incomplete_before_ms: number("window_incomplete"),
            said,
        })
    }
}

fn read_results(line: &str, rows_max: usize) -> Result<Said, String> {
    let parser = QueryResultsParser::from_format(QueryResultsFormat::Json);
    let solutions = match parser.for_slice(line).map_err(|error| error.to_string())? {
        SliceQueryResultsParserOutput::Boolean(value) => return Ok(Said::Boolean(value)),
        SliceQueryResultsParserOutput::Solutions(solutions) => solutions,
    };
    let variables = solutions.variables().iter();
    let names: Vec<String> = variables.map(|name| name.as_str().to_owned()).collect();
    let mut rows = Rows::default();
    rows.columns
        .resize_with(names.len(), TermBuffer::for_output);
    let mut count = 0;
    for solution in solutions {
        let solution = solution.map_err(|error| error.to_string())?;
        count += 1;
        if rows.len < rows_max {
            add(&mut rows, &solution);
        }
    }
    Ok(Said::Rows { names, rows, count })
}

fn add(rows: &mut Rows, solution: &QuerySolution) {
    for (column, term) in rows.columns.iter_mut().zip(solution.values()) {
        match term {
            Some(term) => column.push(TermRef::from(term)),
            None => column.push_unbound(),
        }
    }
    rows.len += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let line = r#"{"close":5,"query":"q","window_incomplete":3,"head":{"vars":["x","y"]},"results":{"bindings":[
            {"x":{"type":"uri","value":"http://e/a"}},
            {"y":{"type":"literal","value":"b","xml:lang":"en"}},{}]}}"#;
        let report = Report::read(line, 2).expect("it is one");
        assert_eq!(
            (report.close_ms, report.incomplete_before_ms),
            (Some(5), Some(3))
        );
        let Said::Rows { names, rows, count } = report.said else {
            panic!("rows");
        };
        assert_eq!((names.len(), rows.len, count), (2, 2, 3));
        let second: Vec<Option<String>> = rows
            .row(1)
            .map(|term| term.map(|term| term.to_string()))
            .collect();
        assert_eq!(second, [None, Some("\"b\"@en".to_owned())]);
        let ask = Report::read(r#"{"close":5,"query":"q","head":{},"boolean":true}"#, 2);
        assert!(matches!(ask.expect("it is one").said, Said::Boolean(true)));
        let failed = Report::read(r#"{"close":5,"query":"q","error":"out of time"}"#, 2);
        let said = failed.expect("it is one").said;
        assert!(matches!(said, Said::Failure(why) if why == "out of time"));
        assert!(Report::read("{", 2).is_err() && Report::read("{}", 2).is_err());
    }
}

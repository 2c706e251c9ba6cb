//! A report as the product tells it, read back: SPARQL JSON results with `close` beside `head` and `results`.

use super::super::Reported;
use crate::{Answer, Row};
use oxrdf::Term;
use serde_json::{Value, json};
use sparesults::{QueryResultsFormat, QueryResultsParser, ReaderQueryResultsParserOutput};

/// Reads a report; the error is a complaint for people.
pub fn told(report: &Value) -> Result<Reported, String> {
    let close_ms = report["close"].as_u64();
    let close_ms = close_ms.ok_or_else(|| format!("no close: {report}"))?;
    if let Some(error) = report["error"].as_str() {
        return Err(format!("at {close_ms} ms: {error}"));
    }
    let results = match report.get("boolean") {
        Some(boolean) => json!({ "head": {}, "boolean": boolean }),
        None => json!({ "head": report["head"], "results": report["results"] }),
    };
    let answer = answer(&results.to_string());
    Ok(Reported {
        close_ms,
        answer: answer.map_err(|error| format!("at {close_ms} ms: {error}"))?,
    })
}

fn answer(results: &str) -> Result<Answer, sparesults::QueryResultsParseError> {
    let parser = QueryResultsParser::from_format(QueryResultsFormat::Json);
    Ok(match parser.for_reader(results.as_bytes())? {
        ReaderQueryResultsParserOutput::Boolean(value) => Answer::Boolean(value),
        ReaderQueryResultsParserOutput::Solutions(solutions) => {
            let variables = solutions.variables().iter();
            let variables = variables.map(|it| it.as_str().to_owned()).collect();
            let mut rows: Vec<Row> = Vec::new();
            for solution in solutions {
                let values: Vec<Option<Term>> = solution?.values().to_vec();
                rows.push(values);
            }
            Answer::Rows { variables, rows }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_truths_are_read_and_failures_are_none() {
        let binding = json!({ "x": { "type": "literal", "value": "1" } });
        let rows = json!({ "close": 7, "query": "q", "head": { "vars": ["x", "y"] }, "results": { "bindings": [binding] } });
        let read = told(&rows).unwrap();
        assert_eq!(read.close_ms, 7);
        let Answer::Rows { variables, rows } = read.answer else {
            panic!("no rows");
        };
        assert_eq!(variables, ["x", "y"]);
        assert_eq!(rows, [[Some(oxrdf::Literal::from("1").into()), None]]);
        let truth = told(&json!({ "close": 8, "head": {}, "boolean": true })).unwrap();
        assert!(matches!(truth.answer, Answer::Boolean(true)));
        assert!(told(&json!({ "close": 9, "error": "out of time" })).is_err());
        assert!(told(&json!({ "head": {}, "boolean": true })).is_err());
    }
}

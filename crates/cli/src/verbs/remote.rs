//! `query --endpoint`: the query goes to a SPARQL endpoint, the answer comes as it is sent.
//!
//! For a table on the terminal the endpoint is asked for TSV, which a person can read too.

use crate::arguments::AnswerFormat;
use crate::exit::{Code, Failure, Outcome};
use somersault::results::ResultFormat;
use std::io;
use std::time::Duration;

/// How much longer than the query itself the exchange may take.
const GRACE: Duration = Duration::from_secs(5);

/// Sends the query and prints the answer.
pub fn query(endpoint: &str, text: &str, format: AnswerFormat, timeout: Duration) -> Outcome {
    let accept = match format {
        AnswerFormat::Json => ResultFormat::Json,
        AnswerFormat::Xml => ResultFormat::Xml,
        AnswerFormat::Csv => ResultFormat::Csv,
        AnswerFormat::Table | AnswerFormat::Tsv => ResultFormat::Tsv,
    };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(timeout + GRACE))
        .http_status_as_error(false)
        .build()
        .into();
    let response = agent
        .post(endpoint)
        .query("timeout", timeout.as_secs_f64().to_string())
        .header("Content-Type", "application/sparql-query")
        .header("Accept", accept.media_type())
        .send(text)
        .map_err(|error| {
            let code = match error {
                ureq::Error::Timeout(_) => Code::Limit,
                _ => Code::Connection,
            };
            Failure::new(code, format!("{endpoint}: {error}"))
        })?;
    let status = response.status();
    let mut body = response.into_body();
    if status.is_success() {
        io::copy(&mut body.as_reader(), &mut io::stdout().lock())?;
        return Ok(());
    }
    let detail = body.read_to_string().unwrap_or_default();
    let code = match status.as_u16() {
        400 => Code::Syntax,
        413 | 422 | 429 | 504 | 507 => Code::Limit,
        _ => Code::Failed,
    };
    Err(Failure::new(
        code,
        format!("{endpoint}: {status}\n{}", detail.trim()),
    ))
}

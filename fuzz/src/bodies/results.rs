//! What other endpoints answer: results in the four formats, as `SERVICE` reads them.
//!
//! The first byte chooses the format. The answer of another endpoint is input like any other: it
//! may be malformed, endless or deeply nested, and then the query fails with an error that says so.

use super::query::{check, database};
use somersault::output::Collected;
use somersault::stop::StopToken;
use somersault::{Database, Request, ResultFormat, ServiceClient, ServiceError};
use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

const QUERY: &str = "SELECT * { SERVICE <http://other.example/> { ?s ?p ?o } }";

/// An answer, read as one to a `SERVICE`.
pub fn results(data: &[u8]) {
    static ENDPOINT: OnceLock<(Database, Arc<Endpoint>)> = OnceLock::new();
    let (database, endpoint) = ENDPOINT.get_or_init(|| {
        let endpoint = Arc::new(Endpoint::default());
        (database(endpoint.clone()), endpoint)
    });
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let format = ResultFormat::ALL[usize::from(*first) % ResultFormat::ALL.len()];
    let answer = (format, body.to_vec());
    *endpoint.answer.lock().expect("no panic while it is held") = Some(answer);
    let mut sink = Collected::default();
    let mut query = database
        .start(&Request::new(QUERY))
        .expect("the query is well formed");
    match query.run(&mut sink) {
        Ok(finished) => assert_eq!(finished.rows, sink.rows.len() as u64),
        Err(error) => check(&error),
    }
}

/// An endpoint that answers with what it was given.
#[derive(Default)]
struct Endpoint {
    answer: Mutex<Option<(ResultFormat, Vec<u8>)>>,
}

impl ServiceClient for Endpoint {
    fn select(
        &self,
        _endpoint: &str,
        _query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        let mut answer = self.answer.lock().expect("no panic while it is held");
        let (format, body) = answer.take().ok_or_else(|| ServiceError {
            message: "it was asked twice".to_owned(),
            refused: false,
        })?;
        Ok((format, Box::new(Cursor::new(body))))
    }
}

//! A database for a test of a suite: its data, loaded by the product's readers, and the endpoints
//! that it calls, which are databases too.

use oxrdf::Dataset;
use somersault::device::Accelerator;
use somersault::load::{self, Source, Unwatched};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::stop::StopToken;
use somersault::{Database, Options, Query, QueryError, Request, ServiceClient, ServiceError};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::suite::SuiteCase;
use testkit::suite::data::{self, Input};

/// Longest time of a query.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A database with the data of a test, and its endpoints within reach. These reach each other too,
/// once: an endpoint's endpoint calls nobody. Its own walks begin on the device, where there is one; endpoints have none.
pub fn database(
    case: &SuiteCase,
    accelerator: Option<Arc<Accelerator>>,
) -> Result<Database, String> {
    let options = Options {
        accelerator,
        ..options_of(case)?
    };
    loaded(&data::input(case)?, &options)
}

/// The options of a test, with the endpoints that it may call.
pub fn options_of(case: &SuiteCase) -> Result<Options, String> {
    let inner: Arc<dyn ServiceClient> = Arc::new(endpoints(case, None)?);
    let outer = endpoints(case, Some(&inner))?;
    Ok(options(Some(Arc::new(outer)), None))
}

/// The endpoints of a test; for a test of syntax every name is one, without data.
fn endpoints(
    case: &SuiteCase,
    theirs: Option<&Arc<dyn ServiceClient>>,
) -> Result<Endpoints, String> {
    let options = options(theirs.cloned(), None);
    let mut named = HashMap::new();
    for (name, document) in &case.services {
        named.insert(name.clone(), loaded(&data::input_of(document)?, &options)?);
    }
    let empty = || loaded(&data::input_of_dataset(&Dataset::new()), &options);
    Ok(Endpoints {
        named,
        others: case.kind.is_syntax().then(empty).transpose()?,
        asked: AtomicUsize::new(0),
    })
}

/// A database with this data.
pub fn loaded(input: &Input, options: &Options) -> Result<Database, String> {
    let source = Source::reader(input.name.clone(), &input.bytes[..]);
    let request = load::Request {
        threads: 1,
        base: Some(input.base.clone()),
        ..load::Request::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, options, &Unwatched);
    let (database, _) = loaded.map_err(|error| format!("{}: {error}", input.name))?;
    Ok(database)
}

/// The limits of a test's queries, and what they are walked beside.
pub fn options(
    service: Option<Arc<dyn ServiceClient>>,
    accelerator: Option<Arc<Accelerator>>,
) -> Options {
    Options {
        query_threads: 1,
        timeout: TIMEOUT,
        service,
        accelerator,
        ..Options::default()
    }
}

/// Endpoints that a query calls.
struct Endpoints {
    named: HashMap<String, Database>,
    /// Stands for all others; without one they cannot be reached.
    others: Option<Database>,
    asked: AtomicUsize,
}

impl ServiceClient for Endpoints {
    /// Answers in each of the formats that tell terms apart in turn.
    fn select(
        &self,
        endpoint: &str,
        query: &str,
        _timeout: Duration,
        _stopped: StopToken,
    ) -> Result<(ResultFormat, Box<dyn Read + Send>), ServiceError> {
        let formats = [ResultFormat::Json, ResultFormat::Xml, ResultFormat::Tsv];
        let format = formats[self.asked.fetch_add(1, Ordering::Relaxed) % formats.len()];
        let database = self.named.get(endpoint).or(self.others.as_ref());
        let failed = |message: String| ServiceError {
            message,
            refused: false,
        };
        let database = database.ok_or_else(|| failed(format!("{endpoint} cannot be reached")))?;
        let answer = || written(&mut database.start(&Request::new(query))?, format);
        let bytes = answer().map_err(|error| failed(format!("{error}, in {query}")))?;
        Ok((format, Box::new(Cursor::new(bytes))))
    }
}

/// The answer to a `SELECT` or `ASK` in a format, as the product writes it.
pub fn written(query: &mut Query, format: ResultFormat) -> Result<Vec<u8>, QueryError> {
    let mut writer = ResultWriter::new(format, Vec::new());
    query.run(&mut writer)?;
    Ok(writer
        .into_output()
        .expect("an answer without an error is whole"))
}

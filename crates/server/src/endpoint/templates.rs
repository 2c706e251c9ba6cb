//! `/api/v1/continuous` with a table of constants: templates, and the instances that come and go.
//!
//! | address | method | does |
//! |---|---|---|
//! | `/api/v1/continuous` | `POST` of `application/json` | registers a query with an instance for each row of a table |
//! | `/api/v1/continuous/{name}/instances` | `POST` of a table | adds an instance for each row |
//! | `/api/v1/continuous/{name}/instances/{instance}` | `DELETE` | forgets an instance: 204 |
//!
//! The document of the first has `query`, the text, and `bindings`: a table as a string, of `bindings_type` (`text/csv` where
//! nothing is said), or JSON results as they are.

use crate::endpoint::call::{Address, Call, Named, answered, json_text, made, name, with};
use crate::response::problem::Problem;
use crate::response::{done, head};
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use serde_json::{Value, json};
use somersault::{BindingsFormat, Live, read_bindings};
use std::sync::Arc;

/// Where queries are.
const FOLDER: &str = "/api/v1/continuous";
const INSTANCES: Address = Address {
    methods: "POST, OPTIONS",
    parameters: &[],
};
const ONE: Address = Address {
    methods: "DELETE, OPTIONS",
    parameters: &[],
};
/// The types of a table.
pub(crate) const TABLES: [&str; 3] = [
    "text/csv",
    "text/tab-separated-values",
    "application/sparql-results+json",
];

/// Registers a template.
pub(crate) async fn register(mut call: Call) -> Result<Response<Body>, Problem> {
    let given = call.parameters.single("name")?.map(str::to_owned);
    let text = call.text().await?;
    let register = move |live: &Live| {
        let request = Registration::of(&text)?;
        drop(text);
        let bindings = read_bindings(request.format, request.table.as_bytes());
        let bindings = bindings.map_err(|error| Problem::of_query(&error))?;
        let name = given.unwrap_or_else(|| live.free_name());
        let registered = live.register_table(&request.query, &name, bindings);
        let (name, instances) = registered.map_err(|error| Problem::of_query(&error))?;
        let warnings = live.warnings(&name).unwrap_or_default();
        Ok((name, instances, warnings))
    };
    let (name, instances, warnings) = with(&call.server, register).await?;
    let told = json!({ "name": name, "instances": instances });
    Ok(registered(&name, told, &warnings))
}

/// The answer that a query was registered, with what it probably did not mean.
pub(crate) fn registered(name: &str, mut told: Value, warnings: &[String]) -> Response<Body> {
    if warnings.is_empty() {
        return made(FOLDER, name, &told);
    }
    told["warnings"] = json!(warnings);
    let mut response = made(FOLDER, name, &told);
    let count = HeaderValue::from(warnings.len());
    response.headers_mut().insert(head::WARNINGS, count);
    response
}

/// What the document of a registration says.
struct Registration {
    query: String,
    format: BindingsFormat,
    table: String,
}

impl Registration {
    fn of(text: &str) -> Result<Registration, Problem> {
        let document: Value = serde_json::from_str(text)
            .map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
        let Value::Object(mut document) = document else {
            return Err(Problem::bad_request("the body is no JSON object"));
        };
        let mut take = |name: &str| document.remove(name);
        let (query, table, named) = (take("query"), take("bindings"), take("bindings_type"));
        if let Some(other) = document.keys().next() {
            let message = format!(
                "the body has a member `{other}`: it has `query`, `bindings` and `bindings_type`"
            );
            return Err(Problem::bad_request(message));
        }
        let Some(Value::String(query)) = query else {
            return Err(Problem::bad_request("`query` is the text of the query"));
        };
        let (format, table) = match (table, named) {
            (Some(results @ Value::Object(_)), None) => (BindingsFormat::Json, results.to_string()),
            (Some(Value::String(table)), None) => (BindingsFormat::Csv, table),
            (Some(Value::String(table)), Some(Value::String(named))) => {
                let format = BindingsFormat::of_media_type(&named);
                let format = format.ok_or_else(|| {
                    let offered = TABLES.join(", ");
                    Problem::bad_request(format!("`bindings_type` is one of {offered}"))
                })?;
                (format, table)
            }
            _ => {
                let message = "`bindings` is a table as a string, or JSON results as they are";
                return Err(Problem::bad_request(message));
            }
        };
        Ok(Registration {
            query,
            format,
            table,
        })
    }
}

/// `/api/v1/continuous/{name}/instances`.
pub(crate) async fn add(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    let call = match Call::open(&server, &id, request, &INSTANCES).await {
        Ok(call) => call,
        Err(answer) => return answer,
    };
    let answer = match name(named) {
        Ok(name) => added(call, name).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

async fn added(mut call: Call, template: String) -> Result<Response<Body>, Problem> {
    call.of_type(&TABLES)?;
    let format = BindingsFormat::of_media_type(&call.media_type());
    let format = format.expect("it is one of the types");
    let table = call.text().await?;
    let add = move |live: &Live| {
        let bindings = read_bindings(format, table.as_bytes());
        let bindings = bindings.map_err(|error| Problem::of_query(&error))?;
        let added = live.add_instances(&template, bindings);
        added.map_err(|error| Problem::of_change(&error))
    };
    let added = with(&call.server, add).await?;
    Ok(json_text(&json!({ "instances": added })))
}

/// `/api/v1/continuous/{name}/instances/{instance}`.
pub(crate) async fn one(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Result<Path<(String, String)>, PathRejection>,
    request: Request<Body>,
) -> Response<Body> {
    if let Err(answer) = Call::open(&server, &id, request, &ONE).await {
        return answer;
    }
    let answer = match named {
        Ok(Path((template, instance))) => {
            let forget = move |live: &Live| {
                let forgotten = live.remove_instance(&template, &instance);
                forgotten.map_err(|error| Problem::of_change(&error))
            };
            with(&server, forget).await.map(|()| done())
        }
        Err(rejection) => Err(Problem::bad_request(rejection.body_text())),
    };
    answered(&server, &id, answer)
}

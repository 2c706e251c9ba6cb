//! `/api/v1/openapi.json`: all addresses, as a document of OpenAPI 3.1 that tools make clients of.
//!
//! Invariant: it says what the server does. Formats and names of parameters come from the tables by which requests are
//! read, and a test compares paths and methods with those that are answered. `HEAD` is answered wherever `GET` is, and
//! `OPTIONS` everywhere; the method `QUERY` has no place in OpenAPI 3.1, so the text names it. A trailing slash at
//! the protocols' addresses is passed over, and not listed.
//!
//! Cost: some thirty kilobytes of text (2026-11-23), made for each request.

use crate::endpoint::continuous;
use crate::endpoint::pushing;
use crate::endpoint::reports;
use crate::endpoint::subscribe;
use crate::endpoint::taking;
use crate::endpoint::templates;
use crate::request::items;
use crate::request::known;
use crate::request::protocol::{FORM, QUERY, UPDATE};
use crate::response::format::offered;
use crate::response::{problem, reading, text};
use axum::body::Body;
use hyper::{Method, Response};
use serde_json::{Map, Value, json};
use somersault::terms::format::Format;
use somersault::{AnswerKind, RDF_PATCH};

const TOKEN: &str = "token";

/// `GET /api/v1/openapi.json`.
pub(crate) async fn answer(method: Method) -> Response<Body> {
    reading(&method, || text("application/json", document().to_string()))
}

/// The document.
pub(crate) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Somersault",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A live knowledge graph over HTTP: the SPARQL 1.1 Protocol, the SPARQL 1.1 Graph Store HTTP \
                Protocol, and what operators need. HEAD is answered wherever GET is, OPTIONS everywhere, and the \
                method QUERY at /sparql and /query as POST is. Every response has Query-Id, Server-Timing and \
                Somersault-Snapshot; a request with Somersault-Snapshot waits for that snapshot. Every failure is a \
                problem document (RFC 9457).",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        // Without a token there is what the configuration leaves to everybody.
        "security": [{}, { TOKEN: [] }],
        "tags": [
            { "name": "SPARQL", "description": "Queries and updates" },
            { "name": "Graphs", "description": "The Graph Store Protocol" },
            { "name": "Streams", "description": "Streams, registered queries and their reports" },
            { "name": "Operation", "description": "Probes, counters, and what runs" },
        ],
        "paths": paths(),
        "components": {
            "securitySchemes": { TOKEN: { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
            "responses": { "Problem": {
                "description": "What is wrong, and what to do about it",
                "content": { problem::MEDIA_TYPE: { "schema": schema("Problem") } },
            } },
        },
    })
}

fn paths() -> Value {
    let mut paths = Map::new();
    let mut add = |path: &str, item: Value| drop(paths.insert(path.to_owned(), item));
    add("/sparql", sparql(&[QUERY, UPDATE, FORM]));
    add("/query", sparql(&[QUERY, FORM]));
    add("/update", json!({ "post": update() }));
    add(
        "/store",
        graphs(&in_query(&known::STORE), "A graph, or the store"),
    );
    add(
        "/data",
        graphs(&in_query(&known::STORE), "The same as /store"),
    );
    for path in ["/store/{graph}", "/data/{graph}"] {
        let direct = "The graph whose IRI is this address; it may have slashes";
        let mut parameters = in_query(&["timeout"]);
        parameters.push(in_path("graph", direct));
        add(path, graphs(&parameters, direct));
    }
    let get = |what: &str, media_type: &str, content: Value| {
        let answers = responses("200", what, media_type, &content);
        json!({ "get": operation("Operation", what, answers) })
    };
    let string = || json!({ "type": "string" });
    add("/", get("A page with a query form", "text/html", string()));
    add(
        "/metrics",
        get("Counters for Prometheus", "text/plain", string()),
    );
    add(
        "/health/live",
        get("Whether the process answers", "text/plain", string()),
    );
    add(
        "/health/ready",
        get(
            "Whether it does what it was started for",
            "text/plain",
            string(),
        ),
    );
    let queries = get(
        "Queries and changes that run now",
        "application/json",
        schema("Queries"),
    );
    add("/api/v1/queries", queries);
    let statistics = get(
        "What the store holds",
        "application/json",
        schema("Statistics"),
    );
    add("/api/v1/statistics", statistics);
    let this = get(
        "This document",
        "application/json",
        json!({ "type": "object" }),
    );
    add("/api/v1/openapi.json", this);
    let mut cancel = operation("Operation", "Cancels what runs", done("It was cancelled"));
    cancel["parameters"] = json!([in_path("id", "Its name, as `Query-Id` has it")]);
    add("/api/v1/queries/{id}", json!({ "delete": cancel }));
    let what = "Writes all changes into the files of the store";
    let compact = operation("Operation", what, done("It is done"));
    add("/api/v1/compact", json!({ "post": compact }));
    add_cluster(&mut add);
    add_snapshots(&mut add);
    add_streams(&mut add);
    add_continuous(&mut add);
    Value::Object(paths)
}

/// Where the nodes of a cluster are told.
fn add_cluster(add: &mut impl FnMut(&str, Value)) {
    const JSON: &str = "application/json";
    let what = "The nodes of the cluster, as this one sees them; 404 where it is none of a cluster";
    let mut answers = responses("200", what, JSON, &schema("Cluster"));
    answers["404"] = json!({ "$ref": "#/components/responses/Problem" });
    let get = operation("Operation", "Lists the nodes of the cluster", answers);
    add("/api/v1/cluster", json!({ "get": get }));
}

/// Where snapshots are that can be read by number.
fn add_snapshots(add: &mut impl FnMut(&str, Value)) {
    const TAG: &str = "Streams";
    const JSON: &str = "application/json";
    let what = "The snapshots that can be read by number, oldest first";
    let list = responses("200", what, JSON, &schema("Snapshots"));
    add(
        "/api/v1/snapshots",
        json!({ "get": operation(TAG, "Lists the snapshots that are kept", list) }),
    );
    let what = "How far it holds each stream";
    let mut one = responses("200", what, JSON, &schema("Snapshot"));
    one["404"] = json!({ "$ref": "#/components/responses/Problem" });
    one["410"] = json!({ "$ref": "#/components/responses/Problem" });
    let number = in_path("number", "The number, as `Somersault-Snapshot` has it");
    add(
        "/api/v1/snapshots/{number}",
        json!({ "parameters": [number], "get": operation(TAG, "A snapshot", one) }),
    );
}

/// Where streams are.
fn add_streams(add: &mut impl FnMut(&str, Value)) {
    const TAG: &str = "Streams";
    const JSON: &str = "application/json";
    let stream = || in_path("name", "The IRI of the stream, percent-encoded");
    let list = responses("200", "The streams", JSON, &schema("Streams"));
    let made = responses("201", "It was made", JSON, &schema("Stream"));
    let mut create = operation(TAG, "Makes a stream", made);
    let content = json!({ JSON: { "schema": schema("StreamDefinition") } });
    create["requestBody"] = json!({ "required": true, "content": content });
    add(
        "/api/v1/streams",
        json!({ "get": operation(TAG, "Lists the streams", list), "post": create }),
    );
    let one = responses("200", "The stream as it stands", JSON, &schema("Stream"));
    add(
        "/api/v1/streams/{name}",
        json!({
            "parameters": [stream()],
            "get": operation(TAG, "A stream", one),
            "delete": operation(TAG, "Forgets a stream that no query names", done("It is gone")),
        }),
    );
    let what = "What was taken; lines that are not well formed are rejected alone";
    let mut push = operation(
        TAG,
        "Takes items, or a heartbeat",
        responses("200", what, JSON, &schema("Pushed")),
    );
    push["parameters"] = own_parameters(&taking::ITEM_PARAMETERS);
    if let Some(parameters) = push["parameters"].as_array_mut() {
        parameters.push(json!({
            "name": "Somersault-Time", "in": "header", "schema": { "type": "string" },
            "description": "The same as `time`",
        }));
    }
    push["responses"]["429"] = json!({ "$ref": "#/components/responses/Problem" });
    push["requestBody"] = json!({ "required": false, "content": contents(&items::offered()) });
    let mut socket = operation(TAG, "Takes items without end, by WebSocket", switched());
    socket["parameters"] = own_parameters(&pushing::PARAMETERS);
    add(
        "/api/v1/streams/{name}/items",
        json!({ "parameters": [stream()], "post": push, "get": socket }),
    );
}

/// Where registered queries and their reports are.
fn add_continuous(add: &mut impl FnMut(&str, Value)) {
    const TAG: &str = "Streams";
    const JSON: &str = "application/json";
    let query = || in_path("name", "The name of the query, percent-encoded");
    let list = responses("200", "The queries", JSON, &schema("ContinuousQueries"));
    let properties = json!({
        "name": { "type": "string" }, "instances": { "type": "integer" },
        "warnings": { "type": "array", "items": { "type": "string" } },
    });
    let name = json!({ "type": "object", "required": ["name"], "properties": properties });
    let registered = responses("201", "It was registered under this name", JSON, &name);
    let mut register = operation(TAG, "Registers a query", registered);
    register["parameters"] = own_parameters(&["name"]);
    register["requestBody"] = body(&continuous::TEXTS);
    register["requestBody"]["content"][JSON] = json!({ "schema": schema("TemplateDefinition") });
    add(
        "/api/v1/continuous",
        json!({ "get": operation(TAG, "Lists the registered queries", list), "post": register }),
    );
    let one = responses(
        "200",
        "The query, with its plan",
        JSON,
        &schema("ContinuousQuery"),
    );
    add(
        "/api/v1/continuous/{name}",
        json!({
            "parameters": [query()],
            "get": operation(TAG, "A registered query", one),
            "delete": operation(TAG, "Forgets a query and its reports", done("It is gone")),
        }),
    );
    let verbs = [
        ("pause", "Evaluates a query no more, until it is resumed"),
        ("resume", "Evaluates a query again, from the next close on"),
    ];
    for (verb, what) in verbs {
        let post = operation(TAG, what, done("It is so"));
        add(
            &format!("/api/v1/continuous/{{name}}/{verb}"),
            json!({ "parameters": [query()], "post": post }),
        );
    }
    add_instances(add);
    let mut answers = responses(
        "200",
        "Reports behind the one that was seen last",
        JSON,
        &schema("Reports"),
    );
    for (media_type, content) in [(reports::LINES, "string"), (reports::EVENTS, "string")] {
        answers["200"]["content"][media_type] = json!({ "schema": { "type": content } });
    }
    for media_type in formats(true) {
        answers["200"]["content"][media_type] = json!({ "schema": { "type": "string" } });
    }
    answers["204"] = json!({ "description": "With a format: there is no report yet" });
    answers["101"] = switched()["101"].clone();
    let mut get = operation(
        TAG,
        "Reports of a query, now, soon, or as they come",
        answers,
    );
    get["parameters"] = own_parameters(&reports::PARAMETERS);
    add(
        "/api/v1/continuous/{name}/reports",
        json!({ "parameters": [query()], "get": get }),
    );
    add_subscribe(add);
}

/// Where live queries are.
fn add_subscribe(add: &mut impl FnMut(&str, Value)) {
    let what = "The answer of a query, or how it has changed since `after`";
    let mut answers = responses("200", what, "application/json", &schema("LiveChange"));
    for media_type in [&[reports::EVENTS], &formats(true)[..]].concat() {
        answers["200"]["content"][media_type] = json!({ "schema": { "type": "string" } });
    }
    answers["204"] = json!({ "description": "With a format and `after`: it is the same answer" });
    let mut get = operation("SPARQL", "Follows the answer of a query", answers);
    let mut names = without(&known::PROTOCOL, &NOT_FOLLOWED);
    names.extend(without(&subscribe::PARAMETERS, &["format"]));
    get["parameters"] = json!(in_query(&names));
    let mut post = get.clone();
    post["requestBody"] = body(&[QUERY, FORM]);
    get["responses"]["101"] = switched()["101"].clone();
    add("/api/v1/subscribe", json!({ "get": get, "post": post }));
}

/// Where the instances of a template are.
fn add_instances(add: &mut impl FnMut(&str, Value)) {
    const TAG: &str = "Streams";
    let template = || in_path("name", "The name of the template, percent-encoded");
    let instance = in_path("instance", "The name of the instance, percent-encoded");
    let added = json!({ "type": "object", "properties": { "instances": { "type": "integer" } } });
    let what = "How many were added";
    let answers = responses("200", what, "application/json", &added);
    let mut post = operation(TAG, "Adds an instance for each row of a table", answers);
    post["requestBody"] = body(&templates::TABLES);
    add(
        "/api/v1/continuous/{name}/instances",
        json!({ "parameters": [template()], "post": post }),
    );
    let delete = operation(TAG, "Forgets an instance of a template", done("It is gone"));
    add(
        "/api/v1/continuous/{name}/instances/{instance}",
        json!({ "parameters": [template(), instance], "delete": delete }),
    );
}

/// Parameters of an address of our own.
fn own_parameters(names: &[&str]) -> Value {
    let parameter = |name: &&str| {
        let schema = match *name {
            "position" | "watermark" | "after" | "limit" => {
                json!({ "type": "integer", "minimum": 0 })
            }
            "time" => json!({ "oneOf": [
                { "type": "integer", "minimum": 0 }, { "type": "string", "format": "date-time" },
            ] }),
            "time-predicate" => json!({ "type": "string", "format": "iri" }),
            _ => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "schema": schema })
    };
    names.iter().map(parameter).collect()
}

/// An address of the SPARQL protocol that answers queries.
fn sparql(bodies: &[&str]) -> Value {
    let mut answers = responses_in("200", "The answer", &formats(true));
    answers["410"] = json!({ "description": "The snapshot of `snapshot` is kept no more" });
    let mut get = operation("SPARQL", "Answers a query", answers.clone());
    get["responses"]["303"] = json!({ "description": "`format=html`: the page shows the answer" });
    get["responses"]["304"] = json!({ "description": "`If-None-Match` names what there is" });
    let described =
        "Without parameters: the description of the service (SPARQL 1.1 Service Description)";
    get["description"] = json!(described);
    get["parameters"] = json!(in_query(&without(&known::PROTOCOL, &UPDATES)));
    let takes_updates = bodies.contains(&UPDATE);
    let (what, left_out): (_, &[&str]) = if takes_updates {
        ("Answers a query, or makes an update", &["query", "update"])
    } else {
        ("Answers a query", &UPDATES_AND_TEXT)
    };
    let mut post = operation("SPARQL", what, answers);
    if takes_updates {
        post["responses"]["204"] = json!({ "description": "The update was made" });
    }
    post["parameters"] = json!(in_query(&without(&known::PROTOCOL, left_out)));
    post["requestBody"] = body(bodies);
    json!({ "get": get, "post": post })
}

/// Parameters of updates, and the texts, which a body has.
const UPDATES: [&str; 3] = ["update", "using-graph-uri", "using-named-graph-uri"];
const NOT_FOLLOWED: [&str; 5] = [
    "update",
    "using-graph-uri",
    "using-named-graph-uri",
    "explain",
    "snapshot",
];
const UPDATES_AND_TEXT: [&str; 4] = [
    "query",
    "update",
    "using-graph-uri",
    "using-named-graph-uri",
];

fn update() -> Value {
    let mut answers = responses("200", "It was made", "application/json", &schema("Account"));
    answers["204"] =
        json!({ "description": "It was made; `Accept: application/json` gets an account" });
    let mut post = operation("SPARQL", "Makes an update", answers);
    let names = [
        "using-graph-uri",
        "using-named-graph-uri",
        "timeout",
        "baseURI",
    ];
    post["parameters"] = json!(in_query(&names));
    post["requestBody"] = body(&[UPDATE, FORM]);
    post
}

/// An address of the Graph Store Protocol.
fn graphs(parameters: &[Value], what: &str) -> Value {
    let documents: Vec<&str> = Format::ALL
        .iter()
        .map(|format| format.media_type())
        .collect();
    let with_forms = [&documents[..], &["multipart/form-data"]].concat();
    let change = |what: &str, bodies: &[&str]| {
        let mut answers = responses("200", "It was made", "application/json", &schema("Account"));
        answers["204"] = json!({ "description": "It was made" });
        answers["412"] = json!({ "$ref": "#/components/responses/Problem" });
        let mut operation = operation("Graphs", what, answers);
        if !bodies.is_empty() {
            operation["requestBody"] = body(bodies);
        }
        operation
    };
    let mut read = operation(
        "Graphs",
        "Reads it",
        responses_in("200", what, &formats(false)),
    );
    read["responses"]["304"] = json!({ "description": "`If-None-Match` names what there is" });
    let mut put = change("Replaces what it holds", &with_forms);
    let mut post = change("Adds to it", &with_forms);
    for write in [&mut put, &mut post] {
        write["responses"]["201"] = json!({ "description": "It was not there before" });
    }
    json!({
        "description": what,
        "parameters": parameters,
        "get": read,
        "put": put,
        "post": post,
        "patch": change("Changes it by an RDF Patch", &[RDF_PATCH]),
        "delete": change("Removes it", &[]),
    })
}

fn operation(tag: &str, summary: &str, mut responses: Value) -> Value {
    responses["default"] = json!({ "$ref": "#/components/responses/Problem" });
    json!({ "tags": [tag], "summary": summary, "responses": responses })
}

fn responses(status: &str, what: &str, media_type: &str, schema: &Value) -> Value {
    json!({ status: { "description": what, "content": { media_type: { "schema": schema } } } })
}

fn responses_in(status: &str, what: &str, media_types: &[&'static str]) -> Value {
    json!({ status: { "description": what, "content": contents(media_types) } })
}

fn switched() -> Value {
    json!({ "101": { "description": "The connection is a WebSocket from here on (RFC 6455)" } })
}

fn done(what: &str) -> Value {
    json!({ "204": { "description": what } })
}

fn body(media_types: &[&str]) -> Value {
    json!({ "required": true, "content": contents(media_types) })
}

fn contents(media_types: &[&str]) -> Value {
    let content = |media_type: &&str| {
        let schema = match *media_type {
            FORM | "multipart/form-data" => json!({ "type": "object" }),
            "application/sparql-results+json" => schema("Results"),
            _ => json!({ "type": "string" }),
        };
        ((*media_type).to_owned(), json!({ "schema": schema }))
    };
    Value::Object(media_types.iter().map(content).collect())
}

/// The media types of answers: graphs, with rows or without.
fn formats(with_rows: bool) -> Vec<&'static str> {
    let rows = if with_rows {
        offered(AnswerKind::Solutions)
    } else {
        Vec::new()
    };
    [rows, offered(AnswerKind::Graph)].concat()
}

fn without<'n>(names: &[&'n str], left_out: &[&str]) -> Vec<&'n str> {
    let mut names = names.to_vec();
    names.retain(|name| !left_out.contains(name));
    names
}

/// Parameters of the address, with those that name formats.
fn in_query(names: &[&str]) -> Vec<Value> {
    let format = ["format"];
    let all = names.iter().chain(&format);
    all.map(|name| {
        let schema = match *name {
            "limit" | "offset" | "snapshot" => json!({ "type": "integer", "minimum": 0 }),
            "explain" => json!({ "enum": ["plan", "profile"] }),
            name if name.ends_with("graph-uri") => {
                json!({ "type": "array", "items": { "type": "string" } })
            }
            _ => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "schema": schema, "allowEmptyValue": matches!(*name, "default" | "all") })
    })
    .collect()
}

fn in_path(name: &str, what: &str) -> Value {
    let schema = json!({ "type": "string" });
    json!({ "name": name, "in": "path", "required": true, "description": what, "schema": schema })
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn schemas() -> Value {
    let mut all = Map::new();
    for part in [
        protocol_schemas(),
        stream_schemas(),
        cluster_schemas(),
        pushed_schemas(),
        snapshot_schemas(),
        figure_schemas(),
    ] {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}

/// How streams and registered queries stand.
fn figure_schemas() -> Value {
    let object = |required: &[&str], properties: Value| {
        let kind = "object";
        json!({ "type": kind, "required": required, "properties": properties })
    };
    let (string, flag) = (json!({ "type": "string" }), json!({ "type": "boolean" }));
    let count = json!({ "type": "integer", "minimum": 0 });
    let nothing_or = |kind: &str| json!({ "type": [kind, "null"] });
    json!({
        "Streams": object(&["streams", "now", "is_writable", "may_change"], json!({
            "streams": { "type": "array", "items": schema("Stream") },
            "now": count, "is_writable": flag, "may_change": flag,
        })),
        "Source": object(&["name", "watermark", "is_idle"], json!({
            "name": string, "watermark": count, "is_idle": flag,
        })),
        "Window": object(&["stream", "kind"], json!({
            "name": nothing_or("string"), "stream": string,
            "kind": { "enum": ["time", "count", "sliding", "now", "all", "past"] },
            "range": nothing_or("integer"), "step": nothing_or("integer"),
        })),
        "LastReport": object(&["close", "rows", "items", "exec_us", "told"], json!({
            "close": count, "rows": count, "items": count, "exec_us": count, "told": count,
        })),
    })
}

fn snapshot_schemas() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let point = json!({
        "stream": { "type": "string" }, "batch": { "type": ["integer", "null"] }, "until": count,
    });
    let kind = "object";
    let point =
        json!({ "type": kind, "required": ["stream", "batch", "until"], "properties": point });
    let snapshot = json!({
        "snapshot": count, "quads": count, "vector": { "type": ["array", "null"], "items": point },
    });
    let all = json!({ "snapshots": { "type": "array", "items": schema("Snapshot") } });
    json!({
        "Snapshot": { "type": kind, "required": ["snapshot", "quads", "vector"], "properties": snapshot },
        "Snapshots": { "type": kind, "required": ["snapshots"], "properties": all },
    })
}

fn cluster_schemas() -> Value {
    let string = json!({ "type": "string" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let object = |required: &[&str], properties: &Value| json!({ "type": "object", "required": required, "properties": properties });
    let node = object(
        &["node", "part", "address", "state", "since", "slots"],
        &json!({
            "node": count, "part": string, "address": string, "state": { "enum": ["here", "up", "down"] },
            "cause": string, "since": count, "slots": count,
        }),
    );
    let refused = object(
        &["who", "reason", "since"],
        &json!({ "who": string, "reason": string, "since": count }),
    );
    let placement = object(
        &["nodes", "slots", "block_bits"],
        &json!({ "nodes": count, "slots": count, "block_bits": count }),
    );
    let cluster = object(
        &[
            "here",
            "ready",
            "graph",
            "generation",
            "placement",
            "nodes",
            "refused",
        ],
        &json!({
            "here": count, "ready": { "type": "boolean" }, "missing": string, "graph": string, "generation": count,
            "placement": placement, "nodes": { "type": "array", "items": node },
            "refused": { "type": "array", "items": refused },
        }),
    );
    json!({ "Cluster": cluster })
}

fn pushed_schemas() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let moment = json!({ "type": ["integer", "null"] });
    let kind = "object";
    let rejection = json!({ "line": count, "column": count, "message": { "type": "string" } });
    let rejection = json!({
        "type": kind, "required": ["line", "column", "message"], "properties": rejection,
    });
    let pushed = json!({
        "taken": count, "late": count, "rejected": count, "settled": count, "sealed": count,
        "durable": moment, "latest": moment, "position": count, "positions": count, "known": count,
        "missing": count, "rejections": { "type": "array", "items": rejection },
    });
    let required = ["taken", "late", "rejected", "settled"];
    json!({ "Pushed": { "type": kind, "required": required, "properties": pushed } })
}

fn stream_schemas() -> Value {
    let string = json!({ "type": "string" });
    let nothing_or = |kind: &str| json!({ "type": [kind, "null"] });
    let (count, flag) = (
        json!({ "type": "integer", "minimum": 0 }),
        json!({ "type": "boolean" }),
    );
    let strings = json!({ "type": "array", "items": string });
    let absorb = json!({ "oneOf": [{ "enum": ["all", "none"] }, strings] });
    let object = |required: &[&str], properties: &Value| {
        let kind = "object";
        json!({ "type": kind, "required": required, "properties": properties })
    };
    let report = object(
        &["number", "report"],
        &json!({ "number": count, "report": { "type": "object" } }),
    );
    json!({
        "StreamDefinition": object(&["name"], &json!({
            "name": string, "grain": string, "lateness": string, "idle": string, "absorb": absorb,
            "into": string, "arrival_time": flag, "budget": string, "begin": count,
        })),
        "Stream": object(&["name", "grain", "lateness", "idle", "absorb", "arrival_time", "watermark", "settled"], &json!({
            "name": string, "grain": string, "lateness": string, "idle": string, "absorb": absorb,
            "into": nothing_or("string"), "arrival_time": flag, "budget_bytes": count, "held_bytes": count,
            "open_bytes": count, "item_bytes": count, "slice_bytes": count, "term_bytes": count, "source_bytes": count,
            "held_items": count, "held_quads": count, "watermark": count, "settled": count, "is_idle": flag, "late": count,
            "items": count, "last_arrival": nothing_or("integer"), "rejected": count,
            "sources": { "type": "array", "items": schema("Source") }, "source_count": count, "idle_source_count": count,
            "queries": strings,
        })),
        "ContinuousQuery": object(&["name", "streams", "paused", "evaluations"], &json!({
            "name": string, "text": nothing_or("string"), "streams": strings, "output": nothing_or("string"),
            "paused": flag, "evaluations": count, "close": nothing_or("integer"), "failure": nothing_or("string"), "failures": count,
            "dialect": { "enum": ["C-SPARQL", "C-SPARQL with GRAPH", "RSP-QL", "CQELS-QL"] }, "pragmas": string,
            "windows": { "type": "array", "items": schema("Window") }, "form": { "enum": ["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"] },
            "relation": { "enum": ["RSTREAM", "ISTREAM", "DSTREAM"] }, "reports": count,
            "last": { "oneOf": [schema("LastReport"), { "type": "null" }] },
            "plan": nothing_or("string"), "template": { "oneOf": [schema("Template"), { "type": "null" }] },
        })),
        "Template": object(&["parameters", "instances", "bytes"], &json!({
            "parameters": strings, "instances": count, "bytes": count, "apart": nothing_or("string"),
        })),
        "TemplateDefinition": object(&["query", "bindings"], &json!({
            "query": string, "bindings": { "oneOf": [string, schema("Results")] }, "bindings_type": { "enum": templates::TABLES },
        })),
        "LiveChange": object(&["id", "type"], &json!({
            "id": string, "type": { "enum": ["answer", "difference", "unchanged"] },
            "snapshot": count, "since": count, "reset": { "type": "boolean" },
            "head": { "type": "object" }, "boolean": { "type": "boolean" },
            "results": { "type": "object" }, "added": { "type": "object" }, "removed": { "type": "object" },
        })),
        "ContinuousQueries": object(&["queries"], &json!({
            "is_writable": flag, "queries": { "type": "array", "items": schema("ContinuousQuery") },
        })),
        "Reports": object(&["last", "missed", "reports"], &json!({
            "last": count, "missed": count, "reports": { "type": "array", "items": report },
        })),
    })
}

fn protocol_schemas() -> Value {
    let object = |required: &[&str], properties: Value| {
        let kind = "object";
        json!({ "type": kind, "required": required, "properties": properties })
    };
    let (string, count) = (
        json!({ "type": "string" }),
        json!({ "type": "integer", "minimum": 0 }),
    );
    let strings = json!({ "type": "array", "items": string });
    let position = object(
        &["line", "column"],
        json!({ "line": count, "column": count }),
    );
    let running = object(
        &["id", "text", "elapsed_seconds"],
        json!({ "id": string, "text": string, "elapsed_seconds": { "type": "number" } }),
    );
    let further = object(
        &["detail", "position"],
        json!({ "detail": string, "position": position }),
    );
    json!({
        "Problem": object(&["type", "title", "status", "detail"], json!({
            "type": string, "title": string, "status": count, "detail": string, "position": position,
            "query_id": string, "limit": count, "used": count, "unit": { "enum": ["ms", "bytes", "count"] },
            "hint": string, "node": count, "part": string, "offered": strings, "further": { "type": "array", "items": further },
        })),
        "Results": object(&["head"], json!({
            "head": { "type": "object", "properties": { "vars": strings } },
            "warnings": strings,
            "boolean": { "type": "boolean" },
            "results": object(&["bindings"], json!({
                "bindings": { "type": "array", "items": { "type": "object" } },
            })),
        })),
        "Account": object(&["snapshot", "inserted", "deleted"], json!({
            "snapshot": count, "inserted": count, "deleted": count,
        })),
        "Queries": object(&["queries"], json!({ "queries": { "type": "array", "items": running } })),
        "Statistics": object(&["quads", "terms", "predicates", "bytes", "snapshot", "version"], json!({
            "quads": count, "terms": count, "predicates": count, "bytes": count, "snapshot": count, "version": string,
        })),
    })
}

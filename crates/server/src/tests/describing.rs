//! The description of the server for tools: it says of every address what is done there, and nothing else.

use super::Served;
use crate::endpoint::routes;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn document(served: &Served) -> Value {
    let answer = served.get("/api/v1/openapi.json");
    assert_eq!(
        (answer.status, answer.field("content-type")),
        (200, "application/json")
    );
    answer.json()
}

fn paths(document: &Value) -> &Map<String, Value> {
    document["paths"].as_object().unwrap()
}

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

#[test]
fn every_address_is_described_and_no_other() {
    let served = Served::new();
    let document = document(&served);
    assert_eq!(document["openapi"], "3.1.0");
    let described: BTreeSet<String> = paths(&document).keys().cloned().collect();
    let plain = |(path, _): &(&str, _)| match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        path => path.replace("{*", "{"),
    };
    let known: BTreeSet<String> = routes::routes().iter().map(plain).collect();
    assert_eq!(described, known);
}

#[test]
fn what_is_described_is_done() {
    let served = Served::new();
    let document = document(&served);
    for (path, item) in paths(&document) {
        let address = path
            .replace("{graph}", "people/all")
            .replace("{id}", "q00000001")
            .replace("{name}", "http%3A%2F%2Fe%2Fstream");
        let options = served.send(&format!("OPTIONS {address}"), &[], b"");
        let allowed: BTreeSet<String> = options
            .field("allow")
            .split(", ")
            .filter(|method| !matches!(*method, "HEAD" | "OPTIONS" | "QUERY"))
            .map(str::to_ascii_lowercase)
            .collect();
        let described = METHODS.iter().filter(|method| item.get(**method).is_some());
        let described: BTreeSet<String> = described.map(|method| (*method).to_owned()).collect();
        assert_eq!(described, allowed, "{path}");
        for method in &described {
            let line = format!("{} {address}", method.to_ascii_uppercase());
            let answer = served.send(&line, &[], b"");
            assert_ne!(answer.status, 405, "{line}");
            let said = String::from_utf8_lossy(&answer.body);
            assert!(!said.contains("nothing lives at"), "{line}: {said}");
            assert!(item[method]["responses"]["default"].is_object(), "{line}");
        }
    }
}

/// References lead somewhere, and placeholders of an address are parameters.
#[test]
fn the_description_holds_together() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(
                    members
                        .get("$ref")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let served = Served::new();
    let document = document(&served);
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for (path, item) in paths(&document) {
        let mut named: Vec<&Value> = Vec::new();
        for holder in [Some(item)]
            .into_iter()
            .chain(METHODS.map(|method| item.get(method)))
        {
            let parameters = holder.and_then(|holder| holder.get("parameters"));
            named.extend(parameters.and_then(Value::as_array).into_iter().flatten());
        }
        let in_path = named
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .count();
        assert_eq!(in_path, path.matches('{').count(), "{path}");
    }
}

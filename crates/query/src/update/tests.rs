//! Updates as text in, operations out.

mod limits;
mod patch;
mod plain;

use super::*;
use crate::plan::{ConstantId, Form, Slot};
use crate::{ParseOptions, parse};
use std::fmt::Write as _;

fn read(text: &str) -> Update {
    let text = format!("PREFIX : <http://e/> {text}");
    parse_update(&text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    let error = parse_update(text, &ParseOptions::default()).expect_err(text);
    error.to_string()
}

/// The one operation of a text.
fn one(text: &str) -> Operation {
    let mut update = read(text);
    assert_eq!(update.operations.len(), 1, "{text}");
    update.operations.remove(0)
}

fn modify(text: &str) -> Modify {
    match one(text) {
        Operation::Modify(modify) => *modify,
        other => panic!("{text}: {other:?}"),
    }
}

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://e/{local}"))
}

fn quads(text: &str) -> Vec<String> {
    match one(text) {
        Operation::InsertData { data } | Operation::DeleteData { data } => {
            data.iter().map(|quad| quad.to_string()).collect()
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// Templates with the names of their columns.
fn shown(modify: &Modify, templates: &[QuadTemplate]) -> Vec<String> {
    let constant = |id: ConstantId| modify.query.constants()[id.0 as usize].to_string();
    let slot = |slot: Slot| {
        let Form::Select(columns) = modify.query.form() else {
            panic!("{:?}", modify.query.form());
        };
        assert!(columns.contains(&slot), "every column is projected");
        format!("?{}", modify.query.variables()[usize::from(slot.0)])
    };
    fn part(
        term: &TemplateTerm,
        constant: &dyn Fn(ConstantId) -> String,
        slot: &dyn Fn(Slot) -> String,
    ) -> String {
        match term {
            TemplateTerm::Slot(id) => slot(*id),
            TemplateTerm::Constant(id) => constant(*id),
            TemplateTerm::Blank(number) => format!("_:{number}"),
            TemplateTerm::Triple(parts) => {
                let parts = parts.each_ref().map(|each| part(each, constant, slot));
                format!("<<( {} )>>", parts.join(" "))
            }
        }
    }
    let quad = |quad: &QuadTemplate| {
        let parts = quad
            .triple
            .each_ref()
            .map(|each| part(each, &constant, &slot));
        let graph = match quad.graph {
            None => String::new(),
            Some(Node::Constant(id)) => format!(" {}", constant(id)),
            Some(Node::Slot(id)) => format!(" {}", slot(id)),
        };
        format!("{}{graph}", parts.join(" ")).replace("http://e/", "")
    };
    templates.iter().map(quad).collect()
}

#[test]
fn data_are_quads() {
    assert_eq!(
        quads("INSERT DATA { :a :p 1 , TRUE ; :q 'x'@en . GRAPH :g { :a :p :b } _:x :p _:y, _:x }"),
        [
            "<http://e/a> <http://e/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>",
            "<http://e/a> <http://e/p> \"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
            "<http://e/a> <http://e/q> \"x\"@en",
            "<http://e/a> <http://e/p> <http://e/b> <http://e/g>",
            "_:b0 <http://e/p> _:b1",
            "_:b0 <http://e/p> _:b0",
        ]
    );
    assert_eq!(
        quads("DELETE DATA { GRAPH :g { :a :p :b } }"),
        ["<http://e/a> <http://e/p> <http://e/b> <http://e/g>"]
    );
    assert_eq!(quads("INSERT DATA {}"), Vec::<String>::new());
}

#[test]
fn data_of_sparql_1_2() {
    const REIFIES: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>";
    let term = "<<( <http://e/a> <http://e/p> <http://e/b> )>>";
    let without_blanks = |text: &str| {
        let mut quads = quads(text);
        quads.sort();
        quads
    };
    assert_eq!(
        without_blanks("INSERT DATA { :a :p :b ~:r {| :q 1 |} . :c :d <<( :a :p :b )>> }"),
        {
            let mut quads = vec![
                "<http://e/a> <http://e/p> <http://e/b>".to_owned(),
                format!("<http://e/r> {REIFIES} {term}"),
                "<http://e/r> <http://e/q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"
                    .to_owned(),
                format!("<http://e/c> <http://e/d> {term}"),
            ];
            quads.sort();
            quads
        }
    );
    let made = modify("INSERT { << ?s :p ?o >> :q ?s } WHERE { ?s :p ?o }");
    let mut made = shown(&made, &made.insert);
    made.sort();
    assert_eq!(
        made,
        [
            format!("_:0 {REIFIES} <<( ?s <p> ?o )>>"),
            "_:0 <q> ?s".to_owned(),
        ]
    );
}

#[test]
fn templates_name_columns() {
    let made = modify(
        "DELETE { ?s :p ?o . GRAPH ?g { ?s ?p 1 } } INSERT { ?s :q _:x . GRAPH :h { _:x :r [] } }
         WHERE { GRAPH ?g { ?s ?p ?o } OPTIONAL { ?o :t ?t } }",
    );
    assert_eq!(
        shown(&made, &made.delete),
        [
            "?s <p> ?o",
            "?s ?p \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> ?g"
        ]
    );
    assert_eq!(
        shown(&made, &made.insert),
        ["?s <q> _:0", "_:0 <r> _:1 <h>"]
    );
    assert!(!made.names_dataset);
    let Form::Select(columns) = made.query.form() else {
        panic!("a SELECT");
    };
    assert_eq!(columns.len(), 4);
}

#[test]
fn what_the_pattern_cannot_bind_is_never_made() {
    let made = modify(
        "DELETE { ?s :p ?none } INSERT { ?s :q <<( ?s :p ?none )>> . ?s :q 1 . GRAPH ?none { ?s ?s ?s } } WHERE { ?s ?p ?o FILTER NOT EXISTS { ?s :x ?none } }",
    );
    assert_eq!(shown(&made, &made.delete), Vec::<String>::new());
    assert_eq!(
        shown(&made, &made.insert),
        ["?s <q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>"]
    );
}

#[test]
fn templates_without_columns_ask_for_one_solution() {
    let is_cut = |text: &str| {
        let made = modify(text);
        let last = made.query.body().elements.last();
        matches!(
            last,
            Some(crate::algebra::Element::Slice {
                offset: 0,
                limit: Some(1)
            })
        )
    };
    assert!(is_cut("INSERT { :a :p :b } WHERE { ?s ?p ?o }"));
    assert!(is_cut("DELETE { :a :p :b } INSERT {} WHERE { ?s ?p ?o }"));
    assert!(!is_cut("INSERT { :a :p [] } WHERE { ?s ?p ?o }"));
    assert!(!is_cut("INSERT { :a :p ?s } WHERE { ?s ?p ?o }"));
}

#[test]
fn delete_where_is_its_own_template() {
    let made = modify("DELETE WHERE { ?s :p ?o . GRAPH ?g { ?s :q 1 } }");
    assert_eq!(
        shown(&made, &made.delete),
        [
            "?s <p> ?o",
            "?s <q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> ?g"
        ]
    );
    let patterns = modify(
        "DELETE { ?s :p ?o . GRAPH ?g { ?s :q 1 } } WHERE { ?s :p ?o . GRAPH ?g { ?s :q 1 } }",
    );
    assert_eq!(made.query.body(), patterns.query.body());
}

#[test]
fn with_and_using() {
    let made = modify(
        "WITH :g DELETE { ?s :p ?o } INSERT { GRAPH :h { ?s :p ?o } } WHERE { ?s :p ?o . GRAPH :k { ?o :q ?s } MINUS { ?s :r ?o } }",
    );
    assert_eq!(shown(&made, &made.delete), ["?s <p> ?o <g>"]);
    assert_eq!(shown(&made, &made.insert), ["?s <p> ?o <h>"]);
    assert!(made.names_dataset);
    // The named graphs stay as they are.
    assert_eq!(made.query.dataset().graphs, None);
    let graphs = |elements: &[crate::algebra::Element]| -> Vec<String> {
        let graph = |element: &crate::algebra::Element| match element {
            crate::algebra::Element::Pattern(pattern) => match pattern.graph {
                Some(Node::Constant(id)) => Some(made.query.constants()[id.0 as usize].to_string()),
                _ => Some("none".to_owned()),
            },
            _ => None,
        };
        elements.iter().filter_map(graph).collect()
    };
    assert_eq!(
        graphs(&made.query.body().elements),
        ["<http://e/g>", "<http://e/k>"]
    );
    let crate::algebra::Element::Minus(minus) = &made.query.body().elements[2] else {
        panic!("{:?}", made.query.body());
    };
    assert_eq!(graphs(&minus.elements), ["<http://e/g>"]);

    let made =
        modify("WITH :g INSERT { ?s :p ?o } USING :a USING :b USING NAMED :c WHERE { ?s :p ?o }");
    assert_eq!(shown(&made, &made.insert), ["?s <p> ?o <g>"]);
    let (default, named) = made.query.dataset().graphs.clone().unwrap();
    assert_eq!((default.len(), named.len()), (2, 1));
    let made = modify("INSERT { ?s :p ?o } USING NAMED :c WHERE { GRAPH ?g { ?s :p ?o } }");
    let (default, named) = made.query.dataset().graphs.clone().unwrap();
    assert_eq!((default.len(), named.len()), (0, 1));
    assert!(made.names_dataset);
}

#[test]
fn with_does_not_ask_for_the_graph() {
    let made = modify("WITH :g INSERT { :a :p :b } WHERE {}");
    assert!(
        !made
            .query
            .body()
            .elements
            .iter()
            .any(|element| matches!(element, crate::algebra::Element::Graph(..))),
        "{:?}",
        made.query.body()
    );
}

#[test]
fn the_protocol_sets_the_dataset() {
    let graph = Term::from(iri("g"));
    let mut update =
        read("CLEAR ALL ; INSERT { ?s :p 1 } WHERE { ?s :p 2 } ; DELETE WHERE { ?s ?p ?o }");
    let before = update.clone();
    update.set_using(&[], &[]).unwrap();
    assert_eq!(update, before);
    update.set_using(std::slice::from_ref(&graph), &[]).unwrap();
    for operation in &update.operations[1..] {
        let Operation::Modify(modify) = operation else {
            panic!("{operation:?}");
        };
        let (default, named) = modify.query.dataset().graphs.clone().unwrap();
        assert_eq!(modify.query.constants()[default[0].0 as usize], graph);
        assert_eq!((default.len(), named.len()), (1, 0));
    }
    for text in [
        "CLEAR ALL ; WITH :g INSERT { ?s :p 1 } WHERE { ?s :p 2 }",
        "CLEAR ALL ; INSERT { ?s :p 1 } USING :g WHERE { ?s :p 2 }",
        "CLEAR ALL ; INSERT { ?s :p 1 } USING NAMED :g WHERE { ?s :p 2 }",
    ] {
        let error = read(text)
            .set_using(&[], std::slice::from_ref(&graph))
            .unwrap_err();
        assert_eq!(
            (error.kind, error.position.column),
            (ParseErrorKind::Option, 34),
            "{text}"
        );
    }
}

#[test]
fn graphs_are_managed() {
    let g = || iri("g");
    assert_eq!(
        read(
            "LOAD :f ; LOAD SILENT :f INTO GRAPH :g ; CLEAR GRAPH :g ; CLEAR SILENT DEFAULT ;
             DROP NAMED ; DROP SILENT ALL ; CREATE GRAPH :g ; create silent graph :g"
        )
        .operations,
        [
            Operation::Load {
                silent: false,
                source: iri("f"),
                graph: None
            },
            Operation::Load {
                silent: true,
                source: iri("f"),
                graph: Some(g())
            },
            Operation::Clear {
                silent: false,
                target: Target::Graph(g())
            },
            Operation::Clear {
                silent: true,
                target: Target::Default
            },
            Operation::Drop {
                silent: false,
                target: Target::Named
            },
            Operation::Drop {
                silent: true,
                target: Target::All
            },
            Operation::Create {
                silent: false,
                graph: g()
            },
            Operation::Create {
                silent: true,
                graph: g()
            },
        ]
    );
}

#[test]
fn transfers_are_kept_apart() {
    let transfer = |text: &str| match one(text) {
        Operation::Transfer {
            kind,
            silent,
            from,
            to,
        } => (kind, silent, from, to),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(
        transfer("ADD DEFAULT TO :g"),
        (Transfer::Add, false, None, Some(iri("g")))
    );
    assert_eq!(
        transfer("COPY SILENT GRAPH :g TO DEFAULT ;"),
        (Transfer::Copy, true, Some(iri("g")), None)
    );
    assert_eq!(
        transfer("move <http://e/a> to graph :b"),
        (Transfer::Move, false, Some(iri("a")), Some(iri("b")))
    );
    assert_eq!(
        transfer("COPY :g TO GRAPH <http://e/g>"),
        (Transfer::Copy, false, Some(iri("g")), Some(iri("g")))
    );
    assert_eq!(
        transfer("MOVE DEFAULT TO DEFAULT"),
        (Transfer::Move, false, None, None)
    );
    assert_eq!(
        transfer("BASE <http://e/x> COPY <g> TO <h>"),
        (Transfer::Copy, false, Some(iri("g")), Some(iri("h")))
    );
}

#[test]
fn a_prologue_may_stand_before_each_operation() {
    let update = parse_update(
        "PREFIX p: <http://e/> BASE <http://b/> CREATE GRAPH p:a ; CREATE GRAPH <a> ;
         BASE <c/> PREFIX p: <d#> PREFIX q: <http://q/> CREATE GRAPH p:e ; CREATE GRAPH <f> ;
         INSERT { q:a q:b p:c } WHERE {} ; PREFIX z: <http://z/>",
        &ParseOptions::default(),
    )
    .unwrap();
    let graphs = update.operations.iter().map(|operation| match operation {
        Operation::Create { graph, .. } => graph.as_str().to_owned(),
        Operation::Modify(modify) => format!("{:?}", modify.query.base()),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        graphs.collect::<Vec<_>>(),
        [
            "http://e/a",
            "http://b/a",
            "http://b/c/d#e",
            "http://b/c/f",
            "Some(\"http://b/c/\")"
        ]
    );
    let lines: Vec<u32> = update.positions.iter().map(|place| place.line).collect();
    assert_eq!(lines, [1, 1, 2, 2, 3]);
    assert_eq!(update.positions[1].column, 59);
    let empty = [
        "",
        "# nothing",
        "BASE <http://e/>",
        "PREFIX : <http://e/> # end",
    ];
    for text in empty {
        let update = parse_update(text, &ParseOptions::default()).unwrap();
        assert_eq!(update.operations, [], "{text}");
    }
}

/// Texts that are refused, and what the error says.
const REFUSED: &[(&str, &str)] = &[
    (
        "SELECT * {}",
        "SELECT is a query, not an update: send it where queries are accepted at line 1, column 1",
    ),
    (
        "CLEAR ALL ;\n CLEAR x",
        "unexpected `x`: expected GRAPH and an IRI, DEFAULT, NAMED or ALL, in operation 2 at line 2, column 8",
    ),
    (
        "CLEAR ALL ; ; CLEAR ALL",
        "unexpected `;`: expected INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE or COPY, in operation 2 at line 1, column 13",
    ),
    (
        "CLEAR ALL ; BASE <http://e/> ; CLEAR ALL",
        "unexpected `;`: expected INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE or COPY, in operation 2 at line 1, column 30",
    ),
    (
        "CLEARALL",
        "unexpected `CLEARALL`: did you mean CLEAR? (expected INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE or COPY) at line 1, column 1",
    ),
    (
        "CLEAR",
        "unexpected end of the update: expected GRAPH and an IRI, DEFAULT, NAMED or ALL at line 1, column 6",
    ),
    (
        "CLEAR ; CLEAR ALL",
        "unexpected `;`: expected GRAPH and an IRI, DEFAULT, NAMED or ALL, in operation 1 at line 1, column 7",
    ),
    (
        "CLEAR ALL CLEAR ALL",
        "unexpected `CLEAR`: expected `;` or the end of the update at line 1, column 11",
    ),
    (
        "INSERT DATA { ?s <a:p> 1 }",
        "INSERT DATA has no variables at line 1, column 15",
    ),
    (
        "DELETE DATA { _:s <a:p> 1 }",
        "blank nodes are not allowed in DELETE DATA: use a variable in a pattern at line 1, column 15",
    ),
    (
        "DELETE { ?s <a:p> [] } WHERE {}",
        "blank nodes are not allowed",
    ),
    (
        "DELETE WHERE { ?s <a:p> _:b }",
        "blank nodes are not allowed",
    ),
    (
        "INSERT DATA { <a:s> <a:p> x:o }",
        "prefix `x:` is not declared at line 1, column 27",
    ),
    (
        "INSERT DATA { <a:s> <p> 1 }",
        "`<p>` is not a valid absolute IRI: it is relative, and there is no BASE at line 1, column 21",
    ),
    (
        "INSERT DATA { _:b <a:p> 1 } ; INSERT DATA { _:b <a:p> 1 }",
        "the label _:b stands in the INSERT DATA of operation 1 already: a blank node belongs to one operation, in operation 2 at line 1, column 45",
    ),
    (
        "CLEAR ALL ; DELETE {} WHERE { FILTER(<a:f>(1)) }",
        "the function <a:f> is not supported: of functions named by an IRI there are the casts of XML Schema, such as xsd:integer; use a builtin, or leave the call out, in operation 2 at line 1, column 38",
    ),
    (
        "INSERT DATA { <a:s> <a:p> 1 ",
        "`{` is not closed at line 1, column 13",
    ),
    ("WITH <a:g> DELETE WHERE { ?s ?p ?o }", "unexpected `WHERE`"),
];

#[test]
fn errors_have_their_place() {
    let mut differ = String::new();
    for &(text, expected) in REFUSED {
        let error = refused(text);
        if !error.contains(expected) {
            let _ = writeln!(differ, "{text}\n  {error}\n  {expected}");
        }
    }
    assert!(differ.is_empty(), "{differ}");
    let error = parse(
        "PREFIX x: <y:z> WITH <a:g> DELETE {} WHERE {}",
        &ParseOptions::default(),
    );
    let error = error.unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Update);
    assert!(
        error.message.starts_with("WITH is an update, not a query"),
        "{error}"
    );
    // Labels of templates and patterns are the operation's own.
    read(
        "INSERT { _:b :p 1 } WHERE { _:b :p 1 } ; INSERT { _:b :p 1 } WHERE {} ; INSERT DATA { _:b :p 1 }",
    );
}

#[test]
fn a_select_within_reads_as_in_queries() {
    let made = modify(
        "INSERT { ?n :count ?m } WHERE { { SELECT * { ?m :p ?n } } { SELECT ?n (COUNT(?x) AS ?c) (?c + 1 AS ?d) { ?x :p ?n } GROUP BY ?n } }",
    );
    assert_eq!(shown(&made, &made.insert), ["?n <count> ?m"]);
}

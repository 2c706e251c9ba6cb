//! Rows, cells and truth values in each format, read back by the library that reads other endpoints' answers.

use super::*;
use oxrdf::{BlankNode, Literal, NamedNode, Term, Triple, Variable};
use sparesults::{
    QueryResultsFormat, QueryResultsParser, QueryResultsSerializer, SliceQueryResultsParserOutput,
};
use std::fmt::Write;

fn nasty_terms() -> Vec<Term> {
    let iri = NamedNode::new_unchecked("http://e/a");
    let all: String = ('\u{1}'..='\u{7f}').collect();
    let mut terms: Vec<Term> = vec![
        iri.clone().into(),
        BlankNode::new_unchecked("b1").into(),
        Literal::new_simple_literal(&all).into(),
        Literal::new_simple_literal("").into(),
        Literal::new_simple_literal("\u{e4}\u{1F600}").into(),
        Literal::new_language_tagged_literal_unchecked("a\tb", "en-gb").into(),
        Literal::new_directional_language_tagged_literal_unchecked("x", "ar", BaseDirection::Rtl)
            .into(),
        Triple::new(iri.clone(), iri.clone(), Literal::new_simple_literal("\"")).into(),
    ];
    for lexical in [
        "1", "+1", "-01", "", "1.", ".5", "1.5", "+.", "1e3", "1.e3", ".e3", "1.5E-3", "e3", "1e",
        "true", "True", "INF", "x",
    ] {
        for datatype in [
            xsd::INTEGER,
            xsd::DECIMAL,
            xsd::DOUBLE,
            xsd::BOOLEAN,
            xsd::DATE,
        ] {
            terms.push(Literal::new_typed_literal(lexical, datatype).into());
        }
    }
    terms
}

fn ours(format: TextFormat, terms: &[Term]) -> Vec<u8> {
    let mut columns = vec![TermBuffer::new(), TermBuffer::new()];
    for term in terms {
        columns[0].push(term.as_ref());
        columns[1].push_unbound();
    }
    let names = ["a".to_owned(), "b".to_owned()];
    let mut out = Vec::new();
    let mut writer = TextWriter::new(format, &names, &[], &mut out).unwrap();
    let len = terms.len();
    writer.rows(&Rows { columns, len }, &mut out).unwrap();
    writer.finish(&mut out);
    out
}

fn theirs(format: QueryResultsFormat, terms: &[Term]) -> Vec<u8> {
    let names = ["a", "b"].map(|name| Variable::new(name).unwrap());
    let mut writer = QueryResultsSerializer::from_format(format)
        .serialize_solutions_to_writer(Vec::new(), names.to_vec())
        .unwrap();
    for term in terms {
        writer.serialize([(&names[0], term)]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn text_is_byte_for_byte_the_library_s() {
    let terms = nasty_terms();
    let pairs = [
        (TextFormat::Tsv, QueryResultsFormat::Tsv),
        (TextFormat::Csv, QueryResultsFormat::Csv),
    ];
    for (format, library) in pairs {
        // The library does not quote a triple term in CSV.
        let is_written = |term: &&Term| format == TextFormat::Tsv || !term.is_triple();
        let terms: Vec<Term> = terms.iter().filter(is_written).cloned().collect();
        let ours = String::from_utf8(ours(format, &terms)).unwrap();
        assert_eq!(ours, String::from_utf8(theirs(library, &terms)).unwrap());
    }
}

#[test]
fn json_and_xml_parse_back() {
    parse_back(TextFormat::Json, QueryResultsFormat::Json, &nasty_terms());
    let is_in_xml = |term: &Term| match term {
        Term::Literal(literal) => !literal.value().contains('\u{1}'),
        _ => true,
    };
    let mut terms = nasty_terms();
    terms.retain(is_in_xml);
    let text = "\r a\r\n\tb <&>\"' \u{7f}\u{FF01} \n";
    terms.push(Literal::new_simple_literal(text).into());
    parse_back(TextFormat::Xml, QueryResultsFormat::Xml, &terms);
}

fn parse_back(format: TextFormat, library: QueryResultsFormat, terms: &[Term]) {
    let text = ours(format, terms);
    let parser = QueryResultsParser::from_format(library);
    let SliceQueryResultsParserOutput::Solutions(solutions) = parser.for_slice(&text).unwrap()
    else {
        panic!("solutions were written");
    };
    let read: Vec<Term> = solutions
        .map(|solution| solution.unwrap().get("a").unwrap().clone())
        .collect();
    assert_eq!(read, terms);
}

/// Rows of few terms, unbound ones among them, that recur in different orders in two columns.
fn recurring(is_spread: bool) -> Rows {
    let numbers = [[0, 1, 1, 2, 0, 3, 2], [2, 2, 0, 1, 3, 3, 0]];
    let mut columns = Vec::new();
    for numbers in numbers {
        let mut terms = TermBuffer::new();
        let push = |terms: &mut TermBuffer, number| match number {
            0 => terms.push_iri("http://e/a"),
            1 => terms.push_unbound(),
            2 => terms.push_language("x\"y", "en", None),
            _ => terms.push_simple(""),
        };
        if is_spread {
            (0..4).for_each(|number| push(&mut terms, number));
            terms.spread(&numbers);
        } else {
            for number in numbers {
                push(&mut terms, number);
            }
        }
        columns.push(terms);
    }
    Rows { columns, len: 7 }
}

#[test]
fn what_recurs_is_copied_from_where_it_stands() {
    let names = ["a".to_owned(), "b".to_owned()];
    for format in [
        TextFormat::Json,
        TextFormat::Xml,
        TextFormat::Csv,
        TextFormat::Tsv,
    ] {
        let [once, each] = [true, false].map(|is_spread| {
            let mut out = Vec::new();
            let mut writer = TextWriter::new(format, &names, &[], &mut out).unwrap();
            for _ in 0..3 {
                writer.rows(&recurring(is_spread), &mut out).unwrap();
            }
            writer.finish(&mut out);
            String::from_utf8(out).unwrap()
        });
        assert_eq!(once, each);
        assert!(!each.contains("{,") && !each.contains(",}"), "{each}");
    }
}

#[test]
fn triples_are_byte_for_byte_the_library_s() {
    let mut objects = nasty_terms();
    let edges = "\u{0}\u{7f}\u{80}\u{FFFD}\u{FFFE}\u{FFFF}\u{10000}";
    objects.push(Literal::new_simple_literal(edges).into());
    let [subject, predicate] = ["s", "p"].map(NamedNode::new_unchecked);
    let mut columns = vec![TermBuffer::new(), TermBuffer::new(), TermBuffer::new()];
    let mut expected = String::new();
    for object in &objects {
        columns[0].push(subject.as_ref().into());
        columns[1].push(predicate.as_ref().into());
        columns[2].push(object.as_ref());
        let triple = Triple::new(subject.clone(), predicate.clone(), object.clone());
        writeln!(expected, "{triple} .").unwrap();
    }
    let mut out = Vec::new();
    let mut writer = TextWriter::new(TextFormat::NTriples, &[], &[], &mut out).unwrap();
    let len = objects.len();
    writer.rows(&Rows { columns, len }, &mut out).unwrap();
    writer.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn what_is_no_triple_is_an_error() {
    let row = |cells: [Option<Term>; 3]| {
        let columns = cells.map(|cell| {
            let mut column = TermBuffer::new();
            match cell {
                Some(term) => column.push(term.as_ref()),
                None => column.push_unbound(),
            }
            column
        });
        let columns = columns.into();
        let mut out = Vec::new();
        let mut writer = TextWriter::new(TextFormat::NTriples, &[], &[], &mut out).unwrap();
        writer.rows(&Rows { columns, len: 1 }, &mut out)
    };
    let iri = || Some(Term::from(NamedNode::new_unchecked("e:a")));
    let blank = || Some(Term::from(BlankNode::new_unchecked("b")));
    let text = || Some(Term::from(Literal::new_simple_literal("x")));
    row([blank(), iri(), blank()]).unwrap();
    row([iri(), iri(), text()]).unwrap();
    for cells in [
        [text(), iri(), iri()],
        [iri(), blank(), iri()],
        [iri(), text(), iri()],
        [iri(), iri(), None],
        [None, iri(), iri()],
    ] {
        assert!(row(cells.clone()).is_err(), "{cells:?}");
    }
}

#[test]
fn booleans() {
    let mut out = Vec::new();
    boolean(TextFormat::Json, true, &[], &mut out);
    assert_eq!(out, b"{\"head\":{},\"boolean\":true}");
}

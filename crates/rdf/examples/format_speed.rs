//! What the guards cost beside the libraries' parsers, and how fast a Turtle document is cut.
//!
//! `cargo run --release -p rdf --example format_speed`: 30 MB of triples in each format through the
//! library alone and through `rdf::format`. Prints the best of three runs in MB/s.

use oxrdf::{GraphName, Literal, NamedNode, Quad, QuadRef};
use rdf::format::{Format, read_quads, split_turtle, writer};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

fn main() {
    let quads = sample(150_000);
    for format in [Format::Turtle, Format::TriG, Format::RdfXml, Format::JsonLd] {
        let mut output = writer(format, Vec::new());
        for quad in &quads {
            output.quad(quad.as_ref()).expect("writing to memory");
        }
        let text = output.finish().expect("writing to memory");
        let library = speed(&text, || read_with_library(format, &text));
        let ours = speed(&text, || {
            read_quads(format, &text[..], None, &mut |quad: QuadRef<'_>| {
                black_box(quad);
                ControlFlow::Continue(())
            })
            .expect("valid");
        });
        println!("{format}: library {library:.0} MB/s, guarded {ours:.0} MB/s");
        if format == Format::Turtle {
            let cut = speed(&text, || drop(split_turtle(&text, None, 8).expect("valid")));
            println!("{format}: cut at {cut:.0} MB/s");
        }
    }
}

fn read_with_library(format: Format, text: &[u8]) {
    match format {
        Format::Turtle => drain(oxttl::TurtleParser::new().for_reader(text)),
        Format::TriG => drain(oxttl::TriGParser::new().for_reader(text)),
        Format::RdfXml => drain(oxrdfxml::RdfXmlParser::new().for_reader(text)),
        _ => drain(oxjsonld::JsonLdParser::new().for_reader(text)),
    }
}

fn drain<T, E>(items: impl Iterator<Item = Result<T, E>>) {
    for item in items {
        assert!(item.is_ok(), "the documents are valid");
        black_box(&item);
    }
}

fn speed(text: &[u8], mut run: impl FnMut()) -> f64 {
    let seconds = (0..3).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    text.len() as f64 / 1e6 / seconds.fold(f64::INFINITY, f64::min)
}

fn sample(subjects: usize) -> Vec<Quad> {
    let iri =
        |name: String| NamedNode::new_unchecked(format!("http://www.university.example/{name}"));
    let mut quads = Vec::new();
    for number in 0..subjects {
        let subject = iri(format!("department{}/student{number}", number % 20));
        let objects: [oxrdf::Term; 3] = [
            iri(format!("department{}", number % 20)).into(),
            Literal::new_simple_literal(format!("Student number {number}")).into(),
            Literal::from(number as i64).into(),
        ];
        for (place, object) in objects.into_iter().enumerate() {
            let predicate = iri(format!("ontology/property{place}"));
            quads.push(Quad::new(
                subject.clone(),
                predicate,
                object,
                GraphName::DefaultGraph,
            ));
        }
    }
    quads
}

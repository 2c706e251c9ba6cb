//! The generator stays in the language, repeats itself for a seed, and reaches what it should.

use super::*;
use crate::random_graph::{Shape, random_dataset};
use spargebra::SparqlParser;

fn queries(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let shape = Shape {
        graphs: 2,
        literals: 30,
        ..Shape::random(&mut random)
    };
    let vocabulary = Vocabulary::of(&random_dataset(&shape, &mut random));
    (0..count)
        .map(|_| random_query(&vocabulary, &mut random))
        .collect()
}

#[test]
fn every_query_parses() {
    for seed in 0..20 {
        for query in queries(seed, 50) {
            if let Err(error) = SparqlParser::new().parse_query(&query) {
                panic!("seed {seed}: {error}\n{query}");
            }
        }
    }
}

#[test]
fn a_seed_gives_one_sequence() {
    assert_eq!(queries(7, 30), queries(7, 30));
    assert_ne!(queries(7, 30), queries(8, 30));
}

#[test]
fn reaches_every_part_of_the_subset() {
    let all: String = (0..30)
        .flat_map(|seed| queries(seed, 100))
        .collect::<Vec<_>>()
        .join("\n");
    for part in PARTS.split_whitespace() {
        let part = part.replace('~', " ");
        assert!(all.contains(&part), "no query has {part}");
    }
}

/// What has to occur, with a tilde for a space.
const PARTS: &str = "ASK DISTINCT REDUCED COUNT(*) COUNT(DISTINCT~*) SELECT~* FROM~< FROM~NAMED GRAPH~? \
    GRAPH~< ORDER~BY DESC( LIMIT OFFSET unknown _:a ?nowhere isIRI isBLANK isLITERAL \
    isNUMERIC STR( LANG( DATATYPE( STRLEN( SUBSTR( UCASE( LCASE( STRSTARTS( STRENDS( \
    CONTAINS( STRBEFORE( STRAFTER( ENCODE_FOR_URI( CONCAT( langMATCHES( REGEX( REPLACE( ABS( \
    ROUND( CEIL( FLOOR( YEAR( MONTH( DAY( HOURS( MINUTES( SECONDS( sameTerm( IN~( NOT~IN \
    BOUND( IF( COALESCE( && || !( * / + - (-? (+? <= >=";

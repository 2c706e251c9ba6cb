//! The generator stays in the language, repeats itself for a seed, and reaches what it should.

use super::*;
use crate::random_graph::{Shape, random_dataset};
use spargebra::SparqlParser;

type Draw = fn(&Vocabulary, &mut Random) -> String;

fn queries(seed: u64, count: usize) -> Vec<String> {
    drawn(random_query, seed, count)
}

fn drawn(draw: Draw, seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let shape = Shape {
        graphs: 2,
        literals: 30,
        ..Shape::random(&mut random)
    };
    let vocabulary = Vocabulary::of(&random_dataset(&shape, &mut random));
    (0..count).map(|_| draw(&vocabulary, &mut random)).collect()
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
    has_all(&all, PARTS);
}

#[test]
fn wide_queries_reach_every_part_of_the_algebra() {
    assert_eq!(
        drawn(random_wide_query, 7, 20),
        drawn(random_wide_query, 7, 20)
    );
    let all: String = (0..40)
        .flat_map(|seed| drawn(random_wide_query, seed, 100))
        .collect::<Vec<_>>()
        .join("\n");
    has_all(&all, PARTS);
    has_all(&all, WIDE_PARTS);
}

fn has_all(all: &str, parts: &str) {
    for part in parts.split_whitespace() {
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

const WIDE_PARTS: &str = "OPTIONAL UNION MINUS EXISTS NOT~EXISTS BIND( VALUES UNDEF LATERAL {~SELECT \
    GROUP~BY HAVING( COUNT( COUNT(DISTINCT~ SUM( SUM(DISTINCT AVG( MIN( MAX( SAMPLE( GROUP_CONCAT( \
    SEPARATOR CONSTRUCT DESCRIBE <<( )* )+ )? >* >+ >? !( |^ ^( )/ IRI( STRDT( STRLANG( STRLANGDIR( \
    MD5( SHA1( SHA256( SHA384( SHA512( TZ( TIMEZONE( ADJUST( TRIPLE( SUBJECT( PREDICATE( OBJECT( \
    isTRIPLE( LANGDIR( hasLANG( hasLANGDIR( XMLSchema#integer>( XMLSchema#decimal>( \
    XMLSchema#double>( XMLSchema#float>( XMLSchema#boolean>( XMLSchema#string>( \
    XMLSchema#dateTime>( XMLSchema#date>( IF(NOT~EXISTS HAVING(EXISTS";

//! What a planner is told of a part, as bytes.

use crate::bytes::{Malformed, Reader, Writer};
use query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use rdf::VertexId;

/// The fewest bytes of a vertex and a number.
const PAIR_BYTES_MIN: usize = 9;

pub(crate) fn write_statistics(statistics: &Statistics, out: &mut Writer) {
    out.number(statistics.quads);
    out.number(statistics.predicates.len() as u64);
    for sizes in &statistics.predicates {
        out.id(sizes.vertex);
        out.number(sizes.subjects);
        out.number(sizes.objects);
        out.number(sizes.edges);
    }
    write_pairs(&statistics.classes, out);
    write_sets(&statistics.out_sets, out);
    write_sets(&statistics.in_sets, out);
    out.number(statistics.named_graphs);
    out.id(statistics.type_vertex.unwrap_or(VertexId::UNBOUND));
}

/// Bytes that it takes in memory. Written it takes no more.
pub(crate) fn bytes_of_statistics(statistics: &Statistics) -> u64 {
    let sets = statistics.out_sets.iter().chain(&statistics.in_sets);
    let of_set = |set: &CharacteristicSet| {
        size_of_val(set) + size_of_val(&set.predicates[..]) + size_of_val(&set.types[..])
    };
    let bytes = size_of_val(statistics)
        + size_of_val(&statistics.predicates[..])
        + size_of_val(&statistics.classes[..])
        + sets.map(of_set).sum::<usize>();
    bytes as u64
}

pub(crate) fn read_statistics(from: &mut Reader<'_>) -> Result<Statistics, Malformed> {
    let quads = from.number()?;
    let count = from.count(PAIR_BYTES_MIN + 2)?;
    let mut predicates = Vec::with_capacity(count);
    for _ in 0..count {
        predicates.push(PredicateStatistics {
            vertex: from.id()?,
            subjects: from.number()?,
            objects: from.number()?,
            edges: from.number()?,
        });
    }
    Ok(Statistics {
        quads,
        predicates,
        classes: read_pairs(from)?,
        out_sets: read_sets(from)?,
        in_sets: read_sets(from)?,
        named_graphs: from.number()?,
        type_vertex: Some(from.id()?).filter(|vertex| !vertex.is_unbound()),
        complete_at: None,
    })
}

fn write_pairs(pairs: &[(VertexId, u64)], out: &mut Writer) {
    out.number(pairs.len() as u64);
    for (vertex, number) in pairs {
        out.id(*vertex);
        out.number(*number);
    }
}

fn read_pairs(from: &mut Reader<'_>) -> Result<Vec<(VertexId, u64)>, Malformed> {
    let count = from.count(PAIR_BYTES_MIN)?;
    (0..count)
        .map(|_| Ok((from.id()?, from.number()?)))
        .collect()
}

fn write_sets(sets: &[CharacteristicSet], out: &mut Writer) {
    out.number(sets.len() as u64);
    for set in sets {
        write_pairs(&set.predicates, out);
        out.ids(&set.types);
        out.number(set.vertices);
    }
}

fn read_sets(from: &mut Reader<'_>) -> Result<Vec<CharacteristicSet>, Malformed> {
    let count = from.count(3)?;
    let mut sets = Vec::new();
    for _ in 0..count {
        sets.push(CharacteristicSet {
            predicates: read_pairs(from)?,
            types: from.ids()?,
            vertices: from.number()?,
        });
    }
    Ok(sets)
}

//! The twelve queries measured on LUBM, with the rows that they must give.
//!
//! They are the ones of the systems that this engine is compared with (not the benchmark's own
//! fourteen, which need inference): q1, q3, q7 join much, q2 reads much, q4 to q6 and q8 to q12
//! stay within one university. Row counts are without `DISTINCT`, over the distinct triples,
//! for seed 0 from university 0; those of 1, 5 and 40 universities were computed by an
//! independent evaluator, those of 160 by two, those of 2560 are published.

/// A query with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// `q1` to `q12`.
    pub name: &'static str,
    /// The SPARQL text.
    pub text: &'static str,
    rows: Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// The query concerns University0 alone.
    Fixed(u64),
    /// For each of [`MEASURED`].
    Growing([u64; MEASURED.len()]),
}

/// The numbers of universities for which every query's rows are known.
pub const MEASURED: [u32; 5] = [1, 5, 40, 160, 2560];

macro_rules! query {
    ($name:literal, $rows:expr) => {
        Query {
            name: $name,
            text: include_str!(concat!("../queries/", $name, ".rq")),
            rows: $rows,
        }
    };
}

/// q1 to q12, in order.
pub const QUERIES: [Query; 12] = [
    query!("q1", Rows::Growing([0, 9, 106, 397, 2528])),
    query!("q2", Rows::Growing([828, 5063, 43_291, 173_040, 2_765_067])),
    query!("q3", Rows::Fixed(0)),
    query!("q4", Rows::Fixed(10)),
    query!("q5", Rows::Fixed(10)),
    query!("q6", Rows::Fixed(125)),
    query!("q7", Rows::Growing([30, 213, 1763, 7125, 112_559])),
    query!("q8", Rows::Fixed(8569)),
    query!("q9", Rows::Fixed(730)),
    query!("q10", Rows::Fixed(5)),
    query!("q11", Rows::Fixed(1)),
    query!("q12", Rows::Fixed(3101)),
];

impl Query {
    /// How many rows the query gives on this many universities (seed 0, from university 0);
    /// none where nobody has counted them.
    pub fn rows(&self, universities: u32) -> Option<u64> {
        match self.rows {
            Rows::Fixed(rows) => (universities > 0).then_some(rows),
            Rows::Growing(rows) => {
                let place = MEASURED
                    .iter()
                    .position(|&measured| measured == universities)?;
                Some(rows[place])
            }
        }
    }
}

/// The query of this name.
pub fn by_name(name: &str) -> Option<&'static Query> {
    QUERIES.iter().find(|query| query.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::path::Path;

    #[test]
    fn names_are_numbered_and_found() {
        for (index, query) in QUERIES.iter().enumerate() {
            assert_eq!(query.name, format!("q{}", index + 1));
            assert_eq!(by_name(query.name), Some(query));
        }
        assert_eq!(by_name("q13"), None);
    }

    #[test]
    fn rows_are_known_where_counted() {
        let q7 = by_name("q7").unwrap();
        assert_eq!(
            [q7.rows(160), q7.rows(2), q7.rows(0)],
            [Some(7125), None, None]
        );
        assert_eq!(by_name("q9").unwrap().rows(2), Some(730));
    }

    #[test]
    fn rows_are_those_of_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/lubm/expected.json"
        );
        let Ok(text) = std::fs::read_to_string(path) else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: rows_are_those_of_the_reference: no {path}"
            );
            return;
        };
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (query, universities) in QUERIES.iter().flat_map(|q| MEASURED.map(|n| (q, n))) {
            let data = &expected[format!("lubm{universities}")];
            let rows = &data["queries"][query.name]["rows"];
            let rows = rows
                .as_u64()
                .or_else(|| data["query_rows"][query.name].as_u64());
            assert!(
                rows.is_some(),
                "{} on {universities} is not in the reference",
                query.name
            );
            assert_eq!(
                query.rows(universities),
                rows,
                "{} on {universities}",
                query.name
            );
        }
    }

    /// The words of a query, without comments: formatting is ours.
    fn words(text: &str) -> Vec<&str> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace).collect()
    }

    #[test]
    fn texts_are_those_of_the_reference() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/lubm/queries");
        for query in QUERIES {
            let path = folder.join(format!("{}.rq", query.name));
            let Ok(text) = std::fs::read_to_string(&path) else {
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: texts_are_those_of_the_reference: no {}",
                    path.display()
                );
                return;
            };
            assert_eq!(words(query.text), words(&text), "{}", query.name);
        }
    }
}

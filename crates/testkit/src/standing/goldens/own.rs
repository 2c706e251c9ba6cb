//! Texts of our own for the questions of the benchmarks, in the two dialects that nobody has published them in: C-SPARQL as
//! its engine has it, and CQELS-QL.
//!
//! A file has a prologue and then a text for each name, behind a line `### NAME`. Where the question means something else
//! than the dialect does by default, a pragma before the text says so; it is the same for all texts of a policy, so it is
//! put there by whoever asks.

use query::standing::Dialect;

const LSBENCH: [&str; 2] = [
    include_str!("../../../texts/lsbench.csparql"),
    include_str!("../../../texts/lsbench.cqels"),
];
const CITYBENCH: [&str; 2] = [
    include_str!("../../../texts/citybench.csparql"),
    include_str!("../../../texts/citybench.cqels"),
];
const CSRBENCH: [&str; 2] = [
    include_str!("../../../texts/csrbench.csparql"),
    include_str!("../../../texts/csrbench.cqels"),
];
/// The dialects of each pair of files.
const DIALECTS: [Dialect; 2] = [Dialect::CSparql, Dialect::Cqels];
/// What `[open, close)` at each close differs in from each dialect, where empty windows are reported.
const EACH_CLOSE: [&str; 2] = [
    "bounds=lcro report=close t0=epoch partial_first=no",
    "bounds=lcro report=close r2s=rstream",
];

/// A query of LSBench, with the constant that it asks about.
pub(super) fn lsbench(name: &str, constant: &str) -> Vec<(Dialect, String)> {
    let texts = texts(LSBENCH, name, EACH_CLOSE).into_iter();
    texts
        .map(|(dialect, text)| (dialect, text.replace("$CONSTANT", constant)))
        .collect()
}

/// A query of CityBench.
pub(super) fn citybench(name: &str) -> Vec<(Dialect, String)> {
    texts(CITYBENCH, name, EACH_CLOSE)
}

/// A query of CSRBench by one of its policies: `wc`, `wc-rightclosed`, `cc`.
pub(super) fn csrbench(name: &str, policy: &str) -> Vec<(Dialect, String)> {
    let pragmas = match policy {
        "wc-rightclosed" => [
            "t0=epoch partial_first=no",
            "report=close,nonempty r2s=rstream",
        ],
        "cc" => [
            "bounds=lcro report=change,nonempty r2s=istream difference=set t0=epoch partial_first=no",
            "bounds=lcro report=change,nonempty difference=set",
        ],
        _ => [
            "bounds=lcro t0=epoch partial_first=no",
            "bounds=lcro report=close,nonempty r2s=rstream",
        ],
    };
    texts(CSRBENCH, name, pragmas)
}

fn texts(files: [&str; 2], name: &str, pragmas: [&str; 2]) -> Vec<(Dialect, String)> {
    let mut texts = Vec::new();
    for (dialect, (file, pragma)) in DIALECTS.into_iter().zip(files.into_iter().zip(pragmas)) {
        let mut parts = file.split("\n### ");
        let prologue = parts.next().unwrap_or_default();
        let own = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
        let own = own.expect("each file has all queries of its benchmark");
        texts.push((dialect, format!("#@ {pragma}\n{prologue}\n{own}")));
    }
    texts
}

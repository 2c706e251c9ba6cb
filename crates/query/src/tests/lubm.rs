//! Statistics like those of LUBM with one university, as a literal, and the plans of the twelve
//! queries against them.
//!
//! Counts are of the generated data (2026-11-21: 100,543 distinct triples); characteristic sets are
//! simplified to one to three a class.

use super::cases::check_all;
use crate::plan::Plan;
use crate::planner::{PlanOptions, Planner};
use crate::statistics::{CharacteristicSet, DegreeQuestion, PredicateStatistics, Statistics};
use crate::{ParseOptions, Query, parse};
use oxrdf::Term;
use rdf::{Direction, Tag, VertexId};

pub(super) const UB: &str = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// Local names; the index is the vertex number. Predicates first, then classes.
const NAMES: [&str; 31] = [
    "type",
    "advisor",
    "doctoralDegreeFrom",
    "emailAddress",
    "headOf",
    "mastersDegreeFrom",
    "memberOf",
    "name",
    "publicationAuthor",
    "researchInterest",
    "subOrganizationOf",
    "takesCourse",
    "teacherOf",
    "teachingAssistantOf",
    "telephone",
    "undergraduateDegreeFrom",
    "worksFor",
    "AssistantProfessor",
    "AssociateProfessor",
    "Course",
    "Department",
    "FullProfessor",
    "GraduateCourse",
    "GraduateStudent",
    "Lecturer",
    "Publication",
    "ResearchAssistant",
    "ResearchGroup",
    "TeachingAssistant",
    "UndergraduateStudent",
    "University",
];

/// Subjects, objects, edges of each predicate, in the order of the names.
const PREDICATES: [(u64, u64, u64); 17] = [
    (17_174, 14, 18_128),
    (3_101, 447, 3_101),
    (540, 414, 540),
    (8_330, 8_330, 8_330),
    (15, 15, 15),
    (540, 411, 540),
    (7_790, 15, 7_790),
    (15_972, 2_500, 15_972),
    (5_999, 2_000, 10_634),
    (447, 30, 447),
    (239, 16, 239),
    (7_790, 1_600, 21_489),
    (540, 1_627, 1_627),
    (407, 407, 407),
    (8_330, 1, 8_330),
    (2_414, 920, 2_414),
    (540, 15, 540),
];

/// Classes, vertices, predicates with their edges.
type Set = (&'static [&'static str], u64, &'static [(&'static str, u64)]);

/// Sets of subjects.
const OUT_SETS: [Set; 17] = [
    (&["AssistantProfessor"], 146, PROFESSOR_146),
    (&["AssociateProfessor"], 176, PROFESSOR_176),
    (&["FullProfessor"], 110, PROFESSOR_110),
    (&["FullProfessor"], 15, HEAD_15),
    (
        &["Lecturer"],
        93,
        &[
            ("type", 93),
            ("doctoralDegreeFrom", 93),
            ("emailAddress", 93),
            ("mastersDegreeFrom", 93),
            ("name", 93),
            ("teacherOf", 280),
            ("telephone", 93),
            ("undergraduateDegreeFrom", 93),
            ("worksFor", 93),
        ],
    ),
    (&["Course"], 828, &[("type", 828), ("name", 828)]),
    (&["GraduateCourse"], 799, &[("type", 799), ("name", 799)]),
    (
        &["Department"],
        15,
        &[("type", 15), ("name", 15), ("subOrganizationOf", 15)],
    ),
    (
        &["GraduateStudent"],
        920,
        &[
            ("type", 920),
            ("advisor", 920),
            ("emailAddress", 920),
            ("memberOf", 920),
            ("name", 920),
            ("takesCourse", 1_840),
            ("telephone", 920),
            ("undergraduateDegreeFrom", 920),
        ],
    ),
    (&["GraduateStudent", "ResearchAssistant"], 547, GRADUATE_547),
    (
        &["GraduateStudent", "TeachingAssistant"],
        407,
        &[
            ("type", 814),
            ("advisor", 407),
            ("emailAddress", 407),
            ("memberOf", 407),
            ("name", 407),
            ("takesCourse", 814),
            ("teachingAssistantOf", 407),
            ("telephone", 407),
            ("undergraduateDegreeFrom", 407),
        ],
    ),
    (
        &["Publication"],
        5_999,
        &[
            ("type", 5_999),
            ("name", 5_999),
            ("publicationAuthor", 10_634),
        ],
    ),
    (
        &["ResearchGroup"],
        224,
        &[("type", 224), ("subOrganizationOf", 224)],
    ),
    (
        &["UndergraduateStudent"],
        4_689,
        &[
            ("type", 4_689),
            ("emailAddress", 4_689),
            ("memberOf", 4_689),
            ("name", 4_689),
            ("takesCourse", 14_037),
            ("telephone", 4_689),
        ],
    ),
    (
        &["UndergraduateStudent"],
        1_227,
        &[
            ("type", 1_227),
            ("advisor", 1_227),
            ("emailAddress", 1_227),
            ("memberOf", 1_227),
            ("name", 1_227),
            ("takesCourse", 3_704),
            ("telephone", 1_227),
        ],
    ),
    (&["University"], 978, &[("type", 978)]),
    (&["University"], 1, &[("type", 1), ("name", 1)]),
];

const PROFESSOR_146: &[(&str, u64)] = &professor(146, 444);
const PROFESSOR_176: &[(&str, u64)] = &professor(176, 528);
const PROFESSOR_110: &[(&str, u64)] = &professor(110, 330);
const HEAD_15: &[(&str, u64)] = &[
    ("type", 15),
    ("doctoralDegreeFrom", 15),
    ("emailAddress", 15),
    ("headOf", 15),
    ("mastersDegreeFrom", 15),
    ("name", 15),
    ("researchInterest", 15),
    ("teacherOf", 45),
    ("telephone", 15),
    ("undergraduateDegreeFrom", 15),
    ("worksFor", 15),
];
const GRADUATE_547: &[(&str, u64)] = &[
    ("type", 1_094),
    ("advisor", 547),
    ("emailAddress", 547),
    ("memberOf", 547),
    ("name", 547),
    ("takesCourse", 1_094),
    ("telephone", 547),
    ("undergraduateDegreeFrom", 547),
];

const fn professor(vertices: u64, courses: u64) -> [(&'static str, u64); 10] {
    [
        ("type", vertices),
        ("doctoralDegreeFrom", vertices),
        ("emailAddress", vertices),
        ("mastersDegreeFrom", vertices),
        ("name", vertices),
        ("researchInterest", vertices),
        ("teacherOf", courses),
        ("telephone", vertices),
        ("undergraduateDegreeFrom", vertices),
        ("worksFor", vertices),
    ]
}

/// Sets of objects.
const IN_SETS: [Set; 16] = [
    (
        &["AssistantProfessor"],
        146,
        &[("advisor", 1_000), ("publicationAuthor", 1_100)],
    ),
    (
        &["AssociateProfessor"],
        176,
        &[("advisor", 1_200), ("publicationAuthor", 2_300)],
    ),
    (
        &["FullProfessor"],
        125,
        &[("advisor", 901), ("publicationAuthor", 2_200)],
    ),
    (&["Lecturer"], 93, &[("publicationAuthor", 230)]),
    (&["GraduateStudent"], 1_200, &[("publicationAuthor", 4_804)]),
    (
        &["Course"],
        421,
        &[("takesCourse", 9_000), ("teacherOf", 421)],
    ),
    (
        &["Course"],
        407,
        &[
            ("takesCourse", 8_741),
            ("teacherOf", 407),
            ("teachingAssistantOf", 407),
        ],
    ),
    (
        &["GraduateCourse"],
        799,
        &[("takesCourse", 3_748), ("teacherOf", 799)],
    ),
    (
        &["Department"],
        15,
        &[
            ("headOf", 15),
            ("memberOf", 7_790),
            ("subOrganizationOf", 224),
            ("worksFor", 540),
        ],
    ),
    (
        &["University"],
        1,
        &[
            ("doctoralDegreeFrom", 1),
            ("mastersDegreeFrom", 1),
            ("subOrganizationOf", 15),
            ("undergraduateDegreeFrom", 3),
        ],
    ),
    (
        &["University"],
        978,
        &[
            ("doctoralDegreeFrom", 539),
            ("mastersDegreeFrom", 539),
            ("undergraduateDegreeFrom", 2_411),
        ],
    ),
    (&[], 14, &[("type", 18_128)]),
    (&[], 8_330, &[("emailAddress", 8_330)]),
    (&[], 2_500, &[("name", 15_972)]),
    (&[], 30, &[("researchInterest", 447)]),
    (&[], 1, &[("telephone", 8_330)]),
];

pub(super) fn vertex(name: &str) -> Option<VertexId> {
    let number = NAMES.iter().position(|known| *known == name)?;
    Some(VertexId::new(Tag::Iri, number as u64))
}

fn set((types, vertices, predicates): Set) -> CharacteristicSet {
    let known = |name: &str| vertex(name).expect("a name of the fixture");
    let mut types: Vec<VertexId> = types.iter().map(|name| known(name)).collect();
    types.sort_unstable();
    let mut predicates: Vec<(VertexId, u64)> = predicates
        .iter()
        .map(|&(name, edges)| (known(name), edges))
        .collect();
    predicates.sort_unstable();
    CharacteristicSet {
        predicates,
        types,
        vertices,
    }
}

/// The statistics, with all counts times `scale` (except of what is shared by all universities).
pub(super) fn statistics(scale: u64) -> Statistics {
    // Universities are the same thousand, whoever studied there.
    let university = vertex("University");
    let scaled = |mut set: CharacteristicSet| {
        let is_university = set.types.first().copied() == university;
        set.vertices *= if is_university { 1 } else { scale };
        for (predicate, edges) in &mut set.predicates {
            let is_fixed = is_university && *predicate <= VertexId::new(Tag::Iri, 0);
            *edges *= if is_fixed { 1 } else { scale };
        }
        set
    };
    let out_sets: Vec<CharacteristicSet> = OUT_SETS.into_iter().map(set).map(scaled).collect();
    let mut classes: Vec<(VertexId, u64)> = Vec::new();
    for set in &out_sets {
        for &class in &set.types {
            match classes.iter_mut().find(|(known, _)| *known == class) {
                Some((_, members)) => *members += set.vertices,
                None => classes.push((class, set.vertices)),
            }
        }
    }
    classes.sort_unstable();
    let numbered = PREDICATES.iter().enumerate();
    Statistics {
        quads: 100_543 * scale,
        predicates: numbered
            .map(
                |(number, &(subjects, objects, edges))| PredicateStatistics {
                    vertex: VertexId::new(Tag::Iri, number as u64),
                    subjects: subjects * scale,
                    objects: objects * scale,
                    edges: edges * scale,
                },
            )
            .collect(),
        classes,
        out_sets,
        in_sets: IN_SETS.into_iter().map(set).map(scaled).collect(),
        named_graphs: 0,
        type_vertex: vertex("type"),
        complete_at: None,
    }
}

/// The id of a constant: names of the fixture, and any other IRI or literal but `ub:absent`.
pub(super) fn id(term: &Term) -> Option<VertexId> {
    match term {
        Term::NamedNode(node) if node.as_str() == RDF_TYPE => vertex("type"),
        Term::NamedNode(node) => match node.as_str().strip_prefix(UB) {
            Some(name) => vertex(name),
            None => Some(VertexId::new(Tag::Iri, 1000 + node.as_str().len() as u64)),
        },
        Term::Literal(literal) => Some(VertexId::new(Tag::Literal, literal.value().len() as u64)),
        _ => None,
    }
}

/// Degrees as in the data: members of a class, students of a department, and so on.
fn degree(question: DegreeQuestion, statistics: &Statistics) -> u64 {
    let members = statistics.classes.iter();
    if let Some((_, members)) = members.clone().find(|(class, _)| *class == question.vertex) {
        return *members;
    }
    let name = |vertex: VertexId| NAMES.get(vertex.payload() as usize).copied().unwrap_or("");
    match (question.direction, question.predicate.map(name)) {
        (Direction::In, Some("subOrganizationOf")) => 15,
        (Direction::In, Some("worksFor")) => 36,
        (Direction::In, Some("memberOf")) => 520,
        (Direction::In, Some("undergraduateDegreeFrom")) => 3,
        (Direction::In, Some(_)) => 4,
        (Direction::In, None) => 570,
        (Direction::Out, Some(_)) => 1,
        (Direction::Out, None) => 8,
    }
}

pub(super) fn query(text: &str) -> Query {
    let options = ParseOptions {
        prefixes: vec![("ub".to_owned(), UB.to_owned())],
        ..ParseOptions::default()
    };
    parse(text, &options).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(super) fn plan_of(text: &str, scale: u64, options: PlanOptions) -> Plan {
    plan_with(&query(text), scale, options)
}

pub(super) fn plan_query(query: &Query, scale: u64) -> Plan {
    plan_with(query, scale, PlanOptions::DEFAULT)
}

fn plan_with(query: &Query, scale: u64, options: PlanOptions) -> Plan {
    let statistics = statistics(scale);
    let ids: Vec<_> = query.constants().iter().map(id).collect();
    let questions = query.degree_questions(&ids);
    let degrees: Vec<u64> = questions
        .iter()
        .map(|question| degree(*question, &statistics))
        .collect();
    let planner = Planner::new(statistics);
    planner.plan(query, &ids, &degrees, options).unwrap()
}

/// The steps of a plan without its figures, one a line, each with the columns it keeps.
pub(super) fn steps(text: &str, scale: u64, options: PlanOptions) -> String {
    let plan = plan_of(text, scale, options);
    let printed = plan.explain_with(query(text).prefixes(), None);
    let mut lines = printed.lines();
    let weight = lines.next().unwrap_or_default();
    let mut steps = String::new();
    for line in lines.skip(1) {
        // Figures take 25 characters and two blanks.
        let step = line.get(27..).filter(|_| line.starts_with(' '));
        steps.push_str(step.unwrap_or(line));
        steps.push('\n');
    }
    steps.push_str(weight.split(' ').next().unwrap_or_default());
    steps
}

/// `lubm.txt` holds the plans of the benchmark's queries, `qN xS` for S universities.
#[test]
fn plans_of_the_benchmark() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/lubm/queries");
    check_all(include_str!("lubm.txt"), |case| {
        let (query, scale) = case.split_once(" x").unwrap();
        let path = format!("{root}/{query}.rq");
        match std::fs::read_to_string(&path) {
            Ok(text) => steps(&text, scale.parse().unwrap(), PlanOptions::DEFAULT),
            Err(error) => {
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    format!("SKIPPED: {path}: {error}\n").as_bytes(),
                );
                expected_of(case)
            }
        }
    });
}

/// What the file says, where the query is absent.
fn expected_of(case: &str) -> String {
    let cases = include_str!("lubm.txt").split("\n\n");
    let mut answers = cases.filter_map(|text| text.split_once("\n----\n"));
    let answer = answers.find(|(name, _)| *name == case);
    answer.map_or(String::new(), |(_, plan)| plan.to_owned())
}

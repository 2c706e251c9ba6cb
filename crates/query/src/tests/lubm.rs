//! Statistics like those of LUBM with one university, as a literal, and the plans of the twelve
//! queries against them.
//!
//! Counts are of the generated data (2026-11-21: 100,543 distinct triples); characteristic sets are
//! simplified to one to three a class.

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

/// Classes with their vertices and out-predicates with edges.
const OUT_SETS: [(&[&str], u64, &[(&str, u64)]); 17] = [
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

/// Classes of objects with their vertices and in-predicates with edges.
const IN_SETS: [(&[&str], u64, &[(&str, u64)]); 16] = [
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

fn set((types, vertices, predicates): (&[&str], u64, &[(&str, u64)])) -> CharacteristicSet {
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
    Planner::new(statistics).plan(query, &ids, &degrees, options)
}

/// Prints the median times of guard, parse and plan.
pub(super) fn print_times(text: &str) {
    let statistics = statistics(160);
    let planner = Planner::new(statistics.clone());
    let options = ParseOptions {
        prefixes: vec![("ub".to_owned(), UB.to_owned())],
        ..ParseOptions::default()
    };
    let query = parse(text, &options).unwrap();
    let ids: Vec<_> = query.constants().iter().map(id).collect();
    let questions = query.degree_questions(&ids);
    let degrees: Vec<u64> = questions.iter().map(|q| degree(*q, &statistics)).collect();
    let median = |work: &mut dyn FnMut()| {
        let mut times: Vec<std::time::Duration> = (0..101)
            .map(|_| {
                let start = std::time::Instant::now();
                work();
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[50]
    };
    eprintln!(
        "{} patterns: guard {:?}, guard and parse and translate {:?}, plan {:?}",
        query.patterns().len(),
        median(&mut || drop(crate::guard::scan(text, &options.limits))),
        median(&mut || drop(parse(text, &options))),
        median(&mut || drop(planner.plan(&query, &ids, &degrees, PlanOptions::DEFAULT))),
    );
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

/// Checks the plan of a query of the benchmark at one and at 160 universities.
fn check(number: u32, one: &str, many: &str) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/lubm/queries");
    let path = format!("{root}/q{number}.rq");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: the query {path} is absent");
        return;
    };
    for (scale, expected) in [(1, one), (160, many)] {
        let found = steps(&text, scale, PlanOptions::DEFAULT);
        let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
        assert_eq!(found.trim(), expected.join("\n"), "q{number} x{scale}");
    }
}

#[test]
fn triangles() {
    check(
        1,
        "
        ub:Department <-a- ?Z   [?Z]
        ?Z -ub:subOrganizationOf-> ?Y   [?Y ?Z]
        check ?Y -a-> ub:University   [?Y ?Z]
        ?Y <-ub:undergraduateDegreeFrom- ?X   [?X ?Y ?Z]
        check ?X -ub:memberOf-> ?Z   [?X ?Y ?Z]
        check ?X -a-> ub:GraduateStudent   [?X ?Y ?Z]
        select ?X ?Y ?Z
        light
        ",
        "
        ub:University <-a- ?Y   [?Y]
        ?Y <-ub:subOrganizationOf- ?Z   [?Y ?Z]
        check ?Z -a-> ub:Department   [?Y ?Z]
        ?Z <-ub:memberOf- ?X   [?X ?Y ?Z]
        check ?X -a-> ub:GraduateStudent   [?X ?Y ?Z]
        check ?X -ub:undergraduateDegreeFrom-> ?Y   [?X ?Y ?Z]
        select ?X ?Y ?Z
        heavy
        ",
    );
    check(
        3,
        "
        ub:Department <-a- ?Z   [?Z]
        ?Z -ub:subOrganizationOf-> ?Y   [?Y ?Z]
        check ?Y -a-> ub:University   [?Y ?Z]
        ?Y <-ub:undergraduateDegreeFrom- ?X   [?X ?Y ?Z]
        check ?X -a-> ub:UndergraduateStudent   [?X ?Y ?Z]
        check ?X -ub:memberOf-> ?Z   [?X ?Y ?Z]
        select ?X ?Y ?Z
        light
        ",
        "
        ub:University <-a- ?Y   [?Y]
        ?Y <-ub:subOrganizationOf- ?Z   [?Y ?Z]
        check ?Z -a-> ub:Department   [?Y ?Z]
        ?Y <-ub:undergraduateDegreeFrom- ?X   [?X ?Y ?Z]
        check ?X -a-> ub:UndergraduateStudent   [?X ?Y ?Z]
        check ?X -ub:memberOf-> ?Z   [?X ?Y ?Z]
        select ?X ?Y ?Z
        heavy
        ",
    );
    check(
        7,
        "
        ub:FullProfessor <-a- ?Y   [?Y]
        ?Y -ub:teacherOf-> ?Z   [?Y ?Z]
        check ?Z -a-> ub:Course   [?Y ?Z]
        ?Y <-ub:advisor- ?X   [?Y ?X ?Z]
        check ?X -a-> ub:UndergraduateStudent   [?Y ?X ?Z]
        check ?X -ub:takesCourse-> ?Z   [?Y ?X ?Z]
        select ?X ?Y ?Z
        light
        ",
        "
        ub:FullProfessor <-a- ?Y   [?Y]
        ?Y -ub:teacherOf-> ?Z   [?Y ?Z]
        check ?Z -a-> ub:Course   [?Y ?Z]
        ?Y <-ub:advisor- ?X   [?Y ?X ?Z]
        check ?X -a-> ub:UndergraduateStudent   [?Y ?X ?Z]
        check ?X -ub:takesCourse-> ?Z   [?Y ?X ?Z]
        select ?X ?Y ?Z
        heavy
        ",
    );
}

#[test]
fn by_type() {
    check(
        2,
        "
        ub:Course <-a- ?X   [?X]
        ?X -ub:name-> ?Y   [?X ?Y]
        select ?X ?Y
        light
        ",
        "
        ub:Course <-a- ?X   [?X]
        ?X -ub:name-> ?Y   [?X ?Y]
        select ?X ?Y
        heavy
        ",
    );
}

#[test]
fn from_a_constant() {
    check(
        4,
        "
        <http://www.Department0.University0.edu> <-ub:worksFor- ?X   [?X]
        check ?X -a-> ub:FullProfessor   [?X]
        ?X -ub:name-> ?Y1   [?X ?Y1]
        ?X -ub:emailAddress-> ?Y2   [?X ?Y1 ?Y2]
        ?X -ub:telephone-> ?Y3   [?X ?Y1 ?Y2 ?Y3]
        select ?X ?Y1 ?Y2 ?Y3
        light
        ",
        "
        <http://www.Department0.University0.edu> <-ub:worksFor- ?X   [?X]
        check ?X -a-> ub:FullProfessor   [?X]
        ?X -ub:name-> ?Y1   [?X ?Y1]
        ?X -ub:emailAddress-> ?Y2   [?X ?Y1 ?Y2]
        ?X -ub:telephone-> ?Y3   [?X ?Y1 ?Y2 ?Y3]
        select ?X ?Y1 ?Y2 ?Y3
        light
        ",
    );
    check(
        5,
        "
        <http://www.Department0.University0.edu> <-ub:subOrganizationOf- ?X   [?X]
        check ?X -a-> ub:ResearchGroup   [?X]
        select ?X
        light
        ",
        "
        <http://www.Department0.University0.edu> <-ub:subOrganizationOf- ?X   [?X]
        check ?X -a-> ub:ResearchGroup   [?X]
        select ?X
        light
        ",
    );
    check(
        6,
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?Y   [?Y]
        check ?Y -a-> ub:Department   [?Y]
        ?Y <-ub:worksFor- ?X   [?Y ?X]
        check ?X -a-> ub:FullProfessor   [?Y ?X]
        select ?X ?Y
        light
        ",
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?Y   [?Y]
        check ?Y -a-> ub:Department   [?Y]
        ?Y <-ub:worksFor- ?X   [?Y ?X]
        check ?X -a-> ub:FullProfessor   [?Y ?X]
        select ?X ?Y
        light
        ",
    );
    check(
        12,
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?Y   [?Y]
        ?Y <-ub:worksFor- ?X   [?Y ?X]
        ?X <-ub:advisor- ?Z   [?Y ?X]
        select ?X ?Y
        light
        ",
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?Y   [?Y]
        ?Y <-ub:worksFor- ?X   [?Y ?X]
        ?X <-ub:advisor- ?Z   [?Y ?X]
        select ?X ?Y
        light
        ",
    );
}

#[test]
fn unknown_predicates() {
    check(
        8,
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?D   [?D]
        predicates ?D <-?P-   [?D ?P]
        ?D <-?P- ?X   [?D ?X ?P]
        select ?X ?P ?D
        light
        ",
        "
        <http://www.University0.edu> <-ub:subOrganizationOf- ?D   [?D]
        predicates ?D <-?P-   [?D ?P]
        ?D <-?P- ?X   [?D ?X ?P]
        select ?X ?P ?D
        light
        ",
    );
    check(
        9,
        "
        predicates <http://www.Department0.University0.edu> <-?P-   [?P]
        <http://www.Department0.University0.edu> <-?P- ?X   [?X ?P]
        select ?X ?P
        light
        ",
        "
        predicates <http://www.Department0.University0.edu> <-?P-   [?P]
        <http://www.Department0.University0.edu> <-?P- ?X   [?X ?P]
        select ?X ?P
        light
        ",
    );
    check(
        10,
        "
        predicates <http://www.Department3.University0.edu/FullProfessor1> <-?Y-   [?Y]
        <http://www.Department3.University0.edu/FullProfessor1> <-?Y- ?X   [?X ?Y]
        check ?X -a-> ub:UndergraduateStudent   [?X ?Y]
        select ?X ?Y
        light
        ",
        "
        predicates <http://www.Department3.University0.edu/FullProfessor1> <-?Y-   [?Y]
        <http://www.Department3.University0.edu/FullProfessor1> <-?Y- ?X   [?X ?Y]
        check ?X -a-> ub:UndergraduateStudent   [?X ?Y]
        select ?X ?Y
        light
        ",
    );
    check(
        11,
        "
        predicates <http://www.Department7.University0.edu/UndergraduateStudent201> -?X->   [?X]
        check <http://www.Department7.University0.edu/UndergraduateStudent201> -?X-> <http://www.Department7.University0.edu>   [?X]
        select ?X
        light
        ",
        "
        predicates <http://www.Department7.University0.edu/UndergraduateStudent201> -?X->   [?X]
        check <http://www.Department7.University0.edu/UndergraduateStudent201> -?X-> <http://www.Department7.University0.edu>   [?X]
        select ?X
        light
        ",
    );
}

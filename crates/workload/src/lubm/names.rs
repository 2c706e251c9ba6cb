//! The vocabulary of the benchmark as numbers: classes, properties, nodes and literals.
//!
//! The walk over a university ([`super::department`]) speaks in these, the writers turn them
//! into text. So the algorithm is in one place whatever the syntax, and counting instances
//! (for query mixes) costs no text at all. All are `Copy` and small: a writer's `match` on
//! them is resolved at compile time where the walk names the variant.

/// A class that the generator emits (superclasses such as `Professor` never are).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the variants are the benchmark's own names")]
pub enum Class {
    University,
    Department,
    FullProfessor,
    AssociateProfessor,
    AssistantProfessor,
    Lecturer,
    UndergraduateStudent,
    GraduateStudent,
    TeachingAssistant,
    ResearchAssistant,
    Course,
    GraduateCourse,
    Publication,
    ResearchGroup,
}

impl Class {
    pub(super) const ALL: [Self; 14] = [
        Self::University,
        Self::Department,
        Self::FullProfessor,
        Self::AssociateProfessor,
        Self::AssistantProfessor,
        Self::Lecturer,
        Self::UndergraduateStudent,
        Self::GraduateStudent,
        Self::TeachingAssistant,
        Self::ResearchAssistant,
        Self::Course,
        Self::GraduateCourse,
        Self::Publication,
        Self::ResearchGroup,
    ];

    /// The class's name in the ontology.
    pub const fn name(self) -> &'static str {
        match self {
            Self::University => "University",
            Self::Department => "Department",
            Self::FullProfessor => "FullProfessor",
            Self::AssociateProfessor => "AssociateProfessor",
            Self::AssistantProfessor => "AssistantProfessor",
            Self::Lecturer => "Lecturer",
            Self::UndergraduateStudent => "UndergraduateStudent",
            Self::GraduateStudent => "GraduateStudent",
            Self::TeachingAssistant => "TeachingAssistant",
            Self::ResearchAssistant => "ResearchAssistant",
            Self::Course => "Course",
            Self::GraduateCourse => "GraduateCourse",
            Self::Publication => "Publication",
            Self::ResearchGroup => "ResearchGroup",
        }
    }
}

/// A property that links two nodes or gives a literal; `rdf:type` is apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Property {
    Name,
    TakesCourse,
    TeacherOf,
    UndergraduateDegreeFrom,
    MastersDegreeFrom,
    DoctoralDegreeFrom,
    Advisor,
    MemberOf,
    PublicationAuthor,
    HeadOf,
    TeachingAssistantOf,
    ResearchInterest,
    EmailAddress,
    Telephone,
    SubOrganizationOf,
    WorksFor,
}

impl Property {
    pub(super) const ALL: [Self; 16] = [
        Self::Name,
        Self::TakesCourse,
        Self::TeacherOf,
        Self::UndergraduateDegreeFrom,
        Self::MastersDegreeFrom,
        Self::DoctoralDegreeFrom,
        Self::Advisor,
        Self::MemberOf,
        Self::PublicationAuthor,
        Self::HeadOf,
        Self::TeachingAssistantOf,
        Self::ResearchInterest,
        Self::EmailAddress,
        Self::Telephone,
        Self::SubOrganizationOf,
        Self::WorksFor,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::TakesCourse => "takesCourse",
            Self::TeacherOf => "teacherOf",
            Self::UndergraduateDegreeFrom => "undergraduateDegreeFrom",
            Self::MastersDegreeFrom => "mastersDegreeFrom",
            Self::DoctoralDegreeFrom => "doctoralDegreeFrom",
            Self::Advisor => "advisor",
            Self::MemberOf => "memberOf",
            Self::PublicationAuthor => "publicationAuthor",
            Self::HeadOf => "headOf",
            Self::TeachingAssistantOf => "teachingAssistantOf",
            Self::ResearchInterest => "researchInterest",
            Self::EmailAddress => "emailAddress",
            Self::Telephone => "telephone",
            Self::SubOrganizationOf => "subOrganizationOf",
            Self::WorksFor => "worksFor",
        }
    }
}

/// A person, course or group: the `index`-th of its class in the current department.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) class: Class,
    pub(super) index: u32,
}

/// A node of the graph, relative to the current department.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Any university, by index.
    University(u32),
    /// The current department.
    Department,
    Member(Member),
    /// The `ordinal`-th publication of a faculty member.
    Publication {
        author: Member,
        ordinal: u32,
    },
}

/// A literal, relative to the current subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// The last part of the subject's name: `FullProfessor7`, `University0`.
    Label,
    /// The label, at the department's host.
    Email,
    /// The same constant for everybody.
    Telephone,
    /// `Research` and a number.
    ResearchArea(u32),
}

/// Takes the triples of a department in the original's order.
///
/// A writer appends text, a census counts. Calls between two calls of `subject` are about that
/// subject, except `university`, which stands for itself and leaves the subject as it is.
pub(super) trait Sink {
    /// What follows is about this node.
    fn subject(&mut self, node: Node);
    /// The subject is of this class.
    fn class(&mut self, class: Class);
    /// The subject has this literal.
    fn literal(&mut self, property: Property, literal: Literal);
    /// The subject is linked to this node.
    fn link(&mut self, property: Property, object: Node);
    /// `<University> rdf:type University`, said again wherever a degree or a department names
    /// one: the only triple ever repeated.
    fn university(&mut self, index: u32);
}

//! The walk over a university: every draw and every triple in the original's order.
//!
//! This is the specification's sections 4 to 6 and nothing else. Invariant: the sequence of
//! draws does not depend on the sink, so a census, a Turtle writer and an N-Triples writer see
//! the same university. The departments of one university share one stream of draws and can
//! only be made in order; universities are independent of each other.
//!
//! Cost: some 2 draws a triple; memory for one department's publications (a few hundred short
//! lists, reused from one department to the next).

use super::names::{Class, Literal, Member, Node, Property, Sink};
use super::parameters::{DepartmentIndex, UniversityIndex};
use super::random::{Random, Range, Sample, sample};

const DEPARTMENTS: Range = Range {
    least: 15,
    most: 25,
};
const FULL_PROFESSORS: Range = Range { least: 7, most: 10 };
const ASSOCIATE_PROFESSORS: Range = Range {
    least: 10,
    most: 14,
};
const ASSISTANT_PROFESSORS: Range = Range { least: 8, most: 11 };
const LECTURERS: Range = Range { least: 5, most: 7 };
const GROUPS: Range = Range {
    least: 10,
    most: 20,
};
/// Undergraduates and graduates for each faculty member.
const UNDERGRADUATES_PER_FACULTY: Range = Range { least: 8, most: 14 };
const GRADUATES_PER_FACULTY: Range = Range { least: 3, most: 4 };
/// One graduate of so many is an assistant; the larger divisor gives the lower bound.
const GRADUATES_PER_TEACHING_ASSISTANT: Range = Range { least: 4, most: 5 };
const GRADUATES_PER_RESEARCH_ASSISTANT: Range = Range { least: 3, most: 4 };
/// Courses of each of the two kinds that a faculty member teaches.
const COURSES_TAUGHT: Range = Range { least: 1, most: 2 };
const UNDERGRADUATE_COURSES_TAKEN: Range = Range { least: 2, most: 4 };
const GRADUATE_COURSES_TAKEN: Range = Range { least: 1, most: 3 };
const GRADUATE_PUBLICATIONS: Range = Range { least: 0, most: 5 };
/// Course pool of each kind; a department hands out at most 84.
const COURSE_POOL: u32 = 100;
/// Degrees come from universities 0 to 999 whatever is generated.
const DEGREE_UNIVERSITIES: u32 = 1000;
const RESEARCH_AREAS: u32 = 30;
/// One undergraduate of so many has an advisor, and every graduate.
const UNDERGRADUATES_PER_ADVISED: u32 = 5;
const GRADUATES_PER_ADVISED: u32 = 1;

const COURSES_HANDED_OUT_MAX: u32 = COURSES_TAUGHT.most
    * (FULL_PROFESSORS.most
        + ASSOCIATE_PROFESSORS.most
        + ASSISTANT_PROFESSORS.most
        + LECTURERS.most);
const _: () = assert!(
    COURSES_HANDED_OUT_MAX < COURSE_POOL,
    "a course pool could run out"
);

/// The sizes of a department, drawn before anything is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) full_professors: u32,
    pub(super) associate_professors: u32,
    pub(super) assistant_professors: u32,
    pub(super) lecturers: u32,
    pub(super) undergraduates: u32,
    pub(super) graduates: u32,
    pub(super) teaching_assistants: u32,
    pub(super) research_assistants: u32,
    pub(super) groups: u32,
    /// Which full professor is the head.
    pub(super) chair: u32,
}

impl Sizes {
    fn draw(random: &mut Random) -> Self {
        let full_professors = random.within(FULL_PROFESSORS);
        let associate_professors = random.within(ASSOCIATE_PROFESSORS);
        let assistant_professors = random.within(ASSISTANT_PROFESSORS);
        let lecturers = random.within(LECTURERS);
        let faculty = full_professors + associate_professors + assistant_professors + lecturers;
        let undergraduates = random.within(times(UNDERGRADUATES_PER_FACULTY, faculty));
        let graduates = random.within(times(GRADUATES_PER_FACULTY, faculty));
        Self {
            full_professors,
            associate_professors,
            assistant_professors,
            lecturers,
            undergraduates,
            graduates,
            teaching_assistants: random.within(share(graduates, GRADUATES_PER_TEACHING_ASSISTANT)),
            research_assistants: random.within(share(graduates, GRADUATES_PER_RESEARCH_ASSISTANT)),
            groups: random.within(GROUPS),
            chair: random.below(full_professors),
        }
    }
}

const fn times(range: Range, factor: u32) -> Range {
    Range {
        least: range.least * factor,
        most: range.most * factor,
    }
}

const fn share(total: u32, divisors: Range) -> Range {
    Range {
        least: total / divisors.most,
        most: total / divisors.least,
    }
}

/// A publication and the graduate students that joined its author.
#[derive(Debug)]
struct Publication {
    author: Member,
    ordinal: u32,
    /// Graduate students by index, ascending.
    joined: Vec<u32>,
}

/// What a department has handed out so far. Kept from one to the next for its allocations.
#[derive(Debug, Default)]
struct Ledger {
    /// How many courses were handed out; they are numbered in the order of hand-out.
    courses: u32,
    graduate_courses: u32,
    publications: Vec<Publication>,
    /// Emptied lists of earlier publications, for reuse.
    spare: Vec<Vec<u32>>,
    drawn: Sample,
    drawn_courses: Sample,
}

impl Ledger {
    fn clear(&mut self) {
        self.courses = 0;
        self.graduate_courses = 0;
        for mut publication in self.publications.drain(..) {
            publication.joined.clear();
            self.spare.push(publication.joined);
        }
    }

    fn publish(&mut self, author: Member, ordinal: u32) {
        let joined = self.spare.pop().unwrap_or_default();
        self.publications.push(Publication {
            author,
            ordinal,
            joined,
        });
    }
}

/// What came out of one department: what query mixes draw instances from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) department: DepartmentIndex,
    pub(super) sizes: Sizes,
    pub(super) courses: u32,
    pub(super) graduate_courses: u32,
    pub(super) publications: u32,
    /// No department follows in this university.
    pub(super) last: bool,
}

/// One university, department by department.
#[derive(Debug)]
pub(super) struct UniversityWalk {
    university: UniversityIndex,
    random: Random,
    departments: u32,
    next: u32,
    ledger: Ledger,
}

impl UniversityWalk {
    pub(super) fn new(seed: i32, university: UniversityIndex) -> Self {
        let mut random = Random::of_university(seed, university);
        let departments = random.within(DEPARTMENTS);
        Self {
            university,
            random,
            departments,
            next: 0,
            ledger: Ledger::default(),
        }
    }

    /// The department that [`Self::walk_next`] makes, if one is left.
    pub(super) fn next_department(&self) -> Option<DepartmentIndex> {
        (self.next < self.departments).then_some(DepartmentIndex(self.next))
    }

    /// Makes the next department. Only where [`Self::next_department`] has one (asserted).
    pub(super) fn walk_next<S: Sink>(&mut self, sink: &mut S) -> Outcome {
        assert!(self.next < self.departments, "no department is left");
        let department = DepartmentIndex(self.next);
        self.next += 1;
        self.ledger.clear();
        let sizes = Sizes::draw(&mut self.random);
        let mut walk = DepartmentWalk {
            university: self.university,
            sizes,
            random: &mut self.random,
            ledger: &mut self.ledger,
            sink,
        };
        walk.department(department);
        Outcome {
            department,
            sizes,
            courses: self.ledger.courses,
            graduate_courses: self.ledger.graduate_courses,
            publications: self.ledger.publications.len() as u32,
            last: self.next == self.departments,
        }
    }
}

struct DepartmentWalk<'a, S> {
    university: UniversityIndex,
    sizes: Sizes,
    random: &'a mut Random,
    ledger: &'a mut Ledger,
    sink: &'a mut S,
}

/// How a class of faculty differs from the others.
struct FacultyKind {
    class: Class,
    count: u32,
    publications: Range,
    researches: bool,
}

impl<S: Sink> DepartmentWalk<'_, S> {
    fn department(&mut self, department: DepartmentIndex) {
        self.organisations(department);
        self.faculty();
        for index in 0..self.sizes.undergraduates {
            self.undergraduate(index);
        }
        for index in 0..self.sizes.graduates {
            self.graduate(index);
        }
        self.groups();
        self.publications();
        self.courses();
        self.assistants();
    }

    fn organisations(&mut self, department: DepartmentIndex) {
        let university = Node::University(self.university.0);
        if department.0 == 0 {
            self.begin(university, Class::University);
            self.sink.literal(Property::Name, Literal::Label);
        }
        self.begin(Node::Department, Class::Department);
        self.sink.literal(Property::Name, Literal::Label);
        self.sink.link(Property::SubOrganizationOf, university);
        self.sink.university(self.university.0);
    }

    fn faculty(&mut self) {
        let sizes = self.sizes;
        let kind = |class, count, least, most, researches| FacultyKind {
            class,
            count,
            publications: Range { least, most },
            researches,
        };
        self.faculty_of(&kind(
            Class::FullProfessor,
            sizes.full_professors,
            15,
            20,
            true,
        ));
        self.faculty_of(&kind(
            Class::AssociateProfessor,
            sizes.associate_professors,
            10,
            18,
            true,
        ));
        self.faculty_of(&kind(
            Class::AssistantProfessor,
            sizes.assistant_professors,
            5,
            10,
            true,
        ));
        self.faculty_of(&kind(Class::Lecturer, sizes.lecturers, 0, 5, false));
    }

    fn faculty_of(&mut self, kind: &FacultyKind) {
        for index in 0..kind.count {
            let person = Member {
                class: kind.class,
                index,
            };
            self.begin(Node::Member(person), kind.class);
            self.sink.literal(Property::Name, Literal::Label);
            self.ledger.courses = self.teach(Class::Course, self.ledger.courses);
            self.ledger.graduate_courses =
                self.teach(Class::GraduateCourse, self.ledger.graduate_courses);
            self.degree(Property::UndergraduateDegreeFrom);
            self.degree(Property::MastersDegreeFrom);
            self.degree(Property::DoctoralDegreeFrom);
            self.sink.link(Property::WorksFor, Node::Department);
            self.contact();
            if kind.researches {
                let area = Literal::ResearchArea(self.random.below(RESEARCH_AREAS));
                self.sink.literal(Property::ResearchInterest, area);
            }
            if kind.class == Class::FullProfessor && index == self.sizes.chair {
                self.sink.link(Property::HeadOf, Node::Department);
            }
            for ordinal in 0..self.random.within(kind.publications) {
                self.ledger.publish(person, ordinal);
            }
        }
    }

    /// Hands out one or two courses after the first `handed_out`; returns the new number. The
    /// original draws from the pool what it then ignores, and so do we.
    fn teach(&mut self, class: Class, handed_out: u32) -> u32 {
        let count = self.random.within(COURSES_TAUGHT);
        for index in handed_out..handed_out + count {
            self.random.below(COURSE_POOL - index);
            self.sink
                .link(Property::TeacherOf, Node::Member(Member { class, index }));
        }
        handed_out + count
    }

    fn undergraduate(&mut self, index: u32) {
        self.student(Class::UndergraduateStudent, index);
        let count = self.random.within(UNDERGRADUATE_COURSES_TAKEN);
        sample(
            self.random,
            count,
            self.ledger.courses,
            &mut self.ledger.drawn,
        );
        self.take(Class::Course);
        if self.random.below(UNDERGRADUATES_PER_ADVISED) == 0 {
            self.advise();
        }
    }

    fn graduate(&mut self, index: u32) {
        self.student(Class::GraduateStudent, index);
        let count = self.random.within(GRADUATE_COURSES_TAKEN);
        sample(
            self.random,
            count,
            self.ledger.graduate_courses,
            &mut self.ledger.drawn,
        );
        self.take(Class::GraduateCourse);
        self.degree(Property::UndergraduateDegreeFrom);
        self.random.below(GRADUATES_PER_ADVISED);
        self.advise();
        let count = self.random.within(GRADUATE_PUBLICATIONS);
        let ledger = &mut *self.ledger;
        sample(
            self.random,
            count,
            ledger.publications.len() as u32,
            &mut ledger.drawn,
        );
        for &publication in &ledger.drawn.ordered {
            ledger.publications[publication as usize].joined.push(index);
        }
    }

    fn student(&mut self, class: Class, index: u32) {
        self.begin(Node::Member(Member { class, index }), class);
        self.sink.literal(Property::Name, Literal::Label);
        self.sink.link(Property::MemberOf, Node::Department);
        self.contact();
    }

    /// The subject takes the courses that were drawn.
    fn take(&mut self, class: Class) {
        for &index in &self.ledger.drawn.ordered {
            self.sink
                .link(Property::TakesCourse, Node::Member(Member { class, index }));
        }
    }

    fn groups(&mut self) {
        let class = Class::ResearchGroup;
        for index in 0..self.sizes.groups {
            self.begin(Node::Member(Member { class, index }), class);
            self.sink
                .link(Property::SubOrganizationOf, Node::Department);
        }
    }

    fn publications(&mut self) {
        let class = Class::GraduateStudent;
        for &Publication {
            author,
            ordinal,
            ref joined,
        } in &self.ledger.publications
        {
            self.sink.subject(Node::Publication { author, ordinal });
            self.sink.class(Class::Publication);
            self.sink.literal(Property::Name, Literal::Label);
            self.sink
                .link(Property::PublicationAuthor, Node::Member(author));
            for &index in joined {
                self.sink.link(
                    Property::PublicationAuthor,
                    Node::Member(Member { class, index }),
                );
            }
        }
    }

    fn courses(&mut self) {
        let kinds = [
            (Class::Course, self.ledger.courses),
            (Class::GraduateCourse, self.ledger.graduate_courses),
        ];
        for (class, count) in kinds {
            for index in 0..count {
                self.begin(Node::Member(Member { class, index }), class);
                self.sink.literal(Property::Name, Literal::Label);
            }
        }
    }

    fn assistants(&mut self) {
        let Sizes {
            graduates,
            teaching_assistants,
            research_assistants,
            ..
        } = self.sizes;
        let ledger = &mut *self.ledger;
        let count = teaching_assistants + research_assistants;
        sample(self.random, count, graduates, &mut ledger.drawn);
        sample(
            self.random,
            teaching_assistants,
            ledger.courses,
            &mut ledger.drawn_courses,
        );
        let student = |index| {
            Node::Member(Member {
                class: Class::GraduateStudent,
                index,
            })
        };
        let (teaching, research) = ledger.drawn.ordered.split_at(teaching_assistants as usize);
        for (&index, &course) in teaching.iter().zip(&ledger.drawn_courses.ordered) {
            self.sink.subject(student(index));
            self.sink.class(Class::TeachingAssistant);
            let course = Node::Member(Member {
                class: Class::Course,
                index: course,
            });
            self.sink.link(Property::TeachingAssistantOf, course);
        }
        for &index in research {
            self.sink.subject(student(index));
            self.sink.class(Class::ResearchAssistant);
        }
    }

    fn begin(&mut self, node: Node, class: Class) {
        self.sink.subject(node);
        self.sink.class(class);
    }

    fn contact(&mut self) {
        self.sink.literal(Property::EmailAddress, Literal::Email);
        self.sink.literal(Property::Telephone, Literal::Telephone);
    }

    fn degree(&mut self, property: Property) {
        let university = self.random.below(DEGREE_UNIVERSITIES);
        self.sink.link(property, Node::University(university));
        self.sink.university(university);
    }

    fn advise(&mut self) {
        let (class, count) = match self.random.below(3) {
            0 => (Class::FullProfessor, self.sizes.full_professors),
            1 => (Class::AssociateProfessor, self.sizes.associate_professors),
            _ => (Class::AssistantProfessor, self.sizes.assistant_professors),
        };
        let index = self.random.below(count);
        self.sink
            .link(Property::Advisor, Node::Member(Member { class, index }));
    }
}

//! Which instances a data set has, without its text.
//!
//! A query mix draws a course or a department uniformly from those that exist. How many exist
//! follows from the draws alone, so the census walks the universities with a sink that ignores
//! every triple and keeps, for each department, where its instances begin in a numbering over
//! the whole run. Finding the `n`-th instance is one binary search.
//!
//! Cost: the draws (about a fifth of writing N-Triples), 16 bytes a department.

use super::department::{Outcome, UniversityWalk};
use super::names::{Class, Literal, Node, Property, Sink};
use super::{DepartmentIndex, Error, Parameters, Random, UniversityIndex};

/// Swallows triples.
pub(super) struct Ignore;

impl Sink for Ignore {
    fn subject(&mut self, _: Node) {}
    fn class(&mut self, _: Class) {}
    fn literal(&mut self, _: Property, _: Literal) {}
    fn link(&mut self, _: Property, _: Node) {}
    fn university(&mut self, _: u32) {}
}

/// The instances of a run that query mixes draw from.
#[derive(Clone, Debug)]
pub struct Census {
    universities: Vec<UniversityIndex>,
    departments: Vec<Entry>,
    graduate_courses: u32,
    assistant_professors: u32,
}

/// A department and how many instances come before its own.
#[derive(Clone, Copy, Debug)]
struct Entry {
    university: UniversityIndex,
    department: DepartmentIndex,
    graduate_courses_before: u32,
    assistant_professors_before: u32,
}

impl Census {
    /// Takes the census of a run.
    ///
    /// # Errors
    /// As for [`Lubm::new`](super::Lubm::new).
    pub fn take(parameters: &Parameters) -> Result<Self, Error> {
        parameters.validate()?;
        let mut census = Self {
            universities: parameters.indices().collect(),
            departments: Vec::new(),
            graduate_courses: 0,
            assistant_professors: 0,
        };
        for university in parameters.indices() {
            let mut walk = UniversityWalk::new(parameters.seed, university);
            while walk.next_department().is_some() {
                census.add(university, walk.walk_next(&mut Ignore));
            }
        }
        Ok(census)
    }

    /// How many instances of a class there are. Counted are `University` (those with
    /// departments), `Department`, `GraduateCourse` and `AssistantProfessor`; else none.
    pub fn count(&self, class: Class) -> Option<u32> {
        match class {
            Class::University => Some(self.universities.len() as u32),
            Class::Department => Some(self.departments.len() as u32),
            Class::GraduateCourse => Some(self.graduate_courses),
            Class::AssistantProfessor => Some(self.assistant_professors),
            _ => None,
        }
    }

    /// The IRI of one of the counted instances of a class, drawn uniformly; none where there is
    /// none, or where the class is not counted.
    pub fn draw(&self, class: Class, random: &mut Random) -> Option<String> {
        let number = random.below(self.count(class).filter(|&count| count > 0)?);
        self.iri(class, number)
    }

    /// The IRI of a class's instance of this number, from 0 to [`Self::count`]; none beyond.
    pub fn iri(&self, class: Class, number: u32) -> Option<String> {
        if number >= self.count(class)? {
            return None;
        }
        Some(match class {
            Class::University => {
                let university = self.universities[number as usize].0;
                format!("http://www.University{university}.edu")
            }
            Class::Department => self.departments[number as usize].iri(),
            Class::GraduateCourse => {
                self.member(class, number, |entry| entry.graduate_courses_before)
            }
            _ => self.member(class, number, |entry| entry.assistant_professors_before),
        })
    }

    fn member(&self, class: Class, number: u32, before: impl Fn(&Entry) -> u32) -> String {
        let after = self
            .departments
            .partition_point(|entry| before(entry) <= number);
        let entry = &self.departments[after - 1];
        format!("{}/{}{}", entry.iri(), class.name(), number - before(entry))
    }

    fn add(&mut self, university: UniversityIndex, outcome: Outcome) {
        self.departments.push(Entry {
            university,
            department: outcome.department,
            graduate_courses_before: self.graduate_courses,
            assistant_professors_before: self.assistant_professors,
        });
        self.graduate_courses += outcome.graduate_courses;
        self.assistant_professors += outcome.sizes.assistant_professors;
    }
}

impl Entry {
    fn iri(&self) -> String {
        format!(
            "http://www.Department{}.University{}.edu",
            self.department.0, self.university.0
        )
    }
}

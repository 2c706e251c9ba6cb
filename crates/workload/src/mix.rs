//! The mixed workload of the papers: light queries A1 to A6 with weights, heavy q1, q2, q3, q7.
//!
//! A template is a query text with one `%Class` in it, which stands for an instance of that
//! class drawn uniformly from the data set ([`Instances`]: those that the generator would make,
//! or those that a store names). Weights are relative. A mix with the same instances and seed
//! gives the same sequence of queries, so two engines, or two versions of one, are asked the same.
//!
//! Cost: a draw is two random numbers, and the copy of a text of some 250 bytes into a buffer that
//! is kept. Whoever measures an engine that answers within microseconds has no more to spend.
//!
//! The papers give no weights of heavy against light queries in the hybrid mix beyond the heavy
//! ones being equal among themselves; in [`Kind::Hybrid`] each heavy query has weight 1 beside the
//! light ones' 86.

use crate::lubm::{Census, Class, Random};
use crate::queries;

/// A query of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// `a1` to `a6`, or the name of a heavy query.
    pub name: &'static str,
    /// How often it is drawn, relative to the others.
    pub weight: u32,
    /// The SPARQL text; with `%Class` for [`Self::parameter`].
    pub text: &'static str,
    /// Whose instance is drawn; none for a heavy query.
    pub parameter: Option<Class>,
}

macro_rules! light {
    ($name:literal, $weight:literal, $class:ident) => {
        Template {
            name: $name,
            weight: $weight,
            text: include_str!(concat!("../queries/", $name, ".rq")),
            parameter: Some(Class::$class),
        }
    };
}

/// A1 to A6.
pub const LIGHT: [Template; 6] = [
    light!("a1", 25, GraduateCourse),
    light!("a2", 25, AssistantProfessor),
    light!("a3", 3, Department),
    light!("a4", 6, Department),
    light!("a5", 25, Department),
    light!("a6", 2, University),
];

/// q1, q2, q3 and q7.
pub const HEAVY: [Template; 4] = [heavy(0), heavy(1), heavy(2), heavy(6)];

const fn heavy(index: usize) -> Template {
    let query = queries::QUERIES[index];
    Template {
        name: query.name,
        weight: 1,
        text: query.text,
        parameter: None,
    }
}

/// Which templates are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A1 to A6.
    Light,
    /// q1, q2, q3, q7.
    Heavy,
    /// The one of [`HEAVY`] at this place.
    One(usize),
    /// Both.
    Hybrid,
}

impl Kind {
    /// The templates that are drawn from.
    pub fn templates(self) -> Vec<Template> {
        match self {
            Kind::Light => LIGHT.to_vec(),
            Kind::Heavy => HEAVY.to_vec(),
            Kind::One(place) => HEAVY[place..].iter().take(1).copied().collect(),
            Kind::Hybrid => [&LIGHT[..], &HEAVY[..]].concat(),
        }
    }

    /// The classes whose instances these templates need, each once.
    pub fn classes(self) -> Vec<Class> {
        let mut classes = Vec::new();
        for template in self.templates() {
            if let Some(class) = template.parameter.filter(|class| !classes.contains(class)) {
                classes.push(class);
            }
        }
        classes
    }
}

/// What there is to draw from.
pub trait Instances {
    /// How many instances of a class there are.
    fn count(&self, class: Class) -> u32;

    /// Appends the IRI of the instance of this number, which is below the count.
    fn append_iri(&self, class: Class, number: u32, text: &mut String);
}

impl Instances for Census {
    fn count(&self, class: Class) -> u32 {
        self.count(class).unwrap_or(0)
    }

    fn append_iri(&self, class: Class, number: u32, text: &mut String) {
        let iri = self.iri(class, number);
        text.push_str(&iri.expect("the number is below the count"));
    }
}

/// Instances that a store named: the lines of [`listing`]'s answers.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    classes: Vec<(Class, List)>,
}

/// IRIs, one behind the other.
#[derive(Clone, Debug, Default)]
struct List {
    text: String,
    ends: Vec<usize>,
}

impl Listed {
    /// Adds a class with the IRIs of its instances, in any order: they are sorted, so that a seed
    /// draws the same from every store of the same data.
    pub fn add(&mut self, class: Class, mut iris: Vec<String>) {
        iris.sort_unstable();
        iris.dedup();
        let mut list = List::default();
        for iri in &iris {
            list.text.push_str(iri);
            list.ends.push(list.text.len());
        }
        self.classes.push((class, list));
    }

    fn list(&self, class: Class) -> Option<&List> {
        let mut classes = self.classes.iter();
        classes
            .find(|(known, _)| *known == class)
            .map(|(_, list)| list)
    }
}

impl Instances for Listed {
    fn count(&self, class: Class) -> u32 {
        let count = self.list(class).map_or(0, |list| list.ends.len());
        // What is beyond the random numbers' range is never drawn.
        u32::try_from(count).map_or(i32::MAX as u32, |count| count.min(i32::MAX as u32))
    }

    fn append_iri(&self, class: Class, number: u32, text: &mut String) {
        let list = self.list(class).expect("the class has instances");
        let at = number as usize;
        let begin = at.checked_sub(1).map_or(0, |before| list.ends[before]);
        text.push_str(&list.text[begin..list.ends[at]]);
    }
}

/// The query for the instances of a class that are drawn from: a `SELECT` of one variable. Of the
/// universities only those that have departments: the others are names in degrees.
pub fn listing(class: Class) -> String {
    let pattern = match class {
        Class::University => "?d ub:subOrganizationOf ?x . ?d a ub:Department".to_owned(),
        other => format!("?x a ub:{}", other.name()),
    };
    format!(
        "PREFIX ub: <{}#>\nSELECT DISTINCT ?x WHERE {{ {pattern} }}",
        crate::lubm::ONTOLOGY
    )
}

/// Which query was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drawn {
    /// The place of its template in the mix's templates.
    pub template: usize,
    /// The number of the instance; 0 for a heavy query.
    pub instance: u32,
}

/// An endless sequence of queries.
#[derive(Clone, Debug)]
pub struct Mix<'a, I> {
    instances: &'a I,
    templates: Vec<Split>,
    weights: u32,
    random: Random,
}

/// A template cut at its parameter.
#[derive(Clone, Copy, Debug)]
struct Split {
    weight: u32,
    before: &'static str,
    parameter: Option<(Class, u32)>,
    after: &'static str,
}

impl Split {
    fn of(template: &Template, instances: &impl Instances) -> Option<Self> {
        let (parameter, before, after) = match template.parameter {
            None => (None, template.text, ""),
            Some(class) => {
                let count = Some(instances.count(class)).filter(|&count| count > 0)?;
                let (before, rest) = template.text.split_once('%')?;
                (
                    Some((class, count)),
                    before,
                    rest.strip_prefix(class.name())?,
                )
            }
        };
        Some(Self {
            weight: template.weight,
            before,
            parameter,
            after,
        })
    }
}

impl<'a, I: Instances> Mix<'a, I> {
    /// A mix over the data set with these instances; none where one of the classes has none.
    pub fn new(kind: Kind, instances: &'a I, seed: i64) -> Option<Self> {
        let templates = kind.templates();
        let split = templates
            .iter()
            .map(|template| Split::of(template, instances));
        Some(Self {
            instances,
            templates: split.collect::<Option<_>>()?,
            weights: templates.iter().map(|template| template.weight).sum(),
            random: Random::new(seed),
        })
    }

    /// The next query; its text replaces what is in `text`.
    pub fn draw(&mut self, text: &mut String) -> Drawn {
        let mut rest = self.random.below(self.weights);
        let mut chosen = 0;
        while rest >= self.templates[chosen].weight {
            rest -= self.templates[chosen].weight;
            chosen += 1;
        }
        let template = &self.templates[chosen];
        text.clear();
        text.push_str(template.before);
        let mut instance = 0;
        if let Some((class, count)) = template.parameter {
            instance = self.random.below(count);
            text.push('<');
            self.instances.append_iri(class, instance, text);
            text.push('>');
        }
        text.push_str(template.after);
        Drawn {
            template: chosen,
            instance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lubm::Parameters;

    #[test]
    fn each_template_names_its_parameter_once() {
        assert_eq!(
            LIGHT.iter().map(|template| template.weight).sum::<u32>(),
            86
        );
        for template in LIGHT {
            let class = template.parameter.unwrap();
            let marks: Vec<_> = template.text.matches('%').collect();
            assert_eq!(marks.len(), 1, "{}", template.name);
            assert!(
                template.text.contains(&format!("%{} ", class.name())),
                "{}",
                template.name
            );
        }
        assert_eq!(
            HEAVY.map(|template| template.name),
            ["q1", "q2", "q3", "q7"]
        );
    }

    #[test]
    fn draws_follow_the_weights_and_the_seed() {
        let census = Census::take(&Parameters::standard(2)).unwrap();
        let mut mix = Mix::new(Kind::Light, &census, 1).unwrap();
        let mut again = mix.clone();
        let mut other = Mix::new(Kind::Light, &census, 2).unwrap();
        let mut counts = [0_u32; 6];
        let mut differences = 0;
        let [mut text, mut text_again, mut text_other] = [const { String::new() }; 3];
        for _ in 0..8600 {
            let drawn = mix.draw(&mut text);
            assert_eq!(drawn, again.draw(&mut text_again));
            assert_eq!(text, text_again);
            let differs = drawn != other.draw(&mut text_other);
            assert_eq!(text != text_other, differs);
            differences += u32::from(differs);
            assert!(!text.contains('%'));
            counts[drawn.template] += 1;
        }
        assert!(differences > 8000);
        for (template, count) in LIGHT.iter().zip(counts) {
            let expected = f64::from(template.weight * 100);
            let deviation = (f64::from(count) - expected).abs();
            assert!(
                deviation < 5.0 * expected.sqrt(),
                "{} {count}",
                template.name
            );
        }
    }

    #[test]
    fn heavy_queries_have_no_parameter() {
        let census = Census::take(&Parameters::standard(0)).unwrap();
        assert!(Mix::new(Kind::Light, &census, 0).is_none());
        assert!(Mix::new(Kind::Hybrid, &census, 0).is_none());
        let mut mix = Mix::new(Kind::Heavy, &census, 0).unwrap();
        let mut text = String::new();
        for _ in 0..100 {
            let drawn = mix.draw(&mut text);
            assert_eq!(text, HEAVY[drawn.template].text);
        }
    }

    #[test]
    fn what_a_store_lists_is_drawn_alike_in_any_order() {
        let iris = ["http://b/", "http://a/", "http://a/", "http://c/2"];
        let listed = |order: &[usize]| {
            let mut listed = Listed::default();
            for class in Kind::Light.classes() {
                let of_class = order.iter().map(|&at| iris[at].to_owned());
                listed.add(class, of_class.collect());
            }
            listed
        };
        let (one, other) = (listed(&[0, 1, 2, 3]), listed(&[3, 2, 0, 1]));
        assert_eq!(one.count(Class::Department), 3);
        assert_eq!(one.count(Class::Course), 0);
        let mut mixes = [&one, &other].map(|listed| Mix::new(Kind::Light, listed, 7).unwrap());
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            let mut texts = [String::new(), String::new()];
            let drawn = [0, 1].map(|at| mixes[at].draw(&mut texts[at]));
            assert_eq!((drawn[0], &texts[0]), (drawn[1], &texts[1]));
            let iri = ["http://a/", "http://b/", "http://c/2"][drawn[0].instance as usize];
            assert!(texts[0].contains(&format!("<{iri}>")), "{}", texts[0]);
            seen.insert((drawn[0].template, drawn[0].instance));
        }
        assert_eq!(seen.len(), 18, "every template with every instance");
    }

    #[test]
    fn a_listing_asks_for_the_class() {
        let courses = listing(Class::GraduateCourse);
        assert!(courses.ends_with("{ ?x a ub:GraduateCourse }"));
        // The same names as in the templates.
        let prefix = |text: &str| {
            text.split_once("ub:")?
                .1
                .trim()
                .split_once('>')
                .map(|p| p.0.to_owned())
        };
        assert_eq!(prefix(&courses), prefix(LIGHT[0].text));
        assert!(listing(Class::University).contains("?d ub:subOrganizationOf ?x"));
    }
}

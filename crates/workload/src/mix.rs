//! The mixed workload of the papers: light queries A1 to A6 with weights, heavy q1, q2, q3, q7.
//!
//! A template is a query text with one `%Class` in it, which stands for an instance of that
//! class drawn uniformly from the data set ([`Census`]). Weights are relative. A mix with the
//! same census and seed gives the same sequence of queries, so two engines, or two versions of
//! one, are asked the same.
//!
//! The papers give no weights of heavy against light queries in the hybrid mix beyond the heavy
//! ones being equal among themselves; here each heavy query has weight 1 beside the light
//! ones' 86.

use std::borrow::Cow;

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
    /// Both.
    Hybrid,
}

/// A query to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Which template it comes from.
    pub template: Template,
    /// The SPARQL text, with the instance in place.
    pub text: Cow<'static, str>,
}

/// An endless sequence of queries.
#[derive(Clone, Debug)]
pub struct Mix<'a> {
    census: &'a Census,
    templates: Vec<Template>,
    weights: u32,
    random: Random,
}

impl<'a> Mix<'a> {
    /// A mix over the data set of this census; none where the data set lacks the instances
    /// (it has no university).
    pub fn new(kind: Kind, census: &'a Census, seed: i64) -> Option<Self> {
        let templates: Vec<Template> = match kind {
            Kind::Light => LIGHT.to_vec(),
            Kind::Heavy => HEAVY.to_vec(),
            Kind::Hybrid => [&LIGHT[..], &HEAVY[..]].concat(),
        };
        let drawable = |class| census.count(class).is_some_and(|count| count > 0);
        let weights = templates.iter().map(|template| template.weight).sum();
        let complete = templates
            .iter()
            .filter_map(|template| template.parameter)
            .all(drawable);
        complete.then(|| Self {
            census,
            templates,
            weights,
            random: Random::new(seed),
        })
    }

    /// The next query.
    pub fn draw(&mut self) -> Drawn {
        let mut rest = self.random.below(self.weights);
        let mut chosen = 0;
        while rest >= self.templates[chosen].weight {
            rest -= self.templates[chosen].weight;
            chosen += 1;
        }
        let template = self.templates[chosen];
        let Some(class) = template.parameter else {
            return Drawn {
                template,
                text: Cow::Borrowed(template.text),
            };
        };
        let iri = self.census.draw(class, &mut self.random);
        let iri = iri.expect("`new` looked that every template's class has instances");
        let text = template
            .text
            .replace(&format!("%{}", class.name()), &format!("<{iri}>"));
        Drawn {
            template,
            text: Cow::Owned(text),
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
        for _ in 0..8600 {
            let drawn = mix.draw();
            assert_eq!(drawn, again.draw());
            differences += u32::from(drawn != other.draw());
            assert!(!drawn.text.contains('%'));
            counts[LIGHT
                .iter()
                .position(|light| *light == drawn.template)
                .unwrap()] += 1;
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
        assert!((0..100).all(|_| mix.draw().text.starts_with('#')));
    }
}

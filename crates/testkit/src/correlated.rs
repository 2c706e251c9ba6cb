//! A graph whose parts depend on each other, and queries of it: what a planner is misled by that
//! multiplies what it knows of each part alone.
//!
//! | what depends | on what | so that |
//! |---|---|---|
//! | a person's country, and language nearly | the city | two constants say no more than one |
//! | whom one follows | the city; few are followed by most | neighbours are alike |
//! | how much one follows and posts | how much one is followed | a sum of products is no product of averages |
//! | who audits, who reports | who is mentored | two joins of the same sizes, one huge and one empty |
//! | a post's topic | its creator's country | far ends of a chain agree |
//!
//! All persons have the same type and nearly the same predicates, so signatures tell little of it. The
//! sizes of predicates that play against each other are the same (`audits` and `reports`). The same size
//! and seed give the same graph.

use crate::random::Random;
use std::fmt::Write;

/// The namespace of the graph.
pub const CORRELATED: &str = "http://correlated.example/";

const CITIES: usize = 300;
const CITIES_A_COUNTRY: usize = 10;
const COUNTRIES: usize = CITIES / CITIES_A_COUNTRY;
const TOPICS_A_COUNTRY: usize = 8;
/// Of a hundred edges so many stay where they come from.
const NEAR: usize = 90;

/// The queries, each with its name; IRIs are of [`CORRELATED`], as the empty prefix.
pub const QUERIES: [(&str, &str); 16] = [
    (
        "attributes",
        "?x :city :city0 . ?x :country :country0 . ?x :language :language0 . ?x :follows ?y . ?y :likes ?p . ?p :about :topic3",
    ),
    (
        "two-hops",
        "?x :city :city0 . ?x :country :country0 . ?x :language :language0 . ?x :follows ?y . ?y :follows ?z . ?z :badge :badge3 . ?z :likes ?p . ?p :about :topic3",
    ),
    (
        "compatriots",
        "?x :country :country1 . ?x :follows ?y . ?y :country :country1 . ?y :likes ?p . ?p :creator ?z . ?z :badge :badge7",
    ),
    (
        "far-ends",
        "?x :country :country1 . ?x :likes ?p . ?p :creator ?y . ?y :country :country2 . ?p :about ?t",
    ),
    (
        "agreeing-ends",
        "?x :country :country1 . ?x :follows ?y . ?y :country :country1 . ?y :creates ?p . ?p :about :topic9",
    ),
    (
        "empty",
        "?a :follows ?b . ?b :mentors ?c . ?c :reports ?d . ?d :follows ?e",
    ),
    (
        "empty-late",
        "?a :mentors ?b . ?b :audits ?c . ?c :likes ?p . ?p :creator ?d . ?d :mentors ?e . ?e :reports ?f",
    ),
    (
        "huge-or-empty",
        "?a :audits ?b . ?c :mentors ?a . ?c :follows ?d . ?d :mentors ?e . ?e :reports ?f",
    ),
    (
        "both-audit",
        "?a :mentors ?b . ?b :audits ?c . ?c :language :language3 . ?a :language :language4",
    ),
    (
        "popular",
        "?a :follows ?b . ?b :creates ?p . ?p :about ?t . ?b :city :city1",
    ),
    (
        "fans-of-fans",
        "?a :follows ?b . ?b :follows ?c . ?c :creates ?p . ?p :about :topic2 . ?a :badge :badge5",
    ),
    (
        "mutual",
        "?a :follows ?b . ?b :likes ?p . ?p :creator ?a . ?a :country :country0",
    ),
    (
        "triangle",
        "?a :follows ?b . ?b :follows ?c . ?c :follows ?a . ?a :language :language1",
    ),
    (
        "types",
        "?a a :Person . ?b a :Person . ?a :audits ?b . ?b :mentors ?c . ?c :reports ?d . ?c a :Person",
    ),
    (
        "independent",
        "?a :badge :badge1 . ?a :follows ?b . ?b :badge :badge2 . ?b :likes ?p . ?p :about :topic4",
    ),
    (
        "independent-wide",
        "?a :badge :badge1 . ?a :likes ?p . ?p :about ?t . ?b :likes ?p . ?b :badge ?c . ?b :audits ?d",
    ),
];

/// Predicates with the kinds of their ends, by which random queries are made.
const EDGES: [(&str, char, char); 9] = [
    ("follows", 'p', 'p'),
    ("follows", 'p', 'p'),
    ("mentors", 'p', 'p'),
    ("reports", 'p', 'p'),
    ("audits", 'p', 'p'),
    ("likes", 'p', 'o'),
    ("likes", 'p', 'o'),
    ("creates", 'p', 'o'),
    ("creator", 'o', 'p'),
];

/// A random query of two to five edges between variables, persons and posts, and of attributes that they
/// have: those of one place, as people ask.
pub fn random_query(random: &mut Random) -> String {
    let mut kinds = vec!['p'];
    let mut patterns = Vec::new();
    for _ in 0..random.between(2, 5) {
        let from = random.below(kinds.len());
        let (predicate, out, into) = *random.pick(&EDGES);
        let is_out = out == kinds[from] && (into != kinds[from] || random.chance(50));
        if !is_out && into != kinds[from] {
            continue;
        }
        let kind = if is_out { into } else { out };
        let known = (0..from).rev().find(|&other| kinds[other] == kind);
        let to = known.filter(|_| random.chance(15)).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        let (subject, object) = if is_out { (from, to) } else { (to, from) };
        patterns.push(format!("?v{subject} :{predicate} ?v{object}"));
    }
    let city = random.below(40);
    for (variable, kind) in kinds.iter().enumerate() {
        if random.chance(45) {
            attributes(*kind, variable, city, random, &mut patterns);
        }
    }
    random.shuffle(&mut patterns);
    patterns.join(" . ")
}

/// Attributes of a variable that fit together.
fn attributes(
    kind: char,
    variable: usize,
    city: usize,
    random: &mut Random,
    patterns: &mut Vec<String>,
) {
    let country = city % COUNTRIES;
    if kind == 'o' {
        let topic = country * TOPICS_A_COUNTRY;
        return patterns.push(format!("?v{variable} :about :topic{topic}"));
    }
    let all = [
        ("city", city),
        ("country", country),
        ("language", country / 2),
        ("badge", random.below(50)),
    ];
    let first = random.below(all.len());
    for (attribute, value) in &all[first..random.between(first + 1, all.len())] {
        patterns.push(format!("?v{variable} :{attribute} :{attribute}{value}"));
    }
}

/// A query's whole text.
pub fn text(pattern: &str) -> String {
    format!("PREFIX : <{CORRELATED}> SELECT * {{ {pattern} }}")
}

/// The graph with so many persons, about 25 triples each, as N-Triples.
pub fn graph(persons: usize, seed: u64) -> String {
    let mut maker = Maker {
        random: Random::new(seed),
        text: String::new(),
        by_city: vec![Vec::new(); CITIES],
        city_of: Vec::new(),
    };
    for person in 0..persons {
        maker.person(person);
    }
    for person in 0..persons {
        maker.ties(person, persons);
    }
    let posts = 2 * persons;
    let mut topics = Vec::with_capacity(posts);
    for post in 0..posts {
        topics.push(maker.post(post, persons));
    }
    for person in 0..persons {
        maker.likes(person, posts);
    }
    maker.text
}

struct Maker {
    random: Random,
    text: String,
    by_city: Vec<Vec<usize>>,
    city_of: Vec<usize>,
}

impl Maker {
    fn edge(&mut self, from: (&str, usize), predicate: &str, to: (&str, usize)) {
        let _ = writeln!(
            self.text,
            "<{CORRELATED}{}{}> <{CORRELATED}{predicate}> <{CORRELATED}{}{}> .",
            from.0, from.1, to.0, to.1
        );
    }

    /// A number below `bound`, of which small ones come often: the cube of a uniform one.
    fn few(&mut self, bound: usize) -> usize {
        let uniform = (self.random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        ((uniform * uniform * uniform * bound as f64) as usize).min(bound - 1)
    }

    fn person(&mut self, person: usize) {
        let subject = ("person", person);
        let _ = writeln!(
            self.text,
            "<{CORRELATED}person{person}> \
             <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{CORRELATED}Person> ."
        );
        let city = self.few(CITIES);
        let country = city % COUNTRIES;
        self.city_of.push(city);
        self.by_city[city].push(person);
        self.edge(subject, "city", ("city", city));
        self.edge(subject, "country", ("country", country));
        let language = if self.random.chance(95) {
            country / 2
        } else {
            self.random.below(COUNTRIES / 2)
        };
        self.edge(subject, "language", ("language", language));
        let badge = self.random.below(50);
        self.edge(subject, "badge", ("badge", badge));
    }

    /// Persons of small numbers follow and are followed most; one half mentors the other.
    fn ties(&mut self, person: usize, persons: usize) {
        let subject = ("person", person);
        let is_popular = person < persons / 50;
        for _ in 0..if is_popular { 60 } else { 6 } {
            let mut whom = self.few(persons);
            if self.random.chance(NEAR) {
                let neighbours = self.by_city[self.city_of[person]].len();
                let neighbour = self.few(neighbours);
                whom = self.by_city[self.city_of[person]][neighbour];
            }
            self.edge(subject, "follows", ("person", whom));
        }
        let half = persons / 2;
        if person >= half {
            // Those who are mentored are of the first half, and audit; who reports is of the second.
            let whom = self.few(half);
            self.edge(subject, "mentors", ("person", whom));
            let whom = self.random.below(persons);
            self.edge(subject, "reports", ("person", whom));
        } else {
            let whom = self.random.below(persons);
            self.edge(subject, "audits", ("person", whom));
        }
    }

    fn post(&mut self, post: usize, persons: usize) -> usize {
        let creator = self.few(persons);
        let country = self.city_of[creator] % COUNTRIES;
        let topic = if self.random.chance(NEAR) {
            country * TOPICS_A_COUNTRY + self.few(TOPICS_A_COUNTRY)
        } else {
            self.random.below(COUNTRIES * TOPICS_A_COUNTRY)
        };
        self.edge(("post", post), "creator", ("person", creator));
        self.edge(("person", creator), "creates", ("post", post));
        self.edge(("post", post), "about", ("topic", topic));
        topic
    }

    fn likes(&mut self, person: usize, posts: usize) {
        for _ in 0..6 {
            let post = self.few(posts);
            self.edge(("person", person), "likes", ("post", post));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_graph() {
        assert_eq!(graph(500, 3), graph(500, 3));
        assert_ne!(graph(500, 3), graph(500, 4));
    }

    #[test]
    fn random_queries_have_patterns() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            assert!(random_query(&mut random).contains("?v0"));
        }
    }

    #[test]
    fn who_is_mentored_audits_and_never_reports() {
        let text = graph(500, 1);
        let ends = |predicate: &str, at: usize| -> std::collections::BTreeSet<String> {
            let lines = text
                .lines()
                .filter(|line| line.contains(&format!("/{predicate}>")));
            lines
                .filter_map(|line| line.split(' ').nth(at).map(str::to_owned))
                .collect()
        };
        let mentored = ends("mentors", 2);
        assert!(mentored.is_disjoint(&ends("reports", 0)));
        assert!(mentored.is_subset(&ends("audits", 0)));
        assert_eq!(ends("audits", 0).len(), ends("reports", 0).len());
    }
}

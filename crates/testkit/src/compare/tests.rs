//! Answers that are right, and answers that are wrong in one way each.

use super::*;
use crate::{graph, naive};
use oxrdf::{BlankNode, Literal, Term};

const GRAPH: &str = r#"PREFIX : <http://example.org/>
    :a :p 1, 2, 3, "x", "y" . :b :p 1 . _:n :q _:m . _:m :q _:o ."#;

fn expected(query: &str) -> Expected {
    let query = format!("PREFIX : <http://example.org/> {query}");
    naive::answer(&graph::parse(GRAPH).unwrap(), &query).unwrap()
}

fn rows(cells: &[&[Term]]) -> Answer {
    let variables = ["x", "y"][..cells.first().map_or(1, |row| row.len())].iter();
    Answer::Rows {
        variables: variables.map(|&name| name.to_owned()).collect(),
        rows: cells
            .iter()
            .map(|row| row.iter().cloned().map(Some).collect())
            .collect(),
    }
}

fn number(value: i64) -> Term {
    Literal::from(value).into()
}

fn blank(label: &str) -> Term {
    BlankNode::new_unchecked(label).into()
}

fn verdict(query: &str, answer: &Answer) -> Result<(), String> {
    check(&expected(query), answer, &Blanks::Search)
}

#[test]
fn bags_have_no_order_but_counts() {
    let query = "SELECT ?x { ?s :p ?x FILTER(?x < 3) }";
    let [one, two] = [number(1), number(2)];
    let answer = |terms: &[&Term]| {
        rows(
            &terms
                .iter()
                .map(|&term| std::slice::from_ref(term))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(verdict(query, &answer(&[&two, &one, &one])), Ok(()));
    assert!(verdict(query, &answer(&[&two, &one])).is_err());
    assert!(
        verdict(query, &answer(&[&two, &two, &one]))
            .unwrap_err()
            .contains("missing")
    );
    assert!(verdict(query, &answer(&[&two, &one, &one, &one])).is_err());
    let reduced = "SELECT REDUCED ?x { ?s :p ?x FILTER(?x < 3) }";
    assert_eq!(verdict(reduced, &answer(&[&two, &one])), Ok(()));
    assert!(verdict(reduced, &answer(&[&two])).is_err());
    let slice = "SELECT ?x { ?s :p ?x FILTER(?x < 3) } LIMIT 2";
    assert_eq!(verdict(slice, &answer(&[&two, &one])), Ok(()));
    assert!(verdict(slice, &answer(&[&two, &two])).is_err());
    assert!(verdict(slice, &answer(&[&one])).is_err());
}

#[test]
fn a_promised_order_is_checked_through_groups_of_ties() {
    let query = "SELECT ?x { ?s :p ?x FILTER(isNumeric(?x)) } ORDER BY DESC(?x)";
    let answer = |values: &[i64]| {
        let terms: Vec<[Term; 1]> = values.iter().map(|&value| [number(value)]).collect();
        rows(&terms.iter().map(|term| &term[..]).collect::<Vec<_>>())
    };
    assert_eq!(verdict(query, &answer(&[3, 2, 1, 1])), Ok(()));
    assert!(
        verdict(query, &answer(&[3, 1, 2, 1]))
            .unwrap_err()
            .contains("out of order")
    );
    let top = format!("{query} OFFSET 1 LIMIT 2");
    assert_eq!(verdict(&top, &answer(&[2, 1])), Ok(()));
    assert!(verdict(&top, &answer(&[3, 2])).is_err());
}

#[test]
fn mixed_classes_ascend_each_for_itself() {
    let query = "SELECT ?x { :a :p ?x } ORDER BY ?x";
    let [x, y] = ["x", "y"].map(|text| Term::from(Literal::from(text)));
    let [one, two, three] = [1, 2, 3].map(number);
    let answer = |terms: [&Term; 5]| rows(&terms.map(std::slice::from_ref));
    assert_eq!(
        verdict(query, &answer([&x, &one, &y, &two, &three])),
        Ok(())
    );
    assert_eq!(
        verdict(query, &answer([&one, &two, &three, &x, &y])),
        Ok(())
    );
    assert!(verdict(query, &answer([&y, &one, &x, &two, &three])).is_err());
    assert!(verdict(query, &answer([&x, &one, &y, &three, &two])).is_err());
}

#[test]
fn blank_nodes_are_renamed_consistently() {
    let query = "SELECT ?x ?y { ?x :q ?y }";
    let chain = rows(&[&[blank("b1"), blank("b2")], &[blank("b2"), blank("b3")]]);
    assert_eq!(verdict(query, &chain), Ok(()));
    let swapped = rows(&[&[blank("m"), blank("o")], &[blank("o"), blank("n")]]);
    assert_eq!(verdict(query, &swapped), Ok(()));
    let apart = rows(&[&[blank("b1"), blank("b2")], &[blank("b4"), blank("b3")]]);
    assert!(verdict(query, &apart).is_err());
    let star = rows(&[&[blank("b1"), blank("b2")], &[blank("b1"), blank("b3")]]);
    assert!(verdict(query, &star).is_err());
}

#[test]
fn markers_give_the_renaming() {
    let row = |label: &str, name: &str| vec![Some(blank(label)), Some(Literal::from(name).into())];
    let names = Blanks::of_markers(&[row("x1", "n"), row("x2", "m")]).unwrap();
    assert_eq!(
        names,
        Blanks::Mapped(
            [("x1", "n"), ("x2", "m")]
                .map(|(a, b)| (a.into(), b.into()))
                .into()
        )
    );
    assert!(Blanks::of_markers(&[row("x1", "n"), row("x2", "n")]).is_err());
    assert!(Blanks::of_markers(&[row("x1", "n"), row("x1", "m")]).is_err());
}

#[test]
fn booleans_and_heads() {
    assert_eq!(verdict("ASK { :a :p 1 }", &Answer::Boolean(true)), Ok(()));
    assert!(verdict("ASK { :a :p 1 }", &Answer::Boolean(false)).is_err());
    let other = Answer::Rows {
        variables: vec!["z".to_owned()],
        rows: Vec::new(),
    };
    assert!(
        verdict("SELECT ?x { ?x :none ?x }", &other)
            .unwrap_err()
            .contains("variables")
    );
}

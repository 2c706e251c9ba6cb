//! Updates, carried out by definition (SPARQL 1.1 Update section 4): an operation is a function from
//! datasets to datasets, and a request their composition in the order of the text.
//!
//! `DELETE`/`INSERT` is the definition of section 4.2.4 as it stands: the solutions over the dataset as
//! it is, all that the templates make of them, and then the dataset without the one and with the other.
//! A graph is there if it holds something. Where the specification leaves to a store whether something
//! fails or what is left (a graph that is not there is cleared or read, one that is there is created),
//! the outcome is [`NaiveError::Undetermined`].

use super::basic::triple_term;
use super::evaluator::Evaluator;
use super::notes::Notes;
use super::{Beside, NaiveError, WORK_MAX};
use oxrdf::{
    BlankNode, Dataset, GraphName, GraphNameRef, NamedNode, NamedOrBlankNode, Quad, Term, Triple,
};
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{
    self, GraphNamePattern, NamedNodePattern, QuadPattern, TermPattern, TriplePattern,
};
use spargebra::{GraphUpdateOperation as Operation, SparqlParser};

/// New blank nodes above which a request is too large: comparing what is left would be what costs.
pub const BLANKS_MAX: usize = 200;

/// Why a request on graphs that are (not) there has no one outcome.
const OPEN: NaiveError = NaiveError::Undetermined("a graph that is not there, or that is");

/// What a request makes of a dataset. Relative IRIs are resolved against `base`.
pub fn updated(dataset: &Dataset, update: &str, base: Option<&str>) -> Result<Dataset, NaiveError> {
    updated_within(dataset, update, base, WORK_MAX)
}

/// The same with another bound on the work of each operation.
pub fn updated_within(
    dataset: &Dataset,
    update: &str,
    base: Option<&str>,
    work_max: u64,
) -> Result<Dataset, NaiveError> {
    let parse = |error: &dyn std::fmt::Display| NaiveError::Parse(error.to_string());
    let mut parser = SparqlParser::new();
    if let Some(base) = base {
        parser = parser.with_base_iri(base).map_err(|error| parse(&error))?;
    }
    let update = parser.parse_update(update).map_err(|error| parse(&error))?;
    let resolve = |text: &str| -> Option<Term> {
        let iri = update.base_iri.as_ref()?.resolve(text).ok()?;
        Some(NamedNode::new_unchecked(iri.into_inner()).into())
    };
    let mut state = State {
        dataset: dataset.clone(),
        blanks: 0,
        work_max,
    };
    for operation in &update.operations {
        state.apply(operation, &resolve)?;
        if state.blanks > BLANKS_MAX {
            return Err(NaiveError::TooLarge);
        }
    }
    Ok(state.dataset)
}

/// The dataset so far.
struct State {
    dataset: Dataset,
    /// Numbers given to rows and data that blank nodes were made for.
    blanks: usize,
    work_max: u64,
}

impl State {
    fn apply(
        &mut self,
        operation: &Operation,
        resolve: &dyn Fn(&str) -> Option<Term>,
    ) -> Result<(), NaiveError> {
        match operation {
            Operation::InsertData { data } => {
                for quad in data {
                    let quad = self.new_blanks(quad);
                    self.dataset.insert(&quad);
                }
                self.blanks += 1;
            }
            Operation::DeleteData { data } => {
                for quad in data {
                    let triple = Triple::new(
                        quad.subject.clone(),
                        quad.predicate.clone(),
                        Term::from(quad.object.clone()),
                    );
                    self.dataset
                        .remove(&triple.in_graph(name(&quad.graph_name)));
                }
            }
            Operation::DeleteInsert {
                delete,
                insert,
                using,
                pattern,
            } => {
                self.refuse_missing_source(operation)?;
                let delete: Vec<QuadPattern> = delete.iter().map(plain).collect();
                let solved = self.solved(&delete, insert, using.as_ref(), pattern, resolve)?;
                for quad in solved.0 {
                    self.dataset.remove(&quad);
                }
                for quad in solved.1 {
                    self.dataset.insert(&quad);
                }
            }
            // There is nothing to load from, so it fails.
            Operation::Load { silent: true, .. } => {}
            Operation::Load { .. } => return Err(NaiveError::Unsupported("LOAD")),
            Operation::Clear { silent, graph } | Operation::Drop { silent, graph } => {
                self.clear(graph, *silent)?;
            }
            Operation::Create { silent, graph } => {
                if !silent && self.holds(&graph.clone().into()) {
                    return Err(OPEN);
                }
            }
        }
        Ok(())
    }

    fn holds(&self, graph: &GraphName) -> bool {
        let graph = GraphNameRef::from(graph);
        self.dataset.quads_for_graph_name(graph).next().is_some()
    }

    fn clear(&mut self, target: &GraphTarget, silent: bool) -> Result<(), NaiveError> {
        if let GraphTarget::NamedNode(graph) = target
            && !silent
            && !self.holds(&graph.clone().into())
        {
            return Err(OPEN);
        }
        let is_meant = |quad: &Quad| match target {
            GraphTarget::NamedNode(graph) => quad.graph_name == GraphName::from(graph.clone()),
            GraphTarget::DefaultGraph => quad.graph_name.is_default_graph(),
            GraphTarget::NamedGraphs => !quad.graph_name.is_default_graph(),
            GraphTarget::AllGraphs => true,
        };
        let quads = self.dataset.iter().map(oxrdf::QuadRef::into_owned);
        self.dataset = quads.filter(|quad| !is_meant(quad)).collect();
        Ok(())
    }

    /// `ADD`, `COPY` and `MOVE`, which the parser writes as insertions of all triples of a graph, from
    /// a graph that is not there.
    fn refuse_missing_source(&self, operation: &Operation) -> Result<(), NaiveError> {
        let Operation::DeleteInsert {
            insert, pattern, ..
        } = operation
        else {
            return Ok(());
        };
        let GraphPattern::Graph {
            name: NamedNodePattern::NamedNode(source),
            inner,
        } = &**pattern
        else {
            return Ok(());
        };
        let is_all = match (&**inner, &insert[..]) {
            (GraphPattern::Bgp { patterns }, [quad]) => {
                patterns[..] == [triple_of(quad)]
                    && quad.subject.to_string() == "?s"
                    && quad.predicate.to_string() == "?p"
                    && quad.object.to_string() == "?o"
            }
            _ => false,
        };
        if is_all && !self.holds(&source.clone().into()) {
            return Err(OPEN);
        }
        Ok(())
    }

    /// What is deleted and what is inserted.
    fn solved(
        &mut self,
        delete: &[QuadPattern],
        insert: &[QuadPattern],
        using: Option<&QueryDataset>,
        pattern: &GraphPattern,
        resolve: &dyn Fn(&str) -> Option<Term>,
    ) -> Result<(Vec<Quad>, Vec<Quad>), NaiveError> {
        let notes = Notes::default();
        let nothing = Beside::default();
        let evaluator = Evaluator::new(
            &self.dataset,
            using,
            &nothing,
            &notes,
            self.work_max,
            Some(resolve),
        );
        let selected = evaluator.selected(pattern, &evaluator.outside())?;
        notes.check()?;
        if !evaluator.choices().is_empty() {
            return Err(NaiveError::Undetermined(
                "a value of which several are right",
            ));
        }
        let makes_blanks = insert.iter().any(|quad| has_blank(&triple_of(quad)));
        let (mut deleted, mut inserted) = (Vec::new(), Vec::new());
        for solution in evaluator.cut(selected)? {
            // Blank nodes of a template are new for each solution.
            let number = self.blanks;
            self.blanks += usize::from(makes_blanks);
            let made = |quad: &QuadPattern| -> Option<Quad> {
                let graph = match &quad.graph_name {
                    GraphNamePattern::DefaultGraph => GraphName::DefaultGraph,
                    GraphNamePattern::NamedNode(graph) => graph.clone().into(),
                    GraphNamePattern::Variable(variable) => {
                        match evaluator.value(variable, &solution)? {
                            Term::NamedNode(graph) => graph.into(),
                            Term::BlankNode(graph) => graph.into(),
                            Term::Literal(_) | Term::Triple(_) => return None,
                        }
                    }
                };
                let [subject, predicate, object] =
                    evaluator.parts(&triple_of(quad), &solution, number)?;
                match triple_term(&subject, &predicate, &object)? {
                    Term::Triple(triple) => Some(triple.in_graph(graph)),
                    _ => None,
                }
            };
            deleted.extend(delete.iter().filter_map(made));
            inserted.extend(insert.iter().filter_map(made));
        }
        Ok((deleted, inserted))
    }

    /// A quad of `INSERT DATA`, whose blank nodes are new.
    fn new_blanks(&self, quad: &term::Quad) -> Quad {
        let triple = Triple {
            subject: quad.subject.clone(),
            predicate: quad.predicate.clone(),
            object: quad.object.clone(),
        };
        self.new_blanks_in(triple).in_graph(name(&quad.graph_name))
    }

    /// Recursion is as deep as triple terms are nested.
    fn new_blanks_in(&self, triple: Triple) -> Triple {
        let number = self.blanks;
        let new =
            |node: BlankNode| BlankNode::new_unchecked(format!("data{number}x{}", node.as_str()));
        let subject = match triple.subject {
            NamedOrBlankNode::BlankNode(node) => new(node).into(),
            other @ NamedOrBlankNode::NamedNode(_) => other,
        };
        let object = match triple.object {
            Term::BlankNode(node) => new(node).into(),
            Term::Triple(inner) => self.new_blanks_in(*inner).into(),
            other => other,
        };
        Triple::new(subject, triple.predicate, object)
    }
}

fn name(name: &term::GraphName) -> GraphName {
    match name {
        term::GraphName::NamedNode(graph) => graph.clone().into(),
        term::GraphName::DefaultGraph => GraphName::DefaultGraph,
    }
}

/// A quad of `DELETE`, which has no blank nodes, as any other.
fn plain(quad: &term::GroundQuadPattern) -> QuadPattern {
    QuadPattern {
        subject: quad.subject.clone().into(),
        predicate: quad.predicate.clone(),
        object: quad.object.clone().into(),
        graph_name: quad.graph_name.clone(),
    }
}

fn triple_of(quad: &QuadPattern) -> TriplePattern {
    TriplePattern {
        subject: quad.subject.clone(),
        predicate: quad.predicate.clone(),
        object: quad.object.clone(),
    }
}

fn has_blank(triple: &TriplePattern) -> bool {
    [&triple.subject, &triple.object]
        .into_iter()
        .any(|term| match term {
            TermPattern::BlankNode(_) => true,
            TermPattern::Triple(inner) => has_blank(inner),
            TermPattern::NamedNode(_) | TermPattern::Literal(_) | TermPattern::Variable(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph;
    use crate::suite::compare::check_datasets;

    const DATA: &str = r"PREFIX : <http://example.org/>
        :a :p :b . :b :p :c . :a :q 1 .
        GRAPH :g { :a :p :b . :d :p :a } GRAPH :h { :x :p _:n . _:n :p 2 }";

    fn check(update: &str, expected: &str) {
        let prefix = "PREFIX : <http://example.org/>";
        let dataset = graph::parse(DATA).unwrap();
        let updated = updated(&dataset, &format!("{prefix} {update}"), None);
        let end = if expected.ends_with('}') { "" } else { "." };
        let expected = graph::parse(&format!("{prefix} {expected} {end}")).unwrap();
        check_datasets(&expected, &updated.unwrap())
            .unwrap_or_else(|complaint| panic!("{update}: {complaint}"));
    }

    #[test]
    fn data() {
        check(
            "CLEAR ALL ; INSERT DATA { :a :p 1, _:x . GRAPH :k { _:x :p _:y } } ;
             INSERT DATA { :a :p 1, 2 } ; DELETE DATA { :a :p 2 . :no :p 2 . GRAPH :k { :a :p 1 } }",
            ":a :p 1, _:a . GRAPH :k { _:a :p _:b }",
        );
        check(
            "CLEAR ALL ; INSERT DATA { :a :p _:x } ; INSERT DATA { :a :p _:y }",
            ":a :p [], []",
        );
    }

    #[test]
    fn deletions_come_first_and_both_see_the_dataset_before() {
        check(
            "DROP NAMED ; DELETE { ?x :p ?y } INSERT { ?y :p ?x } WHERE { ?x :p ?y }",
            ":b :p :a . :c :p :b . :a :q 1",
        );
        check(
            "DROP NAMED ; DELETE { ?x :p ?y } INSERT { ?x :p ?y } WHERE { ?x :p ?y }",
            ":a :p :b . :b :p :c . :a :q 1",
        );
        check(
            "CLEAR NAMED ; DELETE WHERE { ?x :p ?y . ?y :p ?z }",
            ":a :q 1",
        );
    }

    #[test]
    fn graphs_of_patterns_and_templates() {
        check(
            "WITH :g DELETE { ?x :p ?y } INSERT { ?y :p ?x . GRAPH :k { ?x ?x ?z } } WHERE { ?x :p ?y . GRAPH :h { ?z :p 2 } } ;
             DROP DEFAULT ; DROP GRAPH :h",
            "GRAPH :g { :b :p :a . :a :p :d } GRAPH :k { :a :a _:z . :d :d _:z }",
        );
        check(
            "INSERT { GRAPH ?g { ?g :has ?x } } USING NAMED :g USING NAMED :none WHERE { GRAPH ?g { ?x :p ?y } } ;
             DELETE WHERE { GRAPH ?g { ?x :p ?y } } ; CLEAR DEFAULT",
            "GRAPH :g { :g :has :a, :d }",
        );
        check(
            "INSERT { GRAPH :k { ?x :p ?y } } USING :g USING :h WHERE { ?x :p ?y FILTER(isIRI(?y)) } ;
             DROP GRAPH :g ; DROP GRAPH :h ; DROP DEFAULT",
            "GRAPH :k { :a :p :b . :d :p :a }",
        );
    }

    #[test]
    fn templates_make_what_they_can() {
        check(
            "CLEAR NAMED ; DELETE { ?x :p ?y } INSERT { ?y :r _:n . _:n :of ?x . ?z :r ?x . GRAPH ?y { ?x ?y 1 } }
             WHERE { ?x :p|:q ?y }",
            ":a :q 1 . :b :r _:1 . _:1 :of :a . :c :r _:2 . _:2 :of :b . _:3 :of :a .
             GRAPH :b { :a :b 1 } GRAPH :c { :b :c 1 }",
        );
    }

    #[test]
    fn graphs_are_copied_and_moved() {
        let rest = "GRAPH :h { :x :p _:n . _:n :p 2 }";
        check(
            "COPY :g TO DEFAULT ; ADD :h TO :g",
            &format!(
                ":a :p :b . :d :p :a . GRAPH :g {{ :a :p :b . :d :p :a . :x :p _:n . _:n :p 2 }} {rest}"
            ),
        );
        check(
            "MOVE DEFAULT TO :g ; COPY :g TO :g",
            &format!("GRAPH :g {{ :a :p :b . :b :p :c . :a :q 1 }} {rest}"),
        );
    }

    #[test]
    fn what_a_store_decides_is_open() {
        let dataset = graph::parse(DATA).unwrap();
        for update in [
            "CLEAR GRAPH <http://e/none>",
            "DROP GRAPH <http://e/none>",
            "CREATE GRAPH <http://example.org/g>",
            "COPY <http://e/none> TO DEFAULT",
        ] {
            assert_eq!(updated(&dataset, update, None), Err(OPEN), "{update}");
        }
        for update in [
            "CLEAR SILENT GRAPH <http://e/none>",
            "CREATE SILENT GRAPH <http://example.org/g>",
            "CREATE GRAPH <http://e/none>",
            "LOAD SILENT <http://e/none>",
        ] {
            assert_eq!(
                updated(&dataset, update, None).as_ref(),
                Ok(&dataset),
                "{update}"
            );
        }
    }
}

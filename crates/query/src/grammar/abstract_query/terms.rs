//! What the names, blank nodes and constants of a text stand for, each once.

use super::once::Once;
use oxrdf::Term;
use std::fmt;

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(u32);

/// A blank node of a pattern or a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Blank(u32);

/// A term without variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Constant(u32);

/// What the numbers of those begin with that the text does not have.
const MADE_UP: u32 = 1 << 31;

/// Names, labels and constants of a text.
#[derive(Debug, Default)]
pub(crate) struct Terms<'t> {
    constants: Once<Term>,
    names: Once<&'t str>,
    labels: Once<&'t str>,
    /// Variables and blank nodes that were made up.
    made_up: u32,
}

impl<'t> Terms<'t> {
    pub(crate) fn constant(&mut self, term: Term) -> Constant {
        Constant(self.constants.number(term))
    }

    /// How many constants there are.
    pub(crate) fn constants(&self) -> usize {
        self.constants.list().len()
    }

    /// What a constant stands for.
    pub(crate) fn term(&self, constant: Constant) -> &Term {
        &self.constants.list()[constant.0 as usize]
    }

    /// The variable of the text with this name, without its question mark.
    pub(crate) fn name(&mut self, text: &'t str) -> Name {
        Name(self.names.number(text))
    }

    /// The same, if the text has it.
    pub(crate) fn known(&self, text: &str) -> Option<Name> {
        self.names.find(text).map(Name)
    }

    /// A variable that the text does not have.
    pub(crate) fn new_name(&mut self) -> Name {
        assert!(
            self.made_up < MADE_UP,
            "what is made up is told from what is written"
        );
        self.made_up += 1;
        Name(MADE_UP | self.made_up)
    }

    /// The name of a variable of the text; `None` of one that was made up.
    pub(crate) fn text(&self, name: Name) -> Option<&'t str> {
        self.names.list().get(name.0 as usize).copied()
    }

    /// The names of all variables of the text, in the order in which they were first met.
    pub(crate) fn texts(&self) -> &[&'t str] {
        self.names.list()
    }

    /// A variable for messages.
    pub(crate) fn shown(&self, name: Name) -> Shown<'t> {
        Shown(self.text(name))
    }

    /// The blank node with this label.
    pub(crate) fn blank(&mut self, label: &'t str) -> Blank {
        Blank(self.labels.number(label))
    }

    /// A blank node without a label.
    pub(crate) fn new_blank(&mut self) -> Blank {
        self.made_up += 1;
        Blank(MADE_UP | self.made_up)
    }

    /// The constants that are asked for, each once, in that order.
    pub(crate) fn into_terms(self, wanted: &[Constant]) -> Vec<Term> {
        let mut terms: Vec<Option<Term>> =
            self.constants.into_list().into_iter().map(Some).collect();
        let take = |constant: &Constant| terms[constant.0 as usize].take();
        let mut taken = Vec::with_capacity(wanted.len());
        taken.extend(wanted.iter().filter_map(take));
        assert_eq!(taken.len(), wanted.len(), "a constant is wanted once");
        taken
    }
}

impl Name {
    /// Of those that a text has or that are made up, no two have the same.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

impl Blank {
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

impl Constant {
    /// Of a list of all constants.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// `?name`.
pub(crate) struct Shown<'t>(Option<&'t str>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "?{name}"),
            None => f.write_str("an unnamed variable"),
        }
    }
}

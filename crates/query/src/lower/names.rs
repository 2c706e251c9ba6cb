//! Names to slots: which places are the same variable.
//!
//! A scope is what shares names: the query, a sub-query, the group of an `EXISTS` or a `MINUS`. A name
//! that a scope does not have itself is looked up in the scope around it, if the scope lets it pass:
//! a sub-query those that it projects (SPARQL 1.1 Query section 18.2.1), `EXISTS` and `MINUS` those
//! that the rows beside them can bind. Any other is new and hidden. So what is not the same variable
//! never has the same slot, and the planner may move and nest without looking at names.
//!
//! Blank nodes are variables of their scope (section 5.1.3): the parser has made sure that a label
//! stands in one basic graph pattern only.

use super::Lowering;
use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::abstract_query::{Blank, Name};
use crate::limits::Limit;
use crate::plan::Slot;
use crate::position::Position;
use crate::slots::Slots;
use hashbrown::{HashMap, HashSet};

/// Which names a scope shares with the one around it.
pub(super) enum Passes {
    /// Those that the rows beside it can bind.
    Visible(Slots),
    /// Those that a sub-query projects.
    Projected(HashSet<Name>),
}

/// Slots by name, which are compared one by one while they are few, as in most texts.
#[derive(Default)]
struct NameSlots {
    few: Vec<(Name, Slot)>,
    /// All of them, once they are more than [`FEW_MAX`]; then `few` is empty.
    many: HashMap<Name, Slot>,
}

/// Names that are compared one by one.
const FEW_MAX: usize = 16;

impl NameSlots {
    fn with_capacity(names: usize) -> NameSlots {
        NameSlots {
            few: Vec::with_capacity(names.min(FEW_MAX)),
            many: HashMap::with_capacity(if names > FEW_MAX { names } else { 0 }),
        }
    }

    fn get(&self, name: Name) -> Option<Slot> {
        let few = self.few.iter().find(|(known, _)| *known == name);
        match few {
            Some((_, slot)) => Some(*slot),
            None => self.many.get(&name).copied(),
        }
    }

    /// The slot that it had.
    fn insert(&mut self, name: Name, slot: Slot) -> Option<Slot> {
        if let Some((_, known)) = self.few.iter_mut().find(|(known, _)| *known == name) {
            return Some(std::mem::replace(known, slot));
        }
        if self.many.is_empty() && self.few.len() < FEW_MAX {
            self.few.push((name, slot));
            return None;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(name, slot)
    }

    fn remove(&mut self, name: Name) {
        self.few.retain(|(known, _)| *known != name);
        self.many.remove(&name);
    }

    fn iter(&self) -> impl Iterator<Item = (Name, Slot)> {
        let many = self.many.iter().map(|(name, slot)| (*name, *slot));
        self.few.iter().copied().chain(many)
    }
}

/// What shares names.
pub(super) struct NameScope {
    names: NameSlots,
    blanks: HashMap<Blank, Slot>,
    passes: Passes,
    /// Names that get these slots where they are used, whatever they mean outside.
    apart: HashMap<Name, Slot>,
    /// Names that for now mean nothing outside: of the graphs around.
    masked: Vec<Name>,
}

impl NameScope {
    /// The query itself, whose text has this many names.
    pub(super) fn outermost(names: usize) -> NameScope {
        NameScope {
            names: NameSlots::with_capacity(names),
            ..NameScope::new(Passes::Visible(Slots::default()))
        }
    }

    pub(super) fn new(passes: Passes) -> NameScope {
        NameScope {
            names: NameSlots::default(),
            blanks: HashMap::new(),
            passes,
            apart: HashMap::new(),
            masked: Vec::new(),
        }
    }

    /// With slots of its own for these names, which are in use only where it has learnt them.
    pub(super) fn with_apart(self, apart: HashMap<Name, Slot>) -> NameScope {
        NameScope { apart, ..self }
    }

    fn masks(&self, name: Name) -> bool {
        self.masked.contains(&name)
    }

    /// The names used in it, with their slots.
    pub(super) fn names(&self) -> impl Iterator<Item = (Name, Slot)> {
        self.names.iter()
    }
}

impl Lowering<'_> {
    /// The slot of a variable, made at its first use.
    pub(super) fn variable(&mut self, name: Name) -> Result<Slot, ParseError> {
        match self.known(name)? {
            Some(slot) => Ok(slot),
            None => self.new_name(self.scopes.len() - 1, name),
        }
    }

    /// The slot of a name, if it has one.
    pub(super) fn known(&mut self, name: Name) -> Result<Option<Slot>, ParseError> {
        // Outwards as long as the name passes.
        let innermost = self.scopes.len() - 1;
        let mut level = innermost;
        let mut is_projected = vec![false; 0];
        let found = loop {
            let scope = &self.scopes[level];
            if let Some(slot) = scope.names.get(name) {
                break Some(slot);
            }
            if let Some(slot) = scope.apart.get(&name).copied()
                && !scope.masks(name)
            {
                self.scopes[level].names.insert(name, slot);
                break Some(slot);
            }
            let passes = match &scope.passes {
                _ if scope.masks(name) => false,
                Passes::Visible(_) => level > 0,
                Passes::Projected(names) => names.contains(&name),
            };
            if !passes {
                break None;
            }
            is_projected.push(matches!(scope.passes, Passes::Projected(_)));
            level -= 1;
        };
        let mut found = found;
        // Inwards again: each scope learns the name; a projected one exists around the sub-query.
        while level < innermost {
            let inner = level + 1;
            if found.is_none() && is_projected[innermost - inner] {
                found = Some(self.new_name(level, name)?);
            }
            if let (Some(slot), Passes::Visible(visible)) = (found, &self.scopes[inner].passes)
                && !visible.contains(slot)
            {
                found = None;
            }
            if let Some(slot) = found {
                self.scopes[inner].names.insert(name, slot);
            }
            level = inner;
        }
        Ok(found)
    }

    /// Gives a name of the innermost scope another slot from here on.
    pub(super) fn rename(&mut self, name: Name, slot: Slot) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, slot);
        }
    }

    /// Lets a name mean nothing that it has meant, until [`Lowering::unmask`].
    pub(super) fn mask(&mut self, name: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.remove(name);
            scope.masked.push(name);
        }
    }

    /// Gives a masked name the slot back that it had; gives the one that it got meanwhile.
    pub(super) fn unmask(&mut self, name: Name, slot: Slot) -> Option<Slot> {
        let scope = self.scopes.last_mut()?;
        assert_eq!(
            scope.masked.pop(),
            Some(name),
            "masks are taken off in turn"
        );
        scope.names.insert(name, slot)
    }

    pub(super) fn blank_node(&mut self, node: Blank) -> Result<Slot, ParseError> {
        let known = self.scopes.last().and_then(|scope| scope.blanks.get(&node));
        if let Some(slot) = known {
            return Ok(*slot);
        }
        let slot = self.hidden()?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.blanks.insert(node, slot);
        }
        Ok(slot)
    }

    /// A slot without a name in the text.
    pub(super) fn hidden(&mut self) -> Result<Slot, ParseError> {
        self.new_slot(format!(".{}", self.variables.len()), false)
    }

    /// Another slot for a name, which is not given to it.
    pub(super) fn another(&mut self, name: Name) -> Result<Slot, ParseError> {
        let number = self.variables.len();
        match self.terms.text(name) {
            Some(text) => self.new_slot(format!(".{text}.{number}"), true),
            None => self.hidden(),
        }
    }

    /// The names of the text that no slot shows, ascending: those that are seen within groups alone.
    pub(super) fn names_within(&self) -> Vec<String> {
        let outermost = self.scopes.first().map(|scope| &scope.names);
        let is_shown = |name: &&str| {
            let name = self.terms.known(name);
            let slot = name.and_then(|name| outermost?.get(name));
            slot.is_some_and(|slot| !self.variables[usize::from(slot.0)].starts_with('.'))
        };
        let texts = self.terms.texts().iter().copied();
        let mut within: Vec<String> = texts
            .filter(|name| !is_shown(name))
            .map(str::to_owned)
            .collect();
        within.sort_unstable();
        within
    }

    /// Whether it stands for a variable of the text, whatever its scope.
    pub(super) fn is_written(&self, slot: Slot) -> bool {
        self.is_written[usize::from(slot.0)]
    }

    fn new_name(&mut self, level: usize, name: Name) -> Result<Slot, ParseError> {
        let number = self.variables.len();
        let text = self.terms.text(name);
        let is_masked = self.scopes[level].masks(name);
        let shown = match text {
            Some(text) if level == 0 && !is_masked => text.to_owned(),
            Some(text) => format!(".{text}.{number}"),
            None => format!(".{number}"),
        };
        let slot = self.new_slot(shown, text.is_some())?;
        self.scopes[level].names.insert(name, slot);
        Ok(slot)
    }

    fn new_slot(&mut self, shown: String, is_written: bool) -> Result<Slot, ParseError> {
        const SLOTS_MAX: usize = u16::MAX as usize / 2;
        if self.variables.len() >= SLOTS_MAX {
            return Err(ParseError {
                kind: ParseErrorKind::Limit {
                    limit: Limit::ListedNames,
                    used: self.variables.len() as u64 + 1,
                    max: SLOTS_MAX as u64,
                },
                position: Position::START,
                message: format!("more than {SLOTS_MAX} variables"),
            });
        }
        let slot = Slot(self.variables.len() as u16);
        self.variables.push(shown);
        self.is_written.push(is_written);
        Ok(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::abstract_query::Terms;

    #[test]
    fn slots_are_a_set_beyond_a_word_too() {
        let at = [0, 63, 64, 127, 128, 200].map(Slot);
        let mut all = Slots::default();
        assert!(all.is_empty());
        for slot in at {
            all.insert(slot);
        }
        assert!(all.iter().eq(at));
        let mut few = Slots::default();
        few.insert(Slot(63));
        few.insert(Slot(64));
        let mut both = few.clone();
        both.add(&all);
        assert!(both.iter().eq(at));
        both.intersect(&few);
        assert!(both.iter().eq([Slot(63), Slot(64)]));
        both.remove(Slot(64));
        both.remove(Slot(900));
        assert!(both.iter().eq([Slot(63)]) && !both.contains(Slot(900)));
        both.remove(Slot(63));
        assert!(both.is_empty());
    }

    #[test]
    fn names_have_the_slot_given_last_however_many() {
        let texts: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
        let mut terms = Terms::default();
        let names: Vec<Name> = texts.iter().map(|text| terms.name(text)).collect();
        let mut slots = NameSlots::with_capacity(4);
        let mut known: HashMap<Name, Slot> = HashMap::new();
        for round in 0..3 {
            for (at, &name) in (0..).zip(&names) {
                let slot = Slot(100 * round + at);
                assert_eq!(slots.insert(name, slot), known.insert(name, slot));
                if at % 5 == 0 {
                    slots.remove(name);
                    known.remove(&name);
                }
                for name in &names {
                    assert_eq!(slots.get(*name), known.get(name).copied());
                }
            }
        }
        assert_eq!(slots.iter().collect::<HashMap<_, _>>(), known);
    }
}

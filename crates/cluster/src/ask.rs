//! What is missing, asked of those who have it: one journey for all that is asked together.

use crate::error::Failure;
use crate::ground::Ground;
use crate::question::{OwnedScope, SetName};
use crate::reading::Begun;
use crate::session::{Asked, Fetched, Kept, Session, Slot, Want};
use crate::terms::PartTerms;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rdf::{Direction, Progress, Tag, Ticket, VertexId};
use std::hash::Hash;
use std::sync::Arc;
use store::view::{GraphScope, GraphView, SegmentKey};

/// What lists are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A step's rows.
    Walk,
    /// To prepare a plan, and for what is no walk.
    Prepare,
}

/// Questions of a session that are asked together.
pub(crate) struct Asks<'g, P, T> {
    ground: &'g Ground<P, T>,
    session: &'g Arc<Session>,
    /// The journey of what is asked now, if anything is.
    own: Option<Ticket>,
    /// A journey that brings something of it already.
    other: Option<Ticket>,
    wants: Vec<Want>,
}

impl<'g, P: GraphView + Send + Sync + 'static, T: PartTerms> Asks<'g, P, T> {
    /// Nothing asked yet; an error where the session has failed.
    pub(crate) fn new(
        ground: &'g Ground<P, T>,
        session: &'g Arc<Session>,
    ) -> Result<Self, Failure> {
        session.kept().failure()?;
        Ok(Asks {
            ground,
            session,
            own: None,
            other: None,
            wants: Vec::new(),
        })
    }

    /// A set of all parts.
    pub(crate) fn set(&mut self, name: SetName) {
        let mut kept = self.session.kept();
        if !kept.sets.contains_key(&name)
            && let Some(set) = self.ground.common_set(&name)
        {
            kept.sets.insert(name, Slot::Here(set));
            return;
        }
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        if journey.is_missing(&mut kept.sets, name.clone()) {
            self.wants.push(Want::Set(name));
        }
    }

    /// How much of a segment a scope takes.
    pub(crate) fn extent(&mut self, segment: SegmentKey, scope: GraphScope<'_>) {
        let mut kept = self.session.kept();
        let name = (segment, OwnedScope::of(scope));
        if !kept.extents.contains_key(&name)
            && let Some(extent) = self.ground.common_extent(&name)
        {
            kept.extents.insert(name, Slot::Here(extent));
            return;
        }
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        if journey.is_missing(&mut kept.extents, name.clone()) {
            self.wants.push(Want::Extent(name.0, name.1));
        }
    }

    /// Lists of keys that others own, or have pieces of.
    pub(crate) fn lists(
        &mut self,
        segment: SegmentKey,
        scope: GraphScope<'_>,
        keys: impl Iterator<Item = VertexId>,
        in_pieces: bool,
        purpose: Purpose,
    ) {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return;
        }
        let scope = OwnedScope::of(scope);
        let mut kept = self.session.kept();
        let shelf = kept.shelves.entry((segment, scope.clone())).or_default();
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        let missing = keys.filter(|key| journey.is_missing(&mut shelf.places, *key));
        let mut missing: Vec<VertexId> = missing.collect();
        missing.sort_unstable();
        if !missing.is_empty() {
            let asked = missing.len() as u64;
            self.session.count(&mut kept, |fetched| match purpose {
                Purpose::Walk => fetched.lists += asked,
                Purpose::Prepare => fetched.prepared += asked,
            });
            self.wants.push(if in_pieces {
                Want::Pieces(segment, scope, missing)
            } else {
                Want::Lists(segment, scope, missing)
            });
        }
    }

    /// The predicates of vertices, of those that others own.
    pub(crate) fn predicates_of(
        &mut self,
        direction: Direction,
        vertices: impl Iterator<Item = VertexId>,
    ) {
        let mut kept = self.session.kept();
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        let away = vertices.filter(|vertex| !self.ground.owns(*vertex));
        let missing =
            away.filter(|vertex| journey.is_missing(&mut kept.predicates, (direction, *vertex)));
        let missing: Vec<VertexId> = missing.collect();
        if !missing.is_empty() {
            self.wants.push(Want::PredicatesOf(direction, missing));
        }
    }

    /// The keys of terms of the dictionary.
    pub(crate) fn keys_of_ids(&mut self, ids: impl Iterator<Item = VertexId>) {
        let mut kept = self.session.kept();
        let known = |kept: &mut Kept, id: &VertexId| {
            if !kept.keys.contains_key(id)
                && let Some(key) = self.ground.known_terms().key(*id)
                && self.session.draw_term(kept, key.len())
            {
                kept.keys.insert(*id, Slot::Here(Some(key)));
            }
        };
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        let missing = ids.filter(|id| {
            known(&mut kept, id);
            journey.is_missing(&mut kept.keys, *id)
        });
        let missing: Vec<VertexId> = missing.collect();
        if !missing.is_empty() {
            self.wants.push(Want::KeysOfIds(missing));
        }
    }

    /// The ids of terms of a kind with these keys.
    pub(crate) fn ids_of_keys(&mut self, kind: Tag, keys: impl Iterator<Item = Vec<u8>>) {
        let mut kept = self.session.kept();
        let known = |kept: &mut Kept, name: &(Tag, Vec<u8>)| {
            if !kept.ids.contains_key(name)
                && let Some(id) = self.ground.known_terms().id(kind, &name.1)
                && self.session.draw_term(kept, name.1.len())
            {
                kept.ids.insert(name.clone(), Slot::Here(Some(id)));
            }
        };
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        let missing = keys.filter(|key| {
            let name = (kind, key.clone());
            known(&mut kept, &name);
            journey.is_missing(&mut kept.ids, name)
        });
        let missing: Vec<Vec<u8>> = missing.collect();
        if !missing.is_empty() {
            self.wants.push(Want::IdsOfKeys(kind, missing));
        }
    }

    /// Pages of the keys that nodes have of a segment: each of a node, from a place on; so many keys.
    pub(crate) fn key_pages(&mut self, segment: SegmentKey, pages: &[(u16, u64)], len: u64) {
        let mut kept = self.session.kept();
        let mut journey = Journey::of(self.ground, &mut self.own, &mut self.other);
        let name = |(node, from)| (segment, node, from);
        let pages = pages.iter().copied();
        let missing = pages.filter(|page| journey.is_missing(&mut kept.pages, name(*page)));
        let missing: Vec<(u16, u64)> = missing.collect();
        if !missing.is_empty() {
            self.wants.push(Want::KeyPages(segment, missing, len));
        }
    }

    /// What a planner is told of all parts.
    pub(crate) fn statistics(&mut self) {
        self.own.get_or_insert_with(|| self.ground.desk().open());
        self.wants.push(Want::Statistics);
    }

    /// Sends what is missing, and answers what this node can. Ready where all that was asked for is here.
    pub(crate) fn send(self) -> Progress {
        let Some(ticket) = self.own else {
            return self.other.map_or(Progress::Ready, Progress::Pending);
        };
        let mut is_away = false;
        for want in self.wants {
            let questions = self.ground.questions(&want);
            let asked = Arc::new(Asked::new(self.session, want, questions));
            for (place, (to, question)) in asked.questions.iter().enumerate() {
                if *to == self.ground.here() {
                    let answered = self.ground.answered(question, asked.memory());
                    self.ground.keep(asked.answered(place, answered));
                } else {
                    match self.ground.read(*to, ticket, &asked, place) {
                        Begun::Answered => {}
                        Begun::UnderWay => is_away = true,
                        Begun::Not => {
                            is_away = true;
                            let count = |fetched: &mut Fetched| fetched.questions += 1;
                            self.session.count(&mut self.session.kept(), count);
                            self.ground.ask(*to, ticket, &asked, place);
                        }
                    }
                }
            }
        }
        self.ground.desk().done(ticket);
        if is_away {
            return Progress::Pending(ticket);
        }
        self.other.map_or(Progress::Ready, Progress::Pending)
    }
}

/// Which journey brings what is missing.
struct Journey<'a, P, T> {
    ground: &'a Ground<P, T>,
    own: &'a mut Option<Ticket>,
    other: &'a mut Option<Ticket>,
}

impl<'a, P: GraphView + Send + Sync + 'static, T: PartTerms> Journey<'a, P, T> {
    fn of(
        ground: &'a Ground<P, T>,
        own: &'a mut Option<Ticket>,
        other: &'a mut Option<Ticket>,
    ) -> Self {
        Journey { ground, own, other }
    }

    /// Whether an item is missing and nobody brings it: from now on this journey does.
    fn is_missing<K: Hash + Eq, V>(&mut self, items: &mut HashMap<K, Slot<V>>, name: K) -> bool {
        match items.entry(name) {
            Entry::Occupied(entry) => {
                if let Slot::Coming(ticket) = entry.get()
                    && Some(*ticket) != *self.own
                {
                    *self.other = Some(*ticket);
                }
                false
            }
            Entry::Vacant(entry) => {
                let ticket = *self.own.get_or_insert_with(|| self.ground.desk().open());
                entry.insert(Slot::Coming(ticket));
                true
            }
        }
    }
}

//! Lists in which everything stands once.
//!
//! Most texts have a few names, terms and prefixes, which are compared one by one; a table is made where there are
//! more, so that a text of a megabyte costs time linear in it.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash};

/// A list in which everything stands once.
#[derive(Debug)]
pub(crate) struct Once<T> {
    list: Vec<T>,
    /// Places of `list` by the hashes of what stands there, once it is longer than [`COMPARED_MAX`].
    places: HashTable<u32>,
    /// Made with the table.
    hashes: Option<DefaultHashBuilder>,
}

/// Entries of a list that are compared one by one.
const COMPARED_MAX: usize = 16;

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once {
            list: Vec::new(),
            places: HashTable::new(),
            hashes: None,
        }
    }
}

impl<T> Once<T> {
    /// In the order in which they came.
    pub(crate) fn list(&self) -> &[T] {
        &self.list
    }

    pub(crate) fn into_list(self) -> Vec<T> {
        self.list
    }
}

impl<T: Eq + Hash> Once<T> {
    /// The place of this, which is added if it is new.
    pub(crate) fn number(&mut self, wanted: T) -> u32 {
        let Once {
            list,
            places,
            hashes,
            ..
        } = self;
        let next = list.len() as u32;
        if list.len() < COMPARED_MAX {
            if let Some(place) = list.iter().position(|known| *known == wanted) {
                return place as u32;
            }
            list.push(wanted);
            return next;
        }
        let hashes = &*hashes.get_or_insert_default();
        let hash_of = |place: &u32| hashes.hash_one(&list[*place as usize]);
        if places.is_empty() {
            for place in 0..next {
                places.insert_unique(hash_of(&place), place, hash_of);
            }
        }
        let hash = hashes.hash_one(&wanted);
        if let Some(place) = places.find(hash, |place| list[*place as usize] == wanted) {
            return *place;
        }
        places.insert_unique(hash, next, hash_of);
        list.push(wanted);
        next
    }
}

impl Once<&str> {
    /// The place of a text, if it is there.
    pub(crate) fn find(&self, wanted: &str) -> Option<u32> {
        let Some(hashes) = &self.hashes else {
            let place = self.list.iter().position(|known| *known == wanted)?;
            return Some(place as u32);
        };
        let hash = hashes.hash_one(wanted);
        let is_it = |place: &u32| self.list[*place as usize] == wanted;
        self.places.find(hash, is_it).copied()
    }
}

//! Holes: terms of patterns for which placeholders are put, so that one reading of a text gives the algebra
//! of all texts of its [`shape`](crate::shape).

use oxrdf::Term;

/// The places of a text at which placeholders are put.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    /// Ascending.
    places: Vec<HoleSpan>,
    parameters: Vec<Parameter>,
    /// A placeholder became part of another term.
    is_in_term: bool,
}

#[derive(Debug)]
struct HoleSpan {
    /// The first byte of the term.
    start: u32,
    /// Which of the parameters.
    number: usize,
    is_met: bool,
}

/// What stands in a hole, and what is put there.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) term: Term,
    pub(crate) placeholder: Term,
}

impl Holes {
    /// Of places (first byte, which parameter) in the order of the text.
    pub(crate) fn new(
        places: impl Iterator<Item = (u32, usize)>,
        parameters: Vec<Parameter>,
    ) -> Holes {
        let place = |(start, number)| HoleSpan {
            start,
            number,
            is_met: false,
        };
        let places: Vec<HoleSpan> = places.map(place).collect();
        assert!(
            places.is_sorted_by_key(|place| place.start),
            "places are looked up"
        );
        Holes {
            places,
            parameters,
            is_in_term: false,
        }
    }

    /// What is put for this term, which begins at this byte; `None`: the term itself.
    pub(super) fn at(&mut self, start: u32, term: &Term) -> Option<Term> {
        let at = self
            .places
            .binary_search_by_key(&start, |place| place.start);
        let place = &mut self.places[at.ok()?];
        let parameter = &self.parameters[place.number];
        if *term != parameter.term {
            return None;
        }
        place.is_met = true;
        Some(parameter.placeholder.clone())
    }

    /// This becomes part of another term, which nobody makes anew when another parameter is asked about.
    pub(super) fn becomes_part(&mut self, term: &Term) {
        let is_it = |parameter: &Parameter| parameter.placeholder == *term;
        self.is_in_term |= self.parameters.iter().any(is_it);
    }

    /// Whether each was a term of a pattern, and the one that it was taken for, and nothing but that.
    pub(crate) fn are_all_met(&self) -> bool {
        self.places.iter().all(|place| place.is_met) && !self.is_in_term
    }
}

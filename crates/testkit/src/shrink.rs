//! A smaller dataset on which something still fails: what people want to look at.
//!
//! Pieces are taken out while the failure stays, halves first, then smaller ones, down to single
//! quads (delta debugging, Zeller and Hildebrandt, TSE 2002, its complement step). Cost: some
//! hundred runs of what fails, and only after it has failed.

use oxrdf::{Dataset, Quad};

/// A subset of the dataset on which `fails` still holds and no single quad can be taken away.
pub fn dataset(dataset: &Dataset, fails: &mut dyn FnMut(&Dataset) -> bool) -> Dataset {
    let mut quads: Vec<Quad> = dataset.iter().map(oxrdf::QuadRef::into_owned).collect();
    quads.sort_by_key(ToString::to_string);
    let mut piece = quads.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        let mut is_smaller = false;
        while start < quads.len() {
            let end = (start + piece).min(quads.len());
            let left: Dataset = quads[..start].iter().chain(&quads[end..]).collect();
            if fails(&left) {
                quads.drain(start..end);
                is_smaller = true;
            } else {
                start = end;
            }
        }
        if piece > 1 || !is_smaller {
            piece /= 2;
        }
    }
    quads.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph;

    #[test]
    fn keeps_what_is_needed_only() {
        let line = |n: u32| format!("<e:{n}> <e:p> <e:{}> .", n + 1);
        let text = (0..40).map(line).collect::<Vec<_>>().join("\n");
        let whole = graph::parse(&text).unwrap();
        let needed = graph::parse("<e:3> <e:p> <e:4> . <e:30> <e:p> <e:31> .").unwrap();
        let small = dataset(&whole, &mut |each| {
            needed.iter().all(|quad| each.contains(quad))
        });
        assert_eq!(small, needed);
    }
}

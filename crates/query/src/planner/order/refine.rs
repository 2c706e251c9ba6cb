//! Orders what is heavy again, by what samples find.
//!
//! ```text
//!            +------------------ order (dynamic programming) <-----+
//!            v                                                     | corrections
//!   walk a sample along the order, as far as it is news -----------+
//!            | no news
//!            v
//!   walk a sample of each pair of linked patterns (once) ----------+
//! ```
//!
//! Following the order finds what was thought too small, pair by pair and deeper, and goes on until an
//! order holds (Wu, Naughton and Singh, "Sampling-based query re-optimization", SIGMOD'16, who show that
//! it ends). What was thought too large it would never meet, because nobody goes there: so the pairs.
//!
//! **Budget.** All that is looked up, and the ordering itself, is paid from a share of the time that the
//! component is expected to take, which grows when samples say that it will take longer. So a query whose
//! statistics were right loses that share. One whose statistics were wrong may lose twice as much, so that
//! the orders that look good instead can be followed, too. When it has grown much, all that was walked is walked again, by
//! more rows: few rows of a skewed graph say little.
//!
//! **Doubt.** What was walked and found larger than expected makes orders look good of which nothing was
//! walked yet. Such an order is followed in turn. Where the budget ends before, it has to be better by
//! [`DOUBT`] than one that was.
//!
//! **What is not sampled**, and is left to statistics, with corrections from what was: patterns with a
//! variable predicate or a variable graph, those of another source than the store, paths, tables; components that begin with rows of a table;
//! components of more patterns than are ordered exhaustively. Filters pass the share that they are guessed to.
//! Cycles are sampled as all else is: an expansion that meets a check is walked in a sample as the two patterns that it
//! is of.

use super::component::{Component, Ordered};
use super::dynamic::{Subsets, dynamic};
use crate::explain::q_error;
use crate::plan::Node;
use crate::planner::costs;
use crate::sampling::{Interrupted, SampleId, SampleQuestion, Sampled, Sampler};
use std::collections::HashMap;

/// Of two patterns both orders give the same rows.
const PATTERNS_MIN: usize = 3;
/// A sample is so much of what may be touched, within limits: a few orders can be followed.
const SAMPLES: u64 = 24;
const SAMPLE_ROWS: (u64, u64) = (48, 1024);
/// What may be touched, at least and at most: a limit for who asks for samples of light queries, and
/// where more rows say no more.
const TOUCHED: (u64, u64) = (600, 100_000);
/// Samples are walked anew when they may be larger by this factor.
const DEEPER: u64 = 4;
/// An estimate that is off by this factor is a reason to order again before more is walked.
const SURPRISE: f64 = 3.0;
/// An order that was not followed to its end has to be cheaper by this factor.
const DOUBT: f64 = 3.0;
/// Nothing of so many rows was found: half a row's worth is assumed.
const FOUND_NONE: f64 = 0.5;

const _: () = {
    assert!(
        SAMPLE_ROWS.0 <= SAMPLE_ROWS.1,
        "the bounds of a sample are in order"
    );
    assert!(
        SAMPLE_ROWS.1 <= u32::MAX as u64,
        "rows of a sample have 32 bits"
    );
    assert!(
        TOUCHED.0 <= TOUCHED.1,
        "the bounds of what is touched are in order"
    );
};

/// Who walks samples, and of what.
pub(in crate::planner) struct Sampling<'s> {
    sampler: &'s mut dyn Sampler,
    /// Components from this cost on.
    from_ns: f64,
    /// What the whole walk was expected to cost.
    walked_ns: f64,
    /// The sampler has given up, and planning with it.
    pub is_interrupted: bool,
}

impl<'s> Sampling<'s> {
    pub(in crate::planner) fn new(
        sampler: &'s mut dyn Sampler,
        from_ns: f64,
        walked_ns: f64,
    ) -> Sampling<'s> {
        Sampling {
            sampler,
            from_ns,
            walked_ns,
            is_interrupted: false,
        }
    }

    fn ask(&mut self, questions: &[SampleQuestion]) -> Result<Vec<Option<Sampled>>, Interrupted> {
        let answers = self.sampler.sample(questions);
        self.is_interrupted |= answers.is_err();
        answers
    }
}

/// The best order of a component that statistics would walk in the order of `first`.
pub(super) fn refine(
    subsets: Subsets<'_>,
    first: Component,
    sampling: &mut Sampling<'_>,
) -> Component {
    let problem = subsets.problem;
    let patterns = subsets.patterns;
    let begins_with_rows = patterns.iter().any(|&pattern| {
        let variables = &problem.patterns[pattern].variables;
        variables
            .iter()
            .any(|&variable| problem.variables[variable].arrived)
    });
    if patterns.len() < PATTERNS_MIN
        || begins_with_rows
        || first.cost < sampling.from_ns
        || sampling.is_interrupted
    {
        return first;
    }
    let mut refinement = Refinement::new(subsets, first.cost, sampling.walked_ns);
    // Interrupted, nobody wants the order any more.
    refinement.order(first, sampling).unwrap_or_default()
}

/// Rows of a partial walk.
#[derive(Clone, Copy)]
struct Sample {
    id: SampleId,
    /// In the sample.
    rows: u64,
    /// That the partial walk has, as far as is known.
    of: f64,
}

struct Refinement<'p> {
    subsets: Subsets<'p>,
    /// By subset; `None` where there is no more to be had.
    samples: HashMap<usize, Option<Sample>>,
    rows_max: u64,
    /// Keys and rows that were touched, and that may be.
    touched: u64,
    touched_max: u64,
    /// Statistics were wrong.
    is_surprised: bool,
    /// Of the component's cost, what is expected to be walked.
    walked: f64,
}

impl<'p> Refinement<'p> {
    fn new(subsets: Subsets<'p>, cost_ns: f64, walked_ns: f64) -> Refinement<'p> {
        let mut refinement = Refinement {
            subsets,
            samples: HashMap::new(),
            rows_max: 0,
            touched: 0,
            touched_max: 0,
            is_surprised: false,
            walked: (walked_ns / cost_ns).min(1.0),
        };
        refinement.expect(cost_ns);
        refinement.rows_max = refinement.rows_affordable();
        refinement
    }

    fn rows_affordable(&self) -> u64 {
        (self.touched_max / SAMPLES).clamp(SAMPLE_ROWS.0, SAMPLE_ROWS.1)
    }

    /// The component is expected to cost so much.
    fn expect(&mut self, cost_ns: f64) {
        let share_ns = cost_ns * self.walked * costs::SAMPLE_SHARE;
        let touched = (share_ns / costs::SAMPLE_TOUCH) as u64;
        let touched = touched.clamp(TOUCHED.0, TOUCHED.1);
        self.touched_max = self.touched_max.max(touched);
    }

    fn left(&self) -> u64 {
        let times = if self.is_surprised { 2 } else { 1 };
        (times * self.touched_max).saturating_sub(self.touched)
    }

    fn order(
        &mut self,
        first: Component,
        sampling: &mut Sampling<'_>,
    ) -> Result<Component, Interrupted> {
        let mut best = first;
        let mut before: Vec<Vec<Ordered>> = Vec::new();
        let mut has_pairs = false;
        loop {
            let mut is_news = self.follow(&best.order, sampling)?;
            if !is_news && !has_pairs {
                has_pairs = true;
                is_news = self.pairs(sampling)?;
            }
            if !is_news {
                return Ok(self.undoubted(best, &before));
            }
            before.push(best.order);
            best = self.best();
            if self.rows_affordable() >= DEEPER * self.rows_max {
                self.rows_max = self.rows_affordable();
                self.samples.clear();
                self.subsets.corrections.clear();
                for order in &before {
                    self.follow(order, sampling)?;
                }
                has_pairs = false;
                best = self.best();
            }
        }
    }

    fn best(&mut self) -> Component {
        self.subsets.corrections.spread();
        let best = dynamic(&mut self.subsets);
        self.expect(best.cost);
        let patterns = self.subsets.patterns.len();
        self.touched += patterns as u64 * (1 << patterns) / costs::ORDERED_PER_TOUCH;
        best
    }

    /// The best order, or an earlier one where that was not followed to its end and is not much better.
    fn undoubted(&mut self, best: Component, before: &[Vec<Ordered>]) -> Component {
        if self.is_followed(&best.order) {
            return best;
        }
        let subsets = &mut self.subsets;
        let before = before.iter().map(|order| subsets.walked_so(order));
        let before = before.min_by(|a, b| a.cost.total_cmp(&b.cost));
        before
            .filter(|before| before.cost < best.cost * DOUBT)
            .unwrap_or(best)
    }

    /// Whether a sample was walked along an order as far as one can be.
    fn is_followed(&self, order: &[Ordered]) -> bool {
        let mut walked = 0;
        for ordered in order {
            let bit = self.bit(ordered);
            if self.may_follow(walked, bit) {
                walked |= bit;
                match self.samples.get(&walked) {
                    None => return false,
                    Some(Some(sample)) if sample.rows > 0 => {}
                    Some(_) => return true,
                }
            }
        }
        true
    }

    fn bit(&self, ordered: &Ordered) -> usize {
        let patterns = self.subsets.patterns;
        let at = patterns.iter().position(|&p| p == ordered.pattern);
        1 << at.expect("an order is of the component's patterns")
    }

    /// Walks a sample along an order, until it is surprised, or the order ends. Says whether something was
    /// found that was not known before.
    fn follow(
        &mut self,
        order: &[Ordered],
        sampling: &mut Sampling<'_>,
    ) -> Result<bool, Interrupted> {
        let mut is_news = false;
        let mut walked = 0;
        for ordered in order {
            let bit = self.bit(ordered);
            if !self.may_follow(walked, bit) {
                continue;
            }
            let is_known = self.samples.contains_key(&(walked | bit));
            if !is_known {
                let expected = self.subsets.unfiltered(walked | bit);
                self.walk(&[(walked, bit)], sampling)?;
                is_news |= self.subsets.corrections.is_found(walked | bit);
                let found = self.samples.get(&(walked | bit)).copied().flatten();
                if found.is_some_and(|found| q_error(expected, found.of as u64) > SURPRISE) {
                    self.is_surprised = true;
                    break;
                }
            }
            walked |= bit;
            if !matches!(self.samples.get(&walked), Some(Some(_))) {
                break;
            }
        }
        Ok(is_news)
    }

    /// Walks samples of all linked pairs, from the end with fewer rows. Says whether any was new.
    fn pairs(&mut self, sampling: &mut Sampling<'_>) -> Result<bool, Interrupted> {
        let count = self.subsets.patterns.len();
        let mut pairs = Vec::new();
        for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let (one, other) = (1 << one, 1 << other);
            if self.may_follow(one, other)
                && self.may_follow(0, one)
                && !self.samples.contains_key(&(one | other))
            {
                let rows = [one, other].map(|bit| self.subsets.unfiltered(bit));
                let (from, to) = if rows[0] < rows[1] {
                    (one, other)
                } else {
                    (other, one)
                };
                pairs.push((rows[0].min(rows[1]), from, to));
            }
        }
        // If not all can be walked, then those where a walk might begin.
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let afford = self.left() / self.rows_max / 3;
        pairs.truncate(afford as usize);
        let mut firsts: Vec<usize> = pairs.iter().map(|(_, from, _)| *from).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.retain(|first| !self.samples.contains_key(first));
        let firsts: Vec<_> = firsts.into_iter().map(|first| (0, first)).collect();
        self.walk(&firsts, sampling)?;
        let pairs: Vec<_> = pairs.into_iter().map(|(_, from, to)| (from, to)).collect();
        self.walk(&pairs, sampling)?;
        Ok(pairs
            .iter()
            .any(|(from, to)| self.subsets.corrections.is_found(from | to)))
    }

    /// Whether a pattern can be walked after these: they share a variable, and it can be asked for.
    fn may_follow(&self, walked: usize, bit: usize) -> bool {
        let subsets = &self.subsets;
        let sized = &subsets.problem.patterns[subsets.patterns[bit.trailing_zeros() as usize]];
        let pattern = &sized.pattern;
        let is_fixed = |node: Node| matches!(node, Node::Constant(_));
        sized.other.is_none()
            && pattern.source.is_store()
            && sized.factor > 0.0
            && is_fixed(pattern.predicate)
            && pattern.graph.is_none_or(is_fixed)
            && (walked == 0 || self.linked(walked, bit) != 0)
    }

    /// Those of these patterns that share a variable with one.
    fn linked(&self, walked: usize, bit: usize) -> usize {
        self.subsets.linked(walked, bit.trailing_zeros() as usize)
    }

    /// Takes samples of subsets one pattern further, as far as there are any and the budget lasts.
    fn walk(
        &mut self,
        walks: &[(usize, usize)],
        sampling: &mut Sampling<'_>,
    ) -> Result<(), Interrupted> {
        let mut asked = Vec::with_capacity(walks.len());
        let mut questions = Vec::with_capacity(walks.len());
        for &(walked, bit) in walks {
            let from = match self.samples.get(&walked) {
                _ if walked == 0 => None,
                Some(Some(sample)) if sample.rows > 0 => Some(*sample),
                _ => continue,
            };
            let pattern = self.subsets.patterns[bit.trailing_zeros() as usize];
            asked.push((walked, bit, from));
            questions.push(SampleQuestion {
                from: from.map(|sample| sample.id),
                pattern: self.subsets.problem.patterns[pattern].pattern,
                rows_max: self.rows_max as u32,
                seed: (walked | bit) as u64,
            });
        }
        if questions.is_empty() || self.left() == 0 {
            return Ok(());
        }
        let answers = sampling.ask(&questions)?;
        assert_eq!(answers.len(), asked.len(), "a question has its answer");
        for ((walked, bit, from), answer) in asked.into_iter().zip(answers) {
            self.note(walked, bit, from, answer);
        }
        Ok(())
    }

    fn note(&mut self, walked: usize, bit: usize, from: Option<Sample>, answer: Option<Sampled>) {
        let subset = walked | bit;
        let Some(sampled) = answer else {
            self.samples.insert(subset, None);
            return;
        };
        self.touched += sampled.touched.max(1);
        assert!(sampled.found >= 0.0, "what was found is a count");
        let expected = self.subsets.by_statistics(subset);
        let for_each = from.map_or(1.0, |from| from.of / sampled.rows_in.max(1) as f64);
        let is_all = from.is_some_and(|from| from.of <= from.rows as f64);
        let of = if sampled.found == 0.0 && from.is_some() && !is_all {
            expected.min(FOUND_NONE * for_each)
        } else {
            sampled.found * for_each
        };
        // A single pattern is what statistics count, and they count all of it.
        let is_counted = from.is_none() && self.is_counted(subset);
        let of = if is_counted { expected } else { of };
        if expected > 0.0 && !is_counted {
            let patterns = self.subsets.patterns.len();
            let factor = of / expected;
            self.subsets.corrections.note(patterns, subset, factor);
            if let Some(from) = from {
                let before = from.of / self.subsets.by_statistics(walked);
                let linked = self.linked(walked, bit);
                let corrections = &mut self.subsets.corrections;
                corrections.note_after(linked, bit, factor / before);
            }
        }
        let sample = Sample {
            id: sampled.id,
            rows: sampled.rows,
            of,
        };
        self.samples.insert(subset, Some(sample));
    }

    /// Whether statistics know the rows of a single pattern: it is of the default graph.
    fn is_counted(&self, subset: usize) -> bool {
        let subsets = &self.subsets;
        let pattern = subsets.patterns[subset.trailing_zeros() as usize];
        let sized = &subsets.problem.patterns[pattern];
        sized.pattern.graph.is_none() && subsets.problem.index.statistics.named_graphs == 0
    }
}

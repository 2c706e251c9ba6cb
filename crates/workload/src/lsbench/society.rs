//! What one entity's number says about it: the shared facts that stored data and streams agree on.
//!
//! Invariant: no fact is kept; each is a function of the parameters and the entity's number, found in some nanoseconds
//! (friends: 1 us). Two writers that name the same user say the same of it.

use super::draws::{Purpose, Seed, Sequence, table};
use super::lines::Seconds;
use super::network::{Friends, Network, Pass};
use super::words::{INTERESTS, Vocabulary, Words};

/// When the recording begins: 2010-02-01, as the original's.
pub(super) const BEGIN: Seconds = Seconds(1_264_982_400);
/// Users of a university (count, about).
const UNIVERSITY_USERS: u32 = 40;
/// Interests of a user: mean 3.55, at most 9.
const INTEREST_COUNTS: [u8; 256] = table(&[0, 47, 45, 41, 38, 38, 28, 13, 5, 1]);
const BROWSERS: [&str; 5] = ["Firefox", "Chrome", "Internet Explorer", "Safari", "Opera"];
/// Of 256 users so many use each browser.
const BROWSER_SHARES: [u8; 256] = table(&[107, 72, 60, 10, 7]);
const AGENTS: [&str; 8] = [
    "iPhone",
    "iPad",
    "HTC",
    "Nokia",
    "Samsung",
    "Motorola",
    "LG",
    "Sony Ericsson",
];

/// All users, as functions.
#[derive(Debug)]
pub(super) struct Society {
    pub(super) seed: Seed,
    pub(super) users: u32,
    pub(super) words: Words,
    network: Network,
}

impl Society {
    pub(super) fn new(seed: u64, users: u32) -> Self {
        let seed = Seed::new(seed);
        Self {
            seed,
            users,
            words: Words::new(),
            network: Network::new(seed, users),
        }
    }

    /// Finds a user's friendships.
    pub(super) fn friends(&self, user: u32, found: &mut Friends) {
        self.network.friends(user, found);
    }

    /// A user drawn uniformly.
    pub(super) fn any_user(&self, draws: &mut Sequence) -> u32 {
        draws.below(u64::from(self.users)) as u32
    }

    /// The user at a place of the random order.
    pub(super) fn shuffled(&self, place: u32) -> u32 {
        self.network.at(Pass::Random, place)
    }

    /// Where the user lives.
    pub(super) fn country(&self, user: u32) -> usize {
        self.words
            .country(self.network.place(Pass::Place, user), self.users)
    }

    /// The number of the user's university: those who stand together in the first order share it.
    pub(super) fn university(&self, user: u32) -> u64 {
        u64::from(self.network.place(Pass::Place, user) / UNIVERSITY_USERS)
    }

    /// How many interests the user has.
    pub(super) fn interest_count(&self, user: u32) -> usize {
        let quantile = self.seed.quantile(Purpose::InterestCount, u64::from(user));
        usize::from(INTEREST_COUNTS[usize::from(quantile)])
    }

    /// An interest of the user: number 0 is the main one, by which the second pass orders. All differ.
    pub(super) fn interest(&self, user: u32, number: usize) -> usize {
        let place = u64::from(self.network.place(Pass::Interest, user));
        // The square prefers interests with small numbers.
        let main = place * place * INTERESTS as u64 / u64::from(self.users).pow(2);
        let step = 1 + 2 * self.seed.below(Purpose::Interest, u64::from(user), 7) as usize;
        // An odd step that is not a multiple of 3 is prime to 48: no interest comes twice.
        let step = if step.is_multiple_of(3) {
            step + 2
        } else {
            step
        };
        (main as usize + number * step) % INTERESTS
    }

    /// What the user writes about, drawn: mostly an interest, else the country.
    pub(super) fn topic(&self, user: u32, draws: &mut Sequence) -> Vocabulary {
        const OF_TEN_ON_INTERESTS: u64 = 6;
        if draws.below(10) >= OF_TEN_ON_INTERESTS {
            return Vocabulary::country(self.country(user));
        }
        let number = draws.below(self.interest_count(user) as u64) as usize;
        Vocabulary::interest(self.interest(user, number))
    }

    /// Appends some 20 to 80 characters of text: frequent words of a vocabulary.
    pub(super) fn push_text(&self, about: Vocabulary, draws: &mut Sequence, out: &mut Vec<u8>) {
        let words = 3 + draws.below(9);
        for word in 0..words {
            if word > 0 {
                out.push(b' ');
            }
            let rank = self.words.rank(draws);
            out.extend_from_slice(self.words.word(about, rank).as_bytes());
        }
    }

    /// The user's browser.
    pub(super) fn browser(&self, user: u32) -> &'static str {
        let quantile = self.seed.quantile(Purpose::Browser, u64::from(user));
        BROWSERS[usize::from(BROWSER_SHARES[usize::from(quantile)])]
    }

    /// Appends the user's address.
    pub(super) fn push_address(&self, user: u32, out: &mut Vec<u8>) {
        let bytes = self
            .seed
            .draw(Purpose::Address, u64::from(user))
            .to_le_bytes();
        for (at, byte) in bytes[..4].iter().enumerate() {
            if at > 0 {
                out.push(b'.');
            }
            super::lines::push_decimal(out, u64::from((*byte).max(1)));
        }
    }

    /// A device that a thing was sent from, where it was: `share` of 256 are.
    pub(super) fn agent(&self, purpose: Purpose, id: u64, share: u8) -> Option<&'static str> {
        (self.seed.quantile(purpose, id) < share).then(|| self.any_agent(purpose, id))
    }

    /// The device that a thing was sent from.
    pub(super) fn any_agent(&self, purpose: Purpose, id: u64) -> &'static str {
        AGENTS[self.seed.below(purpose, id, AGENTS.len() as u64) as usize]
    }
}

/// A moment after another.
pub(super) fn later(than: Seconds, by_seconds: u64) -> Seconds {
    Seconds(than.0 + by_seconds)
}

//! Words, names and places.
//!
//! Invariant: every word is made of syllables from its number; there is no dictionary. Countries are facts: their names
//! as DBpedia spells them (two of them stand in query S6), a rough share of the users each, and a point within each.
//!
//! A *vocabulary* is what one writes about: one for each interest and one for each country, of
//! [`VOCABULARY_WORDS`] words each, whose frequencies follow Zipf's law.

use super::draws::Sequence;
use super::lines::MicroDegrees;

/// Interests that users may have (count). The original had 34 among 1,000 users.
pub(super) const INTERESTS: usize = 48;
/// Words of a vocabulary (count): few enough that two posts of one author share .28 hashtags on average, which decides
/// the rows of query L4.
pub(super) const VOCABULARY_WORDS: usize = 12;
const FIRST_NAMES: usize = 256;
const LAST_NAMES: usize = 1024;
/// Towns of a country (count).
pub(super) const TOWNS: usize = 16;

/// A country: its name, its share of the users (thousandths), a point within it.
#[derive(Debug)]
pub(super) struct Country {
    pub(super) name: &'static str,
    share: u16,
    latitude: i16,
    longitude: i16,
}

macro_rules! countries {
    ($($name:literal $share:literal $latitude:literal $longitude:literal,)*) => {
        [$(Country { name: $name, share: $share, latitude: $latitude, longitude: $longitude }),*]
    };
}

/// Where users live, in the order of the first pass of friendships.
pub(super) const COUNTRIES: [Country; 40] = countries! {
    "Peoples_Republic_of_China" 224 35 104, "India" 186 22 79, "Indonesia" 37 -2 118, "Japan" 24 36 138,
    "Vietnam" 17 16 107, "Philippines" 17 12 122, "Thailand" 12 15 101, "South_Korea" 10 36 128,
    "Burma" 9 21 96, "Malaysia" 7 3 102, "Pakistan" 28 30 70, "Bangladesh" 26 24 90,
    "Nepal" 6 28 84, "Sri_Lanka" 5 7 81, "Iran" 13 32 54, "Turkey" 13 39 35,
    "Iraq" 6 33 44, "Yemen" 5 15 48, "Russia" 26 56 38, "Ukraine" 9 49 32,
    "Poland" 8 52 20, "Germany" 16 51 10, "France" 12 47 2, "Italy" 11 43 12,
    "Spain" 9 40 -4, "United_Kingdom" 12 54 -2, "Netherlands" 5 52 5, "Romania" 5 46 25,
    "Egypt" 15 27 30, "Nigeria" 27 9 8, "Ethiopia" 14 8 39, "Kenya" 8 0 38,
    "South_Africa" 9 -29 25, "Morocco" 6 32 -6, "United_States" 55 39 -98, "Canada" 8 56 -106,
    "Mexico" 19 23 -102, "Brazil" 34 -10 -53, "Argentina" 9 -35 -65, "Australia" 38 -25 135,
};

/// A vocabulary: that of an interest, or of a country.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vocabulary(usize);

impl Vocabulary {
    pub(super) fn interest(interest: usize) -> Self {
        Self(interest)
    }

    pub(super) fn country(country: usize) -> Self {
        Self(INTERESTS + country)
    }
}

/// All texts that data are made of.
#[derive(Debug)]
pub(super) struct Words {
    first_names: Vec<String>,
    last_names: Vec<String>,
    /// Of all vocabularies, one after the other.
    vocabularies: Vec<String>,
    /// By country, [`TOWNS`] each.
    towns: Vec<String>,
    /// The sum of the countries' shares up to each.
    shares: Vec<u64>,
    /// By rank: the bound below which a draw of 32 bits gives it or one before it.
    ranks: [u32; VOCABULARY_WORDS],
}

impl Words {
    pub(super) fn new() -> Self {
        let mut numbers = 0_u64..;
        let mut made = |count| numbers.by_ref().take(count).map(word).collect();
        Self {
            first_names: made(FIRST_NAMES),
            last_names: made(LAST_NAMES),
            vocabularies: made((INTERESTS + COUNTRIES.len()) * VOCABULARY_WORDS),
            towns: made(COUNTRIES.len() * TOWNS),
            shares: COUNTRIES
                .iter()
                .scan(0, |sum, country| {
                    *sum += u64::from(country.share);
                    Some(*sum)
                })
                .collect(),
            ranks: zipf(),
        }
    }

    pub(super) fn first_name(&self, draw: u64) -> &str {
        pick(&self.first_names, draw)
    }

    pub(super) fn last_name(&self, draw: u64) -> &str {
        pick(&self.last_names, draw)
    }

    /// A town of a country.
    pub(super) fn town(&self, country: usize, draw: u64) -> &str {
        pick(&self.towns[country * TOWNS..][..TOWNS], draw)
    }

    /// An interest's name: two words.
    pub(super) fn interest(&self, interest: usize) -> [&str; 2] {
        let words = self.words_of(Vocabulary::interest(interest));
        [&words[0], &words[1]]
    }

    /// The word of a rank.
    #[inline]
    pub(super) fn word(&self, vocabulary: Vocabulary, rank: usize) -> &str {
        &self.words_of(vocabulary)[rank]
    }

    /// The rank of a word, drawn by Zipf's law.
    #[inline]
    pub(super) fn rank(&self, draws: &mut Sequence) -> usize {
        let draw = (draws.draw() >> 32) as u32;
        self.ranks
            .partition_point(|&bound| bound <= draw)
            .min(VOCABULARY_WORDS - 1)
    }

    /// The country at a place of `count` in the order of countries.
    pub(super) fn country(&self, place: u32, count: u32) -> usize {
        let total = self.shares[COUNTRIES.len() - 1];
        let share = u64::from(place) * total / u64::from(count);
        self.shares.partition_point(|&sum| sum <= share)
    }

    fn words_of(&self, vocabulary: Vocabulary) -> &[String] {
        &self.vocabularies[vocabulary.0 * VOCABULARY_WORDS..][..VOCABULARY_WORDS]
    }
}

/// A point within some 3 degrees of a country's: its latitude and longitude.
pub(super) fn point_of(country: usize, draw: u64) -> (MicroDegrees, MicroDegrees) {
    const SPREAD: u64 = 6_000_000;
    let at = |degrees: i16, bits: u64| {
        let offset = (bits % SPREAD) as i32 - (SPREAD / 2) as i32;
        MicroDegrees(i32::from(degrees) * 1_000_000 + offset)
    };
    let country = &COUNTRIES[country];
    (
        at(country.latitude, draw & 0xFFFF_FFFF),
        at(country.longitude, draw >> 32),
    )
}

fn pick(from: &[String], draw: u64) -> &str {
    &from[(draw % from.len() as u64) as usize]
}

/// The word of a number: three syllables, different for all numbers below 512,000.
fn word(number: u64) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 5] = b"aeiou";
    const SYLLABLES: u64 = 80;
    // 7919 is prime to 80, so multiplying permutes the numbers below 80 * 80 * 80.
    let mut rest = number * 7919 % (SYLLABLES * SYLLABLES * SYLLABLES);
    let mut word = String::with_capacity(6);
    for _ in 0..3 {
        let syllable = (rest % SYLLABLES) as usize;
        word.push(char::from(CONSONANTS[syllable % 16]));
        word.push(char::from(VOWELS[syllable / 16]));
        rest /= SYLLABLES;
    }
    word[..1].make_ascii_uppercase();
    word
}

/// Bounds of ranks: rank `r` has a probability proportional to `1 / (r + 1)`. In whole numbers, so that all machines
/// have the same.
fn zipf() -> [u32; VOCABULARY_WORDS] {
    let weight = |rank: usize| (1_u64 << 40) / (rank as u64 + 1);
    let total: u64 = (0..VOCABULARY_WORDS).map(weight).sum();
    let mut sum = 0;
    std::array::from_fn(|rank| {
        sum += weight(rank);
        (u128::from(sum) * u128::from(u32::MAX) / u128::from(total)) as u32
    })
}

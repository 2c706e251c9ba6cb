//! Who knows whom.
//!
//! Three passes order the users: by country and university, by main interest, at random. Within an order a user picks
//! friends among the next [`WINDOW`] users, so the cost is linear. 30 % of a user's picks are made in the first pass,
//! 30 % in the second, the rest in the third. A friendship that two passes make is one; the earlier pass's stands.
//!
//! ```text
//! order of a pass:  ... v . . u . . . w ...      v picks u, u picks w: both distances are below WINDOW
//! ```
//!
//! Invariant: `friends(u)` is a function of the parameters and `u`, and `v` is in it exactly if `u` is in `friends(v)`.
//! It needs no table: a user's own picks are drawn, and whether one of the `WINDOW` users before picked this one is
//! asked of a permutation's inverse. So a shard, a stream and a query's start point see the same graph without talk.
//!
//! A user makes 2 to 18 picks and gets about as many, which gives the original's 2 to 35 friends with mean 19.2 (at a
//! million users the largest has some 45). A request in [`DECLINED_PER_USER_OF_256`] users of 256 is declined; half
//! of these are approved later. Cost: three orders, [`WINDOW`] inverse draws each, about 1 us a user.

use super::draws::{Order, Purpose, Seed};

/// How far a user looks in an order (users). A power of two. It decides how many friends of a user know each other,
/// hence the rows of query L5: 5.7 % of the pairs of a photo's tagged and likers in the original.
pub(super) const WINDOW: u32 = 16;
/// Fewer users than this would meet from both sides in one pass.
pub(super) const USERS_MIN: u32 = 2 * WINDOW + 1;
/// Of 256 users so many have a request declined: one pick in 55.
const DECLINED_PER_USER_OF_256: u8 = 46;
/// Of those so many have it approved later.
const REAPPROVED_OF_256: u8 = 24;

/// The passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Place,
    Interest,
    Random,
}

impl Pass {
    const ALL: [Self; 3] = [Self::Place, Self::Interest, Self::Random];
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Approved,
    Declined,
    Reapproved,
}

/// A friendship that a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Number among the user's picks; below [`PICKS_MAX`].
    pub(super) number: u8,
    pub(super) of: u32,
    pub(super) answer: Answer,
}

/// Picks of a user (count).
pub(super) const PICKS_MAX: u32 = PICKS_MIN + 255 * PICKS_SPREAD / 1024;
const PICKS_MIN: u32 = 2;
/// Picks for each quantile, in units of 1 / 1,024: the mean is 9.7 picks, of which 1.5 % are made twice among 1,000 users.
const PICKS_SPREAD: u32 = 66;

/// The friendships of one user; a buffer that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Friends {
    /// Whom the user knows.
    pub(super) known: Vec<u32>,
    /// What the user asked for.
    pub(super) requests: Vec<Request>,
    /// All that the user has a friendship with, declined ones included.
    met: Vec<u32>,
}

/// The graph of friendships.
#[derive(Clone, Debug)]
pub(super) struct Network {
    seed: Seed,
    users: u32,
    orders: [Order; 3],
}

impl Network {
    pub(super) fn new(seed: Seed, users: u32) -> Self {
        Self {
            seed,
            users,
            orders: [0, 1, 2].map(|number| Order::new(seed, number, users)),
        }
    }

    /// A user's place in a pass.
    pub(super) fn place(&self, pass: Pass, user: u32) -> u32 {
        self.orders[pass as usize].place(user)
    }

    /// The user at a place of a pass.
    pub(super) fn at(&self, pass: Pass, place: u32) -> u32 {
        self.orders[pass as usize].element(place)
    }

    /// Finds a user's friendships.
    pub(super) fn friends(&self, user: u32, found: &mut Friends) {
        found.known.clear();
        found.requests.clear();
        found.met.clear();
        for pass in Pass::ALL {
            let place = self.place(pass, user);
            self.add_own(pass, user, place, found);
            self.add_others(pass, user, place, found);
        }
    }

    fn add_own(&self, pass: Pass, user: u32, place: u32, found: &mut Friends) {
        let picks = self.picks(user);
        let (first, count) = picks.of(pass);
        let scatter = Scatter::new(self.seed, pass, user);
        for number in 0..count {
            let distance = scatter.value(number) + 1;
            let other = self.at(pass, (place + distance) % self.users);
            if other == user || found.met.contains(&other) {
                continue;
            }
            found.met.push(other);
            let number = first + number;
            let answer = picks.answer(number);
            found.requests.push(Request {
                number: number as u8,
                of: other,
                answer,
            });
            if answer != Answer::Declined {
                found.known.push(other);
            }
        }
    }

    fn add_others(&self, pass: Pass, user: u32, place: u32, found: &mut Friends) {
        for distance in 1..=WINDOW {
            let before = (place + self.users - distance) % self.users;
            let other = self.at(pass, before);
            let picks = self.picks(other);
            let (first, count) = picks.of(pass);
            let number = Scatter::new(self.seed, pass, other).number(distance - 1);
            if number >= count || other == user || found.met.contains(&other) {
                continue;
            }
            found.met.push(other);
            if picks.answer(first + number) != Answer::Declined {
                found.known.push(other);
            }
        }
    }

    fn picks(&self, user: u32) -> Picks {
        let id = u64::from(user);
        let quantile = u32::from(self.seed.quantile(Purpose::FriendsPicked, id));
        let total = PICKS_MIN + quantile * PICKS_SPREAD / 1024;
        let declined = self.seed.quantile(Purpose::Declined, id);
        let answer = if declined < REAPPROVED_OF_256 {
            Answer::Reapproved
        } else {
            Answer::Declined
        };
        Picks {
            total,
            exception: (declined < DECLINED_PER_USER_OF_256).then(|| {
                let number = self.seed.below(Purpose::Declined, id, u64::from(total));
                (number as u32, answer)
            }),
        }
    }
}

/// How many picks a user makes, and which of them was declined first.
struct Picks {
    total: u32,
    exception: Option<(u32, Answer)>,
}

impl Picks {
    /// The first of a pass's picks, and how many they are.
    fn of(&self, pass: Pass) -> (u32, u32) {
        let part = (self.total * 3 + 5) / 10;
        match pass {
            Pass::Place => (0, part),
            Pass::Interest => (part, part),
            Pass::Random => (2 * part, self.total - 2 * part),
        }
    }

    fn answer(&self, number: u32) -> Answer {
        match self.exception {
            Some((exception, answer)) if exception == number => answer,
            _ => Answer::Approved,
        }
    }
}

/// A permutation of the distances below [`WINDOW`]: a user's `number`-th pick in a pass lies at `value(number)`.
struct Scatter {
    factor: u32,
    addend: u32,
}

impl Scatter {
    fn new(seed: Seed, pass: Pass, user: u32) -> Self {
        let bits = seed.draw(Purpose::Pick, u64::from(user) * 4 + pass as u64);
        Self {
            factor: (bits as u32) | 1,
            addend: (bits >> 32) as u32,
        }
    }

    fn value(&self, number: u32) -> u32 {
        number.wrapping_mul(self.factor).wrapping_add(self.addend) % WINDOW
    }

    /// The number whose value this is: modulo 16, the cube of an odd number is its inverse.
    fn number(&self, value: u32) -> u32 {
        let inverse = self
            .factor
            .wrapping_mul(self.factor)
            .wrapping_mul(self.factor);
        value.wrapping_sub(self.addend).wrapping_mul(inverse) % WINDOW
    }
}

const _: () = assert!(WINDOW == 16, "`Scatter::number` inverts modulo 16");
const _: () = assert!(PICKS_MAX * 4 / 10 < WINDOW, "a pass's picks differ");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friendship_is_mutual_and_asked_for_once() {
        for users in [USERS_MIN, 34, 65, 700] {
            let network = Network::new(Seed::new(5), users);
            let all: Vec<Friends> = (0..users)
                .map(|user| {
                    let mut found = Friends::default();
                    network.friends(user, &mut found);
                    found
                })
                .collect();
            for (user, friends) in all.iter().enumerate() {
                for &other in &friends.known {
                    assert_ne!(other as usize, user);
                    assert!(all[other as usize].known.contains(&(user as u32)));
                }
                for request in &friends.requests {
                    let back = &all[request.of as usize].requests;
                    assert!(back.iter().all(|request| request.of as usize != user));
                }
                let mut known = friends.known.clone();
                known.sort_unstable();
                known.dedup();
                assert_eq!(known.len(), friends.known.len());
            }
        }
    }
}

//! Memory that a request holds outside of the engine: its body, its threads, output that its client has not
//! taken. It is drawn on the pool of all queries, before it grows, so that there is one account of what
//! requests can make grow.
//!
//! Bodies that still arrive may hold a quarter of the pool together ([`BODIES`]): a client decides how long
//! they take, and queries need the rest.

use crate::response::problem::Problem;
use somersault::budget::{Budget, Pool};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part of the pool that bodies may hold together.
const BODIES: u64 = 4;
/// How often a request that waits for memory asks again.
const PAUSE: Duration = Duration::from_millis(10);

/// The pool of all requests, and what bodies may take of it.
#[derive(Debug)]
pub(crate) struct Accounts {
    pool: Arc<Pool>,
    bodies: Arc<Pool>,
}

/// What one body holds.
#[derive(Debug)]
pub(crate) struct BodyAccount {
    of_all: Budget,
    of_bodies: Budget,
}

impl Accounts {
    /// Accounts on this pool.
    pub fn on(pool: &Arc<Pool>) -> Accounts {
        Accounts {
            pool: Arc::clone(pool),
            bodies: Pool::new(pool.limit_bytes() / BODIES),
        }
    }

    /// An account for a body, which holds nothing yet.
    pub fn body(&self) -> BodyAccount {
        BodyAccount {
            of_all: Budget::new(&self.pool, u64::MAX),
            of_bodies: Budget::new(&self.bodies, u64::MAX),
        }
    }

    /// An account that holds so many bytes; waits for them, at most so long. Dropping the future ends the
    /// wait.
    pub async fn wait_for(&self, bytes: u64, patience: Duration) -> Option<Budget> {
        let begun = Instant::now();
        let budget = Budget::new(&self.pool, u64::MAX);
        while budget.take(bytes).is_err() {
            if begun.elapsed() >= patience {
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Some(budget)
    }
}

impl BodyAccount {
    /// Takes bytes before a body grows by them; 503 where there are none.
    pub fn take(&self, bytes: u64) -> Result<(), Problem> {
        let short = |_| {
            let why = "the memory for the bodies of requests is in use";
            Problem::overloaded(why).with_hint("send it again later, or in smaller parts")
        };
        self.of_bodies.take(bytes).map_err(short)?;
        self.of_all.take(bytes).map_err(|exhausted| {
            self.of_bodies.give_back(bytes);
            short(exhausted)
        })
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: u64) {
        self.of_bodies.give_back(bytes);
        self.of_all.give_back(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_a_part_of_the_pool_at_most_and_give_it_back() {
        let pool = Pool::new(1 << 20);
        let accounts = Accounts::on(&pool);
        let (first, second) = (accounts.body(), accounts.body());
        first.take(200 << 10).unwrap();
        assert!(second.take(100 << 10).is_err());
        assert_eq!(pool.used_bytes(), 200 << 10);
        first.give_back(150 << 10);
        second.take(100 << 10).unwrap();
        drop((first, second));
        assert_eq!(pool.used_bytes(), 0);
        assert_eq!(accounts.bodies.used_bytes(), 0);
    }

    #[tokio::test]
    async fn memory_is_waited_for_but_not_for_ever() {
        let pool = Pool::new(1 << 20);
        let accounts = Accounts::on(&pool);
        let first = accounts.wait_for(900 << 10, Duration::ZERO).await.unwrap();
        assert!(accounts.wait_for(500 << 10, 2 * PAUSE).await.is_none());
        let waiting = accounts.wait_for(500 << 10, Duration::from_secs(20));
        let freeing = async {
            tokio::time::sleep(3 * PAUSE).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(waiting, freeing);
        assert!(second.is_some());
    }
}

//! Memory that a request holds outside of the engine: its body, its threads, output that its client has not
//! taken. It is drawn on the pool of all queries, before it grows, so that there is one account of what
//! requests can make grow.
//!
//! Bodies that still arrive may hold a quarter of the pool together ([`BODIES`]): a client decides how long
//! they take, and queries need the rest. They arrive at the pace of one [`Throttle`].

use crate::response::problem::Problem;
use crate::run::throttle::Throttle;
use somersault::budget::{Budget, Pool};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part of the pool that bodies may hold together.
const BODIES: u64 = 4;
/// How often a request that waits for memory asks again.
const PAUSE: Duration = Duration::from_millis(10);
/// How often a body that waits for memory asks again, and how long it does: a little later there may be some,
/// and a client that is refused at once is back at once.
const BODY_PAUSE: Duration = Duration::from_millis(50);
const BODY_PATIENCE: Duration = Duration::from_secs(1);
const _: () = assert!(BODIES > 1, "bodies leave memory to queries");
const _: () = assert!(
    BODY_PAUSE.as_nanos() < BODY_PATIENCE.as_nanos(),
    "a body asks again"
);

/// The pool of all requests, and what bodies may take of it.
#[derive(Debug)]
pub(crate) struct BodyAccounts {
    pool: Arc<Pool>,
    bodies: Arc<Pool>,
    throttle: Arc<Throttle>,
}

/// What one body holds.
#[derive(Debug)]
pub(crate) struct BodyAccount {
    of_all: Budget,
    of_bodies: Budget,
    throttle: Arc<Throttle>,
}

impl BodyAccounts {
    /// Accounts on this pool, of a server with so many shares of the processors.
    pub fn on(pool: &Arc<Pool>, shares: usize) -> BodyAccounts {
        BodyAccounts {
            pool: Arc::clone(pool),
            bodies: Pool::new(pool.limit_bytes() / BODIES),
            throttle: Arc::new(Throttle::of_bodies(shares)),
        }
    }

    /// An account for a body, which holds nothing yet.
    pub fn body(&self) -> BodyAccount {
        BodyAccount {
            of_all: Budget::new(&self.pool, u64::MAX),
            of_bodies: Budget::new(&self.bodies, u64::MAX),
            throttle: Arc::clone(&self.throttle),
        }
    }

    /// An account that holds so many bytes; waits for them, at most so long. Dropping the future ends the
    /// wait.
    pub async fn wait_for(&self, bytes: u64, patience: Duration) -> Option<Budget> {
        let budget = Budget::new(&self.pool, u64::MAX);
        let taken = retried(|| budget.take(bytes), PAUSE, patience).await;
        taken.ok().map(|()| budget)
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

    /// The same; waits a little for them.
    pub async fn wait_for(&self, bytes: u64) -> Result<(), Problem> {
        retried(|| self.take(bytes), BODY_PAUSE, BODY_PATIENCE).await
    }

    /// So many bytes of the body have arrived: waits until more of it may be read.
    pub async fn arrived(&self, bytes: u64) {
        self.throttle.pass(bytes).await;
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: u64) {
        self.of_bodies.give_back(bytes);
        self.of_all.give_back(bytes);
    }
}

/// Takes memory, each time after a pause, until there is some or the patience is over.
async fn retried<E>(
    take: impl Fn() -> Result<(), E>,
    pause: Duration,
    patience: Duration,
) -> Result<(), E> {
    let begun = Instant::now();
    loop {
        let taken = take();
        if taken.is_ok() || begun.elapsed() >= patience {
            return taken;
        }
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_hold_a_part_of_the_pool_at_most_and_give_it_back() {
        let pool = Pool::new(1 << 20);
        let accounts = BodyAccounts::on(&pool, 1);
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
    async fn a_body_waits_a_little_for_memory() {
        let accounts = BodyAccounts::on(&Pool::new(1 << 20), 1);
        let (first, second) = (accounts.body(), accounts.body());
        first.take(200 << 10).unwrap();
        let freeing = async {
            tokio::time::sleep(BODY_PAUSE).await;
            drop(first);
        };
        let (taken, ()) = tokio::join!(second.wait_for(200 << 10), freeing);
        taken.unwrap();
        let begun = Instant::now();
        assert!(accounts.body().wait_for(200 << 10).await.is_err());
        assert!(begun.elapsed() >= BODY_PATIENCE);
    }

    #[tokio::test]
    async fn memory_is_waited_for_but_not_for_ever() {
        let pool = Pool::new(1 << 20);
        let accounts = BodyAccounts::on(&pool, 1);
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

//! Live queries: a `SELECT`, `ASK` or `CONSTRUCT` over the store, answered first whole, then by how the answer changes.
//!
//! ```text
//!  commits ---> versions ---> worker: touched? ---> evaluated ---> difference ---> consumers
//!     |                          ^
//!     '--- what each touches ----'
//! ```
//!
//! **Differences are of bags.** A row that is there three times counts three times; the triples of a graph are there
//! once. The order of rows is not part of them, so `ORDER BY` decides only which rows a `LIMIT` leaves. Where a query
//! leaves something open (a `LIMIT` without a total order, `SAMPLE`, `GROUP_CONCAT`), each evaluation may choose anew,
//! and the differences say so: their sum is always an answer of the query.
//!
//! **When it is evaluated.** By one thread of its own, after commits have been published, whoever made them; never for
//! commits that touch none of its predicates ([`question`]), and never while nobody reads it. Several commits may be one
//! difference: its number is that of the snapshot that was looked at. So a slow evaluation holds up no commit and no
//! queue grows. After an evaluation the query rests as long as it took, so it takes half a processor at most.
//!
//! **Consumers.** Equal requests share a subscription. Who reads nothing costs little: differences are made one
//! ([`history`]). When the last one leaves, the answer is kept for [`SubscriptionLimits::linger`], so that it can come
//! back and get the difference. An evaluation that fails (its time, its memory, an answer that is too large) ends the
//! subscription with that error.
//!
//! **Blank nodes** are those of the store by their labels. Those of a template are named by the solution that they are
//! made for: the terms of the template's variables, and how many equal solutions came before.
//!
//! | module | about |
//! |---|---|
//! | [`question`] | what is asked, what is refused, what is read |
//! | [`evaluation`] | one evaluation |
//! | [`bag`] | an answer, and how it changes |
//! | [`history`] | the latest differences |
//! | [`subscription`] | one live query and its consumers |
//! | [`change`] | what a consumer gets |
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Table` | whoever subscribes; the worker, that forgets; under the lock | the same |
//! | `is_ending` | whoever ends the server, once | consumers that wait, the worker |

mod bag;
mod change;
mod evaluation;
mod history;
mod question;
mod subscription;

pub use change::{ChangePieces, LiveChange, WeightedRow};
pub use subscription::SubscriptionInfo;

use super::report::ReportKind;
use crate::change::writer::news::{News, Watching};
use crate::database::Database;
use crate::error::{Kind, QueryError, Unit};
use crate::request::Request;
use bag::Bag;
use question::{Asked, Question};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use subscription::{ConsumerId, Due, Subscription};

/// Bounds of all live queries of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriptionLimits {
    /// Subscriptions at once (count); equal requests share one.
    pub count_max: usize,
    /// What one answer may take (bytes). Its differences may take as much again.
    pub answer_bytes_max: u64,
    /// How long an answer is kept when nobody reads it.
    pub linger: Duration,
}

impl Default for SubscriptionLimits {
    fn default() -> SubscriptionLimits {
        SubscriptionLimits {
            count_max: 256,
            answer_bytes_max: 64 << 20,
            linger: Duration::from_mins(1),
        }
    }
}

/// What has come of all live queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionFigures {
    /// Subscriptions now.
    pub subscriptions: u64,
    /// Consumers of these.
    pub consumers: u64,
    /// Evaluations, the first ones of subscriptions included.
    pub evaluations: u64,
    /// Looks at what was committed that showed that a subscription need not be evaluated.
    pub skips: u64,
    /// Subscriptions that an error has ended.
    pub failures: u64,
}

/// All live queries of a database. Cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Subscriptions {
    registry: Arc<Registry>,
}

struct Registry {
    database: Database,
    limits: SubscriptionLimits,
    /// What commits touch; of a database that nobody changes it says nothing.
    news: Arc<News>,
    table: Mutex<Table>,
    is_ending: AtomicBool,
    evaluations: AtomicU64,
    skips: AtomicU64,
    failures: AtomicU64,
}

#[derive(Default)]
struct Table {
    subscriptions: HashMap<Asked, Arc<Subscription>>,
    /// There are subscriptions, and so a worker for whom commits are noted.
    watching: Option<Watching>,
}

impl Subscriptions {
    /// None yet.
    pub fn new(database: Database, limits: SubscriptionLimits) -> Subscriptions {
        let news = database.publisher().map(|it| Arc::clone(&it.news));
        Subscriptions {
            registry: Arc::new(Registry {
                database,
                limits,
                news: news.unwrap_or_default(),
                table: Mutex::default(),
                is_ending: AtomicBool::new(false),
                evaluations: AtomicU64::new(0),
                skips: AtomicU64::new(0),
                failures: AtomicU64::new(0),
            }),
        }
    }

    /// Subscribes. A query that nobody has subscribed to is evaluated on the calling thread, within its time. `seen`: the
    /// snapshot of the answer that the consumer has, by [`LiveChange::snapshot`] of the same request; it gets the
    /// difference where that is known, and else the whole answer. `told` is called when there may be something to read; it
    /// must neither block nor call anything here. Needs `query::STACK_BYTES_MIN` (2 MiB) of stack.
    ///
    /// Errors: what cannot be a live query, with its place; too many subscriptions; whatever ends a query.
    pub fn subscribe(
        &self,
        request: &Request<'_>,
        seen: Option<u64>,
        told: impl Fn() + Send + Sync + 'static,
    ) -> Result<Subscriber, QueryError> {
        let registry = &self.registry;
        let shared = registry.database.shared();
        let question = Question::read(shared, request)?;
        let least = registry.database.snapshot_number();
        let enter = |it: &Subscription| it.enter(seen, least, Box::new(told));
        let (subscription, id, bag) = registry.entered(question, enter)?;
        let subscriber = Subscriber {
            subscription: Arc::clone(&subscription),
            registry: Arc::clone(registry),
            id,
        };
        if let Some(bag) = bag {
            registry.evaluate(&subscription, bag)?;
        }
        registry.news.ring();
        Ok(subscriber)
    }

    /// What has come of them.
    pub fn figures(&self) -> SubscriptionFigures {
        let list = self.list();
        let registry = &self.registry;
        SubscriptionFigures {
            subscriptions: list.len() as u64,
            consumers: list.iter().map(|it| it.consumers as u64).sum(),
            evaluations: registry.evaluations.load(Ordering::Relaxed),
            skips: registry.skips.load(Ordering::Relaxed),
            failures: registry.failures.load(Ordering::Relaxed),
        }
    }

    /// The subscriptions, in no order.
    pub fn list(&self) -> Vec<SubscriptionInfo> {
        let all = self.registry.all();
        all.iter().map(|it| it.info()).collect()
    }

    /// Lets all consumers go: who waits gets nothing more, and nothing is evaluated any more.
    pub fn end(&self) {
        self.registry.is_ending.store(true, Ordering::SeqCst);
        self.registry.all().iter().for_each(|it| it.wake());
        self.registry.news.ring();
    }
}

/// A consumer of a live query; it leaves when it is dropped.
pub struct Subscriber {
    subscription: Arc<Subscription>,
    registry: Arc<Registry>,
    id: ConsumerId,
}

impl Subscriber {
    /// What is new: the whole answer, or how it differs from what this gave before; `None`: nothing yet. An error is why
    /// the subscription has ended.
    pub fn poll(&self) -> Result<Option<LiveChange>, QueryError> {
        self.subscription.read(self.id)
    }

    /// The same; waits for it, at most so long, and not while the subscriptions are being ended.
    pub fn wait(&self, patience: Duration) -> Result<Option<LiveChange>, QueryError> {
        let is_ending = || self.registry.is_ending.load(Ordering::SeqCst);
        self.subscription.wait(self.id, patience, &is_ending)
    }
}

impl Subscriber {
    /// What the rows of its answers are.
    pub fn kind(&self) -> ReportKind {
        self.subscription.kind()
    }

    /// Whether what it reads is as new as what was published when it came.
    pub fn is_current(&self) -> bool {
        self.subscription.is_current(self.id)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.subscription.leave(self.id);
        // The worker sees when it is to be forgotten.
        self.registry.news.ring();
    }
}

impl Registry {
    /// The subscription of a question, with a consumer that enters; a new one comes with its bag, to be evaluated. With
    /// the lock of the table, or it might be forgotten meanwhile.
    fn entered(
        self: &Arc<Registry>,
        question: Question,
        enter: impl FnOnce(&Subscription) -> ConsumerId,
    ) -> Result<(Arc<Subscription>, ConsumerId, Option<Bag>), QueryError> {
        let mut table = self.table();
        if self.is_ending.load(Ordering::SeqCst) {
            let message = "live queries are being ended";
            return Err(QueryError::new(Kind::Unavailable, message));
        }
        if let Some(known) = table.subscriptions.get(&question.asked) {
            return Ok((Arc::clone(known), enter(known), None));
        }
        let count = table.subscriptions.len();
        if count >= self.limits.count_max {
            let message = format!("there are {count} live queries already, which is the limit");
            return Err(QueryError::new(Kind::Unavailable, message)
                .with_limit(Unit::Count, self.limits.count_max as u64, count as u64 + 1)
                .with_hint("end one of them; one that nobody reads ends by itself after a while"));
        }
        if table.watching.is_none() {
            table.watching = Some(self.begin()?);
        }
        let asked = question.asked.clone();
        let shared = self.database.shared();
        let (made, bag) = Subscription::new(shared, question, self.limits.answer_bytes_max);
        let made = Arc::new(made);
        table.subscriptions.insert(asked, Arc::clone(&made));
        let id = enter(&made);
        Ok((made, id, Some(bag)))
    }

    /// Begins the worker. What is committed from now on is noted.
    fn begin(self: &Arc<Registry>) -> Result<Watching, QueryError> {
        let watching = self.news.watch();
        let (weak, news) = (Arc::downgrade(self), Arc::clone(&self.news));
        let worker = std::thread::Builder::new().name("live-queries".to_owned());
        let spawned = worker.spawn(move || work(&weak, &news));
        spawned.map_err(|error| {
            let message = format!("no thread could be begun for live queries: {error}");
            QueryError::new(Kind::Unavailable, message)
        })?;
        Ok(watching)
    }

    fn evaluate(&self, subscription: &Arc<Subscription>, bag: Bag) -> Result<(), QueryError> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        let evaluated = subscription.evaluate(self.database.shared(), bag);
        if evaluated.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
            self.forget(subscription);
        }
        evaluated
    }

    /// Forgets a subscription, unless somebody has come back to read it.
    fn forget(&self, subscription: &Arc<Subscription>) {
        let asked = &subscription.question.asked;
        let mut table = self.table();
        let known = table.subscriptions.get(asked);
        if known.is_some_and(|it| Arc::ptr_eq(it, subscription)) && subscription.is_over() {
            table.subscriptions.remove(asked);
        }
    }

    fn all(&self) -> Vec<Arc<Subscription>> {
        self.table().subscriptions.values().cloned().collect()
    }

    /// Looks at all subscriptions once, and evaluates those that are due; says when to look again at the latest.
    fn round(&self) -> Option<Instant> {
        let mut due: Option<Instant> = None;
        for subscription in self.all() {
            if self.is_ending.load(Ordering::SeqCst) {
                return None;
            }
            let graph = self.database.graph();
            let news = self.database.publisher().map(|_| &*self.news);
            match subscription.look(&graph, news, self.limits.linger) {
                Due::Nothing => {}
                Due::Skipped => drop(self.skips.fetch_add(1, Ordering::Relaxed)),
                // Its consumers are told why it ended, if it did.
                Due::Evaluate(bag) => drop(self.evaluate(&subscription, bag)),
                Due::Later(at) => due = Some(due.map_or(at, |due| due.min(at))),
                Due::Forget => self.forget(&subscription),
            }
        }
        due
    }

    /// Whole at every moment.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // The worker sees that it is gone.
        self.news.ring();
    }
}

/// Looks after subscriptions until there are none.
fn work(registry: &Weak<Registry>, news: &News) {
    let mut heard = 0;
    let mut due = None;
    loop {
        heard = news.wait(heard, due);
        let Some(registry) = registry.upgrade() else {
            return;
        };
        due = registry.round();
        let mut table = registry.table();
        if table.subscriptions.is_empty() || registry.is_ending.load(Ordering::SeqCst) {
            table.watching = None;
            return;
        }
    }
}

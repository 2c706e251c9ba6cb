//! The order of the rows of a live query, which its differences do not have: asked for beside them, so that a terminal can show it.
//!
//! ```text
//!  rows came --> wanted --> asked, by a thread of its own --> the whole answer, whose rows are in order
//!                  ^              | no answer: again after a pause
//!                  '--------------'
//! ```
//!
//! The query is run once more for it, so it rests for as long as that took. Who draws waits for it a little ([`Order::is_coming`]),
//! so that rows do not jump; an answer that takes longer is shown when it comes.

use crate::endpoint::Endpoint;
use crate::stop::Stop;
use serde_json::Value;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// The least time between two questions.
const REST: Duration = Duration::from_millis(200);
/// How long it rests after a question that had no answer.
const PAUSE: Duration = Duration::from_secs(2);
/// How long the answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long a frame waits for it.
const PATIENCE: Duration = Duration::from_millis(250);

/// See the head of this file.
pub struct Order {
    endpoint: Endpoint,
    text: String,
    stop: Stop,
    /// Since when rows are there whose places are not known.
    wanted_at: Option<Instant>,
    asked: Option<Question>,
    /// It is not asked for before this.
    rested_at: Instant,
}

struct Question {
    at: Instant,
    answer: Receiver<Option<Value>>,
}

impl Order {
    /// That of the rows of this query, which orders them.
    pub fn of(endpoint: Endpoint, text: String, stop: &Stop) -> Order {
        Order {
            endpoint: endpoint.within(ANSWER_MAX),
            text,
            stop: stop.clone(),
            wanted_at: None,
            asked: None,
            rested_at: Instant::now(),
        }
    }

    /// Rows have changed.
    pub fn want(&mut self) {
        self.wanted_at.get_or_insert_with(Instant::now);
    }

    /// Whether a frame had better wait for it.
    pub fn is_coming(&self) -> bool {
        let since = self.wanted_at.or(self.asked.as_ref().map(|asked| asked.at));
        since.is_some_and(|since| since.elapsed() < PATIENCE)
    }

    /// Whether there is something to ask or to be answered.
    pub fn is_awaited(&self) -> bool {
        self.wanted_at.is_some() || self.asked.is_some()
    }

    /// Asks, if it is time to; the answer, once it is there.
    pub fn poll(&mut self) -> Option<Value> {
        let now = Instant::now();
        let Some(question) = &self.asked else {
            if now >= self.rested_at && self.wanted_at.take().is_some() {
                self.asked = Some(self.ask());
            }
            return None;
        };
        let answer = match question.answer.try_recv() {
            Err(TryRecvError::Empty) => return None,
            answer => answer.ok().flatten(),
        };
        self.rested_at = now + question.at.elapsed().max(REST);
        self.asked = None;
        if answer.is_none() {
            self.rested_at = now + PAUSE;
            self.want();
        }
        answer
    }

    fn ask(&self) -> Question {
        let (sender, answer) = channel();
        let (endpoint, text, stop) = (self.endpoint.clone(), self.text.clone(), self.stop.clone());
        let thread = std::thread::Builder::new().name("order".to_owned());
        let asking = thread.spawn(move || {
            // Nobody listens any more where the subscription has ended.
            drop(sender.send(endpoint.answer(&text, &stop).ok()));
        });
        // Without a thread there is no answer, as without a server.
        drop(asking);
        Question {
            at: Instant::now(),
            answer,
        }
    }
}

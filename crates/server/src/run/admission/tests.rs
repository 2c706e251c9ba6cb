//! The rules of admission, each shown by threads that do nothing but look.

use super::*;
use somersault::stop::{Pace, Wait};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

pub(super) const BOUNDS: Bounds = Bounds {
    shares: 1,
    started: 40,
    started_per_client: 20,
    long_per_client: 2,
    open_per_client: 8,
    waiting: 40,
    stalled: 2,
};
/// What takes milliseconds, with room for a busy machine.
const SOON: Duration = Duration::from_secs(10);
const NEVER: &dyn Fn() -> Duration = &|| Duration::MAX;

fn left_unless(is_over: bool) -> Duration {
    if is_over { Duration::ZERO } else { SOON }
}

pub(super) fn client(number: u8) -> Client {
    Client::at(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
}

fn enter(admission: &Admission, number: u8) -> Permit {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build().unwrap();
    let entering = admission.enter(client(number), SOON);
    runtime.block_on(entering).unwrap()
}

/// Computes for so long, and looks each half millisecond.
fn compute(pace: &dyn Pace, service: Duration) {
    let mut done = Duration::ZERO;
    while done < service {
        let begun = Instant::now();
        thread::sleep(Duration::from_micros(500));
        done += begun.elapsed();
        pace.look(NEVER);
    }
}

/// Runs heavy queries of a client until `end` is dropped: so many at once.
fn flood<'s>(
    scope: &'s thread::Scope<'s, '_>,
    admission: &'s Admission,
    end: &'s AtomicBool,
    (number, count): (u8, usize),
) {
    for _ in 0..count {
        scope.spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let turn = enter(admission, number);
                let pace = turn.pace();
                let is_over = || end.load(Ordering::Relaxed);
                let left = || left_unless(is_over());
                pace.expect_heavy(1, &left);
                while !is_over() {
                    thread::sleep(Duration::from_micros(500));
                    pace.look(&left);
                }
            }
        });
    }
}

/// Ends a flood also when a test fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_short_query_goes_before_long_ones_of_its_own_client() {
    let admission = Admission::new(BOUNDS);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = End(&end);
        flood(scope, &admission, &end, (1, 6));
        // Until those are long.
        thread::sleep(8 * SHORT);
        let begun = Instant::now();
        let turn = enter(&admission, 1);
        let pace = turn.pace();
        pace.expect_heavy(1, NEVER);
        compute(&*pace, Duration::from_millis(40));
        let taken = begun.elapsed();
        assert!(taken < Duration::from_millis(400), "{taken:?}");
    });
    assert_eq!((admission.started(), admission.waiting()), (0, 0));
}

#[test]
fn a_client_with_one_query_gets_its_half_beside_one_with_many() {
    let admission = Admission::new(BOUNDS);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = End(&end);
        flood(scope, &admission, &end, (1, 30));
        thread::sleep(2 * SHORT);
        let begun = Instant::now();
        let turn = enter(&admission, 2);
        let pace = turn.pace();
        pace.expect_heavy(1, NEVER);
        // Long itself, so only the fairness among clients helps it.
        compute(&*pace, Duration::from_millis(400));
        let taken = begun.elapsed();
        assert!(taken < Duration::from_millis(2400), "{taken:?}");
    });
    assert_eq!(admission.started(), 0);
}

#[test]
fn a_client_that_had_more_starts_one_at_a_time_beside_another_s_share() {
    let is_held_back = |shares| (0..5).any(|_| starts_one_at_a_time(shares));
    assert!(is_held_back(2));
    // Where processors are free nobody is in the way.
    assert!(!starts_one_at_a_time(8));
}

/// Whether a client that had more waits with its second new query until another client's one is idle. A thread
/// that the machine holds up for long is overdue, and nothing is held back for it.
fn starts_one_at_a_time(shares: usize) -> bool {
    let admission = Admission::new(Bounds { shares, ..BOUNDS });
    let (first, other) = (enter(&admission, 1), enter(&admission, 2));
    other.pace().suspend(Wait::Other);
    first.pace().expect_heavy(1, NEVER);
    compute(&*first.pace(), SHORT);
    first.pace().suspend(Wait::Other);
    other.pace().resume(Wait::Other, NEVER);
    other.pace().expect_heavy(1, NEVER);
    let newcomer = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        // Less than what makes it overdue.
        runtime.block_on(admission.enter(client(1), FRESH / 2))
    };
    let one = newcomer();
    let is_held_back = one.is_ok() && newcomer().map(drop) == Err(Turned::TooLate);
    other.pace().suspend(Wait::Other);
    let two = newcomer();
    let is_held_back = is_held_back && two.is_ok();
    drop((first, other, one, two));
    assert_eq!(admission.started(), 0);
    is_held_back
}

#[test]
fn only_as_many_compute_as_there_are_shares() {
    // A thread that the machine holds up for long is overdue, and computes beside the next.
    let most = (0..5).map(|_| most_at_once()).find(|most| *most == 1);
    assert_eq!(most, Some(1));
}

/// How many of six heavy queries, each of which looks often, compute at once.
fn most_at_once() -> usize {
    let admission = Admission::new(BOUNDS);
    let computing = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..6 {
            let (admission, computing, most) = (&admission, &computing, &most);
            scope.spawn(move || {
                let turn = enter(admission, number % 3);
                let pace = turn.pace();
                pace.expect_heavy(1, NEVER);
                for _ in 0..100 {
                    let now = computing.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    thread::sleep(Duration::from_micros(500));
                    computing.fetch_sub(1, Ordering::SeqCst);
                    pace.look(NEVER);
                }
            });
        }
    });
    assert_eq!(admission.started(), 0);
    most.into_inner()
}

#[test]
fn whoever_waits_for_others_holds_no_share() {
    let admission = Admission::new(BOUNDS);
    let first = enter(&admission, 1);
    let pace = first.pace();
    pace.expect_heavy(1, NEVER);
    pace.suspend(Wait::Other);
    let second = enter(&admission, 1);
    let begun = Instant::now();
    second.pace().expect_heavy(1, NEVER);
    compute(&*second.pace(), 2 * SHORT);
    assert!(begun.elapsed() < SOON);
    thread::scope(|scope| {
        let back = scope.spawn(|| pace.resume(Wait::Other, NEVER));
        second.step_aside();
        back.join().unwrap();
    });
    assert_eq!(admission.stalled(), 1);
    drop((first, second));
    assert_eq!((admission.started(), admission.stalled()), (0, 0));
}

#[test]
fn a_query_whose_threads_hand_to_each_other_keeps_its_share() {
    // A share that is not looked at for long, because the machine is busy, is another's after all.
    assert!((0..5).any(|_| keeps_its_share()));
}

/// Whether a query keeps its share while its threads wait for each other; it must not while one of them waits
/// for others.
fn keeps_its_share() -> bool {
    let admission = Admission::new(BOUNDS);
    let (first, second) = (enter(&admission, 1), enter(&admission, 2));
    let pace = first.pace();
    pace.expect_heavy(2, NEVER);
    pace.resume(Wait::Own, NEVER);
    pace.suspend(Wait::Own);
    pace.suspend(Wait::Own);
    // Nobody computes for a moment: the worker has been told, and has not woken.
    let is_granted = |patience: Duration| {
        let begun = Instant::now();
        let left = || patience.saturating_sub(begun.elapsed());
        second.pace().expect_heavy(1, &left);
        !left().is_zero()
    };
    if is_granted(Duration::from_millis(2)) {
        return false;
    }
    pace.resume(Wait::Own, NEVER);
    // And now one of its two waits for others, the other for that.
    pace.resume(Wait::Own, NEVER);
    pace.suspend(Wait::Other);
    pace.suspend(Wait::Own);
    assert!(is_granted(SOON));
    true
}

/// One is among the long and is then found to be heavy; the other has begun to walk and becomes long.
#[test]
fn a_long_query_and_one_that_walks_do_not_wait_for_each_other() {
    let bounds = Bounds {
        long_per_client: 1,
        open_per_client: 1,
        ..BOUNDS
    };
    let admission = Admission::new(bounds);
    let begun = Instant::now();
    let left = || SOON.saturating_sub(begun.elapsed());
    let look_for = |pace: &dyn Pace, times: u32| {
        let until = Instant::now() + times * SHORT;
        while Instant::now() < until {
            thread::sleep(Duration::from_micros(500));
            pace.look(&left);
        }
    };
    let first = enter(&admission, 1);
    let pace = first.pace();
    look_for(&*pace, 2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let second = enter(&admission, 1);
            let pace = second.pace();
            pace.expect_heavy(1, &left);
            look_for(&*pace, 4);
        });
        look_for(&*pace, 4);
        pace.expect_heavy(1, &left);
        look_for(&*pace, 1);
        drop((pace, first));
    });
    assert!(!left().is_zero(), "neither goes on");
    assert_eq!((admission.started(), admission.waiting()), (0, 0));
}

#[test]
fn queries_that_do_not_look_keep_nobody_else_from_starting() {
    let admission = Admission::new(BOUNDS);
    // They would be fresh for ever, or running; their client gets no more than a few.
    let first: Vec<Permit> = (0..3).map(|_| enter(&admission, 1)).collect();
    first[0].pace().expect_heavy(1, NEVER);
    let begun = Instant::now();
    let other = enter(&admission, 2);
    other.pace().expect_heavy(1, NEVER);
    compute(&*other.pace(), 2 * SHORT);
    assert!(begun.elapsed() < SOON);
    drop((first, other));
    assert_eq!(admission.started(), 0);
}

#[test]
fn a_query_that_is_stopped_does_not_wait() {
    // One open query is as many as there may be.
    let bounds = Bounds {
        open_per_client: 1,
        ..BOUNDS
    };
    let admission = Admission::new(bounds);
    let first = enter(&admission, 1);
    first.pace().expect_heavy(1, NEVER);
    let second = enter(&admission, 1);
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let left = || left_unless(stopped.load(Ordering::Relaxed));
            second.pace().expect_heavy(1, &left);
        });
        thread::sleep(2 * LOOK);
        assert!(!waiting.is_finished());
        stopped.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        waiting.join().unwrap();
        assert!(begun.elapsed() < SOON);
    });
}

#[test]
fn the_longest_stalled_is_ended_for_others_but_not_before_its_time() {
    let admission = Admission::new(BOUNDS);
    let stand = |_| {
        let turn = enter(&admission, 1);
        turn.step_aside();
        turn.step_aside();
        turn
    };
    let turns: Vec<Permit> = (0..3).map(stand).collect();
    assert_eq!(admission.stalled(), 3);
    assert!(turns.iter().all(|turn| !turn.is_over()));
    thread::sleep(STALLED_MIN);
    let last = stand(3);
    assert!(turns[0].is_over() && !last.is_over());
}

#[tokio::test]
async fn the_queue_is_bounded_and_the_client_with_most_loses_its_newest() {
    let bounds = Bounds {
        started: 1,
        waiting: 4,
        ..BOUNDS
    };
    let admission = Arc::new(Admission::new(bounds));
    let running = admission.enter(client(9), SOON).await.unwrap();
    let queue = |number| {
        let admission = Arc::clone(&admission);
        tokio::spawn(async move { admission.enter(client(number), SOON).await.map(drop) })
    };
    let mut many = Vec::new();
    for number in 1..=4 {
        many.push(queue(1));
        while admission.waiting() < number {
            tokio::task::yield_now().await;
        }
    }
    let away = admission.enter(client(1), SOON).await;
    assert_eq!(away.unwrap_err(), Turned::Away);
    let other = queue(2);
    assert_eq!(many.pop().unwrap().await.unwrap(), Err(Turned::Away));
    assert_eq!(admission.waiting(), 4);
    let too_late = admission.enter(client(3), Duration::from_millis(20)).await;
    assert_eq!(too_late.unwrap_err(), Turned::TooLate);
    drop(running);
    assert_eq!(other.await.unwrap(), Ok(()));
    for waiting in many {
        // One of them made place for the third client.
        let _ = waiting.await.unwrap();
    }
    assert_eq!((admission.started(), admission.waiting()), (0, 0));
}

#[test]
fn many_that_come_and_go_leave_nothing_behind() {
    let bounds = Bounds {
        shares: 2,
        started: 12,
        ..BOUNDS
    };
    let admission = Admission::new(bounds);
    thread::scope(|scope| {
        for number in 0..24 {
            let admission = &admission;
            scope.spawn(move || {
                for round in 0..8 {
                    let turn = enter(admission, number % 5);
                    let pace = turn.pace();
                    if round % 2 == 0 {
                        pace.expect_heavy(2, NEVER);
                        let worker = turn.pace();
                        thread::scope(|workers| {
                            workers.spawn(|| {
                                worker.resume(Wait::Own, NEVER);
                                compute(&*worker, Duration::from_millis(5));
                                worker.suspend(Wait::Own);
                            });
                        });
                    }
                    compute(&*pace, Duration::from_millis(u64::from(number)));
                    turn.step_aside();
                    turn.come_back(NEVER);
                    compute(&*pace, Duration::from_millis(2));
                }
            });
        }
    });
    assert_eq!(
        (
            admission.started(),
            admission.waiting(),
            admission.stalled()
        ),
        (0, 0, 0)
    );
    // Everything was given back: a last one gets a share at once.
    let turn = enter(&admission, 1);
    turn.pace().expect_heavy(2, NEVER);
}

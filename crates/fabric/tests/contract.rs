//! What every fabric promises, held over each of them by the same tests.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

mod accesses;
mod messages;

use crate::world::World;
use fabric::Limits;

/// Makes so many nodes of a fabric with these limits.
pub type Make = fn(u16, Limits) -> World;

/// The tests of this module's parts, over one fabric.
macro_rules! contract {
    ($fabric:ident, $make:expr; $($part:ident :: $test:ident),* $(,)?) => {
        mod $fabric {
            $(
                #[test]
                fn $test() {
                    super::$part::$test($make);
                }
            )*
        }
    };
}

/// Every test over every fabric.
macro_rules! contracts {
    ($($tests:tt)*) => {
        contract!(local, crate::world::local; $($tests)*);
        contract!(sim, crate::world::sim; $($tests)*);
        contract!(tcp, crate::world::tcp; $($tests)*);
    };
}

contracts!(
    messages::messages_of_a_pair_keep_their_order,
    messages::nobody_is_sent_to_before_poll_has_said_that_it_is_up,
    messages::several_threads_may_send_at_once,
    messages::a_node_can_send_to_itself,
    messages::what_cannot_be_sent_is_given_back,
    messages::a_full_queue_is_busy_and_then_has_room,
    messages::who_leaves_is_down_after_its_last_message,
    messages::who_has_left_is_refused,
    messages::a_wake_ends_a_poll,
    messages::counts_are_of_what_was_sent,
    messages::long_messages_arrive,
    accesses::pieces_are_read_one_after_another,
    accesses::pieces_are_written_one_after_another,
    accesses::each_access_comes_back_with_its_token,
    accesses::what_is_not_there_is_an_error,
    accesses::what_is_asked_wrongly_is_refused,
    accesses::what_was_withdrawn_is_gone,
    accesses::a_load_is_a_read_at_once,
);

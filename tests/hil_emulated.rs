//! The firmware's images in their emulators as clients of a whole run; `cargo figures mixed` is the
//! same over more rounds.

use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::image;
use gleaner_tests::octet::{equal_to_the_bit, scenario};

#[test]
fn two_picos_two_m4s_two_stm32s_and_two_simulated_clients_equal_eight_simulated_ones() {
    for board in Board::emulated() {
        if image(board, Program::Client).is_none() {
            return;
        }
    }
    let _ = equal_to_the_bit(&scenario("cre", 4));
}

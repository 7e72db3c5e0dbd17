//! A whole run of every kind of emulated board beside simulated clients; `cargo figures mixed` is the
//! same over more rounds.

use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::image;
use gleaner_tests::runs::emulated_as_simulated;

#[test]
fn two_of_each_emulated_board_and_two_simulated_clients_equal_eight_simulated_ones() {
    if Board::emulated().all(|board| image(board, Program::Client).is_some()) {
        let _ = emulated_as_simulated("cre", 4);
    }
}

//! Poisoned updates against the program: the attacks of `cargo figures attacks`.

use std::path::Path;

use gleaner_tests::attack::process::poison;

use crate::support::Folder;

#[test]
fn poisoned_updates_are_named_and_cost_little_under_the_defaults_of_boards_and_fltrust() {
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    for (name, attack) in poison::ALL {
        let folder = Folder::new();
        let measured = attack(program, folder.root());
        println!("{name}: {measured:?}");
        assert!(measured.is_ok(), "{name}: {measured:?}");
    }
}

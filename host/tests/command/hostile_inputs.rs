//! Hostile boards, tables, folders and names against the program: the attacks of `cargo figures attacks`.

use std::path::Path;

use gleaner_tests::attack::process::inputs;

use crate::support::Folder;

#[test]
fn no_hostile_input_is_shown_as_a_result_or_commands_the_terminal() {
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    for (name, attack) in inputs::ALL {
        let folder = Folder::new();
        let measured = attack(program, folder.root());
        println!("{name}: {measured:?}");
        assert!(measured.is_ok(), "{name}: {measured:?}");
    }
}

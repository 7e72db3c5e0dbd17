//! Keys that stay secret, boards without one, and logs that are not believed.

use std::fs;

use crate::support::{Folder, simulated_fleet};

const SMALL: &str = "--set partition.mean_samples=20 --set partition.std_samples=2";

#[cfg(unix)]
#[test]
fn a_shard_with_a_key_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    folder.write("key", "0f".repeat(32));
    for file in ["shard.bin", "shard.uf2"] {
        // Replaces a file that everybody may read.
        folder.write(file, "old");
        let shard = "data shard --client=0 --key-file=key";
        folder.succeed(&format!("{shard} --out {file} {SMALL}"));
        let written = fs::metadata(folder.path(file)).unwrap();
        assert!(written.len() > 784);
        assert_eq!(written.permissions().mode() & 0o777, 0o600, "{file}");
    }
}

/// Returns a fleet of an unreachable board and a simulated client.
fn fleet(key: &str) -> String {
    format!(
        "[[client]]\nname = \"away\"\nid = 0\nlink = \"tcp\"\naddress = \"127.0.0.1:1\"\n{key}\n\
         [[client]]\nname = \"here\"\nid = 1\nlink = \"simulated\"\n"
    )
}

#[test]
fn a_run_with_a_board_without_a_key_warns_even_when_quiet() {
    let folder = Folder::new();
    let key = format!("key = \"{}\"", "0f".repeat(32));
    for (key, warned) in [("", true), (&*key, false)] {
        folder.write("fleet.toml", fleet(key));
        let run = folder.succeed(&format!("run --quiet --rounds 1 --round-limit-s 1 {SMALL}"));
        assert_eq!(run.stderr.contains(" no key"), warned, "{}", run.stderr);
    }
}

#[test]
fn a_fleet_whose_setup_fails_leaves_no_directory() {
    let folder = Folder::new();
    folder.write("fleet.toml", fleet(""));
    for preset in ["paper-mlp", "rp2040"] {
        let run =
            format!("run --preset {preset} --quiet --rounds 1 --round-limit-s 1 --out {preset}");
        // More samples than the data set has: dealing them fails.
        folder.fail(&format!("{run} --set partition.mean_samples=1000000"));
        assert!(!folder.exists(preset));
        folder.succeed(&format!("{run} {SMALL}"));
    }
}

#[test]
fn a_log_with_a_round_beyond_the_run_is_refused_by_its_line() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(1));
    folder.succeed(&format!("run --quiet --rounds 1 --out lab {SMALL}"));
    folder.succeed("verify lab");
    let log = folder.read("lab/events.jsonl");
    let line =
        "{\"t_s\":1.0,\"client\":0,\"round\":4000000000,\"event\":\"absent\",\"reason\":\"\"}\n";
    folder.write("lab/events.jsonl", format!("{log}{line}"));
    let place = format!("line {}: round 4000000000", log.lines().count() + 1);
    folder.fail_naming("verify lab", &place);
}

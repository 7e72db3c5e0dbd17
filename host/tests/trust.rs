//! What a base station keeps to itself, whom it warns of, and what it does not believe.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SMALL: [&str; 4] = [
    "--set",
    "partition.mean_samples=20",
    "--set",
    "partition.std_samples=2",
];

/// Runs a command in a folder.
fn gleaner(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(unix)]
#[test]
fn a_shard_with_a_key_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), "0f".repeat(32)).unwrap();
    for file in ["shard.bin", "shard.uf2"] {
        // Even in the place of a file that anybody may read.
        fs::write(folder.path().join(file), "old").unwrap();
        let shard = [
            "data",
            "shard",
            "--client=0",
            "--key-file=key",
            "--out",
            file,
        ];
        let output = gleaner(folder.path(), &[&shard[..], &SMALL].concat());
        assert!(output.status.success(), "{}", said(&output));
        let written = fs::metadata(folder.path().join(file)).unwrap();
        assert!(written.len() > 784);
        assert_eq!(written.permissions().mode() & 0o777, 0o600, "{file}");
    }
}

/// A board that nobody answers for, and a simulated client.
fn fleet(key: &str) -> String {
    format!(
        "[[client]]\nname = \"away\"\nid = 0\nlink = \"tcp\"\naddress = \"127.0.0.1:1\"\n{key}\n\
         [[client]]\nname = \"here\"\nid = 1\nlink = \"simulated\"\n"
    )
}

#[test]
fn a_run_with_a_board_without_a_key_says_so_even_when_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let key = format!("key = \"{}\"", "0f".repeat(32));
    for (key, notices) in [("", 1), (&*key, 0)] {
        fs::write(folder.path().join("fleet.toml"), fleet(key)).unwrap();
        let run = ["run", "--quiet", "--rounds", "1", "--wall-limit-s", "1"];
        let output = gleaner(folder.path(), &[&run[..], &SMALL].concat());
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said.matches("1 board has no key").count(),
            notices,
            "{said}"
        );
    }
}

#[test]
fn a_fleet_that_cannot_be_set_up_leaves_no_started_run_behind() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("fleet.toml");
    // More samples than there are: the set-up fails when they are dealt.
    fs::write(&list, fleet("")).unwrap();
    let run = [
        "run",
        "--quiet",
        "--rounds",
        "1",
        "--wall-limit-s",
        "1",
        "--out",
        "lab",
    ];
    let greedy = ["--set", "partition.mean_samples=1000000"];
    let output = gleaner(folder.path(), &[&run[..], &greedy].concat());
    assert!(!output.status.success());
    assert!(!folder.path().join("lab").exists(), "{}", said(&output));
    let output = gleaner(folder.path(), &[&run[..], &SMALL].concat());
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_log_that_tells_of_a_round_nobody_asked_for_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let alone = "[[client]]\nname = \"here\"\nid = 0\nlink = \"simulated\"\n";
    fs::write(folder.path().join("fleet.toml"), alone).unwrap();
    let run = ["run", "--quiet", "--rounds", "1", "--out", "lab"];
    let output = gleaner(folder.path(), &[&run[..], &SMALL].concat());
    assert!(output.status.success(), "{}", said(&output));
    let log = folder.path().join("lab/events.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    let verify = || gleaner(folder.path(), &["verify", "lab"]);
    assert!(verify().status.success());
    let lines = text.lines().count();
    text +=
        "{\"t_s\":1.0,\"client\":0,\"round\":4000000000,\"event\":\"absent\",\"reason\":\"\"}\n";
    fs::write(&log, text).unwrap();
    let output = verify();
    let said = said(&output);
    assert!(!output.status.success());
    let words = format!("line {}: round 4000000000", lines + 1);
    assert!(said.contains(&words), "{said}");
}

//! Names that have changed are accepted for one version, with a hint on standard error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two clients without boards.
const FLEET: &str = r#"
    [[client]]
    name = "a"
    id = 0
    link = "simulated"

    [[client]]
    name = "b"
    id = 1
    link = "simulated"
"#;
const SMALL: [&str; 4] = [
    "--set",
    "partition.mean_samples=20",
    "--set",
    "partition.std_samples=2",
];

/// An empty folder of that name.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("old-names-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the test folder is writable");
    path
}

/// Runs a command in a folder, where it must succeed, and returns what it says on standard error.
fn gleaner(folder: &Path, arguments: &[&str]) -> String {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn doctor(folder: &Path, more: &[&str]) -> String {
    gleaner(folder, &[&["doctor"], &SMALL[..], more].concat())
}

#[test]
fn the_option_bench_is_taken_for_fleet_with_a_hint() {
    let folder = folder("option");
    fs::write(folder.join("list.toml"), FLEET).unwrap();
    let said = doctor(&folder, &["--bench", "list.toml"]);
    assert!(said.contains("--bench is now --fleet"), "{said}");
    assert_eq!(doctor(&folder, &["--fleet", "list.toml"]), "");
}

#[test]
fn a_bench_toml_is_found_with_a_hint_where_there_is_no_fleet_toml() {
    let folder = folder("file");
    fs::write(folder.join("bench.toml"), FLEET).unwrap();
    let said = doctor(&folder, &[]);
    assert!(said.contains("bench.toml is now fleet.toml"), "{said}");
    fs::rename(folder.join("bench.toml"), folder.join("fleet.toml")).unwrap();
    assert_eq!(doctor(&folder, &[]), "");
}

#[test]
fn a_run_whose_list_has_its_old_name_is_resumed_and_verified() {
    let folder = folder("run");
    fs::write(folder.join("fleet.toml"), FLEET).unwrap();
    let run = ["run", "--quiet", "--rounds", "2", "--out", "run"];
    gleaner(&folder, &[&run[..], &SMALL].concat());
    let run = folder.join("run");
    // As a version before would have left it, just before it was complete.
    let sums = fs::read(run.join("SHA256SUMS")).unwrap();
    fs::remove_file(run.join("SHA256SUMS")).unwrap();
    fs::rename(run.join("fleet.toml"), run.join("bench.toml")).unwrap();
    let said = gleaner(&folder, &["resume", "--quiet", "run"]);
    assert!(said.contains("bench.toml is now fleet.toml"), "{said}");
    assert_eq!(fs::read(run.join("SHA256SUMS")).unwrap(), sums);
    assert!(!run.join("fleet.toml").exists(), "there is one list");
    gleaner(&folder, &["verify", "run"]);
}

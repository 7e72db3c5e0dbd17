//! Comparisons and sweeps execute each run once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn gleaner(arguments: &[&str]) -> (bool, String, String) {
    gleaner_in(&env::temp_dir(), arguments)
}

fn gleaner_in(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

const SWEEP: &str = "
seeds = 2
[set]
run.rounds = 4
partition.mean_samples = 60.0
partition.std_samples = 5.0
data.test_samples = 50
[grid]
cre.v = [0.1, 0.001]
";

#[test]
fn a_sweep_that_is_started_again_executes_only_missing_points() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("lab.toml");
    fs::write(&file, SWEEP).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.join("out"));
    let directory = out.to_str().unwrap();
    let (ok, stdout, stderr) = gleaner(&["sweep", file, "--out", directory, "-q"]);
    assert!(ok, "{stderr}");
    assert!(stdout.starts_with("cre.v"), "{stdout}");
    let csv = fs::read_to_string(out.join("sweep.csv")).unwrap();
    assert_eq!(csv.lines().count(), 5);
    assert!(
        csv.starts_with("point,cre.v,run.seed,final_accuracy"),
        "{csv}"
    );
    for name in ["report.html", "plots/accuracy.svg", "plots/trade_off.svg"] {
        assert!(out.join(name).is_file(), "{name}");
    }

    // One point is lost, one is kept: only the lost one gets a new model file.
    let mut points: Vec<PathBuf> = fs::read_dir(out.join("points"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    points.sort();
    fs::remove_dir_all(&points[0]).unwrap();
    let kept = fs::metadata(points[1].join("SHA256SUMS"))
        .unwrap()
        .modified()
        .unwrap();
    let (ok, _, stderr) = gleaner(&["sweep", file, "--out", directory, "-q"]);
    assert!(ok, "{stderr}");
    assert_eq!(fs::read_to_string(out.join("sweep.csv")).unwrap(), csv);
    assert_eq!(
        fs::metadata(points[1].join("SHA256SUMS"))
            .unwrap()
            .modified()
            .unwrap(),
        kept
    );
}

#[test]
fn a_comparison_lists_both_baseline_powers_and_both_servers_and_draws_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let out = folder.join("out");
    let (ok, stdout, stderr) = gleaner(&[
        "compare",
        "--schedulers",
        "cre,random",
        "--seeds",
        "2",
        "--seed",
        "7",
        "--rounds",
        "5",
        "--set",
        "partition.mean_samples=60",
        "--set",
        "data.test_samples=50",
        "--out",
        out.to_str().unwrap(),
        "-q",
    ]);
    assert!(ok, "{stderr}");
    assert_eq!(
        stdout
            .lines()
            .filter(|line| line.starts_with("random"))
            .count(),
        2 * 2
    );
    assert_eq!(
        stdout
            .lines()
            .filter(|line| line.starts_with("cre"))
            .count(),
        2
    );
    for panel in [
        "Each with the server it was described with",
        "The same server for all (spectral)",
    ] {
        assert!(stdout.contains(panel), "{stdout}");
    }
    let csv = fs::read_to_string(out.join("compare.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 2);
    assert!(csv.contains("\nrandom,min,plain,8,"), "{csv}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("<svg") && page.contains("at the least power"),
        "no plots or words"
    );
    for name in ["accuracy", "energy", "trade_off", "fairness"] {
        assert!(
            out.join("plots").join(format!("{name}.svg")).exists(),
            "{name}"
        );
    }
}

#[test]
fn another_comparison_leaves_the_first_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let compare = |rounds: &str, more: &[&str]| {
        let mut arguments = vec!["compare", "--schedulers", "cre,cre", "--seeds", "1"];
        arguments.extend(["--set", "partition.mean_samples=30"]);
        arguments.extend(["--set", "data.test_samples=20", "--rounds", rounds]);
        arguments.extend(more);
        gleaner_in(folder, &arguments)
    };
    let (ok, first, stderr) = compare("2", &[]);
    assert!(ok && first.contains("runs/compare/report.html"), "{stderr}");
    assert_eq!(compare("2", &[]).1, first);
    let (ok, other, stderr) = compare("3", &[]);
    assert!(
        ok && other.contains("runs/compare-2/report.html"),
        "{stderr}"
    );
    let (ok, _, stderr) = compare("4", &["--out", "runs/compare"]);
    assert!(!ok && stderr.contains("runs/compare/plan.json"), "{stderr}");
}

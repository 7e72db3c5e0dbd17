//! Several programs at once: comparisons and sweeps.

use std::fs;

use crate::support::{Script, each, example, gleaner, succeed};

const SMALL: [&str; 10] = [
    "--rounds",
    "4",
    "--set",
    "partition.mean_samples=60",
    "--set",
    "partition.std_samples=10",
    "--set",
    "data.test_samples=50",
    "--threads",
    "2",
];

#[test]
fn a_comparison_gives_every_run_a_program_of_its_own() {
    let Some(python) = example("python3", "like_random.py") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let rest = Script::new(&each("echo \"{\\\"round\\\":$n,\\\"orders\\\":[]}\""));
    let schedulers = format!(
        "random,{python},process:\"sh '{}' 1,2\"",
        rest.path().display()
    );
    let mut compare = gleaner(folder.path(), &["compare", "--seeds", "2", "--out", "c"]);
    compare.args(["--schedulers", &schedulers, "--baseline-power", "max"]);
    let output = succeed(compare.args(SMALL).arg("--json"));
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!(rows[1]["scheduler"], python.as_str());
    assert_eq!(
        rows[1]["seeds"], rows[0]["seeds"],
        "random and random once more"
    );
    assert_ne!(rows[2]["seeds"], rows[0]["seeds"]);

    let csv = fs::read_to_string(folder.path().join("c/compare.csv")).unwrap();
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(
        csv.lines().all(|line| line.split(',').count() == columns),
        "{csv}"
    );
    assert!(csv.contains("\nprocess-like-random-"), "{csv}");
}

#[test]
fn a_sweep_takes_programs_as_values() {
    let Some(python) = example("python3", "like_random.py") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[set]\nrun.rounds = 2\npartition.mean_samples = 60\npartition.std_samples = 10\n\
         data.test_samples = 50\n[grid]\n\"run.scheduler\" = [\"random\", \"{python}\"]\n"
    );
    fs::write(folder.path().join("grid.toml"), text).unwrap();
    succeed(&mut gleaner(
        folder.path(),
        &["sweep", "grid.toml", "--out", "s"],
    ));
    let csv = fs::read_to_string(folder.path().join("s/sweep.csv")).unwrap();
    let mut rows = csv.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        cells[3..].join(",")
    });
    let (first, second) = (rows.next(), rows.next());
    assert!(first.is_some() && first == second, "{csv}");
}

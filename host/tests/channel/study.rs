//! Traces in comparisons and sweeps.

use std::fs;

use super::{Folder, SMALL, TRACED, names, refused, succeed};

#[test]
fn a_comparison_records_one_channel_per_seed_and_runs_every_scheduler_on_a_trace() {
    let folder = Folder::new("compare");
    let compare = |more: &[&str]| {
        let mut gleaner = folder.gleaner("compare", &SMALL);
        gleaner.args([
            "--schedulers",
            "cre,random",
            "--baseline-power",
            "max",
            "-q",
        ]);
        gleaner.args(more);
        gleaner
    };
    let record = ["--record-channel", "gains.csv"];
    succeed(compare(&["--seeds", "2", "--seed", "3", "--out", "drawn"]).args(record));
    let found = names(&folder.0);
    assert_eq!(found, ["drawn", "gains-seed3.csv", "gains-seed4.csv"]);
    assert_ne!(folder.read(&found[1]), folder.read(&found[2]));

    succeed(compare(&["--seeds", "1", "--seed", "3"]).args(record));
    assert_eq!(folder.read("gains.csv"), folder.read("gains-seed3.csv"));
    succeed(compare(&["--seeds", "1", "--seed", "3", "--out", "traced"]).args(TRACED));
    // Every run on the trace equals the run whose channel was recorded.
    let runs = |dir: &str| -> Vec<String> {
        let runs = names(&folder.join(&format!("{dir}/points")));
        runs.iter()
            .map(|run| format!("{dir}/points/{run}"))
            .collect()
    };
    let drawn: Vec<_> = runs("drawn").iter().map(|it| folder.results(it)).collect();
    for run in runs("traced") {
        assert!(drawn.contains(&folder.results(&run)), "{run}");
    }

    // The runs of another trace under the same name are not taken for those of this one.
    fs::copy(folder.join("gains-seed4.csv"), folder.join("gains.csv")).unwrap();
    let said = refused(compare(&["--seeds", "1", "--seed", "3", "--out", "traced"]).args(TRACED));
    assert!(said.contains("before gains.csv changed"), "{said}");

    // No scheduler runs when one of them could not.
    let late: String = folder.read("gains.csv").replace("\n0,", "\n9,");
    fs::write(folder.join("gains.csv"), late).unwrap();
    let more = [
        "--seeds",
        "1",
        "--set",
        "cre.estimates=uplink",
        "--out",
        "no",
    ];
    let said = refused(compare(&more).args(TRACED));
    assert!(said.contains("no gain for round 0"), "{said}");
    assert!(!folder.join("no").exists());
}

#[test]
fn a_sweep_varies_the_trace_like_any_key() {
    let folder = Folder::new("sweep");
    folder.record(&[]);
    let text = "[set]\nrun.rounds = 5\npartition.mean_samples = 60\npartition.std_samples = 10\n\
                data.test_samples = 50\n[grid]\nchannel.trace = [\"\", \"gains.csv\"]\n";
    fs::write(folder.join("lab.toml"), text).unwrap();
    succeed(&mut folder.gleaner("sweep", &["lab.toml", "--out", "out", "-q"]));
    let points = names(&folder.join("out/points"));
    assert_eq!(points.len(), 2);
    for point in points {
        let point = format!("out/points/{point}");
        assert_eq!(folder.results(&point), folder.results("drawn"));
    }
}

//! Differential privacy in the program: what it prints and logs, its budget, and its secret.

use serde_json::Value;

use crate::support::{Folder, SMALL};

const PRIVATE: &str = "--set run.scheduler=random --set privacy.clip=0.1 \
                       --set privacy.noise_multiplier=4";

fn rows(folder: &Folder, run: &str) -> Vec<Value> {
    let text = folder.read(&format!("{run}/rounds.jsonl"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn epsilon_is_in_progress_log_and_report_and_the_budget_ends_the_run() {
    let folder = Folder::new();
    let printed = folder.succeed(&format!(
        "simulate {SMALL} {PRIVATE} --rounds 30 --set privacy.epsilon=2 --out run"
    ));
    let rows = rows(&folder, "run");
    let (last, before) = rows.split_last().unwrap();
    assert!((2..30).contains(&rows.len()), "{}", rows.len());
    assert_eq!(last["ending"]["cause"], "epsilon");
    assert!(
        before
            .iter()
            .all(|row| row["ending"].is_null() && row["privacy"]["epsilon"].is_f64())
    );
    let epsilon = last["privacy"]["epsilon"].as_f64().unwrap();
    assert!(epsilon > 1.5 && epsilon <= 2.0, "{epsilon}");
    assert!(rows.iter().all(|row| row["train_loss"].is_null()));
    for row in &rows {
        let (round, epsilon) = (&row["round"], row["privacy"]["epsilon"].as_f64().unwrap());
        let shown = |line: &str| {
            line.starts_with(&format!("round {round}/30 "))
                && line.contains(&format!(" epsilon {epsilon:.2} "))
        };
        assert!(
            printed.stderr.lines().any(shown),
            "{row}: {}",
            printed.stderr
        );
    }
    let report = folder.read("run/report.html");
    assert!(report.contains(&format!("epsilon {epsilon:.3} at delta 1e-5")));
    assert!(report.contains("another round could exceed privacy.epsilon"));
    assert!(
        !folder.exists("run/noise.key"),
        "the noise follows from the seed"
    );
}

#[test]
fn a_seed_repeats_its_noise_and_a_secret_of_the_system_does_not() {
    let folder = Folder::new();
    let model = |run: &str, more: &str| {
        let command =
            format!("simulate --quiet --json {SMALL} {PRIVATE} --rounds 2 --out {run} {more}");
        folder.succeed(&command).json()["model_sha256"].clone()
    };
    assert_eq!(model("a", ""), model("b", ""));
    let secret = "--set privacy.noise=secret";
    let (one, two) = (model("c", secret), model("d", secret));
    assert!(one != two && one != model("e", ""));
    assert_ne!(folder.read("c/noise.key"), folder.read("d/noise.key"));
    assert!(!folder.read("c/SHA256SUMS").contains("noise"));
}

#[test]
fn a_private_run_that_was_stopped_is_not_resumed_with_another_secret() {
    let folder = Folder::new();
    let scenario = format!(
        "{SMALL} {PRIVATE} --rounds 4 --set privacy.noise=secret --set run.checkpoint_every=1"
    );
    folder.succeed(&format!("simulate --quiet {scenario} --out run"));
    let (model, rounds) = (
        folder.bytes("run/model.safetensors"),
        folder.read("run/rounds.jsonl"),
    );
    // As a run that has just begun: no checkpoint, its secret kept.
    for name in ["SHA256SUMS", "model.safetensors"] {
        std::fs::remove_file(folder.path("run").join(name)).unwrap();
    }
    folder.succeed("resume --quiet run");
    assert_eq!(folder.read("run/rounds.jsonl"), rounds);
    assert_eq!(folder.bytes("run/model.safetensors"), model);
    std::fs::remove_file(folder.path("run/SHA256SUMS")).unwrap();
    std::fs::remove_file(folder.path("run/noise.key")).unwrap();
    let refused = folder.fail("resume --quiet run");
    assert!(refused.contains("noise.key"), "{refused}");
}

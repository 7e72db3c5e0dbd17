//! The examples of the documentation, one by one, in a comparison and in a sweep.

use super::{Ended, GFSK, REST, Script, each, example, run, scheduled};
use crate::support::{Folder, Run, SMALL};

#[test]
fn random_in_python_gives_the_digests_of_the_built_in_scheduler() {
    let Some(python) = example("python3", "like_random.py") else {
        return;
    };
    let folder = Folder::new();
    for (seed, more) in [
        ("7", "radio.channels=8"),
        // Most clients cannot finish an epoch.
        ("9223372036854775807", "device.deadline_s=0.0027"),
    ] {
        let [own, theirs] = [("own", "random"), ("python", &python)].map(|(name, scheduler)| {
            let out = format!("{name}-{seed}");
            let options = format!("--rounds 12 --threads 1 --seed {seed} --set {more}");
            let words = format!("simulate --quiet {options} --out {out}");
            scheduled(&folder, scheduler, &words).succeed();
            folder.results(&out)
        });
        assert_eq!(theirs, own, "{more}");
    }
}

/// Runs an example that must complete and change the model.
fn trained(interpreter: &str, file: &str, name: &str) -> Option<Ended> {
    let ended = run(&example(interpreter, file)?, &[]);
    ended.assert_complete();
    assert_eq!(ended.scheduler, name);
    let untrained = run("process:true", &[]);
    assert_ne!(ended.state.model(), untrained.state.model());
    Some(ended)
}

#[test]
fn the_thrifty_scheduler_in_python_overdraws_no_client() {
    if let Some(ended) = trained("python3", "thrifty.py", "thrifty") {
        let mut accounts = ended.state.accounts().iter();
        assert!(accounts.all(|account| account.balance_j() >= 0.0));
    }
}

#[test]
fn best_channel_first_in_javascript_trains() {
    trained("node", "best-channel.mjs", "best-channel");
}

#[test]
fn the_examples_train_with_a_transceiver_and_a_program_may_order_its_level_and_bit_rate() {
    for (interpreter, file) in [
        ("python3", "like_random.py"),
        ("python3", "thrifty.py"),
        ("node", "best-channel.mjs"),
    ] {
        if let Some(program) = example(interpreter, file) {
            // An upload costs more than the paper's income.
            let rich = [&["device.harvest_j=1"], &GFSK[..]].concat();
            let ended = run(&program, &rich);
            ended.assert_complete();
            assert_ne!(
                ended.state.model(),
                run("process:true", &[]).state.model(),
                "{file}"
            );
        }
    }
    let orders = |order: &str| {
        let body = format!(
            "printf '{{\"round\":%s,\"orders\":[{{\"client\":4,\"channel\":1,\"epochs\":1,{order}}}]}}\\n' $n"
        );
        run(&Script::new(&each(&body)).scheduler(), &GFSK)
    };
    let spent_j = |ended: &Ended| ended.state.accounts()[4].balance_j();
    let [slow, fast] = ["8", "9"].map(|rate| {
        let ended = orders(&format!("\"level\":23,\"bit_rate\":{rate}"));
        ended.assert_complete();
        spent_j(&ended)
    });
    assert!(slow < fast, "a slower bit rate costs more: {slow} {fast}");
    let refused = orders("\"level\":24").error;
    assert!(
        refused.contains("orders[0].level = 24: client 4 has levels 0 to 23"),
        "{refused}"
    );
}

#[test]
fn a_comparison_and_a_sweep_start_one_program_per_run() {
    let Some(python) = example("python3", "like_random.py") else {
        return;
    };
    let folder = Folder::new();
    let rest = Script::new(&each(REST));
    let rest = rest.0.path("script.sh");
    let schedulers = format!("random,{python},process:\"sh '{}' 1,2\"", rest.display());
    let options =
        "--seeds 2 --rounds 4 --threads 2 --baseline-power max --servers described --json --out c";
    let mut compare = folder.gleaner(&format!("compare {options} {SMALL}"));
    let rows = compare.args(["--schedulers", &schedulers]).succeed().json();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!(rows[1]["scheduler"], python.as_str());
    assert_eq!(rows[1]["seeds"], rows[0]["seeds"]);
    assert_ne!(rows[2]["seeds"], rows[0]["seeds"]);
    let csv = folder.read("c/compare.csv");
    // The reader refuses rows of unequal length.
    let labels = csv::Reader::from_reader(csv.as_bytes())
        .into_records()
        .filter(|row| row.as_ref().unwrap()[0].starts_with("process-like-random"))
        .count();
    assert_eq!(labels, 2, "{csv}");

    let text = format!(
        "[set]\nrun.rounds = 2\npartition.mean_samples = 60\npartition.std_samples = 10\n\
         data.test_samples = 50\n[grid]\n\"run.scheduler\" = [\"random\", \"{python}\"]\n"
    );
    folder.write("grid.toml", text);
    folder.fail_naming("sweep grid.toml --out s", "--allow-process");
    folder.succeed("sweep grid.toml --out s --allow-process");
    let csv = folder.read("s/sweep.csv");
    let row = |line: &str| {
        line.split(',')
            .skip(3)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = csv.lines().skip(1).map(row).collect();
    assert!(rows.len() == 2 && rows[0] == rows[1], "{csv}");
}

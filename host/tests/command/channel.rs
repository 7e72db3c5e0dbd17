//! Channels from a trace: a recorded trace repeats its run, and an unfit trace is refused before a
//! run begins.

use std::fs;

use crate::support::{Folder, Run, SMALL, simulated_fleet};

/// Estimates from uploads need an introduction, which uses the gains of round 0.
const FIXED: &str = "--set clients.kind=fixed-point --set cre.estimates=uplink";
const TRACED: &str = "--set channel.trace=gains.csv";
const RECORD: &str = "--record-channel gains.csv";

fn simulate(out: &str, more: &str) -> String {
    format!("simulate --quiet --threads 1 --rounds 5 {SMALL} --out {out} {more}")
}

/// Returns a folder with a run `drawn` and its gains in `gains.csv`.
fn recorded(more: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.succeed(&simulate("drawn", &format!("{RECORD} {more}")));
    let gains = folder.read("gains.csv");
    (folder, gains)
}

/// Runs a command that must fail, name `token` and leave no folder `traced`.
fn refused(folder: &Folder, words: &str, token: &str) {
    folder.fail_naming(words, token);
    assert!(!folder.exists("traced"), "{words}");
}

#[test]
fn a_recorded_trace_repeats_its_run_byte_for_byte() {
    for more in ["", FIXED] {
        let (folder, gains) = recorded(more);
        assert_eq!(gains.lines().count(), 1 + 6 * 10 * 4, "rounds 0 to 5");
        // A traced run ignores the settings of the drawn channel.
        let traced = format!("{TRACED} --set channel.radius_m=5000 --record-channel again.csv");
        folder.succeed(&simulate("traced", &format!("{traced} {more}")));
        assert_eq!(folder.results("traced"), folder.results("drawn"), "{more}");
        for copy in ["again.csv", "traced/channel.csv"] {
            assert_eq!(folder.read(copy), gains, "{copy}");
        }
        assert!(folder.sums("traced").contains("  channel.csv\n"));

        folder.write("gains.csv", gains.replace(",-", ",-1"));
        folder.succeed(&simulate("other", &format!("{TRACED} {more}")));
        assert_ne!(folder.results("other"), folder.results("drawn"), "{more}");
    }
}

#[test]
fn a_fleet_run_is_recorded_repeated_from_its_trace_and_verified() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    let run = format!("run --quiet --plain --rounds 5 {SMALL}");
    folder.succeed(&format!("{run} --out drawn {RECORD}"));
    folder.succeed(&format!("{run} --out traced {TRACED}"));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
    // Verification uses the copy in the run directory.
    fs::remove_file(folder.path("gains.csv")).unwrap();
    folder.succeed("verify traced");
    folder.fail_naming(&format!("{run} --out gone {TRACED}"), "gains.csv");
    assert!(!folder.exists("gone"));
}

#[test]
fn a_trace_that_does_not_cover_the_run_is_refused() {
    let (folder, gains) = recorded("");
    let without = |entry: &str| {
        let lines = gains.lines().filter(|line| !line.starts_with(entry));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (entry, missing, more) in [
        ("4,9,3,", "round 4, client 9, channel 3", ""),
        ("0,", "round 0, client 0, channel 0", FIXED),
        (
            "-",
            "round 1, client 10, channel 0",
            "--set clients.count=11",
        ),
        ("-", "round 6, client 0, channel 0", "--rounds 7"),
    ] {
        folder.write("gains.csv", without(entry));
        let traced = format!("simulate {SMALL} --out traced {TRACED} {more}");
        let rounds = if more.contains("--rounds") {
            ""
        } else {
            "--rounds 5"
        };
        refused(&folder, &format!("{traced} {rounds}"), missing);
    }
    // Without an introduction no gain of round 0 is needed.
    folder.write("gains.csv", without("0,"));
    folder.succeed(&simulate("traced", TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn a_broken_trace_is_named_by_file_and_line() {
    let (folder, gains) = recorded("");
    for (text, place) in [
        (
            gains.replacen("\n", "\n0,0,0,NaN\n", 1),
            "gains.csv:2: gain_db `NaN`",
        ),
        (
            gains.replacen("\n", "\n1,0,0,-60\n", 1),
            "round 1, client 0, channel 0",
        ),
        (String::new(), "gains.csv:1"),
    ] {
        folder.write("gains.csv", text);
        refused(&folder, &simulate("traced", TRACED), place);
    }
    for path in ["drawn", "nowhere.csv"] {
        let traced = simulate("traced", &format!("--set channel.trace={path}"));
        refused(&folder, &traced, path);
    }
    // Gains whose linear value is zero are refused, and the smallest and largest are not.
    for (gain_db, fits) in [("-3230", false), ("-3070", true), ("3080", true)] {
        let rows = gains.lines().skip(1);
        let row = |(entry, _): (&str, &str)| format!("\n{entry},{gain_db}");
        let rows: String = rows.filter_map(|it| it.rsplit_once(',')).map(row).collect();
        folder.write("gains.csv", format!("round,client,channel,gain_db{rows}\n"));
        let run = simulate(&format!("at{gain_db}"), &format!("{TRACED} {FIXED}"));
        let _ = match fits {
            true => folder.succeed(&run).stderr,
            false => folder.fail(&run),
        };
    }
}

#[test]
fn gains_replace_nothing_but_a_file() {
    let (folder, gains) = recorded("");
    fs::create_dir(folder.path("folder")).unwrap();
    let before = folder.names("");
    let refuse = |out: &str, file: &str, more: &str| {
        let run = simulate(out, &format!("--record-channel {file} {more}"));
        folder.fail_naming(&run, if out == "run" { file } else { out });
        assert_eq!(folder.names(""), before, "{file}");
        assert_eq!(folder.read("gains.csv"), gains);
    };
    for file in ["folder", "run/gains.csv", "nowhere/gains.csv"] {
        refuse("run", file, "");
    }
    refuse("run", "gains.csv", TRACED);
    refuse("drawn", "gains.csv", "--seed 1");
    if cfg!(unix) {
        refuse("run", "/dev/null", "");
    }
}

#[test]
fn a_killed_traced_run_resumes_with_its_copy_of_the_trace() {
    let folder = Folder::new();
    let simulate = |out: &str, more: &str| {
        let checkpoints = "--rounds 24 --set run.checkpoint_every=1";
        format!("simulate --quiet {checkpoints} {SMALL} --out {out} {more}")
    };
    folder.succeed(&simulate("whole", RECORD));
    let half = folder.bytes("whole/clients.csv") / 2;
    let mut run = folder.gleaner(&simulate("broken", TRACED));
    assert!(run.kill_at(&folder.path("broken/clients.csv"), half));

    let resume = "resume broken --threads 1";
    let copy = "broken/channel.csv";
    let gains = folder.read(copy);
    folder.write(copy, gains.replacen(",-", ",-1", 1));
    folder.fail_naming(resume, "trace");
    fs::remove_file(folder.path(copy)).unwrap();
    folder.fail_naming(resume, "channel.csv");
    folder.write(copy, gains);
    folder.write("gains.csv", "damaged");
    folder.succeed(resume);
    assert_eq!(folder.results("broken"), folder.results("whole"));
}

#[test]
fn a_crash_while_a_run_is_prepared_leaves_it_absent_or_whole() {
    let (folder, gains) = recorded("");
    // Before the scenario is written there is no run.
    fs::create_dir(folder.path("early")).unwrap();
    folder.write("early/channel.tmp", "round,cli");
    folder.succeed(&simulate("early", TRACED));
    assert_eq!(folder.results("early"), folder.results("drawn"));
    // After that only the copy lacks its name.
    fs::create_dir(folder.path("late")).unwrap();
    folder.write("late/scenario.toml", folder.read("early/scenario.toml"));
    folder.write("late/channel.tmp", gains);
    folder.succeed("resume late --threads 1");
    assert_eq!(folder.results("late"), folder.results("drawn"));
    assert!(!folder.exists("late/channel.tmp"));
}

#[test]
fn a_comparison_records_one_channel_per_seed_and_runs_all_schedulers_on_a_trace() {
    let folder = Folder::new();
    let compare = |more: &str| {
        format!("compare -q --rounds 5 {SMALL} --schedulers cre,random --baseline-power max {more}")
    };
    folder.succeed(&compare(&format!(
        "--seeds 2 --seed 3 --out drawn {RECORD}"
    )));
    let found = folder.names("");
    assert_eq!(found, ["drawn", "gains-seed3.csv", "gains-seed4.csv"]);
    assert_ne!(folder.read(&found[1]), folder.read(&found[2]));

    fs::copy(folder.path(&found[1]), folder.path("gains.csv")).unwrap();
    let traced = compare(&format!("--seeds 1 --seed 3 --out traced {TRACED}"));
    folder.succeed(&traced);
    // Every run on the trace equals the run whose channel was recorded.
    let results = |dir: &str| -> Vec<_> {
        let runs = folder.names(&format!("{dir}/points"));
        runs.iter()
            .map(|run| folder.results(&format!("{dir}/points/{run}")))
            .collect()
    };
    let drawn = results("drawn");
    assert!(results("traced").iter().all(|run| drawn.contains(run)));

    // Results of another trace with the same name are not reused.
    fs::copy(folder.path(&found[2]), folder.path("gains.csv")).unwrap();
    folder.fail_naming(&traced, "gains.csv");

    // No scheduler runs when the trace does not suffice for one of them.
    folder.write(
        "gains.csv",
        folder.read("gains.csv").replace("\n0,", "\n9,"),
    );
    let uplink = format!("--seeds 1 --set cre.estimates=uplink --out no {TRACED}");
    folder.fail_naming(&compare(&uplink), "round 0");
    assert!(!folder.exists("no"));
}

#[test]
fn a_sweep_varies_the_trace_like_any_key() {
    let (folder, _) = recorded("");
    let text = "[set]\nrun.rounds = 5\npartition.mean_samples = 60\npartition.std_samples = 10\n\
                data.test_samples = 50\n[grid]\nchannel.trace = [\"\", \"gains.csv\"]\n";
    folder.write("lab.toml", text);
    folder.succeed("sweep lab.toml --out out -q");
    let points = folder.names("out/points");
    assert_eq!(points.len(), 2);
    for point in points {
        let results = folder.results(&format!("out/points/{point}"));
        assert_eq!(results, folder.results("drawn"));
    }
}

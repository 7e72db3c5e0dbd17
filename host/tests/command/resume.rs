//! Compares runs that were killed and resumed with runs that were not interrupted.

use std::fs;

use gleaner_files::sha256;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::run::{Checkpoint, RunDirectory};

use crate::support::{Folder, Run, SMALL, simulated_fleet};

const LOG: &str = "broken/clients.csv";
const RESUME: &str = "resume broken --threads 1";
/// Scenario of a run that stops on validation before its last round.
const STOPPING: &str = "--set run.stop=validation --set run.patience=3 \
                        --set data.validation_samples=100 --set learning.learning_rate=0.1";

/// Returns the command line of a run long enough to be killed in the middle.
fn simulate(out: &str, more: &str) -> String {
    let checkpoints = "--rounds 24 --set run.checkpoint_every=1";
    format!("simulate --quiet --threads 1 {checkpoints} {SMALL} {more} --out {out}")
}

/// Kills a run several times, resumes it and compares it with one that was not interrupted.
fn compare_killed_with_whole(kills: u32, more: &str) -> Folder {
    let folder = Folder::new();
    let more = format!("{more} --tensorboard");
    folder.succeed(&simulate("whole", &more));
    let length = folder.bytes("whole/clients.csv");
    let mut rng = Rng::stream(11, Purpose::Faults, 0, kills);
    let mut hits = 0;
    for kill in 0..kills {
        let mut command = if folder.exists("broken/scenario.toml") {
            folder.gleaner(RESUME)
        } else {
            let _ = fs::remove_dir_all(folder.path("broken"));
            folder.gleaner(&simulate("broken", &more))
        };
        // The log is cut back on resuming, so thresholds rise to make progress on average.
        let from = length * u64::from(kill) / u64::from(kills);
        let span = u32::try_from(length / u64::from(kills) * 2).unwrap();
        command.kill_at(&folder.path(LOG), from + u64::from(rng.below(span)));
        hits += u32::from(!folder.exists("broken/SHA256SUMS"));
    }
    assert!(
        2 * hits >= kills,
        "{hits} of {kills} kills came before the end"
    );
    if !folder.exists("broken/SHA256SUMS") {
        folder.succeed(RESUME);
    }
    assert_eq!(folder.sums("broken"), folder.sums("whole"));
    let events = |run: &str| {
        let file = format!("{run}/tensorboard/events.out.tfevents.0.gleaner");
        fs::read(folder.path(&file)).unwrap()
    };
    assert_eq!(events("broken"), events("whole"));
    folder
}

#[test]
fn a_run_killed_many_times_ends_with_the_same_bytes() {
    compare_killed_with_whole(8, "");
}

#[test]
fn anomaly_counts_survive_a_kill() {
    let hostile = "--set hostile.clients=1 --set hostile.attack=loss --set cre.estimates=uplink";
    compare_killed_with_whole(3, hostile);
}

#[test]
fn a_killed_run_stops_on_validation_at_the_same_round() {
    let folder = compare_killed_with_whole(3, STOPPING);
    let rounds = folder.read("whole/rounds.jsonl");
    assert!(rounds.lines().count() < 24 && rounds.contains("\"cause\":\"patience\""));
}

#[test]
fn fixed_point_clients_and_servers_with_memory_survive_a_kill() {
    for more in [
        "--set clients.kind=fixed-point --set cre.estimates=uplink --set server.rule=nesterov",
        "--set server.rule=spectral --scheduler random",
    ] {
        compare_killed_with_whole(2, more);
    }
}

/// Returns a folder with a whole run and one that was killed in the middle, and the JSON summary of
/// the whole one.
fn killed_once() -> (Folder, serde_json::Value) {
    let folder = Folder::new();
    let whole = folder.succeed(&simulate("whole", "--json")).json();
    let half = folder.bytes("whole/clients.csv") / 2;
    let mut run = folder.gleaner(&simulate("broken", ""));
    assert!(run.kill_at(&folder.path(LOG), half));
    (folder, whole["summary"].clone())
}

#[test]
fn a_damaged_checkpoint_is_reported_and_the_previous_one_used() {
    let (folder, summary) = killed_once();
    // A kill between the two renames leaves the older one as the newest.
    let newest = ["broken/checkpoint.bin", "broken/checkpoint.previous.bin"]
        .into_iter()
        .find(|file| folder.exists(file))
        .unwrap();
    let mut bytes = fs::read(folder.path(newest)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write(newest, bytes);
    let resumed = folder.succeed(&format!("{RESUME} --json"));
    assert!(resumed.stderr.contains("checkpoint"), "{}", resumed.stderr);
    assert_eq!(folder.sums("broken"), folder.sums("whole"));
    assert_eq!(resumed.json()["summary"], summary);
    // A complete run gets its summary and its report from the logs alone.
    let report = folder.read("broken/report.html");
    fs::remove_file(folder.path("broken/report.html")).unwrap();
    let again = folder.succeed(&format!("{RESUME} --json"));
    assert_eq!(again.json()["summary"], summary);
    assert_eq!(folder.read("broken/report.html"), report);
}

#[test]
fn a_run_with_the_former_name_of_the_radio_section_is_resumed() {
    let (folder, _) = killed_once();
    let text = folder.read("broken/scenario.toml");
    let old = text.replace("[radio]", "[link]");
    assert_ne!(text, old);
    folder.write("broken/scenario.toml", &old);
    let directory = RunDirectory::new(folder.path("broken"));
    let mut checkpoint = Checkpoint::read(&directory).0.unwrap();
    checkpoint.scenario = sha256(old.as_bytes());
    checkpoint.write(&directory).unwrap();

    let resumed = folder.succeed(RESUME);
    assert_eq!(
        resumed.stderr.matches("[radio]").count(),
        1,
        "{}",
        resumed.stderr
    );
    assert_eq!(folder.results("broken"), folder.results("whole"));
}

#[test]
fn the_number_of_threads_changes_no_byte_under_baselines() {
    // Other schedulers and clients: golden.rs.
    let folder = Folder::new();
    for scheduler in ["fednova", "channel-allocate"] {
        let sums = ["1", "3"].map(|threads| {
            let out = format!("{scheduler}-{threads}");
            let options = format!("--scheduler {scheduler} --threads {threads} --out {out}");
            folder.succeed(&format!("simulate --quiet --rounds 8 {SMALL} {options}"));
            folder.sums(&out)
        });
        assert_eq!(sums[0], sums[1], "{scheduler}");
    }
}

#[test]
fn a_directory_with_other_files_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/notes.txt", "mine");
    folder.fail_naming(&simulate("mine", ""), "mine");
    assert_eq!(folder.names("mine"), ["notes.txt"]);
}

/// Returns a folder with a run on three simulated clients that stopped after round 5 of 8, the words that
/// resume the run, and those that its program needs to continue.
fn stopped() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    let program = "IFS= read -r l; echo '{\"version\":2}'\n\
                   while IFS= read -r l; do r=${l#*\\\"round\\\":}; r=${r%%,*}\n\
                   [ $r = 6 ] && [ ! -e \"$1\" ] && exit 3\n\
                   printf '{\"round\":%s,\"orders\":[{\"client\":%s,\"channel\":0,\"power_w\":0.19,\
                   \"epochs\":1}]}\\n' $r $((r % 3)); done\n";
    folder.write("decide.sh", program);
    let path = |name: &str| folder.path(name).display().to_string();
    let scheduler = format!("process:sh {} {}", path("decide.sh"), path("fixed"));
    let mut run = folder.gleaner(&format!("run --quiet --rounds 8 --out lab {SMALL}"));
    let stopped = run.args(["--scheduler", &scheduler]).fail(1);
    assert!(stopped.contains("round 6"), "{stopped}");
    folder.write("fixed", "");
    folder
}

const RESUME_LAB: &str = "resume lab --quiet --allow-process";

#[test]
fn a_log_that_lost_or_changed_what_the_checkpoint_covers_is_named_before_a_round_is_trained() {
    let folder = stopped();
    let files = ["events.jsonl", "rounds.jsonl", "clients.csv"];
    for file in files {
        let path = format!("lab/{file}");
        let whole = fs::read(folder.path(&path)).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        let damages = [
            Some(&whole[..whole.len() / 2]),
            Some(&[][..]),
            Some(&changed[..]),
            None,
        ];
        for damage in damages {
            match damage {
                Some(bytes) => folder.write(&path, bytes),
                None => fs::remove_file(folder.path(&path)).unwrap(),
            }
            let others = || files.map(|it| fs::read(folder.path(&format!("lab/{it}"))).ok());
            let before = others();
            folder.fail_naming(RESUME_LAB, &path);
            assert_eq!(others(), before, "{file}");
        }
        folder.write(&path, whole);
    }
    folder.succeed(RESUME_LAB);
    folder.succeed("verify lab");
}

#[test]
fn a_log_that_is_longer_than_the_checkpoint_knows_is_continued() {
    let folder = stopped();
    let log = folder.read("lab/events.jsonl");
    // A crash came after a line of the next round, and in the middle of another.
    let line = log.lines().last().unwrap();
    folder.write("lab/events.jsonl", format!("{log}{line}\n{}", &line[..20]));
    for (file, more) in [("rounds.jsonl", "{\"round\":6"), ("clients.csv", "6,0,tra")] {
        let file = format!("lab/{file}");
        folder.write(&file, folder.read(&file) + more);
    }
    folder.succeed(RESUME_LAB);
    folder.succeed("verify lab");
    assert_eq!(folder.read("lab/rounds.jsonl").lines().count(), 8);
}

#[test]
fn checkpoints_of_another_version_are_refused_and_not_started_over() {
    let folder = stopped();
    let log = folder.read("lab/rounds.jsonl");
    for file in ["lab/checkpoint.bin", "lab/checkpoint.previous.bin"] {
        let mut bytes = fs::read(folder.path(file)).unwrap();
        bytes[7] = b'6';
        folder.write(file, bytes);
    }
    folder.fail_naming(RESUME_LAB, "another version");
    assert_eq!(folder.read("lab/rounds.jsonl"), log);
}

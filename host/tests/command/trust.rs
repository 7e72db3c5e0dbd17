//! Keys and updates that stay secret, boards without a key, programs that files name, and logs that are
//! not believed.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Run, simulated_fleet};

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

/// A scheduler that notes each start in the file `starts`. It orders clients 0 and 1 a different number
/// of epochs, and none in every third round; it divides updates by their epochs.
const PROGRAM: &str = r#"cd "$(dirname "$0")"
echo started >>starts
IFS= read -r l; echo '{"version":2,"name":"thirds","aggregation":"nova"}'
while IFS= read -r l; do
    r=${l#*\"round\":}; r=${r%%,*}
    if [ $((r % 3)) = 0 ]; then echo "{\"round\":$r,\"orders\":[]}"; continue; fi
    printf '{"round":%s,"orders":[' $r
    printf '{"client":1,"channel":2,"power_w":0.19,"epochs":2},'
    printf '{"client":0,"channel":1,"power_w":0.17,"epochs":1}]}\n'
done
"#;

/// Returns a folder with the program, a fleet of three clients, and the program as a scheduler.
fn with_program(program: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    folder.write("decide.sh", program);
    let scheduler = format!("process:sh {}", folder.path("decide.sh").display());
    (folder, scheduler)
}

fn scheduled(folder: &Folder, words: &str, scheduler: &str) -> Command {
    let mut command = folder.gleaner(&format!("{words} {SMALL}"));
    command.args(["--scheduler", scheduler]);
    command
}

#[test]
fn verify_replays_a_program_from_the_log_and_starts_nothing() {
    let (folder, scheduler) = with_program(PROGRAM);
    scheduled(&folder, "run --quiet --rounds 7 --out lab", &scheduler).succeed();
    assert_eq!(folder.read("starts"), "started\n");
    fs::remove_file(folder.path("decide.sh")).unwrap();
    let verdict = folder.succeed("verify lab").stdout;
    assert!(verdict.contains("orders    10 replayed"), "{verdict}");
    assert_eq!(folder.read("starts"), "started\n");
    // Another order in the log leads to another model, or is refused.
    let log = folder.read("lab/events.jsonl");
    for (from, to, token) in [
        ("\"epochs\":2", "\"epochs\":1", "arrived"),
        ("\"channel\":2", "\"channel\":77", "orders[1].channel = 77"),
        ("\"power_w\":0.19", "\"power_w\":1e300", "orders[1].power_w"),
        ("\"event\":\"decided\"", "\"event\":\"sent\"", "decided"),
    ] {
        folder.write("lab/events.jsonl", log.replacen(from, to, 1));
        folder.fail_naming("verify lab", token);
    }
}

#[test]
fn verify_starts_nothing_though_the_directory_was_edited_to() {
    let (folder, scheduler) = with_program("cd \"$(dirname \"$0\")\"; touch starts");
    folder.succeed(&format!(
        "run --quiet --scheduler random --rounds 2 --out lab {SMALL}"
    ));
    let scenario = folder.read("lab/scenario.toml");
    let edited = scenario.replace("\"random\"", &format!("\"{scheduler}\""));
    assert_ne!(edited, scenario);
    folder.write("lab/scenario.toml", edited);
    folder.fail_naming("verify lab", "environment.json");
    let environment = folder.read("lab/environment.json");
    let program = format!("{{\"scheduler\":{{\"command\":\"{scheduler}\",\"files\":[]}},");
    folder.write(
        "lab/environment.json",
        environment.replacen('{', &program, 1),
    );
    // The logged orders lead to the same model; its file names the scheduler.
    assert!(folder.gleaner("verify lab").output().unwrap().status.code() == Some(1));
    assert!(!folder.exists("starts"));
}

#[test]
fn an_edited_order_of_a_built_in_scheduler_is_found() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(2));
    folder.succeed(&format!(
        "run --quiet --scheduler random --rounds 2 --out lab {SMALL}"
    ));
    folder.succeed("verify lab");
    let log = folder.read("lab/events.jsonl");
    let edited = log.replacen("\"channel\":", "\"channel\":1", 1);
    folder.write("lab/events.jsonl", edited);
    folder.fail_naming("verify lab", "the log orders");
    // Logs of earlier versions have no orders.
    let lines = log
        .split_inclusive('\n')
        .filter(|line| !line.contains("\"decided\""));
    folder.write("lab/events.jsonl", lines.collect::<String>());
    folder.succeed("verify lab");
}

#[test]
fn a_program_that_a_file_names_needs_permission_and_one_in_the_options_does_not() {
    let (folder, scheduler) = with_program(PROGRAM);
    let started = || fs::remove_file(folder.path("starts")).is_ok();
    let small = SMALL
        .replace("--set ", "")
        .replace(' ', "\n")
        .replace("partition.", "");
    let text = format!("[run]\nrounds = 2\nscheduler = \"{scheduler}\"\n[partition]\n{small}\n");
    folder.write("lab.toml", &text);
    let sweep = text
        .replace("[run]\nrounds", "[set]\nrun.rounds")
        .replace("\nscheduler", "\nrun.scheduler");
    let sweep = sweep
        .replace("[partition]\n", "")
        .replace("mean_", "partition.mean_");
    folder.write("sweep.toml", sweep.replace("std_", "partition.std_"));
    folder.succeed("sweep plan sweep.toml --out planned");
    let named = format!("run.scheduler = \"{scheduler}\"");
    for (words, file) in [
        ("simulate --preset lab.toml --out sim", "lab.toml"),
        ("run --preset lab.toml --out boards", "lab.toml"),
        ("sweep sweep.toml --out swept", "sweep.toml"),
        ("sweep point planned 0", "planned/scenarios/"),
    ] {
        let refused = folder.fail(words);
        for token in [file, &named, "--allow-process"] {
            assert!(refused.contains(token), "{words}: {refused}");
        }
        assert!(!started(), "{words}");
        folder.succeed(&format!("{words} --allow-process"));
        assert!(started(), "{words}");
    }
    // A scheduler in the options replaces that of the file, or permits itself.
    folder.succeed("simulate --preset lab.toml --out own --scheduler random");
    assert!(!started());
    let mut given = folder.gleaner("simulate --preset lab.toml --out given");
    given
        .arg(format!("--set=run.scheduler={scheduler}"))
        .succeed();
    assert!(started());
    folder.succeed("compare --preset lab.toml --schedulers random --seeds 1 --out c");
    assert!(!started());
    // Showing is not starting.
    let shown = folder
        .succeed("config show --plain --preset lab.toml")
        .stdout;
    assert!(shown.contains(&scheduler) && !started());
}

#[cfg(unix)]
#[test]
fn files_that_tell_about_clients_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    // It ends before round 3, which leaves the checkpoints.
    let program = PROGRAM.replacen("r=${r%%,*}", "r=${r%%,*}; [ $r = 4 ] && exit 3", 1);
    let (folder, scheduler) = with_program(&program);
    let run = scheduled(&folder, "run --quiet --rounds 7 --out lab", &scheduler);
    let mut open = Command::new("sh");
    open.current_dir(folder.root());
    open.args(["-c", "umask 022; exec \"$0\" \"$@\""]);
    open.arg(run.get_program()).args(run.get_args());
    open.fail(1);
    let mode = |name: &str| {
        let found = fs::metadata(folder.path(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    for file in [
        "checkpoint.bin",
        "checkpoint.previous.bin",
        "events.jsonl",
        "fleet.toml",
    ] {
        assert_eq!(mode(&format!("lab/{file}")), 0o600, "{file}");
    }
    // The results are as public as their folder.
    assert_eq!(mode("lab/rounds.jsonl"), 0o644);
    let refused = folder.fail("resume lab");
    assert!(refused.contains("lab/scenario.toml") && refused.contains("--allow-process"));
}

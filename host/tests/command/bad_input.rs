//! Invalid instances and test vectors, files without an end, and logs with impossible numbers.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use gleaner_tests::attack::process::run as run_within;

use crate::support::{Folder, Run, SMALL, simulated_fleet};

/// Returns a valid instance.
fn valid() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/round_problem.json");
    let cases: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    cases[1]["inst"].clone()
}

#[test]
fn an_invalid_field_is_named_with_its_value() {
    let folder = Folder::new();
    for (key, value, field, shown) in [
        ("D", json!([-5, 1, 1, 1, 1, 1, 1, 1]), "D[0]", "-5"),
        ("D", json!([]), "D", "0 entries"),
        ("C", json!(-3), "C", "-3"),
        ("U", json!(9), "U", "9"),
        ("rho", json!(null), "rho", "null"),
        ("rho", json!("NaN"), "rho", "NaN"),
        ("T_max_s", json!(1e-7), "T_max_s", "0.0000001"),
        ("Z_j", json!([1, 2]), "Z_j", "2 entries"),
        ("p_max_w", json!("loud"), "p_max_w", "loud"),
        ("colour", json!("red"), "colour", "red"),
    ] {
        let mut instance = valid();
        instance[key] = value;
        if key == "D" {
            // Derived from D, which itself must be found wrong.
            let map = instance.as_object_mut().unwrap();
            map.retain(|key, _| key != "T_s" && key != "E_j");
        }
        folder.write("bad.json", instance.to_string().replace("\"NaN\"", "NaN"));
        let message = folder.fail("solve --instance bad.json");
        assert!(message.contains(field), "{message}");
        assert!(message.contains(shown), "{message}");
    }
    let mut instance = valid();
    instance.as_object_mut().unwrap().remove("F_gap");
    folder.write("bad.json", instance.to_string());
    folder.fail_naming("solve --instance bad.json", "F_gap");
}

#[test]
fn a_wrong_vector_is_named_by_file_and_case() {
    let folder = Folder::new();
    folder.write(
        "channel.json",
        json!([{
            "gamma_m": 100.0, "nu_ghz": 1.0, "gain_db": 0.0, "small": 1.0, "large": 1e-7, "h": 1e-7
        }])
        .to_string(),
    );
    folder.fail_naming("selftest --vectors .", "channel.json[0]: large");

    let mut case = json!({ "inst": valid(), "assign": [[0, 1], [1, 1]], "p_w": [0.1, 0.1] });
    for key in ["tau_unconstrained", "tau_cap", "tau_star", "dJ_dtau_0"] {
        case[key] = json!(1.0);
    }
    fs::remove_file(folder.path("channel.json")).unwrap();
    folder.write("tau_star.json", json!([case]).to_string());
    folder.fail_naming("selftest --vectors .", "[1, 1]");
}

#[test]
fn an_instance_without_time_for_an_epoch_gets_an_empty_plan() {
    let folder = Folder::new();
    folder.write("good.json", valid().to_string());
    let planned = folder.succeed("solve --csv --instance good.json").stdout;
    let mut late = valid();
    late["t_down_s"] = json!(1.0);
    folder.write("late.json", json!({ "inst": late, "J": 0.0 }).to_string());
    let empty = folder.succeed("solve --csv --instance late.json").stdout;
    let tau = |table: &str| {
        let mut table = csv::Reader::from_reader(table.as_bytes());
        let column = table.headers().unwrap().iter().position(|it| it == "tau");
        table.records().next().unwrap().unwrap()[column.unwrap()].to_owned()
    };
    assert_ne!(tau(&planned), "0");
    assert_eq!(tau(&empty), "0");
}

/// Returns a command that fails if it asks for more than two gigabytes of addresses.
fn bounded(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(command.get_current_dir().unwrap());
    shell.args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

#[cfg(target_os = "linux")]
#[test]
fn files_without_an_end_are_refused_by_their_name() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    symlink("/dev/zero", folder.path("device.toml")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(folder.path("pipe.toml"))
        .status();
    assert!(pipe.unwrap().success());
    // Takes no space on the disk.
    let huge = fs::File::create(folder.path("huge.toml")).unwrap();
    huge.set_len(10 << 30).unwrap();
    for (file, what) in [
        ("device.toml", "not a regular file"),
        ("pipe.toml", "not a regular file"),
        ("huge.toml", "longer than 4194304 bytes"),
    ] {
        for words in [
            format!("simulate --preset {file}"),
            format!("simulate --profile {file}"),
            format!("run --fleet {file}"),
            format!("sweep {file}"),
            format!("measure --plan {file} --print-plan"),
        ] {
            let refused = bounded(&folder.gleaner(&words)).fail(1);
            assert!(refused.contains(file), "{words}: {refused}");
            assert!(refused.contains(what), "{words}: {refused}");
        }
    }
    folder.succeed(&format!("simulate --quiet --rounds 1 {SMALL} --out run"));
    for name in ["scenario.toml", "environment.json", "profile.toml"] {
        let path = folder.path("run").join(name);
        let whole = fs::read(&path).ok();
        for file in ["device.toml", "huge.toml", "pipe.toml"] {
            let _ = fs::remove_file(&path);
            symlink(folder.path(file), &path).unwrap();
            let output = bounded(&folder.gleaner("report run")).output().unwrap();
            assert!(
                matches!(output.status.code(), Some(0 | 1)),
                "{name}: {output:?}"
            );
        }
        fs::remove_file(&path).unwrap();
        if let Some(whole) = whole {
            fs::write(&path, whole).unwrap();
        }
    }
    folder.succeed("report run");
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_of_a_run_keeps_who_reads_it_waiting_or_fills_the_memory() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(3));
    let pipe = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(pipe.unwrap().success());
    let trace = "t_s,p_w\n0,0.5\n10,0.5\n";
    folder.write("light.csv", trace);
    let gains = "--record-channel gains.csv";
    let sets = "--set clients.count=3 --set privacy.clip=1 --set privacy.noise=secret \
                --set harvest.source=trace --set harvest.file=light.csv";
    folder.succeed(&format!(
        "simulate --quiet --scheduler random --rounds 2 {SMALL} --set clients.count=3 {gains} --out recorded"
    ));
    let run = format!("run --quiet --scheduler random --rounds 2 {SMALL} {sets}");
    folder.succeed(&format!("{run} --set channel.trace=gains.csv --out lab"));
    folder.succeed("verify lab");
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    let bounded = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        run_within(program, folder.root(), &words)
            .unwrap_or_else(|what| panic!("{words:?}: {what}"))
    };
    for endless in ["/dev/zero", "pipe"] {
        let scenario = format!("[channel]\ntrace = \"{endless}\"\n");
        folder.write("evil.toml", scenario);
        let refused = bounded("simulate --preset evil.toml --out evil");
        refused.refused(&[endless, "not a regular file"]).unwrap();
    }
    let names = folder.names("lab");
    for needed in ["noise.key", "channel.csv", "harvest.csv", "events.jsonl"] {
        assert!(
            names.iter().any(|name| name == needed),
            "{needed}: {names:?}"
        );
    }
    for name in names
        .iter()
        .filter(|name| folder.path("lab").join(name).is_file())
    {
        let path = folder.path("lab").join(name);
        let whole = fs::read(&path).unwrap();
        for endless in [Path::new("/dev/zero"), &folder.path("pipe")] {
            for command in ["report", "verify", "resume"] {
                fs::remove_file(&path).unwrap();
                symlink(endless, &path).unwrap();
                let ended = bounded(&format!("{command} lab"));
                assert!(
                    matches!(ended.code, Some(0 | 1)),
                    "{command} {name}: {ended:?}"
                );
                assert!(
                    !ended.stderr.contains("panicked"),
                    "{command} {name}: {ended:?}"
                );
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn a_log_with_impossible_numbers_is_refused_by_its_line() {
    let folder = Folder::new();
    folder.succeed(&format!("simulate --quiet --rounds 3 {SMALL} --out run"));
    let clients = folder.read("run/clients.csv");
    let rounds = folder.read("run/rounds.jsonl");
    let second = |to: &str| {
        let row = clients.lines().nth(2).unwrap();
        let rest = row.splitn(3, ',').nth(2).unwrap();
        clients.replacen(row, &format!("{to},{rest}"), 1)
    };
    let endless = format!("{}{}", clients.lines().next().unwrap(), "1".repeat(1 << 20));
    for (text, token) in [
        (second("1,4294967295"), "line 3: client 4294967295"),
        (
            second("4294967295,1"),
            "line 3: client 1 in round 4294967295",
        ),
        (second("1,10"), "line 3: client 10"),
        (second("1,0"), "line 3: client 0"),
        (
            clients
                .lines()
                .take(12)
                .map(|it| format!("{it}\n"))
                .collect(),
            "line 12: the last",
        ),
        (endless.clone(), "longer than 65536"),
    ] {
        folder.write("run/clients.csv", text);
        let refused = bounded(&folder.gleaner("report run")).fail(1);
        assert!(
            refused.contains("clients.csv") && refused.contains(token),
            "{refused}"
        );
    }
    folder.write("run/clients.csv", &clients);
    for (from, to, token) in [
        (
            "\"round\":2",
            "\"round\":4294967295",
            "line 2: round 4294967295",
        ),
        ("\"round\":1", "\"round\":3", "line 1: begins with round 3"),
        (
            "\"participants\":[",
            "\"participants\":[4294967295,",
            "line 1: client 4294967295",
        ),
    ] {
        folder.write("run/rounds.jsonl", rounds.replacen(from, to, 1));
        let refused = bounded(&folder.gleaner("report run")).fail(1);
        assert!(
            refused.contains("rounds.jsonl") && refused.contains(token),
            "{refused}"
        );
    }
    // A scenario with more clients than the log has rows of.
    folder.write("run/rounds.jsonl", &rounds);
    let scenario = folder.read("run/scenario.toml");
    folder.write(
        "run/scenario.toml",
        scenario.replace("count = 10\n", "count = 100000\n"),
    );
    let refused = bounded(&folder.gleaner("report run")).fail(1);
    assert!(refused.contains("3 rounds of 100000 clients"), "{refused}");
}

#[test]
fn counts_without_bounds_are_refused_with_key_and_limit() {
    let folder = Folder::new();
    for key in [
        "clients.count",
        "run.rounds",
        "radio.channels",
        "partition.shards_per_client",
    ] {
        let words = format!("simulate {SMALL} --set {key}=9223372036854775807");
        let refused = bounded(&folder.gleaner(&words)).fail(1);
        assert!(
            refused.contains(key) && refused.contains("at most"),
            "{refused}"
        );
    }
}

//! What commands say to whoever reads them, or no longer does.

use std::process::{Command, Output, Stdio};

fn gleaner() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child = gleaner()
        .args(["config", "explain", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
}

#[test]
fn a_run_says_that_nobody_took_part_and_how_many_threads_there_were() {
    let folder = tempfile::tempdir().unwrap();
    let output = gleaner()
        .args(["simulate", "-q", "--rounds", "1", "--out"])
        .arg(folder.path())
        .args(["--set", "device.deadline_s=1e-4"])
        .args(["--set", "partition.mean_samples=30"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let note = said(&output);
    assert!(note.contains("nobody trained in any round"), "{note}");
    let environment = std::fs::read_to_string(folder.path().join("environment.json")).unwrap();
    assert!(!environment.contains("\"threads\": 0"), "{environment}");
}

#[test]
fn whoever_runs_a_network_with_the_cycles_of_another_is_warned() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = folder.path().join("fleet.toml");
    let client = "[[client]]\nname = \"simulated\"\nid = 0\nlink = \"simulated\"\n";
    std::fs::write(&fleet, client).unwrap();
    let fleet = fleet.display().to_string();
    for (name, command) in [
        ("simulate", vec!["simulate"]),
        ("compare", vec!["compare", "--schedulers", "random"]),
        ("run", vec!["run", "--plain", "--fleet", &fleet]),
    ] {
        let warned = |quiet: &[&str]| {
            let output = gleaner()
                .args(&command)
                .args(["--preset", "rp2040", "--rounds", "1"])
                .args(["--set", "data.dataset=digits"])
                .args(["--set", "partition.mean_samples=20"])
                .args(["--set", "partition.std_samples=1", "--out"])
                .arg(folder.path().join(format!("{name}-{}", quiet.len())))
                .args(quiet)
                .output()
                .unwrap();
            assert!(output.status.success(), "{name}: {}", said(&output));
            said(&output).contains("and this one is 64-")
        };
        assert!(warned(&[]), "{name}");
        assert!(!warned(&["-q"]), "{name}");
    }
}

#[test]
fn a_run_names_the_client_that_poisons_it_in_words_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let output = gleaner()
            .args([
                "simulate",
                "-q",
                "--rounds",
                "4",
                "--scheduler",
                "round-robin",
                "--out",
            ])
            .arg(folder.path().join(name))
            .args([
                "--set",
                "partition.mean_samples=30",
                "--set",
                "partition.std_samples=3",
            ])
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let hostile = ["--set", "hostile.clients=1"];
    let words = run("words", &hostile);
    let told =
        |line: &str| line.contains("sent what is implausible") && line.contains("client 9: 1 time");
    assert!(words.lines().any(told), "{words}");
    let json = run("json", &[&hostile[..], &["--json"]].concat());
    assert!(json.contains(r#""implausible":{"9":1}"#), "{json}");
    let rounds = std::fs::read_to_string(folder.path().join("json/rounds.jsonl")).unwrap();
    assert!(
        rounds.contains(r#""implausible":[{"client":9,"what":"an update 1"#),
        "{rounds}"
    );
    assert!(!run("honest", &[]).contains("implausible"));
}

#[test]
fn a_source_of_income_is_the_same_as_json_and_as_csv() {
    let shown = |form: &str| {
        let name = "builtin:greensboro-winter-week";
        let output = gleaner()
            .args(["energy", "harvest", name, "--panel-cm2", "8", form])
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let json: serde_json::Value = serde_json::from_str(&shown("--json")).expect("JSON");
    let incomes = json["income_j"].as_array().expect("a list");
    // 93.8 W/m^2 on 8 cm^2 at 20 %.
    assert!((json["mean_w"].as_f64().expect("a number") - 15.0e-3).abs() < 0.1e-3);
    let csv = shown("--csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows[0], rows.len()), ("round,t_s,income_j", 1 + 7 * 24));
    assert_eq!(incomes.len(), 7 * 24);
    let noon = rows[13].split(',').collect::<Vec<_>>();
    assert_eq!(noon[..2], ["13", "43200"]);
    assert_eq!(noon[2].parse().ok(), incomes[12].as_f64());
}

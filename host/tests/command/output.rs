//! Standard output, warnings and JSON of commands.

use std::process::Stdio;

use crate::support::{Folder, simulated_fleet};

#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = Folder::new();
    let mut child = folder
        .gleaner("config explain --markdown")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_run_warns_that_no_client_trained_and_records_its_threads() {
    let folder = Folder::new();
    let run = "simulate -q --rounds 1 --set partition.mean_samples=30 --out";
    let late = folder.succeed(&format!("{run} late --set device.deadline_s=1e-4"));
    assert_ne!(late.stderr, "");
    assert_eq!(folder.succeed(&format!("{run} usual")).stderr, "");
    let environment = folder.json("late/environment.json");
    assert!(environment["threads"].as_u64() > Some(0), "{environment}");
}

#[test]
fn a_run_beyond_ten_bits_per_hertz_is_warned_of_once_on_screen_and_in_the_report() {
    let folder = Folder::new();
    let run = "simulate --rounds 3 --set partition.mean_samples=30 --out";
    let warnings = |text: &str| text.matches("bit/s/Hz in the uplink").count();
    for (name, settings, times) in [
        ("paper", "", 1),
        (
            "capped",
            "--set radio.rate=capped --set device.deadline_s=0.1",
            0,
        ),
        ("board", "--preset rp2040", 0),
    ] {
        let said = folder.succeed(&format!("{run} {name} {settings}")).stderr;
        assert_eq!(warnings(&said), times, "{name}: {said}");
        let page = folder.read(&format!("{name}/report.html"));
        assert_eq!(warnings(&page), times, "{name}");
    }
}

#[test]
fn cycles_cycles_warning_network_are_warned_of() {
    let folder = Folder::new();
    folder.write("fleet.toml", simulated_fleet(1));
    for (name, command) in [
        ("simulate", "simulate"),
        ("quiet", "simulate -q"),
        ("compare", "compare --schedulers random"),
        ("run", "run --plain"),
    ] {
        let printed = folder.succeed(&format!(
            "{command} --preset rp2040 --rounds 1 --set data.dataset=digits --out {name} \
             --set partition.mean_samples=20 --set partition.std_samples=1"
        ));
        let warned = printed.stderr.contains("784-50-10");
        assert_eq!(warned, name != "quiet", "{name}: {}", printed.stderr);
    }
}

#[test]
fn a_client_that_poisons_a_run_is_named_in_text_and_json() {
    let folder = Folder::new();
    let run = "simulate -q --rounds 4 --scheduler round-robin --set partition.mean_samples=30 \
               --set partition.std_samples=3 --out";
    let text = folder.succeed(&format!("{run} text --set hostile.clients=1"));
    assert!(text.stdout.contains("client 9"), "{}", text.stdout);
    let hostile = folder.succeed(&format!("{run} json --set hostile.clients=1 --json"));
    let hostile = hostile.stdout;
    assert!(hostile.contains(r#""anomalies":{"9":1}"#), "{hostile}");
    let rounds = folder.read("json/rounds.jsonl");
    assert!(rounds.contains(r#""anomalies":[{"client":9"#), "{rounds}");
    let honest = folder.succeed(&format!("{run} honest --json")).stdout;
    assert!(!honest.contains(r#""9":1"#), "{honest}");
}

#[test]
fn a_harvest_source_is_the_same_in_json_and_csv() {
    let folder = Folder::new();
    let harvest = "energy harvest builtin:greensboro-winter-week --panel-cm2 8";
    let json = folder.succeed(&format!("{harvest} --json")).json();
    let incomes = json["income_j"].as_array().unwrap();
    // 93.8 W/m^2 on 8 cm^2 at 20 %.
    assert!((json["mean_w"].as_f64().unwrap() - 15.0e-3).abs() < 0.1e-3);
    let csv = folder.succeed(&format!("{harvest} --csv")).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows[0], rows.len()), ("round,t_s,income_j", 1 + 7 * 24));
    assert_eq!(incomes.len(), 7 * 24);
    let noon = rows[13].split(',').collect::<Vec<_>>();
    assert_eq!(noon[..2], ["13", "43200"]);
    assert_eq!(noon[2].parse().ok(), incomes[12].as_f64());
}

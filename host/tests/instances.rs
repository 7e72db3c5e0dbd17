//! `simulate --record-instances` and `solve --csv`: the rounds of a run, solved again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const SMALL: [&str; 7] = [
    "simulate",
    "-q",
    "--rounds=3",
    "--set=partition.mean_samples=30",
    "--set=partition.std_samples=3",
    "--set=cre.v=0.1",
    "--out",
];

fn gleaner() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
}

fn simulate(out: &Path, more: &[&str]) -> Output {
    let mut command = gleaner();
    command.args(SMALL).arg(out).args(more);
    command.output().unwrap()
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recorded_run_is_the_same_run_and_its_rounds_are_solved_to_the_same_plans() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rounds.json");
    let option = format!("--record-instances={}", file.display());
    let (plain, recorded) = (folder.path().join("plain"), folder.path().join("recorded"));
    assert!(simulate(&plain, &[]).status.success());
    assert!(simulate(&recorded, &[&option]).status.success());
    let sums = |run: &Path| fs::read_to_string(run.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&plain), sums(&recorded));

    let table = printed(gleaner().args(["solve", "--csv", "--instance"]).arg(&file));
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let header = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let rounds = fs::read_to_string(recorded.join("rounds.jsonl")).unwrap();
    assert_eq!(rows.len(), rounds.lines().count());
    for (row, line) in rows.iter().zip(rounds.lines()) {
        let round: Value = serde_json::from_str(line).unwrap();
        let cell = |name: &str| &row[header.iter().position(|it| it == name).unwrap()];
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        assert_eq!(cell("name"), format!("round {}", round["round"]));
        for (column, field) in [
            ("bound", "bound"),
            ("rho", "rho"),
            ("beta", "beta"),
            ("J", "objective"),
        ] {
            assert_eq!(number(column), round[field].as_f64().unwrap(), "{column}");
        }
        assert_eq!(number("tau"), round["epochs"].as_f64().unwrap());
        let clients: Vec<usize> = serde_json::from_value(round["participants"].clone()).unwrap();
        let words: Vec<String> = clients.iter().map(usize::to_string).collect();
        assert_eq!(cell("clients"), words.join(" "));
        let parts = number("drift") + number("absent") + number("convergence");
        assert!((parts / number("bound") - 1.0).abs() < 1e-12);
        // The plan is the best of those with its number of clients, and no number has a better one.
        let (own, least) = (format!("J_{}", clients.len()), number("J"));
        assert!((number(&own) - least).abs() <= 1e-12 * least.abs());
        for size in 1..=3 {
            assert!(number(&format!("J_{size}")) >= least - 1e-12 * least.abs());
        }
    }
}

#[test]
fn rounds_without_anybody_and_of_other_schedulers_are_recorded_too() {
    let folder = tempfile::tempdir().unwrap();
    for more in ["--set=device.deadline_s=1e-4", "--scheduler=random"] {
        let file = folder.path().join("rounds.json");
        let option = format!("--record-instances={}", file.display());
        let output = simulate(&folder.path().join(more), &[&option, more]);
        assert!(output.status.success(), "{more}");
        let table = printed(gleaner().args(["solve", "--csv", "--instance"]).arg(&file));
        assert_eq!(table.lines().count(), 1 + 3, "{table}");
        let columns = |line: &str| line.matches(',').count();
        assert!(
            table
                .lines()
                .all(|line| columns(line) == columns(table.lines().next().unwrap()))
        );
    }
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    for place in [
        folder.path().join("nowhere/a.json"),
        run.join("a.json"),
        folder.path().into(),
    ] {
        let option = format!("--record-instances={}", place.display());
        let output = simulate(&run, &[&option]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(
            said.contains("--record-instances") && said.contains(place.to_str().unwrap()),
            "{said}"
        );
        assert!(!run.exists(), "{said}");
    }
}

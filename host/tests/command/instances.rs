//! `simulate --record-instances` and `solve --csv`: solves the rounds of a run again.

use crate::support::{Folder, Run};

const SMALL: &str = "simulate -q --rounds=3 --set=partition.mean_samples=30 \
                     --set=partition.std_samples=3 --set=cre.v=0.1 --out";
const RECORD: &str = "--record-instances=rounds.json";

fn solve(folder: &Folder) -> Vec<csv::StringRecord> {
    let table = folder.succeed("solve --csv --instance rounds.json").stdout;
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).from_reader(table.as_bytes());
    reader.into_records().map(Result::unwrap).collect()
}

#[test]
fn recording_changes_no_result_and_the_recorded_rounds_have_the_same_plans() {
    let folder = Folder::new();
    folder.succeed(&format!("{SMALL} plain"));
    folder.succeed(&format!("{SMALL} recorded {RECORD}"));
    assert_eq!(folder.sums("plain"), folder.sums("recorded"));

    let table = solve(&folder);
    let rounds = folder.read("recorded/rounds.jsonl");
    assert_eq!(table.len(), 1 + rounds.lines().count());
    for (row, line) in table[1..].iter().zip(rounds.lines()) {
        let round: serde_json::Value = serde_json::from_str(line).unwrap();
        let cell = |name: &str| &row[table[0].iter().position(|it| it == name).unwrap()];
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        assert_eq!(cell("name"), format!("round {}", round["round"]));
        for (column, field) in [
            ("bound", "bound"),
            ("rho", "rho"),
            ("beta", "beta"),
            ("J", "objective"),
            ("tau", "epochs"),
        ] {
            assert_eq!(number(column), round[field].as_f64().unwrap(), "{column}");
        }
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
fn rounds_without_participants_and_of_other_schedulers_are_recorded() {
    let folder = Folder::new();
    for (run, more) in [
        ("empty", "--set=device.deadline_s=1e-4"),
        ("random", "--scheduler=random"),
    ] {
        folder.succeed(&format!("{SMALL} {run} {RECORD} {more}"));
        assert_eq!(solve(&folder).len(), 1 + 3, "{run}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    let folder = Folder::new();
    for file in ["nowhere/a.json", "run/a.json", "."] {
        let mut simulate = folder.gleaner(&format!("{SMALL} run"));
        let message = simulate.arg(format!("--record-instances={file}")).fail(1);
        assert!(message.contains(file), "{message}");
        assert!(!folder.exists("run"), "{message}");
    }
}

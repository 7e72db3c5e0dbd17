//! Channels from a trace: what a run recorded gives the same run again, and a trace that does not
//! fit is refused before there is a run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("gleaner-channel-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    fn gleaner(&self, command: &str, more: &[&str]) -> Command {
        let mut gleaner = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        gleaner.current_dir(&self.0).arg(command).args(more);
        gleaner
    }

    /// Simulates a few rounds of small clients.
    fn simulate(&self, out: &str, more: &[&str]) -> Command {
        let mut gleaner = self.gleaner("simulate", &SMALL);
        gleaner.args(["--out", out, "--quiet"]).args(more);
        gleaner
    }

    /// Leaves `gains.csv` behind, with the gains of such a run.
    fn record(&self, more: &[&str]) -> String {
        let mut recorded = self.simulate("drawn", &["--record-channel", "gains.csv"]);
        succeed(recorded.args(more));
        self.read("gains.csv")
    }

    /// Returns the digests of logs and model: those of the scenario and its trace name the cause,
    /// not the result.
    fn results(&self, run: &str) -> String {
        let sums = self.read(&format!("{run}/SHA256SUMS"));
        let results = sums
            .lines()
            .filter(|line| !line.ends_with("scenario.toml") && !line.ends_with("channel.csv"));
        let results: Vec<&str> = results.collect();
        assert_eq!(results.len(), 3, "{sums}");
        results.join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SMALL: [&str; 10] = [
    "--rounds",
    "5",
    "--set",
    "partition.mean_samples=60",
    "--set",
    "partition.std_samples=10",
    "--set",
    "data.test_samples=50",
    "--threads",
    "1",
];

/// Estimates from uploads need an introduction, and that the gains of round 0.
const FIXED: [&str; 4] = [
    "--set",
    "clients.kind=fixed-point",
    "--set",
    "cre.estimates=uplink",
];

const TRACED: [&str; 2] = ["--set", "channel.trace=gains.csv"];

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    output
}

fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_recorded_run_is_made_again_from_its_trace_byte_for_byte() {
    for (name, more) in [("float", &[][..]), ("fixed", &FIXED[..])] {
        let folder = Folder::new(name);
        let gains = folder.record(more);
        assert_eq!(gains.lines().count(), 1 + 6 * 10 * 4, "rounds 0 to 5");
        let mut traced = folder.simulate("traced", &TRACED);
        // Nothing of the drawn channel counts any more.
        traced.args(["--set", "channel.radius_m=5000"]).args(more);
        succeed(traced.args(["--record-channel", "again.csv"]));
        assert_eq!(folder.results("traced"), folder.results("drawn"), "{name}");
        assert_eq!(folder.read("again.csv"), gains, "{name}");
        assert_eq!(folder.read("traced/channel.csv"), gains, "{name}");
        assert!(folder.read("traced/SHA256SUMS").contains("  channel.csv\n"));
    }
}

#[test]
fn another_channel_makes_another_run() {
    let folder = Folder::new("other");
    let gains = folder.record(&[]);
    fs::write(folder.join("gains.csv"), gains.replace(",-", ",-1")).unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_ne!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn rows_in_any_order_with_what_spreadsheets_add_are_the_same_trace() {
    let folder = Folder::new("spreadsheet");
    let gains = folder.record(&[]);
    let mut lines = gains.lines();
    let mut text = format!("\u{feff}{}\r\n\r\n", lines.next().unwrap());
    for line in lines.rev() {
        text.push_str(&format!("\"{}\"\r\n", line.replace(',', "\",\"")));
    }
    fs::write(folder.join("gains.csv"), text + "9,0,0,-60\r\n\r\n").unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn a_trace_that_does_not_cover_the_run_is_refused_before_there_is_one() {
    let folder = Folder::new("gaps");
    let gains = folder.record(&[]);
    let without = |entry: &str| {
        let lines = gains.lines().filter(|line| !line.starts_with(entry));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (entry, named, more) in [
        ("5,", "round 5, client 0, channel 0", &[][..]),
        ("3,7,", "round 3, client 7, channel 0", &[]),
        ("4,9,3,", "round 4, client 9, channel 3", &[]),
        ("0,", "round 0, client 0, channel 0", &FIXED),
        (
            "-",
            "round 1, client 0, channel 4",
            &["--set", "radio.channels=4"],
        ),
        (
            "-",
            "round 1, client 10, channel 0",
            &["--set", "clients.count=11"],
        ),
        ("-", "round 6, client 0, channel 0", &["--rounds", "7"]),
    ] {
        fs::write(folder.join("gains.csv"), without(entry)).unwrap();
        let mut traced = folder.gleaner("simulate", &SMALL[2..]);
        let rounds = match more {
            ["--rounds", ..] => &[][..],
            _ => &SMALL[..2],
        };
        traced.args(["--out", "traced"]).args(TRACED);
        let said = refused(traced.args(rounds).args(more));
        assert!(said.contains("gains.csv: no gain for"), "{said}");
        assert!(said.contains(named), "{said}");
        assert!(!folder.join("traced").exists(), "{named}");
    }
    // Without an introduction there is no round 0 to miss.
    fs::write(folder.join("gains.csv"), without("0,")).unwrap();
    succeed(&mut folder.simulate("traced", &TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
}

#[test]
fn a_broken_trace_is_named_by_file_line_and_value_and_leaves_nothing_behind() {
    let folder = Folder::new("broken");
    let gains = folder.record(&[]);
    let header = "round,client,channel,gain_db";
    let broken = |row: &str| gains.replace(header, &format!("{header}\n{row}"));
    for (text, wanted) in [
        (broken("0,0,0,NaN"), "gains.csv:2: gain_db `NaN`"),
        (broken("0,0,0,inf"), "gains.csv:2: gain_db `inf`"),
        (broken("0,0,0,-inf"), "gains.csv:2: gain_db `-inf`"),
        (broken("0,0,-1,-60"), "gains.csv:2: channel `-1`"),
        (broken("4294967296,0,0,-60"), "gains.csv:2: round `42949"),
        (broken("1,0,0,-60"), "round 1, client 0, channel 0 given"),
        (gains.replace(header, "a,b"), "gains.csv:1: header `a,b`"),
        (String::new(), "gains.csv:1: header ``"),
    ] {
        fs::write(folder.join("gains.csv"), text).unwrap();
        let said = refused(&mut folder.simulate("traced", &TRACED));
        assert!(said.contains(wanted), "{said}");
        assert!(!folder.join("traced").exists(), "{wanted}");
    }
    for (path, wanted) in [
        ("drawn", "drawn: Is a directory"),
        ("nowhere.csv", "nowhere.csv: No such file"),
    ] {
        let trace = format!("channel.trace={path}");
        let said = refused(&mut folder.simulate("traced", &["--set", &trace]));
        assert!(said.contains(wanted) || !cfg!(unix), "{said}");
        assert!(!folder.join("traced").exists(), "{wanted}");
    }
}

#[test]
fn a_traced_run_that_was_killed_resumes_whatever_became_of_its_trace() {
    let folder = Folder::new("resume");
    let long = ["--rounds", "30", "--set", "run.checkpoint_every=1"];
    let simulate = |out: &str, more: &[&str]| {
        let mut gleaner = folder.gleaner("simulate", &SMALL[2..]);
        gleaner
            .args(long)
            .args(["--out", out, "--quiet"])
            .args(more);
        gleaner
    };
    succeed(&mut simulate("whole", &["--record-channel", "gains.csv"]));
    let half = fs::metadata(folder.join("whole/clients.csv"))
        .unwrap()
        .len()
        / 2;
    let mut command = simulate("broken", &TRACED);
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().unwrap();
    let log = folder.join("broken/clients.csv");
    while fs::metadata(&log).map_or(0, |log| log.len()) < half {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();

    // A copy that is not what the first rounds were made with is noticed.
    let copy = folder.join("broken/channel.csv");
    let gains = fs::read_to_string(&copy).unwrap();
    let resume = || folder.gleaner("resume", &["broken", "--threads", "1"]);
    fs::write(&copy, gains.replacen(",-", ",-1", 1)).unwrap();
    let said = refused(&mut resume());
    assert!(said.contains("another scenario or trace"), "{said}");
    fs::remove_file(&copy).unwrap();
    assert!(refused(&mut resume()).contains("channel.csv"));
    fs::write(&copy, gains).unwrap();

    fs::write(folder.join("gains.csv"), "nothing of use").unwrap();
    succeed(&mut resume());
    assert_eq!(folder.results("broken"), folder.results("whole"));
}

#[test]
fn a_crash_while_a_run_is_prepared_leaves_it_vacant_or_whole() {
    let folder = Folder::new("prepare");
    folder.record(&[]);
    // Before the scenario was written: there is no run yet.
    fs::create_dir(folder.join("early")).unwrap();
    fs::write(folder.join("early/channel.tmp"), "round,cli").unwrap();
    succeed(&mut folder.simulate("early", &TRACED));
    assert_eq!(folder.results("early"), folder.results("drawn"));
    // After it: all that is missing is the copy's name.
    fs::create_dir(folder.join("late")).unwrap();
    for (from, to) in [
        ("scenario.toml", "scenario.toml"),
        ("channel.csv", "channel.tmp"),
    ] {
        let from = folder.join("early").join(from);
        fs::copy(from, folder.join("late").join(to)).unwrap();
    }
    succeed(&mut folder.gleaner("resume", &["late", "--threads", "1"]));
    assert_eq!(folder.results("late"), folder.results("drawn"));
    assert!(!names(&folder.join("late")).contains(&"channel.tmp".to_owned()));
}

#[test]
fn a_comparison_records_one_channel_per_seed_and_runs_every_scheduler_on_a_trace() {
    let folder = Folder::new("compare");
    let compare = |more: &[&str]| {
        let mut gleaner = folder.gleaner("compare", &SMALL);
        gleaner.args([
            "--schedulers",
            "cre,random",
            "--baseline-power",
            "max",
            "-q",
        ]);
        gleaner.args(more);
        gleaner
    };
    let record = ["--record-channel", "gains.csv"];
    succeed(compare(&["--seeds", "2", "--seed", "3", "--out", "drawn"]).args(record));
    let found = names(&folder.0);
    assert_eq!(found, ["drawn", "gains-seed3.csv", "gains-seed4.csv"]);
    assert_ne!(folder.read(&found[1]), folder.read(&found[2]));

    succeed(compare(&["--seeds", "1", "--seed", "3"]).args(record));
    assert_eq!(folder.read("gains.csv"), folder.read("gains-seed3.csv"));
    succeed(compare(&["--seeds", "1", "--seed", "3", "--out", "traced"]).args(TRACED));
    for run in ["cre-seed3", "random-max-seed3"] {
        let (traced, drawn) = (format!("traced/runs/{run}"), format!("drawn/runs/{run}"));
        assert_eq!(folder.results(&traced), folder.results(&drawn));
    }

    // The runs of another trace under the same name are not taken for those of this one.
    fs::copy(folder.join("gains-seed4.csv"), folder.join("gains.csv")).unwrap();
    let said = refused(compare(&["--seeds", "1", "--seed", "3", "--out", "traced"]).args(TRACED));
    assert!(said.contains("before gains.csv changed"), "{said}");

    // No scheduler runs when one of them could not.
    let late: String = folder.read("gains.csv").replace("\n0,", "\n9,");
    fs::write(folder.join("gains.csv"), late).unwrap();
    let more = [
        "--seeds",
        "1",
        "--set",
        "cre.estimates=uplink",
        "--out",
        "no",
    ];
    let said = refused(compare(&more).args(TRACED));
    assert!(said.contains("no gain for round 0"), "{said}");
    assert!(!folder.join("no").exists());
}

#[test]
fn a_sweep_varies_the_trace_like_any_key() {
    let folder = Folder::new("sweep");
    folder.record(&[]);
    let text = "[set]\nrun.rounds = 5\npartition.mean_samples = 60\npartition.std_samples = 10\n\
                data.test_samples = 50\n[grid]\nchannel.trace = [\"\", \"gains.csv\"]\n";
    fs::write(folder.join("lab.toml"), text).unwrap();
    succeed(&mut folder.gleaner("sweep", &["lab.toml", "--out", "out", "-q"]));
    let points = names(&folder.join("out/points"));
    assert_eq!(points.len(), 2);
    for point in points {
        let point = format!("out/points/{point}");
        assert_eq!(folder.results(&point), folder.results("drawn"));
    }
}

#[test]
fn a_run_over_lines_is_recorded_replayed_from_a_trace_and_verified() {
    let folder = Folder::new("lines");
    let bench: String = (0..3)
        .map(|id| format!("[[client]]\nname = \"c{id}\"\nid = {id}\nlink = \"simulated\"\n"))
        .collect();
    fs::write(folder.join("bench.toml"), bench).unwrap();
    let run = |more: &[&str]| {
        let mut gleaner = folder.gleaner("run", &SMALL);
        gleaner.args(["--quiet", "--plain"]).args(more);
        gleaner
    };
    succeed(&mut run(&[
        "--out",
        "drawn",
        "--record-channel",
        "gains.csv",
    ]));
    succeed(run(&["--out", "traced"]).args(TRACED));
    assert_eq!(folder.results("traced"), folder.results("drawn"));
    // The verdict rests on the copy.
    fs::remove_file(folder.join("gains.csv")).unwrap();
    succeed(&mut folder.gleaner("verify", &["traced"]));
    let said = refused(run(&["--out", "gone"]).args(TRACED));
    assert!(said.contains("gains.csv"), "{said}");
    assert!(!folder.join("gone").exists());
}

#[test]
fn gains_are_not_written_over_anything_else_than_a_file() {
    let folder = Folder::new("places");
    let gains = folder.record(&[]);
    fs::create_dir(folder.join("folder")).unwrap();
    let before = names(&folder.0);
    for (file, more, wanted) in [
        ("folder", &[][..], "is not a file"),
        ("gains.csv", &TRACED, "is the trace that"),
        ("run/gains.csv", &[], "must be empty"),
        ("nowhere/gains.csv", &[], "nowhere/gains.csv"),
    ] {
        let mut simulate = folder.simulate("run", &["--record-channel", file]);
        let said = refused(simulate.args(more));
        assert!(said.contains(file) && said.contains(wanted), "{said}");
        assert_eq!(names(&folder.0), before, "{file}");
        assert_eq!(folder.read("gains.csv"), gains);
    }
    let other = ["--seed", "1", "--record-channel", "gains.csv"];
    assert!(refused(&mut folder.simulate("drawn", &other)).contains("is not empty"));
    assert_eq!(folder.read("gains.csv"), gains);
    if cfg!(unix) {
        let said = refused(&mut folder.simulate("run", &["--record-channel", "/dev/null"]));
        assert!(said.contains("is not a file"), "{said}");
    }
}

#[test]
fn gains_at_the_edge_of_numbers_end_in_a_whole_run_and_beyond_it_in_words() {
    let folder = Folder::new("edge");
    let gains = folder.record(&FIXED);
    for (gain_db, fits) in [("-3230", false), ("-3070", true), ("3080", true)] {
        let mut rows = gains.lines();
        let mut text = format!("{}\n", rows.next().unwrap());
        for (entry, _) in rows.filter_map(|row| row.rsplit_once(',')) {
            text.push_str(&format!("{entry},{gain_db}\n"));
        }
        fs::write(folder.join("gains.csv"), text).unwrap();
        let mut traced = folder.simulate(&format!("at{gain_db}"), &TRACED);
        traced.args(FIXED);
        if fits {
            succeed(&mut traced);
        } else {
            let said = refused(&mut traced);
            assert!(said.contains("not a finite, positive gain"), "{said}");
        }
    }
}

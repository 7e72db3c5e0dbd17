//! Traced runs that were cut short.

use std::fs;
use std::process::Stdio;

use super::{Folder, SMALL, TRACED, names, refused, succeed};

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

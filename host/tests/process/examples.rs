//! The examples of the documentation, with their real interpreters.

use crate::support::{digests, example, run, simulate, succeed};

const ROUNDS: [&str; 3] = ["--quiet", "--rounds", "12"];

#[test]
fn random_in_python_leaves_the_digests_of_random_of_ours() {
    let Some(python) = example("python3", "like_random.py") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (seed, more) in [
        ("0", "clients.count=10"),
        ("7", "radio.channels=8"),
        // Most clients cannot finish an epoch.
        ("9223372036854775807", "device.deadline_s=0.0027"),
    ] {
        let more = [&ROUNDS[..], &["--seed", seed, "--set", more]].concat();
        for (name, decider) in [("ours", "random"), ("theirs", &python)] {
            succeed(&mut simulate(at, &format!("{name}-{seed}"), decider, &more));
        }
        let of = |name: &str| digests(&at.join(format!("{name}-{seed}")));
        assert_eq!(of("theirs"), of("ours"), "{more:?}");
    }
}

#[test]
fn a_thrifty_scheduler_in_python_overdraws_nobody() {
    let Some(python) = example("python3", "thrifty.py") else {
        return;
    };
    let ended = run(&python, &[]);
    assert_eq!((ended.error.as_str(), ended.rounds), ("", 6));
    assert_eq!(ended.scheduler, "thrifty");
    let accounts = ended.state.accounts().iter();
    assert!(accounts.clone().all(|account| account.balance_j() >= 0.0));
    assert!(ended.state.model().iter().any(|&weight| weight != 0.0));
}

#[test]
fn best_channel_first_in_javascript_trains() {
    let Some(node) = example("node", "best-channel.mjs") else {
        return;
    };
    let ended = run(&node, &[]);
    assert_eq!((ended.error.as_str(), ended.rounds), ("", 6));
    assert_eq!(ended.scheduler, "best-channel");
    let resting = run("process:true", &[]);
    assert!(resting.error.contains("exit status: 0"));
    assert_ne!(ended.state.model(), resting.state.model());
}

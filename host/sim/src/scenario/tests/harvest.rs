//! Harvests, stores and powers that cannot be.

use crate::scenario::{Scenario, resolve};

fn resolved(sets: &[&str]) -> Result<Scenario, String> {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    resolve("paper-mlp", &sets).map_err(|error| error.to_string())
}

#[test]
fn the_papers_presets_keep_the_papers_books_and_any_new_key_ends_that() {
    for preset in ["paper-mlp", "paper-cnn", "printed-mlp", "printed-cnn"] {
        assert!(resolve(preset, &[]).unwrap().keeps_papers_books());
    }
    for set in ["device.receive_w=0.01", "harvest.storage_j=1"] {
        assert!(!resolved(&[set]).unwrap().keeps_papers_books(), "{set}");
    }
    let class = "device.class=[{share = 0.5, apply_cycles = 5.0}]";
    assert!(!resolved(&[class]).unwrap().keeps_papers_books());
}

#[test]
fn what_cannot_be_is_refused_with_its_key_and_the_fix() {
    let long = "harvest.period_s=0.02";
    for (sets, words) in [
        (&["harvest.period_s=0.009"][..], "device.deadline_s = 0.01"),
        (&["harvest.source=trace"], "needs a file"),
        (&["harvest.file=a.csv"], "reads no file"),
        (&["harvest.stored_j=1"], "set harvest.storage_j"),
        (
            &["harvest.storage_j=1", "harvest.stored_j=2"],
            "holds 1 J at most",
        ),
        (
            &["harvest.storage_j=1", "harvest.capacitor_f=1"],
            "keep one of the two",
        ),
        (
            &["harvest.capacitor_f=1", "harvest.max_v=1.5"],
            "above harvest.min_v = 1.8",
        ),
        (&["harvest.capacitor_f=1e-9"], "holds nothing"),
        (
            &["harvest.capacitor_f=4000", "harvest.max_v=60"],
            "up to 1e6 J",
        ),
        (&["harvest.leakage_w=1e-6"], "those of a store"),
        (&["harvest.charge_efficiency=1.1"], "must lie in [0, 1]"),
        (&["device.sleep_w=0.1"], "more than waiting awake"),
        (
            &["device.idle_w=0.1", "device.sleep_w=0.1"],
            "a client that sends is awake",
        ),
        (&["device.idle_w=2"], "less than computing draws"),
        (&["harvest.restart_j=1"], "there is no store"),
        (
            &["harvest.storage_j=1", "harvest.restart_j=1"],
            "never reaches it",
        ),
        (&["device.amplifier_efficiency=0"], "must lie in [0.001, 1]"),
        (
            &[long, "harvest.probability=0"],
            "must be a positive number",
        ),
        (&["harvest.scale=nan"], "finite"),
    ] {
        let refused = resolved(sets).unwrap_err();
        assert!(refused.contains(words), "{sets:?}: {refused}");
    }
}

#[test]
fn a_capacitor_holds_half_the_difference_of_squares() {
    let scenario = resolved(&[
        "harvest.capacitor_f=1",
        "harvest.stored_j=3.825",
        "harvest.charge_efficiency=0.9",
    ]);
    let store = scenario.unwrap().harvest.store().unwrap();
    assert_eq!(store.capacity.as_joules(), 3.825);
    assert_eq!(store.charge_permille, 900);
}

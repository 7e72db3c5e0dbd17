//! Bad instances: each is refused with the field and its value, and nothing panics.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Returns the first committed round problem's instance.
fn good() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/round_problem.json");
    let text = fs::read_to_string(path).expect("committed");
    let cases: Value = serde_json::from_str(&text).expect("JSON");
    cases[1]["inst"].clone()
}

fn solve(name: &str, text: &str) -> Output {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    fs::write(&path, text).expect("the test folder is writable");
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["solve", "--instance"])
        .arg(path)
        .output()
        .expect("the binary runs")
}

fn refuses(name: &str, text: &str, field: &str, value: &str) {
    let output = solve(name, text);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{name}: {message}");
    assert!(
        message.contains(field) && message.contains(value),
        "{name}: {message}"
    );
    assert!(!message.contains("panicked"), "{name}: {message}");
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("NaN"),
        "{name}"
    );
}

#[test]
fn each_bad_field_is_named_with_its_value() {
    let cases: [(&str, Value, &str, &str); 14] = [
        ("D", json!([-5, 1, 1, 1, 1, 1, 1, 1]), "D[0]", "-5"),
        ("D", json!([0, 1, 1, 1, 1, 1, 1, 1]), "D[0]", "0"),
        ("D", json!([]), "D", "0 entries"),
        ("C", json!(-3), "C", "-3"),
        ("U", json!(9), "U", "9"),
        ("rho", json!(null), "rho", "null"),
        ("rho", json!(-1.5), "rho", "-1.5"),
        ("B_up_hz", json!(0.0), "B_up_hz", "0"),
        ("T_max_s", json!(1e-7), "T_max_s", "0.0000001"),
        ("beta", json!(1e9), "beta", "1000000000"),
        ("energy_unit_j", json!(0), "energy_unit_j", "0"),
        ("Z_j", json!([1, 2]), "Z_j", "2 entries"),
        ("p_max_w", json!("loud"), "p_max_w", "loud"),
        ("colour", json!("red"), "colour", "red"),
    ];
    for (at, (key, value, field, shown)) in cases.into_iter().enumerate() {
        let mut instance = good();
        instance[key] = value;
        if key == "D" {
            // Derived from D: leave them out so that D itself is what is wrong.
            let map = instance.as_object_mut().expect("an object");
            map.remove("T_s");
            map.remove("E_j");
        }
        refuses(
            &format!("bad-{at}-{key}"),
            &instance.to_string(),
            field,
            shown,
        );
    }
}

#[test]
fn a_literal_nan_is_named_by_its_field() {
    let mut instance = good();
    instance["rho"] = json!("HERE");
    let text = instance.to_string().replace("\"HERE\"", "NaN");
    refuses("nan", &text, "rho", "NaN");
}

#[test]
fn a_missing_field_is_named() {
    let mut instance = good();
    instance.as_object_mut().expect("an object").remove("F_gap");
    refuses("missing", &instance.to_string(), "F_gap", "no field");
}

#[test]
fn duplicate_pairs_in_a_vector_are_refused() {
    let mut case = json!({ "inst": good(), "assign": [[0, 1], [1, 1]], "p_w": [0.1, 0.1] });
    for (key, value) in [
        ("tau_unconstrained", 1.0),
        ("tau_cap", 1.0),
        ("tau_star", 1.0),
        ("dJ_dtau_0", 1.0),
    ] {
        case[key] = json!(value);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duplicate");
    fs::create_dir_all(&folder).expect("writable");
    fs::write(folder.join("tau_star.json"), json!([case]).to_string()).expect("writable");
    let error = gleaner_check::vectors::check_folder(&folder).expect_err("client 1 twice");
    assert!(
        error.to_string().contains("[1, 1] is given twice"),
        "{error}"
    );
}

#[test]
fn a_wrong_expectation_fails_the_selftest_by_file_and_case() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong");
    fs::create_dir_all(&folder).expect("writable");
    let case = json!([{
        "gamma_m": 100.0, "nu_ghz": 1.0, "gain_db": 0.0, "small": 1.0, "large": 1e-7, "h": 1e-7
    }]);
    fs::write(folder.join("channel.json"), case.to_string()).expect("writable");
    let output = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["selftest", "--vectors"])
        .arg(&folder)
        .output()
        .expect("the binary runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("channel.json[0]: large"), "{message}");
}

#[test]
fn a_good_instance_is_planned_and_a_vector_without_time_gives_nobody() {
    let output = solve("good", &good().to_string());
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("tau ="));

    let mut late = good();
    late["t_down_s"] = json!(1.0);
    let output = solve("late", &json!({ "inst": late, "J": 0.0 }).to_string());
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("nobody takes part"));
}

//! Invalid instances and test vectors.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Folder;

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

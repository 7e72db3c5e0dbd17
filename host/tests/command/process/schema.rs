//! Compares messages in both directions with `schema.json`.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{GFSK, Script, each, example, examples, run};

/// Checks a value against the part of JSON Schema that ours uses; other keywords are errors.
fn check(schema: &Value, root: &Value, value: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{at}: {value} {what}"));
    for (keyword, rule) in schema.as_object().ok_or("not a schema")? {
        match keyword.as_str() {
            "description" | "required" => {}
            "$ref" => {
                let path = rule.as_str().unwrap_or_default().trim_start_matches('#');
                let part = root.pointer(path).ok_or(format!("no {path}"))?;
                check(part, root, value, at)?;
            }
            "type" => {
                let one = [rule.clone()];
                let kinds = rule.as_array().map_or(&one[..], |kinds| kinds);
                let is = |kind: &Value| match kind.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("number") => value.is_number(),
                    Some("integer") => value.is_u64() || value.is_i64(),
                    Some("null") => value.is_null(),
                    _ => false,
                };
                if !kinds.iter().any(is) {
                    return wrong("has the wrong type");
                }
            }
            "const" if value != rule => return wrong("is not the constant"),
            "const" => {}
            "enum" if !rule.as_array().is_some_and(|all| all.contains(value)) => {
                return wrong("is none of the choices");
            }
            "enum" => {}
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, root, item, &format!("{at}[{index}]"))?;
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().into_iter().flatten() {
                    if let Some(inner) = value.get(name) {
                        check(rule, root, inner, &format!("{at}.{name}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &String| schema["properties"].get(name).is_some();
                let mut names = value.as_object().into_iter().flat_map(|it| it.keys());
                if let Some(name) = names.find(|name| !known(name)) {
                    return Err(format!("{at}: unknown {name}"));
                }
            }
            "minimum" | "exclusiveMinimum" => {
                let least = rule.as_f64().unwrap_or(f64::NAN);
                let number = value.as_f64().unwrap_or(f64::NAN);
                if number < least || (keyword != "minimum" && number <= least) {
                    return wrong("is too small");
                }
            }
            "minLength" | "maxLength" => {
                let limit = rule.as_u64().ok_or("not a length")? as usize;
                let length = value.as_str().map_or(limit, |it| it.chars().count());
                if length != limit && (length < limit) == (keyword == "minLength") {
                    return wrong("has the wrong length");
                }
            }
            other => return Err(format!("{at}: keyword {other} is not known here")),
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap_or_default()).is_none() {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    Ok(())
}

fn check_as(what: &str, line: &str) -> Result<(), String> {
    let schema = fs::read_to_string(examples().join("schema.json")).unwrap();
    let root: Value = serde_json::from_str(&schema).unwrap();
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    check(&root["$defs"][what], &root, &value, what)
}

/// Checks a first line and the six of the rounds.
fn check_lines(lines: &str, [first, rest]: [&str; 2]) {
    assert_eq!(lines.lines().count(), 7);
    for (number, line) in lines.lines().enumerate() {
        check_as(if number == 0 { first } else { rest }, line).unwrap();
    }
}

#[test]
fn requests_and_answers_of_the_examples_match_the_schema() {
    // Records the requests to a program that wants every field.
    let body = "printf '%s\\n' \"$l\" >>lines\necho \"{\\\"round\\\":$n,\\\"orders\\\":[]}\"";
    let greeting = "{\"version\":2,\"wants\":[\"gradient-norms\",\"estimates\"]}";
    let records = each(body).replace("{\"version\":2}", greeting);
    let records = records.replacen("read -r l;", "read -r l; printf '%s\\n' \"$l\" >lines;", 1);
    let script = Script::new(&records);
    run(&script.scheduler(), &["clients.count=4"]).assert_complete();
    check_lines(&script.0.read("lines"), ["hello", "request"]);
    run(
        &script.scheduler(),
        &["clients.count=4", "radio.rate=capped"],
    )
    .assert_complete();
    check_lines(&script.0.read("lines"), ["hello", "request"]);
    // The examples are asked with a transceiver.
    let gfsk = [&["clients.count=4"], &GFSK[..]].concat();
    run(&script.scheduler(), &gfsk).assert_complete();
    let lines = script.0.read("lines");
    check_lines(&lines, ["hello", "request"]);
    assert!(lines.contains(r#""rate":{"model":"gfsk","levels":[{"radiated_w""#));
    for (interpreter, file) in [
        ("python3", "like_random.py"),
        ("python3", "thrifty.py"),
        ("node", "best-channel.mjs"),
    ] {
        if example(interpreter, file).is_none() {
            continue;
        }
        let mut program = Command::new(interpreter)
            .arg(examples().join(file))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = program.stdin.take().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        drop(stdin);
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success(), "{file}");
        let answers = String::from_utf8(output.stdout).unwrap();
        check_lines(&answers, ["greeting", "decision"]);
    }
}

#[test]
fn the_schema_refuses_messages_that_the_base_station_refuses() {
    let order = |client: i32, power_w: f64, epochs: u32| {
        format!(
            r#"{{"round":1,"orders":[{{"client":{client},"channel":0,"power_w":{power_w},"epochs":{epochs}}}]}}"#
        )
    };
    for (what, line) in [
        ("greeting", r#"{"version":1}"#),
        ("greeting", r#"{"version":2,"wants":["all"]}"#),
        ("greeting", r#"{"version":2,"nam":"x"}"#),
        ("decision", r#"{"orders":[]}"#),
        ("decision", r#"{"round":1,"orders":[{"client":0}]}"#),
        ("decision", &order(-1, 0.1, 1)),
        ("decision", &order(1, 0.0, 1)),
        ("decision", &order(1, 0.1, 0)),
    ] {
        assert!(check_as(what, line).is_err(), "{line}");
    }
    check_as("decision", &order(1, 0.1, 1)).unwrap();
    let level =
        r#"{"round":1,"orders":[{"client":0,"channel":0,"level":3,"bit_rate":0,"epochs":1}]}"#;
    check_as("decision", level).unwrap();
    assert!(check_as("decision", &level.replace('3', "-3")).is_err());
    check_as("decision", r#"{"round":1,"orders":[],"state":null}"#).unwrap();
}

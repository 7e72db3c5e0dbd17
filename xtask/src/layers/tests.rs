//! The rules on small trees.

use super::*;

/// The breaches of a tree of `(path, text)`, as printed.
fn refused(tree: &[(&str, &str)]) -> Vec<String> {
    let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
    let sources: Vec<Source> = tree.iter().map(owned).collect();
    breaches(&sources).iter().map(ToString::to_string).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_upward_import_is_refused_with_its_file_line_and_rule() {
    let text = "//! Order.\nuse crate::device::Id;\nuse crate::round::Order;\n";
    assert_eq!(
        refused(&[("host/src/policy/mod.rs", text)]),
        ["host/src/policy/mod.rs:3: `round::Order`: policy is below round and may not import it"]
    );
}

#[test]
fn an_import_of_the_same_module_or_one_below_is_not_refused() {
    let text = "use crate::{device::Id, scenario};\nuse super::greedy;\n\
                // crate::fleet is for others.\nconst WHO: &str = \"crate::study\";";
    assert_eq!(refused(&[("host/src/round/mod.rs", text)]), NOTHING);
}

#[test]
fn paths_in_functions_groups_tests_and_through_super_count() {
    let function = "fn f() { crate::run::execute() }";
    let group = "use crate::{\n    device,\n    station::{self, Fleet},\n};";
    let test = "#[cfg(test)]\nmod tests {\n    use super::super::fleet::Board;\n}";
    let found = refused(&[
        ("host/src/device.rs", function),
        ("host/src/round/mod.rs", group),
        ("host/src/round/order.rs", "use super::super::fleet;"),
        ("host/src/scenario.rs", test),
    ]);
    let begins = [
        "host/src/device.rs:1: `run::execute`",
        "host/src/round/mod.rs:3: `station`",
        "host/src/round/mod.rs:3: `station::Fleet`",
        "host/src/round/order.rs:1: `fleet`",
        "host/src/scenario.rs:3: `fleet::Board`",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (line, begin) in found.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}");
    }
}

#[test]
fn the_program_imports_the_library_and_never_the_other_way_round() {
    let program = [
        (
            "host/src/main.rs",
            "mod cli;\nmod view;\nuse gleaner_host::study;\n#[cfg(test)]\nmod tests {}",
        ),
        (
            "host/src/cli/mod.rs",
            "use clap::Parser; use crate::view; use gleaner_host::study;",
        ),
        ("host/src/view.rs", "use ratatui::Frame;"),
    ];
    assert_eq!(refused(&program), NOTHING);
    let found = refused(&[
        ("host/src/study.rs", "use crate::cli::Arguments;"),
        ("host/src/run/mod.rs", "#[derive(clap::Parser)]\nstruct A;"),
        ("host/src/view.rs", "use crate::cli;"),
    ]);
    assert_eq!(
        found,
        [
            "host/src/study.rs:1: `cli::Arguments`: study is below cli and may not import it",
            "host/src/run/mod.rs:1: `clap`: only the program draws and reads arguments",
            "host/src/view.rs:1: `cli`: view is below cli and may not import it",
        ]
    );
}

#[test]
fn crates_that_stand_on_their_own_name_no_sibling() {
    assert_eq!(
        refused(&[
            (
                "host/cre/src/lib.rs",
                "//! Unlike gleaner_learn.\nuse gleaner_shared::rng;"
            ),
            ("host/learn/src/net.rs", "use gleaner_cre::Instance;"),
        ]),
        ["host/learn/src/net.rs:1: `gleaner_cre`: this crate stands on its own"]
    );
}

#[test]
fn a_circle_of_second_level_modules_is_named() {
    let found = refused(&[
        ("host/src/report/mod.rs", "mod plot;\nmod run;"),
        (
            "host/src/report/plot/mod.rs",
            "use crate::report::run::Rows;",
        ),
        (
            "host/src/report/run.rs",
            "use super::text;\nuse super::plot;",
        ),
        ("host/src/report/text.rs", ""),
    ]);
    assert_eq!(
        found,
        [
            "host/src/report/plot/mod.rs:1: `report::run::Rows`: part of the circle \
          report::plot -> report::run -> report::plot"
        ]
    );
}

#[test]
fn a_circle_through_names_passed_on_is_named_too() {
    let found = refused(&[
        (
            "host/src/report/mod.rs",
            "mod plot;\nmod run;\npub use plot::{Line, line::Point};\nuse crate::device::Rows;",
        ),
        ("host/src/report/plot.rs", "use super::run;"),
        ("host/src/report/run.rs", "use crate::report::Point;"),
    ]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("report::plot -> report::run -> report::plot"));
}

#[test]
fn modules_of_different_parents_form_no_circle() {
    assert_eq!(
        refused(&[
            ("host/src/run/log.rs", "use crate::device::id::Id;"),
            ("host/src/run/id.rs", "use super::log;"),
            ("host/src/device/id.rs", ""),
        ]),
        NOTHING
    );
}

#[test]
fn a_tenth_module_and_one_without_a_layer_are_refused() {
    let mut root: String = LIBRARY.map(|name| format!("pub mod {name};\n")).concat();
    assert_eq!(refused(&[("host/src/lib.rs", &root)]), NOTHING);
    root.push_str("mod units;\n");
    let found = refused(&[("host/src/lib.rs", &root)]);
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("host/src/lib.rs:10: `mod units`: the layers are device, "));
    assert!(found[1].ends_with("a root has at most 9 modules"));
}

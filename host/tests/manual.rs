//! Manual pages and completions: every command has its page, and the tools that read them do.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gleaner(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The subcommands that `--help` lists, at every depth, as names of pages.
fn commands(above: &[&str]) -> BTreeSet<String> {
    let help = text(&gleaner(&[above, &["--help"]].concat()));
    let mut names = BTreeSet::from([[&["gleaner"], above].concat().join("-")]);
    let listed = help
        .lines()
        .skip_while(|line| !["Commands:", "Steps:", "Simulate:"].contains(line))
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let is_command = |name: &&str| name.starts_with(char::is_lowercase) && *name != "help";
    for name in listed.filter(is_command) {
        names.extend(commands(&[above, &[name]].concat()));
    }
    names
}

/// Hands text to a program; `None` where it is not installed.
fn told(program: &str, arguments: &[&str], text: &[u8]) -> Option<Output> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(text).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
fn every_command_has_a_page_that_groff_sets_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("größe 1/man1");
    gleaner(&["generate", "man", "--to", pages.to_str().unwrap()]);
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let expected = commands(&[]).into_iter().map(|name| name + ".1");
    assert_eq!(names(&pages), expected.collect());
    assert!(names(&pages).contains("gleaner-energy-import.1"));
    let own = text(&gleaner(&["generate", "man"]));
    assert_eq!(
        std::fs::read_to_string(pages.join("gleaner.1")).unwrap(),
        own
    );
    for name in names(&pages) {
        let page = std::fs::read(pages.join(&name)).unwrap();
        let words = String::from_utf8_lossy(&page).into_owned();
        assert!(words.contains(".SH SYNOPSIS"), "{name}");
        // A word too long for its line is no fault of a page.
        let arguments = ["-man", "-ww", "-Wbreak", "-Tutf8", "-Kutf8", "-z"];
        let Some(set) = told("groff", &arguments, &page) else {
            continue;
        };
        assert!(set.status.success(), "{name}");
        assert_eq!(String::from_utf8_lossy(&set.stderr), "", "{name}");
    }
}

#[test]
fn bash_takes_its_completions_and_they_name_presets_schedulers_and_data_sets() {
    let script = gleaner(&["generate", "completions", "bash"]);
    let parsed = told("bash", &["-n"], &script.stdout).expect("bash");
    assert_eq!(String::from_utf8_lossy(&parsed.stderr), "");
    assert!(parsed.status.success());

    // What bash itself offers after these words; the last is being typed.
    let offered = |words: &str| {
        let asked = format!(
            "{}\nCOMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_gleaner gleaner \
             \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            text(&script)
        );
        let answer = told("bash", &[], asked.as_bytes()).unwrap();
        text(&answer).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered("gleaner simu"), ["simulate"]);
    assert_eq!(offered("gleaner simulate --preset paper-m"), ["paper-mlp"]);
    assert_eq!(offered("gleaner simulate --scheduler cr"), ["cre"]);
    assert_eq!(offered("gleaner data info mnist-s"), ["mnist-subset"]);
}

#[test]
fn every_shell_has_completions_and_an_unknown_one_is_refused_with_their_names() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&gleaner(&["generate", "completions", shell]));
        for word in ["simulate", "record-channel"] {
            assert!(script.contains(word), "{shell} knows no {word}");
        }
        // The others complete no values.
        if ["bash", "fish", "zsh"].contains(&shell) {
            assert!(script.contains("paper-mlp"), "{shell} knows no preset");
        }
    }
    let refused = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["generate", "completions", "tcsh"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("fish") && said.contains("zsh"), "{said}");
}

//! Manual pages and completions, read by the programs they are for.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, Run};

/// Returns the subcommands that `--help` lists, at every depth, as names of pages.
fn commands(folder: &Folder, above: &[&str]) -> BTreeSet<String> {
    let help = folder.gleaner("").args(above).arg("--help").succeed();
    let help = help.stdout;
    let mut names = BTreeSet::from([[&["gleaner"], above].concat().join("-")]);
    let listed = help
        .lines()
        .skip_while(|line| !["Commands:", "Steps:", "Simulate:"].contains(line))
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let is_command = |name: &&str| name.starts_with(char::is_lowercase) && *name != "help";
    for name in listed.filter(is_command) {
        names.extend(commands(folder, &[above, &[name]].concat()));
    }
    names
}

/// Gives text to a program; returns `None` where the program is not installed.
fn pipe(program: &str, arguments: &[&str], text: &[u8]) -> Option<Output> {
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
fn every_command_has_a_page_that_groff_accepts_without_a_warning() {
    let folder = Folder::new();
    let pages = "größe 1/man1";
    let mut generate = folder.gleaner("generate man --to");
    generate.arg(pages).succeed();
    let names = folder.names(pages);
    let expected = commands(&folder, &[]).into_iter().map(|name| name + ".1");
    assert_eq!(BTreeSet::from_iter(names.clone()), expected.collect());
    assert!(names.contains(&"gleaner-energy-import.1".to_owned()));
    let own = folder.succeed("generate man").stdout;
    assert_eq!(folder.read(&format!("{pages}/gleaner.1")), own);
    for name in names {
        let page = folder.read(&format!("{pages}/{name}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
        // A word too long for its line is no fault of a page.
        let arguments = ["-man", "-ww", "-Wbreak", "-Tutf8", "-Kutf8", "-z"];
        let Some(set) = pipe("groff", &arguments, page.as_bytes()) else {
            continue;
        };
        assert!(set.status.success(), "{name}");
        assert_eq!(String::from_utf8_lossy(&set.stderr), "", "{name}");
    }
}

#[test]
fn bash_completes_commands_presets_schedulers_and_data_sets() {
    let script = Folder::new().succeed("generate completions bash").stdout;
    // Completes the last of these words.
    let completed = |words: &str| {
        let asked = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _gleaner gleaner \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let answer = pipe("bash", &[], asked.as_bytes()).expect("bash");
        assert_eq!(String::from_utf8_lossy(&answer.stderr), "");
        let answer = String::from_utf8(answer.stdout).unwrap();
        answer.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed("gleaner simu"), ["simulate"]);
    assert_eq!(
        completed("gleaner simulate --preset paper-m"),
        ["paper-mlp"]
    );
    assert_eq!(completed("gleaner simulate --scheduler cr"), ["cre"]);
    assert_eq!(completed("gleaner data info mnist-s"), ["mnist-subset"]);
}

#[test]
fn every_shell_has_completions_and_an_unknown_one_is_refused() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = folder.succeed(&format!("generate completions {shell}"));
        // The others complete no values.
        let values = ["bash", "fish", "zsh"].contains(&shell);
        let words = ["simulate", "record-channel", "paper-mlp"];
        for word in &words[..2 + usize::from(values)] {
            assert!(script.stdout.contains(word), "{shell} has no {word}");
        }
    }
    let refused = folder.gleaner("generate completions tcsh").fail(2);
    assert!(
        refused.contains("fish") && refused.contains("zsh"),
        "{refused}"
    );
}

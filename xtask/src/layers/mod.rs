//! Which module may import which: only itself and those below it.
//!
//! Every path of a file counts, in imports and in expressions, also those of `#[cfg(test)]` modules:
//! a test that needs an upper module belongs there or into an integration test. A path through the
//! crate's root or through a macro's text is not followed.

mod cycle;
mod path;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use cycle::Graph;

/// The library's modules, lowest first.
const LIBRARY: [&str; 9] = [
    "device", "policy", "scenario", "round", "fleet", "run", "station", "report", "study",
];

/// The program's modules, lowest first; all may import the whole library.
const PROGRAM: [&str; 2] = ["view", "cli"];

/// Crates that only the program needs.
const OF_THE_PROGRAM: [&str; 4] = ["clap", "clap_complete", "clap_mangen", "ratatui"];

/// Most modules a root may have.
const MOST_MODULES: usize = 9;

/// Folders of crates that stand on their own, each with the crates its code may not name.
const APART: [(&str, [&str; 3]); 3] = [
    (
        "host/cre",
        ["gleaner_energy", "gleaner_learn", "gleaner_host"],
    ),
    (
        "host/energy",
        ["gleaner_cre", "gleaner_learn", "gleaner_host"],
    ),
    (
        "host/learn",
        ["gleaner_cre", "gleaner_energy", "gleaner_host"],
    ),
];

/// The library's name in the program.
const HOST: &str = "gleaner_host";

/// The sources of the library and of the program.
const SOURCES: &str = "host/src/";

/// Imports between second-level modules that may close a circle for now, as `(from, to)`.
const TOLERATED: [(&str, &str); 0] = [];

/// A file: its path from the workspace's root and its text.
type Source = (String, String);

/// A rule that a line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Breach {
    file: String,
    line: usize,
    what: String,
    rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            what,
            rule,
        } = self;
        write!(f, "{file}:{line}: `{what}`: {rule}")
    }
}

/// Checks the working tree.
pub fn check() -> Result<()> {
    let mut sources = Vec::new();
    read(Path::new("host"), &mut sources)?;
    let breaches = breaches(&sources);
    if !breaches.is_empty() {
        let lines: Vec<String> = breaches.iter().map(ToString::to_string).collect();
        bail!("imports against the layers:\n  {}", lines.join("\n  "));
    }
    println!("layers: {} files import downwards only", sources.len());
    Ok(())
}

fn read(folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let words: Vec<_> = path.iter().map(|word| word.to_string_lossy()).collect();
            sources.push((words.join("/"), text));
        }
    }
    Ok(())
}

/// Everything in `sources` that breaks a rule.
fn breaches(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut imports = Vec::new();
    for (file, text) in sources {
        for (folder, others) in &APART {
            if file.starts_with(&format!("{folder}/")) {
                found.extend(words(file, text, others, "this crate stands on its own"));
            }
        }
        let Some(module) = file.strip_prefix(SOURCES).and_then(module_of) else {
            continue;
        };
        if module.is_empty() {
            found.extend(roots(file, text));
        }
        if !is_program(file, &module) {
            let rule = "only the program draws and reads arguments";
            found.extend(words(file, text, &OF_THE_PROGRAM, rule));
        }
        for named in path::named(text, &module, &[HOST]) {
            found.extend(upward(file, &named));
            imports.push((file.as_str(), named));
        }
    }
    found.extend(circles(sources, &imports));
    found
}

/// The module that a file of the host is, from its path below [`SOURCES`].
fn module_of(file: &str) -> Option<Vec<String>> {
    let stem = file.strip_suffix(".rs")?;
    let mut module: Vec<String> = stem.split('/').map(str::to_owned).collect();
    let last = module.last()?;
    if last == "mod" || stem == "lib" || stem == "main" {
        module.pop();
    }
    Some(module)
}

fn is_program(file: &str, module: &[String]) -> bool {
    let top = module.first().map(String::as_str);
    top.map_or(file.ends_with("src/main.rs"), |top| PROGRAM.contains(&top))
}

/// The lines of `text` that have one of `words` as a word.
fn words(file: &str, text: &str, words: &[&str], rule: &str) -> Vec<Breach> {
    let tokens = token::tokens(text).into_iter();
    let refused = tokens.filter(|token| words.contains(&token.text));
    refused
        .map(|token| Breach {
            file: file.to_owned(),
            line: token.line,
            what: token.text.to_owned(),
            rule: rule.to_owned(),
        })
        .collect()
}

/// The modules that the library's or the program's root declares without a place in the table, or
/// one too many.
fn roots(file: &str, text: &str) -> Vec<Breach> {
    let table: &[&str] = if is_program(file, &[]) {
        &PROGRAM
    } else {
        &LIBRARY
    };
    let tokens = token::tokens(text);
    let modules = tokens
        .windows(2)
        .filter(|pair| pair[0].text == "mod" && pair[1].text != "tests");
    let mut found = Vec::new();
    for (index, pair) in modules.enumerate() {
        let mut refuse = |rule: String| {
            found.push(Breach {
                file: file.to_owned(),
                line: pair[1].line,
                what: format!("mod {}", pair[1].text),
                rule,
            });
        };
        if !table.contains(&pair[1].text) {
            refuse(format!("the layers are {}", table.join(", ")));
        }
        if index >= MOST_MODULES {
            refuse(format!("a root has at most {MOST_MODULES} modules"));
        }
    }
    found
}

/// Refuses an import of a module above.
fn upward(file: &str, named: &path::Named) -> Option<Breach> {
    let height = |name: &String| {
        let mut table = LIBRARY.iter().chain(&PROGRAM);
        table.position(|module| module == name)
    };
    let (from, to) = (named.module.first()?, named.path.first()?);
    (height(to)? > height(from)?).then(|| Breach {
        file: file.to_owned(),
        line: named.line,
        what: named.path.join("::"),
        rule: format!("{from} is below {to} and may not import it"),
    })
}

/// Circles between the second-level modules of each top-level one. A name that the top-level
/// module takes from one of its modules, such as `pub use line::Line`, stands for that module.
fn circles(sources: &[Source], imports: &[(&str, path::Named)]) -> Vec<Breach> {
    let modules = second_level(sources);
    let passed_on = passed_on(sources, &modules);
    let mut graph: Graph<(&str, &path::Named)> = Graph::new();
    for (file, named) in imports {
        let ([top, from, ..], [same, to, ..]) = (&named.module[..], &named.path[..]) else {
            continue;
        };
        let own = format!("{top}::{from}");
        let mut other = format!("{same}::{to}");
        if let Some(module) = passed_on.get(&other) {
            other.clone_from(module);
        }
        let counts = top == same && own != other && modules.contains(&other);
        if counts && !TOLERATED.contains(&(own.as_str(), other.as_str())) {
            let edges = graph.entry(own).or_default();
            edges.entry(other).or_insert((file, named));
        }
    }
    let breach = |circle: Vec<String>| {
        let (from, to) = (&circle[0], &circle[1 % circle.len()]);
        let (file, named) = graph[from][to];
        let names = [circle.join(" -> "), circle[0].clone()];
        Breach {
            file: file.to_owned(),
            line: named.line,
            what: named.path.join("::"),
            rule: format!("part of the circle {}", names.join(" -> ")),
        }
    };
    cycle::cycles(&graph).into_iter().map(breach).collect()
}

/// The names `top::second` of all modules that have a file or a folder.
fn second_level(sources: &[Source]) -> BTreeSet<String> {
    let modules = sources
        .iter()
        .filter_map(|(file, _)| module_of(file.strip_prefix(SOURCES)?));
    modules
        .filter(|module| module.len() >= 2)
        .map(|module| module[..2].join("::"))
        .collect()
}

/// Names that a top-level module takes from one of its modules, `top::Name` to `top::second`.
fn passed_on(sources: &[Source], modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (file, text) in sources {
        let module = file.strip_prefix(SOURCES).and_then(module_of);
        let Some([top]) = module.as_deref() else {
            continue;
        };
        let own = format!("{top}::");
        let roots = modules.iter().filter_map(|full| full.strip_prefix(&own));
        let roots: Vec<&str> = roots.collect();
        for named in path::named(text, &[], &roots) {
            let Some(name) = named.path.last() else {
                continue;
            };
            let taken = named.imported && named.module.is_empty();
            if taken && roots.contains(&named.start.as_str()) && !roots.contains(&name.as_str()) {
                found.insert(format!("{top}::{name}"), format!("{top}::{}", named.start));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;

//! Hostile boards, tables, folders and names, and signals: nothing of them is shown as a result or
//! commands the terminal.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gleaner_shared::units::Cycles;
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::{DeviceEnd, Event};
use gleaner_shared::wire::message::{
    Classified, Counters, DeviceId, DeviceToHost, HostToDevice, ModelHash,
};
use gleaner_sim::run::RunDirectory;
use gleaner_station::fleet_file::{Entry, FILE_NAME, FleetFile, Link, SecretKey};

use super::Attack;
use crate::scripted::{Say, Scripted};

/// Every attack by inputs.
pub const ALL: [Attack; 6] = [
    ("answers nobody asked for, and impossible ones", answers),
    ("control characters in cells, names and keys", escapes),
    ("a table of 200,000 columns", wide_table),
    ("arrays whose headers lie", lying_arrays),
    ("two boards with one key", two_boards),
    ("SIGHUP, SIGTERM and SIGINT", signals),
];

const KEY: [u8; 32] = [0x5A; 32];

/// What a terminal would interpret, and readers would not see.
const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}y";

fn run(program: &Path, folder: &Path, words: &[&str]) -> Result<Output, String> {
    let mut command = Command::new(program);
    command.current_dir(folder).args(words);
    command.env("GLEANER_DATA", folder.join("data"));
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
    let path = folder.join(name);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    written
        .and_then(|()| fs::write(&path, content))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Expects exit code 1 without a panic, and returns what was said.
fn refused(output: &Output) -> Result<String, String> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(1) if !said.contains("panicked") => Ok(said),
        code => Err(format!("exit code {code:?}: {said}")),
    }
}

fn fleet_of(entry: Entry) -> FleetFile {
    FleetFile {
        clients: vec![entry],
        ..FleetFile::default()
    }
}

fn classified() -> Classified {
    Classified {
        sample: ModelHash([1; 16]),
        class: 4,
        confidence_q16: 1 << 15,
        label: None,
        cycles: Cycles(300_000),
        model: ModelHash([2; 16]),
    }
}

fn answers(program: &Path, folder: &Path) -> Result<String, String> {
    let fine = classified();
    let wrong = |change: fn(&mut Classified)| {
        let mut found = fine;
        change(&mut found);
        found
    };
    let class = wrong(|it| it.class = 255);
    let confidence = wrong(|it| it.confidence_q16 = u32::MAX);
    let scripts = [
        ("early", vec![fine], vec![fine]),
        ("double", Vec::new(), vec![fine, fine]),
        ("class 255", Vec::new(), vec![class]),
        ("confidence 6,553,600 %", Vec::new(), vec![confidence]),
    ];
    let count = scripts.len();
    for (name, early, answer) in scripts {
        let script = move |event: &Event<DeviceEnd>, _: &[u8]| -> Vec<Say> {
            let found = match event {
                Event::Connected(()) => &early,
                Event::Message(HostToDevice::Infer { .. }) => &answer,
                Event::Message(HostToDevice::Inspect) => {
                    return vec![DeviceToHost::Counters(Counters::default()).into()];
                }
                _ => return Vec::new(),
            };
            let say = |found: &Classified| DeviceToHost::Classified(*found).into();
            found.iter().map(say).collect()
        };
        let board = Scripted::start(0, Key::PUBLIC, script);
        let address = board.address().to_string();
        let entry = Entry::new("board", 0, Link::Tcp { address });
        write(folder, FILE_NAME, fleet_of(entry).to_toml())?;
        let words = [
            "infer",
            "--board",
            "board",
            "--flashed",
            "0",
            "--flashed",
            "1",
        ];
        let output = run(program, folder, &words)?;
        refused(&output).map_err(|said| format!("{name}: {said}"))?;
        if !output.stdout.is_empty() {
            return Err(format!("{name}: answers were shown"));
        }
    }
    Ok(format!(
        "{count} of {count} boards that answer early, twice or the impossible are refused and nothing is shown"
    ))
}

fn escapes(program: &Path, folder: &Path) -> Result<String, String> {
    write(folder, "name.csv", format!("{EVIL},label\n1,a\n"))?;
    write(folder, "cell.csv", format!("a,label\n{EVIL},a\n"))?;
    write(folder, "label.csv", format!("a,label\n1,{EVIL}\n"))?;
    write(folder, "part.csv", format!("a,label,p\n1,a,{EVIL}\n"))?;
    write(folder, &format!("sounds/{EVIL}/a.wav"), "RIFF")?;
    write(folder, "head.npy", format!("\u{93}NUMPY{EVIL}"))?;
    let header = format!("{{'descr': '{EVIL}', 'fortran_order': False, 'shape': (3, 2), }}");
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.as_bytes());
    write(folder, "type.npy", array)?;
    let quoted = EVIL.escape_unicode().to_string();
    let quoted = quoted.replace("\\u{", "\\U").replace('}', "");
    let quoted: String = quoted
        .split("\\U")
        .skip(1)
        .map(|digits| format!("\\U{digits:0>8}"))
        .collect();
    write(folder, "key.toml", format!("[run]\n\"{quoted}\" = 1\n"))?;
    write(
        folder,
        "value.toml",
        format!("[run]\nscheduler = \"{quoted}\"\n"),
    )?;
    write(
        folder,
        "raw.toml",
        format!("[run]\n# {EVIL}\nrounds = {EVIL}\n"),
    )?;
    let client = format!("[[client]]\nname = \"{quoted}\"\nid = 0\nlink = \"simulated\"\n");
    write(folder, "names.toml", client)?;
    write(folder, "fleet.toml", format!("[[client]]\nname = {EVIL}\n"))?;
    let import =
        |kind: &'static str, file: &'static str| vec!["data", "import", "evil", kind, file];
    let part = [import("--csv", "part.csv"), vec!["--split-column", "p"]].concat();
    let array = |file| [import("--npy", file), vec!["--labels", "head.npy"]].concat();
    let labels = [import("--npy", "type.npy"), vec!["--labels", "type.npy"]].concat();
    let sounds = import("--wav", "sounds");
    let commands = [
        import("--csv", "name.csv"),
        import("--csv", "cell.csv"),
        import("--csv", "label.csv"),
        part,
        array("head.npy"),
        labels,
        sounds,
        vec!["config", "show", "--preset", "key.toml"],
        vec!["config", "show", "--preset", "value.toml"],
        vec!["config", "show", "--preset", "raw.toml"],
        vec!["doctor", "--fleet", "names.toml"],
        vec!["doctor", "--fleet", "fleet.toml"],
    ];
    let mut named = 0;
    for words in &commands {
        let output = run(program, folder, words)?;
        refused(&output).map_err(|said| format!("{words:?}: {said}"))?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let wrong = |letter: &char| {
            !matches!(letter, '\n' | '\t') && gleaner_files::is_interpreted(*letter)
        };
        if let Some(letter) = said.chars().find(wrong) {
            return Err(format!("{words:?} prints {letter:?}"));
        }
        named += usize::from(said.contains("owned"));
    }
    // What is no array at all is not quoted.
    if named + 1 != commands.len() {
        return Err(format!("{named} of {} errors quote", commands.len()));
    }
    Ok(format!(
        "{} errors about hostile cells, names, folders and keys print no control character; {named} quote them escaped",
        commands.len()
    ))
}

fn wide_table(program: &Path, folder: &Path) -> Result<String, String> {
    let header: String = (0..200_000).map(|at| format!("column{at},")).collect();
    write(folder, "wide.csv", format!("{header}label\n"))?;
    let begin = Instant::now();
    let output = run(
        program,
        folder,
        &["data", "import", "wide", "--csv", "wide.csv"],
    )?;
    let seconds = begin.elapsed().as_secs_f64();
    let said = refused(&output)?;
    match said.contains("200001 columns") {
        true => Ok(format!(
            "refused by its number of columns after {seconds:.2} s"
        )),
        false => Err(said),
    }
}

fn lying_arrays(program: &Path, folder: &Path) -> Result<String, String> {
    let array = |descr: &str, shape: &str| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let long = [b"\x93NUMPY\x03\x00".as_slice(), &u32::MAX.to_le_bytes()].concat();
    let lies = [
        array("<f8", "(18446744073709551615, 65535)"),
        array("<f8", "(1, 65535, 65535)"),
        array("<f4", "(67108864, 2)"),
        array("<U99999999", "(9,)"),
        long,
    ];
    let mut most = 0;
    for (at, lie) in lies.iter().enumerate() {
        write(folder, "x.npy", lie)?;
        write(folder, "y.npy", array("|u1", "(67108864,)"))?;
        for (features, labels) in [("x.npy", "y.npy"), ("x.npy", "x.npy")] {
            let limit = "ulimit -v 2000000; exec \"$0\" \"$@\"";
            let mut shell = Command::new("sh");
            shell.current_dir(folder).args(["-c", limit]).arg(program);
            shell.args([
                "data", "import", "lie", "--npy", features, "--labels", labels,
            ]);
            shell.env("GLEANER_DATA", folder.join("data"));
            let output = shell.output().map_err(|error| error.to_string())?;
            refused(&output).map_err(|said| format!("header {at}: {said}"))?;
            most = most.max(at + 1);
        }
    }
    Ok(format!(
        "{most} headers that state up to 2^64 records are refused within 2 GB of address space"
    ))
}

fn two_boards(program: &Path, folder: &Path) -> Result<String, String> {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let station: SocketAddr = free.map_err(|error| error.to_string())?;
    let mut entry = Entry::new("board", 0, Link::Incoming { device: None });
    entry.key = Some(SecretKey(KEY));
    write(folder, FILE_NAME, fleet_of(entry).to_toml())?;
    let script = |event: &Event<DeviceEnd>, _: &[u8]| -> Vec<Say> {
        match event {
            Event::Message(HostToDevice::Provision(provision)) => {
                vec![
                    DeviceToHost::Provisioned {
                        client: provision.client,
                        ledger: provision.ledger,
                    }
                    .into(),
                ]
            }
            _ => Vec::new(),
        }
    };
    let chips = [DeviceId([1; 12]), DeviceId([2; 12])];
    let key = Key::new(KEY);
    let _boards = chips.map(|chip| Scripted::dial(station, (0, chip, key), script));
    let address = station.to_string();
    // Nobody echoes, so both have time to connect.
    let words = [
        "doctor",
        "--listen",
        &address,
        "--patience-s",
        "3",
        "--set",
        "data.test_samples=50",
    ];
    let output = run(program, folder, &words)?;
    refused(&output)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = chips.iter().all(|chip| said.contains(&chip.to_string()));
    match said.contains("TWO BOARDS HAVE ITS KEY") && named {
        true => Ok(
            "the first keeps its line, the second is refused, and `doctor` names both".to_owned(),
        ),
        false => Err(said),
    }
}

/// Waits until the run in a folder has logged more rounds than `rounds`, and returns how many.
///
/// # Errors
/// The run ended, or logged none for two minutes.
pub fn wait_for_rounds(folder: &Path, child: &mut Child, rounds: usize) -> Result<usize, String> {
    let log = folder.join("run").join(RunDirectory::ROUNDS);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(120) {
        let logged = fs::read_to_string(&log).unwrap_or_default();
        let found = logged.lines().count();
        if found > rounds + 2 {
            return Ok(found);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("ended after {found} rounds: {status}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("no round after {rounds}"))
}

fn signals(program: &Path, folder: &Path) -> Result<String, String> {
    let client = |id| format!("[[client]]\nname = \"sim-{id}\"\nid = {id}\nlink = \"simulated\"\n");
    let clients: String = (0..3).map(client).collect();
    write(folder, FILE_NAME, clients)?;
    let run = "run --preset paper-mlp --plain --out run --set run.rounds=1000000 \
               --set partition.mean_samples=60 --set partition.std_samples=10 --set data.test_samples=50";
    let (mut words, mut rounds) = (run, 0);
    for (signal, code) in [("-HUP", 129), ("-TERM", 143), ("-INT", 130)] {
        let mut command = Command::new(program);
        command.current_dir(folder).args(words.split_whitespace());
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        rounds = wait_for_rounds(folder, &mut child, rounds)?;
        let mut kill = Command::new("kill");
        kill.args([signal, &child.id().to_string()]);
        kill.status().map_err(|error| error.to_string())?;
        let output = child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(code) || !said.contains("resume run") {
            return Err(format!("{signal}: {}: {said}", output.status));
        }
        words = "resume run --plain";
    }
    Ok(
        "each stops a run after a whole round, with codes 129, 143 and 130, and `resume` continues"
            .to_owned(),
    )
}

//! Clients that share no code with us: the example in Python, written from `docs/reference/wire.md` alone,
//! beside simulated clients on lines that lose frames.

use gleaner_sim::ClientId;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gleaner_sim::fleet;
use gleaner_sim::scenario::{Override, Scenario};
use gleaner_station::event::EventKind;
use gleaner_station::execute::{self};
use gleaner_station::fleet_file::{Entry, FleetFile, Link, SecretKey};
use gleaner_station::mismatched_boards;
use gleaner_station::setup::{self, Options};
use gleaner_station::stored_updates::UPDATES;
use gleaner_tests::emulated::skip;
use gleaner_tests::runs::{Folder, events, options, small, with_boards};

const PYTHON_CLIENTS: u32 = 2;
const CLIENTS: i64 = 4;
const ROUNDS: u32 = 3;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples")
}

/// Returns Python with what the example needs, or `None` where it may be missing.
fn python() -> Option<Command> {
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/examples/bin/python");
    let mut check = Command::new(&program);
    let ready = check.args(["-c", "import numpy, blake3"]).output();
    if ready.is_ok_and(|output| output.status.success()) {
        return Some(Command::new(program));
    }
    skip("no Python for docs/examples: `cargo xtask setup` installs it");
    None
}

/// A client in a process of its own, ended with the test.
struct PythonClient {
    process: Child,
    address: String,
}

impl PythonClient {
    fn start(mut python: Command, shard: &Path) -> Self {
        let mut process = python
            .arg(examples().join("client.py"))
            .arg("--shard")
            .arg(shard)
            .args(["--listen", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut lines = said.lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| Some(line.split_once("listening on ")?.1.trim().to_owned()))
            .expect("it says where it listens");
        // Whatever it says later is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }
}

impl Drop for PythonClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn scenario() -> Scenario {
    let more = [
        Override::new("radio.channels", CLIENTS),
        Override::new("partition.mean_samples", 60.0),
        Override::new("partition.std_samples", 5.0),
        Override::new("learning.learning_rate", 0.1),
        Override::new("data.test_samples", 500),
        // Whoever ignores the bound stands out.
        Override::new("privacy.clip", 0.05),
    ];
    small("round-robin", ROUNDS.into(), CLIENTS, &more)
}

#[test]
fn the_example_agrees_with_every_example_of_the_document() {
    let Some(mut python) = python() else { return };
    let output = python.arg(examples().join("check.py")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

#[test]
fn three_rounds_with_clients_of_other_make_at_five_percent_loss() {
    let folder = Folder::new("third-party");
    let scenario = scenario();
    let data = fleet::load_data(&scenario).unwrap();
    let key = |client: u32| (client < PYTHON_CLIENTS).then_some([client as u8 + 1; 32]);
    let shards = setup::shards(&scenario, &data, key).unwrap();
    let mut fleet = FleetFile::default();
    let mut clients = Vec::new();
    for (id, shard) in (0..).zip(shards) {
        let here = id >= PYTHON_CLIENTS;
        let mut entry = Entry::new(format!("client-{id}"), id, Link::Simulated);
        if !here {
            let Some(python) = python() else { return };
            let path = folder.run().path().with_extension(format!("shard-{id}"));
            std::fs::write(&path, shard).unwrap();
            let client = PythonClient::start(python, &path);
            std::fs::remove_file(&path).unwrap();
            entry.serve_at(client.address.clone());
            entry.key = key(id).map(SecretKey);
            clients.push(client);
        }
        fleet.clients.push(entry);
    }
    let options = Options {
        faults: "loss=0.05,duplicate=0.01".parse().unwrap(),
        round_limit: Some(Duration::from_secs(600)),
        ..options()
    };
    let directory = folder.run();
    let _ = with_boards(&scenario, &fleet, &folder, &options);

    let mut counted = [0; PYTHON_CLIENTS as usize];
    for event in events(&directory) {
        match event.what {
            EventKind::Arrived { exact, .. } => {
                assert_eq!(exact, event.client >= ClientId(PYTHON_CLIENTS));
                if let Some(counted) = counted.get_mut(event.client.index()) {
                    *counted += 1;
                }
            }
            EventKind::Implausible { what } => panic!("client {}: {what}", event.client),
            _ => {}
        }
    }
    assert_eq!(counted, [ROUNDS; PYTHON_CLIENTS as usize]);
    assert_eq!(mismatched_boards(&directory).unwrap(), [""; 0]);

    // What they sent is taken as it came, all others are recomputed.
    let verdict = execute::verify(&directory, 1).unwrap();
    assert_eq!(verdict.recorded, verdict.replayed);
    assert_eq!(
        verdict.inexact.into_iter().collect::<Vec<_>>(),
        [
            (ClientId(0), ROUNDS as usize),
            (ClientId(1), ROUNDS as usize)
        ]
    );
    let kept = directory.file(UPDATES).join("round-00002-client-1.bin");
    let mut forged = std::fs::read(&kept).unwrap();
    let last = forged.len() - 20_000;
    forged[last] ^= 0x40;
    std::fs::write(&kept, forged).unwrap();
    let found = execute::verify(&directory, 1).unwrap_err().to_string();
    assert!(found.contains("round 2, client 1"), "{found}");
}

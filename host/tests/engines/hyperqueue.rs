//! HyperQueue: a server that the engine starts, and one that runs already.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::lab::{Lab, finish, pause, signal, skip, succeed, until, worker_at_work};

/// A server with a worker, as a site has it.
const SERVER: &str = "
import sys
from hyperqueue import LocalCluster
from hyperqueue.cluster import WorkerConfig
cluster = LocalCluster(sys.argv[1], WorkerConfig(cores=2))
print('\\nready', flush=True)
sys.stdin.read()
cluster.stop()
";

/// The Python of set-up, if it has the package.
fn python() -> Option<PathBuf> {
    let python =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("experiment/hyperqueue/.venv/bin/python");
    let mut import = Command::new(&python);
    let import = import.args(["-c", "import hyperqueue"]).output();
    let found = import.is_ok_and(|output| output.status.success());
    if !found {
        skip("HyperQueue is not installed");
    }
    found.then_some(python)
}

/// Ends with its input.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
}

impl Server {
    fn start(python: &Path, dir: &Path) -> Self {
        std::fs::create_dir(dir).unwrap();
        let mut child = Command::new(python)
            .args(["-c", SERVER])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "ready"), "no server");
        let input = child.stdin.take();
        Self { child, input }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

#[test]
fn hyperqueue_gives_the_local_table_though_a_worker_is_killed() {
    let Some(python) = python() else { return };
    let python = python.to_str().unwrap();
    let lab = Lab::new();
    let options = ["--engine", "hyperqueue", "--python", python];
    let mut follower = lab
        .sweep("own", &[&options[..], &["--max-jobs", "2"]].concat())
        .spawn()
        .unwrap();
    let (id, worker) = until(&mut follower, || worker_at_work(&lab.path("own"), |_| true));
    signal("-KILL", worker);
    let said = finish(follower);
    assert!(said.contains(&id), "{said}");
    assert_eq!(lab.table_of("own"), lab.table);
    assert!(!lab.path("own/work").exists());

    // A follower that is killed takes its server and tasks along; the next one goes on.
    let mut follower = lab.sweep("again", &options).spawn().unwrap();
    let (_, worker) = until(&mut follower, || {
        worker_at_work(&lab.path("again"), |_| true)
    });
    follower.kill().unwrap();
    follower.wait().unwrap();
    while Path::new(&format!("/proc/{worker}")).exists() {
        pause();
    }
    let server_dir = lab.path("server");
    let _server = Server::start(Path::new(python), &server_dir);
    let joined = ["--server-dir", server_dir.to_str().unwrap()];
    succeed(lab.sweep("again", &[&options[..], &joined].concat()));
    assert_eq!(lab.table_of("again"), lab.table);
}

//! Slurm on one node, without systemd: its daemons are started by hand and ended by their processes.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gleaner_experiment::Plan;

use crate::lab::{Lab, finish, is_held, is_told, pause, signal, skip, until, worker_at_work};

const PROGRAMS: [&str; 3] = ["munged", "slurmctld", "slurmd"];

/// A cluster of one node with two processors.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    fn start() -> Option<Self> {
        let absent = PROGRAMS.iter().find(|it| find(it).is_none());
        if let Some(absent) = absent {
            skip(&format!("Slurm is not installed: there is no {absent}"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        for name in ["state", "spool", "log"] {
            fs::create_dir(cluster.path(name)).unwrap();
        }
        let random: Vec<u8> = (0..4).flat_map(|_| random_bytes()).collect();
        fs::write(cluster.path("munge.key"), random).unwrap();
        own(&cluster.path("munge.key"));
        fs::write(cluster.path("slurm.conf"), cluster.configuration()).unwrap();
        let at = |name: &str| cluster.path(name).display().to_string();
        let munged = [
            "--foreground".to_owned(),
            // The folder is in one that everybody may write to.
            "--force".to_owned(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("log/munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        cluster.daemon("munged", &munged);
        cluster.until(|cluster| cluster.path("munge.socket").exists());
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        cluster.daemon("slurmctld", &words(&["-D", "-i"]));
        cluster.daemon("slurmd", &words(&["-D"]));
        cluster.until(|cluster| cluster.says("sinfo", &["-h", "-o", "%T"]).contains("idle"));
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let log = fs::File::create(self.path("log").join(program)).unwrap();
        let mut command = Command::new(find(program).unwrap());
        command
            .args(arguments)
            .env("SLURM_CONF", self.path("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// Waits for a condition while all daemons are alive.
    fn until(&mut self, there: impl Fn(&Self) -> bool) {
        while !there(self) {
            for (daemon, program) in self.daemons.iter_mut().zip(PROGRAMS) {
                if daemon.try_wait().unwrap().is_some() {
                    let log = self.folder.path().join("log").join(program);
                    panic!("{program}: {}", fs::read_to_string(log).unwrap());
                }
            }
            pause();
        }
    }

    /// Returns the output of one of Slurm's commands.
    fn says(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments);
        let output = self.on(command).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Directs a command to this cluster.
    fn on(&self, mut command: Command) -> Command {
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn configuration(&self) -> String {
        let here = self.folder.path().display();
        let name = |program: &str, argument: &str| {
            let output = Command::new(program).arg(argument).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let (host, user) = (name("hostname", "-s"), name("id", "-un"));
        let [control, node] = free_ports();
        format!(
            "ClusterName=gleaner
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={here}/munge.socket,cred_expire=5
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0
MessageTimeout=100
SlurmdTimeout=0
BatchStartTimeout=100
ReturnToService=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MailProg=/bin/true
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"
        )
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for program in &PROGRAMS[1..] {
                let log = fs::read_to_string(self.path("log").join(program));
                eprintln!("{program}:\n{}", log.unwrap_or_default());
            }
        }
        // The node before its controller, and the keeper of the key last.
        while let Some(mut daemon) = self.daemons.pop() {
            signal("-TERM", daemon.id());
            let _ = daemon.wait();
        }
    }
}

/// Returns where a program of the system is.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
    folders
        .map(|folder| Path::new(folder).join(program))
        .find(|path| path.is_file())
}

/// Returns two free ports.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Returns random bytes.
fn random_bytes() -> Vec<u8> {
    let id = gleaner_sim::run::new_id().unwrap();
    id.0.to_vec()
}

/// Makes a file its owner's alone.
fn own(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Returns the logs of the tasks of a sweep, by array and number.
fn logs(dir: &Path) -> BTreeMap<(u32, usize), String> {
    let files = fs::read_dir(dir.join("slurm")).unwrap().flatten();
    files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let (array, task) = name.strip_suffix(".log")?.split_once('_')?;
            let text = fs::read_to_string(file.path()).unwrap();
            Some(((array.parse().unwrap(), task.parse().unwrap()), text))
        })
        .collect()
}

#[test]
fn slurm_gives_the_local_table_though_worker_and_follower_are_killed_and_a_limit_is_near() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let lab = Lab::new();
    let dir = lab.path("slurm");
    let follow = |more: &[&str]| {
        let options = ["--engine", "slurm", "--max-jobs", "2", "--time", "10"];
        let command = lab.sweep("slurm", &[&options[..], more].concat());
        cluster.on(command).spawn().unwrap()
    };
    let mut follower = follow(&[]);
    let (killed, worker) = until(&mut follower, || worker_at_work(&dir, |_| true));
    signal("-KILL", worker);
    // The follower dies; its array goes on and is found again.
    follower.kill().unwrap();
    follower.wait().unwrap();
    let mut follower = follow(&[]);

    // As the limit of a task comes near Slurm tells its script, and no other process. The worker is
    // held until it has heard of it: a busy machine may take longer over that than the point lasts.
    // The last task has the array's own number, by which all of them could be meant.
    let plan = Plan::read(&dir).unwrap();
    let last = plan.points().len() - 1;
    until(&mut follower, || {
        let is_last = |id: &str| plan.position(id) == Some(last);
        let (_, worker) = worker_at_work(&dir, is_last)?;
        signal("-STOP", worker);
        let running = cluster.says("squeue", &["-h", "-r", "-t", "R", "-o", "%F_%K"]);
        let number = format!("_{last}");
        if let Some(task) = running.lines().find(|task| task.ends_with(&number)) {
            cluster.says("scancel", &["--batch", "--signal=USR1", task]);
        }
        // It may have ended before it could be held, and then nobody will be told.
        while is_held(worker) && !is_told(worker) {
            pause();
        }
        let told = is_told(worker);
        signal("-CONT", worker);
        told.then_some(())
    });
    let said = finish(follower);
    assert_eq!(lab.table_of("slurm"), lab.table, "{said}");
    assert!(!lab.path("slurm/work").exists());

    let logs = logs(&dir);
    let (array, _) = *logs.keys().next().unwrap();
    let told = &logs[&(array, last)];
    assert!(told.contains("stopped after round"), "{said}\n{logs:#?}");
    assert!(told.contains("continuing after round"), "{said}\n{logs:#?}");
    // One array with all points, whose other tasks did not queue again with the last; after it the
    // point of the killed worker, unless Slurm gave it out again of its own accord.
    let (first, after): (Vec<_>, Vec<_>) = logs.keys().partition(|task| task.0 == array);
    assert_eq!(first.len(), plan.points().len(), "{said}\n{logs:#?}");
    let killed = plan.position(&killed);
    let only_killed = after.iter().all(|(_, task)| Some(*task) == killed);
    assert!(after.len() <= 1 && only_killed, "{said}\n{logs:#?}");
    for ((_, task), log) in &logs {
        let made = log.lines().filter(|line| line.contains("points")).count();
        assert!(made <= 1, "task {task} made its point {made} times: {log}");
    }
}

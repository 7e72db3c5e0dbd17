//! Hostile directories and scenarios: programs in them, lost logs, open permissions, impossible numbers,
//! files without an end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{Attack, Ended, run};

/// All attacks of this topic, by name.
pub const ALL: [Attack; 6] = [
    (
        "verify of a directory that names a program",
        verify_starts_nothing,
    ),
    ("files that name a program", files_start_nothing),
    ("lost and changed logs at a resume", lost_logs),
    ("updates read by other users", private_files),
    ("impossible numbers and endless files", hostile_files),
    ("a host killed under its scheduler program", killed_host),
];

const SMALL: [&str; 4] = [
    "--set=partition.mean_samples=20",
    "--set=partition.std_samples=2",
    "--set=data.test_samples=50",
    "--quiet",
];

/// A scheduler that notes its start, orders one client after the other, and ends before round 6 unless
/// the file `fixed` is there.
const PROGRAM: &str = r#"cd "$(dirname "$0")"; echo started >>starts
IFS= read -r l; echo '{"version":2}'
while IFS= read -r l; do
    r=${l#*\"round\":}; r=${r%%,*}
    [ $r = 6 ] && [ ! -e fixed ] && exit 3
    printf '{"round":%s,"orders":[{"client":%s,"channel":0,"power_w":0.19,"epochs":1}]}\n' $r $((r % 3))
done
"#;

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(folder.join(name), content).map_err(|error| format!("{name}: {error}"))
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))
}

/// Writes the program and a fleet of three simulated clients; returns the scheduler.
fn prepare(folder: &Path) -> Result<String, String> {
    let client = |id| format!("[[client]]\nname = \"sim-{id}\"\nid = {id}\nlink = \"simulated\"\n");
    write(folder, "fleet.toml", (0..3).map(client).collect::<String>())?;
    write(folder, "decide.sh", PROGRAM)?;
    Ok(format!("process:sh {}", folder.join("decide.sh").display()))
}

/// Runs eight rounds under the program.
fn rounds(program: &Path, folder: &Path, scheduler: &str) -> Result<Ended, String> {
    let own = ["run", "--rounds=8", "--out=lab", "--scheduler", scheduler];
    run(program, folder, &[&own[..], &SMALL].concat())
}

fn starts(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("starts")).unwrap_or_default();
    text.lines().count()
}

/// Verifies a run under a program, and one whose directory was edited to name a program.
fn verify_starts_nothing(program: &Path, folder: &Path) -> Result<String, String> {
    let scheduler = prepare(folder)?;
    write(folder, "fixed", "")?;
    rounds(program, folder, &scheduler)?.succeeded()?;
    let before = starts(folder);
    run(program, folder, &["verify", "lab"])?.succeeded()?;
    let text = String::from_utf8_lossy(&read(folder, "lab/scenario.toml")?).into_owned();
    let evil = format!("process:touch {}", folder.join("pwned").display());
    write(folder, "lab/scenario.toml", text.replace(&scheduler, &evil))?;
    run(program, folder, &["verify", "lab"])?;
    run(program, folder, &["report", "lab"])?;
    match (starts(folder) == before, folder.join("pwned").exists()) {
        (true, false) => {
            Ok("8 rounds of a program replayed from the log, no program started".into())
        }
        _ => Err("verify started a program".to_owned()),
    }
}

/// Names a program in a scenario, a sweep, a plan and the directory of a run.
fn files_start_nothing(program: &Path, folder: &Path) -> Result<String, String> {
    let scheduler = prepare(folder)?;
    rounds(program, folder, &scheduler)?.refused(&["round 6"])?;
    let before = starts(folder);
    write(
        folder,
        "lab.toml",
        format!("[run]\nscheduler = \"{scheduler}\"\n"),
    )?;
    write(
        folder,
        "sweep.toml",
        format!("[set]\nrun.scheduler = \"{scheduler}\"\n"),
    )?;
    run(
        program,
        folder,
        &["sweep", "plan", "sweep.toml", "--out=plan"],
    )?
    .succeeded()?;
    let commands = [
        &["simulate", "--preset=lab.toml"][..],
        &["run", "--preset=lab.toml"],
        &["sweep", "sweep.toml"],
        &["sweep", "point", "plan", "0"],
        &["resume", "lab"],
    ];
    for words in commands {
        run(program, folder, words)?.refused(&["run.scheduler", "--allow-process"])?;
    }
    match starts(folder) == before {
        true => Ok(format!(
            "{} commands refused by key, value and option",
            commands.len()
        )),
        false => Err("a program was started without permission".to_owned()),
    }
}

/// Halves, empties, changes and removes each log of a stopped run.
fn lost_logs(program: &Path, folder: &Path) -> Result<String, String> {
    let scheduler = prepare(folder)?;
    rounds(program, folder, &scheduler)?.refused(&["round 6"])?;
    write(folder, "fixed", "")?;
    let resume = ["resume", "lab", "--allow-process", "--quiet"];
    let mut damages = 0;
    for file in ["lab/events.jsonl", "lab/rounds.jsonl", "lab/clients.csv"] {
        let whole = read(folder, file)?;
        let mut changed = whole.clone();
        changed[whole.len() / 3] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &[], &changed] {
            write(folder, file, damaged)?;
            run(program, folder, &resume)?.refused(&[file])?;
            damages += 1;
        }
        fs::remove_file(folder.join(file)).map_err(|error| error.to_string())?;
        run(program, folder, &resume)?.refused(&[file])?;
        damages += 1;
        write(folder, file, &whole)?;
    }
    run(program, folder, &resume)?.succeeded()?;
    run(program, folder, &["verify", "lab"])?.succeeded()?;
    Ok(format!(
        "{damages} damages named before a round, the restored run resumed and verified"
    ))
}

/// Reads the permissions of what a stopped run left, made under umask 022.
#[cfg(unix)]
fn private_files(program: &Path, folder: &Path) -> Result<String, String> {
    use std::os::unix::fs::PermissionsExt;

    let scheduler = prepare(folder)?;
    let script = "umask 022; exec \"$0\" run --rounds=8 --out=lab --scheduler \"$@\"";
    let own = ["-c", script, &program.display().to_string(), &scheduler];
    let words = [&own[..], &SMALL].concat();
    run(Path::new("sh"), folder, &words)?.refused(&["round 6"])?;
    let files = [
        "checkpoint.bin",
        "checkpoint.previous.bin",
        "events.jsonl",
        "fleet.toml",
    ];
    for name in files {
        let found =
            fs::metadata(folder.join("lab").join(name)).map_err(|error| error.to_string())?;
        let mode = found.permissions().mode() & 0o777;
        if mode != 0o600 {
            return Err(format!("{name} has mode {mode:o}"));
        }
    }
    Ok(format!(
        "{} files of a run under umask 022 have mode 600",
        files.len()
    ))
}

#[cfg(not(unix))]
fn private_files(_: &Path, _: &Path) -> Result<String, String> {
    Ok("not measured: files have the permissions of their folder".to_owned())
}

/// Reports and starts from logs with impossible numbers, counts without bounds, devices and huge files.
fn hostile_files(program: &Path, folder: &Path) -> Result<String, String> {
    let own = ["simulate", "--rounds=3", "--out=lab"];
    run(program, folder, &[&own[..], &SMALL].concat())?.succeeded()?;
    let clients = String::from_utf8_lossy(&read(folder, "lab/clients.csv")?).into_owned();
    let mut memory_mb = 0;
    for to in ["4294967295,1", "1,4294967295"] {
        write(
            folder,
            "lab/clients.csv",
            clients.replacen("\n1,1,", &format!("\n{to},"), 1),
        )?;
        let ended = run(program, folder, &["report", "lab"])?;
        ended.refused(&["clients.csv, line 3"])?;
        memory_mb = memory_mb.max(ended.memory_mb);
    }
    for key in ["clients.count", "run.rounds", "radio.channels"] {
        let set = format!("--set={key}=9223372036854775807");
        run(program, folder, &["simulate", &set])?.refused(&[key])?;
    }
    let huge = fs::File::create(folder.join("huge.toml")).map_err(|error| error.to_string())?;
    huge.set_len(10 << 30).map_err(|error| error.to_string())?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.toml"))
        .map_err(|error| error.to_string())?;
    for file in ["huge.toml", "zero.toml"]
        .into_iter()
        .filter(|it| folder.join(it).exists())
    {
        let commands = [
            ["simulate", "--preset"],
            ["run", "--fleet"],
            ["simulate", "--profile"],
        ];
        for [command, option] in commands {
            let ended = run(program, folder, &[command, option, file])?;
            ended.refused(&[file])?;
            memory_mb = memory_mb.max(ended.memory_mb);
        }
    }
    Ok(format!(
        "all refused by line, key or file, at most {memory_mb} MB of memory"
    ))
}

/// Kills a simulation with signal 9 under a program that ignores signals and the end of its input.
fn killed_host(program: &Path, folder: &Path) -> Result<String, String> {
    if !Path::new("/proc/self").exists() {
        return Ok("not measured: no /proc on this system".to_owned());
    }
    let deaf = "trap '' HUP INT TERM\ncd \"$(dirname \"$0\")\"; sleep 600 &\necho $! >child; \
                IFS= read -r l; echo '{\"version\":2}'; echo $$ >pid.tmp; mv pid.tmp pid; sleep 600\n";
    write(folder, "deaf.sh", deaf)?;
    let scheduler = format!("process:sh {}", folder.join("deaf.sh").display());
    let own = ["simulate", "--out=lab", "--scheduler", &scheduler];
    let mut host = Command::new(program);
    let quiet = host
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let started = quiet.args(own).args(SMALL).spawn();
    let mut host = started.map_err(|error| error.to_string())?;
    let wait = Duration::from_millis(10);
    let greeted = (0..3000).any(|_| {
        thread::sleep(wait);
        folder.join("pid").exists()
    });
    let _ = host.kill();
    let _ = host.wait();
    if !greeted {
        return Err("the program was not started within 30 s".to_owned());
    }
    let ids: Vec<String> = ["pid", "child"]
        .into_iter()
        .map(|name| {
            Ok(String::from_utf8_lossy(&read(folder, name)?)
                .trim()
                .to_owned())
        })
        .collect::<Result<_, String>>()?;
    // A zombie has ended and waits for whoever adopted it.
    let alive = |id: &String| {
        let stat = fs::read_to_string(Path::new("/proc").join(id).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    for waited in 0..1000 {
        if !ids.iter().any(alive) {
            let ms = waited * wait.as_millis();
            return Ok(format!(
                "program and its child ended within {ms} ms of the kill"
            ));
        }
        thread::sleep(wait);
    }
    let _ = Command::new("kill").arg("-9").args(&ids).status();
    Err("a process outlives its killed host by 10 s".to_owned())
}

//! Every study with `--engine slurm` on shell scripts that stand in for Slurm's commands: the files are
//! those of the local engine, byte for byte.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the tasks of an array one after another; `busy` exists while they run.
const SBATCH: &str = r#"#!/bin/sh
here=$(dirname "$0")
for word; do case $word in --array=*) array=${word#--array=} ;; esac; done
while [ $# -gt 2 ]; do shift; done
touch "$here/busy"
(
    for range in $(echo "${array%\%*}" | tr ',' ' '); do
        for number in $(seq "${range%-*}" "${range#*-}"); do
            SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=$number sh "$1" "$2"
        done
    done
    rm "$here/busy"
) > "$here/tasks.log" 2>&1 &
echo 1
"#;
const SQUEUE: &str = "#!/bin/sh\n[ ! -e \"$(dirname \"$0\")/busy\" ] || echo RUNNING None\n";
const SCONTROL: &str = "#!/bin/sh\necho MaxArraySize = 1001\n";

const SMALL: &str = "--set partition.mean_samples=20 --set partition.std_samples=2 \
    --set data.test_samples=40 --set device.cycles_per_sample=3000 --rounds 3";

fn slurm(folder: &Path) -> String {
    for (name, text) in [
        ("sbatch", SBATCH),
        ("squeue", SQUEUE),
        ("scontrol", SCONTROL),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

#[test]
fn every_study_gives_the_same_files_on_slurm_as_locally() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = slurm(&bin);
    // Part (c) chooses its last points by the results of the first.
    let track =
        "compare --track --parts c --tuning-seeds 1 --rates 0.1 --steps 0.04,0.08 --seeds 1";
    for (words, file) in [
        (
            format!("compare --schedulers glean,random --seeds 1 {SMALL}"),
            "compare.csv",
        ),
        (format!("{track} --schedulers glean {SMALL}"), "track.json"),
        (
            "week --presets stm32l4r5 --schedulers glean --days 0.03 --samples 20 \
             --set data.test_samples=40"
                .to_owned(),
            "week.csv",
        ),
    ] {
        let run = |engine: &str| -> PathBuf {
            let dir = folder.path().join(format!("{file}-{engine}"));
            let output = Command::new(env!("CARGO_BIN_EXE_gleaner"))
                .args(words.split_whitespace())
                .args(["-q", "--engine", engine, "--out"])
                .arg(&dir)
                .env("PATH", &path)
                .output()
                .unwrap();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{words}: {message}");
            dir
        };
        let (local, slurm) = (run("local"), run("slurm"));
        assert!(slurm.join("slurm/job.sh").is_file());
        let read = |dir: &Path| fs::read(dir.join(file)).unwrap();
        assert_eq!(read(&slurm), read(&local), "{file}");
    }
}

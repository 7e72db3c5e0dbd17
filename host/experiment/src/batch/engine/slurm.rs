//! Slurm: a job array, one task a point.
//!
//! The array is found again by its name, which is that of plan and directory: a command that was
//! killed follows the array that is there and submits none beside it. Ahead of its time limit a task
//! is sent a signal, stops its point at a checkpoint and queues again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gleaner_files::write_atomically;

use super::follow::Queue;
use super::{EngineError, EngineOptions, Watcher};
use crate::batch::Plan;
use crate::batch::point::{digest_of, id_of};

/// Times in a row that Slurm may give no answer: controllers restart.
const PATIENCE: u32 = 20;
/// Slurm's default for the numbers in an array.
const ARRAY_SIZE: usize = 1001;

pub(super) struct Slurm {
    name: String,
    script: PathBuf,
    arguments: Vec<String>,
    max_jobs: Option<usize>,
    array_size: usize,
    unanswered: u32,
    reason: String,
}

impl Slurm {
    /// Writes the script of the array.
    pub(super) fn new(
        plan: &Plan,
        dir: &Path,
        options: &EngineOptions,
    ) -> Result<Self, EngineError> {
        let dir = std::path::absolute(dir).map_err(gleaner_files::at(dir))?;
        let config = said(
            Command::new("scontrol").args(["show", "config"]),
            "scontrol",
        )?;
        let name = format!(
            "gleaner-{}",
            id_of(&digest_of(&format!("{}\n{}", plan.digest(), dir.display())))
        );
        let folder = dir.join("slurm");
        fs::create_dir_all(&folder).map_err(gleaner_files::at(&folder))?;
        let script = folder.join("job.sh");
        write_atomically(&script, script_of(&name, &dir, options)?.as_bytes())?;
        Ok(Self {
            name,
            script,
            arguments: options.slurm.arguments.clone(),
            max_jobs: options.max_jobs,
            array_size: array_size_in(&config).unwrap_or(ARRAY_SIZE).max(1),
            unanswered: 0,
            reason: String::new(),
        })
    }
}

impl Queue for Slurm {
    fn is_busy(&mut self, watcher: &mut dyn Watcher) -> Result<bool, EngineError> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--me", "--noheader", "--format=%T %r"]);
        let tasks = match said(squeue.arg(format!("--name={}", self.name)), "squeue") {
            Err(EngineError::Slurm { said, .. }) if self.unanswered < PATIENCE => {
                self.unanswered += 1;
                watcher.notice(&format!("Slurm does not answer: {said}"));
                return Ok(true);
            }
            answer => answer?,
        };
        self.unanswered = 0;
        let reason = waiting_for(&tasks).unwrap_or_default();
        if reason != self.reason && !reason.is_empty() {
            watcher.notice(&format!("all tasks are waiting: {reason}"));
        }
        self.reason = reason;
        Ok(!tasks.trim().is_empty())
    }

    fn submit(&mut self, points: &[usize], watcher: &mut dyn Watcher) -> Result<(), EngineError> {
        // Arrays have numbers up to a limit: what is beyond is given out afterwards.
        let Some(window) = points.first().map(|first| first / self.array_size) else {
            return Ok(());
        };
        let offset = window * self.array_size;
        let tasks: Vec<usize> = points
            .iter()
            .filter(|&&point| point / self.array_size == window)
            .map(|point| point - offset)
            .collect();
        let mut array = ranges(&tasks);
        if let Some(most) = self.max_jobs {
            let _ = write!(array, "%{most}");
        }
        let mut sbatch = Command::new("sbatch");
        sbatch.args(["--parsable", &format!("--array={array}")]);
        sbatch.args(&self.arguments).arg(&self.script);
        let job = said(sbatch.arg(offset.to_string()), "sbatch")?;
        watcher.notice(&format!(
            "submitted job array {} with {} tasks; it goes on if this command ends, and the same \
             command with --resume follows it again",
            job.trim(),
            tasks.len()
        ));
        Ok(())
    }
}

/// Runs one of Slurm's commands and returns what it says.
fn said(command: &mut Command, name: &'static str) -> Result<String, EngineError> {
    let output = command.output().map_err(|source| EngineError::NoSlurm {
        command: name,
        source,
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(EngineError::Slurm {
        command: name.to_owned(),
        said: text(&output.stderr),
    })
}

/// Returns why nothing runs, if nothing does and Slurm gives one reason.
fn waiting_for(tasks: &str) -> Option<String> {
    let mut reasons = tasks.lines().map(|line| line.trim().split_once(' '));
    let first = reasons.next()??;
    let all = first.0 == "PENDING" && reasons.all(|other| other == Some(first));
    // Slurm has not looked at them yet.
    (all && first.1 != "None").then(|| first.1.to_owned())
}

/// Returns how many numbers an array may have, by `scontrol show config`.
fn array_size_in(config: &str) -> Option<usize> {
    let line = config
        .lines()
        .find(|line| line.starts_with("MaxArraySize"))?;
    line.split_once('=')?.1.trim().parse().ok()
}

/// Writes ascending numbers as Slurm reads them: `0-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if_eq(&(last + 1)) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match first == last {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}

/// Returns the script of one task; its argument is added to the task's number.
fn script_of(name: &str, dir: &Path, options: &EngineOptions) -> Result<String, EngineError> {
    let here = std::env::current_dir().map_err(gleaner_files::at("."))?;
    let quoted = |path: &Path| {
        let text = path.to_str().ok_or_else(|| EngineError::Path {
            path: path.to_owned(),
        })?;
        Ok::<_, EngineError>(format!("'{}'", text.replace('\'', r"'\''")))
    };
    let threads = options.threads_of_point();
    let time = options.slurm.time.as_ref();
    let limit = time.map_or(String::new(), |time| format!("#SBATCH --time={time}\n"));
    Ok(format!(
        r#"#!/bin/sh
# One point of a plan of gleaner a task: sbatch --array=0-9 job.sh
#SBATCH --job-name={name}
#SBATCH --output={log}
#SBATCH --open-mode=append
#SBATCH --cpus-per-task={threads}
#SBATCH --requeue
#SBATCH --signal=B:USR1@{notice}
{limit}cd {here} || exit 1
{program} sweep point {dir} "$((${{1:-0}} + SLURM_ARRAY_TASK_ID))" --threads {threads} --wait --quiet &
worker=$!
limit=
trap '[ "$limit" ] || kill -USR1 "$worker"; limit=near' USR1
trap 'kill -TERM "$worker"' TERM
wait "$worker"
code=$?
# Every signal ends the wait ahead of the worker, which stops at its next checkpoint.
while [ "$code" -gt 128 ] && kill -0 "$worker" 2>/dev/null; do
    wait "$worker"
    code=$?
done
# 138: told before it could listen. The last task of an array has the array's own number as its
# SLURM_JOB_ID, by which all tasks would queue again.
case "$limit $code" in
'near 130' | 'near 138') scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" ;;
esac
exit "$code"
"#,
        log = dir.join("slurm/%A_%a.log").display(),
        notice = options.slurm.notice_s,
        here = quoted(&here)?,
        program = quoted(&options.program)?,
        dir = quoted(dir)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 2, 3, 7]), "0,2-3,7");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn the_limit_of_arrays_is_read_from_the_configuration() {
        let config = "MailProg = /bin/mail\nMaxArraySize            = 2001\nMaxDBDMsgs = 20008\n";
        assert_eq!(array_size_in(config), Some(2001));
        assert_eq!(array_size_in("MaxJobs = 3"), None);
    }

    #[test]
    fn a_wait_is_explained_where_all_tasks_wait_for_the_same() {
        let waiting = "PENDING QOSMaxJobsPerUserLimit\nPENDING QOSMaxJobsPerUserLimit";
        assert_eq!(waiting_for(waiting).unwrap(), "QOSMaxJobsPerUserLimit");
        assert_eq!(waiting_for("RUNNING None\nPENDING Resources"), None);
        assert_eq!(waiting_for("PENDING None"), None);
        assert_eq!(waiting_for(""), None);
    }

    #[test]
    fn a_directory_with_blanks_and_quotes_survives_the_shell() {
        let options = EngineOptions::default();
        let script = script_of("n", Path::new("/tmp/it's a sweep"), &options).unwrap();
        assert!(
            script.contains(r"sweep point '/tmp/it'\''s a sweep' "),
            "{script}"
        );
        assert!(!script.contains("--time"));
    }
}

//! Slurm: a job array with one task per point.
//!
//! The array is found again by its name, a digest of plan and directory: a command that was killed and
//! started again follows the array that exists. Before its time limit a task receives a signal, stops
//! its point at a checkpoint and queues again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gleaner_files::write_atomically;

use super::queue::Queue;
use super::{EngineOptions, Watcher};
use crate::error::ExperimentError;
use crate::plan::{Plan, digest_of, id_of};

/// Failed queries in a row after which the engine gives up: controllers restart.
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
    pub(super) fn new(
        plan: &Plan,
        dir: &Path,
        options: &EngineOptions,
    ) -> Result<Self, ExperimentError> {
        let dir = std::path::absolute(dir).map_err(gleaner_files::at(dir))?;
        let config = output_of(
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
        write_atomically(&script, script_of(&name, &dir, options, plan)?.as_bytes())?;
        Ok(Self {
            name,
            script,
            arguments: options.slurm_arguments.clone(),
            max_jobs: options.max_jobs,
            array_size: array_size_in(&config).unwrap_or(ARRAY_SIZE).max(1),
            unanswered: 0,
            reason: String::new(),
        })
    }
}

impl Queue for Slurm {
    fn is_busy(&mut self, watcher: &mut dyn Watcher) -> Result<bool, ExperimentError> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--me", "--noheader", "--format=%T %r"]);
        let tasks = match output_of(squeue.arg(format!("--name={}", self.name)), "squeue") {
            Err(ExperimentError::Slurm { message, .. }) if self.unanswered < PATIENCE => {
                self.unanswered += 1;
                watcher.notice(&format!("Slurm does not answer: {message}"));
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

    fn submit(
        &mut self,
        points: &[usize],
        watcher: &mut dyn Watcher,
    ) -> Result<(), ExperimentError> {
        // Arrays have numbers up to a limit: points beyond the limit are submitted afterwards.
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
        let job = output_of(sbatch.arg(offset.to_string()), "sbatch")?;
        watcher.notice(&format!(
            "submitted job array {} with {} tasks; it continues if this command ends, and the same \
             command follows it again",
            job.trim(),
            tasks.len()
        ));
        Ok(())
    }
}

/// Runs one of Slurm's commands and returns its output.
fn output_of(command: &mut Command, name: &'static str) -> Result<String, ExperimentError> {
    let output = command
        .output()
        .map_err(|source| ExperimentError::NoSlurm {
            command: name,
            source,
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(ExperimentError::Slurm {
        command: name.to_owned(),
        message: text(&output.stderr),
    })
}

/// Returns the reason why all tasks are pending, if they are and Slurm gives one reason.
fn waiting_for(tasks: &str) -> Option<String> {
    let mut reasons = tasks.lines().map(|line| line.trim().split_once(' '));
    let first = reasons.next()??;
    let all = first.0 == "PENDING" && reasons.all(|other| other == Some(first));
    // `None`: Slurm has not evaluated the tasks yet.
    (all && first.1 != "None").then(|| first.1.to_owned())
}

/// Returns the size limit of arrays from the output of `scontrol show config`.
fn array_size_in(config: &str) -> Option<usize> {
    let line = config
        .lines()
        .find(|line| line.starts_with("MaxArraySize"))?;
    line.split_once('=')?.1.trim().parse().ok()
}

/// Formats ascending numbers as Slurm reads them: `0-3,7`.
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

/// Returns the script of one task; the script adds its argument to the task's number.
fn script_of(
    name: &str,
    dir: &Path,
    options: &EngineOptions,
    plan: &Plan,
) -> Result<String, ExperimentError> {
    let here = std::env::current_dir().map_err(gleaner_files::at("."))?;
    let quoted = |path: &Path| {
        let text = path.to_str().ok_or_else(|| ExperimentError::Path {
            path: path.to_owned(),
        })?;
        Ok::<_, ExperimentError>(format!("'{}'", text.replace('\'', r"'\''")))
    };
    let threads = options.threads_of_point();
    let time = options.slurm_time.as_ref();
    let limit = time.map_or(String::new(), |time| format!("#SBATCH --time={time}\n"));
    Ok(format!(
        r#"#!/bin/sh
# One point of a gleaner plan per task: sbatch --array=0-9 job.sh
#SBATCH --job-name={name}
#SBATCH --output={log}
#SBATCH --open-mode=append
#SBATCH --cpus-per-task={threads}
#SBATCH --requeue
#SBATCH --signal=B:USR1@{notice}
{limit}cd {here} || exit 1
{program} sweep point {dir} "$((${{1:-0}} + SLURM_ARRAY_TASK_ID))" {of_worker} &
worker=$!
limit=
trap '[ "$limit" ] || kill -USR1 "$worker"; limit=near' USR1
trap 'kill -TERM "$worker"' TERM
wait "$worker"
code=$?
# Every signal ends the wait before the worker, which stops at its next checkpoint.
while [ "$code" -gt 128 ] && kill -0 "$worker" 2>/dev/null; do
    wait "$worker"
    code=$?
done
# 138: the signal came before the worker had a handler. 143: the time was up before the checkpoint. The last task of an array has the array's
# own number as its SLURM_JOB_ID, by which all tasks would queue again.
case "$limit $code" in
'near 130' | 'near 138' | 'near 143') scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" ;;
esac
exit "$code"
"#,
        of_worker = options.of_worker(plan).join(" "),
        log = dir.join("slurm/%A_%a.log").display(),
        notice = options.slurm_notice_s,
        here = quoted(&here)?,
        program = quoted(&options.program)?,
        dir = quoted(dir)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Keep, Point};
    use gleaner_sim::scenario::resolve;

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
        let script = |set: &[&str]| {
            let sets: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
            let scenario = resolve("paper-mlp", &sets).unwrap();
            let plan = Plan::new("n", Keep::Logs, vec![Point::new(Vec::new(), scenario)]);
            script_of("n", Path::new("/tmp/it's a sweep"), &options, &plan).unwrap()
        };
        let program = script(&["run.scheduler=process:true"]);
        assert!(program.contains(" --quiet --allow-process &"), "{program}");
        let script = script(&[]);
        assert!(script.contains(" --threads 1 --wait --quiet &"), "{script}");
        assert!(
            script.contains(r"sweep point '/tmp/it'\''s a sweep' "),
            "{script}"
        );
        assert!(!script.contains("--time"));
    }
}

//! HyperQueue: a small Python program beside this one submits the points as tasks.
//!
//! The package has no command, so the driver (`host/experiment/hyperqueue/driver.py`) is embedded here.
//! The driver, and the tasks on a server that it started, end with this process.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use gleaner_files::FileError;
use serde_json::json;

use super::queue::Queue;
use super::{EngineOptions, Watcher};
use crate::error::ExperimentError;
use crate::plan::Plan;

const DRIVER: &str = include_str!("../../hyperqueue/driver.py");
/// Starts of the driver after which the engine gives up.
const STARTS: u32 = 3;

pub(super) struct Hyperqueue {
    python: PathBuf,
    folder: PathBuf,
    settings: serde_json::Value,
    driver: Option<Driver>,
    starts: u32,
}

struct Driver {
    child: Child,
    orders: Option<ChildStdin>,
    /// Lines that the driver prints.
    lines: Receiver<String>,
    busy: bool,
}

impl Hyperqueue {
    pub(super) fn new(
        plan: &Plan,
        dir: &Path,
        options: &EngineOptions,
    ) -> Result<Self, ExperimentError> {
        let dir = std::path::absolute(dir).map_err(gleaner_files::at(dir))?;
        let folder = dir.join("hyperqueue");
        fs::create_dir_all(&folder).map_err(gleaner_files::at(&folder))?;
        let text = |path: &Path| {
            let text = path.to_str().ok_or_else(|| ExperimentError::Path {
                path: path.to_owned(),
            })?;
            Ok::<_, ExperimentError>(text.to_owned())
        };
        let server_dir = options.server_dir.as_deref();
        let threads = options.threads_of_point();
        let settings = json!({
            "name": format!("gleaner-{}", &plan.digest()[..16]),
            "command": [text(&options.program)?, "sweep", "point", text(&dir)?],
            "options": options.of_worker(plan),
            "threads": threads,
            "cores": options.max_jobs.map(|jobs| jobs * threads),
            "workdir": text(&std::env::current_dir().map_err(gleaner_files::at("."))?)?,
            "logs": text(&folder)?,
            "server": text(&folder.join("server"))?,
            "server_dir": server_dir.map(text).transpose()?,
        });
        let mut queue = Self {
            python: options.python.clone(),
            folder,
            settings,
            driver: None,
            starts: 0,
        };
        queue.start()?;
        Ok(queue)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("driver.log")
    }

    fn start(&mut self) -> Result<(), ExperimentError> {
        self.starts += 1;
        let missing = |problem: String| ExperimentError::NoHyperqueue { problem };
        let log = File::create(self.log()).map_err(gleaner_files::at(self.log()))?;
        let mut command = Command::new(&self.python);
        command
            .args(["-c", DRIVER, &self.settings.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command
            .spawn()
            .map_err(|error| missing(format!("{}: {error}", self.python.display())))?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let driver = Driver {
            orders: child.stdin.take(),
            child,
            lines,
            busy: false,
        };
        match driver.lines.recv() {
            Ok(line) if line == "ready" => {}
            Ok(line) => {
                let problem = line.strip_prefix("missing ").unwrap_or(&line);
                return Err(missing(problem.to_owned()));
            }
            // It ended without a message; the log has the reason.
            Err(_) => return Err(ExperimentError::Hyperqueue { log: self.log() }),
        }
        self.driver = Some(driver);
        Ok(())
    }
}

impl Queue for Hyperqueue {
    fn is_busy(&mut self, watcher: &mut dyn Watcher) -> Result<bool, ExperimentError> {
        let Some(driver) = &mut self.driver else {
            return Ok(false);
        };
        if driver.lines.try_iter().any(|line| line == "idle") {
            driver.busy = false;
        }
        if matches!(driver.child.try_wait(), Ok(Some(_))) {
            watcher.notice("HyperQueue has ended; restarting it");
            self.driver = None;
            return Ok(false);
        }
        Ok(driver.busy)
    }

    fn submit(&mut self, points: &[usize], _: &mut dyn Watcher) -> Result<(), ExperimentError> {
        if self.driver.is_none() {
            if self.starts == STARTS {
                return Err(ExperimentError::Hyperqueue { log: self.log() });
            }
            self.start()?;
        }
        let Some(driver) = &mut self.driver else {
            return Ok(());
        };
        driver.busy = true;
        if driver.order(points).is_err() {
            // It has just ended, which `is_busy` notices.
            driver.busy = false;
        }
        Ok(())
    }
}

impl Driver {
    fn order(&mut self, points: &[usize]) -> Result<(), FileError> {
        let Some(orders) = &mut self.orders else {
            return Ok(());
        };
        let line = format!("{}\n", json!(points));
        let written = orders.write_all(line.as_bytes());
        written
            .and_then(|()| orders.flush())
            .map_err(gleaner_files::at("driver"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The end of its input ends it, with the tasks on a server of its own.
        self.orders = None;
        let _ = self.child.wait();
    }
}

impl Drop for Hyperqueue {
    fn drop(&mut self) {
        self.driver = None;
        // The state of its own server is of no use any more.
        let _ = fs::remove_dir_all(self.folder.join("server"));
    }
}

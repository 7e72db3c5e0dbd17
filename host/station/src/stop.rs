//! A handle that stops a run from outside, in the middle of a round if need be.

use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// The exit code of a program that Ctrl-C, a key or SIGUSR1 stopped.
pub const INTERRUPTED: u8 = 130;

/// The exit code of a program that SIGHUP stopped, 128 and the number of the signal.
pub const HUNG_UP: u8 = 129;

/// The exit code of a program that SIGTERM stopped, 128 and the number of the signal.
pub const TERMINATED: u8 = 143;

/// A handle that stops a run; clones are the same handle.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<Option<u8>>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Stop {
    /// Returns a handle that Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 (which batch systems send ahead of a
    /// time limit) trigger; the second signal ends the program at once. A program that was started to
    /// outlive its terminal, as by `nohup`, ignores SIGHUP.
    #[must_use]
    pub fn on_signals() -> Self {
        let stop = Self::default();
        let requested = stop.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            // Without a runtime, signals keep their default effect.
            let Ok(runtime) = runtime else { return };
            runtime.block_on(each_signal(|code| {
                if requested.is_requested() {
                    exit(code.into());
                }
                requested.request_as(code);
            }));
        });
        stop
    }

    /// Asks the run to stop, as Ctrl-C does.
    pub fn request(&self) {
        self.request_as(INTERRUPTED);
    }

    /// Asks the run to stop and the program to end with this code; the first code counts.
    fn request_as(&self, code: u8) {
        self.0.send_if_modified(|requested| {
            let is_first = requested.is_none();
            requested.get_or_insert(code);
            is_first
        });
    }

    /// Tells whether the run is to stop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Returns the exit code of the stopped program: 128 and the number of the signal.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.0.borrow().unwrap_or(INTERRUPTED)
    }

    /// Blocks until the run is to stop.
    pub fn wait(&self) {
        while !self.is_requested() {
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    /// Waits until the run is to stop.
    pub async fn requested(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}

/// Calls `on_signal` for every signal that asks the program to end, with the exit code.
#[cfg(unix)]
async fn each_signal(mut on_signal: impl FnMut(u8)) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::user_defined1(),
    ];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut notice)] = kinds.map(signal) else {
        return;
    };
    let mut hangup = match ignores_hangup() {
        true => None,
        false => signal(SignalKind::hangup()).ok(),
    };
    let hung_up = async |hangup: &mut Option<tokio::signal::unix::Signal>| match hangup {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    };
    loop {
        tokio::select! {
            Some(()) = interrupt.recv() => on_signal(INTERRUPTED),
            Some(()) = terminate.recv() => on_signal(TERMINATED),
            Some(()) = notice.recv() => on_signal(INTERRUPTED),
            Some(()) = hung_up(&mut hangup) => on_signal(HUNG_UP),
            else => return,
        }
    }
}

/// Tells whether the program was started with SIGHUP ignored. Where the system has no
/// `/proc/self/status` this is unknown and taken as no.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // A mask in hexadecimal, whose first bit is SIGHUP.
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// Calls `on_signal` for every Ctrl-C, with the exit code.
#[cfg(not(unix))]
async fn each_signal(mut on_signal: impl FnMut(u8)) {
    while tokio::signal::ctrl_c().await.is_ok() {
        on_signal(INTERRUPTED);
    }
}

//! A handle that stops a run from outside, in the middle of a round if need be.

use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// The exit code of an interrupted program, by the convention of shells.
pub const INTERRUPTED: u8 = 130;

/// A handle that stops a run; clones are the same handle.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Returns a handle that Ctrl-C, SIGTERM and SIGUSR1 (which batch systems send ahead of a time
    /// limit) trigger; the second signal ends the program at once.
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
            runtime.block_on(each_signal(|| {
                if requested.is_requested() {
                    exit(INTERRUPTED.into());
                }
                requested.request();
            }));
        });
        stop
    }

    /// Asks the run to stop.
    pub fn request(&self) {
        self.0.send_replace(true);
    }

    /// Tells whether the run is to stop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
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
        let _ = self.0.subscribe().wait_for(|requested| *requested).await;
    }
}

/// Calls `on_signal` for every signal that asks the program to end.
#[cfg(unix)]
async fn each_signal(mut on_signal: impl FnMut()) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::user_defined1(),
    ];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut notice)] = kinds.map(signal) else {
        return;
    };
    loop {
        tokio::select! {
            Some(()) = interrupt.recv() => on_signal(),
            Some(()) = terminate.recv() => on_signal(),
            Some(()) = notice.recv() => on_signal(),
            else => return,
        }
    }
}

/// Calls `on_signal` for every Ctrl-C.
#[cfg(not(unix))]
async fn each_signal(mut on_signal: impl FnMut()) {
    while tokio::signal::ctrl_c().await.is_ok() {
        on_signal();
    }
}

//! The live view of a run with boards: activity of every board, stores and accuracy.
//!
//! `state` collects events and `draw` shows them, both without a terminal; this file owns the
//! terminal.

mod charts;
mod draw;
mod state;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyModifiers};

pub use draw::draw;
pub use state::ViewState;

use gleaner_sim::round::RoundLog;
use gleaner_sim::run::Observer;
use gleaner_station::event::Event;
use gleaner_station::listener::ListenerStatus;
use gleaner_station::stop::{INTERRUPTED, Stop};

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(150);

/// A view on the terminal; dropping it restores the terminal.
pub struct View {
    state: Arc<Mutex<ViewState>>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl View {
    /// Opens the view; q and Ctrl-C request `stop`, and end the program when pressed again.
    ///
    /// # Errors
    /// Returns an error without a terminal.
    pub fn open(state: ViewState, listener: Arc<ListenerStatus>, stop: Stop) -> io::Result<Self> {
        let mut terminal = ratatui::try_init()?;
        let state = Arc::new(Mutex::new(state));
        let closed = Arc::new(AtomicBool::new(false));
        let (seen, is_closed) = (Arc::clone(&state), Arc::clone(&closed));
        let thread = std::thread::spawn(move || {
            while !is_closed.load(Ordering::Relaxed) {
                let mut now = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
                now.listener = listener.address().map(|_| listener.to_string());
                // A frame that could not be drawn is skipped.
                let _ = terminal.draw(|frame| draw(frame, &now, Instant::now()));
                if event::poll(FRAME).unwrap_or(false) && wants_to_quit() {
                    if stop.is_requested() {
                        ratatui::restore();
                        std::process::exit(INTERRUPTED.into());
                    }
                    stop.request();
                    seen.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .note("stopping".to_owned());
                }
            }
        });
        Ok(Self {
            state,
            closed,
            thread: Some(thread),
        })
    }

    /// Returns a function that shows events in the view.
    #[must_use]
    pub fn listener(&self) -> Box<dyn FnMut(&Event) + Send> {
        let state = Arc::clone(&self.state);
        Box::new(move |event| {
            state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .handle(event);
        })
    }
}

fn wants_to_quit() -> bool {
    match event::read() {
        Ok(Input::Key(key)) => {
            let interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
            key.code == KeyCode::Char('q') || (interrupt && key.code == KeyCode::Char('c'))
        }
        _ => false,
    }
}

impl Observer for View {
    fn started(&mut self, done: usize, total: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.start(done, total, Instant::now());
    }

    fn round(&mut self, log: &RoundLog) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.finish_round(log, Instant::now());
    }

    fn notice(&mut self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.note(text.to_owned());
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        ratatui::restore();
    }
}

//! The live view of a run with boards: who does what, and how accuracy grows.
//!
//! `state` gathers what is heard and `draw` shows it; both are plain functions of what
//! happened. This file keeps the terminal.

mod charts;
mod draw;
mod pace;
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

/// How often the screen is drawn.
const FRAME: Duration = Duration::from_millis(150);

/// A view on the terminal; dropping it gives the terminal back.
pub struct View {
    state: Arc<Mutex<ViewState>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl View {
    /// Takes the terminal; q and Ctrl-C pull `leave`, and end the program when pressed again.
    ///
    /// # Errors
    /// When there is none to take.
    pub fn open(state: ViewState, calls: Arc<ListenerStatus>, leave: Stop) -> io::Result<Self> {
        let mut terminal = ratatui::try_init()?;
        let state = Arc::new(Mutex::new(state));
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, stopped) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let mut now = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
                now.calls = calls.address().map(|_| calls.to_string());
                // A frame that could not be drawn is drawn next time.
                let _ = terminal.draw(|frame| draw(frame, &now, Instant::now()));
                if event::poll(FRAME).unwrap_or(false) && wants_to_leave() {
                    if leave.is_requested() {
                        ratatui::restore();
                        std::process::exit(INTERRUPTED.into());
                    }
                    leave.request();
                    seen.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .note("stopping".to_owned());
                }
            }
        });
        Ok(Self {
            state,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns what shows events in the view.
    #[must_use]
    pub fn listener(&self) -> Box<dyn FnMut(&Event) + Send> {
        let state = Arc::clone(&self.state);
        Box::new(move |event| {
            state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .hear(event);
        })
    }
}

fn wants_to_leave() -> bool {
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
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        ratatui::restore();
    }
}

//! A request to stop an execution in this process, from a signal or a limit of time.

use std::fmt;
use std::sync::Arc;

/// Tells whether an execution is to stop: runs in progress then end after their round, with a
/// checkpoint from which the next execution continues, and no other run begins.
#[derive(Clone, Default)]
pub struct Stopping(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stopping {
    /// Stops when a condition holds; it is asked after every round.
    pub fn when(condition: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(condition)))
    }

    pub(super) fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|condition| condition())
    }
}

impl fmt::Debug for Stopping {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requested = self.is_requested();
        to.debug_struct("Stopping")
            .field("requested", &requested)
            .finish()
    }
}

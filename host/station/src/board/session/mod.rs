//! One board's session as a state machine: events and the time go in, actions come out, without
//! I/O.
//!
//! A [`Machine`] is driven like the link below it:
//! 1. pass an event of the line, or the time alone, to `handle`, or a request to `ask`, and carry
//!    out the returned actions in order,
//! 2. while `wants` returns something, try to queue it, and pass [`Input::Queued`] when it is;
//!    without room try again a little later,
//! 3. wait for the line (or open it, when `opens_at` says so), for a request unless `is_busy`, or
//!    until `wakes_at`, whichever comes first.
//!
//! ```text
//! Connecting                                      Provisioned
//!   Unplugged ─ Opened ─► Calling                   Idle
//!       ▲                    │ Connected   Provi-   Echo: Offering ◄─► Offered
//!       │ Gone               ▼             sioned   Work: HandingOver ─► Training
//!       └── anywhere      Greeted ────────────────►         ─► Uploading ─► Holding
//! ```
//!
//! A request waits in `Connecting` as a [`state::PendingRequest`] and runs in `Provisioned` as a
//! [`state::Activity`]. The end of the session, in any state, turns the activity back into a pending
//! request, which starts over with the next session. The board answers a repeated order with the
//! results it already has, so nothing is done or counted twice.
//!
//! `machine` has the entry points, `line` handles line and session, `receive` messages and
//! transfers, `request` starts and ends requests; `round` and `handover` are a round's work, `echo`
//! the doctor's. `check` decides which messages are accepted.

mod check;
mod echo;
mod handover;
mod io;
mod line;
mod machine;
mod receive;
mod request;
mod round;
mod state;
#[cfg(test)]
mod tests;

pub(super) use check::Profile;
pub(super) use handover::rejection;
pub(super) use io::{Action, Answer, Input, Request, Want};
pub(super) use machine::Machine;

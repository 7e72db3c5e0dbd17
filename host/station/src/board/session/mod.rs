//! One board's session as a state machine: what happens and the time go in, actions come out, and
//! there is no I/O inside.
//!
//! A [`Machine`] is driven like the link below it:
//! 1. pass what the line brought, what was asked for, or nothing but the time to `handle` or
//!    `ask`, and carry out the actions that come back, in order,
//! 2. while `wants` returns something, try to queue it, and say [`Input::Queued`] when it is;
//!    without room try again a little later,
//! 3. wait for the line (or open it, when `opens_at` says so), for a request unless `is_busy`, or
//!    until `wakes_at`, whichever comes first.
//!
//! ```text
//! Connecting                                      Provisioned
//!   Unplugged ─ Opened ─► Calling                   Idle
//!       ▲                    │ Connected   Provi-   Echo: Offering ◄─► Offered
//!       │ Gone               ▼             sioned   Work: HandingOver ─► Training
//!       └── anywhere      Greeted ────────────────►         ─► Uploading ─► Landing
//! ```
//!
//! What was asked for waits in `Connecting` as an [`state::PendingRequest`] and is carried out in
//! `Provisioned` as an [`state::Activity`]. Whatever ends the session, from any state, turns the
//! activity back into the pending: it starts over with the next session, and the board answers a
//! repeated order with what it already has, so nothing is done or counted twice.
//!
//! `machine` is the entrance, `line` follows line and session, `hear` the board's messages and
//! transfers, `request` begins and ends what is asked for; `round` and `handover` are a round's
//! work, `echo` the doctor's. `check` decides which messages are heard at all.

mod action;
mod check;
mod echo;
mod energy;
mod handover;
mod hear;
mod input;
mod line;
mod machine;
mod profile;
mod request;
mod round;
mod state;
#[cfg(test)]
mod tests;

pub(super) use action::{Action, Answer, Want};
pub(super) use input::{Input, Request};
pub(super) use machine::Machine;
pub(super) use profile::Profile;

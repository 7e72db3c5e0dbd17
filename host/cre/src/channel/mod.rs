//! The radio: positions of clients, gains of their channels, rates and costs of uploads.
//!
//! Sections II-B and II-C of the paper. [`Emulation`] draws the state of a round, [`Trace`] reads it
//! from a table that [`Recorder`] writes; a [`ChannelSource`] is either of them.

mod draw;
mod fading;
mod gain;
mod model;
mod placement;
mod rate;
mod record;
mod source;
mod trace;

pub use draw::{Emulation, RadioParams, RoundState};
pub(crate) use fading::gaussian_pair;
pub use fading::{Fading, FadingKind};
pub use gain::{channel_gain, large_scale_gain};
pub use model::{BitRate, Cap, Level, Modem, RateModel};
pub use placement::{MIN_DISTANCE_M, Placement, distance_in_disc};
pub use rate::{
    broadcast_rate, downlink_latency, epoch_energy, epoch_latency, shannon_rate, upload_energy,
    upload_energy_infimum, upload_latency,
};
pub use record::Recorder;
pub use source::{ChannelSource, Coverage};
pub use trace::{Trace, TraceError};

//! One round's problem, and what makes it a problem at all.

use serde::Deserialize;
use thiserror::Error;

use super::record::Record;
use crate::bound::LossBound;
use crate::channel::{shannon_rate, upload_latency};
use crate::units::{Bits, Gain, Hertz, Watts, WattsPerHertz};

/// One round's optimisation problem: everything the base station knows before it decides.
///
/// Plain numbers in SI units, named after what they are. Deserialising reads the record `inst` of
/// the test vectors and checks it as [`Instance::validate`] does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Record")]
pub struct Instance {
    /// Number of uplink channels C.
    pub channels: usize,
    /// Samples D_i of each client; its length is the number of clients U.
    pub samples: Vec<u32>,
    /// Uplink power gain of each client on each channel, `[client][channel]`, linear.
    pub gain: Vec<Vec<f64>>,
    /// How long the broadcast takes, t_down.
    pub downlink_s: f64,
    /// Energy queue Z_i of each client.
    pub queue_j: Vec<f64>,
    /// Data divergence delta_i of each client.
    pub delta: Vec<f64>,
    /// Time T_i of one epoch at each client.
    pub epoch_s: Vec<f64>,
    /// Energy E_i of one epoch at each client.
    pub epoch_j: Vec<f64>,
    /// What the bound knows of the model.
    pub bound: LossBound,
    /// Lyapunov penalty factor V.
    pub v: f64,
    /// Joules per unit of energy inside the objective.
    pub energy_unit_j: f64,
    /// Deadline T_max of the round.
    pub deadline_s: f64,
    /// Length l of the model.
    pub model_bits: f64,
    /// Bandwidth B of an uplink channel.
    pub bandwidth_hz: f64,
    /// Noise density N0.
    pub noise_w_per_hz: f64,
    /// Highest power p_max of a client.
    pub power_max_w: f64,
    /// Energy E_add that each client harvests in a round.
    pub income_j: Vec<f64>,
    /// How long before the deadline each client must be done, 0 where clients are alike.
    pub reserve_s: Vec<f64>,
}

/// A field of an instance that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{field} = {value}: {problem}")]
pub struct InstanceError {
    /// The field, by its name in instance files.
    pub field: String,
    /// The value found.
    pub value: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl InstanceError {
    pub(crate) fn new(field: impl Into<String>, value: impl ToString, problem: &str) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            problem: problem.into(),
        }
    }
}

impl Instance {
    /// Returns the number of clients U.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.samples.len()
    }

    /// Returns when a client must be done, T_max less its reserve.
    #[must_use]
    pub fn deadline_of(&self, client: usize) -> f64 {
        self.deadline_s - self.reserve_s[client]
    }

    /// Returns what is left of the round for an upload after `tau` epochs,
    /// T_max - reserve_i - t_down - tau T_i.
    #[must_use]
    pub fn slack_s(&self, client: usize, tau: f64) -> f64 {
        self.deadline_of(client) - self.downlink_s - tau * self.epoch_s[client]
    }

    /// Returns how long an upload takes, t_up = l / v_up: Eqs. (9) and (10).
    #[must_use]
    pub fn upload_s(&self, client: usize, channel: usize, power_w: f64) -> f64 {
        let rate = shannon_rate(
            Watts(power_w),
            Gain(self.gain[client][channel]),
            Hertz(self.bandwidth_hz),
            WattsPerHertz(self.noise_w_per_hz),
        );
        upload_latency(Bits(self.model_bits), rate).0
    }

    /// Checks every field.
    ///
    /// A downlink longer than the deadline is not an error here: fading can cause it, and the
    /// answer then is that nobody takes part. [`Self::check_deadline`] tells.
    ///
    /// # Errors
    /// Names the first field that is missing, of the wrong size, not finite or out of range.
    pub fn validate(&self) -> Result<(), InstanceError> {
        let clients = self.clients();
        if clients == 0 {
            return Err(InstanceError::new(
                "D",
                "[]",
                "at least one client is needed",
            ));
        }
        if self.channels == 0 {
            return Err(InstanceError::new("C", 0, "at least one channel is needed"));
        }
        for (field, length) in [
            ("h_up", self.gain.len()),
            ("Z_j", self.queue_j.len()),
            ("delta", self.delta.len()),
            ("T_s", self.epoch_s.len()),
            ("E_j", self.epoch_j.len()),
            ("E_add_j", self.income_j.len()),
            ("T_slack_s", self.reserve_s.len()),
        ] {
            if length != clients {
                let value = format!("{length} entries");
                return Err(InstanceError::new(field, value, &format!("U is {clients}")));
            }
        }
        for (client, &samples) in self.samples.iter().enumerate() {
            if samples == 0 {
                let field = format!("D[{client}]");
                return Err(InstanceError::new(field, samples, "must be at least 1"));
            }
        }
        for (client, row) in self.gain.iter().enumerate() {
            if row.len() != self.channels {
                let value = format!("{} entries", row.len());
                let problem = format!("C is {}", self.channels);
                return Err(InstanceError::new(
                    format!("h_up[{client}]"),
                    value,
                    &problem,
                ));
            }
            for (channel, &gain) in row.iter().enumerate() {
                positive(&format!("h_up[{client}][{channel}]"), gain)?;
            }
        }
        for client in 0..clients {
            not_negative(&format!("Z_j[{client}]"), self.queue_j[client])?;
            not_negative(&format!("delta[{client}]"), self.delta[client])?;
            positive(&format!("T_s[{client}]"), self.epoch_s[client])?;
            positive(&format!("E_j[{client}]"), self.epoch_j[client])?;
            not_negative(&format!("E_add_j[{client}]"), self.income_j[client])?;
            self.validate_reserve(client)?;
        }
        positive("T_max_s", self.deadline_s)?;
        not_negative("t_down_s", self.downlink_s)?;
        positive("ell_bits", self.model_bits)?;
        positive("B_up_hz", self.bandwidth_hz)?;
        positive("N0_w_per_hz", self.noise_w_per_hz)?;
        positive("p_max_w", self.power_max_w)?;
        not_negative("V", self.v)?;
        positive("energy_unit_j", self.energy_unit_j)?;
        self.validate_bound()
    }

    fn validate_reserve(&self, client: usize) -> Result<(), InstanceError> {
        let (field, reserve_s) = (format!("T_slack_s[{client}]"), self.reserve_s[client]);
        not_negative(&field, reserve_s)?;
        if reserve_s < self.deadline_s {
            return Ok(());
        }
        let problem = format!("must be below T_max_s = {}", self.deadline_s);
        Err(InstanceError::new(field, reserve_s, &problem))
    }

    fn validate_bound(&self) -> Result<(), InstanceError> {
        let LossBound {
            rho,
            beta,
            eta,
            b1,
            gap,
        } = self.bound;
        not_negative("rho", rho)?;
        positive("beta", beta)?;
        positive("eta", eta)?;
        positive("B1", b1)?;
        positive("F_gap", gap)?;
        if eta * beta >= 1.0 {
            let problem = format!("the bound needs eta beta < 1; lower eta = {eta} or clip beta");
            return Err(InstanceError::new("eta*beta", eta * beta, &problem)
                .with_field(format!("beta = {beta}, eta*beta")));
        }
        Ok(())
    }

    /// Checks that the broadcast ends before the deadline.
    ///
    /// # Errors
    /// Names both times. The instance is still solvable: nobody takes part.
    pub fn check_deadline(&self) -> Result<(), InstanceError> {
        if self.downlink_s < self.deadline_s {
            return Ok(());
        }
        let problem = format!(
            "the round ends before the broadcast, t_down_s = {}",
            self.downlink_s
        );
        Err(InstanceError::new("T_max_s", self.deadline_s, &problem))
    }
}

impl InstanceError {
    fn with_field(mut self, field: String) -> Self {
        self.field = field;
        self
    }
}

pub(super) fn positive(field: &str, value: f64) -> Result<(), InstanceError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(InstanceError::new(
            field,
            value,
            "must be a finite number above 0",
        ))
    }
}

fn not_negative(field: &str, value: f64) -> Result<(), InstanceError> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(InstanceError::new(
            field,
            value,
            "must be a finite number, 0 or more",
        ))
    }
}

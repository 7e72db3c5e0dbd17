//! Validation of instances: returns the first invalid field.
//!
//! Every round is checked before it is solved, so names are only formatted for an error.

use std::fmt::Display;

use super::{Instance, InstanceError};
use crate::bound::LossBound;
use crate::channel::{Modem, RateModel};
use crate::costs::{Costs, RadioCost};

impl Instance {
    /// Checks every field.
    ///
    /// A downlink longer than the deadline is no error: fading can cause it, and the solution is then
    /// the empty plan. [`Self::check_deadline`] tests for it.
    ///
    /// # Errors
    /// Returns the first field that is of the wrong size, not finite or out of range.
    pub fn validate(&self) -> Result<(), InstanceError> {
        let clients = self.clients();
        if clients == 0 {
            let problem = "at least one client is needed";
            return Err(InstanceError::new("D", "[]", problem));
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
            ("costs", self.costs.len()),
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
                positive(format_args!("h_up[{client}][{channel}]"), gain)?;
            }
        }
        for client in 0..clients {
            not_negative(format_args!("Z_j[{client}]"), self.queue_j[client])?;
            not_negative(format_args!("delta[{client}]"), self.delta[client])?;
            positive(format_args!("T_s[{client}]"), self.epoch_s[client])?;
            positive(format_args!("E_j[{client}]"), self.epoch_j[client])?;
            not_negative(format_args!("E_add_j[{client}]"), self.income_j[client])?;
            self.validate_reserve(client)?;
            self.validate_costs(client)?;
        }
        positive("T_max_s", self.deadline_s)?;
        not_negative("t_down_s", self.downlink_s)?;
        positive("ell_bits", self.model_bits)?;
        positive("B_up_hz", self.bandwidth_hz)?;
        positive("N0_w_per_hz", self.noise_w_per_hz)?;
        positive("p_max_w", self.power_max_w)?;
        not_negative("V", self.v)?;
        positive("energy_unit_j", self.energy_unit_j)?;
        self.validate_rate()?;
        self.validate_bound()
    }

    fn validate_rate(&self) -> Result<(), InstanceError> {
        match &self.rate {
            RateModel::Shannon => Ok(()),
            RateModel::Capped(cap) => {
                positive("rate.capped.max_bits_per_hz", cap.max_bits_per_hz)?;
                positive("rate.capped.max_rate_bps", cap.max_rate_bps)
            }
            RateModel::Gfsk(modem) => self.validate_modem(modem),
        }
    }

    fn validate_modem(&self, modem: &Modem) -> Result<(), InstanceError> {
        let mut below_w = 0.0;
        for (at, level) in modem.levels.iter().enumerate() {
            let field = format_args!("rate.gfsk.levels[{at}].radiated_w");
            rising(field, level.radiated_w, &mut below_w)?;
            let field = format_args!("rate.gfsk.levels[{at}].drawn_w");
            positive(field, level.drawn_w)?;
        }
        if (below_w - self.power_max_w).abs() > 1e-9 * self.power_max_w {
            let problem = format!("the highest level must be p_max_w = {}", self.power_max_w);
            return Err(InstanceError::new("rate.gfsk.levels", below_w, &problem));
        }
        if modem.rates.is_empty() {
            let problem = "at least one bit rate is needed";
            return Err(InstanceError::new("rate.gfsk.rates", "[]", problem));
        }
        let mut below_bps = 0.0;
        for (at, rate) in modem.rates.iter().enumerate() {
            let field = format_args!("rate.gfsk.rates[{at}].bps");
            rising(field, rate.bps, &mut below_bps)?;
            let field = format_args!("rate.gfsk.rates[{at}].sensitivity_w");
            positive(field, rate.sensitivity_w)?;
        }
        positive("rate.gfsk.margin", modem.margin)
    }

    fn validate_reserve(&self, client: usize) -> Result<(), InstanceError> {
        let reserve_s = self.reserve_s[client];
        not_negative(format_args!("T_slack_s[{client}]"), reserve_s)?;
        if reserve_s < self.deadline_s {
            return Ok(());
        }
        let field = format!("T_slack_s[{client}]");
        let problem = format!("must be below T_max_s = {}", self.deadline_s);
        Err(InstanceError::new(field, reserve_s, &problem))
    }

    fn validate_costs(&self, client: usize) -> Result<(), InstanceError> {
        let Costs {
            radio:
                RadioCost {
                    efficiency,
                    circuit_w,
                    per_upload_j,
                },
            order_s,
            order_j,
            standing_j,
        } = self.costs[client];
        not_negative(format_args!("P_c_w[{client}]"), circuit_w)?;
        not_negative(format_args!("E_upload_j[{client}]"), per_upload_j)?;
        not_negative(format_args!("T_order_s[{client}]"), order_s)?;
        not_negative(format_args!("E_order_j[{client}]"), order_j)?;
        not_negative(format_args!("E_stand_j[{client}]"), standing_j)?;
        if efficiency > 0.0 && efficiency <= 1.0 {
            return Ok(());
        }
        let problem = "must be above 0 and at most 1: radiated over drawn power";
        let field = format!("zeta[{client}]");
        Err(InstanceError::new(field, efficiency, problem))
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
            let field = format!("beta = {beta}, eta*beta");
            return Err(InstanceError::new(field, eta * beta, &problem));
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

pub(super) fn positive(field: impl Display, value: f64) -> Result<(), InstanceError> {
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

/// Checks that a positive value is above the one before it, which it replaces.
fn rising(field: impl Display, value: f64, below: &mut f64) -> Result<(), InstanceError> {
    positive(&field, value)?;
    if value <= *below {
        let problem = format!("must be above the one before, {below}");
        return Err(InstanceError::new(field, value, &problem));
    }
    *below = value;
    Ok(())
}

fn not_negative(field: impl Display, value: f64) -> Result<(), InstanceError> {
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

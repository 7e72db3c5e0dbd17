//! Vectors of the radio: gains, rates, powers.

use gleaner_cre::channel::{
    broadcast_rate, channel_gain, downlink_latency, epoch_energy, epoch_latency, large_scale_gain,
    shannon_rate, upload_energy, upload_energy_infimum, upload_latency,
};
use gleaner_cre::optim::power::power_for_energy;
use gleaner_cre::units::{Bits, Db, Gain, Gigahertz, Hertz, Joules, Metres, Watts, WattsPerHertz};
use serde::Deserialize;

use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Channel {
    gamma_m: Metres,
    nu_ghz: Gigahertz,
    gain_db: Db,
    small: Gain,
    large: f64,
    h: f64,
}

impl Vector for Channel {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let large = large_scale_gain(self.gamma_m, self.nu_ghz);
        let h = channel_gain(large, self.small, self.gain_db);
        found.number("large", large.0, self.large);
        found.number("h", h.0, self.h);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rates {
    ell_bits: Bits,
    #[serde(rename = "N0_w_per_hz")]
    noise: WattsPerHertz,
    p_w: Watts,
    h_up: Gain,
    #[serde(rename = "B_up_hz")]
    bandwidth_up: Hertz,
    p_down_w: Watts,
    h_down: Vec<f64>,
    #[serde(rename = "B_down_hz")]
    bandwidth_down: Hertz,
    #[serde(rename = "D")]
    samples: u32,
    b_cycles: f64,
    f_hz: Hertz,
    alpha: f64,
    rate_up_bps: f64,
    t_up_s: f64,
    e_up_j: f64,
    rate_down_each_bps: Vec<f64>,
    rate_down_bps: f64,
    t_down_s: f64,
    #[serde(rename = "T_s")]
    epoch_s: f64,
    #[serde(rename = "E_j")]
    epoch_j: f64,
}

impl Vector for Rates {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let up = shannon_rate(self.p_w, self.h_up, self.bandwidth_up, self.noise);
        let t_up = upload_latency(self.ell_bits, up);
        found.number("rate_up_bps", up.0, self.rate_up_bps);
        found.number("t_up_s", t_up.0, self.t_up_s);
        found.number("e_up_j", upload_energy(self.p_w, t_up).0, self.e_up_j);
        let (power, band) = (self.p_down_w, self.bandwidth_down);
        let each: Vec<f64> = self
            .h_down
            .iter()
            .map(|&h| shannon_rate(power, Gain(h), band, self.noise).0)
            .collect();
        let double = Tolerance::double();
        found.list(
            "rate_down_each_bps",
            &each,
            &self.rate_down_each_bps,
            double,
        );
        let down = broadcast_rate(power, &self.h_down, band, self.noise);
        found.number("rate_down_bps", down.0, self.rate_down_bps);
        let t_down = downlink_latency(self.ell_bits, down);
        found.number("t_down_s", t_down.0, self.t_down_s);
        let epoch_s = epoch_latency(self.b_cycles, self.samples, self.f_hz);
        found.number("T_s", epoch_s.0, self.epoch_s);
        let epoch_j = epoch_energy(self.alpha, self.f_hz, self.b_cycles, self.samples);
        found.number("E_j", epoch_j.0, self.epoch_j);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PowerOfEnergy {
    e_j: Joules,
    h_up: Gain,
    ell_bits: Bits,
    #[serde(rename = "B_up_hz")]
    bandwidth: Hertz,
    #[serde(rename = "N0_w_per_hz")]
    noise: WattsPerHertz,
    reachable: bool,
    rel_tol: f64,
    e_infimum_j: f64,
    p_w: f64,
}

impl Vector for PowerOfEnergy {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let infimum = upload_energy_infimum(self.ell_bits, self.noise, self.h_up);
        found.number("e_infimum_j", infimum.0, self.e_infimum_j);
        let power = power_for_energy(
            self.e_j,
            self.h_up,
            self.ell_bits,
            self.bandwidth,
            self.noise,
        );
        found.equal("reachable", &power.is_some(), &self.reachable);
        let power_w = power.map_or(0.0, |power| power.0);
        found.within("p_w", power_w, self.p_w, Tolerance::relative(self.rel_tol));
        Ok(())
    }
}

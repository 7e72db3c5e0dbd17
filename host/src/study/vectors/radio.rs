//! Vectors of the radio: gains, rates, powers.

use super::compare::Case;
use gleaner_cre::channel::{
    broadcast_rate, channel_gain, downlink_latency, epoch_energy, epoch_latency, large_scale_gain,
    shannon_rate, upload_energy, upload_energy_infimum, upload_latency,
};
use gleaner_cre::json::JsonError;
use gleaner_cre::optim::power::power_for_energy;
use gleaner_cre::units::{Bits, Db, Gain, Gigahertz, Hertz, Joules, Metres, Watts, WattsPerHertz};

pub(super) fn channel(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let large = large_scale_gain(Metres(f.number("gamma_m")?), Gigahertz(f.number("nu_ghz")?));
    let h = channel_gain(large, Gain(f.number("small")?), Db(f.number("gain_db")?));
    case.expect("large", large.0)?;
    case.expect("h", h.0)
}

pub(super) fn rates(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let model = Bits(f.number("ell_bits")?);
    let noise = WattsPerHertz(f.number("N0_w_per_hz")?);
    let (power, gain) = (Watts(f.number("p_w")?), Gain(f.number("h_up")?));
    let up = shannon_rate(power, gain, Hertz(f.number("B_up_hz")?), noise);
    let (down_power, band) = (Watts(f.number("p_down_w")?), Hertz(f.number("B_down_hz")?));
    let gains = f.numbers("h_down")?;
    let (samples, cycles) = (f.count("D")?, f.number("b_cycles")?);
    let (clock, alpha) = (Hertz(f.number("f_hz")?), f.number("alpha")?);

    let t_up = upload_latency(model, up);
    case.expect("rate_up_bps", up.0)?;
    case.expect("t_up_s", t_up.0)?;
    case.expect("e_up_j", upload_energy(power, t_up).0)?;
    let each: Vec<f64> = gains
        .iter()
        .map(|&h| shannon_rate(down_power, Gain(h), band, noise).0)
        .collect();
    case.expect_all("rate_down_each_bps", &each, 0.0)?;
    let down = broadcast_rate(down_power, &gains, band, noise);
    case.expect("rate_down_bps", down.0)?;
    case.expect("t_down_s", downlink_latency(model, down).0)?;
    case.expect("T_s", epoch_latency(cycles, samples, clock).0)?;
    case.expect("E_j", epoch_energy(alpha, clock, cycles, samples).0)
}

pub(super) fn power_of_energy(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let (energy, gain) = (Joules(f.number("e_j")?), Gain(f.number("h_up")?));
    let (model, band) = (Bits(f.number("ell_bits")?), Hertz(f.number("B_up_hz")?));
    let noise = WattsPerHertz(f.number("N0_w_per_hz")?);
    let reachable = f.flag("reachable")?;
    let tolerance = f.number("rel_tol")?;
    let power = power_for_energy(energy, gain, model, band, noise);
    case.expect("e_infimum_j", upload_energy_infimum(model, noise, gain).0)?;
    case.expect_equal("reachable", &power.is_some(), &reachable);
    case.set_tolerance(tolerance);
    case.expect("p_w", power.map_or(0.0, |power| power.0))
}

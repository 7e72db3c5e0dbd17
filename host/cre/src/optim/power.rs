//! The best power of one participant at a given number of epochs (P3.2'.2).

use std::f64::consts::LN_2;

use super::choices::{Choice, Choices};
use super::{Instance, snr};
use crate::channel::{RateModel, upload_energy_infimum};
use crate::costs::RadioCost;
use crate::units::{Bits, Gain, Hertz, Joules, Watts, WattsPerHertz};

/// The three cases of Eq. (39).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCase {
    /// Less energy would be better, but the deadline does not allow it.
    Min,
    /// The upload spends exactly the target.
    Interior,
    /// More energy would be better, but the device has no more power.
    Max,
}

/// The best power and the quantities of Eq. (39).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerChoice {
    /// Least power that meets the deadline.
    pub p_min_w: f64,
    /// Power of least energy that meets the deadline; above `p_min_w` where circuit power makes slow
    /// uploads expensive.
    pub p_thrifty_w: f64,
    /// Energy of an upload at `p_thrifty_w`.
    pub e_min_j: f64,
    /// Energy of an upload at full power.
    pub e_max_j: f64,
    /// The energy that minimises J, net income_i - Z_i - (tau E_i + order_i).
    pub e_target_j: f64,
    /// The best transmit power.
    pub power_w: f64,
    /// The case of Eq. (39).
    pub case: PowerCase,
}

/// Returns the power whose upload spends `energy` in the paper's radio, or `None` if none spends
/// so little.
///
/// Implements Eq. (38). With x = p h / (B N0) and e_inf = l N0 ln2 / h it reads
/// x / ln(1 + x) = e / e_inf.
///
/// Deviation: the printed Lambert W_-1 loses all digits near its branch point e = e_inf, so the
/// equation is solved by Newton's method in d = (e - e_inf)/e_inf.
#[must_use]
pub fn power_for_energy(
    energy: Joules,
    gain: Gain,
    model: Bits,
    bandwidth: Hertz,
    noise: WattsPerHertz,
) -> Option<Watts> {
    power_for(&RadioCost::PAPER, energy, gain, model, bandwidth, noise)
}

/// Returns the power on the rising branch whose upload spends `energy` in a radio; `None` if even
/// without a circuit none spends so little.
fn power_for(
    radio: &RadioCost,
    energy: Joules,
    gain: Gain,
    model: Bits,
    bandwidth: Hertz,
    noise: WattsPerHertz,
) -> Option<Watts> {
    let infimum_j = upload_energy_infimum(model, noise, gain).0;
    let radiated_j = (energy.0 - radio.per_upload_j) * radio.efficiency;
    let d = (radiated_j - infimum_j) / infimum_j;
    let c = radio.efficiency * radio.circuit_w * gain.0 / (bandwidth.0 * noise.0);
    (d > 0.0).then(|| Watts(snr::rising(d, c) * bandwidth.0 * noise.0 / gain.0))
}

/// Returns the least power that uploads within `slack_s`: p_min = (2^(l/(B slack)) - 1) B N0 / h, or
/// the lowest level of a transceiver.
///
/// Infinite if there is no slack, or the rate model has no rate that is fast enough.
#[must_use]
pub fn least_power(instance: &Instance, client: usize, channel: usize, slack_s: f64) -> f64 {
    if slack_s <= 0.0 {
        return f64::INFINITY;
    }
    let rate_bps = instance.model_bits / slack_s;
    match &instance.rate {
        RateModel::Gfsk(_) => {
            let least = Choices::of(instance, client, channel).least_power(slack_s);
            return least.map_or(f64::INFINITY, |choice| choice.power_w);
        }
        RateModel::Capped(cap) if rate_bps > cap.rate_bps(Hertz(instance.bandwidth_hz)) => {
            return f64::INFINITY;
        }
        RateModel::Shannon | RateModel::Capped(_) => {}
    }
    let exponent = LN_2 * instance.model_bits / (instance.bandwidth_hz * slack_s);
    power_at(instance, client, channel, exponent)
}

/// Returns the power that sends so many nats per second and hertz.
fn power_at(instance: &Instance, client: usize, channel: usize, exponent: f64) -> f64 {
    libm::expm1(exponent) * instance.bandwidth_hz * instance.noise_w_per_hz
        / instance.gain[client][channel]
}

/// Returns the largest power that is of use: p_max, or the least power of the largest rate, beyond
/// which a higher power is no faster.
#[must_use]
pub fn useful_power(instance: &Instance, client: usize, channel: usize) -> f64 {
    match &instance.rate {
        RateModel::Capped(cap) => {
            let rate_bps = cap.rate_bps(Hertz(instance.bandwidth_hz));
            let exponent = LN_2 * rate_bps / instance.bandwidth_hz;
            power_at(instance, client, channel, exponent).min(instance.power_max_w)
        }
        RateModel::Shannon | RateModel::Gfsk(_) => instance.power_max_w,
    }
}

/// Returns the power p_e at which an upload spends least energy, at most the largest that is of use; 0
/// where the radio has no circuit power, for then slower is always cheaper. A transceiver has a level
/// of least energy, or 0 if no bit rate is received.
///
/// It solves (1 + x) ln(1 + x) - x = zeta P_c h / (B N0) for x = p h / (B N0).
#[must_use]
pub fn efficient_power(instance: &Instance, client: usize, channel: usize) -> f64 {
    if instance.rate.modem().is_some() {
        let choices = Choices::of(instance, client, channel);
        let cheapest = choices.cheapest(f64::INFINITY);
        return cheapest.map_or(0.0, |choice| choice.power_w);
    }
    let radio = &instance.costs[client].radio;
    if radio.circuit_w == 0.0 {
        return 0.0;
    }
    let per_watt =
        instance.gain[client][channel] / (instance.bandwidth_hz * instance.noise_w_per_hz);
    let c = radio.efficiency * radio.circuit_w * per_watt;
    let limit_w = useful_power(instance, client, channel);
    let x = snr::cheapest(c, limit_w * per_watt);
    (x / per_watt).min(limit_w)
}

/// Transmit power of an upload, and its duration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Transmission {
    pub power_w: f64,
    pub time_s: f64,
}

/// Returns the upload of least energy that a client completes on a channel within `slack_s`;
/// `None` if none does.
///
/// The energy is that of the whole upload: amplifier, circuit, and waiting, which the circuit power is
/// in excess of. The power is max(p_min, p_e): the least that meets the slack, unless a higher one is
/// cheaper. A transceiver sends at the level and bit rate of least energy among those that meet the
/// slack.
#[must_use]
pub fn cheapest_upload(
    instance: &Instance,
    client: usize,
    channel: usize,
    slack_s: f64,
) -> Option<Transmission> {
    if instance.rate.modem().is_some() {
        let choices = Choices::of(instance, client, channel);
        return choices.cheapest(slack_s).map(Choice::transmission);
    }
    let least_w = least_power(instance, client, channel, slack_s);
    let efficient_w = efficient_power(instance, client, channel);
    let (power_w, time_s) = match efficient_w > least_w {
        true => (efficient_w, instance.upload_s(client, channel, efficient_w)),
        // The least power takes all the slack.
        false => (least_w, slack_s),
    };
    // A gain that is not a number gives a power that is none.
    (power_w <= instance.power_max_w).then_some(Transmission { power_w, time_s })
}

/// Returns the upload of least power that a client completes on a channel within `slack_s`; `None` if
/// none does. It takes all the slack, unless a transceiver's bit rate is faster.
#[must_use]
pub fn quietest_upload(
    instance: &Instance,
    client: usize,
    channel: usize,
    slack_s: f64,
) -> Option<Transmission> {
    if instance.rate.modem().is_some() {
        let choices = Choices::of(instance, client, channel);
        return choices.least_power(slack_s).map(Choice::transmission);
    }
    let power_w = least_power(instance, client, channel, slack_s);
    let time_s = slack_s;
    (power_w <= instance.power_max_w).then_some(Transmission { power_w, time_s })
}

/// Returns the energy of an upload at the largest power that is of use,
/// e_max = (p_max / zeta + P_c) l / (B log2(1 + p_max h / (B N0))) and the constant.
#[must_use]
pub fn full_power_energy(instance: &Instance, client: usize, channel: usize) -> f64 {
    let power_w = useful_power(instance, client, channel);
    let time_s = instance.upload_s(client, channel, power_w);
    instance.upload_j(client, power_w, time_s)
}

/// The power of least energy of a client on a channel whatever the slack, with what it costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Efficient {
    pub(super) power_w: f64,
    pub(super) energy_j: f64,
    /// Slack that allows it; infinite where slower is always cheaper.
    pub(super) time_s: f64,
}

impl Efficient {
    pub(super) fn of(instance: &Instance, client: usize, channel: usize) -> Self {
        let power_w = efficient_power(instance, client, channel);
        if power_w == 0.0 {
            return Self {
                power_w,
                energy_j: f64::INFINITY,
                time_s: f64::INFINITY,
            };
        }
        let time_s = instance.upload_s(client, channel, power_w);
        Self {
            power_w,
            energy_j: instance.upload_j(client, power_w, time_s),
            time_s,
        }
    }
}

/// Implements Eq. (39): the best power of a client on a channel after `tau` epochs.
///
/// The client's part of J is convex in the energy of its upload and least at the target. Powers
/// below p_e are slower and dearer than p_e and not on offer (docs/reference/solvers.md), and from p_e on the
/// energy rises with the power: so the best one is that of least energy, of the target, or p_max.
///
/// A power that is no faster than a lower one is not on offer either, so p_max is the largest of use.
/// A transceiver sends at the level and bit rate of least energy that meet the deadline.
///
/// `tau` is at most the client's epoch limit there; where rounding puts p_min above p_max at the
/// limit, it is p_max.
#[must_use]
pub fn best_power(instance: &Instance, client: usize, channel: usize, tau: f64) -> PowerChoice {
    let slack_s = instance.slack_s(client, tau);
    let spare_j = instance.net_income_j(client) - instance.queue_j[client];
    let e_target_j = spare_j - instance.work_j(client, tau);
    let p_min_w = least_power(instance, client, channel, slack_s);
    let e_max_j = full_power_energy(instance, client, channel);
    let p_max_w = useful_power(instance, client, channel);
    if instance.rate.modem().is_some() {
        let cheapest = Choices::of(instance, client, channel).cheapest_or_fastest(slack_s);
        let (power_w, e_min_j) =
            cheapest.map_or((p_max_w, e_max_j), |it| (it.power_w, it.energy_j));
        return PowerChoice {
            p_min_w: p_min_w.min(p_max_w),
            p_thrifty_w: power_w,
            e_min_j,
            e_max_j,
            e_target_j,
            power_w,
            case: PowerCase::Min,
        };
    }
    let radio = &instance.costs[client].radio;
    let efficient = Efficient::of(instance, client, channel);
    let (p_min_w, p_thrifty_w, e_min_j) = if efficient.time_s <= slack_s {
        (p_min_w.min(p_max_w), efficient.power_w, efficient.energy_j)
    } else if p_min_w < p_max_w {
        (p_min_w, p_min_w, radio.energy_j(p_min_w, slack_s))
    } else {
        (p_max_w, p_max_w, e_max_j)
    };
    let (power_w, case) = if e_target_j < e_min_j {
        (p_thrifty_w, PowerCase::Min)
    } else if e_target_j > e_max_j {
        (p_max_w, PowerCase::Max)
    } else {
        let exact = power_for(
            radio,
            Joules(e_target_j),
            Gain(instance.gain[client][channel]),
            Bits(instance.model_bits),
            Hertz(instance.bandwidth_hz),
            WattsPerHertz(instance.noise_w_per_hz),
        );
        // Near e_inf a rounding error of the energy is a large one of the power.
        let power = exact.map_or(p_thrifty_w, |w| w.0.clamp(p_thrifty_w, p_max_w));
        (power, PowerCase::Interior)
    };
    PowerChoice {
        p_min_w,
        p_thrifty_w,
        e_min_j,
        e_max_j,
        e_target_j,
        power_w,
        case,
    }
}

//! File format of an [`Instance`]: the fields `inst` of the test vectors, and their checks.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Instance, InstanceError};
use crate::bound::LossBound;
use crate::channel::{RateModel, epoch_energy, epoch_latency};
use crate::costs::Costs;
use crate::units::Hertz;

/// Relative tolerance between given and derived times and energies.
const AGREEMENT: f64 = 1e-9;

/// The record; fields are named after the paper's symbols and carry their unit.
///
/// `T_s` and `E_j` may be left out, for they follow from `b_cycles`, `f_hz` and `alpha`; or those
/// three may, if clients differ in more than their samples. Given both, they must agree. `E_add_j`
/// is one number for all clients or a list; `T_slack_s` is a list, of zeros where it is left out.
/// The costs beside the paper's, `zeta` to `E_stand_j`, are a number or a list each, and the paper's
/// where they are left out. `rate` is a rate model beside Shannon's.
///
/// A record of an [`Instance`] has `T_s` and `E_j`, and of the optional fields only those that differ
/// from the paper's.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Record {
    #[serde(rename = "U")]
    clients: Count,
    #[serde(rename = "C")]
    channels: Count,
    #[serde(rename = "D")]
    samples: Vec<Count>,
    h_up: Vec<Vec<f64>>,
    t_down_s: f64,
    #[serde(rename = "Z_j")]
    z_j: Vec<f64>,
    delta: Vec<f64>,
    rho: f64,
    beta: f64,
    eta: f64,
    #[serde(rename = "B1")]
    b1: f64,
    #[serde(rename = "F_gap")]
    gap: f64,
    #[serde(rename = "V")]
    v: f64,
    energy_unit_j: f64,
    #[serde(rename = "T_max_s")]
    deadline_s: f64,
    ell_bits: f64,
    #[serde(rename = "B_up_hz")]
    bandwidth_hz: f64,
    #[serde(rename = "N0_w_per_hz")]
    noise_w_per_hz: f64,
    p_max_w: f64,
    #[serde(default, skip_serializing_if = "Given::is_none")]
    rate: Given<RateModel>,
    #[serde(rename = "E_add_j")]
    income_j: Each,
    #[serde(rename = "T_slack_s", default, skip_serializing_if = "Given::is_none")]
    reserve_s: Given<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Given::is_none")]
    zeta: Given<Each>,
    #[serde(rename = "P_c_w", default, skip_serializing_if = "Given::is_none")]
    circuit_w: Given<Each>,
    #[serde(rename = "E_upload_j", default, skip_serializing_if = "Given::is_none")]
    per_upload_j: Given<Each>,
    #[serde(rename = "T_order_s", default, skip_serializing_if = "Given::is_none")]
    order_s: Given<Each>,
    #[serde(rename = "E_order_j", default, skip_serializing_if = "Given::is_none")]
    order_j: Given<Each>,
    #[serde(rename = "E_stand_j", default, skip_serializing_if = "Given::is_none")]
    standing_j: Given<Each>,
    #[serde(default, skip_serializing_if = "Given::is_none")]
    b_cycles: Given<f64>,
    #[serde(default, skip_serializing_if = "Given::is_none")]
    f_hz: Given<f64>,
    #[serde(default, skip_serializing_if = "Given::is_none")]
    alpha: Given<f64>,
    #[serde(rename = "T_s", default, skip_serializing_if = "Given::is_none")]
    epoch_s: Given<Vec<f64>>,
    #[serde(rename = "E_j", default, skip_serializing_if = "Given::is_none")]
    epoch_j: Given<Vec<f64>>,
}

/// A field that may be left out, but not be null.
#[derive(Serialize)]
#[serde(transparent)]
struct Given<T>(Option<T>);

impl<T> Given<T> {
    const fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(|value| Self(Some(value)))
    }
}

/// One number for every client, or a list of one each.
#[derive(Deserialize, Serialize)]
#[serde(untagged, expecting = "a number, or a list of one for each client")]
enum Each {
    Alike(f64),
    Unlike(Vec<f64>),
}

impl Each {
    /// Returns one number if all clients have the same.
    fn from(values: Vec<f64>) -> Self {
        match values.first() {
            Some(&first) if values.iter().all(|value| *value == first) => Self::Alike(first),
            _ => Self::Unlike(values),
        }
    }

    fn of(self, clients: usize) -> Vec<f64> {
        match self {
            Self::Alike(value) => vec![value; clients],
            Self::Unlike(values) => values,
        }
    }

    /// Sets the value of every client, if the record has any.
    fn spread(
        field: &str,
        given: Option<&Self>,
        costs: &mut [Costs],
        set: impl Fn(&mut Costs, f64),
    ) -> Result<(), InstanceError> {
        match given {
            None => {}
            Some(Self::Alike(value)) => costs.iter_mut().for_each(|it| set(it, *value)),
            Some(Self::Unlike(values)) if values.len() == costs.len() => {
                let each = costs.iter_mut().zip(values);
                each.for_each(|(it, value)| set(it, *value));
            }
            Some(Self::Unlike(values)) => {
                let value = format!("{} entries", values.len());
                let problem = format!("U is {}", costs.len());
                return Err(InstanceError::new(field, value, &problem));
            }
        }
        Ok(())
    }
}

/// A whole number, which may also be written as `8.0`.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "f64")]
struct Count(u32);

impl TryFrom<f64> for Count {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        let whole = number.fract() == 0.0 && (0.0..4_294_967_296.0).contains(&number);
        match whole {
            true => Ok(Self(number as u32)),
            false => Err("expected a whole number, 0 or more"),
        }
    }
}

fn missing(field: &str) -> InstanceError {
    let problem = "give T_s and E_j, or b_cycles, f_hz and alpha, or all of them";
    InstanceError::new(field, "missing", problem)
}

impl TryFrom<Record> for Instance {
    type Error = InstanceError;

    fn try_from(record: Record) -> Result<Self, InstanceError> {
        let samples: Vec<u32> = record.samples.iter().map(|count| count.0).collect();
        let (epoch_s, epoch_j) = record.epoch_costs(&samples)?;
        let clients = record.clients.0 as usize;
        let everybody = samples.len();
        let costs = record.costs(everybody)?;
        let instance = Self {
            channels: record.channels.0 as usize,
            samples,
            gain: record.h_up,
            downlink_s: record.t_down_s,
            queue_j: record.z_j,
            delta: record.delta,
            epoch_s,
            epoch_j,
            bound: LossBound {
                rho: record.rho,
                beta: record.beta,
                eta: record.eta,
                b1: record.b1,
                gap: record.gap,
            },
            v: record.v,
            energy_unit_j: record.energy_unit_j,
            deadline_s: record.deadline_s,
            model_bits: record.ell_bits,
            bandwidth_hz: record.bandwidth_hz,
            noise_w_per_hz: record.noise_w_per_hz,
            power_max_w: record.p_max_w,
            rate: record.rate.0.unwrap_or_default(),
            income_j: record.income_j.of(everybody),
            reserve_s: record.reserve_s.0.unwrap_or_else(|| vec![0.0; everybody]),
            costs,
        };
        if instance.clients() != clients {
            let problem = format!("D has {} entries", instance.clients());
            return Err(InstanceError::new("U", clients, &problem));
        }
        instance.validate().map(|()| instance)
    }
}

impl From<Instance> for Record {
    fn from(instance: Instance) -> Self {
        let bound = instance.bound;
        let cost = |of: fn(&Costs) -> f64| {
            let values: Vec<f64> = instance.costs.iter().map(of).collect();
            let usual = of(&Costs::PAPER);
            let is_usual = values.iter().all(|value| *value == usual);
            Given((!is_usual).then(|| Each::from(values)))
        };
        let has_reserve = instance.reserve_s.iter().any(|reserve_s| *reserve_s != 0.0);
        Self {
            clients: Count(instance.samples.len() as u32),
            channels: Count(instance.channels as u32),
            samples: instance.samples.iter().copied().map(Count).collect(),
            zeta: cost(|it| it.radio.efficiency),
            circuit_w: cost(|it| it.radio.circuit_w),
            per_upload_j: cost(|it| it.radio.per_upload_j),
            order_s: cost(|it| it.order_s),
            order_j: cost(|it| it.order_j),
            standing_j: cost(|it| it.standing_j),
            h_up: instance.gain,
            t_down_s: instance.downlink_s,
            z_j: instance.queue_j,
            delta: instance.delta,
            rho: bound.rho,
            beta: bound.beta,
            eta: bound.eta,
            b1: bound.b1,
            gap: bound.gap,
            v: instance.v,
            energy_unit_j: instance.energy_unit_j,
            deadline_s: instance.deadline_s,
            ell_bits: instance.model_bits,
            bandwidth_hz: instance.bandwidth_hz,
            noise_w_per_hz: instance.noise_w_per_hz,
            p_max_w: instance.power_max_w,
            rate: Given((instance.rate != RateModel::Shannon).then_some(instance.rate)),
            income_j: Each::from(instance.income_j),
            reserve_s: Given(has_reserve.then_some(instance.reserve_s)),
            b_cycles: Given(None),
            f_hz: Given(None),
            alpha: Given(None),
            epoch_s: Given(Some(instance.epoch_s)),
            epoch_j: Given(Some(instance.epoch_j)),
        }
    }
}

impl Record {
    /// Returns the costs of every client beside epochs and radiated energy.
    fn costs(&self, clients: usize) -> Result<Vec<Costs>, InstanceError> {
        let mut costs = vec![Costs::PAPER; clients];
        let mut spread = |field, given: &Given<Each>, set: fn(&mut Costs, f64)| {
            Each::spread(field, given.0.as_ref(), &mut costs, set)
        };
        spread("zeta", &self.zeta, |it, zeta| it.radio.efficiency = zeta)?;
        spread("P_c_w", &self.circuit_w, |it, w| it.radio.circuit_w = w)?;
        spread("E_upload_j", &self.per_upload_j, |it, j| {
            it.radio.per_upload_j = j;
        })?;
        spread("T_order_s", &self.order_s, |it, s| it.order_s = s)?;
        spread("E_order_j", &self.order_j, |it, j| it.order_j = j)?;
        spread("E_stand_j", &self.standing_j, |it, j| it.standing_j = j)?;
        Ok(costs)
    }

    /// Returns time and energy of an epoch at every client.
    fn epoch_costs(&self, samples: &[u32]) -> Result<(Vec<f64>, Vec<f64>), InstanceError> {
        if self.b_cycles.is_none() && self.f_hz.is_none() && self.alpha.is_none() {
            let times = self.epoch_s.0.clone().ok_or_else(|| missing("T_s"))?;
            let energies = self.epoch_j.0.clone().ok_or_else(|| missing("E_j"))?;
            return Ok((times, energies));
        }
        let cycles = above_zero("b_cycles", self.b_cycles.0)?;
        let clock = Hertz(above_zero("f_hz", self.f_hz.0)?);
        let alpha = above_zero("alpha", self.alpha.0)?;
        let times: Vec<f64> = samples
            .iter()
            .map(|&d| epoch_latency(cycles, d, clock).0)
            .collect();
        let energies: Vec<f64> = samples
            .iter()
            .map(|&d| epoch_energy(alpha, clock, cycles, d).0)
            .collect();
        if !self.epoch_s.is_none() || !self.epoch_j.is_none() {
            agree("T_s", self.epoch_s.0.as_deref(), &times)?;
            agree("E_j", self.epoch_j.0.as_deref(), &energies)?;
        }
        Ok((times, energies))
    }
}

fn above_zero(field: &'static str, value: Option<f64>) -> Result<f64, InstanceError> {
    let value = value.ok_or_else(|| missing(field))?;
    super::validate::positive(field, value)?;
    Ok(value)
}

/// Compares given values with those derived from the device.
fn agree(field: &'static str, given: Option<&[f64]>, derived: &[f64]) -> Result<(), InstanceError> {
    let given = given.ok_or_else(|| missing(field))?;
    if given.len() != derived.len() {
        let value = format!("{} entries", given.len());
        let problem = format!("D has {}", derived.len());
        return Err(InstanceError::new(field, value, &problem));
    }
    for (at, (given, derived)) in given.iter().zip(derived).enumerate() {
        if (given - derived).abs() > AGREEMENT * derived.abs() {
            let problem = format!("b_cycles, f_hz, alpha and D give {derived}");
            return Err(InstanceError::new(
                format!("{field}[{at}]"),
                given,
                &problem,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::RadioCost;
    use serde_json::{Value, json};

    /// Two clients on one channel, with the device they have in common.
    fn record() -> Value {
        json!({
            "U": 2, "C": 1, "D": [1000, 500.0], "h_up": [[1e-3], [1e-4]], "t_down_s": 1e-3,
            "Z_j": [0, 1e-3], "delta": [0.2, 0.3], "rho": 1, "beta": 10, "eta": 0.01, "B1": 0.3,
            "F_gap": 1, "V": 1e-3, "energy_unit_j": 1, "T_max_s": 0.01, "ell_bits": 318080,
            "B_up_hz": 1e6, "N0_w_per_hz": 4e-21, "p_max_w": 0.2, "E_add_j": 4e-4,
            "b_cycles": 100, "f_hz": 5e8, "alpha": 1e-26,
        })
    }

    fn read(record: &Value) -> Result<Instance, String> {
        Instance::deserialize(record).map_err(|error| error.to_string())
    }

    #[test]
    fn times_and_energies_follow_from_the_device_or_are_given() {
        let derived = read(&record()).unwrap();
        assert_eq!(derived.samples, [1000, 500]);
        assert_eq!(derived.epoch_s, [2e-4, 1e-4]);

        let mut given = record();
        for field in ["b_cycles", "f_hz", "alpha"] {
            given.as_object_mut().unwrap().remove(field);
        }
        assert!(read(&given).unwrap_err().starts_with("T_s = missing: "));
        given["T_s"] = json!(derived.epoch_s);
        assert!(read(&given).unwrap_err().starts_with("E_j = missing: "));
        given["E_j"] = json!(derived.epoch_j);
        assert_eq!(read(&given).unwrap(), derived);
    }

    #[test]
    fn a_written_instance_is_read_back_bit_for_bit() {
        let mut instance = read(&record()).unwrap();
        instance.bound.gap = 0.1 + 0.2;
        instance.gain = vec![vec![1.0 / 3.0], vec![5e-324]];
        instance.income_j = vec![4e-4, 0.0];
        instance.reserve_s = vec![0.0, 2e-3];
        let text = serde_json::to_string(&instance).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read(&value).unwrap(), instance);
        assert!(!text.contains("zeta"), "the paper's costs are left out");
    }

    #[test]
    fn incomes_and_reserves_are_a_number_or_a_list() {
        let alike = read(&record()).unwrap();
        assert_eq!(alike.income_j, [4e-4, 4e-4]);
        assert_eq!(alike.reserve_s, [0.0, 0.0]);

        let mut unlike = record();
        unlike["E_add_j"] = json!([4e-4, 0]);
        unlike["T_slack_s"] = json!([0, 2e-3]);
        let found = read(&unlike).unwrap();
        assert_eq!(found.income_j, [4e-4, 0.0]);
        assert_eq!(found.deadline_of(1), 0.01 - 2e-3);

        for (field, value, said) in [
            ("E_add_j", json!([4e-4]), "E_add_j = 1 entries: U is 2"),
            (
                "E_add_j",
                json!([4e-4, -1]),
                "E_add_j[1] = -1: must be a finite",
            ),
            (
                "E_add_j",
                json!("much"),
                "a number, or a list of one for each",
            ),
            ("T_slack_s", json!([0]), "T_slack_s = 1 entries: U is 2"),
            (
                "T_slack_s",
                json!([0, -1]),
                "T_slack_s[1] = -1: must be a finite",
            ),
            (
                "T_slack_s",
                json!([0.01, 0]),
                "T_slack_s[0] = 0.01: must be below T_max_s = 0.01",
            ),
        ] {
            let mut bad = unlike.clone();
            bad[field] = value;
            let error = read(&bad).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn additional_costs_are_a_number_or_a_list_and_checked() {
        let plain = read(&record()).unwrap();
        assert_eq!(plain.costs, [Costs::PAPER; 2]);
        let mut full = record();
        full["zeta"] = json!(0.3);
        full["P_c_w"] = json!([0.01, 0]);
        full["E_upload_j"] = json!(1e-6);
        full["T_order_s"] = json!([0, 1e-3]);
        full["E_order_j"] = json!(2e-6);
        full["E_stand_j"] = json!([1e-3, 0]);
        let found = read(&full).unwrap();
        let expected = Costs {
            radio: RadioCost {
                efficiency: 0.3,
                circuit_w: 0.01,
                per_upload_j: 1e-6,
            },
            order_s: 0.0,
            order_j: 2e-6,
            standing_j: 1e-3,
        };
        assert_eq!(found.costs[0], expected);
        assert!(found.net_income_j(0) < 0.0, "the standing costs exceed it");
        assert_eq!(
            read(&json!(found)).unwrap(),
            found,
            "written and read again"
        );
        assert_eq!(found.slack_s(1, 0.0), 0.01 - 2e-3);
        assert_eq!(found.work_j(1, 2.0), 2.0 * found.epoch_j[1] + 2e-6);

        for (field, value, said) in [
            ("zeta", json!(0), "zeta[0] = 0: must be above 0"),
            ("zeta", json!([1, 1.1]), "zeta[1] = 1.1: must be above 0"),
            ("zeta", json!([1]), "zeta = 1 entries: U is 2"),
            ("zeta", json!("good"), "a number, or a list of one for each"),
            ("zeta", Value::Null, "a number, or a list of one for each"),
            ("P_c_w", json!(-1), "P_c_w[0] = -1: must be a finite"),
            ("E_upload_j", json!([0, -1]), "E_upload_j[1] = -1: must be"),
            ("T_order_s", json!([0, -1]), "T_order_s[1] = -1: must be"),
            ("E_order_j", json!(-1), "E_order_j[0] = -1: must be"),
            ("E_stand_j", json!([]), "E_stand_j = 0 entries: U is 2"),
        ] {
            let mut bad = full.clone();
            bad[field] = value;
            let error = read(&bad).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        for not_a_number in [f64::NAN, f64::INFINITY] {
            let mut bad = found.clone();
            bad.costs[1].radio.efficiency = not_a_number;
            let said = bad.validate().unwrap_err().to_string();
            assert!(said.starts_with("zeta[1]"), "{said}");
            let mut bad = found.clone();
            bad.costs[1].standing_j = not_a_number;
            let said = bad.validate().unwrap_err().to_string();
            assert!(said.starts_with("E_stand_j[1]"), "{said}");
        }
    }

    #[test]
    fn given_and_derived_costs_must_agree() {
        let mut both = record();
        both["T_s"] = json!([2e-4, 1e-4 * (1.0 + 1e-10)]);
        both["E_j"] = json!([2.5e-4, 1.25e-4]);
        read(&both).unwrap();
        both["T_s"] = json!([2e-4, 1.1e-4]);
        assert_eq!(
            read(&both).unwrap_err(),
            "T_s[1] = 0.00011: b_cycles, f_hz, alpha and D give 0.0001"
        );
        both["T_s"] = json!([2e-4]);
        assert_eq!(read(&both).unwrap_err(), "T_s = 1 entries: D has 2");
    }

    #[test]
    fn incomplete_devices_and_invalid_values_are_rejected() {
        let mut half = record();
        half.as_object_mut().unwrap().remove("f_hz");
        assert!(read(&half).unwrap_err().starts_with("f_hz = missing: "));
        let mut none = record();
        none["alpha"] = json!(0);
        let error = read(&none).unwrap_err();
        assert_eq!(error, "alpha = 0: must be a finite number above 0");
        let mut weak = record();
        weak["h_up"] = json!([[1e-3], [-1]]);
        let error = read(&weak).unwrap_err();
        assert_eq!(error, "h_up[1][0] = -1: must be a finite number above 0");
        let mut part = record();
        part["D"] = json!([1000, 0.5]);
        let error = read(&part).unwrap_err();
        assert_eq!(error, "expected a whole number, 0 or more");
        let mut empty = record();
        empty["T_s"] = Value::Null;
        assert!(read(&empty).unwrap_err().starts_with("invalid type: null"));
    }
}

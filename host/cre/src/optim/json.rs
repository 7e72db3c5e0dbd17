//! Instances as files: the record `inst` of the test vectors, or a case that wraps one.

use std::path::Path;

use serde_json::Value;

use super::{Instance, InstanceError};
use crate::bound::LossBound;
use crate::channel::{epoch_energy, epoch_latency};
use crate::json::{Fields, JsonError, read};
use crate::units::Hertz;

/// An instance from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// File and position in it.
    pub place: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The instance.
    pub instance: Instance,
    /// Does the case say what answer it expects? A test vector does.
    pub is_vector: bool,
}

/// What a case may say about its expected answer; `solve` does not look at it.
const EXPECTED: [&str; 7] = [
    "J", "tau", "assign", "p_w", "J_nobody", "J_second", "unique",
];

/// Derived times and energies may differ from the given ones by rounding only.
const AGREEMENT: f64 = 1e-9;

/// What a file of instances holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Cases {
    /// One instance or case.
    One(Box<Case>),
    /// A list of them.
    List(Vec<Case>),
}

impl Cases {
    /// Returns all cases.
    #[must_use]
    pub fn as_slice(&self) -> &[Case] {
        match self {
            Self::One(case) => std::slice::from_ref(case),
            Self::List(cases) => cases,
        }
    }
}

/// Reads one instance or case, or a list of them.
///
/// # Errors
/// Names file, position, field and value.
pub fn read_cases(path: &Path) -> Result<Cases, JsonError> {
    let place = path.display().to_string();
    match read(path)? {
        Value::Array(cases) => {
            let numbered = cases.into_iter().enumerate();
            let parsed = numbered.map(|(at, case)| parse_case(format!("{place}[{at}]"), case));
            Ok(Cases::List(parsed.collect::<Result<_, _>>()?))
        }
        single => Ok(Cases::One(Box::new(parse_case(place, single)?))),
    }
}

fn parse_case(place: String, value: Value) -> Result<Case, JsonError> {
    let mut fields = Fields::open(&place, value)?;
    if !fields.has("inst") {
        let instance = parse_instance(fields)?;
        return Ok(Case {
            place,
            name: None,
            instance,
            is_vector: false,
        });
    }
    let name = if fields.has("name") {
        Some(fields.text("name")?)
    } else {
        None
    };
    let instance = parse_instance(fields.object("inst")?)?;
    let is_vector = fields.has("J");
    EXPECTED.iter().for_each(|key| fields.skip(key));
    fields.finish()?;
    Ok(Case {
        place,
        name,
        instance,
        is_vector,
    })
}

/// Reads the record `inst` and checks it.
///
/// `T_s` and `E_j` may be left out, for they follow from `b_cycles`, `f_hz` and `alpha`; or those
/// three may, if clients differ in more than their samples. Given both, they must agree.
///
/// # Errors
/// Names the field that is missing, unknown, malformed or impossible.
pub fn parse_instance(mut fields: Fields) -> Result<Instance, JsonError> {
    let f = &mut fields;
    let (clients, channels) = (f.count("U")? as usize, f.count("C")? as usize);
    let samples = f.counts("D")?;
    let (epoch_s, epoch_j) = epoch_costs(f, &samples)?;
    let instance = Instance {
        channels,
        gain: f.matrix("h_up")?,
        downlink_s: f.number("t_down_s")?,
        queue_j: f.numbers("Z_j")?,
        delta: f.numbers("delta")?,
        epoch_s,
        epoch_j,
        bound: LossBound {
            rho: f.number("rho")?,
            beta: f.number("beta")?,
            eta: f.number("eta")?,
            b1: f.number("B1")?,
            gap: f.number("F_gap")?,
        },
        v: f.number("V")?,
        energy_unit_j: f.number("energy_unit_j")?,
        deadline_s: f.number("T_max_s")?,
        model_bits: f.number("ell_bits")?,
        bandwidth_hz: f.number("B_up_hz")?,
        noise_w_per_hz: f.number("N0_w_per_hz")?,
        power_max_w: f.number("p_max_w")?,
        income_j: f.number("E_add_j")?,
        samples,
    };
    let place = fields.place().to_owned();
    fields.finish()?;
    let fail = |error: InstanceError| JsonError::new(&place, error.to_string());
    if instance.clients() != clients {
        let problem = format!("D has {} entries", instance.clients());
        return Err(fail(InstanceError::new("U", clients, &problem)));
    }
    instance.validate().map_err(fail)?;
    Ok(instance)
}

fn epoch_costs(fields: &mut Fields, samples: &[u32]) -> Result<(Vec<f64>, Vec<f64>), JsonError> {
    let device = ["b_cycles", "f_hz", "alpha"]
        .iter()
        .any(|key| fields.has(key));
    let given = fields.has("T_s") || fields.has("E_j");
    if !device {
        return Ok((fields.numbers("T_s")?, fields.numbers("E_j")?));
    }
    let mut positive = |key: &str| {
        let value = fields.number(key)?;
        if value > 0.0 {
            return Ok(value);
        }
        let problem = format!("{key} = {value}: must be a finite number above 0");
        Err(JsonError::new(fields.place(), problem))
    };
    let (cycles, clock) = (positive("b_cycles")?, Hertz(positive("f_hz")?));
    let alpha = positive("alpha")?;
    let times = samples
        .iter()
        .map(|&d| epoch_latency(cycles, d, clock).0)
        .collect::<Vec<_>>();
    let energies: Vec<f64> = samples
        .iter()
        .map(|&d| epoch_energy(alpha, clock, cycles, d).0)
        .collect();
    if given {
        agree(fields, "T_s", &times)?;
        agree(fields, "E_j", &energies)?;
    }
    Ok((times, energies))
}

fn agree(fields: &mut Fields, key: &str, derived: &[f64]) -> Result<(), JsonError> {
    let given = fields.numbers(key)?;
    let differs = |at: &usize| (given[*at] - derived[*at]).abs() > AGREEMENT * derived[*at].abs();
    if given.len() != derived.len() {
        let problem = format!("{key} has {} entries, D has {}", given.len(), derived.len());
        return Err(JsonError::new(fields.place(), problem));
    }
    match (0..given.len()).find(differs) {
        None => Ok(()),
        Some(at) => Err(JsonError::new(
            fields.place(),
            format!(
                "{key}[{at}] = {}: b_cycles, f_hz, alpha and D give {}",
                given[at], derived[at]
            ),
        )),
    }
}

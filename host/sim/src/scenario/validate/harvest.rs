//! Harvests and stores that cannot be, each refused with the way out.

use gleaner_energy::harvest::Source;

use super::require;
use crate::scenario::class::place;
use crate::scenario::{ClientDevice, Harvest, Scenario, ScenarioError};

/// Room for rounding where powers are compared that were computed.
const ROUNDING: f64 = 1e-9;

/// Most rounds of all clients together whose income is drawn before the first one.
const MOST_DRAWS: usize = 1_000_000_000;

/// Checks the time between rounds, the source, the store, and every device's powers against each
/// other.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    let (harvest, deadline_s) = (&s.harvest, s.device.deadline_s);
    let period_s = harvest.period_s;
    require(
        period_s == 0.0 || period_s >= deadline_s,
        "harvest.period_s",
        period_s,
        || {
            format!(
                "a round begins after the last has ended; use at least device.deadline_s = \
                 {deadline_s}, or 0 for just that"
            )
        },
    )?;
    let drawn = matches!(harvest.source, Source::Bernoulli | Source::Markov);
    let (clients, rounds) = (s.clients.count, s.run.rounds);
    let draws = clients.saturating_mul(rounds);
    require(!drawn || draws <= MOST_DRAWS, "run.rounds", rounds, || {
        let source = harvest.source;
        format!(
            "times clients.count = {clients} must be at most {MOST_DRAWS} where harvest.source = \
             \"{source}\""
        )
    })?;
    check_file(harvest)?;
    check_store(harvest)?;
    for device in s.devices() {
        check_powers(&device)?;
    }
    Ok(())
}

fn check_file(harvest: &Harvest) -> Result<(), ScenarioError> {
    let Harvest { source, file, .. } = harvest;
    let needed = source.has_file();
    require(!needed || !file.is_empty(), "harvest.file", "\"\"", || {
        format!("harvest.source = \"{source}\" needs a file, or builtin:NAME")
    })?;
    require(needed || file.is_empty(), "harvest.file", file, || {
        format!(
            "harvest.source = \"{source}\" reads no file; set harvest.source = \"trace\" or \
             \"solar\", or leave the file out"
        )
    })
}

fn check_store(harvest: &Harvest) -> Result<(), ScenarioError> {
    let Harvest {
        storage_j,
        stored_j,
        capacitor_f,
        min_v,
        max_v,
        leakage_w,
        charge_efficiency,
        ..
    } = *harvest;
    let capacitor = capacitor_f > 0.0;
    require(
        !(capacitor && storage_j > 0.0),
        "harvest.storage_j",
        storage_j,
        || {
            format!(
                "harvest.capacitor_f = {capacitor_f} says what the store holds; keep one of the two"
            )
        },
    )?;
    require(!capacitor || max_v > min_v, "harvest.max_v", max_v, || {
        format!("must be above harvest.min_v = {min_v}, or the capacitor gives nothing")
    })?;
    let capacity_j = harvest
        .store()
        .map_or(0.0, |store| store.capacity.as_joules());
    require(
        !capacitor || capacity_j > 0.0,
        "harvest.capacitor_f",
        capacitor_f,
        || "is less than a microfarad, which holds nothing; raise it".to_owned(),
    )?;
    require(
        capacity_j <= 1e6,
        "harvest.capacitor_f",
        capacitor_f,
        || format!("holds {capacity_j} J; ledgers count up to 1e6 J, so lower it or max_v"),
    )?;
    require(
        stored_j <= capacity_j,
        "harvest.stored_j",
        stored_j,
        || match capacity_j {
            0.0 => "there is no store; set harvest.storage_j".to_owned(),
            _ => format!("the store holds {capacity_j} J at most"),
        },
    )?;
    let restart_j = harvest.restart_j;
    require(
        restart_j == 0.0 || restart_j < capacity_j,
        "harvest.restart_j",
        restart_j,
        || match capacity_j {
            0.0 => "there is no store; set harvest.storage_j".to_owned(),
            _ => format!(
                "a store of {capacity_j} J never reaches it, and a client that browned out would stay \
                 off; lower it"
            ),
        },
    )?;
    let lossless = leakage_w == 0.0 && charge_efficiency == 1.0;
    require(
        capacity_j > 0.0 || lossless,
        "harvest.leakage_w",
        leakage_w,
        || {
            format!(
                "leakage and harvest.charge_efficiency = {charge_efficiency} are those of a store; \
                 set harvest.storage_j"
            )
        },
    )
}

/// A device that computes or sends is awake, and one that is awake draws no less than one that
/// sleeps: the plan of a round subtracts what sleeping would have cost.
fn check_powers(device: &ClientDevice) -> Result<(), ScenarioError> {
    let key = |name: &str| match device.class {
        Some(at) => format!("{}.{name}", place(at)),
        None => format!("device.{name}"),
    };
    let costs = &device.costs;
    let (idle_w, sleep_w) = (costs.idle_w, costs.sleep_w);
    require(sleep_w <= idle_w, key("sleep_w"), sleep_w, || {
        format!("is more than waiting awake, idle_w = {idle_w}; lower it, or raise idle_w")
    })?;
    require(
        costs.circuit_w >= sleep_w * (1.0 - ROUNDING),
        key("circuit_w"),
        costs.circuit_w,
        || format!("a client that sends is awake: set it to at least sleep_w = {sleep_w}"),
    )?;
    let active_w = device.energy_coefficient * device.frequency_hz.powi(3);
    require(active_w > idle_w, key("idle_w"), idle_w, || {
        format!(
            "is not less than computing draws, energy_coefficient times frequency_hz^3 = \
                 {active_w} W; lower it"
        )
    })
}

//! Messages between the base station and a scheduler program: one JSON
//! object per line, `docs/guide/schedulers.md` is its text and `docs/examples/schedulers/schema.json` its
//! schema.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::policy::View;
use crate::policy::baseline::epochs_at_full_power;
use gleaner_cre::channel::{BitRate, Cap, Level, RateModel};
use gleaner_cre::optim::power::least_power;

/// Version of the protocol.
pub const VERSION: u32 = 2;

/// The first message to a program: the settings of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Seed of the run.
    pub seed: u64,
    /// Rounds of the run.
    pub rounds: usize,
    /// Number of clients U.
    pub clients: usize,
    /// Number of uplink channels C.
    pub channels: usize,
}

/// The first line to the program.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "hello")]
pub(super) struct Hello {
    version: u32,
    gleaner: &'static str,
    seed: u64,
    rounds: usize,
    clients: usize,
    channels: usize,
}

impl From<Facts> for Hello {
    fn from(facts: Facts) -> Self {
        Self {
            version: VERSION,
            gleaner: env!("CARGO_PKG_VERSION"),
            seed: facts.seed,
            rounds: facts.rounds,
            clients: facts.clients,
            channels: facts.channels,
        }
    }
}

/// The program's answer to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Greeting {
    pub(super) version: u32,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) wants: Vec<Want>,
    #[serde(default)]
    pub(super) aggregation: Averaging,
}

/// Values that are sent on request, because computing them takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Want {
    GradientNorms,
    Estimates,
}

/// The rule of aggregation that `aggregation.rule = "auto"` means for the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Averaging {
    #[default]
    Mean,
    Nova,
}

/// A round as the program sees it. Lists are in the order of clients, `gain` and what is feasible
/// are lists of lists, `[client][channel]`.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "decide")]
pub(super) struct Request<'a> {
    version: u32,
    round: u32,
    seed: u64,
    state: &'a str,
    clients: usize,
    channels: usize,
    deadline_s: f64,
    downlink_s: f64,
    model_bits: f64,
    bandwidth_hz: f64,
    noise_w_per_hz: f64,
    power_max_w: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Rates<'a>>,
    gain: &'a [Vec<f64>],
    samples: &'a [u32],
    epoch_s: &'a [f64],
    epoch_j: &'a [f64],
    reserve_s: &'a [f64],
    order_s: Vec<f64>,
    order_j: Vec<f64>,
    standing_j: Vec<f64>,
    amplifier_efficiency: Vec<f64>,
    circuit_w: Vec<f64>,
    upload_j: Vec<f64>,
    queue_j: &'a [f64],
    income_j: &'a [f64],
    spendable_j: Vec<f64>,
    age: Vec<f64>,
    feasible: Feasible,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_norm: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimates: Option<Estimates<'a>>,
}

/// The rate model of the radio, unless it is Shannon's.
#[derive(Debug, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
enum Rates<'a> {
    Capped(&'a Cap),
    Gfsk {
        levels: &'a [Level],
        bit_rates: &'a [BitRate],
        margin: f64,
    },
}

impl<'a> Rates<'a> {
    fn of(model: &'a RateModel) -> Option<Self> {
        match model {
            RateModel::Shannon => None,
            RateModel::Capped(cap) => Some(Self::Capped(cap)),
            RateModel::Gfsk(modem) => Some(Self::Gfsk {
                levels: &modem.levels,
                bit_rates: &modem.rates,
                margin: modem.margin,
            }),
        }
    }
}

/// Limits of a client on a channel.
#[derive(Debug, Serialize)]
struct Feasible {
    /// Most epochs that fit before the deadline at full power; 0 where none does.
    epochs_max: Vec<Vec<u32>>,
    /// Least power with which one epoch meets the deadline; null where none does.
    power_min_w: Vec<Vec<Option<f64>>>,
}

/// Estimates of the base station.
#[derive(Debug, Serialize)]
struct Estimates<'a> {
    rho: f64,
    beta: f64,
    gap: f64,
    delta: &'a [f64],
}

impl<'a> Request<'a> {
    pub(super) fn of(view: &View<'a>, state: &'a str, wants: &[Want]) -> Self {
        let instance = view.instance;
        let costs = |figure: fn(&gleaner_cre::costs::Costs) -> f64| {
            instance.costs.iter().map(figure).collect::<Vec<f64>>()
        };
        let budgets = view.budgets.iter();
        let attendance = view.attendance.iter();
        Self {
            version: VERSION,
            round: view.round,
            seed: view.seed,
            state,
            clients: instance.clients(),
            channels: instance.channels,
            deadline_s: instance.deadline_s,
            downlink_s: instance.downlink_s,
            model_bits: instance.model_bits,
            bandwidth_hz: instance.bandwidth_hz,
            noise_w_per_hz: instance.noise_w_per_hz,
            power_max_w: instance.power_max_w,
            rate: Rates::of(&instance.rate),
            gain: &instance.gain,
            samples: &instance.samples,
            epoch_s: &instance.epoch_s,
            epoch_j: &instance.epoch_j,
            reserve_s: &instance.reserve_s,
            order_s: costs(|it| it.order_s),
            order_j: costs(|it| it.order_j),
            standing_j: costs(|it| it.standing_j),
            amplifier_efficiency: costs(|it| it.radio.efficiency),
            circuit_w: costs(|it| it.radio.circuit_w),
            upload_j: costs(|it| it.radio.per_upload_j),
            queue_j: &instance.queue_j,
            income_j: &instance.income_j,
            spendable_j: budgets.map(|budget| budget.spendable_j).collect(),
            age: attendance.map(|it| it.age(view.round)).collect(),
            feasible: Feasible::of(view),
            gradient_norm: wants
                .contains(&Want::GradientNorms)
                .then_some(view.gradient_norms),
            estimates: wants.contains(&Want::Estimates).then_some(Estimates {
                rho: instance.bound.rho,
                beta: instance.bound.beta,
                gap: instance.bound.gap,
                delta: &instance.delta,
            }),
        }
    }
}

impl Feasible {
    fn of(view: &View<'_>) -> Self {
        let instance = view.instance;
        let clients = 0..instance.clients();
        let epochs_max: Vec<Vec<u32>> = clients
            .map(|client| {
                let channels = 0..instance.channels;
                let most = |channel| epochs_at_full_power(instance, client, channel);
                channels.map(most).collect()
            })
            .collect();
        let least = |client: usize, (channel, &most): (usize, &u32)| {
            let slack_s = instance.slack_s(client, 1.0);
            let power_w = least_power(instance, client, channel, slack_s);
            (most > 0).then_some(power_w.min(instance.power_max_w))
        };
        let rows = epochs_max.iter().enumerate();
        let power_min_w = rows
            .map(|(client, row)| row.iter().enumerate().map(|it| least(client, it)).collect())
            .collect();
        Self {
            epochs_max,
            power_min_w,
        }
    }
}

/// The program's answer to a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) round: u32,
    pub(super) orders: Vec<Object<Ordered>>,
    #[serde(default)]
    pub(super) infeasible: Vec<usize>,
    pub(super) state: Option<String>,
    pub(super) note: Option<String>,
}

/// One of its orders.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ordered {
    pub(super) client: usize,
    pub(super) channel: usize,
    pub(super) epochs: u32,
    pub(super) power_w: Option<f64>,
    /// Power level, in place of a power.
    pub(super) level: Option<usize>,
    /// Bit rate; otherwise the fastest that is received.
    pub(super) bit_rate: Option<usize>,
}

/// A record that must be written as a JSON object: serde alone would accept a list of the values.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
    }
}

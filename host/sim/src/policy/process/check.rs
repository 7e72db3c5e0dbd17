//! From a program's line to a decision that keeps the round's constraints, or the field that does
//! not.

use serde::de::DeserializeOwned;

use super::error::ProcessError;
use super::message::{Answer, Greeting, Object, Ordered, VERSION};
use super::text::{around, shown};
use crate::ClientId;
use crate::policy::baseline::epochs_at_full_power;
use crate::policy::{Decision, Order};
use gleaner_cre::optim::epochs::{epoch_limit, whole_epochs};
use gleaner_cre::optim::power::least_power;
use gleaner_cre::optim::{Instance, Upload};

/// Most bytes of a program's state.
pub const STATE_MAX: usize = 1 << 20;

/// Room for rounding above p_max.
const POWER_TOLERANCE: f64 = 1e-9;

/// Reads a line as one JSON object.
pub(super) fn read<T: DeserializeOwned>(line: &[u8]) -> Result<T, ProcessError> {
    let text = std::str::from_utf8(line).map_err(|error| ProcessError::NotText {
        at: error.valid_up_to() + 1,
        line: shown(line),
    })?;
    let malformed = |place: String, error: &serde_json::Error| {
        // Columns count bytes, from 1; the value that is wrong ends there at the latest.
        let excerpt = around(text, error.column().saturating_sub(1));
        let numbers = ["NaN", "Infinity", "nan", "inf"];
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let is_number = error.is_syntax() && numbers.iter().any(|it| excerpt.contains(it));
        ProcessError::Malformed {
            place,
            message: format!("{message} at byte {}", error.column()),
            line: excerpt,
            hint: match is_number {
                true => "; NaN and infinities are no JSON",
                false => "",
            },
        }
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value: Result<Object<T>, _> = serde_path_to_error::deserialize(&mut reader);
    let Object(value) = value.map_err(|error| {
        let path = error.path().to_string();
        let place = match path.as_str() {
            "." | "?" => String::new(),
            path => format!("{path}: "),
        };
        malformed(place, error.inner())
    })?;
    reader
        .end()
        .map_err(|error| malformed(String::new(), &error))?;
    Ok(value)
}

/// Checks a program's answer to the hello.
pub(super) fn greeting(greeting: &Greeting) -> Result<(), ProcessError> {
    if greeting.version != VERSION {
        let fix = format!("this program speaks version {VERSION} (docs/guide/schedulers.md)");
        return Err(ProcessError::value("version", greeting.version, fix));
    }
    let Some(name) = &greeting.name else {
        return Ok(());
    };
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
        let fix = "1 to 40 letters, digits, dashes, dots and underscores are expected";
        return Err(ProcessError::value("name", shown(name.as_bytes()), fix));
    }
    Ok(())
}

/// Checks a program's answer to a request; its orders are put into client order.
pub(super) fn decision(
    instance: &Instance,
    round: u32,
    answer: &Answer,
) -> Result<Decision, ProcessError> {
    if answer.round != round {
        let fix = format!("round {round} was asked for, once");
        return Err(ProcessError::value("round", answer.round, fix));
    }
    if let Some(state) = &answer.state
        && state.len() > STATE_MAX
    {
        let bytes = format!("{} bytes", state.len());
        let fix = format!("at most {STATE_MAX} bytes are kept from round to round");
        return Err(ProcessError::value("state", bytes, fix));
    }
    let mut roll = Roll::of(instance);
    let orders = answer.orders.iter().enumerate();
    let mut orders = orders
        .map(|(at, Object(order))| roll.order(instance, at, order))
        .collect::<Result<Vec<Order>, ProcessError>>()?;
    orders.sort_unstable_by_key(|order| order.client);
    let mut infeasible = answer.infeasible.clone();
    for (at, &client) in infeasible.iter().enumerate() {
        roll.client(&format!("infeasible[{at}]"), client)?;
    }
    infeasible.sort_unstable();
    Ok(Decision {
        orders,
        infeasible: infeasible.into_iter().map(ClientId::at).collect(),
        ..Decision::default()
    })
}

/// Checks orders from the log of a run as if a program had just answered with them.
///
/// # Errors
/// Names the field of an order that cannot be.
pub fn decision_of(
    instance: &Instance,
    round: u32,
    orders: &[Order],
) -> Result<Decision, ProcessError> {
    let rates = instance.rate.modem().map(|modem| &modem.rates[..]);
    let named = |order: &Order| {
        let rates = rates.unwrap_or_default().iter();
        let at = |bps: f64| rates.clone().position(|rate| rate.bps == bps);
        Object(Ordered {
            client: order.client.index(),
            channel: order.channel,
            power_w: Some(order.power_w),
            level: None,
            // A rate that is not in the list is refused by its number.
            bit_rate: (order.bit_rate_bps).map(|bps| at(bps).unwrap_or(usize::MAX)),
            epochs: order.epochs,
        })
    };
    let answer = Answer {
        round,
        orders: orders.iter().map(named).collect(),
        infeasible: Vec::new(),
        state: None,
        note: None,
    };
    decision(instance, round, &answer)
}

/// Clients that the answer has named.
struct Roll {
    clients: Vec<bool>,
    channels: Vec<bool>,
}

impl Roll {
    fn of(instance: &Instance) -> Self {
        Self {
            clients: vec![false; instance.clients()],
            channels: vec![false; instance.channels],
        }
    }

    fn client(&mut self, field: &str, client: usize) -> Result<(), ProcessError> {
        enter(&mut self.clients, field, "client", client)
    }

    fn order(
        &mut self,
        instance: &Instance,
        at: usize,
        order: &Ordered,
    ) -> Result<Order, ProcessError> {
        let &Ordered {
            client,
            channel,
            epochs,
            ..
        } = order;
        let field = |name: &str| format!("orders[{at}].{name}");
        self.client(&field("client"), client)?;
        enter(&mut self.channels, &field("channel"), "channel", channel)?;
        let upload = Upload {
            client,
            channel,
            power_w: power_w(instance, field, order)?,
        };
        if epochs == 0 {
            let fix = format!("leave client {client} out, or order 1 or more");
            return Err(ProcessError::value(field("epochs"), epochs, fix));
        }
        let most = epochs_at_full_power(instance, client, channel);
        if epochs > most {
            let pair = format!("client {client} on channel {channel}");
            let fix = format!("{pair} finishes {most} before the deadline at full power");
            return Err(ProcessError::value(field("epochs"), epochs, fix));
        }
        let bit_rate_bps = match order.bit_rate {
            Some(rate) => Some(bit_rate(
                instance,
                &field("bit_rate"),
                rate,
                &upload,
                epochs,
            )?),
            None => None,
        };
        if bit_rate_bps.is_none() && epochs > whole_epochs(epoch_limit(instance, &upload)) {
            return Err(too_slow(instance, field, order, upload.power_w));
        }
        Ok(Order {
            client: ClientId::at(client),
            channel,
            power_w: upload.power_w,
            epochs,
            bit_rate_bps,
        })
    }
}

/// Returns the power an order names, itself or by its level. A power between two levels is raised to the
/// higher one.
fn power_w(
    instance: &Instance,
    field: impl Fn(&str) -> String,
    order: &Ordered,
) -> Result<f64, ProcessError> {
    let (client, limit_w) = (order.client, instance.power_max_w);
    let levels = instance.rate.modem().map(|modem| &modem.levels[..]);
    let power_w = match (order.power_w, order.level, levels) {
        (Some(power_w), None, _) => power_w,
        (None, Some(level), Some(levels)) => {
            let last = levels.len().saturating_sub(1);
            let named = levels.get(level).ok_or_else(|| {
                let fix = format!("client {client} has levels 0 to {last}");
                ProcessError::value(field("level"), level, fix)
            })?;
            return Ok(named.radiated_w);
        }
        (None, Some(level), None) => {
            let fix = format!(
                "client {client} has no levels, which radio.rate = \"gfsk\" has; name power_w"
            );
            return Err(ProcessError::value(field("level"), level, fix));
        }
        (Some(_), Some(level), _) => {
            let fix = format!("client {client} has a power_w as well; name one of the two");
            return Err(ProcessError::value(field("level"), level, fix));
        }
        (None, None, _) => {
            let fix = format!("client {client} needs a power_w or a level");
            return Err(ProcessError::value(field("power_w"), "missing", fix));
        }
    };
    if !(power_w > 0.0 && power_w <= limit_w * (1.0 + POWER_TOLERANCE)) {
        let fix = format!("client {client} sends with more than 0 and at most {limit_w} W");
        return Err(ProcessError::value(
            field("power_w"),
            format!("{power_w:?}"),
            fix,
        ));
    }
    let sent = instance.rate.modem().and_then(|modem| modem.level(power_w));
    Ok(sent.map_or(power_w.min(limit_w), |level| level.radiated_w))
}

/// Returns the bit rate an order names, in bit/s; it must be received and fast enough.
fn bit_rate(
    instance: &Instance,
    field: &str,
    rate: usize,
    upload: &Upload,
    epochs: u32,
) -> Result<f64, ProcessError> {
    let &Upload {
        client,
        channel,
        power_w,
    } = upload;
    let refuse = |fix: String| Err(ProcessError::value(field, rate, fix));
    let Some(modem) = instance.rate.modem() else {
        return refuse(format!(
            "client {client} has no bit rates, which radio.rate = \"gfsk\" has; leave it out"
        ));
    };
    let Some(named) = modem.rates.get(rate) else {
        let last = modem.rates.len().saturating_sub(1);
        return refuse(format!("client {client} has bit rates 0 to {last}"));
    };
    let (gain, bps) = (instance.gain[client][channel], named.bps);
    if !modem.receives(named, power_w, gain) {
        let fastest_bps = modem.fastest_bps(power_w, gain);
        return refuse(format!(
            "client {client} on channel {channel} is received at {fastest_bps} bit/s at most with \
             {power_w} W, not at {bps}"
        ));
    }
    let slack_s = instance.slack_s(client, f64::from(epochs));
    // As much room for rounding as an epoch limit has.
    if instance.model_bits / bps > slack_s + 1e-9 * instance.epoch_s[client] {
        let least_bps = instance.model_bits / slack_s;
        return refuse(format!(
            "client {client} on channel {channel} needs {least_bps} bit/s to meet the deadline, \
             epochs = {epochs}, and this is {bps}"
        ));
    }
    Ok(bps)
}

/// Says which power an order would need to meet the deadline.
fn too_slow(
    instance: &Instance,
    field: impl Fn(&str) -> String,
    order: &Ordered,
    power_w: f64,
) -> ProcessError {
    let &Ordered {
        client,
        channel,
        epochs,
        ..
    } = order;
    let slack_s = instance.slack_s(client, f64::from(epochs));
    let least_w = least_power(instance, client, channel, slack_s).min(instance.power_max_w);
    let need = format!("client {client} on channel {channel} needs {least_w} W");
    let fix = format!("{need} to meet the deadline, epochs = {epochs}");
    match order.level {
        Some(level) => ProcessError::value(field("level"), level, fix),
        None => ProcessError::value(field("power_w"), format!("{power_w:?}"), fix),
    }
}

/// Notes a client that the answer names; it must exist and be named once.
fn enter(roll: &mut [bool], field: &str, what: &str, who: usize) -> Result<(), ProcessError> {
    let last = roll.len().saturating_sub(1);
    match roll.get_mut(who) {
        Some(seen @ false) => {
            *seen = true;
            Ok(())
        }
        Some(true) => Err(ProcessError::value(
            field,
            who,
            format!("{what} {who} is named twice"),
        )),
        None => Err(ProcessError::value(
            field,
            who,
            format!("there is no {what} {who}; they are 0 to {last}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixture::Round;
    use gleaner_cre::channel::{BitRate, Level, Modem, RateModel};

    /// Two clients on two channels; at a gain of -20 dB level 1 reaches both bit rates, level 0 the
    /// slower one. An upload has 8.8 ms: both bit rates are fast enough for one epoch, the faster one for
    /// more.
    fn instance() -> Instance {
        let mut instance = Round::first(2, 2).instance;
        instance.rate = RateModel::Gfsk(Modem {
            levels: [0.02, 0.2]
                .map(|radiated_w| Level {
                    radiated_w,
                    drawn_w: 0.3,
                })
                .to_vec(),
            rates: [(37e6, 1e-4), (80e6, 1e-3)]
                .map(|(bps, sensitivity_w)| BitRate { bps, sensitivity_w })
                .to_vec(),
            margin: 2.0,
        });
        assert_eq!(instance.validate(), Ok(()));
        instance
    }

    fn decide(instance: &Instance, order: &str) -> Result<Order, String> {
        let line = format!(r#"{{"round":1,"orders":[{{"client":1,"channel":0,{order}}}]}}"#);
        let answer = read(line.as_bytes()).and_then(|answer| decision(instance, 1, &answer));
        let decision = answer.map_err(|error| error.to_string())?;
        Ok(decision.orders[0])
    }

    #[test]
    fn an_order_may_name_a_level_and_a_bit_rate() {
        let instance = instance();
        let order = |text: &str| decide(&instance, text).unwrap();
        let named = order(r#""level":1,"bit_rate":0,"epochs":1"#);
        assert_eq!((named.power_w, named.bit_rate_bps), (0.2, Some(37e6)));
        let fastest = order(r#""level":1,"epochs":9"#);
        assert_eq!((fastest.power_w, fastest.bit_rate_bps), (0.2, None));
        // A power between two levels is sent with the higher one.
        assert_eq!(order(r#""power_w":0.05,"epochs":9"#).power_w, 0.2);
        assert_eq!(order(r#""power_w":0.001,"epochs":1"#).power_w, 0.02);
    }

    #[test]
    fn an_order_from_a_log_is_the_one_that_was_decided_and_one_that_cannot_be_is_refused() {
        let instance = instance();
        for text in [
            r#""level":1,"bit_rate":0,"epochs":1"#,
            r#""power_w":0.05,"epochs":9"#,
        ] {
            let order = decide(&instance, text).unwrap();
            let logged = decision_of(&instance, 7, &[order]).unwrap();
            assert_eq!(logged.orders, [order]);
            for (wrong, field) in [
                (
                    Order {
                        channel: usize::MAX,
                        ..order
                    },
                    "orders[0].channel",
                ),
                (
                    Order {
                        power_w: f64::INFINITY,
                        ..order
                    },
                    "orders[0].power_w",
                ),
                (
                    Order {
                        epochs: u32::MAX,
                        ..order
                    },
                    "orders[0].epochs",
                ),
                (
                    Order {
                        bit_rate_bps: Some(1.0),
                        ..order
                    },
                    "orders[0].bit_rate",
                ),
            ] {
                let refused = decision_of(&instance, 7, &[wrong]).unwrap_err().to_string();
                assert!(refused.starts_with(field), "{refused}");
            }
            assert!(decision_of(&instance, 7, &[order, order]).is_err());
        }
        assert_eq!(decision_of(&instance, 7, &[]).unwrap(), Decision::default());
    }

    #[test]
    fn levels_and_bit_rates_that_cannot_be_are_refused_with_client_and_value() {
        let gfsk = instance();
        let mut shannon = gfsk.clone();
        shannon.rate = RateModel::Shannon;
        for (instance, order, said) in [
            (
                &gfsk,
                r#""level":2,"epochs":1"#,
                "orders[0].level = 2: client 1 has levels 0 to 1",
            ),
            (&gfsk, r#""level":-1,"epochs":1"#, "orders[0].level"),
            (&gfsk, r#""level":0.5,"epochs":1"#, "orders[0].level"),
            (
                &gfsk,
                r#""level":0,"power_w":0.1,"epochs":1"#,
                "orders[0].level = 0: client 1 has a power_w",
            ),
            (
                &gfsk,
                r#""epochs":1"#,
                "orders[0].power_w = missing: client 1 needs",
            ),
            (
                &gfsk,
                r#""level":1,"bit_rate":2,"epochs":1"#,
                "orders[0].bit_rate = 2: client 1 has bit rates 0 to 1",
            ),
            (
                &gfsk,
                r#""level":0,"bit_rate":1,"epochs":1"#,
                "orders[0].bit_rate = 1: client 1 on channel 0 is received at 37000000 bit/s at most",
            ),
            (
                &gfsk,
                r#""level":1,"bit_rate":0,"epochs":9"#,
                "orders[0].bit_rate = 0: client 1 on channel 0 needs",
            ),
            (
                &gfsk,
                r#""level":0,"epochs":9"#,
                "orders[0].level = 0: client 1 on channel 0 needs 0.2 W",
            ),
            (
                &gfsk,
                r#""power_w":0.3,"epochs":1"#,
                "orders[0].power_w = 0.3: client 1 sends with",
            ),
            (
                &shannon,
                r#""level":0,"epochs":1"#,
                "orders[0].level = 0: client 1 has no levels",
            ),
            (
                &shannon,
                r#""power_w":0.2,"bit_rate":0,"epochs":1"#,
                "orders[0].bit_rate = 0: client 1 has no bit rates",
            ),
        ] {
            let error = decide(instance, order).unwrap_err();
            assert!(error.contains(said), "{order}: {error}");
        }
    }
}

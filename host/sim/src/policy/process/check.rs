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
            power_w,
            epochs,
        } = order;
        let field = |name: &str| format!("orders[{at}].{name}");
        self.client(&field("client"), client)?;
        enter(&mut self.channels, &field("channel"), "channel", channel)?;
        let limit_w = instance.power_max_w;
        if !(power_w > 0.0 && power_w <= limit_w * (1.0 + POWER_TOLERANCE)) {
            let fix = format!("client {client} sends with more than 0 and at most {limit_w} W");
            return Err(ProcessError::value(
                field("power_w"),
                format!("{power_w:?}"),
                fix,
            ));
        }
        if epochs == 0 {
            let fix = format!("leave client {client} out, or order 1 or more");
            return Err(ProcessError::value(field("epochs"), epochs, fix));
        }
        let (pair, power_w) = (
            format!("client {client} on channel {channel}"),
            power_w.min(limit_w),
        );
        let most = epochs_at_full_power(instance, client, channel);
        if epochs > most {
            let fix = format!("{pair} finishes {most} before the deadline at full power");
            return Err(ProcessError::value(field("epochs"), epochs, fix));
        }
        let upload = Upload {
            client,
            channel,
            power_w,
        };
        if epochs > whole_epochs(epoch_limit(instance, &upload)) {
            let slack_s = instance.slack_s(client, f64::from(epochs));
            let least_w = least_power(instance, client, channel, slack_s).min(limit_w);
            let fix = format!("{pair} needs {least_w} W to meet the deadline, epochs = {epochs}");
            return Err(ProcessError::value(
                field("power_w"),
                format!("{power_w:?}"),
                fix,
            ));
        }
        Ok(Order {
            client: ClientId::at(client),
            channel,
            power_w,
            epochs,
        })
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

//! Classes that cannot be, each refused with the way out.

use super::require;
use crate::scenario::class::place;
use crate::scenario::devices::counts;
use crate::scenario::{DeviceClass, Scenario, ScenarioError};

/// Room for rounding where shares add up to the whole.
const ROUNDING: f64 = 1e-9;

/// Checks every class by itself, then against the others.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    for (at, class) in s.device.class.iter().enumerate() {
        check_ranges(at, class)?;
        check_members(s, at, class)?;
        check_slack(s, at, class)?;
    }
    check_names(s)?;
    check_lists(s)?;
    check_shares(s)
}

fn check_ranges(at: usize, class: &DeviceClass) -> Result<(), ScenarioError> {
    let table = toml::Table::try_from(class).unwrap_or_default();
    for key in DeviceClass::KEYS {
        let Some(number) = table.get(key.name).and_then(toml::Value::as_float) else {
            continue;
        };
        for range in key.ranges {
            let path = format!("{}.{}", place(at), key.name);
            require(range.contains(number), path, number, || range.demand())?;
        }
    }
    Ok(())
}

/// Checks that a class names its clients once, by list or by share.
fn check_members(s: &Scenario, at: usize, class: &DeviceClass) -> Result<(), ScenarioError> {
    let here = place(at);
    let known = class.share.is_some() || class.clients.is_some();
    let name = class.name.as_deref().unwrap_or("{}");
    require(known, &here, name, || {
        "say who belongs to it: share = 0.5, or clients = [0, 3, 7]".to_owned()
    })?;
    let (share, list) = (class.share.unwrap_or_default(), class.clients.as_deref());
    let twice = class.share.is_some() && list.is_some();
    require(!twice, format!("{here}.share"), share, || {
        "clients says who belongs to the class already; keep one of the two".to_owned()
    })?;
    let clients = list.unwrap_or(&[]);
    let path = format!("{here}.clients");
    require(list != Some(&[]), &path, "[]", || {
        "name a client, as in [0, 3, 7], or leave the class out".to_owned()
    })?;
    for &client in clients {
        let count = s.clients.count;
        require(client < count, &path, client, || {
            format!("clients are numbered from 0 and clients.count = {count}")
        })?;
    }
    Ok(())
}

fn check_slack(s: &Scenario, at: usize, class: &DeviceClass) -> Result<(), ScenarioError> {
    let slack_s = class.deadline_slack_s.unwrap_or_default();
    let path = format!("{}.deadline_slack_s", place(at));
    require(slack_s < s.device.deadline_s, path, slack_s, || {
        format!("must be below device.deadline_s = {}", s.device.deadline_s)
    })
}

fn check_names(s: &Scenario) -> Result<(), ScenarioError> {
    let names: Vec<_> = s.device.class.iter().map(|class| &class.name).collect();
    for (at, name) in names.iter().enumerate() {
        let Some(text) = name else { continue };
        let path = format!("{}.name", place(at));
        require(!text.trim().is_empty(), &path, "\"\"", || {
            "write a name, or leave the key out".to_owned()
        })?;
        let before = names[..at].iter().position(|other| other == name);
        require(before.is_none(), path, text, || {
            let taken = place(before.unwrap_or_default());
            format!("{taken} has this name; choose another")
        })?;
    }
    Ok(())
}

/// A client is in one list, once.
fn check_lists(s: &Scenario) -> Result<(), ScenarioError> {
    let mut class_of: Vec<Option<usize>> = vec![None; s.clients.count];
    for (at, class) in s.device.class.iter().enumerate() {
        for &client in class.clients.iter().flatten() {
            let before = class_of[client].replace(at);
            let path = format!("{}.clients", place(at));
            require(before.is_none(), path, client, || {
                let taken = place(before.unwrap_or_default());
                format!("{taken} has this client; name it once")
            })?;
        }
    }
    Ok(())
}

/// There are as many clients as the shares ask for, and at least one for each.
fn check_shares(s: &Scenario) -> Result<(), ScenarioError> {
    let (mut sum, mut last) = (0.0, 0);
    for (at, class) in s.device.class.iter().enumerate() {
        if let Some(share) = class.share {
            (sum, last) = (sum + share, at);
            require(
                sum <= 1.0 + ROUNDING,
                format!("{}.share", place(at)),
                share,
                || format!("the shares up to here add up to {sum}; lower them to 1 at most"),
            )?;
        }
    }
    let (clients, counts) = (s.clients.count, counts(s));
    let listed = s.device.class.iter().filter_map(|it| it.clients.as_ref());
    let free = clients - listed.map(Vec::len).sum::<usize>();
    let asked: usize = counts.iter().sum();
    for (at, class) in s.device.class.iter().enumerate() {
        let Some(share) = class.share else { continue };
        let path = format!("{}.share", place(at));
        require(counts[at] > 0, &path, share, || {
            format!(
                "is no client of clients.count = {clients}; raise one of the two, or write clients = [0]"
            )
        })?;
        require(at != last || asked <= free, path, share, || {
            format!(
                "the shares ask for {asked} clients, but lists leave {free} of clients.count = \
                 {clients}; lower the shares"
            )
        })?;
    }
    Ok(())
}

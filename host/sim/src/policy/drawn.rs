//! Common part of schedulers that draw their clients: one client per channel.

use gleaner_shared::rng::{Purpose, Rng};

use super::View;
use super::baseline::epochs_at_full_power;
use crate::ClientId;

/// A drawn client, its channel, and how many epochs it can finish there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) client: usize,
    pub(super) channel: usize,
    pub(super) epochs: u32,
}

/// Draws as many different clients as there are channels, uniformly.
pub(super) fn at_random(view: &View<'_>) -> Vec<usize> {
    let mut clients: Vec<usize> = (0..view.instance.clients()).collect();
    Rng::stream(view.seed, Purpose::Schedule, 0, view.round).shuffle(&mut clients);
    clients.truncate(view.instance.channels);
    clients
}

/// Puts the drawn clients on the channels in turn and splits them: those that can finish an
/// epoch in client order, and those that cannot.
pub(super) fn on_channels(view: &View<'_>, clients: &[usize]) -> (Vec<Drawn>, Vec<ClientId>) {
    let drawn = clients.iter().enumerate().map(|(channel, &client)| Drawn {
        client,
        channel,
        epochs: epochs_at_full_power(view.instance, client, channel),
    });
    let (mut able, unable): (Vec<Drawn>, Vec<Drawn>) = drawn.partition(|drawn| drawn.epochs >= 1);
    able.sort_unstable_by_key(|drawn| drawn.client);
    let mut infeasible: Vec<ClientId> = unable.iter().map(|it| ClientId::at(it.client)).collect();
    infeasible.sort_unstable();
    (able, infeasible)
}

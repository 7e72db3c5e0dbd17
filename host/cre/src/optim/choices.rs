//! The uploads a client can make on a channel with a transceiver's levels and bit rates.

use super::Instance;
use super::power::Transmission;

/// An upload at a level, at the fastest bit rate that is received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) power_w: f64,
    pub(super) time_s: f64,
    pub(super) energy_j: f64,
}

impl Choice {
    pub(super) const fn transmission(self) -> Transmission {
        let Self {
            power_w, time_s, ..
        } = self;
        Transmission { power_w, time_s }
    }
}

/// The uploads of one client on one channel by rising energy, of equals the lower level first. A level
/// at a slower bit rate costs more and takes longer, so one upload for each level is enough.
pub(super) struct Choices(Vec<Choice>);

impl Choices {
    /// Lists the uploads; there are none where no bit rate is received, and none in a radio of any
    /// power.
    pub(super) fn of(instance: &Instance, client: usize, channel: usize) -> Self {
        let levels = instance.rate.modem().map_or(&[][..], |it| &it.levels);
        let choice = |power_w: f64| {
            let time_s = instance.upload_s(client, channel, power_w);
            let energy_j = instance.upload_j(client, power_w, time_s);
            Choice {
                power_w,
                time_s,
                energy_j,
            }
        };
        let all = levels.iter().map(|level| choice(level.radiated_w));
        let mut choices: Vec<Choice> = all.filter(|it| it.time_s.is_finite()).collect();
        choices.sort_by(|a, b| a.energy_j.total_cmp(&b.energy_j));
        Self(choices)
    }

    /// Returns the cheapest upload within `slack_s`.
    pub(super) fn cheapest(&self, slack_s: f64) -> Option<Choice> {
        let mut choices = self.0.iter();
        choices.find(|choice| choice.time_s <= slack_s).copied()
    }

    /// Returns the cheapest upload within `slack_s`, or of the fastest ones the cheapest: where an epoch
    /// limit was rounded up, these are in time.
    pub(super) fn cheapest_or_fastest(&self, slack_s: f64) -> Option<Choice> {
        let fastest = || {
            let choices = self.0.iter().copied();
            choices.min_by(|a, b| a.time_s.total_cmp(&b.time_s))
        };
        self.cheapest(slack_s).or_else(fastest)
    }

    /// Returns the upload of least power within `slack_s`.
    pub(super) fn least_power(&self, slack_s: f64) -> Option<Choice> {
        let in_time = self.0.iter().filter(|choice| choice.time_s <= slack_s);
        in_time
            .copied()
            .min_by(|a, b| a.power_w.total_cmp(&b.power_w))
    }

    /// Returns the durations of all uploads.
    pub(super) fn times_s(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|choice| choice.time_s)
    }
}

//! `[harvest]`: where energy comes from, what keeps it, and what the base station expects.

use gleaner_energy::harvest::{Forecast, Settings, Source};
use gleaner_shared::energy::{Capacitor, EnergyStore};
use gleaner_shared::units::{NanoWatts, PicoJoules};

use super::range::Range::{AtLeast, AtMost, NotNegative, Positive, Within};
use super::section::section;
use super::{Overheads, Scenario};

section!(
    /// Harvest source and energy store; by default constant income and no store, as in the paper.
    Harvest as "harvest" {
        /// Source of the harvested energy.
        source: Source = Source::Constant, "";
        /// CSV file of `trace` and `solar`, or `builtin:` and the name of a trace in the program.
        file: String = String::new(), "";
        /// Time from the start of a round to the start of the next; 0 means the deadline.
        period_s: f64 = 0.0, "s", Within(0.0, 1e9);
        /// Whether a trace is repeated after its end; otherwise nothing is harvested after it.
        looping: bool = true, "";
        /// Time in the trace at which round 1 begins.
        start_s: f64 = 0.0, "s", Within(0.0, 1e9);
        /// Offset in a shared trace between one client and the next.
        offset_s: f64 = 0.0, "s", Within(0.0, 1e9);
        /// Factor on every power of a trace.
        scale: f64 = 1.0, "", NotNegative;
        /// Spread between clients: each has a factor from 1 - spread to 1 + spread on its trace, drawn
        /// once from the seed.
        spread: f64 = 0.0, "", Within(0.0, 1.0);
        /// Area of the panel (`solar`).
        panel_cm2: f64 = 10.0, "cm^2", NotNegative;
        /// Share of the light on the panel that becomes electricity (`solar`).
        panel_efficiency: f64 = 0.2, "", Within(0.0, 1.0);
        /// Share of the irradiance outdoors that reaches the panel (`solar`).
        shade: f64 = 1.0, "", Within(0.0, 1.0);
        /// Probability of income in a round (`bernoulli`).
        probability: f64 = 0.5, "", Positive, AtMost(1);
        /// Mean length of a spell with income (`markov`).
        on_rounds: f64 = 10.0, "rounds", AtLeast(1);
        /// Mean length of a spell without income (`markov`).
        off_rounds: f64 = 10.0, "rounds", AtLeast(1);
        // Ledgers count picojoules in 64 bits.
        /// Capacity of a client's energy store; 0 means no store, and overdraft as in the paper.
        storage_j: f64 = 0.0, "J", Within(0.0, 1e6);
        /// Energy in the store before the first round.
        stored_j: f64 = 0.0, "J", Within(0.0, 1e6);
        /// Self-discharge of the store.
        leakage_w: f64 = 0.0, "W", NotNegative, AtMost(1000);
        /// Share of the harvest that reaches the store, to the thousandth.
        charge_efficiency: f64 = 1.0, "", Within(0.0, 1.0);
        /// Capacitance of a store that is a capacitor, instead of `storage_j`; 0 means no capacitor.
        capacitor_f: f64 = 0.0, "F", Within(0.0, 4000.0);
        /// Voltage of the capacitor below which the device does not run.
        min_v: f64 = 1.8, "V", Within(0.0, 65.0);
        /// Voltage up to which the capacitor is charged.
        max_v: f64 = 3.3, "V", Within(0.0, 65.0);
        /// Energy in the store at which a client that browned out switches on again.
        restart_j: f64 = 0.0, "J", Within(0.0, 1e6);
        /// Forecast of a client's next income that the base station plans with.
        forecast: Forecast = Forecast::Mean, "";
    }
);

impl Harvest {
    /// Returns the capacitor, where the store is one.
    #[must_use]
    pub fn capacitor(&self) -> Option<Capacitor> {
        let millivolts = |volts: f64| (volts * 1e3).round() as u16;
        (self.capacitor_f > 0.0).then(|| Capacitor {
            microfarads: (self.capacitor_f * 1e6).round() as u32,
            min_mv: millivolts(self.min_v),
            max_mv: millivolts(self.max_v),
        })
    }

    /// Returns the energy store of a client; `None` without one.
    #[must_use]
    pub fn store(&self) -> Option<EnergyStore> {
        let capacity = match self.capacitor() {
            Some(capacitor) => capacitor.capacity(),
            None => PicoJoules::from_joules(self.storage_j),
        };
        (capacity > PicoJoules::ZERO).then(|| EnergyStore {
            capacity,
            charge_permille: (self.charge_efficiency * 1e3).round() as u16,
            leakage: NanoWatts((self.leakage_w * 1e9).round() as u64),
            restart: PicoJoules::from_joules(self.restart_j),
        })
    }
}

impl Scenario {
    /// Returns the time from the start of a round to that of the next.
    #[must_use]
    pub const fn period_s(&self) -> f64 {
        if self.harvest.period_s > 0.0 {
            self.harvest.period_s
        } else {
            self.device.deadline_s
        }
    }

    /// Returns how long clients listen before the broadcast: as long as two crystals may have drifted
    /// apart since the last one, 2 ppm times the period.
    #[must_use]
    pub const fn guard_s(&self) -> f64 {
        2e-6 * self.radio.crystal_ppm * self.period_s()
    }

    /// Returns the settings of the harvest source.
    #[must_use]
    pub fn income_settings(&self) -> Settings {
        let harvest = &self.harvest;
        Settings {
            source: harvest.source,
            file: harvest.file.clone(),
            period_s: self.period_s(),
            looping: harvest.looping,
            start_s: harvest.start_s,
            offset_s: harvest.offset_s,
            scale: harvest.scale,
            spread: harvest.spread,
            panel_cm2: harvest.panel_cm2,
            panel_efficiency: harvest.panel_efficiency,
            shade: harvest.shade,
            probability: harvest.probability,
            on_rounds: harvest.on_rounds,
            off_rounds: harvest.off_rounds,
        }
    }

    /// Says whether a run accounts for energy as the paper does: compute and radio only, a constant
    /// income, no store.
    #[must_use]
    pub fn keeps_papers_books(&self) -> bool {
        let mut devices = self.devices().into_iter();
        devices.all(|device| device.costs == Overheads::PAPER) && self.harvest == Harvest::default()
    }
}

//! The transceiver of `radio.rate = "gfsk"`: its lists as the program has them, and as the model
//! wants them.

use super::value::Pairs;
use super::{RateRule, Scenario};
use gleaner_cre::channel::{BitRate, Cap, Level, Modem, RateModel};
use gleaner_cre::units::{Db, Dbm};

/// Levels of an SX1262 in dBm, each with the power it draws at 3.3 V.
///
/// 118 mA at 22 dBm, 102 at 20, 95 at 17 and 45 at 14 are quoted from the data sheet at second hand
/// (DS.SX1261-2.W.APP, 868 to 915 MHz); 20 mA at -9 dBm is assumed; the others are interpolated per
/// decibel. The presets' largest level is 14 dBm.
const SX1262_LEVELS: [[f64; 2]; 32] = [
    [-9.0, 0.066],
    [-8.0, 0.0696],
    [-7.0, 0.0732],
    [-6.0, 0.0768],
    [-5.0, 0.0803],
    [-4.0, 0.0839],
    [-3.0, 0.0875],
    [-2.0, 0.0911],
    [-1.0, 0.0947],
    [0.0, 0.0983],
    [1.0, 0.1019],
    [2.0, 0.1055],
    [3.0, 0.109],
    [4.0, 0.1126],
    [5.0, 0.1162],
    [6.0, 0.1198],
    [7.0, 0.1234],
    [8.0, 0.127],
    [9.0, 0.1306],
    [10.0, 0.1342],
    [11.0, 0.1377],
    [12.0, 0.1413],
    [13.0, 0.1449],
    [14.0, 0.1485],
    [15.0, 0.2035],
    [16.0, 0.2585],
    [17.0, 0.3135],
    [18.0, 0.3212],
    [19.0, 0.3289],
    [20.0, 0.3366],
    [21.0, 0.363],
    [22.0, 0.3894],
];

/// Bit rates of an SX1262, each with its sensitivity in dBm.
///
/// -125 dBm at 600 bit/s, -123 at 1,200, -118 at 4,800, -109 at 38,400 and -104 at 250,000 (with
/// 125 kHz of deviation and 500 kHz of bandwidth) are quoted from the data sheet for GFSK at second
/// hand; the others are interpolated per octave.
const SX1262_BIT_RATES: [[f64; 2]; 10] = [
    [600.0, -125.0],
    [1200.0, -123.0],
    [2400.0, -120.5],
    [4800.0, -118.0],
    [9600.0, -115.0],
    [19_200.0, -112.0],
    [38_400.0, -109.0],
    [76_800.0, -107.1],
    [150_000.0, -105.4],
    [250_000.0, -104.0],
];

pub(super) fn sx1262_levels() -> Pairs {
    SX1262_LEVELS.to_vec()
}

pub(super) fn sx1262_bit_rates() -> Pairs {
    SX1262_BIT_RATES.to_vec()
}

impl Scenario {
    /// Returns the rate model of the radio. A transceiver has the levels up to `radio.max_power_dbm`.
    #[must_use]
    pub fn rate_model(&self) -> RateModel {
        let radio = &self.radio;
        match radio.rate {
            RateRule::Shannon => RateModel::Shannon,
            RateRule::Capped => RateModel::Capped(Cap {
                max_bits_per_hz: radio.max_bits_per_hz,
                max_rate_bps: radio.max_rate_bps,
            }),
            RateRule::Gfsk => {
                let levels = radio.levels.iter();
                let allowed = levels.filter(|[dbm, _]| *dbm <= radio.max_power_dbm);
                let level = |&[dbm, drawn_w]: &[f64; 2]| Level {
                    radiated_w: Dbm(dbm).to_watts().0,
                    drawn_w,
                };
                let rate = |&[bps, dbm]: &[f64; 2]| BitRate {
                    bps,
                    sensitivity_w: Dbm(dbm).to_watts().0,
                };
                RateModel::Gfsk(Modem {
                    levels: allowed.map(level).collect(),
                    rates: radio.bit_rates.iter().map(rate).collect(),
                    margin: Db(radio.margin_db).to_linear().0,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve;

    #[test]
    fn the_documented_figures_of_the_transceiver_are_in_its_lists() {
        for (dbm, milliamps) in [(22.0, 118.0), (20.0, 102.0), (17.0, 95.0), (14.0, 45.0)] {
            let level = SX1262_LEVELS.iter().find(|level| level[0] == dbm);
            let off_w = level.expect("listed")[1] - milliamps * 3.3e-3;
            assert!(off_w.abs() < 1e-4, "{dbm} dBm");
        }
        let steps = SX1262_LEVELS.windows(2);
        assert!(
            steps
                .clone()
                .all(|two| two[1][0] - two[0][0] == 1.0 && two[1][1] > two[0][1])
        );
        let rates = SX1262_BIT_RATES.windows(2);
        assert!(
            rates
                .clone()
                .all(|two| two[1][0] > two[0][0] && two[1][1] > two[0][1])
        );
    }

    #[test]
    fn radios_that_cannot_be_are_refused_with_key_value_and_fix() {
        let refused = |sets: &[&str]| {
            let gfsk = ["radio.rate=gfsk"].into_iter().chain(sets.iter().copied());
            let sets: Vec<_> = gfsk.map(|set| set.parse().unwrap()).collect();
            resolve("paper-mlp", &sets).map_or_else(|error| error.to_string(), |_| String::new())
        };
        let long = format!("radio.levels=[{}]", "[1, 1],".repeat(257));
        for (set, said) in [
            (
                "radio.levels=[]",
                "radio.levels = 0 entries: radio.rate = \"gfsk\" needs 1 to 256",
            ),
            (&long, "radio.levels = 257 entries"),
            (
                "radio.levels=[[1, 1], [1, 2]]",
                "radio.levels[1] = 1: must be above the level before, 1 dBm",
            ),
            (
                "radio.levels=[[2, 1], [1, 2]]",
                "radio.levels[1] = 1: must be above",
            ),
            (
                "radio.levels=[[nan, 1]]",
                "radio.levels[0] = NaN: a level must be a finite number",
            ),
            (
                "radio.levels=[[inf, 1]]",
                "radio.levels[0] = inf: a level must be",
            ),
            (
                "radio.levels=[[-4000, 1]]",
                "radio.levels[0] = -4000: must lie in [-300, 300] dBm",
            ),
            (
                "radio.levels=[[1, 0]]",
                "radio.levels[0] = 0: the power drawn",
            ),
            (
                "radio.levels=[[1, -1]]",
                "radio.levels[0] = -1: the power drawn",
            ),
            (
                "radio.levels=[[1, 1e9]]",
                "radio.levels[0] = 1000000000: the power drawn",
            ),
            (
                "radio.levels=[[1, nan]]",
                "radio.levels[0] = NaN: the power drawn",
            ),
            (
                "radio.levels=[[24, 1]]",
                "radio.max_power_dbm = 23: is below the lowest of radio.levels, 24 dBm",
            ),
            ("radio.bit_rates=[]", "radio.bit_rates = 0 entries"),
            (
                "radio.bit_rates=[[0, -100]]",
                "radio.bit_rates[0] = 0: a bit rate must be above 0",
            ),
            (
                "radio.bit_rates=[[-5, -100]]",
                "radio.bit_rates[0] = -5: a bit rate must be above 0",
            ),
            (
                "radio.bit_rates=[[9, -100], [8, -99]]",
                "radio.bit_rates[1] = 8: must be above the bit rate before",
            ),
            (
                "radio.bit_rates=[[9, nan]]",
                "radio.bit_rates[0] = NaN: must lie in",
            ),
            ("radio.margin_db=-1", "radio.margin_db = -1: must be"),
            (
                "radio.margin_db=101",
                "radio.margin_db = 101: must be at most 100",
            ),
            (
                "radio.max_bits_per_hz=0",
                "radio.max_bits_per_hz = 0: must be a positive number",
            ),
            (
                "radio.max_rate_bps=inf",
                "radio.max_rate_bps = inf: must be a positive number",
            ),
            (
                "radio.rate=lora",
                "radio.rate = \"lora\": one of shannon, capped, gfsk is expected",
            ),
            (
                "radio.levels=14",
                "radio.levels = 14: a list of pairs of numbers is expected",
            ),
            (
                "radio.levels=[[1]]",
                "radio.levels = [[1]]: a list of pairs",
            ),
            (
                "radio.levels=[[1, 2, 3]]",
                "a list of pairs of numbers is expected",
            ),
            (
                "radio.bit_rates=[[1, \"x\"]]",
                "a list of pairs of numbers is expected",
            ),
        ] {
            let message = refused(&[set]);
            assert!(message.contains(said), "{set}: {message}");
        }
        // Lists that the rate model does not use are not judged.
        let unused = "radio.levels=[]".parse().unwrap();
        assert!(resolve("paper-mlp", &[unused]).is_ok());
    }

    #[test]
    fn lists_survive_the_canonical_text_which_leaves_defaults_out() {
        let own = ["radio.rate=gfsk", "radio.levels=[[0, 1], [10, 2.5]]"];
        let scenario = resolve("paper-mlp", &own.map(|set| set.parse().unwrap())).unwrap();
        assert_eq!(scenario.radio.levels, [[0.0, 1.0], [10.0, 2.5]]);
        let text = scenario.to_toml();
        assert!(
            text.contains("\nrate = \"gfsk\"\nlevels = [[0.0, 1.0], [10.0, 2.5]]\n"),
            "{text}"
        );
        assert!(
            !text.contains("bit_rates") && !text.contains("margin_db"),
            "{text}"
        );
        assert_eq!(
            crate::scenario::resolve_text(&text, "x", &[]).unwrap(),
            scenario
        );
    }

    #[test]
    fn a_transceiver_has_the_levels_up_to_the_largest_power() {
        let sets = [
            "radio.rate=gfsk",
            "radio.max_power_dbm=14",
            "radio.margin_db=10",
        ];
        let sets = sets.map(|set| set.parse().unwrap());
        let RateModel::Gfsk(modem) = resolve("paper-mlp", &sets).unwrap().rate_model() else {
            panic!("it is a transceiver");
        };
        assert_eq!((modem.levels.len(), modem.rates.len()), (24, 10));
        let highest = modem.levels.last().unwrap();
        assert!((highest.radiated_w - 25.1e-3).abs() < 1e-4 && highest.drawn_w == 0.1485);
        assert!((modem.margin - 10.0).abs() < 1e-12);
    }
}

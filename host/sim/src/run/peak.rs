//! The largest bit rates of a run, and a warning where radios do not reach them.

use super::directory::RunDirectory;
use super::log::{LogError, each_client, each_round};
use crate::scenario::{RateRule, Scenario};

/// Spectral efficiency that radios hardly exceed, in bit/s/Hz: 1024-QAM has 10 without its coding.
const USUAL_BITS_PER_HZ: f64 = 10.0;

/// The largest bit rates of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeakRates {
    /// Largest bit rate of an upload.
    pub uplink_bps: f64,
    /// Largest bit rate of a broadcast.
    pub downlink_bps: f64,
}

impl PeakRates {
    /// Reads the logs of a run.
    ///
    /// # Errors
    /// Names the log and line that cannot be read.
    pub fn read(directory: &RunDirectory) -> Result<Self, LogError> {
        let (mut peak, mut model_bits) = (Self::default(), 0.0);
        for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
            let row = row?;
            model_bits = f64::max(model_bits, 8.0 * row.down_bytes as f64);
            if row.upload_s > 0.0 {
                let bps = 8.0 * row.up_bytes as f64 / row.upload_s;
                peak.uplink_bps = peak.uplink_bps.max(bps);
            }
        }
        for row in each_round(&directory.file(RunDirectory::ROUNDS))? {
            let downlink_s = row?.downlink_s;
            if downlink_s > 0.0 {
                peak.downlink_bps = peak.downlink_bps.max(model_bits / downlink_s);
            }
        }
        Ok(peak)
    }

    /// Returns a warning where a run needs more than 10 bit/s/Hz. The bit rates of a transceiver are
    /// those of its list.
    #[must_use]
    pub fn warning(&self, scenario: &Scenario) -> Option<String> {
        let radio = &scenario.radio;
        let uplink = self.uplink_bps / radio.uplink_bandwidth_hz;
        let downlink = self.downlink_bps / radio.downlink_bandwidth_hz;
        // A rate limited to just that is computed from a time, which rounds.
        let most = USUAL_BITS_PER_HZ * (1.0 + 1e-9);
        let unusual = uplink.max(downlink) > most && radio.rate != RateRule::Gfsk;
        unusual.then(|| {
            format!(
                "this run needs {uplink:.1} bit/s/Hz in the uplink and {downlink:.1} in the downlink; \
                 radios reach about {USUAL_BITS_PER_HZ}. Set radio.rate = \"capped\" or \"gfsk\" for \
                 times and energies of a radio that exists"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve;

    #[test]
    fn more_than_ten_bits_per_hertz_are_warned_about_unless_listed() {
        let peak = PeakRates {
            uplink_bps: 41e6,
            downlink_bps: 100e6,
        };
        let warning =
            |set: &str| peak.warning(&resolve("paper-mlp", &[set.parse().unwrap()]).unwrap());
        let said = warning("radio.rate=shannon").unwrap();
        assert!(said.contains("41.0") && said.contains("5.0"), "{said}");
        assert_eq!(warning("radio.uplink_bandwidth_hz=5e6"), None);
        assert_eq!(warning("radio.rate=gfsk"), None);
        assert!(warning("radio.downlink_bandwidth_hz=9e6").is_some());
    }
}

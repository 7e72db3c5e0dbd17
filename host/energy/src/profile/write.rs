//! Text form of a profile, with enough digits to read the same numbers back.

use std::fmt::Write;

use super::Profile;

impl Profile {
    /// Returns the text of `profile.toml`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "# Energy costs of a board ({}), with 95 % intervals.\n\
             # A cycle's cost is above idling: computing for t seconds costs idle * t + cycle * cycles.\n\
             format = 1\nemulated = {}\nsynthetic = {}",
            self.label(),
            self.emulated,
            self.synthetic
        )?;
        let conditions = &self.conditions;
        writeln!(out, "\n[conditions]\nboard = {}", quoted(&conditions.board))?;
        if let Some(voltage_v) = conditions.voltage_v {
            writeln!(out, "voltage_v = {voltage_v:?}")?;
        }
        if let Some(temperature_c) = conditions.temperature_c {
            writeln!(out, "temperature_c = {temperature_c:?}")?;
        }
        if let Some(date) = &conditions.date {
            writeln!(out, "date = {}", quoted(date))?;
        }
        let (source, quality) = (&self.source, &self.quality);
        writeln!(
            out,
            "rate_hz = {:?}\n\n# BLAKE3 of the files, and the firmware that the board reports.\n\
             [source]\nfirmware = {}\ntrace = {}\nmarks = {}",
            conditions.rate_hz,
            quoted(&source.firmware),
            quoted(&source.trace),
            quoted(&source.marks)
        )?;
        writeln!(
            out,
            "\n# chi_square is 1 where noise explains every residual; misfit is the share beyond it.\n\
             [quality]\nintervals = {}\nfreedom = {:?}\nchi_square = {:?}\nmisfit = {:?}",
            quality.intervals, self.coefficients.freedom, quality.chi_square, quality.misfit
        )?;
        if let Some(held_out) = quality.held_out {
            writeln!(
                out,
                "\n# Relative errors of intervals that were not fitted.\n[quality.held_out]\n\
                 intervals = {}\nmedian = {:?}\nworst = {:?}",
                held_out.intervals, held_out.median, held_out.worst
            )?;
        }
        if let Some(form) = &self.form {
            writeln!(
                out,
                "\n# {}\n[form]\nclocks = {}\nexponent = {:?}\nlow = {:?}\nhigh = {:?}\n\
                 alpha = {:?}\nalpha_low = {:?}\nalpha_high = {:?}",
                form.sentence(crate::fit::ABOVE_IDLING),
                form.clocks,
                form.exponent,
                form.low,
                form.high,
                form.alpha,
                form.alpha_low,
                form.alpha_high
            )?;
        }
        if let Some(sample) = &self.sample {
            writeln!(
                out,
                "\n# Processor cycles b per sample and epoch, over the marks of training.\n\
                 [cycles_per_sample]\nmarks = {}\nmean = {:?}\ndeviation = {:?}\nleast = {:?}\n\
                 most = {:?}",
                sample.marks, sample.mean, sample.deviation, sample.least, sample.most
            )?;
        }
        for (at, term) in self.coefficients.terms.iter().enumerate() {
            let (low, high) = self.coefficients.interval(at);
            writeln!(out, "\n[[coefficient]]\nname = \"{}\"", term.kind.name())?;
            if let Some(clock_hz) = term.clock_hz {
                writeln!(out, "clock_hz = {clock_hz}")?;
            }
            let (unit, value) = (term.kind.unit(), self.coefficients.values[at]);
            writeln!(
                out,
                "unit = \"{unit}\"\nvalue = {value:?}\nlow = {low:?}\nhigh = {high:?}"
            )?;
        }
        writeln!(
            out,
            "\n# Of the coefficients in their order, in the products of their units.\n\
             [covariance]\nrows = ["
        )?;
        for row in self.coefficients.covariance.rows() {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:?}")).collect();
            writeln!(out, "    [{}],", cells.join(", "))?;
        }
        writeln!(out, "]")
    }
}

/// Returns text as a TOML string with escapes.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

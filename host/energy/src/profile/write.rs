//! A profile as text: every number with its unit, digits enough to read the same back.

use std::fmt::Write;

use super::Profile;

impl Profile {
    /// Writes `profile.toml`.
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
            "# What work costs on a board ({}), with 95 % intervals.",
            self.label()
        )?;
        writeln!(
            out,
            "# A cycle's cost is above idling: computing for t seconds costs idle * t + cycle * cycles."
        )?;
        writeln!(out, "format = 1")?;
        writeln!(out, "emulated = {}", self.emulated)?;
        writeln!(out, "synthetic = {}", self.synthetic)?;

        let conditions = &self.conditions;
        writeln!(out, "\n[conditions]")?;
        writeln!(out, "board = {}", quoted(&conditions.board))?;
        if let Some(voltage_v) = conditions.voltage_v {
            writeln!(out, "voltage_v = {voltage_v:?}")?;
        }
        if let Some(temperature_c) = conditions.temperature_c {
            writeln!(out, "temperature_c = {temperature_c:?}")?;
        }
        if let Some(date) = &conditions.date {
            writeln!(out, "date = {}", quoted(date))?;
        }
        writeln!(out, "rate_hz = {:?}", conditions.rate_hz)?;

        writeln!(
            out,
            "\n# BLAKE3 of the files, and what the board says it runs."
        )?;
        writeln!(out, "[source]")?;
        writeln!(out, "firmware = {}", quoted(&self.source.firmware))?;
        writeln!(out, "trace = {}", quoted(&self.source.trace))?;
        writeln!(out, "marks = {}", quoted(&self.source.marks))?;

        let quality = &self.quality;
        writeln!(
            out,
            "\n# chi_square is 1 where noise explains every residual; misfit is the share beyond it."
        )?;
        writeln!(out, "[quality]")?;
        writeln!(out, "intervals = {}", quality.intervals)?;
        writeln!(out, "freedom = {:?}", self.coefficients.freedom)?;
        writeln!(out, "chi_square = {:?}", quality.chi_square)?;
        writeln!(out, "misfit = {:?}", quality.misfit)?;
        if let Some(held_out) = quality.held_out {
            writeln!(
                out,
                "\n# Relative errors of intervals that were not fitted."
            )?;
            writeln!(out, "[quality.held_out]")?;
            writeln!(out, "intervals = {}", held_out.intervals)?;
            writeln!(out, "median = {:?}", held_out.median)?;
            writeln!(out, "worst = {:?}", held_out.worst)?;
        }
        if let Some(form) = &self.form {
            writeln!(out, "\n# {}", form.sentence(crate::fit::ABOVE_IDLING))?;
            writeln!(out, "[form]")?;
            writeln!(out, "clocks = {}", form.clocks)?;
            writeln!(out, "exponent = {:?}", form.exponent)?;
            writeln!(out, "low = {:?}", form.low)?;
            writeln!(out, "high = {:?}", form.high)?;
            writeln!(out, "alpha = {:?}", form.alpha)?;
            writeln!(out, "alpha_low = {:?}", form.alpha_low)?;
            writeln!(out, "alpha_high = {:?}", form.alpha_high)?;
        }
        if let Some(sample) = &self.sample {
            writeln!(
                out,
                "\n# Processor cycles b of a sample and epoch, over the marks of training."
            )?;
            writeln!(out, "[cycles_per_sample]")?;
            writeln!(out, "marks = {}", sample.marks)?;
            writeln!(out, "mean = {:?}", sample.mean)?;
            writeln!(out, "deviation = {:?}", sample.deviation)?;
            writeln!(out, "least = {:?}", sample.least)?;
            writeln!(out, "most = {:?}", sample.most)?;
        }
        for (at, term) in self.coefficients.terms.iter().enumerate() {
            let (low, high) = self.coefficients.interval(at);
            writeln!(out, "\n[[coefficient]]")?;
            writeln!(out, "name = \"{}\"", term.kind.name())?;
            if let Some(clock_hz) = term.clock_hz {
                writeln!(out, "clock_hz = {clock_hz}")?;
            }
            writeln!(out, "unit = \"{}\"", term.kind.unit())?;
            writeln!(out, "value = {:?}", self.coefficients.values[at])?;
            writeln!(out, "low = {low:?}")?;
            writeln!(out, "high = {high:?}")?;
        }
        writeln!(
            out,
            "\n# Of the coefficients in their order, in the products of their units."
        )?;
        writeln!(out, "[covariance]\nrows = [")?;
        for row in self.coefficients.covariance.rows() {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:?}")).collect();
            writeln!(out, "    [{}],", cells.join(", "))?;
        }
        writeln!(out, "]")
    }
}

/// Writes text as a TOML string, whatever is in it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

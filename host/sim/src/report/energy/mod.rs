//! The report of a measurement: what the meter saw, what the fit makes of it, and how far apart the
//! two are.

mod charts;
mod tables;

use gleaner_energy::align::{Alignment, Column, Method};
use gleaner_energy::fit::{ABOVE_IDLING, Fit, IN_ALL, Measured};
use gleaner_energy::mark::Mark;
use gleaner_energy::profile::Profile;

pub use tables::{alignment_table, coefficients_table};

use super::html::Page;
use super::text::counted;

/// All that a report needs.
#[derive(Clone, Debug)]
pub struct Measurement<'a> {
    /// The marks of the board.
    pub marks: &'a [Mark],
    /// Alignment of marks and trace.
    pub alignment: &'a Alignment,
    /// Measured energy of every interval.
    pub measured: &'a [Measured],
    /// The fit of the measurement.
    pub fit: &'a Fit,
    /// The profile that came of it.
    pub profile: &'a Profile,
    /// Strips of the trace with their titles.
    pub strips: Vec<(String, Vec<Column>)>,
}

/// Writes the page of a measurement.
#[must_use]
pub fn page(it: &Measurement<'_>) -> String {
    let profile = it.profile;
    let conditions = &profile.conditions;
    let mut page = Page::new(
        &format!("Energy of the board {}", conditions.board),
        &format!(
            "{}: {} at {} samples a second, {}.",
            capital(profile.label()),
            counted(it.marks.len(), "mark"),
            conditions.rate_hz,
            conditions.voltage_v.map_or_else(
                || "voltage not said".to_owned(),
                |volts| format!("{volts} V")
            ),
        ),
    );
    if profile.synthetic || profile.emulated {
        page.paragraph(&format!(
            "No meter and no board stand behind these figures: {}. They show that the way from a trace \
             to a profile works, and nothing of a real part.",
            profile.label()
        ));
    }
    page.heading("Does a cycle cost alpha f\u{b2}?");
    for sentence in sentences(it.fit) {
        page.paragraph(&sentence);
    }
    page.heading("The coefficients");
    page.paragraph(
        "A cycle's cost is what it takes above idling: computing for t seconds costs idle \u{d7} t and \
         its cycles. Intervals are of 95 %.",
    );
    page.table(&coefficients_table(profile));
    for note in &it.fit.notes {
        page.paragraph(&format!("{}.", capital(note)));
    }
    page.heading("The trace and the marks");
    page.paragraph(&aligned(it.alignment));
    page.table(&alignment_table(it.alignment, it.marks));
    for (title, columns) in &it.strips {
        let chart = charts::strip(title, columns, it.marks, it.alignment);
        page.figure(&chart, "Every column shows the least and the most power of its samples; its colour is the phase that the marks say.");
    }
    page.heading("How well it fits");
    page.paragraph(&quality(it.fit));
    for (chart, caption) in charts::fit(it) {
        page.figure(&chart, &caption);
    }
    page.heading("The profile");
    page.paragraph(
        "For `--profile` of simulate, compare and run, and for `gleaner energy predict`.",
    );
    page.details("profile.toml", &profile.to_toml());
    page.finish()
}

/// Says what the fit makes of the paper's form, and of b.
#[must_use]
pub fn sentences(fit: &Fit) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(form) = &fit.form {
        said.push(form.sentence(ABOVE_IDLING));
    } else {
        said.push(
            "Whether a cycle costs alpha f^2 was not tested: that takes three clocks at least."
                .to_owned(),
        );
    }
    if let Some(form) = &fit.total_form {
        said.push(format!(
            "The paper charges nothing but cycles. By that reading: {}",
            lower(&form.sentence(IN_ALL))
        ));
    }
    if let Some(sample) = &fit.sample {
        said.push(format!(
            "A sample takes b = {:.0} cycles an epoch (standard deviation {:.0}, from {:.0} to {:.0} over {}).",
            sample.mean,
            sample.deviation,
            sample.least,
            sample.most,
            counted(sample.marks, "training mark"),
        ));
    }
    said
}

fn aligned(alignment: &Alignment) -> String {
    match alignment.method {
        Method::Pins => {
            "Every mark was matched with a change of the three pins, one to one; the line through all of \
             them is the board's clock."
        }
        Method::Power => {
            "The trace has no logic channels, so the marks were moved along it until its power was as \
             even as can be within each phase."
        }
    }
    .to_owned()
}

fn quality(fit: &Fit) -> String {
    let mut text = format!("{} were fitted", counted(fit.used, "interval"));
    if fit.short > 0 {
        text.push_str(&format!(", {} were too short to be", fit.short));
    }
    text.push_str(&format!(
        ". Residuals are {:.2} times what the meter's noise alone would leave",
        fit.chi_square.sqrt()
    ));
    if fit.misfit > 0.0 {
        text.push_str(&format!(
            ": intervals differ from the model by {:.2} % beyond noise, and all 95 % intervals are widened by that",
            100.0 * fit.misfit
        ));
    }
    text.push('.');
    if let Some(held_out) = &fit.held_out {
        text.push_str(&format!(
            " Of {} that a second fit did not see, half are predicted within {:.2} %, the worst within {:.1} %.",
            counted(held_out.intervals, "interval"),
            100.0 * held_out.median,
            100.0 * held_out.worst,
        ));
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

//! The comparison as tables, a CSV file, plots and a page.

use gleaner_sim::policy::{BaselinePower, Decider, Scheduler};
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::StopRule;
use serde_json::{Value, json};
use strum::VariantArray;

use super::{Comparison, Panel, Variant};
use crate::error::ExperimentError;
use crate::page::{Findings, colour_of};
use crate::table::{Group, PlotPanel, READING, best, figures, plots};

/// Returns the name, labels, colour and mark of a variant, without runs. The name has the power only
/// where baselines run at several.
pub(super) fn group(variants: &[Variant], variant: &Variant) -> Group {
    let power = variant.power.map_or("chosen", Into::into);
    let is_program = |it: &&Variant| matches!(it.scheduler, Decider::Process(_));
    let mut powers = variants.iter().filter_map(|it| it.power);
    let first = powers.next();
    let name = match powers.all(|it| Some(it) == first) {
        true => variant.label(),
        false => variant.name(),
    };
    Group {
        name: format!("{name}, {} server", variant.server),
        labels: vec![
            variant.label(),
            power.to_owned(),
            variant.server.to_string(),
        ],
        colour: match &variant.scheduler {
            Decider::Own(scheduler) => colour_of(*scheduler),
            // Programs have the colours after those of all schedulers.
            Decider::Process(_) => {
                let programs = variants.iter().filter(is_program);
                let mut names = programs.filter(|it| it.server == variant.server);
                let place = names.position(|other| other == variant);
                Scheduler::VARIANTS.len() + place.unwrap_or_default()
            }
        },
        hollow: variant.power.is_some_and(|it| it != BaselinePower::Max),
        runs: Vec::new(),
    }
}

/// The variants of a panel, each with its runs.
type Rows<'a> = Vec<(&'a Variant, &'a Group)>;

impl Comparison {
    pub(super) fn findings(&self, groups: &[Group]) -> Result<Findings, ExperimentError> {
        let scenario = &self.points[0].scenario;
        let rows = self.variants.iter().zip(groups);
        let mut findings = Findings {
            json: rows.clone().map(as_json).collect::<Vec<_>>().into(),
            ..Findings::default()
        };
        let header = Summary::CSV_HEADER;
        let mut csv = format!("scheduler,baseline_power,server,seed,{header}\n");
        for (variant, group) in rows {
            let power = variant.power.map_or("", <&str>::from);
            for (seed, run) in self.seeds.iter().zip(&group.runs) {
                let (scheduler, cells) = (variant.label(), run.summary.csv_cells());
                let server = variant.server;
                csv.push_str(&format!("{scheduler},{power},{server},{seed},{cells}\n"));
            }
        }
        findings.file("compare.csv", csv);
        let lead = format!(
            "{}{}, {}, {} each.",
            match scenario.run.stop {
                StopRule::Rounds => "",
                StopRule::Validation => "At most ",
            },
            counted(scenario.run.rounds, "round"),
            setting(scenario),
            counted(self.seeds.len(), "seed"),
        );
        let mut page = Page::new("Schedulers compared", &lead);
        let panels: Vec<(&Panel, Rows<'_>)> = self
            .panels
            .iter()
            .map(|panel| (panel, self.rows(panel, groups)))
            .collect();
        for (panel, rows) in &panels {
            let all: Vec<Group> = rows.iter().map(|(_, group)| (*group).clone()).collect();
            let table = figures(&["scheduler", "power", "server"], &all);
            page.heading(&sentence_case(&panel.title));
            page.table(&table);
            let text = format!("{}\n\n{}\n", sentence_case(&panel.title), table.to_text());
            findings.text.push_str(&text);
        }
        page.paragraph(READING);
        if groups.len() > 1
            && let Some((group, validation)) = best(groups)
        {
            let text = format!(
                "Best on validation images: {} with {} %; it scores {} % on test images, which did not choose.",
                group.name,
                validation.text(100.0, 1),
                group.statistic(|it| it.tail_accuracy).text(100.0, 1)
            );
            findings.text.push_str(&format!("{text}\n"));
            page.paragraph(&text);
        }
        if let Some(text) = panels.first().and_then(|(_, rows)| saving(rows)) {
            page.paragraph(&text);
        }
        let plotted = panels.iter().map(|(panel, rows)| PlotPanel {
            title: panel.title.clone(),
            groups: rows.iter().map(|(_, group)| *group).collect(),
            shown: shown(rows),
        });
        findings.section(
            &mut page,
            &plots(&plotted.collect::<Vec<_>>(), &self.note())?,
        );
        page.details("the common scenario", &scenario.to_commented_toml());
        findings.page(&page);
        Ok(findings)
    }

    /// Returns the variants of a panel with their runs.
    fn rows<'a>(&'a self, panel: &'a Panel, groups: &'a [Group]) -> Rows<'a> {
        let variants = panel.variants.iter();
        let group = |variant| {
            let at = self.variants.iter().position(|it| it == variant)?;
            Some((variant, &groups[at]))
        };
        variants.filter_map(group).collect()
    }

    /// Says at which power the baselines of the lines transmit.
    fn note(&self) -> String {
        let powers = self.variants.iter().filter_map(|it| it.power);
        powers.min().map_or_else(String::new, |power| {
            format!("Power rule of the baselines: {power}.")
        })
    }
}

/// Returns one row per scheduler: baselines at full power where they ran so, as in the paper.
fn shown<'a>(rows: &Rows<'a>) -> Vec<&'a Group> {
    let own = Scheduler::VARIANTS.iter().filter_map(|scheduler| {
        let rows = rows.iter().filter(|(it, _)| it.scheduler == *scheduler);
        rows.min_by_key(|(variant, _)| variant.power)
    });
    let programs = rows.iter();
    let programs = programs.filter(|(it, _)| matches!(it.scheduler, Decider::Process(_)));
    own.chain(programs).map(|(_, group)| *group).collect()
}

fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn as_json((variant, group): (&Variant, &Group)) -> Value {
    let summaries: Vec<&Summary> = group.runs.iter().map(|run| &run.summary).collect();
    let runs: Vec<_> = group.runs.iter().map(|run| run.directory.path()).collect();
    json!({
        "scheduler": variant.scheduler,
        "baseline_power": variant.power,
        "server": variant.server,
        "seeds": summaries,
        "runs": runs,
    })
}

/// Compares the energy of CRE with the most frugal baseline, at every power.
fn saving(rows: &Rows<'_>) -> Option<String> {
    let energy = |group: &Group| group.statistic(|it| it.energy_per_round_j).mean;
    let mut all = rows.iter();
    let (_, cre) = all.find(|(variant, _)| variant.scheduler == Scheduler::Cre)?;
    let sentence = |&power: &BaselinePower| {
        let rows = rows.iter().filter(|(it, _)| it.power == Some(power));
        let energies = rows.map(|(variant, group)| (energy(group), &variant.scheduler));
        let (least, scheduler) = energies.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let difference = 100.0 * (1.0 - energy(cre) / least);
        let relation = if difference >= 0.0 { "less" } else { "more" };
        let words = match power {
            BaselinePower::Max => "at full power",
            BaselinePower::Min => "at the least power that meets the deadline",
            BaselinePower::LeastEnergy => "at the power of least energy",
        };
        Some(format!(
            "Against baselines {words}, CRE spends {:.0} % {relation} than the most frugal one \
             ({scheduler}).",
            difference.abs()
        ))
    };
    let text: Vec<String> = BaselinePower::VARIANTS
        .iter()
        .filter_map(sentence)
        .collect();
    (!text.is_empty()).then(|| text.join(" "))
}

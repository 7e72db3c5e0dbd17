//! The comparison as a table, a CSV file, plots and a page.

use gleaner_sim::policy::{BaselinePower, Decider, Scheduler};
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::{Scenario, StopRule};
use serde_json::{Value, json};
use strum::VariantArray;

use super::Variant;
use crate::error::ExperimentError;
use crate::page::{Findings, colour_of};
use crate::table::{Group, READING, best, figures, plots};

/// Returns the labels, colour and mark of a variant, without runs.
pub(super) fn group(variants: &[Variant], variant: &Variant) -> Group {
    let power = variant.power.map_or("chosen", Into::into);
    let is_program = |it: &&Variant| matches!(it.scheduler, Decider::Process(_));
    Group {
        name: variant.name(),
        labels: vec![variant.label(), power.to_owned()],
        colour: match &variant.scheduler {
            Decider::Own(scheduler) => colour_of(*scheduler),
            // Programs have the colours after those of all schedulers.
            Decider::Process(_) => {
                let mut programs = variants.iter().filter(is_program);
                let place = programs.position(|other| other == variant);
                Scheduler::VARIANTS.len() + place.unwrap_or_default()
            }
        },
        hollow: variant.power == Some(BaselinePower::Min),
        runs: Vec::new(),
    }
}

pub(super) fn findings(
    scenario: &Scenario,
    variants: &[Variant],
    seeds: &[u64],
    groups: &[Group],
) -> Result<Findings, ExperimentError> {
    let table = figures(&["scheduler", "power"], groups);
    let rows = variants.iter().zip(groups);
    let mut findings = Findings {
        text: table.to_text(),
        json: rows.clone().map(as_json).collect::<Vec<_>>().into(),
        ..Findings::default()
    };
    let mut csv = format!("scheduler,baseline_power,seed,{}\n", Summary::CSV_HEADER);
    for (variant, group) in rows {
        let power = variant.power.map_or("", <&str>::from);
        for (seed, run) in seeds.iter().zip(&group.runs) {
            let (scheduler, cells) = (variant.label(), run.summary.csv_cells());
            csv.push_str(&format!("{scheduler},{power},{seed},{cells}\n"));
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
        counted(seeds.len(), "seed"),
    );
    let mut page = Page::new("Schedulers compared", &lead);
    page.table(&table);
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
        findings.text.push_str(&format!("\n{text}\n"));
        page.paragraph(&text);
    }
    if let Some(text) = saving(variants, groups) {
        page.paragraph(&text);
    }
    // One line per scheduler: baselines at full power where they ran so, as in the paper.
    let rows = || variants.iter().zip(groups);
    let own = Scheduler::VARIANTS.iter().filter_map(|scheduler| {
        let rows = rows().filter(|(variant, _)| variant.scheduler == *scheduler);
        rows.max_by_key(|(variant, _)| variant.power != Some(BaselinePower::Min))
    });
    let programs = rows().filter(|(it, _)| matches!(it.scheduler, Decider::Process(_)));
    let shown: Vec<&Group> = own.chain(programs).map(|(_, group)| group).collect();
    findings.section(&mut page, &plots(groups, &shown)?);
    page.details("the common scenario", &scenario.to_commented_toml());
    findings.page(&page);
    Ok(findings)
}

fn as_json((variant, group): (&Variant, &Group)) -> Value {
    let summaries: Vec<&Summary> = group.runs.iter().map(|run| &run.summary).collect();
    let runs: Vec<_> = group.runs.iter().map(|run| run.directory.path()).collect();
    json!({
        "scheduler": variant.scheduler,
        "baseline_power": variant.power,
        "seeds": summaries,
        "runs": runs,
    })
}

/// Compares the energy of CRE with the most frugal baseline, at either power.
fn saving(variants: &[Variant], groups: &[Group]) -> Option<String> {
    let energy = |group: &Group| group.statistic(|it| it.energy_per_round_j).mean;
    let mut rows = variants.iter().zip(groups);
    let (_, cre) = rows.find(|(variant, _)| variant.scheduler == Scheduler::Cre)?;
    let sentence = |power: BaselinePower, words: &str| {
        let rows = variants.iter().zip(groups);
        let rows = rows.filter(|(variant, _)| variant.power == Some(power));
        let energies = rows.map(|(variant, group)| (energy(group), &variant.scheduler));
        let (least, scheduler) = energies.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let difference = 100.0 * (1.0 - energy(cre) / least);
        let relation = if difference >= 0.0 { "less" } else { "more" };
        Some(format!(
            "Against baselines {words}, CRE spends {:.0} % {relation} than the most frugal one \
             ({scheduler}).",
            difference.abs()
        ))
    };
    let full = sentence(BaselinePower::Max, "at full power");
    let words = "at the least power that meets the deadline";
    let least = sentence(BaselinePower::Min, words);
    let text: Vec<String> = [full, least].into_iter().flatten().collect();
    (!text.is_empty()).then(|| text.join(" "))
}

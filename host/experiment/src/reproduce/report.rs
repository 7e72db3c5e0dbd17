//! The report: claims with verdicts first, then every exhibit, then the runs.

use gleaner_sim::report::{Card, Page, Remark, counted};
use serde_json::{Value, json};

use super::claims::{Judgement, Verdict, claims, judge};
use super::*;

/// How the verdicts are reached.
const RULES: &str = "Every claim is checked by a rule that the program computes from the runs below. \
    Repaired is our default, with the errata of the paper repaired; printed has every printed value and \
    formula. Reproduced: every part of the claim holds, in everything the paper shows, with at least two \
    seeds. In part: at least half of the parts hold, or all of them in less than the paper shows. \
    Learning rates and rounds are our reading where the paper prints none.";

/// Shows every exhibit and checks every claim.
pub(super) fn findings(records: &Records) -> Findings {
    let judgements = judge(records);
    let exhibits = Exhibit::VARIANTS.iter();
    let sections: Vec<(Exhibit, Section)> = exhibits.map(|it| (*it, it.show(records))).collect();
    let mut findings = Findings {
        text: format!(
            "{}\n{}\n",
            verdicts(&judgements).to_text(),
            tally(&judgements).to_text()
        ),
        json: as_json(records, &judgements, &sections),
        ..Findings::default()
    };
    let reproduction = &records.reproduction;
    let extents: Vec<String> = Network::VARIANTS
        .iter()
        .map(|&network| {
            let text = reproduction.extent(network).map(|it| it.text(network));
            let text = text.unwrap_or_else(|| "not run at this scale".to_owned());
            format!("{}: {text}", network.title())
        })
        .collect();
    let (complete, all) = (records.count(), counted(records.planned(), "run"));
    let runs = match complete == records.planned() {
        true => all,
        false => format!("{complete} of {all} complete"),
    };
    let lead = format!(
        "Scale {}, {runs}. {}.",
        reproduction.scale,
        extents.join("; ")
    );
    let mut page = Page::new("Reproduction of the paper", &lead);
    if reproduction.scale == Scale::Smoke {
        page.paragraph(
            "This scale tests the program with a few images and rounds. It settles no claim.",
        );
    }
    page.paragraph(RULES);
    page.heading("Verdicts");
    page.table(&tally(&judgements));
    for &network in Network::VARIANTS {
        page.heading(&format!("Claims, {}", network.title()));
        for card in cards(network, &judgements) {
            page.card(&card);
        }
    }
    for (exhibit, section) in &sections {
        findings.section(&mut page, section);
        page.details("the command", &reproduction.command(*exhibit));
        if !section.csv.is_empty() {
            findings.file(format!("{exhibit}.csv"), section.csv.clone());
        }
    }
    page.paragraph(
        "runs.csv names every run by the hash of its scenario, with the digest of its files; the scenario is \
         points/HASH/scenario.toml, and gleaner simulate --preset runs it again.",
    );
    findings.file("runs.csv", runs_csv(records));
    findings.file("reproduction.json", format!("{:#}\n", findings.json));
    findings.page(&page);
    findings
}

/// Returns one card per claim, with a remark for each set of formulas.
fn cards(network: Network, judgements: &[Judgement]) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    for judgement in judgements.iter().filter(|it| it.network == network) {
        let formulas: &str = judgement.formulas.map_or("baselines", Into::into);
        let word = |holds| if holds { "yes" } else { "no" };
        let parts = judgement.parts.iter();
        let remark = Remark {
            badge: judgement.verdict.words().to_owned(),
            kind: judgement.verdict.to_string(),
            text: format!("{formulas}: {}.", judgement.evidence),
            more: parts
                .map(|part| format!("{} {}", word(part.holds), part.found))
                .collect(),
        };
        match cards.last_mut() {
            Some(card) if card.title == judgement.sentence => card.remarks.push(remark),
            _ => cards.push(Card {
                title: judgement.sentence.to_owned(),
                remarks: vec![remark],
                foot: format!(
                    "Holds when: {} Run: {}. {}",
                    judgement.rule, judgement.extent, judgement.command
                ),
            }),
        }
    }
    cards
}

/// Counts the verdicts by network and formulas.
fn tally(judgements: &[Judgement]) -> Table {
    let mut header = vec!["claims"];
    header.extend(Verdict::VARIANTS.iter().map(|it| it.words()));
    let mut table = Table::new(&header);
    for &network in Network::VARIANTS {
        for formulas in [Some(Formulas::Repaired), Some(Formulas::Printed), None] {
            let here = |it: &&Judgement| it.network == network && it.formulas == formulas;
            let name = formulas.map_or("baselines alone", Into::into);
            let mut cells = vec![format!("{}, {name}", network.title())];
            cells.extend(Verdict::VARIANTS.iter().map(|&verdict| {
                let count = judgements.iter().filter(here);
                count.filter(|it| it.verdict == verdict).count().to_string()
            }));
            table.row(cells);
        }
    }
    table
}

/// Returns the verdicts, a row per claim.
fn verdicts(judgements: &[Judgement]) -> Table {
    let formulas = Formulas::VARIANTS.iter();
    let both = |network: &Network| {
        formulas
            .clone()
            .map(|&it| (*network, it))
            .collect::<Vec<_>>()
    };
    let columns: Vec<(Network, Formulas)> = Network::VARIANTS.iter().flat_map(both).collect();
    let names = columns
        .iter()
        .map(|(network, it)| format!("{network} {it}"));
    let names: Vec<String> = names.collect();
    let mut header = vec!["claim"];
    header.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for claim in claims() {
        let mut cells = vec![claim.id.to_owned()];
        cells.extend(columns.iter().map(|&(network, formulas)| {
            // Claims about the baselines alone stand with the repaired formulas.
            let here = |it: &&Judgement| {
                (it.claim, it.network) == (claim.id.as_str(), network)
                    && it.formulas.unwrap_or(Formulas::Repaired) == formulas
            };
            let found = judgements.iter().find(here);
            found.map_or("", |it| it.verdict.words()).to_owned()
        }));
        table.row(cells);
    }
    table
}

/// Lists the runs of every exhibit: setting, hash of the scenario, digest of the result.
fn runs_csv(records: &Records) -> String {
    let mut text = "exhibit,setting,d,sigma,seed,scenario,result\n".to_owned();
    for exhibit in Exhibit::VARIANTS {
        for setting in exhibit.settings(&records.reproduction) {
            let group = records.of(&setting);
            for run in group.iter().flat_map(|group| &group.runs) {
                text.push_str(&format!(
                    "{exhibit},{},{},{},{},{},{}\n",
                    setting.name(),
                    setting.cell.degree,
                    setting.cell.deviation,
                    run.seed,
                    run.id,
                    run.digest
                ));
            }
        }
    }
    text
}

fn as_json(records: &Records, judgements: &[Judgement], sections: &[(Exhibit, Section)]) -> Value {
    let reproduction = &records.reproduction;
    let extent = |&network: &Network| {
        let text = reproduction.extent(network).map(|it| it.text(network));
        (network.to_string(), text.into())
    };
    let extents: serde_json::Map<String, Value> = Network::VARIANTS.iter().map(extent).collect();
    let section = |(exhibit, section): &(Exhibit, Section)| {
        let tables = section.tables.iter().map(
            |(title, table)| json!({ "title": title, "header": table.header, "rows": table.rows }),
        );
        let figures = section.figures.iter();
        json!({
            "exhibit": exhibit,
            "title": section.title,
            "text": section.text,
            "tables": tables.collect::<Vec<_>>(),
            "figures": figures.map(|it| format!("plots/{}.svg", it.name)).collect::<Vec<_>>(),
        })
    };
    json!({
        "scale": reproduction.scale,
        "extent": extents,
        "runs": { "completed": records.count(), "planned": records.planned() },
        "claims": judgements,
        "exhibits": sections.iter().map(section).collect::<Vec<_>>(),
    })
}

//! The page for a reviewer: claims with verdicts first, then every exhibit, then the runs.

use strum::VariantArray;

use super::claims::{Judgement, Verdict};
use super::edition::{Edition, Network};
use super::results::Results;
use super::scale::Scale;
use super::section::Section;
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Card, Page, Remark, counted};

/// Writes the page.
pub(super) fn page(results: &Results, judgements: &[Judgement], sections: &[Section]) -> String {
    let study = results.study();
    let extents: Vec<String> = Network::VARIANTS
        .iter()
        .map(|&network| {
            let text = study.extent(network).map(|it| it.text(network));
            let text = text.unwrap_or_else(|| "not run at this scale".to_owned());
            format!("{}: {text}", network.title())
        })
        .collect();
    let (there, all) = (results.count(), results.planned());
    let made = match there == all {
        true => counted(all, "run"),
        false => format!("{there} of {} made so far", counted(all, "run")),
    };
    let lead = format!("Scale {}, {made}. {}.", study.scale, extents.join("; "));
    let mut page = Page::new("The paper, reproduced", &lead);
    if study.scale == Scale::Smoke {
        page.paragraph(
            "This scale checks the machinery with a handful of images and rounds. It settles no claim.",
        );
    }
    page.paragraph(
        "Every claim is judged by a rule that the program computes from the runs below; nothing here is written \
         by hand. Repaired is our default, with the errata of the paper mended; printed has every \
         printed value and formula. Reproduced: every part of the claim holds, in everything the paper shows, with two \
         seeds at least. In part: half of the parts or more hold, or all of them in less than the paper \
         shows. Learning rates and rounds are our reading where the paper prints none.",
    );
    page.heading("Verdicts");
    page.table(&tally(judgements));
    for &network in Network::VARIANTS {
        page.heading(&format!("Claims, {}", network.title()));
        for card in cards(network, judgements) {
            page.card(&card);
        }
    }
    for section in sections {
        page.heading(section.exhibit.title());
        section.text.iter().for_each(|text| page.paragraph(text));
        for titled in &section.tables {
            page.paragraph(&titled.title);
            page.table(&titled.table);
        }
        for drawing in &section.drawings {
            page.figure(&drawing.svg, &drawing.caption);
        }
        page.details("the command", &study.command(section.exhibit));
    }
    page.paragraph(
        "runs.csv names every run by the hash of its scenario, with the digest of all it left; the scenario itself \
         is in points/HASH/scenario.toml, and gleaner simulate --preset makes it again.",
    );
    page.finish()
}

/// One card per claim, with a remark per edition.
fn cards(network: Network, judgements: &[Judgement]) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    for judgement in judgements.iter().filter(|it| it.network == network) {
        let who = match judgement.edition {
            Some(Edition::Repaired) => "repaired",
            Some(Edition::Printed) => "printed",
            None => "baselines",
        };
        let remark = Remark {
            badge: judgement.verdict.words().to_owned(),
            kind: judgement.verdict.to_string(),
            text: format!("{who}: {}.", judgement.evidence),
            more: judgement
                .parts
                .iter()
                .map(|part| format!("{} {}", if part.holds { "yes" } else { "no" }, part.found))
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

/// Counts the verdicts.
pub(super) fn tally(judgements: &[Judgement]) -> Table {
    let mut header = vec!["claims"];
    header.extend(Verdict::VARIANTS.iter().map(|it| it.words()));
    let mut table = Table::new(&header);
    for &network in Network::VARIANTS {
        for edition in [Some(Edition::Repaired), Some(Edition::Printed), None] {
            let here = |it: &&Judgement| it.network == network && it.edition == edition;
            let name = edition.map_or("baselines alone", Into::into);
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

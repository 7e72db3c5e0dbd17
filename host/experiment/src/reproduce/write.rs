//! The files of a reproduction.

use std::fs;
use std::path::Path;

use gleaner_files::write_atomically;
use serde_json::{Value, json};
use strum::VariantArray;

use super::claims::{Judgement, claims, judge};
use super::edition::{Edition, Network};
use super::error::ReproduceError;
use super::exhibit::Exhibit;
use super::page::{page, tally};
use super::results::Results;
use super::section::Section;
use gleaner_sim::report::table::Table;

/// What a reproduction came to, ready to be written anywhere.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The verdicts.
    pub judgements: Vec<Judgement>,
    sections: Vec<Section>,
    html: String,
    json: String,
    runs: String,
}

impl Publication {
    /// Reads all that is there and judges it.
    ///
    /// # Errors
    /// Names the log that cannot be read.
    pub fn of(results: &Results) -> Result<Self, ReproduceError> {
        let judgements = judge(results)?;
        let sections: Vec<Section> = Exhibit::VARIANTS
            .iter()
            .map(|exhibit| exhibit.show(results))
            .collect::<Result<_, _>>()?;
        let html = page(results, &judgements, &sections);
        let json = format!("{:#}\n", as_json(results, &judgements, &sections));
        Ok(Self {
            html,
            json,
            runs: runs(results),
            judgements,
            sections,
        })
    }

    /// Counts the verdicts.
    #[must_use]
    pub fn tally(&self) -> Table {
        tally(&self.judgements)
    }

    /// Returns the verdicts, a line per claim, for a terminal.
    #[must_use]
    pub fn table(&self) -> Table {
        let columns: Vec<(Network, Edition)> = Network::VARIANTS
            .iter()
            .flat_map(|&network| {
                Edition::VARIANTS
                    .iter()
                    .map(move |&edition| (network, edition))
            })
            .collect();
        let names: Vec<String> = columns
            .iter()
            .map(|(network, edition)| format!("{network} {edition}"))
            .collect();
        let mut header = vec!["claim"];
        header.extend(names.iter().map(String::as_str));
        let mut table = Table::new(&header);
        for claim in claims() {
            let mut cells = vec![claim.id.to_owned()];
            cells.extend(columns.iter().map(|&(network, edition)| {
                // What is about the baselines alone stands with our edition.
                let here = |it: &&Judgement| {
                    it.claim == claim.id
                        && it.network == network
                        && it.edition.unwrap_or(Edition::Repaired) == edition
                };
                let found = self.judgements.iter().find(here);
                found.map_or("", |it| it.verdict.words()).to_owned()
            }));
            table.row(cells);
        }
        table
    }

    /// Returns the whole as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// Writes `reproduction.html`, `reproduction.json`, `runs.csv`, a CSV per exhibit and the plots, each
/// whole or not at all.
///
/// # Errors
/// Names the file that cannot be written.
pub fn write(publication: &Publication, directory: &Path) -> Result<(), ReproduceError> {
    fs::create_dir_all(directory).map_err(gleaner_files::at(directory))?;
    let save = |name: &str, text: &str| write_atomically(&directory.join(name), text.as_bytes());
    for section in &publication.sections {
        if !section.csv.is_empty() {
            save(&format!("{}.csv", section.exhibit), &section.csv)?;
        }
        for drawing in &section.drawings {
            save(&format!("{}.svg", drawing.name), &drawing.svg)?;
        }
    }
    save("runs.csv", &publication.runs)?;
    save("reproduction.json", &publication.json)?;
    save("reproduction.html", &publication.html)?;
    Ok(())
}

/// Lists the runs of every exhibit: what they are of, the hash of the scenario, the digest of the
/// result.
fn runs(results: &Results) -> String {
    let study = results.study();
    let mut text = "exhibit,setting,d,sigma,seed,scenario,result\n".to_owned();
    for exhibit in Exhibit::VARIANTS {
        for setting in exhibit.settings(study) {
            let Some(group) = results.of(&setting) else {
                continue;
            };
            for made in group.runs {
                text.push_str(&format!(
                    "{exhibit},{},{},{},{},{},{}\n",
                    setting.name(),
                    setting.cell.degree,
                    setting.cell.deviation,
                    made.seed,
                    made.id,
                    made.digest
                ));
            }
        }
    }
    text
}

fn as_json(results: &Results, judgements: &[Judgement], sections: &[Section]) -> Value {
    let study = results.study();
    let extents: serde_json::Map<String, Value> = Network::VARIANTS
        .iter()
        .map(|&network| {
            let extent = study.extent(network);
            (
                network.to_string(),
                extent.map(|it| it.text(network)).into(),
            )
        })
        .collect();
    let sections: Vec<Value> = sections
        .iter()
        .map(|section| {
            let tables: Vec<Value> = section
                .tables
                .iter()
                .map(|it| {
                    json!({ "title": it.title, "header": it.table.header, "rows": it.table.rows })
                })
                .collect();
            let drawings = section.drawings.iter();
            let drawings: Vec<String> = drawings.map(|it| format!("{}.svg", it.name)).collect();
            json!({
                "exhibit": section.exhibit,
                "title": section.exhibit.title(),
                "text": section.text,
                "tables": tables,
                "drawings": drawings,
            })
        })
        .collect();
    json!({
        "scale": study.scale,
        "extent": extents,
        "runs": { "made": results.count(), "planned": results.planned() },
        "claims": judgements,
        "exhibits": sections,
    })
}

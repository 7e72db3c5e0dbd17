//! Answers as a table, and as rows of JSON.

use gleaner_files::printable;
use gleaner_station::service::infer::{Answer, Question};
use serde::Serialize;

use super::models::Known;

/// One question and its answer.
#[derive(Debug, Serialize)]
pub struct Row {
    sample: String,
    /// The class that the board found.
    class: Option<u8>,
    /// Name of the class, if the data have names.
    class_name: Option<String>,
    confidence: Option<f64>,
    /// Label of the sample, if it has one.
    label: Option<u8>,
    cycles: Option<u64>,
    /// Time at the clock of the board's preset.
    milliseconds: Option<f64>,
    model: Option<String>,
    /// The class that the run's model of the same hash finds on this computer.
    host_class: Option<u8>,
    /// Reason of a refusal.
    refused: Option<String>,
}

impl Row {
    /// Combines an answer with the classes that the models of a run find.
    pub fn new(
        name: &str,
        question: &Question,
        answer: &Answer,
        known: &[Known],
        clock_hz: Option<f64>,
    ) -> Self {
        let mut row = Self {
            sample: name.to_owned(),
            class: None,
            class_name: None,
            confidence: None,
            label: None,
            cycles: None,
            milliseconds: None,
            model: None,
            host_class: None,
            refused: None,
        };
        match answer {
            Answer::Classified(found) => {
                row.class = Some(found.class);
                row.confidence = Some(f64::from(found.confidence_q16) / 65_536.0);
                row.label = found.label;
                row.cycles = Some(found.cycles.0);
                row.milliseconds = clock_hz.map(|clock| found.cycles.0 as f64 / clock * 1e3);
                row.model = Some(found.model.to_string());
                if let Question::Pixels(pixels) = question {
                    let ours = known.iter().find(|known| known.is(found.model));
                    let guess = ours.and_then(|ours| ours.classify(pixels));
                    row.host_class = guess.map(|guess| guess.class);
                }
            }
            Answer::Labelled => {
                if let Question::Label(_, class) = question {
                    row.label = Some(*class);
                }
            }
            Answer::Refused(reason) => row.refused = Some(reason.to_string()),
        }
        row
    }

    /// Adds the name of the class.
    pub fn named(mut self, names: &[String]) -> Self {
        let name = self.class.and_then(|class| names.get(usize::from(class)));
        self.class_name = name.cloned();
        self
    }
}

/// Prints the rows as a table.
pub fn print(rows: &[Row]) -> anyhow::Result<()> {
    let width = rows.iter().map(|row| row.sample.len()).max().unwrap_or(0);
    for row in rows {
        let name = &row.sample;
        match (row.class, row.confidence, &row.refused) {
            (_, _, Some(reason)) => outln!("{name:<width$}  REFUSED: {reason}"),
            (Some(class), Some(confidence), None) => {
                let more = [
                    row.cycles.map(|cycles| format!("{cycles} cycles")),
                    row.milliseconds.map(|time| format!("{time:.3} ms")),
                    row.label.map(|label| format!("labelled {label}")),
                    row.host_class.map(|ours| match ours == class {
                        true => "this computer agrees".to_owned(),
                        false => format!("THIS COMPUTER FINDS {ours}"),
                    }),
                    row.model.as_ref().map(|model| format!("model {model}")),
                ];
                let more: Vec<String> = more.into_iter().flatten().collect();
                let share = 100.0 * confidence;
                let called = row.class_name.as_deref().map(printable).unwrap_or_default();
                let class = format!("{class} {called}");
                let (class, more) = (class.trim_end(), more.join(", "));
                outln!("{name:<width$}  {class}  {share:.1} %  {more}");
            }
            _ => outln!("{name:<width$}  labelled {}", row.label.unwrap_or_default()),
        }
    }
    Ok(())
}

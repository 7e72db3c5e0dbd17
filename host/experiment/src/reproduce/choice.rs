//! Choice of single runs of a reproduction, so that long ones can be started one at a time.

use std::str::FromStr;

use super::*;

/// Runs to execute; an empty list chooses all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Networks with their data.
    pub networks: Vec<Network>,
    /// Editions of CRE; the baselines have the first.
    pub formulas: Vec<Formulas>,
    /// Schedulers of the chosen runs.
    pub schedulers: Vec<Scheduler>,
    /// Cells of the accuracy table.
    pub cells: Vec<Cells>,
    /// Values of V; runs at the preset's V are not among them.
    pub factors: Vec<f64>,
    /// Lengths of the chosen runs in rounds.
    pub rounds: Vec<usize>,
    /// Seeds of the chosen runs.
    pub seeds: Vec<u32>,
}

/// Cells with a degree, a deviation, or both: `d=0.4,sigma=100`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    degree: Option<f64>,
    deviation: Option<f64>,
}

impl FromStr for Cells {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no cell; write d=0.4,sigma=100, or one of the two");
        let (mut degree, mut deviation) = (None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: f64 = value.trim().parse().map_err(|_| wrong())?;
            let place = match key.trim() {
                "d" => &mut degree,
                "sigma" => &mut deviation,
                _ => return Err(wrong()),
            };
            if place.replace(value).is_some() {
                return Err(wrong());
            }
        }
        Ok(Self { degree, deviation })
    }
}

impl Cells {
    fn has(&self, cell: Cell) -> bool {
        let holds = |wanted: Option<f64>, value: f64| wanted.is_none_or(|it| it == value);
        holds(self.degree, cell.degree) && holds(self.deviation, cell.deviation)
    }
}

impl Choice {
    /// Tells whether a run of a setting is chosen.
    pub(super) fn has(&self, planned: &Planned) -> bool {
        fn among<T>(list: &[T], holds: impl FnMut(&T) -> bool) -> bool {
            list.is_empty() || list.iter().any(holds)
        }
        let setting = &planned.setting;
        among(&self.networks, |it| *it == setting.network)
            && among(&self.formulas, |it| *it == setting.formulas)
            && among(&self.schedulers, |it| *it == setting.scheduler)
            && among(&self.cells, |it| it.has(setting.cell))
            && among(&self.factors, |it| setting.factor == Some(*it))
            && among(&self.rounds, |it| *it == planned.point.scenario.run.rounds)
            && among(&self.seeds, |it| *it == planned.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names the runs of the medium scale that are chosen.
    fn chosen(exhibit: Exhibit, choice: Choice) -> Vec<String> {
        let reproduction = Reproduction {
            exhibits: vec![exhibit],
            choice,
            ..Reproduction::all(Scale::Medium)
        };
        let chosen = reproduction.chosen().unwrap();
        chosen.iter().map(Planned::name).collect()
    }

    #[test]
    fn one_run_can_be_chosen_of_each_kind() {
        let middle: Cells = "d=0.4, sigma=100".parse().unwrap();
        let cre = Choice {
            networks: vec![Network::Cnn],
            formulas: vec![Formulas::Repaired],
            schedulers: vec![Scheduler::Cre],
            cells: vec![middle],
            seeds: vec![2],
            ..Choice::default()
        };
        assert_eq!(
            chosen(Exhibit::TableAccuracyCifar, cre.clone()),
            ["cnn repaired cre, d = 0.4, sigma = 100, seed 2"]
        );
        let swept = Choice {
            factors: vec![10.0],
            seeds: Vec::new(),
            ..cre.clone()
        };
        assert_eq!(
            chosen(Exhibit::FigV, swept),
            ["cnn repaired cre V=10, d = 0.4, sigma = 100, seed 0"]
        );
        let long = Choice {
            rounds: vec![2000],
            seeds: Vec::new(),
            ..cre
        };
        assert_eq!(
            chosen(Exhibit::TableStatistics, long),
            ["cnn repaired cre N=2000, d = 0.4, sigma = 100, seed 0"]
        );
        let everything = chosen(Exhibit::TableAccuracyCifar, Choice::default());
        // Eight columns in nine cells, and two more seeds of the middle one.
        assert_eq!(everything.len(), 8 * 9 + 8 * 2);
    }

    #[test]
    fn a_cell_is_a_degree_a_deviation_or_both() {
        let row: Cells = "d=0.2".parse().unwrap();
        assert!(row.has(Cell::new(0.2, 150.0)) && !row.has(Cell::MIDDLE));
        for text in ["", "d", "d=x", "d=1,d=2", "e=1"] {
            assert!(text.parse::<Cells>().is_err(), "{text}");
        }
    }
}

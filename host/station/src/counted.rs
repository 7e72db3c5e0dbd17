//! Cycles of the boards' presets are of the network they were counted with, and of no other.

use strum::VariantArray;

use crate::device::Board;
use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::{Scenario, resolve};

/// The network that the boards' presets have the cycles of.
const COUNTED: (usize, &[usize], usize) = (784, &[50], 10);

/// Says so if a scenario has the cycles of a board's preset and another network than that.
#[must_use]
pub fn counted_with_another(scenario: &Scenario, data: &Dataset) -> Option<String> {
    let (inputs, hidden) = (data.inputs(), &*scenario.learning.hidden);
    if (inputs, hidden, data.classes) == COUNTED {
        return None;
    }
    let cycles = scenario.device.cycles_per_sample;
    // Boards share their cycles, so the words name none of them.
    let of_a_board = Board::VARIANTS.iter().any(|board| {
        let preset = resolve(board.row().preset, &[]);
        preset.is_ok_and(|it| it.device.cycles_per_sample.to_bits() == cycles.to_bits())
    });
    let hidden: String = hidden.iter().map(|units| format!("-{units}")).collect();
    of_a_board.then(|| {
        format!(
            "device.cycles_per_sample = {cycles} was counted with 784-50-10 and this network is \
             {inputs}{hidden}-{}: energies are wrong until it is set; `gleaner bench device` counts it",
            data.classes
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::fleet::load_data;
    use gleaner_sim::scenario::Override;

    fn said(preset: &str, sets: &[&str]) -> Option<String> {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        let scenario = resolve(preset, &sets).unwrap();
        counted_with_another(&scenario, &load_data(&scenario).unwrap())
    }

    #[test]
    fn cycles_of_another_network_are_noticed_and_ones_own_are_not() {
        for preset in ["har", "digits", "har-rp2040", "digits-stm32l4r5"] {
            assert_eq!(said(preset, &[]), None, "{preset}");
        }
        let har = ["data.dataset=har", "partition.rule=natural"];
        for (preset, cycles) in [("rp2040", 50_300), ("stm32l4r5", 38_200)] {
            let words = said(preset, &har).unwrap();
            let start = format!("device.cycles_per_sample = {cycles} was counted with 784-50-10");
            assert!(words.starts_with(&start), "{words}");
            assert!(words.contains("this network is 192-50-7"), "{words}");
        }
        let own = [&har[..], &["device.cycles_per_sample=60000"]].concat();
        assert_eq!(said("rp2040", &own), None);
    }
}

//! A warning about cycle counts of another network.

use strum::VariantArray;

use crate::device::Board;
use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::{Scenario, resolve};

/// The network that the cycles in the boards' presets were counted with.
const COUNTED: (usize, &[usize], usize) = (784, &[50], 10);

/// Returns a warning if a scenario combines the cycles of a board's preset with another network.
#[must_use]
pub fn cycles_warning(scenario: &Scenario, data: &Dataset) -> Option<String> {
    let (inputs, hidden) = (data.inputs(), &*scenario.learning.hidden);
    if (inputs, hidden, data.classes) == COUNTED {
        return None;
    }
    let cycles = scenario.device.cycles_per_sample;
    // Boards share their cycles, so the warning names none of them.
    let of_a_board = Board::VARIANTS.iter().any(|board| {
        let preset = resolve(board.row().preset, &[]);
        preset.is_ok_and(|it| it.device.cycles_per_sample.to_bits() == cycles.to_bits())
    });
    let hidden: String = hidden.iter().map(|units| format!("-{units}")).collect();
    of_a_board.then(|| {
        format!(
            "device.cycles_per_sample = {cycles} was counted with a network 784-50-10, and this one is \
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

    fn warning(preset: &str, sets: &[&str]) -> Option<String> {
        let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
        let scenario = resolve(preset, &sets).unwrap();
        cycles_warning(&scenario, &load_data(&scenario).unwrap())
    }

    #[test]
    fn cycles_of_another_network_are_warned_about() {
        for preset in ["har", "digits", "har-rp2040", "digits-stm32l4r5"] {
            assert_eq!(warning(preset, &[]), None, "{preset}");
        }
        let har = ["data.dataset=har", "partition.rule=natural"];
        for (preset, cycles) in [("rp2040", 11_240), ("stm32l4r5", 7_711)] {
            let warning = warning(preset, &har).unwrap();
            for words in [cycles.to_string(), "192-50-7".to_owned()] {
                assert!(warning.contains(&words), "{warning}");
            }
        }
        let own = [&har[..], &["device.cycles_per_sample=60000"]].concat();
        assert_eq!(warning("rp2040", &own), None);
    }
}

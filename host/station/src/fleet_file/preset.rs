//! The preset of a fleet, and the check that a scenario has the device of every board.

use gleaner_sim::scenario::{Device, PRESETS, Scenario, ScenarioError, resolve};

use super::{Entry, FleetFile, InvalidField};
use crate::demo;
use crate::device::Board;

/// A board that would be booked with the device of another one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The preset has another device than a board.
    #[error(
        "preset `{preset}` has another clock or energy per cycle than client \"{name}\" (`{board}`): \
         use preset `{fitting}`, with --preset or as `preset = \"{fitting}\"` at the top of fleet.toml"
    )]
    Other {
        /// Preset or scenario file that was chosen.
        preset: String,
        /// Name of the client.
        name: String,
        /// Board of the client.
        board: Board,
        /// Preset that has the devices of all boards.
        fitting: &'static str,
    },
    /// A preset cannot be resolved.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl FleetFile {
    /// Returns the preset that has the devices of all boards: their own if they are of one kind,
    /// else `demo`, which has a device class for every kind.
    #[must_use]
    pub fn fitting_preset(&self) -> &'static str {
        let mut presets = self.clients.iter().filter_map(Entry::board);
        match presets.next().map(|board| board.row().preset) {
            Some(first) if presets.all(|board| board.row().preset == first) => first,
            _ => demo::PRESET,
        }
    }

    /// Checks that every board computes in `scenario`, or by its own `preset`, as its own kind does.
    /// Boards with a measured power, and links to an unknown board, are not checked.
    ///
    /// # Errors
    /// Names the client, its board and the preset to use.
    pub fn check_devices(&self, preset: &str, scenario: &Scenario) -> Result<(), DeviceError> {
        for entry in &self.clients {
            let Some(board) = entry.board().filter(|_| entry.active_w.is_none()) else {
                continue;
            };
            let own = costs(&resolve(board.row().preset, &[])?.device);
            let (found, preset) = match &entry.preset {
                Some(preset) => (costs(&resolve(preset, &[])?.device), &**preset),
                None => {
                    let device = scenario.device_of(entry.id.index());
                    ((device.frequency_hz, device.energy_coefficient), preset)
                }
            };
            if found != own {
                let (name, fitting) = (entry.name.clone(), self.fitting_preset());
                return Err(DeviceError::Other {
                    preset: preset.to_owned(),
                    name,
                    board,
                    fitting: match entry.preset {
                        Some(_) => board.row().preset,
                        None => fitting,
                    },
                });
            }
        }
        Ok(())
    }
}

const fn costs(device: &Device) -> (f64, f64) {
    (device.frequency_hz, device.energy_coefficient)
}

/// Checks that `preset` is the name of a preset or of a scenario file.
pub(super) fn check(preset: &str) -> Result<(), InvalidField> {
    if PRESETS.iter().any(|known| known.name == preset) || preset.ends_with(".toml") {
        return Ok(());
    }
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let names = names.join(", ");
    let what = format!("preset = \"{preset}\"; use a scenario file that ends in .toml, or {names}");
    Err(InvalidField::new("preset", what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::Link;
    use gleaner_sim::scenario::Override;

    fn fleet(boards: &[Option<Board>]) -> FleetFile {
        let entry = |(id, &board): (u32, &Option<Board>)| {
            let link = Link::Tcp {
                address: format!("127.0.0.1:{id}"),
            };
            Entry::new(format!("client-{id}"), id, link).with_board(board)
        };
        FleetFile {
            clients: (0..).zip(boards).map(entry).collect(),
            ..FleetFile::default()
        }
    }

    fn refused(fleet: &FleetFile, preset: &str) -> Option<(String, &'static str)> {
        let scenario = resolve(preset, &[]).unwrap();
        match fleet.check_devices(preset, &scenario) {
            Err(DeviceError::Other { name, fitting, .. }) => Some((name, fitting)),
            other => other.map(|()| None).unwrap(),
        }
    }

    #[test]
    fn a_preset_with_the_device_of_another_board_is_refused_with_the_right_one() {
        let picos = fleet(&[Some(Board::Rp2040), None]);
        for preset in ["rp2040", "har-rp2040", "digits-rp2040", "demo"] {
            assert_eq!(refused(&picos, preset), None, "{preset}");
        }
        for preset in ["paper-mlp", "stm32l4r5", "har"] {
            let expected = ("client-0".to_owned(), "rp2040");
            assert_eq!(refused(&picos, preset), Some(expected), "{preset}");
        }
        let mixed = fleet(&[Some(Board::Rp2040), Some(Board::Stm32l4r5)]);
        let expected = ("client-1".to_owned(), "demo");
        assert_eq!(refused(&mixed, "rp2040"), Some(expected));
    }

    #[test]
    fn classes_and_presets_of_clients_and_measured_powers_count() {
        let mut mixed = fleet(&[Some(Board::Rp2040), Some(Board::Stm32l4r5)]);
        let chosen = [Override::new("clients.count", 2)];
        let demo = resolve("demo", &chosen).unwrap();
        let classes = demo::classes(&mixed, &demo, &[]).unwrap();
        let demo = resolve("demo", &[chosen[0].clone(), classes]).unwrap();
        assert!(mixed.check_devices("demo", &demo).is_ok());

        mixed.clients[1].preset = Some("har-stm32l4r5".to_owned());
        assert_eq!(refused(&mixed, "rp2040"), None);
        mixed.clients[1].preset = Some("paper-mlp".to_owned());
        let expected = ("client-1".to_owned(), "stm32l4r5");
        assert_eq!(refused(&mixed, "rp2040"), Some(expected));
        mixed.clients[1].preset = None;
        (mixed.clients[1].active_w, mixed.clients[1].clock_hz) = (Some(0.04), Some(120e6));
        assert_eq!(refused(&mixed, "rp2040"), None);
    }

    #[test]
    fn the_fitting_preset_is_that_of_all_boards() {
        for (boards, preset) in [
            (
                &[Some(Board::Rp2040), None, Some(Board::Rp2040)][..],
                "rp2040",
            ),
            (&[Some(Board::M4), Some(Board::M4)], "m4"),
            (&[Some(Board::Rp2040), Some(Board::M4)], "demo"),
            (&[None], "demo"),
        ] {
            assert_eq!(fleet(boards).fitting_preset(), preset);
        }
    }

    #[test]
    fn the_preset_of_the_file_is_read_checked_and_written() {
        let mut fleet = fleet(&[None]);
        fleet.preset = Some("har-rp2040".to_owned());
        let text = fleet.to_toml();
        assert_eq!(FleetFile::parse(&text, "fleet.toml").unwrap(), fleet);
        let wrong = text.replace("har-rp2040", "pico");
        let error = FleetFile::parse(&wrong, "fleet.toml")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"pico\"") && error.contains("rp2040, "),
            "{error}"
        );
    }
}

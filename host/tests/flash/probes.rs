//! probe-rs with fake probes: the choice among several, refusals, and an unexpected chip.

use std::fmt;

use gleaner_station::device::Board;
use gleaner_station::device::probe::{Attached, Lister, ProbeError, choose};
use probe_rs::config::Registry;
use probe_rs::probe::fake_probe::FakeProbe;
use probe_rs::probe::list::{Accessibility, ProbeListItem, ProbeLister};
use probe_rs::probe::{
    DebugProbe, DebugProbeError, DebugProbeInfo, DebugProbeSelector, Probe, ProbeCreationError,
    ProbeFactory,
};

/// Makes fake probes whose chip reads as zeros.
#[derive(Debug)]
struct Fakes;

impl fmt::Display for Fakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fake")
    }
}

impl ProbeFactory for Fakes {
    fn open(&self, _: &DebugProbeSelector) -> Result<Box<dyn DebugProbe>, DebugProbeError> {
        Ok(Box::new(FakeProbe::with_mocked_core()))
    }

    fn list_probes(&self) -> Vec<ProbeListItem> {
        Vec::new()
    }
}

/// Serial numbers of connected probes, and whether access is allowed.
#[derive(Debug)]
struct Plugged(Vec<(&'static str, bool)>);

impl ProbeLister for Plugged {
    fn open(&self, _: &DebugProbeSelector) -> Result<Probe, DebugProbeError> {
        Err(ProbeCreationError::NotFound.into())
    }

    fn list_with_access(&self, _: Option<&DebugProbeSelector>) -> Vec<ProbeListItem> {
        let item = |&(serial, allowed): &(&str, bool)| {
            let serial = Some(serial.to_owned());
            let info = DebugProbeInfo::new("Probe", 0x2E8A, 0x000C, serial, &Fakes, None, false);
            let accessibility = if allowed {
                Accessibility::Accessible
            } else {
                Accessibility::PermissionDenied
            };
            ProbeListItem {
                info,
                accessibility,
            }
        };
        self.0.iter().map(item).collect()
    }
}

fn plugged(probes: &[(&'static str, bool)]) -> Lister {
    Lister::with_lister(Box::new(Plugged(probes.to_vec())))
}

#[test]
fn an_absent_probe_is_refused() {
    // Lists the USB devices of this machine.
    let error = choose(&Lister::new(), Some("dead:beef:nobody")).unwrap_err();
    let fits = matches!(error, ProbeError::None | ProbeError::Absent { .. });
    assert!(fits, "{error}");
}

#[test]
fn one_probe_is_chosen_and_two_are_distinguished_by_serial_number() {
    let one = choose(&plugged(&[("A", true)]), None).unwrap();
    assert_eq!(one.serial_number.as_deref(), Some("A"));
    let two = plugged(&[("A", true), ("B", true)]);
    let chosen = choose(&two, Some("2e8a:000c:B")).unwrap();
    assert_eq!(chosen.serial_number.as_deref(), Some("B"));
    // Two interfaces of one device are one probe.
    assert!(choose(&plugged(&[("A", true), ("A", true)]), None).is_ok());
}

#[test]
fn refusals_list_the_connected_probes() {
    assert!(matches!(choose(&plugged(&[]), None), Err(ProbeError::None)));
    let both = [("A", true), ("B", true)];
    for (probes, wanted, tokens) in [
        (&both[..], Some("2e8a:000c"), ["2e8a:000c:A", "2e8a:000c:B"]),
        (
            &both[..1],
            Some("2e8a:000c:C"),
            ["2e8a:000c:A", "2e8a:000c:C"],
        ),
        (&[("A", false)], None, ["2e8a:000c:A", "udev"]),
        (
            &both[..1],
            Some("the blue one"),
            ["the blue one", "hexadecimal"],
        ),
    ] {
        let error = choose(&plugged(probes), wanted).unwrap_err().to_string();
        for token in tokens {
            assert!(error.contains(token), "`{token}` is not in: {error}");
        }
    }
}

#[test]
fn an_unexpected_chip_is_refused() {
    let error = Attached::to(&plugged(&[("A", true)]), None, Board::Stm32l4r5).unwrap_err();
    assert!(matches!(error, ProbeError::WrongChip { .. }), "{error}");
}

#[test]
fn the_emulated_chip_has_no_debug_port() {
    let error = Attached::to(&plugged(&[("A", true)]), None, Board::M4).unwrap_err();
    assert_eq!(error, ProbeError::Emulated(Board::M4));
}

#[test]
fn every_chip_and_its_flash_are_known_to_the_library() {
    let registry = Registry::from_builtin_families();
    for board in Board::all() {
        let Some(target) = board.row().built.probe_target else {
            continue;
        };
        let target = registry.get_target_by_name(target);
        let mut loader = target.unwrap().flash_loader();
        for flash in [board.program_flash(), board.shard_flash()] {
            let bytes = vec![0; flash.len()];
            loader.add_data(flash.start.into(), &bytes).unwrap();
        }
        assert!(loader.add_data(0xF000_0000, &[0]).is_err(), "{board}");
    }
}

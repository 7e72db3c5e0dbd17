//! probe-rs itself, with probes of our own making: who is chosen, who is refused, and a chip that
//! is not the one expected.

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

/// Makes probe-rs's fake probes, whose chip reads as zeros.
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

/// What is plugged in: serial numbers, and whether we may use them.
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

fn refusal(probes: &[(&'static str, bool)], wanted: Option<&str>) -> String {
    choose(&plugged(probes), wanted).unwrap_err().to_string()
}

#[test]
fn the_library_itself_finds_no_such_probe() {
    // A real call: it lists this machine's USB devices, whatever they are.
    let error = choose(&Lister::new(), Some("dead:beef:nobody")).unwrap_err();
    let fits = matches!(error, ProbeError::None | ProbeError::Absent { .. });
    assert!(fits, "{error}");
}

#[test]
fn one_probe_is_chosen_and_two_are_told_apart_by_number() {
    let one = choose(&plugged(&[("A", true)]), None).unwrap();
    assert_eq!(one.serial_number.as_deref(), Some("A"));
    let two = plugged(&[("A", true), ("B", true)]);
    let chosen = choose(&two, Some("2e8a:000c:B")).unwrap();
    assert_eq!(chosen.serial_number.as_deref(), Some("B"));
    // Two interfaces of one device are one probe.
    assert!(choose(&plugged(&[("A", true), ("A", true)]), None).is_ok());
}

#[test]
fn every_refusal_lists_the_candidates_and_the_fix() {
    assert!(refusal(&[], None).contains("no debug probe is plugged in"));
    let several = refusal(&[("A", true), ("B", true)], Some("2e8a:000c"));
    for words in [
        "2e8a:000c:A",
        "2e8a:000c:B",
        "probe = \"vendor:product:serial\"",
    ] {
        assert!(several.contains(words), "{words} in {several}");
    }
    let absent = refusal(&[("A", true)], Some("2e8a:000c:C"));
    assert!(absent.contains("2e8a:000c:C is not plugged in") && absent.contains("2e8a:000c:A"));
    let denied = refusal(&[("A", false)], None);
    assert!(denied.contains("udev rules") && denied.contains("2e8a:000c:A"));
    let nonsense = refusal(&[("A", true)], Some("the blue one"));
    assert!(nonsense.contains("the blue one") && nonsense.contains("hexadecimal"));
}

#[test]
fn a_chip_that_is_not_the_one_expected_is_refused() {
    let error = Attached::to(&plugged(&[("A", true)]), None, Board::Stm32l4r5).unwrap_err();
    assert!(matches!(error, ProbeError::WrongChip { .. }), "{error}");
    let message = error.to_string();
    for words in ["unknown core", "`chip` says stm32l4r5", "fleet.toml"] {
        assert!(message.contains(words), "{words} in {message}");
    }
}

#[test]
fn the_emulated_chip_has_no_debug_port() {
    let error = Attached::to(&plugged(&[("A", true)]), None, Board::M4).unwrap_err();
    assert_eq!(error, ProbeError::Emulated(Board::M4));
}

#[test]
fn the_library_knows_our_chips_and_their_flash() {
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

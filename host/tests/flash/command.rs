//! `gleaner flash` as a user types it.

use std::path::Path;
use std::process::{Command, Output};

use crate::folder::{ARM, Folder, elf_file};

/// A Nucleo with a probe that nobody has, and a Pico.
const FLEET: &str = r#"
    [[client]]
    name = "nucleo"
    id = 0
    link = "serial"
    chip = "stm32l4r5"
    usb_serial = "A"
    probe = "dead:beef:nobody"

    [[client]]
    name = "pico"
    id = 1
    link = "serial"
    chip = "rp2040"
    usb_serial = "B"
    key = "0909090909090909090909090909090909090909090909090909090909090909"

    [[client]]
    name = "nameless"
    id = 2
    link = "tcp"
    address = "127.0.0.1:1"

    [[client]]
    name = "nobody"
    id = 3
    link = "simulated"
"#;

fn flash(folder: &Folder, arguments: &[&str]) -> Output {
    let fleet = folder.file("fleet.toml", FLEET);
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["flash", "--set", "partition.mean_samples=20"])
        .args(["--set", "partition.std_samples=2", "--fleet"])
        .arg(fleet)
        .args(arguments)
        .output()
        .expect("the binary runs")
}

/// Runs a flash that must fail with these words.
fn refused(folder: &Folder, arguments: &[&str], code: i32, words: &[&str]) -> String {
    let output = flash(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    for word in words {
        assert!(message.contains(word), "{word} in {message}");
    }
    message
}

fn firmware(folder: &Folder, name: &str, address: u32) -> String {
    let path = folder.file(name, elf_file(ARM, &[(address, &[7; 5_000])]));
    path.to_string_lossy().into_owned()
}

#[test]
fn a_board_or_all_must_be_chosen_and_exist() {
    let folder = Folder::new("choice");
    refused(&folder, &[], 2, &["--board", "--all"]);
    refused(&folder, &["--board", "pico", "--all"], 2, &["--all"]);
    refused(&folder, &["--board", "pica"], 1, &["pica", "nucleo, pico"]);
    refused(&folder, &["--board", "nobody"], 1, &["nothing to flash"]);
    refused(
        &folder,
        &["--board", "nameless"],
        1,
        &["nameless", "chip ="],
    );
}

#[test]
fn firmware_for_another_chip_never_reaches_a_probe() {
    let folder = Folder::new("wrong-image");
    let pico = firmware(&folder, "pico.elf", 0x1000_0000);
    let words = ["0x10000000", "stm32l4r5", "cargo fw-stm32"];
    refused(
        &folder,
        &["--board", "nucleo", "--firmware", &pico],
        1,
        &words,
    );
}

#[test]
fn without_a_probe_the_way_out_is_said() {
    let folder = Folder::new("no-probe");
    let nucleo = firmware(&folder, "nucleo.elf", 0x0800_0000);
    let message = refused(
        &folder,
        &["--board", "nucleo", "--firmware", &nucleo],
        1,
        &["nucleo"],
    );
    let expected: &[&str] = if cfg!(feature = "probe") {
        // Whatever is plugged in, it is not this one.
        &[
            "no debug probe is plugged in",
            "dead:beef:nobody is not plugged in",
        ]
    } else {
        &["cargo gleaner-probe flash"]
    };
    assert!(
        expected.iter().any(|words| message.contains(words)),
        "{message}"
    );
}

#[test]
fn a_pico_in_boot_mode_takes_firmware_and_keyed_shard_in_one_file() {
    let folder = Folder::new("drive");
    let image = firmware(&folder, "pico.elf", 0x1000_0000);
    let drive = Folder::new("drive-mounted");
    drive.file(
        "INFO_UF2.TXT",
        "Model: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n",
    );
    let place = drive.path().to_string_lossy();
    let output = flash(
        &folder,
        &["--board", "pico", "--firmware", &image, "--drive", &place],
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    for words in [
        "firmware, 5000 bytes at 0x10000000",
        "shard",
        "0x10060000",
        "restarts",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    let flashed = flash_content(&drive.path().join("gleaner.uf2"));
    assert_eq!(flashed[..5_000], [7; 5_000]);
    let shard = gleaner_shared::shard::Shard::open(&flashed[0x6_0000..]).unwrap();
    assert_eq!(shard.header().client, 1);
    assert_eq!(shard.header().key, Some([9; 32]));
}

#[test]
fn drives_of_another_kind_are_refused() {
    let folder = Folder::new("not-a-drive");
    let image = firmware(&folder, "pico.elf", 0x1000_0000);
    let place = folder.path().to_string_lossy();
    let pico = ["--board", "pico", "--firmware", &image, "--drive", &place];
    refused(&folder, &pico, 1, &["INFO_UF2.TXT", "boot mode"]);
    let nucleo = firmware(&folder, "nucleo.elf", 0x0800_0000);
    let nucleo = [
        "--board",
        "nucleo",
        "--firmware",
        &nucleo,
        "--drive",
        &place,
    ];
    refused(
        &folder,
        &nucleo,
        1,
        &["stm32l4r5", "only an rp2040 or rp2350"],
    );
}

/// Puts the payloads of a UF2 file where they say, as the boot loader does.
fn flash_content(path: &Path) -> Vec<u8> {
    let file = std::fs::read(path).expect("the file was copied");
    let mut flash = vec![0xFF; 2 << 20];
    for block in file.chunks(512) {
        let address = u32::from_le_bytes(block[12..16].try_into().unwrap());
        let at = (address - 0x1000_0000) as usize;
        flash[at..at + 256].copy_from_slice(&block[32..288]);
    }
    flash
}

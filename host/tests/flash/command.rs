//! `gleaner flash`, `gleaner fleet init`, `fleet bootsel` and `fleet image`.

use std::fs;

use gleaner_shared::shard::Shard;

use crate::image::{ARM, elf_file};
use crate::support::{Folder, Run};

/// A Nucleo with a probe that does not exist, a Pico, a board without a chip, a simulated client.
const FLEET: &str = r#"
    preset = "demo"

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

const SMALL: &str = "--set partition.mean_samples=20 --set partition.std_samples=2";
const FIRMWARE: [u8; 5_000] = [7; 5_000];

/// Returns a folder with a fleet, firmware for a Pico and a Nucleo, and the drive of a Pico.
fn lab() -> Folder {
    let folder = Folder::new();
    folder.write("fleet.toml", FLEET);
    for (name, address) in [("pico.elf", 0x1000_0000), ("nucleo.elf", 0x0800_0000)] {
        folder.write(name, elf_file(ARM, &[(address, &FIRMWARE)]));
    }
    fs::create_dir(folder.path("drive")).unwrap();
    let info = "Model: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n";
    folder.write("drive/INFO_UF2.TXT", info);
    folder
}

/// Runs commands that must end with a code and name a token.
fn refused(folder: &Folder, command: &str, cases: &[(&str, i32, &str)]) {
    for (more, code, token) in cases {
        let message = folder.gleaner(&format!("{command} {more}")).fail(*code);
        assert!(message.contains(token), "`{token}` is not in: {message}");
    }
}

/// Places the payloads of a UF2 file at their addresses, as the boot loader does.
fn flash_content(folder: &Folder, file: &str) -> Vec<u8> {
    let file = fs::read(folder.path(file)).unwrap();
    let mut flash = vec![0xFF; 2 << 20];
    for block in file.chunks(512) {
        let address = u32::from_le_bytes(block[12..16].try_into().unwrap());
        let at = (address - 0x1000_0000) as usize;
        flash[at..at + 256].copy_from_slice(&block[32..288]);
    }
    assert_eq!(flash[..5_000], FIRMWARE);
    flash
}

#[test]
fn boards_firmware_and_drives_that_do_not_fit_are_refused() {
    let folder = lab();
    let no_probe = if cfg!(feature = "probe") {
        "probe"
    } else {
        "cargo gleaner-probe flash"
    };
    let cases = [
        ("", 2, "--board"),
        ("--board pico --all", 2, "--all"),
        ("--board pica", 1, "nucleo, pico"),
        ("--board nobody", 1, "nobody"),
        ("--board nameless", 1, "chip ="),
        ("--board nucleo --firmware pico.elf", 1, "0x10000000"),
        ("--board nucleo --firmware nucleo.elf", 1, no_probe),
        (
            "--board pico --firmware pico.elf --drive .",
            1,
            "INFO_UF2.TXT",
        ),
        (
            "--board nucleo --firmware nucleo.elf --drive .",
            1,
            "rp2040",
        ),
    ];
    refused(&folder, &format!("flash {SMALL}"), &cases);
    // Boards that do not answer, have no key or are simulated do not enter boot mode.
    let cases = [
        ("", 2, "--all"),
        ("--board pico --all", 2, "--all"),
        ("--all", 1, "pico"),
        ("--board nameless", 1, "key"),
        ("--board nobody", 1, "simulated"),
    ];
    refused(&folder, "fleet bootsel --patience-s 0", &cases);
}

#[test]
fn a_pico_in_boot_mode_gets_firmware_and_keyed_shard_in_one_file() {
    let folder = lab();
    let flash = format!("flash {SMALL} --board pico --firmware pico.elf --drive drive");
    let printed = folder.succeed(&flash).stdout;
    for token in ["5000", "0x10000000", "0x10060000"] {
        assert!(printed.contains(token), "{token} in {printed}");
    }
    let flashed = flash_content(&folder, "drive/gleaner.uf2");
    let shard = Shard::open(&flashed[0x6_0000..]).unwrap();
    assert_eq!(shard.header().client, 1);
    assert_eq!(shard.header().key, Some([9; 32]));
}

#[test]
fn a_new_pico_in_boot_mode_is_listed_and_written() {
    let folder = lab();
    folder.succeed("fleet init --out new.toml --drive drive");
    let listed = folder.read("new.toml");
    // Other boards of this machine are listed before it.
    let (_, entry) = listed.rsplit_once("[[client]]").unwrap();
    let entry: toml::Table = entry.parse().unwrap();
    assert_eq!(entry["chip"].as_str(), Some("rp2040"));
    assert_eq!(entry["link"].as_str(), Some("serial"));
    assert!(entry.contains_key("key"));
    assert!(!entry.contains_key("usb_serial") && !entry.contains_key("path"));
    let name = entry["name"].as_str().unwrap();

    // A folder is no board, so no port appears.
    let flash = format!("flash {SMALL} --fleet new.toml --board {name} --wait-s 0");
    folder.fail_naming(
        &format!("{flash} --firmware pico.elf --drive drive"),
        "port",
    );
    let flashed = flash_content(&folder, "drive/gleaner.uf2");
    assert!(Shard::open(&flashed[0x6_0000..]).is_ok());
}

#[test]
fn firmware_and_shard_become_one_file_for_the_drive() {
    let folder = lab();
    folder.succeed(&format!("data shard --client 1 --out shard.bin {SMALL}"));
    folder.succeed("fleet image --firmware pico.elf --shard shard.bin --out client.uf2");
    let file = fs::read(folder.path("client.uf2")).unwrap();
    let blocks = u32::try_from(file.len() / 512).unwrap();
    for (number, block) in (0..).zip(file.chunks(512)) {
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!([word(20), word(24)], [number, blocks]);
        assert_eq!(word(28), 0xE48B_FF56, "family of the RP2040");
    }
    let flashed = flash_content(&folder, "client.uf2");
    let shard = fs::read(folder.path("shard.bin")).unwrap();
    assert_eq!(flashed[0x6_0000..][..shard.len()], shard);
    let cases = [
        (
            "--firmware pico.elf --shard pico.elf --out a.uf2",
            1,
            "data shard",
        ),
        (
            "--firmware pico.elf --shard shard.bin --out a.bin",
            1,
            ".uf2",
        ),
        (
            "--board stm32l4r5 --shard shard.bin --out a.uf2",
            1,
            "rp2040",
        ),
    ];
    refused(&folder, "fleet image", &cases);
}

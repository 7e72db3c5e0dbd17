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
    refused(&folder, &["--board", "nobody"], 1, &["can be flashed"]);
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

/// A folder that looks like the drive of a Pico in boot mode.
fn drive(name: &str) -> Folder {
    let drive = Folder::new(name);
    let info = "Model: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n";
    drive.file("INFO_UF2.TXT", info);
    drive
}

fn gleaner(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.args(arguments).output().expect("the binary runs")
}

#[test]
fn a_fresh_pico_in_boot_mode_is_listed_written_and_asked_for_its_number() {
    let (folder, drive) = (Folder::new("fresh"), drive("fresh-mounted"));
    let image = firmware(&folder, "pico.elf", 0x1000_0000);
    let fleet = folder.path().join("fresh.toml");
    let (fleet, place) = (fleet.to_string_lossy(), drive.path().to_string_lossy());
    let output = gleaner(&["fleet", "init", "--out", &fleet, "--drive", &place]);
    assert!(output.status.success(), "{output:?}");
    let listed = std::fs::read_to_string(&*fleet).unwrap();
    // Whatever else is plugged into the machine of the test comes before it.
    let (_, entry) = listed.rsplit_once("[[client]]").unwrap();
    for words in ["chip = \"rp2040\"", "link = \"serial\"", "key = "] {
        assert!(entry.contains(words), "{words} in {entry}");
    }
    assert!(
        !entry.contains("usb_serial") && !entry.contains("path"),
        "{entry}"
    );
    let name = entry.lines().find_map(|line| line.strip_prefix("name = "));
    let name = name.unwrap().trim_matches('"');

    // No board comes back from a folder: that is said, with what to do.
    let output = gleaner(&[
        "flash",
        "--set",
        "partition.mean_samples=20",
        "--set",
        "partition.std_samples=2",
        "--fleet",
        &fleet,
        "--board",
        name,
        "--firmware",
        &image,
        "--drive",
        &place,
        "--wait-s",
        "0",
    ]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("no new port"), "{message}");
    let flashed = flash_content(&drive.path().join("gleaner.uf2"));
    assert_eq!(flashed[..5_000], [7; 5_000]);
    assert!(gleaner_shared::shard::Shard::open(&flashed[0x6_0000..]).is_ok());
}

#[test]
fn a_board_that_is_not_there_or_has_no_key_is_not_sent_into_boot_mode() {
    let folder = Folder::new("bootsel");
    let fleet = folder.file("fleet.toml", FLEET);
    let fleet = fleet.to_string_lossy();
    let refused = |more: &[&str], code: i32, words: &str| {
        let arguments = [
            &["fleet", "bootsel", "--fleet", &fleet, "--patience-s", "0"],
            more,
        ];
        let output = gleaner(&arguments.concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(message.contains(words), "{words} in {message}");
    };
    refused(&[], 2, "--all");
    refused(&["--board", "pico", "--all"], 2, "--all");
    refused(&["--all"], 1, "pico: error: no answer within 0 s");
    refused(&["--board", "nameless"], 1, "it has no key");
    refused(&["--board", "nobody"], 1, "simulated");
}

#[test]
fn firmware_and_shard_are_one_file_for_the_drive() {
    let folder = Folder::new("one-file");
    let image = firmware(&folder, "pico.elf", 0x1000_0000);
    let [shard, out, bin] = ["shard.bin", "client.uf2", "client.bin"]
        .map(|name| folder.path().join(name).to_string_lossy().into_owned());
    let samples = [
        "--set",
        "partition.mean_samples=20",
        "--set",
        "partition.std_samples=2",
    ];
    let output = gleaner(&[&["shard", "--client", "1", "--out", &shard], &samples[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let made = [
        "image",
        "--firmware",
        &image,
        "--shard",
        &shard,
        "--out",
        &out,
    ];
    let output = gleaner(&made);
    assert!(output.status.success(), "{output:?}");

    let file = std::fs::read(&out).unwrap();
    let blocks = u32::try_from(file.len() / 512).unwrap();
    for (number, block) in (0..).zip(file.chunks(512)) {
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!(
            [word(20), word(24)],
            [number, blocks],
            "numbered through both"
        );
        assert_eq!(word(28), 0xE48B_FF56, "for an RP2040");
    }
    let flashed = flash_content(Path::new(&out));
    assert_eq!(flashed[..5_000], [7; 5_000]);
    let bytes = std::fs::read(&shard).unwrap();
    assert_eq!(flashed[0x6_0000..][..bytes.len()], bytes);

    for (arguments, words) in [
        (
            [
                "image",
                "--firmware",
                &image,
                "--shard",
                &image,
                "--out",
                &out,
            ],
            "gleaner shard",
        ),
        (
            [
                "image",
                "--firmware",
                &image,
                "--shard",
                &shard,
                "--out",
                &bin,
            ],
            ".uf2",
        ),
        (
            [
                "image", "--board", "stm32", "--shard", &shard, "--out", &out,
            ],
            "rp2040",
        ),
    ] {
        let output = gleaner(&arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(words), "{words} in {message}");
    }
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

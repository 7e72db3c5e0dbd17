//! The preset of a fleet file, and shares that do not fit the data.

use std::fs;

use crate::support::{Folder, Run};

const SMALL: &str = "--set partition.mean_samples=20 --set partition.std_samples=2";

/// Returns a fleet of a Pico that cannot be reached and a simulated client.
fn pico(head: &str) -> String {
    format!(
        "{head}\n[[client]]\nname = \"away\"\nid = 0\nlink = \"tcp\"\naddress = \"127.0.0.1:1\"\n\
         chip = \"rp2040\"\n[[client]]\nname = \"here\"\nid = 1\nlink = \"simulated\"\n"
    )
}

const RUN: &str = "run --quiet --rounds 1 --round-limit-s 1";

#[test]
fn commands_take_the_preset_from_the_fleet_file() {
    let folder = Folder::new();
    folder.write("fleet.toml", pico("preset = \"har-rp2040\""));
    let clients = "--set partition.rule=iid";
    folder.succeed(&format!("{RUN} {SMALL} {clients} --out own"));
    assert!(
        folder
            .read("own/scenario.toml")
            .contains("dataset = \"har\"")
    );
    assert!(
        folder
            .read("own/fleet.toml")
            .starts_with("preset = \"har-rp2040\"")
    );
    folder.succeed(&format!("{RUN} {SMALL} --preset rp2040 --out given"));
    let given = folder.read("given/scenario.toml");
    assert!(given.contains("dataset = \"mnist-subset\"") && given.contains("125000000"));
    // Without --fleet the shard is that of the paper's ten clients.
    for (fleet, inputs) in [("--fleet fleet.toml", 192), ("", 784)] {
        let shard = format!("data shard --client 0 --out shard.bin {fleet} {SMALL} {clients}");
        folder.succeed(&shard);
        let shard = fs::read(folder.path("shard.bin")).unwrap();
        let shard = gleaner_shared::shard::Shard::open(&shard).unwrap();
        assert_eq!(shard.header().inputs, inputs);
    }
}

#[test]
fn a_preset_with_another_device_than_a_board_is_refused_with_the_right_one() {
    let folder = Folder::new();
    for (head, preset) in [
        ("", ""),
        ("preset = \"paper-mlp\"", ""),
        ("preset = \"rp2040\"", "--preset stm32l4r5"),
    ] {
        folder.write("fleet.toml", pico(head));
        for command in [
            RUN,
            "doctor",
            "flash --all",
            "infer --board away --flashed 0",
            "data shard --fleet fleet.toml --client 0 --out shard.bin",
        ] {
            let message = folder.fail(&format!("{command} {preset}"));
            for token in ["\"away\"", "use preset `rp2040`"] {
                assert!(message.contains(token), "{command}: {message}");
            }
        }
    }
    assert_eq!(folder.names(""), ["fleet.toml"]);
    // A device that was chosen by hand is not refused.
    let chosen = "--set device.frequency_hz=62.5e6 --set device.energy_coefficient=4e-25";
    folder.succeed(&format!("{RUN} {SMALL} {chosen}"));
}

#[test]
fn a_new_fleet_file_has_the_preset_of_its_boards() {
    let folder = Folder::new();
    let printed = folder.succeed("fleet init").stdout;
    let file: toml::Table = folder.read("fleet.toml").parse().unwrap();
    let preset = file["preset"].as_str().unwrap();
    assert!(printed.contains(preset), "{printed}");
    let next = printed.rsplit('`').nth(1).unwrap();
    assert_eq!(next, "gleaner run --fleet fleet.toml");
    // The next command accepts it: emulators apart, its scenario resolves.
    let shard = "data shard --fleet fleet.toml --client 0 --out shard.bin";
    folder.succeed(&format!("{shard} {SMALL}"));
}

#[test]
fn clients_of_a_small_data_set_get_smaller_shares_with_one_warning() {
    let folder = Folder::new();
    let twenty = "--rounds 1 --seeds 2 --schedulers random,cre --set clients.count=20";
    let compared = folder.succeed(&format!("compare {twenty} --out cmp"));
    assert_eq!(
        compared.stderr.matches("840 ± 84").count(),
        1,
        "{}",
        compared.stderr
    );
    let shown = |more: &str| {
        let show = format!("config show --plain --set clients.count=20 {more}");
        folder.succeed(&show)
    };
    assert!(shown("").stdout.contains("mean_samples = 840"));
    for chosen in [
        "--set partition.mean_samples=900",
        "--set data.dataset=mnist",
        "--set clients.count=10",
    ] {
        let shown = shown(chosen);
        assert_eq!(shown.stderr, "", "{chosen}");
        assert!(!shown.stdout.contains("mean_samples = 840"), "{chosen}");
    }
    let refused = "simulate --rounds 1 --out lab --set clients.count=20";
    let refused = format!("{refused} --set partition.mean_samples=1000");
    folder.fail_naming(&refused, "partition.mean_samples = 840");
    folder.write(
        "lab.toml",
        "[clients]\ncount = 20\n[partition]\nmean_samples = 1000\n",
    );
    let refused = folder
        .gleaner("simulate --preset lab.toml --rounds 1")
        .fail(1);
    assert!(refused.contains("partition.std_samples = 84"), "{refused}");
}

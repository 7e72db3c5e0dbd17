//! Digests of logs and models. They are the same on every machine: on 1, 2 and 4 threads, with every
//! kernel this machine has, in debug builds (`cargo test`) and in release builds (`cargo xtask test`,
//! which names the program in `GLEANER_PROGRAM`).
//!
//! A failure prints the new digests. A change that alters them on purpose is named in the changelog.

use std::fs;
use std::process::Command;

use gleaner_learn::train::Kernel;

use crate::support::{Folder, Run, SMALL};

/// The paper's MLP in float under CRE.
const FLOAT: &str = "\
c37d592f37c90b8471ea83605d47c02f901058c59052ff7d9e93b2a133c62293  rounds.jsonl
8fe5807960c8b4d6f95026432d8abbab5bb5f967ea3041887ea004c3cf6c4221  clients.csv
36f01744d8229fcba883c0bbd097e2b7697cbc378bc2656623f3175ab67dba9a  model.safetensors
";
/// The same under glean, whose server takes the spectral step.
const GLEAN: &str = "\
31d30213431beb45fcf28addfa9ab2885ebc259c69d01cda2b9cc1ad0fa75c06  rounds.jsonl
c9e2ddfc6c43109ff0f4467bbac5239de94dd2d69e1f571a2411955ed47e227b  clients.csv
32e8852b7b9a3f4e755ea70af608bfe9caeed285108e0f8acde72da44d2aed02  model.safetensors
";
/// The firmware's integers, with estimates from uploads alone.
const FIXED: &str = "\
051c6b60a8bfb84fa4019d226a5b80c7f33d032dd39cbb3ba133329154de08a7  rounds.jsonl
96e96bf4f47f2d73855e14bf2ae606f600536624853f1dedb072303d9f5676bc  clients.csv
50bea71c177118d4b4e51e5d74276871b7919feb1fa5d99078b8904b445a4eff  model.safetensors
";
/// The convolutional network, on noise in the shape of CIFAR-10.
const CNN: &str = "\
ba94aff072707726b2822f1c1f490247779579958b6987082262302ef5771aad  rounds.jsonl
8f3bc407eaa71c054012bbfa7c5be49a9449daa23ca0719d171583c353e8ce77  clients.csv
b16dc7958eda043fe5579a79a6c08ad143d8f2a47f7a33d3cdb5142ee23f2682  model.safetensors
";

fn assert_everywhere(folder: &Folder, settings: &str, golden: &str) {
    let program = std::env::var_os("GLEANER_PROGRAM");
    let program = program.unwrap_or(env!("CARGO_BIN_EXE_gleaner").into());
    let kernels = Kernel::available();
    let by_threads = ["1", "4"].map(|threads| (threads, kernels[0]));
    let by_kernel = kernels[1..].iter().map(|&kernel| ("2", kernel));
    for (threads, kernel) in by_threads.into_iter().chain(by_kernel) {
        let out = format!("{kernel}-{threads}");
        // Relative paths keep the folder out of the scenario.
        let mut simulate = Command::new(&program);
        simulate.current_dir(folder.root());
        simulate.env("GLEANER_KERNEL", kernel.name());
        simulate.args(["simulate", "--quiet", "--threads", threads, "--out", &out]);
        simulate.args(settings.split_whitespace()).succeed();
        let found = folder.results(&out);
        assert_eq!(found, golden, "{threads} threads, kernel {kernel}");
    }
}

#[test]
fn float_clients_under_cre() {
    let settings = format!("{SMALL} --rounds 6");
    assert_everywhere(&Folder::new(), &settings, FLOAT);
}

#[test]
fn float_clients_under_glean() {
    let settings = format!("{SMALL} --rounds 6 --scheduler glean");
    assert_everywhere(&Folder::new(), &settings, GLEAN);
}

#[test]
fn fixed_point_clients() {
    let settings =
        format!("{SMALL} --rounds 4 --set clients.kind=fixed-point --set cre.estimates=uplink");
    assert_everywhere(&Folder::new(), &settings, FIXED);
}

#[test]
fn the_convolutional_network() {
    let folder = Folder::new();
    write_noise(&folder);
    // Uploads take longer than those of the perceptron; then two epochs fit.
    let settings = "--scheduler random --rounds 2 --set learning.model=cnn \
                    --set data.dataset=cifar10 --set data.directory=images \
                    --set partition.rule=iid --set partition.mean_samples=12 \
                    --set partition.std_samples=3 --set radio.channels=2 \
                    --set device.deadline_s=0.2 --set device.cycles_per_sample=1250000";
    assert_everywhere(&folder, settings, CNN);
}

/// Writes six small batches in the format of CIFAR-10.
fn write_noise(folder: &Folder) {
    fs::create_dir(folder.path("images")).unwrap();
    let mut number = 0u32;
    let mut byte = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    };
    let training = (1..=5).map(|batch| format!("data_batch_{batch}.bin"));
    for name in training.chain(["test_batch.bin".to_owned()]) {
        let mut bytes = Vec::new();
        for _ in 0..40 {
            bytes.push(byte() % 10);
            bytes.extend(std::iter::repeat_with(&mut byte).take(3 * 32 * 32));
        }
        folder.write(&format!("images/{name}"), bytes);
    }
}

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
bee273bc463fd1b508f118503128d38f8d6a2877f5bd4c1b4a12993e3260d5c4  rounds.jsonl
fedaacffdfd64418eae66a8780134f61919e38511692644961337526ac5768aa  clients.csv
36f01744d8229fcba883c0bbd097e2b7697cbc378bc2656623f3175ab67dba9a  model.safetensors
";
/// The same under glean, whose server takes the spectral step.
const GLEAN: &str = "\
6d336ac1ea6525506bec4f4e85b7277d4c6782b0ab22d0deaffc49dfe22e0d1f  rounds.jsonl
291a11c2401aae3b791fb3c5236216d104ff4de3b47ff7573ee4bc4e89749375  clients.csv
32e8852b7b9a3f4e755ea70af608bfe9caeed285108e0f8acde72da44d2aed02  model.safetensors
";
/// The firmware's integers, with estimates from uploads alone.
const FIXED: &str = "\
89eff4afcd0b7073d932a72387b2814fd2fc94c6e5b0006157df1dfe212a97cb  rounds.jsonl
f7a4a338ae4a4860ec87d4cf1cf21c91864b55534cfca82c2788c1545eef0f27  clients.csv
50bea71c177118d4b4e51e5d74276871b7919feb1fa5d99078b8904b445a4eff  model.safetensors
";
/// The convolutional network, on noise in the shape of CIFAR-10.
const CNN: &str = "\
281ee5512a6803c887b4620c945bdb84262bb6cc2bdec2b3f5d9ba366f5401d1  rounds.jsonl
ba5ef48963318527ba157d60cf7bdcd212e0137b452210ef120047a4303cd219  clients.csv
2ff70442ded30830dde4b45d682a57393cfb4152015c22142c1b30db76aa0812  model.safetensors
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

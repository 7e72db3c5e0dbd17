//! `cargo figures infer`: boards in their emulators name the digits of a whole test set, and every class
//! and confidence is that of the host's fixed-point model, to the bit.

use gleaner_shared::board;
use gleaner_shared::mlp::PaperParams;
use gleaner_shared::wire::message::ModelHash;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::{on_m4, on_rp2040, on_stm32};
use gleaner_tests::inference::{Answers, as_the_host};
use gleaner_tests::progress;
use gleaner_tests::reference::{initial, trained};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;
/// Three milliseconds of an RP2040 at 125 MHz.
const MOST_CYCLES: u64 = 375_000;

/// Options of `cargo figures infer`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose test samples: `mnist` (10,000; `gleaner data fetch mnist`) or `mnist-subset`, which
    /// is part of the crate.
    #[arg(long, default_value = "mnist")]
    data: String,
    /// Digits a Cortex-M4 in QEMU is asked for; 0 leaves it out.
    #[arg(long, default_value_t = 10_000)]
    m4: usize,
    /// Digits an RP2040 in rp2040js is asked for.
    #[arg(long, default_value_t = 1_000)]
    rp2040: usize,
    /// Digits an STM32 in Unicorn is asked for.
    #[arg(long, default_value_t = 1_000)]
    stm32: usize,
}

/// Tells whether every board said what the host says, and the Pico in time.
pub fn run(args: &Args) -> bool {
    let test = match Digits::test_set(&args.data) {
        Ok(test) => test,
        Err(error) => {
            println!("{error}");
            return false;
        }
    };
    let known = Digits::take(0, 1_000);
    let order = training_order(1, 20, ModelHash::default());
    let model = trained(&initial(SEED), &known, CLIENT, &order);
    println!(
        "{}: {} test digits; a model trained on 1,000 others",
        args.data,
        test.pixels.len()
    );

    let asking = |most_samples: usize, count: usize| Asking {
        model: &model,
        test: &test,
        most_samples,
        count,
    };
    let m4 = asking(board::M4.most_samples, args.m4)
        .all("m4", |shard| on_m4(Program::Client, Some(shard)));
    let rp2040 = asking(board::RP2040.most_samples, args.rp2040)
        .all("rp2040", |shard| on_rp2040(Program::Client, Some(shard)));
    let stm32 = asking(board::STM32L4R5.most_samples, args.stm32)
        .all("stm32", |shard| on_stm32(Some(shard)));
    say("m4 (instructions)", m4);
    say(
        "rp2040 (cycles of one core, with the flash's cache)",
        rp2040,
    );
    say("stm32 (cycles without waits for flash)", stm32);
    let in_time = rp2040.is_some_and(|answers| answers.most <= MOST_CYCLES);
    m4.is_some() && stm32.is_some() && in_time
}

/// Digits for one kind of board.
struct Asking<'a> {
    model: &'a PaperParams,
    test: &'a Digits,
    /// As many as one board holds.
    most_samples: usize,
    count: usize,
}

impl Asking<'_> {
    /// Asks one board after another; nothing without the emulator.
    fn all<W: Wire>(
        &self,
        name: &'static str,
        start: impl Fn(&[u8]) -> Option<W>,
    ) -> Option<Answers> {
        let count = self.count.min(self.test.pixels.len());
        let bar = progress(name, count as u64);
        let mut answers = Answers::default();
        for mut digits in self.test.pieces(self.most_samples) {
            let left = count - answers.count as usize;
            digits.pixels.truncate(left);
            digits.labels.truncate(left);
            if left == 0 {
                break;
            }
            let mut station = Station::new(start(&digits.shard(CLIENT, None))?);
            let found = as_the_host(&mut station, self.model, &digits, || bar.inc(1));
            answers = answers.and(found);
        }
        bar.finish_and_clear();
        Some(answers)
    }
}

fn say(board: &str, answers: Option<Answers>) {
    let Some(it) = answers else {
        println!("  {board}: no emulator");
        return;
    };
    if it.count == 0 {
        return;
    }
    println!(
        "  {board}: {} digits as the host says them, {} right; a digit takes {} at most, {} on average",
        it.count,
        it.right,
        it.most,
        it.cycles / it.count
    );
}

//! A custom scheduler: every channel goes to the client with the best gain on it, and all
//! participants train for as many epochs as the slowest can. Runs five rounds on the embedded images.
//!
//! ```sh
//! cargo run --release -p gleaner-host --example scheduler
//! ```

use std::error::Error;

use gleaner_cre::optim::Upload;
use gleaner_cre::optim::epochs::{epoch_limit, whole_epochs};
use gleaner_sim::ClientId;
use gleaner_sim::policy::{Decision, Policy, PolicyError, View};
use gleaner_sim::round::{Engine, Order, environment};
use gleaner_sim::{fleet, report::table::Table, scenario};

struct BestChannelFirst;

impl Policy for BestChannelFirst {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let instance = view.instance;
        let power_w = instance.power_max_w;
        let mut free: Vec<usize> = (0..instance.clients()).collect();
        let mut pairs = Vec::new();
        for channel in 0..instance.channels {
            let gain = |client: usize| instance.gain[client][channel];
            let best = (0..free.len()).max_by(|&a, &b| gain(free[a]).total_cmp(&gain(free[b])));
            let Some(client) = best.map(|at| free.swap_remove(at)) else {
                break;
            };
            let upload = Upload {
                client,
                channel,
                power_w,
            };
            // A client that cannot finish one epoch before the deadline is not scheduled.
            let epochs = whole_epochs(epoch_limit(instance, &upload));
            pairs.extend((epochs >= 1).then_some((client, channel, epochs)));
        }
        let epochs = pairs.iter().map(|pair| pair.2).min().unwrap_or(0);
        pairs.sort_unstable();
        let order = |&(client, channel, _): &(usize, usize, u32)| Order {
            client: ClientId::at(client),
            channel,
            power_w,
            epochs,
            bit_rate_bps: None,
        };
        Ok(Decision {
            orders: pairs.iter().map(order).collect(),
            ..Decision::default()
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = scenario::resolve("paper-mlp", &["run.rounds=5".parse()?])?;
    let data = fleet::load_data(&scenario)?;
    let mut clients = fleet::build(&scenario, &data, 0)?;
    let (fleet, examiner) = (&mut *clients.fleet, &*clients.examiner);
    let environment = environment::of(&scenario)?;
    let engine = Engine::new(&scenario, fleet, examiner, environment, clients.model);
    let mut engine = engine.with_policy(Box::new(BestChannelFirst));
    let mut table = Table::new(&["round", "clients", "epochs", "accuracy %", "energy mJ"]);
    while !engine.is_finished() {
        for log in engine.step()? {
            let round = log.round;
            table.row(vec![
                round.round.to_string(),
                format!("{:?}", round.participants),
                round.epochs.to_string(),
                format!("{:.1}", 100.0 * round.accuracy.unwrap_or(f64::NAN)),
                format!("{:.2}", 1e3 * (round.compute_j + round.radio_j)),
            ]);
        }
    }
    print!("{}", table.to_text());
    Ok(())
}

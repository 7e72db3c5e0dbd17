//! Reads the logs of a run: accuracy and energy of every round, and the client that spent most.
//!
//! ```sh
//! cargo run --release -p gleaner-host --bin gleaner -- simulate --rounds 20 --out runs/mine
//! cargo run --release -p gleaner-host --example logs -- runs/mine
//! ```

use std::error::Error;

use gleaner_sim::report::table::Table;
use gleaner_sim::round::ClientRow;
use gleaner_sim::run::{RunDirectory, each_client, read_rounds};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1);
    let directory = RunDirectory::new(path.ok_or("name the directory of a run")?);
    let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS))?;
    let path = directory.file(RunDirectory::CLIENTS);
    let clients: Vec<ClientRow> = each_client(&path)?.collect::<Result<_, _>>()?;
    let spent_j = |row: &ClientRow| row.compute_j + row.radio_j;
    let mut table = Table::new(&["round", "accuracy %", "energy mJ", "most spent by"]);
    for round in &rounds {
        let rows = clients.iter().filter(|row| row.round == round.round);
        let most = rows.max_by(|a, b| spent_j(a).total_cmp(&spent_j(b)));
        table.row(vec![
            round.round.to_string(),
            match round.accuracy {
                Some(accuracy) => format!("{:.1}", 100.0 * accuracy),
                None => "-".to_owned(),
            },
            format!("{:.2}", 1e3 * (round.compute_j + round.radio_j)),
            match most {
                Some(row) => format!("client {}, {:.2} mJ", row.client, 1e3 * spent_j(row)),
                None => "-".to_owned(),
            },
        ]);
    }
    print!("{}", table.to_text());
    Ok(())
}

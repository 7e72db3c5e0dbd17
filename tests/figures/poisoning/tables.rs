//! The tables of a setting, as Markdown.

use gleaner_sim::report::table::Table;

use super::Measured;
use super::grid::{ATTACKS, Attack, Named, Outcome, ROWS, Row};

/// Prints the tables of a setting. A cell under attack has one value for each number of hostile clients.
pub fn print(measured: &Measured, most: i64) {
    let setting = measured.setting;
    let clients = setting.participation.clients();
    println!("\n### {}, {}\n", setting.task, setting.participation);
    println!(
        "Accuracy in %, by 1 to {most} hostile clients of {clients}:\n\n{}",
        table(measured, &measured.rows, most, |row, attack| {
            format!("{:.1}", measured.accuracy(row, attack).0)
        })
    );
    println!(
        "Standard deviations:\n\n{}",
        table(measured, &measured.rows, most, |row, attack| {
            format!("{:.1}", measured.accuracy(row, attack).1)
        })
    );
    let trusts = |row: &&Row| **row == ROWS[1] || row.rule == "fltrust";
    let named: Vec<Row> = measured.rows.iter().filter(trusts).copied().collect();
    for (what, of) in [
        (
            "Updates of hostile clients that were named",
            (|one| one.hostile) as for<'a> fn(&'a Outcome) -> Named,
        ),
        ("Updates of honest clients that were named", |one| {
            one.honest
        }),
        ("Rounds with orders for hostile clients alone", |one| {
            one.alone
        }),
    ] {
        println!(
            "{what}, in %:\n\n{}",
            table(measured, &named, most, |row, attack| {
                let mut all = Named::default();
                let outcomes = measured.of(row, attack).iter();
                outcomes.for_each(|outcome| all.add(of(outcome)));
                format!("{:.0}", all.percent())
            })
        );
    }
}

/// Returns a table of one row for each rule and one column for each attack.
fn table(
    measured: &Measured,
    rows: &[Row],
    most: i64,
    cell: impl Fn(Row, Option<(Attack, i64)>) -> String,
) -> String {
    let mut header = vec!["rule".to_owned(), "no attack".to_owned()];
    header.extend(ATTACKS.map(|(attack, factor)| format!("{attack} {factor}")));
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for &row in rows {
        let mut cells = vec![row.name(measured.setting), cell(row, None)];
        cells.extend(ATTACKS.map(|attack| {
            let by = (1..=most).map(|hostile| cell(row, Some((attack, hostile))));
            by.collect::<Vec<_>>().join(" / ")
        }));
        table.row(cells);
    }
    table.to_markdown()
}

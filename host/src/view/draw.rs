//! The view as pixels of a terminal: boards, accuracy, log.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Cell, Chart, Dataset, GraphType, Paragraph, Row, Table};

use super::state::{BoardState, ViewState};

/// Cells of a progress bar.
const BAR: usize = 6;
/// Rows the accuracy needs with its frame.
const ACCURACY: u16 = 6;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &ViewState) {
    let boards = u16::try_from(state.boards.len()).unwrap_or(u16::MAX);
    let boards = boards.saturating_add(3);
    // On a low screen the log gives way first.
    let room = frame
        .area()
        .height
        .saturating_sub(boards.saturating_add(ACCURACY));
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(boards),
        Constraint::Min(ACCURACY),
        Constraint::Length(room.clamp(4, 10)),
    ])
    .areas(frame.area());
    draw_boards(frame, top, state);
    draw_accuracy(frame, middle, state);
    let newest = usize::from(bottom.height.saturating_sub(2));
    let older = state.lines.len().saturating_sub(newest);
    let lines: Vec<Line<'_>> = state
        .lines
        .iter()
        .skip(older)
        .map(|line| Line::raw(line.as_str()))
        .collect();
    let mut around = Block::bordered().title(" log ");
    if let Some(calls) = &state.calls {
        around = around.title_bottom(format!(" {calls} "));
    }
    let log = Paragraph::new(lines).block(around);
    frame.render_widget(log, bottom);
}

fn draw_boards(frame: &mut Frame<'_>, area: Rect, state: &ViewState) {
    // The usual 80 columns hold every word and figure; what is left goes to the names.
    let widths = [
        Constraint::Min(12),
        Constraint::Length(15),
        Constraint::Length(13),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(11),
        Constraint::Length(6),
    ];
    let head = [
        "client", "state", "store J", "channel", "power", "progress", "rounds",
    ];
    let title = match state.total {
        0 => " starting; q leaves ".to_owned(),
        total => format!(
            " {} of {total} rounds done, {:.1} mJ spent; q leaves ",
            state.round,
            1e3 * state.spent_j
        ),
    };
    let table = Table::new(state.boards.iter().map(row), widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

fn row(board: &BoardState) -> Row<'_> {
    let colour = match (board.present, board.doing.as_str()) {
        (false, _) => Color::Red,
        (_, "training" | "uploading" | "downloading") => Color::Yellow,
        _ => Color::Green,
    };
    let store = match board.stored_j {
        Some(stored) => format!("{stored:.3}/{:.0}", board.storage_j),
        None => "-".to_owned(),
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    Row::new([
        Cell::new(board.name.as_str()),
        Cell::new(board.doing.as_str()).style(Style::new().fg(colour)),
        Cell::new(store),
        Cell::new(or_dash(board.channel.map(|channel| channel.to_string()))),
        Cell::new(or_dash(
            board.power_w.map(|power| format!("{:.1} mW", 1e3 * power)),
        )),
        Cell::new(board.progress.map_or_else(String::new, bar)),
        Cell::new(board.rounds.to_string()),
    ])
}

/// Writes a share as a bar with its percentage.
fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = (share * BAR as f64).round() as usize;
    let (done, left) = ("#".repeat(full), ".".repeat(BAR - full));
    format!("{done}{left} {:3.0}%", 100.0 * share)
}

fn draw_accuracy(frame: &mut Frame<'_>, area: Rect, state: &ViewState) {
    let newest = state
        .accuracy
        .last()
        .map_or(String::new(), |(_, accuracy)| {
            format!(" accuracy {accuracy:.1} % ")
        });
    let data = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(Color::Cyan))
        .data(&state.accuracy);
    let rounds = state.total.max(1) as f64;
    let labels = |low: f64, high: f64| [format!("{low:.0}"), format!("{high:.0}")];
    let chart = Chart::new(vec![data])
        .block(Block::bordered().title(newest))
        .x_axis(
            Axis::default()
                .bounds([0.0, rounds])
                .labels(labels(0.0, rounds)),
        )
        .y_axis(
            Axis::default()
                .bounds([0.0, 100.0])
                .labels(labels(0.0, 100.0)),
        );
    frame.render_widget(chart, area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_host::fleet::file::template;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(state: &ViewState, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state)).unwrap();
        let cells = terminal.backend().buffer().content().iter();
        cells.map(|cell| cell.symbol()).collect()
    }

    #[test]
    fn eighty_columns_cut_no_word_and_no_figure() {
        let mut state = ViewState::new(&template());
        let board = &mut state.boards[0];
        board.doing = "lost this round".to_owned();
        board.stored_j = Some(1_000.0);
        board.power_w = Some(0.1995);
        board.progress = Some(1.0);
        board.rounds = 123_456;
        let text = screen(&state, 80, 24);
        for words in [
            "lost this round",
            "1000.000/1000",
            "199.5 mW",
            "###### 100%",
            "123456",
            "simulated-2",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }

    #[test]
    fn boards_accuracy_and_log_are_on_the_screen() {
        let mut state = ViewState::new(&template());
        state.start(3, 10);
        state.accuracy.push((3.0, 61.5));
        state.boards[0].progress = Some(0.5);
        state.boards[0].channel = Some(2);
        state.note("pico-0: hello".to_owned());
        state.calls = Some("listens on 127.0.0.1:7453: 3 let in".to_owned());
        let text = screen(&state, 110, 30);
        for words in [
            "pico-0",
            "m4-1",
            "3 of 10 rounds done",
            "###...  50%",
            "61.5 %",
            "hello",
            "listens on 127.0.0.1:7453: 3 let in",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }

    #[test]
    fn a_low_screen_keeps_every_board_and_the_newest_line() {
        let mut state = ViewState::new(&template());
        state.boards = vec![state.boards[0].clone(); 10];
        state.boards[9].name = "the last".to_owned();
        (0..8).for_each(|line| state.note(format!("line {line}")));
        let text = screen(&state, 80, 24);
        for words in ["the last", "line 7"] {
            assert!(text.contains(words), "{words} in {text}");
        }
        assert!(!text.contains("line 0"), "{text}");
    }

    #[test]
    fn a_tiny_terminal_is_no_reason_to_panic() {
        for (width, height) in [(1, 1), (10, 3), (40, 8)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let state = ViewState::new(&template());
            terminal.draw(|frame| draw(frame, &state)).unwrap();
        }
    }
}

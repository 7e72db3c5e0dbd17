//! Draws the view: boards, curves and log.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};

use super::charts::draw_charts;
use super::state::{BoardState, ViewState};
use gleaner_station::books::{Booked, percent};

/// Width of a progress bar.
const BAR: usize = 4;
/// Height of the curves with their frame.
const CHARTS: u16 = 6;
/// Width of the longest name that is not cut.
const NAME: usize = 12;
/// Width of the other columns but the history, with gaps.
const FIGURES: usize = 13 + 12 + 13 + 2 + 8 + 9 + 6 + 8;
/// Least width of the history and of the bars of progress.
const HISTORY: usize = 3;

/// Draws the state at `now`.
pub fn draw(frame: &mut Frame<'_>, state: &ViewState, now: Instant) {
    let boards = u16::try_from(state.boards.len()).unwrap_or(u16::MAX);
    let boards = boards.saturating_add(3);
    // On a low screen the log shrinks first.
    let room = frame
        .area()
        .height
        .saturating_sub(boards.saturating_add(CHARTS));
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(boards),
        Constraint::Min(CHARTS),
        Constraint::Length(room.clamp(4, 10)),
    ])
    .areas(frame.area());
    draw_boards(frame, top, state, now);
    draw_charts(frame, middle, state);
    let newest = usize::from(bottom.height.saturating_sub(2));
    let older = state.lines.len().saturating_sub(newest);
    let lines: Vec<Line<'_>> = state
        .lines
        .iter()
        .skip(older)
        .map(|line| Line::raw(line.as_str()))
        .collect();
    let mut around = Block::bordered().title(" log ");
    if let Some(listener) = &state.listener {
        around = around.title_bottom(format!(" {listener} "));
    }
    let log = Paragraph::new(lines).block(around);
    frame.render_widget(log, bottom);
}

fn draw_boards(frame: &mut Frame<'_>, area: Rect, state: &ViewState, now: Instant) {
    let names = state.boards.iter().map(|board| board.name.chars().count());
    let name = names.max().unwrap_or_default().clamp(6, NAME);
    // 80 columns hold every word and figure; with more, the history takes the rest.
    let room = usize::from(area.width).saturating_sub(2 + name + FIGURES);
    let (room, bars) = match room >= HISTORY {
        true => (Some(room), "progress"),
        false => (None, "done"),
    };
    let figures = [13, 2, 8, if room.is_some() { 9 } else { 4 }, 6];
    let widths = [name, 13, 12].into_iter().chain(room).chain(figures);
    let widths = widths.map(|width| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX)));
    let figures = ["booked/model", "ch", "power", bars, "rounds"];
    let head = ["client", "state", "store"].into_iter();
    let head = head.chain(room.map(|_| "history")).chain(figures);
    let rows = state.boards.iter().map(|board| row(board, room));
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(
            Block::bordered()
                .title(title(state, now))
                .title_bottom(bottom(state)),
        );
    frame.render_widget(table, area);
}

/// Returns round, phase, spent energy and the estimated remaining time.
fn title(state: &ViewState, now: Instant) -> String {
    let (total, spent_mj) = (state.total, 1e3 * state.spent_j);
    let left = state.rounds_left();
    match (total, left) {
        (0, _) => " starting ".to_owned(),
        (_, 0) => format!(" all {total} rounds done; {spent_mj:.1} mJ spent "),
        _ => {
            let (round, phase) = (state.round + 1, state.phase());
            let time = state.times.left(left, now).map_or(String::new(), |time| {
                format!("; about {} left", duration(time))
            });
            format!(" round {round} of {total}: {phase}; {spent_mj:.1} mJ spent{time} ")
        }
    }
}

/// Returns the energy of the boards in their ledgers and in the model.
fn bottom(state: &ViewState) -> String {
    let it = &state.booked;
    match it.rounds {
        0 => " q quits ".to_owned(),
        _ => format!(
            " q quits; boards booked {:.1} mJ, modelled {:.1} mJ ({}) ",
            1e3 * it.board_j(),
            1e3 * it.model_j(),
            percent(it.difference())
        ),
    }
}

fn row(board: &BoardState, room: Option<usize>) -> Row<'_> {
    let colour = match (board.present, board.doing.as_str()) {
        (false, _) => Color::Red,
        (_, "training" | "uploading" | "downloading") => Color::Yellow,
        _ => Color::Green,
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let progress = |share| match room {
        Some(_) => bar(share),
        None => format!("{:3.0}%", 100.0 * share),
    };
    let history = room.map(|room| {
        let sparks = sparks(board, room);
        Cell::new(sparks).style(Style::new().fg(Color::Yellow))
    });
    let energy = if board.booked.differs() {
        Color::Red
    } else {
        Color::Reset
    };
    let cells = [
        Cell::new(board.name.as_str()),
        Cell::new(board.doing.as_str()).style(Style::new().fg(colour)),
        Cell::new(or_dash(
            board.stored_j.map(|stored| store(stored, board.storage_j)),
        )),
    ];
    let figures = [
        Cell::new(booked(&board.booked)).style(Style::new().fg(energy)),
        Cell::new(or_dash(board.channel.map(|channel| channel.to_string()))),
        Cell::new(or_dash(
            board.power_w.map(|power| format!("{:.1} mW", 1e3 * power)),
        )),
        Cell::new(board.progress.map_or_else(String::new, progress)),
        Cell::new(board.rounds.to_string()),
    ];
    Row::new(cells.into_iter().chain(history).chain(figures))
}

/// Formats the energy in a board's ledger and in the model, in a unit that keeps both short.
fn booked(it: &Booked) -> String {
    if it.rounds == 0 {
        return "-".to_owned();
    }
    let most_j = it.board_j().max(it.model_j());
    let (scale, unit) = if most_j < 1.0 {
        (1e3, "mJ")
    } else {
        (1.0, "J")
    };
    let decimals = usize::from(scale * most_j < 100.0);
    let (board, model) = (scale * it.board_j(), scale * it.model_j());
    format!("{board:.decimals$}/{model:.decimals$} {unit}")
}

/// Formats energy and capacity of a store.
fn store(stored_j: f64, storage_j: f64) -> String {
    match storage_j < 1.0 {
        true => format!("{:.1}/{:.0} mJ", 1e3 * stored_j, 1e3 * storage_j),
        false => format!("{stored_j:.0}/{storage_j:.0} J"),
    }
}

/// Draws the fill level of a store after each round, the newest last.
fn sparks(board: &BoardState, room: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = board.filled();
    let newest = filled.len().saturating_sub(room);
    let level = |percent: f64| LEVELS[((percent / 12.5) as usize).min(LEVELS.len() - 1)];
    filled[newest..]
        .iter()
        .map(|&(_, percent)| level(percent))
        .collect()
}

/// Formats a share as a bar with its percentage.
fn bar(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = (share * BAR as f64).round() as usize;
    let (done, left) = ("#".repeat(full), ".".repeat(BAR - full));
    format!("{done}{left} {:3.0}%", 100.0 * share)
}

/// Formats a duration in its two largest units.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::energy::{Phase, Spent};
    use gleaner_shared::units::PicoJoules;
    use gleaner_sim::scenario::Scenario;
    use gleaner_station::fleet_file::template;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(state: &ViewState, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let now = Instant::now();
        terminal.draw(|frame| draw(frame, state, now)).unwrap();
        let cells = terminal.backend().buffer().content().iter();
        cells.map(|cell| cell.symbol()).collect()
    }

    /// A board with the widest text in every column.
    fn busy() -> ViewState {
        let mut state = ViewState::new(&template(), &Scenario::default());
        let now = Instant::now();
        let before = now.checked_sub(Duration::from_secs(599)).unwrap_or(now);
        state.start(98, 1_000, before);
        state.times.mark(now);
        state.spent_j = 12.3456;
        let board = &mut state.boards[0];
        board.doing = "no update".to_owned();
        board.storage_j = 0.15;
        board.stored_j = Some(0.1234);
        board.history = vec![(0, 0.0), (1, 0.075), (2, 0.15)];
        board.channel = Some(12);
        board.power_w = Some(0.1995);
        board.progress = Some(1.0);
        board.rounds = 123_456;
        state.boards[1].stored_j = Some(1_000.0);
        let energy = |mj: u64| {
            let mut spent = Spent::ZERO;
            spent[Phase::Train] = PicoJoules(mj * 1_000_000_000);
            spent
        };
        let booked = Booked {
            rounds: 99,
            model: energy(855),
            board: energy(999),
        };
        (state.boards[0].booked, state.booked) = (booked, booked);
        state
    }

    #[test]
    fn eighty_columns_cut_no_word_and_no_figure() {
        for (width, height) in [(80, 24), (120, 40)] {
            let text = screen(&busy(), width, height);
            for words in [
                "round 99 of 1000: planning; 12345.6 mJ spent; about 150 h 4 min left",
                "q quits",
                "no update",
                "123.4/150 mJ",
                "999/855 mJ",
                "boards booked 999.0 mJ, modelled 855.0 mJ (+16.8 %)",
                "1000/1000 J",
                "199.5 mW",
                "100%",
                "123456",
                "simulated-2",
            ] {
                assert!(text.contains(words), "{words} in {text}");
            }
        }
    }

    #[test]
    fn a_wide_screen_shows_history_and_bars() {
        for words in ["▁▅█", "#### 100%"] {
            assert!(screen(&busy(), 90, 24).contains(words), "{words}");
        }
    }

    #[test]
    fn a_wide_screen_shows_the_stores_beside_the_accuracy() {
        assert!(!screen(&busy(), 80, 24).contains("stores, % full"));
        assert!(screen(&busy(), 120, 40).contains("stores, % full"));
    }

    #[test]
    fn a_history_longer_than_its_column_keeps_its_newest_rounds() {
        let mut state = busy();
        state.boards[0].history = (0..500).map(|round| (round, 0.0)).collect();
        state.boards[0].history.push((500, 0.15));
        assert!(screen(&state, 90, 24).contains("▁█"));
    }

    #[test]
    fn boards_accuracy_and_log_are_on_the_screen() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        state.start(3, 10, Instant::now());
        state.accuracy.push((3.0, 61.5));
        state.boards[0].progress = Some(0.5);
        state.boards[0].channel = Some(2);
        state.note("pico-0: hello".to_owned());
        state.listener = Some("listens on 127.0.0.1:7453: 3 accepted".to_owned());
        let text = screen(&state, 110, 30);
        for words in [
            "pico-0",
            "m4-1",
            "round 4 of 10",
            "##..  50%",
            "61.5 %",
            "hello",
            "listens on 127.0.0.1:7453: 3 accepted",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }

    #[test]
    fn a_low_screen_keeps_every_board_and_the_newest_line() {
        let mut state = ViewState::new(&template(), &Scenario::default());
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
    fn a_tiny_terminal_does_not_panic() {
        for (width, height) in [(1, 1), (10, 3), (40, 8)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let state = ViewState::new(&template(), &Scenario::default());
            let now = Instant::now();
            terminal.draw(|frame| draw(frame, &state, now)).unwrap();
        }
    }

    #[test]
    fn durations_are_formatted_by_size() {
        for (seconds, text) in [(9, "9 s"), (100, "1 min 40 s"), (7_380, "2 h 3 min")] {
            assert_eq!(duration(Duration::from_secs(seconds)), text);
        }
    }
}

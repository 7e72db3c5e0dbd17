//! Curves of accuracy and stores over the rounds.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use super::state::ViewState;

/// Least width for two charts.
const WIDE: u16 = 100;
/// Colours that tell boards apart.
const COLOURS: [Color; 6] = [
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Blue,
    Color::Red,
    Color::White,
];

/// Draws the accuracy, and the fill level of the stores beside it if there is room.
pub fn draw_charts(frame: &mut Frame<'_>, area: Rect, state: &ViewState) {
    let newest = state.accuracy.last();
    let title = newest.map_or(String::new(), |(_, accuracy)| {
        let epsilon = state.epsilon;
        let epsilon = epsilon.map_or(String::new(), |it| format!(", epsilon {it:.2}"));
        format!(" accuracy {accuracy:.1} %{epsilon} ")
    });
    let accuracy = Chart::new(vec![curve(&state.accuracy, Color::Cyan)]);
    let accuracy = framed(accuracy, title, state.total);
    if area.width < WIDE {
        frame.render_widget(accuracy, area);
        return;
    }
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(area);
    frame.render_widget(accuracy, left);
    let filled: Vec<Vec<(f64, f64)>> = state.boards.iter().map(|it| it.filled()).collect();
    let curves = (filled.iter().zip(&state.boards).zip(COLOURS.iter().cycle()))
        .map(|((points, board), &colour)| curve(points, colour).name(board.name.as_str()));
    let stores = Chart::new(curves.collect());
    frame.render_widget(
        framed(stores, " stores, % full ".to_owned(), state.total),
        right,
    );
}

fn curve(points: &[(f64, f64)], colour: Color) -> Dataset<'_> {
    Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(colour))
        .data(points)
}

/// Frames a chart of percentages over rounds.
fn framed(chart: Chart<'_>, title: String, rounds: usize) -> Chart<'_> {
    let axis = |high: f64| {
        let labels = ["0".to_owned(), format!("{high:.0}")];
        Axis::default().bounds([0.0, high]).labels(labels)
    };
    chart
        .block(Block::bordered().title(title))
        .x_axis(axis(rounds.max(1) as f64))
        .y_axis(axis(100.0))
}

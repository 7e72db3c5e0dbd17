//! The messages TensorBoard reads, encoded as protocol buffers: `Event` with `Summary` and its values.
//!
//! | message | field | number | here |
//! |---|---|---|---|
//! | `Event` | `wall_time` | 1 | seconds of modelled time since the run began |
//! | | `step` | 2 | the round |
//! | | `file_version` | 3 | of the first event alone |
//! | | `summary` | 5 | |
//! | `Summary` | `value` | 1 | one for each figure |
//! | `Value` | `tag` | 1 | the name of the figure |
//! | | `simple_value` | 2 | the figure |

/// How a field's value is stored, the low bits of its key.
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Fixed32 = 5,
}

/// Returns the event a file begins with.
pub(super) fn version() -> Vec<u8> {
    let mut event = Vec::new();
    bytes(3, b"brain.Event:2", &mut event);
    event
}

/// Returns the event of a round.
pub(super) fn event(modelled_s: f64, round: u32, figures: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, figure) in figures {
        let mut value = Vec::new();
        bytes(1, tag.as_bytes(), &mut value);
        key(2, Wire::Fixed32, &mut value);
        value.extend_from_slice(&(*figure as f32).to_le_bytes());
        bytes(1, &value, &mut summary);
    }
    let mut event = Vec::new();
    key(1, Wire::Fixed64, &mut event);
    event.extend_from_slice(&modelled_s.to_le_bytes());
    key(2, Wire::Varint, &mut event);
    varint(round.into(), &mut event);
    bytes(5, &summary, &mut event);
    event
}

fn bytes(field: u64, content: &[u8], message: &mut Vec<u8>) {
    key(field, Wire::Bytes, message);
    varint(content.len() as u64, message);
    message.extend_from_slice(content);
}

fn key(field: u64, wire: Wire, message: &mut Vec<u8>) {
    varint((field << 3) | wire as u64, message);
}

fn varint(mut number: u64, message: &mut Vec<u8>) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}

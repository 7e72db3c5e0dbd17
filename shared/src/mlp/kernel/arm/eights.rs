//! A walk over the list for every eight columns of a row.

/// The walks over rows of `$width` columns, at most 128, from the first eight columns on; a column
/// takes `$bytes` bytes. Chosen in a constant, walks beyond the row do not come into being.
macro_rules! eights {
    ($walk:ident as $type:ty, $bytes:literal, $width:ident) => {
        eights!($walk as $type, $bytes, $width, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($walk:ident as $type:ty, $bytes:literal, $width:ident, $($group:literal)*) => {
        const {
            let walks: [$type; 16] = [$(
                if $width / 8 > $group { $walk::<{ 8 * $bytes * $group }> } else { $walk::<0> }
            ),*];
            walks
        }
    };
}
pub(crate) use eights;

//! One image from a file: a grey PNG, or its raw bytes.

use std::fs;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Transformations};

use super::Shape;
use super::error::DataError;

/// The first bytes of a PNG file.
const PNG: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Reads an image of `shape`, one byte a pixel, bright on dark as in MNIST.
///
/// # Errors
/// Names the file, and its size or colour if wrong.
pub fn read(path: &Path, shape: Shape) -> Result<Vec<u8>, DataError> {
    let bytes = fs::read(path).map_err(gleaner_files::at(path))?;
    let (width, height) = (shape.width, shape.height);
    let unfit = |found: String| DataError::Malformed {
        path: path.to_owned(),
        offset: 0,
        expected: format!(
            "a PNG of {width} x {height} grey pixels, or {} bytes",
            shape.bytes()
        ),
        found,
    };
    if !bytes.starts_with(PNG) {
        return match bytes.len() == shape.bytes() {
            true => Ok(bytes),
            false => Err(unfit(format!("{} bytes", bytes.len()))),
        };
    }
    let broken = |error: png::DecodingError| unfit(format!("a damaged PNG: {error}"));
    let mut decoder = Decoder::new(std::io::Cursor::new(&bytes));
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (found, colour) = (reader.info().size(), reader.output_color_type());
    if (found.0 as usize, found.1 as usize) != (width, height) {
        return Err(unfit(format!("{} x {} pixels", found.0, found.1)));
    }
    if colour != (ColorType::Grayscale, BitDepth::Eight) || shape.channels != 1 {
        return Err(unfit(format!("{:?} pixels", colour.0)));
    }
    let mut pixels = vec![0; shape.bytes()];
    reader.next_frame(&mut pixels).map_err(broken)?;
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(side: u32, colour: ColorType, pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, side, side);
        encoder.set_color(colour);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(pixels).unwrap();
        drop(writer);
        bytes
    }

    #[test]
    fn a_grey_png_and_its_raw_bytes_give_the_same_image() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seven");
        let pixels: Vec<u8> = (0..784u32).map(|at| (at * 7) as u8).collect();
        for bytes in [png(28, ColorType::Grayscale, &pixels), pixels.clone()] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path, Shape::MNIST).unwrap(), pixels);
        }
    }

    #[test]
    fn images_of_another_size_or_colour_and_damaged_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seven");
        let mut cut = png(28, ColorType::Grayscale, &[9; 784]);
        cut.truncate(60);
        for bytes in [
            png(32, ColorType::Grayscale, &[9; 1024]),
            png(28, ColorType::Rgb, &[9; 2352]),
            vec![9; 783],
            Vec::new(),
            cut,
        ] {
            fs::write(&path, bytes).unwrap();
            let refused = read(&path, Shape::MNIST);
            assert!(matches!(refused, Err(DataError::Malformed { .. })));
        }
    }
}

//! The final model in the safetensors format, which Python and Rust tools read without our help.

use gleaner_learn::train::Tensor;

/// Encodes a flat model whose tensors lie one behind the other in the given order.
///
/// Layout: the length of the header as 8 bytes little-endian, the header in JSON padded with
/// spaces to a multiple of 8, then the little-endian f32 values.
#[must_use]
pub fn encode_model(model: &[f32], tensors: &[Tensor], metadata: &[(&str, String)]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let about: serde_json::Map<String, serde_json::Value> = metadata
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone().into()))
        .collect();
    header.insert("__metadata__".to_owned(), about.into());
    let mut at = 0;
    for tensor in tensors {
        let end = at + 4 * tensor.shape.iter().product::<usize>();
        let entry = serde_json::json!({
            "dtype": "F32", "shape": tensor.shape, "data_offsets": [at, end],
        });
        header.insert(tensor.name.to_owned(), entry);
        at = end;
    }
    let mut text = serde_json::Value::Object(header).to_string();
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    let mut bytes = Vec::with_capacity(8 + text.len() + 4 * model.len());
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend(model.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Error reading a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its header or its length is not what `encode_model` writes")]
pub struct ModelFileError;

/// Returns the values that [`encode_model`] wrote, in their order.
///
/// # Errors
/// When the bytes are not such a file.
pub fn decode_model(bytes: &[u8]) -> Result<Vec<f32>, ModelFileError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(ModelFileError)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| ModelFileError)?;
    let (header, values) = rest.split_at_checked(length).ok_or(ModelFileError)?;
    let header: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(header).map_err(|_| ModelFileError)?;
    let tensors = header.iter().filter(|(name, _)| *name != "__metadata__");
    let ends = tensors.map(|(_, tensor)| match tensor["dtype"] == "F32" {
        true => tensor["data_offsets"][1].as_u64(),
        false => None,
    });
    let end = ends.collect::<Option<Vec<u64>>>().ok_or(ModelFileError)?;
    let (values, odd) = values.as_chunks::<4>();
    let all = end.into_iter().max() == Some(4 * values.len() as u64);
    (all && odd.is_empty())
        .then(|| {
            values
                .iter()
                .map(|value| f32::from_le_bytes(*value))
                .collect()
        })
        .ok_or(ModelFileError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_values_are_where_the_format_says() {
        let tensors = [Tensor::new("w", &[2, 1], 0.0), Tensor::new("b", &[1], 0.0)];
        let bytes = encode_model(&[1.0, 2.0, -3.0], &tensors, &[("seed", "7".into())]);
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(length % 8, 0);
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        assert_eq!(header["b"]["data_offsets"], serde_json::json!([8, 12]));
        assert_eq!(header["__metadata__"]["seed"], "7");
        assert_eq!(bytes[8 + length..][8..], (-3.0f32).to_le_bytes());
        assert_eq!(decode_model(&bytes), Ok(vec![1.0, 2.0, -3.0]));
        for cut in 0..bytes.len() {
            assert_eq!(decode_model(&bytes[..cut]), Err(ModelFileError), "{cut}");
        }
    }
}

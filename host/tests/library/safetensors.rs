//! Reads model files with the format's own library.

use std::collections::HashMap;

use gleaner_learn::train::{Cnn, Kernel, Mlp, Model};
use gleaner_sim::run::encode_model;
use safetensors::{Dtype, SafeTensors};

fn reads_back(network: &dyn Model) {
    let (tensors, model) = (network.tensors(), network.initialise(7));
    let about = [("scheduler", "cre".to_owned()), ("seed", "7".to_owned())];
    let bytes = encode_model(&model, &tensors, &about);

    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let said = about.map(|(key, value)| (key.to_owned(), value));
    assert_eq!(header.metadata(), &Some(HashMap::from(said)));

    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.len(), tensors.len());
    let mut values = model.iter();
    for tensor in &tensors {
        let view = file.tensor(tensor.name).unwrap();
        assert_eq!(view.dtype(), Dtype::F32, "{}", tensor.name);
        assert_eq!(view.shape(), tensor.shape, "{}", tensor.name);
        let read = view.data().chunks_exact(4);
        assert_eq!(read.len(), tensor.len(), "{}", tensor.name);
        for bytes in read {
            let read = f32::from_le_bytes(bytes.try_into().unwrap());
            assert_eq!(Some(&read), values.next(), "{}", tensor.name);
        }
    }
    assert_eq!(values.next(), None);
}

#[test]
fn both_networks_are_read_back_with_names_shapes_values_and_metadata() {
    let kernel = Kernel::chosen().unwrap();
    reads_back(&Mlp::paper(kernel));
    reads_back(&Cnn::paper(kernel));
}

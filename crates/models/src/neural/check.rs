//! Checks of graphs: gradients against finite differences, in f64.

use candle_core::{DType, Device, Tensor, Var};

use super::weights::{Leaves, Weights};

/// The weights as f64 variables, to differentiate by.
pub(crate) fn variables(weights: &Weights) -> Vec<Var> {
    let variable = |weight: &super::weights::Weight| {
        let values: Vec<f64> = weight.values.iter().map(|&v| f64::from(v)).collect();
        Var::from_vec(values, (weight.rows(), weight.dim), &Device::Cpu).unwrap()
    };
    weights.all.iter().map(variable).collect()
}

/// Fails unless the gradient of `loss` by every number of every weight is the symmetric difference quotient.
pub(crate) fn check_gradients(weights: &Weights, loss: impl Fn(&Leaves) -> Tensor) {
    const STEP: f64 = 1e-5;
    let variables = variables(weights);
    let tensors: Vec<Tensor> = variables.iter().map(|v| v.as_tensor().clone()).collect();
    let at = |tensors: &[Tensor]| loss(&Leaves::whole_of(tensors)).to_dtype(DType::F64).unwrap();
    let gradients = at(&tensors).backward().unwrap();
    let mut seen = 0;
    for (w, variable) in variables.iter().enumerate() {
        let analytic: Vec<f64> = match gradients.get(variable) {
            Some(gradient) => gradient.flatten_all().unwrap().to_vec1().unwrap(),
            None => vec![0.0; variable.elem_count()],
        };
        let values: Vec<f64> = variable.flatten_all().unwrap().to_vec1().unwrap();
        for i in 0..values.len() {
            let shifted = |by: f64| {
                let mut values = values.clone();
                values[i] += by;
                let mut tensors = tensors.clone();
                tensors[w] = Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap();
                at(&tensors).to_scalar::<f64>().unwrap()
            };
            let numeric = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
            let scale = 1.0 + numeric.abs();
            let name = weights.all[w].name;
            assert!((analytic[i] - numeric).abs() < 1e-6 * scale, "{name}[{i}]: {} and {numeric}", analytic[i]);
            seen += usize::from(numeric.abs() > 1e-7);
        }
    }
    assert!(seen > weights.count() / 10, "almost all gradients are zero: nothing was checked");
}

/// Fails unless the tensors agree.
pub(crate) fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.dims(), b.dims());
    let values = |t: &Tensor| t.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
    for (a, b) in values(a).into_iter().zip(values(b)) {
        assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{a} and {b}");
    }
}

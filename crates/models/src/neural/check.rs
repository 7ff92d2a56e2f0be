//! Gradients against finite differences, in f64.

/// Fails unless the gradient of the loss by every number of every weight is the symmetric difference quotient. `at` gives the loss and the
/// gradients by weight; an empty gradient is of a weight that is not learned.
pub(crate) fn check_gradients(
    context: &str,
    mut values: Vec<Vec<f64>>,
    at: impl Fn(&[&[f64]]) -> (f64, Vec<Vec<f64>>),
) {
    const STEP: f64 = 1e-5;
    let at = |values: &[Vec<f64>]| at(&values.iter().map(Vec::as_slice).collect::<Vec<&[f64]>>());
    let (_, gradients) = at(&values);
    assert_eq!(gradients.len(), values.len());
    let (mut seen, mut numbers) = (0, 0);
    for (w, gradient) in gradients.iter().enumerate().filter(|(_, gradient)| !gradient.is_empty()) {
        assert_eq!(gradient.len(), values[w].len());
        for (i, analytic) in gradient.iter().enumerate() {
            let mut shifted = |by: f64| {
                let before = values[w][i];
                values[w][i] += by;
                let loss = at(&values).0;
                values[w][i] = before;
                loss
            };
            let numeric = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
            let off = (analytic - numeric).abs();
            assert!(off < 1e-6 * (1.0 + numeric.abs()), "{context}: weight {w}, {i}: {analytic} and {numeric}");
            numbers += 1;
            seen += usize::from(numeric.abs() > 1e-7);
        }
    }
    assert!(seen > numbers / 10, "{context}: almost all gradients are zero: nothing was checked");
}

//! The settings of multi-layer perceptrons.

use anyhow::Result;

use inkstone_base::ensure;

params! {
    /// Parameters of a multi-layer perceptron.
    pub struct MlpParams {
        /// Units of each hidden layer, from the inputs up.
        ///
        /// 各隐藏层的单元数，自输入端起。
        hidden: Vec<usize> = vec![64], arg(
            long,
            value_name = "N,N",
            value_delimiter = ',',
            default_values_t = MlpParams::default().hidden,
            value_parser = inkstone_base::bounds::flag::<usize>("feature.mlp.hidden")
        );
        /// Share of the units of each hidden layer that is dropped in a step.
        ///
        /// 每步随机置零的隐藏单元占比。
        dropout: f64 = 0.0, number("SHARE", "feature.mlp.dropout");
        /// L2 penalty of the weights, added to their gradients.
        ///
        /// 权重的 L2 惩罚，加入其梯度。
        l2: f64 = 1e-4, number("L", "feature.mlp.l2");
        /// Rate of Adam's steps at the start; it is halved where an epoch brings nothing better.
        ///
        /// Adam 起始的学习率；某一轮没有改进时减半。
        learning_rate: f64 = 1e-3, number("R", "feature.mlp.learning_rate");
        /// Rows of a step.
        ///
        /// 每步的行数。
        batch: usize = 200, number("N", "feature.mlp.batch");
        /// Passes over the rows at the most.
        ///
        /// 遍历各行的最多轮数。
        epochs: usize = 200, number("N", "feature.mlp.epochs");
        /// Memory for weights and gradients at the most, in MB.
        ///
        /// 权重与梯度最多占用的内存（MB）。
        memory_mb: usize = 2048, number("MB", "feature.mlp.memory_mb");
    }
}

impl MlpParams {
    pub(super) fn check(&self) -> Result<()> {
        let MlpParams { hidden, dropout, l2, learning_rate, batch, epochs, .. } = self;
        ensure!(
            !hidden.is_empty() && !hidden.contains(&0),
            "hidden = {hidden:?}：请写出一层以上隐藏层的单元数，每层不小于 1",
            "hidden = {hidden:?}: name the units of one or more hidden layers, each 1 or more"
        );
        ensure!(
            (0.0..1.0).contains(dropout),
            "dropout = {dropout} 须不小于 0 且小于 1",
            "dropout = {dropout} must be 0 or more and below 1"
        );
        ensure!(*l2 >= 0.0 && l2.is_finite(), "l2 = {l2} 须为非负数", "l2 = {l2} must be a number, 0 or above");
        ensure!(
            *learning_rate > 0.0 && learning_rate.is_finite(),
            "learning_rate = {learning_rate} 须为大于 0 的数",
            "learning_rate = {learning_rate} must be a number above 0"
        );
        ensure!(
            *batch > 0 && *epochs > 0,
            "batch = {batch} 与 epochs = {epochs} 须不小于 1",
            "batch = {batch} and epochs = {epochs} must be 1 or more"
        );
        Ok(())
    }
}

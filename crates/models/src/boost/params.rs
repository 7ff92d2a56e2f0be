//! The settings of boosted trees.

params! {
    /// Parameters of boosted trees.
    pub struct BoostParams {
        /// Rounds: trees, or trees a class.
        ///
        /// 轮数：树的棵数，分类时为每类的棵数。
        trees: usize = 200, number("N", "feature.boosted.trees", visible_alias = "n-estimators");
        /// Share of each tree's finding that is taken, above 0 to 1.
        ///
        /// 每棵树的结果所取的份额，大于 0 至 1。
        learning_rate: f64 = 0.1, number("R", "feature.boosted.learning_rate");
        /// Splits from root to leaf at the most.
        ///
        /// 从根到叶的最多分裂次数。
        max_depth: usize = 6, number("N", "feature.boosted.max_depth");
        /// Sum of second derivatives that a leaf needs.
        ///
        /// 一片叶子所需的二阶导数之和。
        min_leaf_weight: f64 = 1.0,
            number("W", "feature.boosted.min_leaf_weight", visible_alias = "min-child-weight");
        /// L2 penalty on the leaves.
        ///
        /// 叶子的 L2 惩罚。
        l2: f64 = 1.0, number("L", "feature.boosted.l2");
        /// Terms that trees may use, those that tell most of the goal; 0 keeps all.
        ///
        /// 树可以用的词项，取最能说明目标者；0 为全部。
        max_features: usize = 2000,
            number("N", "feature.boosted.max_features", id = "tree_features", long = "tree-features");
        /// Memory for these terms at the most, in MB.
        ///
        /// 这些词项最多占用的内存（MB）。
        memory_mb: usize = 2048, number("MB", "feature.boosted.memory_mb");
    }
}

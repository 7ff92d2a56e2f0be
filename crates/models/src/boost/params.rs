//! The settings of boosted trees.

params! {
    /// Parameters of boosted trees.
    pub struct BoostParams {
        /// Rounds: trees, or trees a class.
        trees: usize = 200, number("N", "feature.boosted.trees", visible_alias = "n-estimators");
        /// Share of each tree's finding that is taken, above 0 to 1.
        learning_rate: f64 = 0.1, number("R", "feature.boosted.learning_rate");
        /// Splits from root to leaf at the most.
        max_depth: usize = 6, number("N", "feature.boosted.max_depth");
        /// Sum of second derivatives that a leaf needs.
        min_leaf_weight: f64 = 1.0,
            number("W", "feature.boosted.min_leaf_weight", visible_alias = "min-child-weight");
        /// L2 penalty on the leaves.
        l2: f64 = 1.0, number("L", "feature.boosted.l2");
        /// Terms that trees may use, those that tell most of the goal; 0 keeps all.
        max_features: usize = 2000,
            number("N", "feature.boosted.max_features", id = "tree_features", long = "tree-features");
        /// Memory for these terms at the most, in MB.
        memory_mb: usize = 2048, number("MB", "feature.boosted.memory_mb");
    }
}

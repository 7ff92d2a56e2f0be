//! Estimators on words and on the rows of other features: ridge, logistic, Bayes, SVM, boosted trees and the perceptron.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::{Classifier, ClassifyParams, Learn, train};

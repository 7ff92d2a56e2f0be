//! The table of the methods by which an estimator learns, each in the folder of its model.

use crate::goal::GoalKind;
use crate::learner::{Contributions, Learner, Method};
use crate::{bayes, boost, linear, mlp};

use inkstone_base::error;

impl Method {
    pub const ALL: [Method; 6] =
        [Method::Ridge, Method::Logistic, Method::Bayes, Method::Svm, Method::Boosted, Method::Mlp];

    pub(super) fn learner(self) -> &'static dyn Learner {
        match self {
            Method::Ridge => &linear::RidgeLearner,
            Method::Logistic => &linear::LogisticLearner,
            Method::Bayes => &bayes::BayesLearner,
            Method::Svm => &linear::SvmLearner,
            Method::Boosted => &boost::BoostedLearner,
            Method::Mlp => &mlp::MlpLearner,
        }
    }

    /// The name in files and settings.
    pub fn name(self) -> &'static str {
        self.learner().name()
    }

    pub fn learns(self, goal: GoalKind) -> bool {
        self.learner().goals().contains(&goal)
    }

    /// Names of the settings of [`EstimatorParams`](crate::EstimatorParams) that it reads, the table of its numbers first.
    pub fn tables(self) -> &'static [&'static str] {
        self.learner().tables()
    }

    /// The penalty that a choice among penalties varies.
    pub fn penalty(self) -> &'static str {
        self.learner().penalty()
    }

    /// A search that suits it, as a setting.
    pub fn example_grid(self) -> &'static str {
        self.learner().example_grid()
    }

    /// True if it holds out the last rows to see after which epoch to stop, and so must know their order.
    pub fn holds_out(self) -> bool {
        self.learner().holds_out()
    }

    pub fn contributions(self) -> Contributions {
        self.learner().contributions()
    }

    /// Names of the methods that learn a kind of goal, as a list in a sentence.
    fn names_that_learn(goal: GoalKind, last: &str) -> String {
        let names: Vec<&str> = Method::ALL.into_iter().filter(|method| method.learns(goal)).map(Method::name).collect();
        match names.split_last() {
            Some((end, others)) if !others.is_empty() => format!("{} {last} {end}", others.join(", ")),
            _ => names.concat(),
        }
    }
}

/// True if a larger value of a setting restrains the model more.
pub(super) fn restrains(setting: &str) -> bool {
    let known = Method::ALL.into_iter().flat_map(|method| method.learner().settings());
    known.filter(|known| known.name == setting).all(|known| known.restrains)
}

/// The error of a goal that a method does not learn.
pub(super) fn refused(method: Method, wanted: GoalKind) -> anyhow::Error {
    let name = method.name();
    let others = Method::names_that_learn(wanted, "or");
    match wanted {
        GoalKind::Values => {
            error!("{name} 学习类别，不学数值；请选 {others}", "{name} learns classes, not values; choose {others}")
        }
        GoalKind::Classes => {
            error!("{name} 学习数值，不学类别；请选 {others}", "{name} learns values, not classes; choose {others}")
        }
        GoalKind::Labels => {
            error!("{name} 不学标签集合；请选 {others}", "{name} does not learn sets of labels; choose {others}")
        }
    }
}

//! The functions and values behind the page of models, which itself knows no model and no command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use chrono::NaiveDateTime;

use crate::Runner;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;

/// Lists the model files at hand.
pub(crate) type ListModels = Arc<dyn Fn(&Ctx) -> Result<Vec<ModelCard>> + Send + Sync>;

/// Makes a model ready to be asked.
pub(crate) type OpenModel = Arc<dyn Fn(&Path, &Ctx) -> Result<AskModel> + Send + Sync>;

/// Answers questions about one model.
pub type AskModel = Arc<dyn Fn(&Question, &Ctx) -> Result<Answer> + Send + Sync>;

/// Looks through the arguments of a training: what is wrong with which of them.
pub(crate) type CheckTraining = Arc<dyn Fn(&[String]) -> Vec<ArgumentFault> + Send + Sync>;

/// The training that these arguments of the command line ask for.
pub(crate) type TrainModel = Arc<dyn Fn(Vec<String>) -> Runner + Send + Sync>;

/// The functions behind the page, supplied by the program.
#[derive(Clone)]
pub struct ModelBench {
    pub list: ListModels,
    pub open: OpenModel,
    pub check: CheckTraining,
    /// Trains; the arguments are those behind `inkstone train`.
    pub train: TrainModel,
    /// The kinds of models that can be trained, the one that the form begins with first.
    pub kinds: fn() -> Vec<TrainableModel>,
    /// The cleaned documents of the project, as `--input` takes them.
    pub corpus: String,
    /// Arguments that cut text as the project cuts it.
    pub cutting: Vec<String>,
    /// The folder that trained models go to.
    pub folder: String,
}

/// A kind of model that `inkstone train` fits.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainableModel {
    /// Name after `inkstone train`.
    pub name: String,
    pub about: Message,
    /// Flags of the model itself; input, format, limit in time, output, and cutting of text stand apart.
    pub flags: Vec<TrainingFlag>,
    /// True if it writes a folder.
    pub is_folder: bool,
    /// True if it takes the flags that cut text.
    pub cuts: bool,
}

/// A flag of `inkstone train KIND`.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingFlag {
    /// Name without dashes.
    pub name: String,
    pub about: Message,
    pub takes: FlagTakes,
    /// The value without the flag, as it is typed; empty where the model chooses.
    pub default: String,
    /// The value that the form begins with.
    pub proposed: String,
    pub is_required: bool,
}

/// The values of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum FlagTakes {
    /// Anything that the command line accepts.
    Text,
    One(Vec<String>),
    /// Given or not.
    Switch,
}

/// An argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentFault {
    /// Flag of the setting without dashes; empty where several flags make it.
    pub flag: String,
    /// The reason and the way out.
    pub why: Message,
}

/// A model file as its header describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCard {
    /// The file, as commands take it.
    pub path: PathBuf,
    /// Name in the list: the path from the folder of the configuration.
    pub name: String,
    /// `word2vec`, `ngram`, ...
    pub kind: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Values of a vector, or words of the longest n-gram.
    pub dim: Option<u64>,
    /// Words that it knows, or columns of its rows.
    pub words: Option<u64>,
    /// Documents that it was fitted on; none where the file does not say.
    pub documents: Option<u64>,
    /// Tokens that it was fitted on.
    pub tokens: Option<u64>,
    /// The last time of the data that it has seen.
    pub fitted_until: Option<NaiveDateTime>,
    /// The parameters of the fit by name.
    pub params: Vec<(String, String)>,
    /// The mean loss of each pass.
    pub losses: Vec<f64>,
    pub tools: Vec<Tool>,
    /// True if the command needs a flag that says the input is text: the file does not know how it was cut.
    pub says_text: bool,
    /// True if its text is tokens with spaces between them.
    pub spaced: bool,
    /// The reason why it cannot be used.
    pub fault: Option<Message>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Nearest,
    /// The word that is to C as B is to A.
    Analogy,
    Plane,
    /// The words that most probably follow a text.
    Following,
    Surprise,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The words nearest to a word, so many.
    Nearest(String, usize),
    /// The words that are to the third as the second is to the first; so many answers.
    Analogy([String; 3], usize),
    /// The most frequent words in the plane, so many.
    MostFrequent(usize, PlaneMethod),
    /// A word and its nearest in the plane, so many of these.
    Around(String, usize, PlaneMethod),
    /// The words that most probably follow a text, so many.
    Following(String, usize),
    /// The surprise of each token of a text.
    Surprise(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Words with their cosine, the nearest first.
    Near {
        words: Vec<(String, f32)>,
        /// Words asked for that the model does not know; it made their vectors of their characters.
        made: Vec<String>,
    },
    /// A word that the model does not know, and those written most alike.
    Unknown(String, Vec<String>),
    Plane(Plane),
    Following {
        after: Vec<String>,
        /// The tokens that the model does not know.
        unknown: Vec<String>,
        /// Words and their probabilities, the most probable first.
        next: Vec<(String, f64)>,
    },
    /// The surprise of each token, the end of the text last.
    Surprise(Vec<Surprised>),
}

/// The way words are laid into the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaneMethod {
    /// The two principal components.
    #[default]
    Pca,
    /// t-SNE, which keeps neighbours together.
    Tsne,
}

/// Words in the plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plane {
    /// Words and their places; those to be named first stand first.
    pub points: Vec<(String, [f64; 2])>,
    /// Shares of the variance along both axes; none by t-SNE.
    pub explained: Option<[f64; 2]>,
    /// By point: the number of its cluster from 1, the largest first; 0 without one.
    pub clusters: Vec<usize>,
    /// By point: the weight of the word in the lexicon of the project, 0 where it is not in it.
    pub tones: Vec<f32>,
    /// The share of each word's nearest that are among its nearest points.
    pub kept: f64,
    pub svg: String,
}

/// A token of a text under a language model.
#[derive(Clone, Debug, PartialEq)]
pub struct Surprised {
    pub token: String,
    /// -log2 of its probability.
    pub bits: f64,
    /// Words of the n-gram that gave it; none for other models.
    pub order: Option<u32>,
    /// True if the model does not know it.
    pub unknown: bool,
}

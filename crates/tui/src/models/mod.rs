//! The page of models: those at hand, training another, and asking one of them.
//!
//! A model is read once and stays until another is asked. What is asked, and what came of it, stands below the list, or beside it
//! where there is room.

mod asked;
mod bench;
mod card;
mod course;
mod form;
mod heat;
mod keys;
mod picture;
mod plane;
mod results;
#[cfg(test)]
mod screens;
mod state;
#[cfg(test)]
mod testing;
mod training;
mod view;
mod words;

pub use bench::{
    Answer, ArgumentFault, AskModel, FlagTakes, ModelBench, ModelCard, Plane, PlaneMethod, Question, Surprised, Tool,
    TrainableModel, TrainingFlag,
};
pub(crate) use state::ModelsPage;

//! The actions of the workbench. A key, a click or a command of the palette starts one.

use super::page::Page;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    // Corpus
    Open,
    Search,
    Filter,
    SortTable,
    TurnOrder,
    Fold,
    Unfold,
    NextHit,
    PreviousHit,
    Cut,
    OnTextPage,

    // Text
    Focus,
    Tokeniser,
    PreviousToken,
    NextToken,
    DocumentAfter,
    DocumentBefore,
    OwnText,
    AddStrategy,
    DropStrategy,
    Budget,

    // Models
    AskModel,
    Type,
    Train,
    Nearest,
    Analogy,
    Plane,
    Following,
    Surprise,
    NextModel,
    PreviousModel,
    NextChoice,
    PreviousChoice,

    // ONNX
    EnterModel,
    OtherPane,
    Ask,
    Measure,
    MeasureWith,

    // Pages without anything
    AddTone,
    AddRidge,
    AddExperiment,
    // Features
    FeatureOpen,
    FeatureView,
    FeatureFind,
    FeatureMeasure,
    FeaturePast,
    FeatureReread,
    FeatureChecks,

    // Experiments
    OpenDocument,
    View,
    PreviousStrategy,
    NextStrategy,
    Previous,
    Next,
    RunExperiments,

    // Factor
    NextFactor,
    PreviousFactor,
    Horizon,
    Layers,
    Drill,
    Sort,
    Quantile,
    Checks,
    TearSheet,
    Export,
    Report,
    Left,
    Right,

    // Ledger
    LedgerOpen,
    LedgerView,
    LedgerSort,
    LedgerFilter,
    LedgerDelete,
    LedgerReread,

    // Jobs
    Rejects,
    Panes,
    FindInLog,
    Watch,
    NextJob,
    PreviousJob,

    // Everywhere
    Start,
    Pause,
    Cancel,
    Back,
    Down,
    Up,
    PageDown,
    PageUp,
    HalfDown,
    HalfUp,
    First,
    Last,
    /// To the line of this number, from 1.
    Line(usize),
    Show(Page),
    NextPage,
    PreviousPage,
    Copy,
    CopyTable,
    CopyMarkdown,
    CopyText,
    CopyId,
    EditConfiguration,
    UndoChange,
    OpenReport,
    Save,
    Palette,
    Theme,
    Language,
    Settings,
    Tour,
    Help,
    Quit,
}

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
    CompareDocuments,

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
    KeepCurve,

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
    Compare,
    Export,
    Report,
    Left,
    Right,

    // Stock
    ReadDocument,
    EarlierDocument,
    LaterDocument,
    OtherFactor,
    ZoomIn,
    ZoomOut,
    FindStock,
    NextStock,
    PreviousStock,

    // Ledger
    LedgerOpen,
    LedgerView,
    LedgerSort,
    LedgerFilter,
    LedgerDelete,
    LedgerReread,
    MarkTrial,

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
    First,
    Last,
    Show(Page),
    NextPage,
    Stock,
    PreviousPage,
    Copy,
    CopyTable,
    CopyMarkdown,
    Save,
    Palette,
    Theme,
    Language,
    Settings,
    Tour,
    Help,
    Quit,
}

//! The actions of the workbench. A key, a click or a command of the palette starts one.

use super::page::Page;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    // Corpus
    Open,
    Search,
    Filter,
    TurnOrder,
    AddNote,
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
    /// Colours words in the plane by cluster, by tone, or not.
    ColourPlane,

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
    LedgerFilter,
    LedgerDelete,
    LedgerReread,
    MarkTrial,

    // Jobs
    OpenReject,
    Rejects,
    Panes,
    FindInLog,
    Watch,
    NextJob,
    PreviousJob,

    // Tables
    SortTable,
    ColumnLeft,
    ColumnRight,
    ChooseColumns,
    HideColumn,
    Frequencies,
    Summary,
    MarkRow,
    OnlyMarked,

    // Everywhere
    ZoomPane,
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
    Stock,
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
    /// Shows the charts as pictures.
    DrawCharts,
    Palette,
    Theme,
    Language,
    Settings,
    Tour,
    Help,
    Quit,
}

impl Action {
    /// True for what Enter does on the pages that have tables.
    pub(crate) fn is_enter(self) -> bool {
        use Action::{Drill, EnterModel, FeatureOpen, LedgerOpen, Open, OpenDocument, OpenReject};
        matches!(self, Open | Drill | FeatureOpen | LedgerOpen | EnterModel | OpenDocument | OpenReject)
    }

    /// True for what only a table can do, while keys go to it.
    pub(crate) fn is_of_table(self) -> bool {
        use Action::{ChooseColumns, ColumnLeft, ColumnRight, Frequencies, HideColumn, OnlyMarked, SortTable, Summary};
        matches!(
            self,
            ChooseColumns | ColumnLeft | ColumnRight | Frequencies | HideColumn | OnlyMarked | SortTable | Summary
        )
    }

    /// True if it opens the line of its page in which something is looked for or asked.
    pub(crate) fn opens_line(self) -> bool {
        use Action::{Ask, FeatureFind, FindInLog, FindStock, LedgerFilter, OwnText, Search, Type};
        matches!(self, Search | OwnText | Type | Ask | FeatureFind | FindStock | LedgerFilter | FindInLog)
    }

    /// True if it moves the cursor of a list.
    pub(crate) fn is_move(self) -> bool {
        use Action::{Down, First, Last, PageDown, PageUp, Up};
        matches!(self, Down | Up | PageDown | PageUp | First | Last)
    }
}

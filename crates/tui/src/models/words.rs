//! The texts of the page of models, in Chinese and English.

use super::bench::Tool;
use inkstone_base::language::Word;
use inkstone_base::words;

pub(super) use crate::words::{
    COSINE, DOCUMENTS as DOCUMENTS_UNIT, DOCUMENTS_SHORT as DOCUMENTS, FILE as NAME, KIND, MODEL, TOKENS,
};

words! {
    NO_BENCH: "这里没有项目，模型页无事可做。", "There is no project here, so this page has nothing to show.";
    NO_MODELS: "还没有模型。按 t 用本项目的语料训练一个（写入 models/），或把模型文件（本程序的模型、.vec、.bin、.arpa）放进配置文件所在目录或其 models/ 下。", "There are no models yet. Press t to train one on the documents of this project (it goes to models/), or put files (models of this program, .vec, .bin, .arpa) beside the configuration or into models/ there.";
    LOOKING: "正在查看模型文件…", "looking for model files…";
    UNTIL: "数据截至", "data until";
    SIZE: "MB", "MB";
    DIM: "维/阶", "dim";
    WORDS: "词", "words";

    SEEN_UNTIL: "数据截至", "trained to";
    NEVER_SAID: "⚠ 文件没有写明数据截至何时：不要用在更早的日期上", "⚠ the file does not say until when its data reach: do not use it on earlier dates";
    FITTED_ON: "训练于", "fitted on";
    TOKENS_UNIT: "个词元", "tokens";
    WORDS_UNIT: "个词", "words";
    COLUMNS_UNIT: "列", "columns";
    DIM_UNIT: "维", "dimensions";
    ORDER_UNIT: "阶", "order";
    LOSSES: "每轮损失", "loss of each pass";
    ASK_IT: "可用", "ask";
    NO_TOOLS: "这类模型没有可问的词。用 inkstone embed 看它如何读文档。", "A model of this kind cannot be asked for words. inkstone embed shows how it reads documents.";
    BROKEN: "这个文件不能用", "this file cannot be used";

    NEAREST: "近邻", "nearest";
    ANALOGY: "类比", "analogy";
    PLANE: "投影", "plane";
    FOLLOWING: "续写", "what follows";
    SURPRISE: "困惑度", "perplexity";
    HINT_NEAREST: "输入一个词，按 Enter", "type a word and press Enter";
    HINT_ANALOGY: "输入三个词 A B C，按 Enter：求 D，使 D 之于 C 如 B 之于 A", "type three words A B C and press Enter: D is to C as B is to A";
    HINT_PLANE: "按 / 输入词数（最常见的）或一个词（它的近邻）；再按 p 在 PCA 与 t-SNE 间切换", "press / and type how many of the most frequent, or a word for its nearest; p again turns from PCA to t-SNE";
    HINT_FOLLOWING: "输入一段话的开头，按 Enter", "type how a text begins and press Enter";
    HINT_SURPRISE: "输入一句话，按 Enter", "type a sentence and press Enter";
    ASKING: "正在问模型…", "asking the model…";
    THREE_WORDS: "类比需要三个词，以空格分开", "an analogy takes three words with spaces between";
    TOO_LONG: "只取前面的字，其余略去", "only the beginning is taken";
    WORD: "词", "word";
    TEXT: "文", "text";
    MOST_FREQUENT: "个最常见的词", "most frequent words";
    PROBABILITY: "概率 %", "p %";
    UNKNOWN_WORD: "模型不认识", "the model does not know";
    ALIKE: "写法相近", "written alike";
    NOTHING_ALIKE: "也没有写法相近的词。用更低的 min-count 或更多文本重新训练。", "Nothing is written alike either. Train on more text, or with a lower min-count.";
    MADE_OF_PARTS: "不在词表，由字合成", "not among its words, made of characters";
    NOTHING_NEAR: "没有近邻。", "Nothing is near.";
    BY_CLUSTER: "按聚类着色", "coloured by cluster";
    BY_TONE: "按语气着色", "coloured by tone";
    GO_ON_NEAREST: "Enter 以此词再问", "Enter ask for this word";
    GO_ON_FOLLOWING: "Enter 接上此词再续", "Enter take this word and go on";
    NOT_KNOWN: "未知词", "unknown";
    END: "结束", "the end";
    BITS: "比特", "bits";
    PER_TOKEN: "每词元", "a token";
    OUTSIDE: "词表外", "unknown";
    VARIANCE: "方差", "variance";
    KEPT: "近邻保留", "nearest kept";

    TRAIN: "训练", "Train";
    INPUT: "语料", "input";
    UNTIL_FIELD: "截止", "until";
    OUTPUT: "写入", "output";
    THIS_CORPUS: "本项目清洗后的语料", "this project's documents";
    NO_LIMIT: "全部", "all of it";
    TRAIN_KEYS: "Enter 开始 · / 修改 · ←/→ 换选项 · Esc 返回", "Enter start · / type · ←/→ change · Esc back";
    CANNOT_START: "先改正标出的项", "fix what is marked first";
    JOB_BUSY: "有任务正在进行：训练会排队，轮到时自动开始", "a job is under way: the training will wait in the queue";
    CHECKING: "正在检查…", "checking…";
    A_TIME: "2023-12-31，可带时刻 15:00:00", "2023-12-31 [15:00:00]";
    NEEDED: "必须填写", "must be given";
    A_PATH: "写一个路径", "write a path";

    TRAINING: "训练中", "training";
    READING_TEXT: "正在读取语料", "reading the text";
    DONE: "训练完成", "trained";
    FAILED: "训练失败", "the training failed";
    LOST: "任务没有开始，或中途断掉；见任务页", "the job never began, or broke off; see the page of jobs";
    CANCELLED: "训练已停止；若留有检查点，以同样的参数再训练会从那里继续", "the training was stopped; where it left a checkpoint, the same settings go on from there";
    AFTER_DONE: "Enter 看这个模型", "Enter show the model";
    AFTER_FAILED: "按 t 改参数再试", "press t to change it and try again";
    NO_LOSS: "这种训练只计数，没有损失曲线", "this training counts, it has no loss";
    KEPT_CURVE: "留住的曲线", "kept";
    LOSS: "损失", "loss";
    EPOCH: "轮", "epoch";
    ELAPSED: "用时", "for";
    LEFT: "还需", "left";
    UNIT_PAIRS: "词对", "pairs";
    UNIT_DOCS: "篇", "docs";

    W_FORMAT: "每行如何书写", "how lines are written";
    BY_NAME: "按文件名", "by the file's name";
}

pub(super) fn tool(tool: Tool) -> Word {
    match tool {
        Tool::Nearest => NEAREST,
        Tool::Analogy => ANALOGY,
        Tool::Plane => PLANE,
        Tool::Following => FOLLOWING,
        Tool::Surprise => SURPRISE,
    }
}

/// The hint in an empty field.
pub(super) fn hint(tool: Tool) -> Word {
    match tool {
        Tool::Nearest => HINT_NEAREST,
        Tool::Analogy => HINT_ANALOGY,
        Tool::Plane => HINT_PLANE,
        Tool::Following => HINT_FOLLOWING,
        Tool::Surprise => HINT_SURPRISE,
    }
}

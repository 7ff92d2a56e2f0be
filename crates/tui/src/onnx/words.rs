//! The texts of the page of contextual models, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::{COSINE, MODEL, NAME, PATH, TOKEN};

words! {
    NO_BENCH: "没有项目就没有模型：在有 workbench.toml 的文件夹里打开。", "There is no project behind this: open the workbench in a folder with a workbench.toml.";
    LOOKING: "查找 ONNX Runtime…", "looking for ONNX Runtime…";
    LIBRARY: "库", "library";
    NO_LIBRARY: "没有可用的 ONNX Runtime", "no ONNX Runtime";
    MEND: "修复", "fix";
    DEVICE: "设备", "device";
    CORES: "核", "cores";
    SET_TO: "配置", "configured:";
    LACKS: "缺", "missing";

    LIST: "模型", "Models";
    SEARCHING: "查找模型…", "looking for models…";
    NO_MODELS: "没有模型：在 workbench.toml 里写一个 model = \"onnx\" 的特征，或把导出的文件夹（model.onnx、config.json、tokenizer.json）放进 model/。inkstone doctor 说明怎样导出。", "There are no models: write a feature with model = \"onnx\" in workbench.toml, or put the folder of an export (model.onnx, config.json, tokenizer.json) into model/. `inkstone doctor` shows how to export one.";
    CAN: "用途", "use";
    PRECISION: "精度", "precision";
    MEGABYTES: "MB", "MB";
    HIDDEN: "维度", "dim";
    LENGTH: "长度", "length";
    VOCABULARY: "词表", "vocab";
    USES: "特征", "features";
    UNREADABLE: "✗ 不可读", "✗ unreadable";

    FAMILY: "架构", "family";
    LAYERS: "层", "layers";
    WEIGHTS: "权重", "weights";
    LABELS: "标签", "labels";
    WRITTEN_BY: "导出", "export";
    HASH: "BLAKE3", "BLAKE3";
    NOT_USED: "没有特征用它", "no feature uses it";
    TOKENIZER: "分词器", "tokenizer";
    FOLDER_SAYS: "写明", "states";

    VECTORS: "向量", "embed";
    CLASSES: "分类", "classify";
    NAMES: "实体", "names";
    MASKS: "填空", "fill";
    NEXT: "续写", "next";
    WRITES: "解码", "decode";

    TENSORS: "张量", "Tensors";
    METERS: "测速", "Speed";
    ASKING: "填空", "Fill-mask";
    SWITCH: "v 切换视图", "v switch view";
    INPUT: "入", "in";
    OUTPUT: "出", "out";
    ELEMENT: "类型", "type";
    SHAPE: "形状", "shape";
    NODES: "个算子", "operations";

    MEASURE_HINT: "按 m 在批 1、2、4…64 上运行这个模型，看篇/秒、词元/秒与内存；t 换文本。", "Press m to run the model on batches of 1, 2, 4 ... 64, for texts and tokens a second and memory; t takes other texts.";
    OF_CORPUS: "语料", "corpus";
    OF_TOKENS: "词元/篇", "tokens each";
    TEXTS: "文本", "texts";
    BATCH: "批", "batch";
    TEXTS_RATE: "篇/秒", "texts/s";
    TOKENS_RATE: "词元/秒", "tokens/s";
    BATCH_TIME: "毫秒/批", "ms/batch";
    RESIDENT: "内存 MB", "RSS MB";
    MEASURING: "测速中，Esc 停止", "measuring, Esc stop";
    STOPPED: "已停止", "stopped";
    OPENED: "打开", "opened in";
    UNTIL_WHOLE: "测完", "all sizes measured";
    UNTIL_TIME: "到时限", "time limit";
    UNTIL_MEMORY: "再大内存可能不够", "more might not fit into memory";
    UNTIL_FIXED: "图只收这个批大小", "the graph takes no other size";
    NO_MODEL_HERE: "选一个可读的模型。", "Choose a model that can be read.";

    CAN_FILL: "含 [MASK] 的句子：掩码处最可能的 10 个词元", "a sentence with [MASK]: the ten likeliest tokens behind it";
    CAN_COMPARE: "用 | 隔开的两句：两个向量的余弦", "two sentences with | between: the cosine of their vectors";
    CAN_CLASSIFY: "一句话：各类的概率", "a sentence: the probability of each class";
    CAN_NAME: "一句话：其中的实体", "a sentence: the names in it";
    CAN_NOTHING: "这个模型是解码器，不能单独读一句话；inkstone generate 用它写。", "This model is a decoder, which reads no sentence of its own; inkstone generate writes with it.";
    CAN_NEXT: "这个模型只往后续写，不能填空；inkstone eval --read surprise 量它的困惑度。", "This model only goes on from a text and fills in no masks; inkstone eval --read surprise measures its perplexity.";
    PRESS_SLASH: "按 / 输入：", "Press / and type:";
    THINKING: "计算中…", "computing…";
    NO_MASK_HEAD: "这个模型没有掩码语言模型头（logits [篇, 词元, 词表]）；按它能做的回答：", "This model has no masked-LM head (logits [texts, tokens, vocabulary]); answered with what it can do:";
    NEEDS_MASK: "句子里没有 [MASK]；请写出要猜的位置。", "There is no [MASK] in the sentence; write it where a token is to be guessed.";
    NEEDS_TWO: "这个模型给向量：写两句，中间用 | 隔开。", "This model gives vectors: write two sentences with | between them.";
    NEEDS_TEXT: "请输入一句话。", "Type a sentence.";
    NO_NAMES: "没有找到实体", "no names were found";
    NOT_A_NUMBER: "其中一句没有词元，没有余弦", "one of the sentences has no token, so there is no cosine";
    MORE_MASKS: "处掩码放不下，未列出", "more masks find no room";
    KIND: "类", "kind";
    PROBABILITY: "概率", "p";
    MASK_NUMBER: "掩码", "mask";
}

//! What checks and their ends are called, in Chinese and English.

use super::{Check, Standing};
use inkstone_base::language::Word;

/// What a check looks for.
pub fn check_name(check: Check) -> Word {
    match check {
        Check::KnownBefore => Word("先知后用", "known before the return"),
        Check::TradeDate => Word("交易日归属", "trading day of a text"),
        Check::SameDayGap => Word("同日与次日之差", "same day against the next"),
        Check::ShuffledDates => Word("打乱日期", "shuffled dates"),
        Check::ShuffledText => Word("打乱文本", "shuffled texts"),
        Check::FutureVocabulary => Word("未来的词表与模型", "vocabulary of the future"),
        Check::MaskedNames => Word("遮盖公司名", "masked names"),
        Check::Overlap => Word("训练与测试重合", "overlap of training and test"),
        Check::Survivors => Word("幸存者偏差", "survivors alone"),
        Check::Restated => Word("事后入库的文档", "documents ingested late"),
    }
}

/// How a check ended: a sign, and the word.
pub fn standing_name(standing: Standing) -> (&'static str, Word) {
    match standing {
        Standing::Passed => ("✓", Word("通过", "passed")),
        Standing::Warned => ("!", Word("留意", "warning")),
        Standing::Failed => ("✗", Word("不通过", "failed")),
        Standing::Skipped => ("–", Word("未做", "not done")),
    }
}

//! The texts of the forms, in Chinese and English.

use super::mapping::FormPart;
use inkstone_base::language::Word;
use inkstone_base::words;

pub(super) use crate::words::{
    CHOOSE as TAKE, COLUMN, FILTER, KEY, MOVE as LINES, NAME as FILE_NAME, PATH, ROW, SIZE as FILE_SIZE,
    SORT as FILE_SORT, WORTH as VALUE,
};

words! {
    CHOOSE_FILE: "选择数据文件", "Choose a file of data";
    FILE_CHANGED: "修改时间", "changed";
    FOLDER: "文件夹", "folder";
    PAPERS: "文档", "documents";
    LOST: "无法读取", "unreadable";
    EMPTY_FOLDER: "这个文件夹是空的。按 ← 返回上级，按 Tab 输入路径。", "This folder is empty. Press ← for the one above, Tab to type a path.";
    NO_SUCH_NAME: "没有匹配的名称。按 Esc 清除筛选。", "No name matches. Press Esc to clear the filter.";
    CAN_BE_READ: "可以导入", "can be read";
    TAKE_FOLDER: "选择整个文件夹", "choose the folder";
    UP: "上级", "up";
    GO: "前往", "go";
    COMPLETE: "补全", "complete";
    TYPE_PATH: "输入路径", "type a path";
    BACK: "返回", "back";

    SOURCE: "数据源", "Source";
    FIELD: "字段", "field";
    FIRST_ROWS: "前 200 行的结果", "What the first 200 rows give";
    PREVIEW: "预览", "Preview";
    TRYING: "试读中…", "trying…";
    TRIED: "试读", "tried";
    ACCEPTED: "接受", "accepted";
    REFUSED: "拒收", "rejected";
    TIMES: "时间格式", "times";
    FILES_IN_ALL: "文件数", "files:";
    WIDENED: "旁边的文件列相同，已一并读取；只要一个文件就改路径。", "Files beside it have the same columns and are read with it; change the path to read one alone.";
    NO_ROWS: "文件里没有数据行。", "The file has no rows.";
    LACKING: "缺少必需的列：", "Columns are missing:";
    MAP_THEM: "在左侧选中该字段，用 ←/→ 指定列。", "Choose the field at the left and its column with ←/→.";
    MISSING: "缺少", "missing";
    STILL_TRYING: "还在试读，请稍候再保存。", "Still trying: save in a moment.";
    NOT_YET: "还不能保存：", "Not yet:";
    SEE_RESULT: "还不能保存：原因见右侧。", "Not yet: the reason stands at the right.";
    CHANGE: "更改", "change";
    TYPE: "输入", "type";
    ACCEPT: "确定", "accept";

    L_TABLE: "用途", "table";
    L_KIND: "文档类型", "kind";
    L_FORMAT: "格式", "format";
    L_ENCODING: "编码", "encoding";
    L_DELIMITER: "分隔符", "delimiter";
    L_SHEET: "工作表", "sheet";
    L_TIME_FORMAT: "时间格式", "time format";
    L_DEFAULT_TIME: "缺省时间", "default time";
    OF_NAME: "数据源的名称，也是文档编号的前半部分。", "Name of the source, and the first half of its documents' ids.";
    OF_PATH: "文件、文件夹，或带 * 的模式；相对于配置所在的文件夹。", "A file, a folder or a pattern with *; relative to the configuration.";
    OF_TABLE: "documents 文档、prices 价格、securities 证券表。", "Documents, daily prices, or the table of securities.";
    OF_KIND: "news 新闻、report 研报、announcement 公告、post 帖子。", "News, reports, announcements or posts.";
    OF_FORMAT: "空：按扩展名。", "Empty: by the ending of the name.";
    OF_ENCODING: "空：逐个文件自动识别。", "Empty: detected, file by file.";
    OF_DELIMITER: "空：由表头识别；制表符写 tab。", "Empty: seen from the header row; a tab is written tab.";
    OF_SHEET: "空：第一个工作表。", "Empty: the first sheet.";
    OF_TIME_FORMAT: "空：逐个值识别；或 strftime 格式、unix、unix_ms、excel。", "Empty: value by value; or as in strftime, unix, unix_ms, excel.";
    OF_DEFAULT_TIME: "没有时间的文档用这个时间（只适合文本研究）；空：拒收。", "The time of documents that have none (for text work only); empty: they are rejected.";
    OF_FIELD: "←/→ 换列；Enter 输入列名，或 { pattern = \"…\", in = \"body\" }。", "←/→ another column; Enter to type its name, or { pattern = \"…\", in = \"body\" }.";
    OF_PUBLISHED: "发布时间：市场能看到它的时间；写早了就有未来函数，写晚了会失去时效。", "When the market could read it: an earlier time makes look-ahead, a later one loses time.";
    OF_INGESTED: "入库时间：比发布晚得多的文档会被检查指出。", "When it was received: documents that came much later than published are told by lint.";
    OF_CODES: "证券代码，可以有多个，用逗号分隔。", "Codes of securities, several with commas between them.";

    SETTINGS: "设置", "Settings";
    UNSAVED: "未保存", "unsaved";
    SAVED: "已保存", "saved";
    SAVING: "保存中…", "saving…";
    UNDONE: "已撤销上一次改动；还可撤销", "the last change is undone; changes left";
    REOPENED: "已按新的配置打开", "opened with the new configuration";
    NOT_REOPENED: "配置有误，仍按原来的工作", "the configuration cannot be used, so the former one goes on";
    FAULT: "个问题", "problem";
    FAULTS: "个问题", "problems";
    SECTIONS: "配置段", "Sections";
    DEFAULT: "默认", "default";
    EXAMPLE: "例", "for example";
    CHOICES: "可选", "one of";
    NO_KEYS: "还没有。按 a 添加一个。", "There is none yet. Press a to add one.";
    CHOOSE_ONE: "在左侧选中其中一个；按 a 再添加一个。", "Choose one at the left; press a to add another.";
    EDIT: "修改", "edit";
    SAVE: "保存", "save";
    ADD: "添加", "add";
    REMOVE: "删除本段", "remove section";
    TO_DEFAULT: "恢复默认", "default";
    ALL_KEYS: "全部键", "all keys";
    UNDO: "撤销", "undo";
    REREAD: "重新读取", "reload";
    LEAVE: "关闭", "close";
    SECTION: "进入", "keys";
    READ_ONLY: "只读：另一个进程打开着这个项目，这里只能看，不能改。等它结束后重新打开设置。", "Read-only: another process has this project, so settings can be seen here but not changed. Open them again when it has ended.";
    LEAVE_UNSAVED: "有未保存的修改：再按一次 Esc 放弃，s 保存。", "There are unsaved changes: press Esc again to drop them, s to save.";
    MEND_FIRST: "先改正标 ✗ 的键再保存。", "Fix the keys marked ✗ before saving.";
    NOT_TAKEN: "没有采用：", "Rejected:";
    NEEDS_PRICES: "因子需要日线价格：先选价格表，保存后再按 a", "A factor needs daily prices: choose their table, save, and press a again";
    ADDED: "已添加（尚未保存）", "added, not saved yet";
    REMOVED: "已删除（尚未保存）", "removed, not saved yet";
}

/// The name of a line of the mapping form.
pub(super) fn label(part: FormPart) -> Word {
    match part {
        FormPart::Name | FormPart::Field(_) => FILE_NAME,
        FormPart::Path => PATH,
        FormPart::Table => L_TABLE,
        FormPart::Kind => L_KIND,
        FormPart::Format => L_FORMAT,
        FormPart::Encoding => L_ENCODING,
        FormPart::Delimiter => L_DELIMITER,
        FormPart::Sheet => L_SHEET,
        FormPart::TimeFormat => L_TIME_FORMAT,
        FormPart::DefaultTime => L_DEFAULT_TIME,
    }
}

/// A sentence on a line of the mapping form.
pub(super) fn of_part(part: FormPart, field: Option<&str>) -> Word {
    match (part, field) {
        (FormPart::Name, _) => OF_NAME,
        (FormPart::Path, _) => OF_PATH,
        (FormPart::Table, _) => OF_TABLE,
        (FormPart::Kind, _) => OF_KIND,
        (FormPart::Format, _) => OF_FORMAT,
        (FormPart::Encoding, _) => OF_ENCODING,
        (FormPart::Delimiter, _) => OF_DELIMITER,
        (FormPart::Sheet, _) => OF_SHEET,
        (FormPart::TimeFormat, _) => OF_TIME_FORMAT,
        (FormPart::DefaultTime, _) => OF_DEFAULT_TIME,
        (FormPart::Field(_), Some("published_at")) => OF_PUBLISHED,
        (FormPart::Field(_), Some("ingested_at")) => OF_INGESTED,
        (FormPart::Field(_), Some("codes")) => OF_CODES,
        (FormPart::Field(_), _) => OF_FIELD,
    }
}

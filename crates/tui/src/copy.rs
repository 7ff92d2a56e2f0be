//! Writes tables for the clipboard.

use super::page::Table;
use inkstone_base::disk::Formulas;

/// The table as CSV. Cells that a spreadsheet would take for formulas are written as exports write them.
pub(crate) fn csv(table: &Table, formulas: Formulas) -> String {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in std::iter::once(&table.header).chain(&table.rows) {
        // Nothing fails that is written to memory.
        let _ = writer.write_record(row.iter().map(|cell| formulas.field(cell).into_owned()));
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The table in Markdown; characters that would end a cell or a row are escaped.
pub(crate) fn markdown(table: &Table) -> String {
    let cell = |text: &String| text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
    let line = |row: &[String]| format!("| {} |\n", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
    let rule = format!("|{}\n", " --- |".repeat(table.header.len()));
    line(&table.header) + &rule + &table.rows.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        Table {
            header: row(&["代码", "标题"]), rows: vec![row(&["600517.SH", "增长|\"翻倍\", 创新高\n续"])]
        }
    }

    #[test]
    fn cells_stay_cells() {
        let written = "代码,标题\n600517.SH,\"增长|\"\"翻倍\"\", 创新高\n续\"\n";
        assert_eq!([Formulas::Keep, Formulas::Quote].map(|formulas| csv(&table(), formulas)), [written; 2]);
        let mut sums = table();
        sums.rows[0][1] = "=1+1".to_owned();
        assert_eq!(csv(&sums, Formulas::Quote), "代码,标题\n600517.SH,'=1+1\n");
        assert_eq!(csv(&sums, Formulas::Keep), "代码,标题\n600517.SH,=1+1\n");
        assert_eq!(markdown(&table()), "| 代码 | 标题 |\n| --- | --- |\n| 600517.SH | 增长\\|\"翻倍\", 创新高 续 |\n");
    }
}

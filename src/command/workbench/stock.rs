//! Single stocks, as the workbench asks for them.

use std::sync::Arc;

use crate::command::opened::OpenProject;
use crate::pipeline::StockReader;
use inkstone_tui::StockBench;

pub(super) fn bench(opened: &OpenProject) -> StockBench {
    let reader = Arc::new(StockReader::new(&opened.config, &opened.base));
    let (listed, linked) = (reader.clone(), reader.clone());
    StockBench {
        list: Arc::new(move |ctx| listed.list(ctx)),
        of_document: Arc::new(move |number, ctx| linked.of_document(number, ctx)),
        read: Arc::new(move |code, factor, ctx| {
            reader.prepare(factor, ctx)?;
            reader.read(code, factor, ctx)
        }),
    }
}

//! A market that is read when it is first asked for.

use std::sync::{Arc, OnceLock};

use anyhow::Result;

use crate::Market;

/// A market that is read when it is first asked for: stages that are skipped need none.
pub struct LazyMarket {
    market: OnceLock<Arc<Market>>,
    read: Box<dyn Fn() -> Result<Market> + Send + Sync>,
}

impl LazyMarket {
    /// The market that `read` gives.
    pub fn new(read: impl Fn() -> Result<Market> + Send + Sync + 'static) -> LazyMarket {
        LazyMarket { market: OnceLock::new(), read: Box::new(read) }
    }

    /// A market that is there already.
    pub fn given(market: impl Into<Arc<Market>>) -> LazyMarket {
        let read = || inkstone_base::bail!("市场应已给出", "the market was given");
        LazyMarket { market: market.into().into(), read: Box::new(read) }
    }

    pub fn get(&self) -> Result<&Market> {
        if let Some(market) = self.market.get() {
            return Ok(market);
        }
        let market = Arc::new((self.read)()?);
        Ok(self.market.get_or_init(|| market))
    }
}

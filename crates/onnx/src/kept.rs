//! Outputs of a run that are inputs of the next, in the memory that the library gave them.

use std::fmt::Debug;
use std::sync::Arc;

use anyhow::Result;
use ort::memory::Allocator;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor, TensorElementType, ValueType};

/// A tensor of the library; a copy of it is another name for the same memory.
#[derive(Clone)]
pub(crate) struct Kept(Arc<DynValue>);

impl Kept {
    pub(crate) fn new(value: DynValue) -> Kept {
        Kept(Arc::new(value))
    }

    pub(crate) fn value(&self) -> &DynValue {
        &self.0
    }

    /// These rows of the first axis, in this order, as a tensor of their own.
    pub(crate) fn rows(&self, rows: &[usize]) -> Result<Kept> {
        let picked = match self.0.dtype() {
            ValueType::Tensor { ty: TensorElementType::Float16, .. } => pick::<half::f16>(&self.0, rows),
            _ => pick::<f32>(&self.0, rows),
        };
        Ok(Kept::new(picked?))
    }
}

fn pick<T: PrimitiveTensorElementType + Copy + Debug + 'static>(value: &DynValue, rows: &[usize]) -> Result<DynValue> {
    let (shape, values) = value.try_extract_tensor::<T>()?;
    let size: usize = shape[1..].iter().map(|&size| size as usize).product();
    let mut shape: Vec<i64> = shape.to_vec();
    shape[0] = rows.len() as i64;
    let mut picked = Tensor::<T>::new(&Allocator::default(), shape)?;
    if size > 0 {
        let (_, places) = picked.extract_tensor_mut();
        for (place, row) in places.chunks_mut(size).zip(rows) {
            place.copy_from_slice(&values[row * size..][..size]);
        }
    }
    Ok(picked.into_dyn())
}

//! Outputs of a run that are inputs of the next, in the memory that the library gave them: on a CUDA device they stay there.

use std::fmt::Debug;
use std::sync::Arc;

use anyhow::{Context, Result};
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::SessionBuilder;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor, TensorElementType, ValueType};

use super::architecture::proto::Message;

use inkstone_base::language::Word;

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

    /// True for values in half precision.
    pub(crate) fn is_half(&self) -> bool {
        matches!(self.0.dtype(), ValueType::Tensor { ty: TensorElementType::Float16, .. })
    }

    /// These rows of the first axis, in this order, as a tensor of their own. The values must lie in main memory.
    pub(crate) fn rows(&self, rows: &[usize]) -> Result<Kept> {
        let picked = if self.is_half() { pick::<half::f16>(&self.0, rows) } else { pick::<f32>(&self.0, rows) };
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

/// Memory of a CUDA device.
pub(crate) fn device_memory(number: u32) -> ort::Result<MemoryInfo<'static>> {
    MemoryInfo::new(AllocationDevice::CUDA, number as i32, AllocatorType::Device, MemoryType::Default)
}

/// Picks rows of tensors by a graph of one operation (`Gather`), so that values on a device never leave it.
pub(crate) struct DeviceRows {
    session: Session,
    memory: MemoryInfo<'static>,
}

impl DeviceRows {
    /// `memory` is that of the device on which `builder` makes sessions.
    pub(crate) fn open(
        mut builder: SessionBuilder,
        memory: MemoryInfo<'static>,
        half: bool,
    ) -> ort::Result<DeviceRows> {
        Ok(DeviceRows { session: builder.commit_from_memory(&gather(half))?, memory })
    }

    /// These rows of the first axis, in this order, in memory of the device, wherever the values lie.
    pub(crate) fn pick(&mut self, kept: &Kept, rows: &[usize]) -> Result<Kept> {
        let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        let rows = Tensor::from_array(([rows.len()], rows))?;
        let mut binding = self.session.create_binding()?;
        binding.bind_input("values", kept.value())?;
        binding.bind_input("rows", &rows)?;
        binding.bind_output_to_device("picked", &self.memory)?;
        let picked = self.session.run_binding(&binding)?.remove("picked");
        Ok(Kept::new(picked.context(Word("没有给出各行", "the rows were not given"))?))
    }
}

/// A graph (`ModelProto` of onnx/onnx.proto) that picks rows of the first axis of a tensor of any rank.
fn gather(half: bool) -> Vec<u8> {
    const FLOAT: i64 = 1;
    const INT64: i64 = 7;
    const FLOAT16: i64 = 10;
    let port = |name: &str, element: i64| {
        let tensor = Message::default().number(1, element);
        Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
    };
    let element = if half { FLOAT16 } else { FLOAT };
    let node = Message::default().text(1, "values").text(1, "rows").text(2, "picked").text(4, "Gather");
    let graph = Message::default().message(1, &node).text(2, "rows");
    let graph = graph.message(11, &port("values", element)).message(11, &port("rows", INT64));
    let graph = graph.message(12, &port("picked", element));
    let opset = Message::default().text(1, "").number(2, 17);
    Message::default().number(1, 8).message(7, &graph).message(8, &opset).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{has_library, runtime};

    /// The graph that picks rows runs on any device; the processor is at hand everywhere.
    #[test]
    fn rows_picked_by_a_graph_are_those_picked_in_memory() {
        if !has_library() {
            return;
        }
        let values: Vec<f32> = (0..24).map(|value| value as f32).collect();
        let halves: Vec<half::f16> = values.iter().map(|&value| half::f16::from_f32(value)).collect();
        let single = Kept::new(Tensor::from_array(([3, 2, 4, 1], values)).unwrap().into_dyn());
        let half = Kept::new(Tensor::from_array(([3, 2, 4, 1], halves)).unwrap().into_dyn());
        let rows = [2, 0, 0, 1];
        for kept in [single, half] {
            let cpu = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default).unwrap();
            let builder = Session::builder(&runtime().environment).unwrap();
            let mut picker = DeviceRows::open(builder, cpu, kept.is_half()).unwrap();
            let (by_graph, in_memory) = (picker.pick(&kept, &rows).unwrap(), kept.rows(&rows).unwrap());
            assert_eq!(contents(&by_graph), contents(&in_memory));
            assert_eq!(contents(&by_graph).0, [4, 2, 4, 1]);
        }
    }

    fn contents(kept: &Kept) -> (Vec<i64>, Vec<f32>) {
        if kept.is_half() {
            let (shape, values) = kept.value().try_extract_tensor::<half::f16>().unwrap();
            return (shape.to_vec(), values.iter().map(|value| value.to_f32()).collect());
        }
        let (shape, values) = kept.value().try_extract_tensor::<f32>().unwrap();
        (shape.to_vec(), values.to_vec())
    }
}

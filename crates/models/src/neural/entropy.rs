//! Cross-entropy of a softmax over many classes, with its gradient in one pass.
//!
//! The loss of a row of scores s is ln(sum of e^s) - s of the right class, in nats; its gradient is softmax(s), less 1 at the right
//! class. Written in tensor operations this takes eight passes over `[rows, classes]`, here two.

use anyhow::Result;
use candle_core::{CpuStorage, CustomOp1, Layout, Shape, Tensor, WithDType};

use inkstone_base::simd::wide;

/// The loss of each row of `[rows, classes]`, `[rows]`.
pub(crate) fn cross_entropy(scores: &Tensor, right: Vec<u32>) -> Result<Tensor> {
    Ok(scores.contiguous()?.apply_op1(CrossEntropy { right })?)
}

struct CrossEntropy {
    right: Vec<u32>,
}

/// Values that losses are computed in: f32, and f64 where gradients are checked.
trait Real: WithDType {
    /// ln of the sum of e^s.
    fn log_sum(scores: &[Self]) -> Self;
    /// Writes e^(s - log_sum) x scale.
    fn softmax(scores: &[Self], log_sum: Self, scale: Self, out: &mut Vec<Self>);
}

impl Real for f32 {
    fn log_sum(scores: &[f32]) -> f32 {
        log_sum(scores)
    }

    fn softmax(scores: &[f32], log_sum: f32, scale: f32, out: &mut Vec<f32>) {
        wide(
            #[inline(always)]
            || out.extend(scores.iter().map(|s| exp(s - log_sum) * scale)),
        );
    }
}

impl Real for f64 {
    fn log_sum(scores: &[f64]) -> f64 {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + scores.iter().map(|s| (s - most).exp()).sum::<f64>().ln()
    }

    fn softmax(scores: &[f64], log_sum: f64, scale: f64, out: &mut Vec<f64>) {
        out.extend(scores.iter().map(|s| (s - log_sum).exp() * scale));
    }
}

/// ln of the sum of e^s, summed in sixteen columns whatever the processor.
pub(crate) fn log_sum(scores: &[f32]) -> f32 {
    const LANES: usize = 16;
    wide(
        #[inline(always)]
        || {
            let mut most = [f32::NEG_INFINITY; LANES];
            let parts = scores.chunks_exact(LANES);
            let rest = parts.remainder();
            parts.for_each(|part| (0..LANES).for_each(|i| most[i] = most[i].max(part[i])));
            let most = most.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
            // f32::max passes over NaN; the sum below does not.
            let mut sums = [0.0f32; LANES];
            scores.chunks_exact(LANES).for_each(|part| (0..LANES).for_each(|i| sums[i] += exp(part[i] - most)));
            let sum: f32 = sums.iter().sum::<f32>() + rest.iter().map(|s| exp(s - most)).sum::<f32>();
            most + sum.ln()
        },
    )
}

/// e^x for x up to 88, to a unit or two of the last place, without a branch so that loops over it become vector instructions:
/// 2^n e^r with |r| at most ln 2 / 2, and the polynomial of Cephes for e^r. NaN stays NaN; below e^-87 it is as if e^-87.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // `clamp` keeps NaN.
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    // ln 2 in two parts, of which the first has few digits, so that n times it is exact.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_6e-1;
    let p = p * r + 0.5;
    let e = p * r * r + r + 1.0;
    e * f32::from_bits((((n as i32) + 127) as u32) << 23)
}

impl CrossEntropy {
    fn losses<T: Real>(&self, scores: &[T], classes: usize) -> Vec<T> {
        let rows = scores.chunks(classes).zip(&self.right);
        rows.map(|(row, &right)| T::log_sum(row) - row[right as usize]).collect()
    }

    fn gradient<T: Real>(&self, scores: &Tensor, losses: &Tensor, outer: &Tensor) -> candle_core::Result<Tensor> {
        let (storage, layout) = scores.storage_and_layout();
        let scores_here: &[T] = match &*storage {
            candle_core::Storage::Cpu(cpu) => slice(cpu, layout)?,
            _ => candle_core::bail!("cross-entropy runs on the processor"),
        };
        let (losses, outer) = (losses.to_vec1::<T>()?, outer.contiguous()?.to_vec1::<T>()?);
        let mut out = Vec::with_capacity(scores_here.len());
        let rows = scores_here.chunks(scores.dim(1)?).zip(&self.right).zip(losses.iter().zip(&outer));
        for ((row, &right), (&loss, &outer)) in rows {
            let start = out.len();
            T::softmax(row, loss + row[right as usize], outer, &mut out);
            let at = start + right as usize;
            out[at] -= outer;
        }
        Tensor::from_vec(out, scores.shape(), scores.device())
    }
}

fn slice<'s, T: WithDType>(storage: &'s CpuStorage, layout: &Layout) -> candle_core::Result<&'s [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&T::cpu_storage_as_slice(storage)?[start..end]),
        None => candle_core::bail!("scores are not row by row"),
    }
}

impl CustomOp1 for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let (rows, classes) = layout.shape().dims2()?;
        if rows != self.right.len() || self.right.iter().any(|&right| right as usize >= classes) {
            candle_core::bail!("{rows} rows of {classes} scores do not fit {} classes", self.right.len());
        }
        let losses = match storage {
            CpuStorage::F32(_) => CpuStorage::F32(self.losses(slice(storage, layout)?, classes)),
            CpuStorage::F64(_) => CpuStorage::F64(self.losses(slice(storage, layout)?, classes)),
            _ => candle_core::bail!("cross-entropy is of f32 or f64"),
        };
        Ok((losses, Shape::from(rows)))
    }

    fn bwd(&self, scores: &Tensor, losses: &Tensor, outer: &Tensor) -> candle_core::Result<Option<Tensor>> {
        let gradient = match scores.dtype() {
            candle_core::DType::F32 => self.gradient::<f32>(scores, losses, outer)?,
            _ => self.gradient::<f64>(scores, losses, outer)?,
        };
        Ok(Some(gradient))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;
    use crate::neural::check::close;

    #[test]
    fn powers_are_right_to_the_last_places() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            let (ours, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / right - 1.0).abs() < 3e-7, "{x} {ours} {right}");
        }
        assert!(exp(f32::NAN).is_nan() && exp(-1e9) < 1e-37);
    }

    #[test]
    fn losses_and_gradients_are_those_of_tensor_operations() {
        let scores: Vec<f32> = (0..120).map(|i| ((i * 37 % 101) as f32 - 50.0) / 9.0).collect();
        let scores = Var::from_vec(scores, (3, 40), &Device::Cpu).unwrap();
        let ours = cross_entropy(&scores, vec![0, 39, 7]).unwrap();
        let logs = scores.broadcast_sub(&scores.log_sum_exp(1).unwrap().unsqueeze(1).unwrap()).unwrap();
        let index = Tensor::new(&[[0u32], [39], [7]], &Device::Cpu).unwrap();
        let theirs = logs.gather(&index, 1).unwrap().neg().unwrap().squeeze(1).unwrap();
        close(&ours, &theirs, 1e-5);
        let scale = Tensor::new(&[1f32, 2.0, -0.5], &Device::Cpu).unwrap();
        let gradient = |loss: &Tensor| (loss * &scale).unwrap().sum_all().unwrap().backward().unwrap();
        let (a, b) = (gradient(&ours), gradient(&theirs));
        close(a.get(&scores).unwrap(), b.get(&scores).unwrap(), 1e-5);
    }

    #[test]
    fn a_score_that_is_no_number_makes_the_loss_none() {
        let scores = Tensor::new(&[[0f32, f32::NAN, 1.0]], &Device::Cpu).unwrap();
        assert!(cross_entropy(&scores, vec![0]).unwrap().to_vec1::<f32>().unwrap()[0].is_nan());
    }
}
